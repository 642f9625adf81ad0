/* SPDX-License-Identifier: Apache-2.0 */
/* test_queue.c - items come in order and within bounds; failures, waiting, stopping. */
#include "base/queue.h"

#include <stdatomic.h>
#include <unistd.h>

#include "support.h"

enum { SLOTS = 5, ITEMS = 200 };

typedef struct items {
	uint64_t slot[SLOTS];
	uint64_t first, fails;       /* the item that fails */
	atomic_uint_fast64_t begun;  /* items */
	atomic_uint_fast64_t wanted; /* all before it are released */
	atomic_bool too_early;       /* an item was begun before its slot was free */
	atomic_uint waits;
	bool slow, checked;
} items;

static invar_status make_item(void *user, uint64_t number, unsigned thread)
{
	items *i = user;

	(void)thread;
	i->begun++;
	if (i->checked && number >= i->wanted + SLOTS)
		i->too_early = true;
	if (i->slow)
		usleep(300 * 1000);
	else if (number % 7 == 0)
		usleep(200);
	if (number == i->fails)
		return inv_fail(INVAR_E_NUMERIC, "item %d of @size fails", (int)number);
	i->slot[number % SLOTS] = number * number;
	return INVAR_OK;
}

static inv_queue *start(items *i, uint64_t end, unsigned threads,
                        invar_status (*wait)(void *, uint64_t))
{
	inv_queue *q;

	i->wanted = i->first;
	assert_int_equal(inv_queue_new(&(inv_queue_spec){.first = i->first,
	                                                 .end = end,
	                                                 .slots = SLOTS,
	                                                 .threads = threads,
	                                                 .fill = make_item,
	                                                 .wait = wait,
	                                                 .user = i},
	                               &q),
	                 INVAR_OK);
	return q;
}

/* Until so many items were begun, and then long enough for one more. */
static void wait_for(items *i, uint64_t begun)
{
	for (int turn = 0; turn < 5000 && i->begun < begun; turn++)
		usleep(1000);
	usleep(20 * 1000);
	assert_int_equal(i->begun, begun);
}

static void items_come_in_order_and_within_bounds(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads < 9; threads += 3) {
		items i = {.first = 11, .fails = UINT64_MAX, .checked = true};
		inv_queue *q = start(&i, 11 + ITEMS, threads, NULL);
		uint64_t number;

		for (uint64_t n = 11; n < 11 + ITEMS; n++) {
			assert_int_equal(inv_queue_next(q, &number), INVAR_OK);
			assert_int_equal(number, n);
			assert_int_equal(i.slot[n % SLOTS], n * n);
			if (n == 20) { /* the slot is the consumer's until it is released */
				wait_for(&i, 20 - 11 + SLOTS);
				assert_int_equal(i.slot[n % SLOTS], n * n);
			}
			i.wanted = n + 1;
			inv_queue_release(q, n);
		}
		for (int again = 0; again < 2; again++) {
			assert_int_equal(inv_queue_next(q, &number), INVAR_OK);
			assert_int_equal(number, 11 + ITEMS);
		}
		inv_queue_free(q);
		assert_false(i.too_early);
		assert_int_equal(i.begun, ITEMS);
	}
}

static void items_are_released_in_any_order(void **state)
{
	items i = {.fails = UINT64_MAX};
	inv_queue *q = start(&i, ITEMS, 2, NULL);
	uint64_t number;

	(void)state;
	for (uint64_t n = 0; n < SLOTS; n++)
		assert_int_equal(inv_queue_next(q, &number), INVAR_OK);
	inv_queue_release(q, 3); /* slots are used again in order: 0 is still held */
	inv_queue_release(q, 2);
	wait_for(&i, SLOTS);
	assert_int_equal(i.slot[3], 9);
	inv_queue_release(q, 0);
	inv_queue_release(q, 0); /* again, or before it was received: no effect */
	inv_queue_release(q, SLOTS);
	assert_int_equal(inv_queue_next(q, &number), INVAR_OK);
	assert_int_equal(number, SLOTS);
	wait_for(&i, SLOTS + 1);
	assert_int_equal(i.slot[1], 1);
	inv_queue_free(q);
}

static void a_failure_takes_the_place_of_its_item(void **state)
{
	items i = {.fails = 42};
	inv_queue *q = start(&i, ITEMS, 3, NULL);
	uint64_t number;
	char text[100];

	(void)state;
	for (uint64_t n = 0; n < ITEMS; n++) {
		assert_int_equal(inv_queue_next(q, &number), n == 42 ? INVAR_E_NUMERIC : INVAR_OK);
		assert_int_equal(number, n);
		if (n != 42)
			inv_queue_release(q, n);
		else /* options in the message are still marked */
			assert_string_equal(inv_last_error_spelled("--", text, sizeof text),
			                    "item 42 of --size fails");
	}
	inv_queue_free(q);
}

static invar_status count_waits(void *user, uint64_t number)
{
	items *i = user;

	assert_int_equal(number, 0);
	return ++i->waits ? inv_fail(INVAR_E_CANCELLED, "enough") : INVAR_OK;
}

static void waiting_can_be_ended(void **state)
{
	items i = {.fails = UINT64_MAX, .slow = true};
	inv_queue *q = start(&i, ITEMS, 1, count_waits);
	uint64_t number;

	(void)state;
	assert_int_equal(inv_queue_next(q, &number), INVAR_E_CANCELLED);
	assert_int_equal(i.waits, 1);
	inv_queue_free(q);
	assert_true(i.begun <= 2);
}

static void it_can_be_freed_at_any_time(void **state)
{
	uint64_t number;

	(void)state;
	for (uint64_t taken = 0; taken < 20; taken += 4) {
		items i = {.fails = UINT64_MAX};
		inv_queue *q = start(&i, ITEMS, 4, NULL);

		for (uint64_t n = 0; n < taken; n++) {
			assert_int_equal(inv_queue_next(q, &number), INVAR_OK);
			inv_queue_release(q, number);
		}
		inv_queue_stop(q);
		inv_queue_free(q);
		assert_true(i.begun <= taken + SLOTS);
	}
	inv_queue_free(NULL);
	{
		items none = {.first = 3};
		inv_queue *q = start(&none, 3, 2, NULL);

		assert_int_equal(inv_queue_next(q, &number), INVAR_OK);
		assert_int_equal(number, 3);
		inv_queue_free(q);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_come_in_order_and_within_bounds),
		cmocka_unit_test(items_are_released_in_any_order),
		cmocka_unit_test(a_failure_takes_the_place_of_its_item),
		cmocka_unit_test(waiting_can_be_ended),
		cmocka_unit_test(it_can_be_freed_at_any_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
