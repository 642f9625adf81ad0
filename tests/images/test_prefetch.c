/* SPDX-License-Identifier: Apache-2.0 */
/* test_prefetch.c - images come in order, complete and equal, whatever the threads. */
#include "images/prefetch.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "make_sets.h"
#include "support.h"

enum { IMAGES = 300, CELLS = 6 };

static uint8_t values[IMAGES * CELLS];
static char text[1024];
static unsigned warnings;

static void count_warnings(void *user, int level, const char *line)
{
	(void)user;
	(void)line;
	warnings += level == INVAR_LOG_WARNING;
}

static invar_context *context(unsigned threads)
{
	const invar_hooks hooks = {.size = sizeof hooks, .log = count_warnings};
	invar_context *ctx;

	assert_int_equal(invar_context_new(threads, &hooks, &ctx), INVAR_OK);
	return ctx;
}

static int make_images(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof values; i++)
		values[i] = (uint8_t)(i * 37 + i / 11);
	make_npy(test_path("images.npy"), "|u1", "(300, 2, 3)", values, sizeof values);
	snprintf(text, sizeof text, "npy:%s", test_path("images.npy"));
	return 0;
}

typedef struct plan {
	unsigned workers;
	uint64_t fail_at;
} plan;

/* The sum of the pixels and the index; the first images are the slow ones. */
static invar_status add_up(void *user, inv_image *image, const inv_prefetch_item *item,
                           unsigned worker)
{
	const plan *p = user;
	uint64_t sum = item->index << 32;

	if (worker >= p->workers || ((uintptr_t)item->data & 63))
		return inv_fail(INVAR_E_USE, "wrong worker or alignment");
	if (item->row == p->fail_at)
		return inv_fail(INVAR_E_NUMERIC, "row %d fails", (int)item->row);
	for (size_t i = 0; i < (size_t)image->width * image->height * 3; i++)
		sum += image->pixels[i];
	if (item->row % 7 == 0)
		usleep(300);
	memcpy(item->data, &sum, sizeof sum);
	return INVAR_OK;
}

static uint64_t expected(uint64_t row)
{
	uint64_t sum = row << 32;

	for (size_t k = 0; k < CELLS; k++)
		sum += 3 * values[row * CELLS + k];
	return sum;
}

static void walk(unsigned threads, uint64_t first, uint64_t count)
{
	invar_context *ctx = context(threads);
	plan p = {inv_prefetch_workers(ctx), UINT64_MAX};
	const inv_prefetch_item *item;
	invar_dataset *d;
	inv_prefetch *a;

	assert_int_equal(invar_dataset_open(ctx, text, NULL, &d), INVAR_OK);
	assert_int_equal(inv_prefetch_new(ctx, d, inv_dataset_split(d, "train"), first, count,
	                                  add_up, &p, sizeof(uint64_t), &a),
	                 INVAR_OK);
	assert_true(inv_prefetch_memory(a) < 1 << 20);
	for (uint64_t i = 0; i < count; i++) {
		uint64_t got, want = expected(first + i);

		assert_int_equal(inv_prefetch_next(a, &item), INVAR_OK);
		assert_non_null(item);
		assert_int_equal(item->row, first + i);
		memcpy(&got, item->data, sizeof got);
		assert_int_equal(got, want);
	}
	assert_int_equal(inv_prefetch_next(a, &item), INVAR_OK);
	assert_null(item);
	assert_int_equal(inv_prefetch_next(a, &item), INVAR_OK);
	assert_null(item);
	inv_prefetch_free(a);
	invar_dataset_close(d);
	invar_context_free(ctx);
}

static void items_come_in_order_whatever_the_threads(void **state)
{
	(void)state;
	walk(1, 0, IMAGES);
	walk(2, 0, IMAGES);
	walk(5, 0, IMAGES);
	walk(3, 250, 50);
	walk(3, 7, 1);
	walk(2, 300, 0);
}

static void without_work_the_images_themselves_come(void **state)
{
	invar_context *ctx = context(3);
	const inv_prefetch_item *item;
	invar_dataset *d;
	inv_prefetch *a;

	(void)state;
	assert_int_equal(invar_dataset_open(ctx, text, NULL, &d), INVAR_OK);
	assert_int_equal(inv_prefetch_new(ctx, d, inv_dataset_split(d, "train"), 0, IMAGES,
	                                  NULL, NULL, 0, &a),
	                 INVAR_OK);
	for (uint64_t i = 0; i < IMAGES; i++) {
		assert_int_equal(inv_prefetch_next(a, &item), INVAR_OK);
		assert_null(item->data);
		assert_int_equal(item->image.width, 3);
		assert_int_equal(item->image.height, 2);
		assert_int_equal(item->image.pixels[3 * 4 + 1], values[i * CELLS + 4]);
	}
	inv_prefetch_free(a);
	invar_dataset_close(d);
	invar_context_free(ctx);
}

static void a_failure_comes_in_its_turn(void **state)
{
	invar_context *ctx = context(2);
	plan p = {inv_prefetch_workers(ctx), 42};
	const inv_prefetch_item *item;
	invar_dataset *d;
	inv_prefetch *a;

	(void)state;
	assert_int_equal(invar_dataset_open(ctx, text, NULL, &d), INVAR_OK);
	assert_int_equal(inv_prefetch_new(ctx, d, inv_dataset_split(d, "train"), 0, IMAGES,
	                                  add_up, &p, sizeof(uint64_t), &a),
	                 INVAR_OK);
	for (uint64_t i = 0; i < 42; i++)
		assert_int_equal(inv_prefetch_next(a, &item), INVAR_OK);
	assert_int_equal(inv_prefetch_next(a, &item), INVAR_E_NUMERIC);
	assert_null(item);
	test_assert_error("row 42 fails");
	inv_prefetch_free(a); /* in the middle */
	assert_int_equal(inv_prefetch_new(ctx, d, inv_dataset_split(d, "train"), 1, IMAGES,
	                                  add_up, &p, 8, &a),
	                 INVAR_E_USE);
	invar_dataset_close(d);
	invar_context_free(ctx);
}

static void broken_images_are_passed_over_and_counted(void **state)
{
	invar_context *ctx = context(2);
	const inv_prefetch_item *item;
	invar_dataset *d;
	inv_prefetch *a;
	char folder[1024];
	uint64_t rows = 0;

	(void)state;
	make_folder("broken");
	for (unsigned i = 0; i < 20; i++)
		make_png(test_path("broken/%02u.png", i), (uint8_t)i, 0, 0);
	make_text(test_path("broken/00.png"), "x");
	make_text(test_path("broken/07.png"), "x");
	assert_int_equal(symlink("nowhere", test_path("broken/99.png")), 0);
	snprintf(folder, sizeof folder, "folder:%s", test_path("broken"));
	assert_int_equal(
		invar_dataset_open(ctx, folder, test_kept("data", "skip-broken", "1", NULL), &d),
		INVAR_OK);
	assert_int_equal(
		inv_prefetch_new(ctx, d, inv_dataset_split(d, "train"), 0, 21, NULL, NULL, 0, &a),
		INVAR_OK);
	for (warnings = 0; inv_prefetch_next(a, &item) == INVAR_OK && item; rows++)
		assert_int_equal(item->image.pixels[0], item->row);
	assert_int_equal(rows, 18);
	assert_int_equal(inv_prefetch_broken(a), 3);
	assert_int_equal(warnings, 3);
	inv_prefetch_free(a);
	invar_dataset_close(d);
	assert_int_equal(invar_dataset_open(ctx, folder, NULL, &d), INVAR_OK);
	assert_int_equal(
		inv_prefetch_new(ctx, d, inv_dataset_split(d, "train"), 0, 21, NULL, NULL, 0, &a),
		INVAR_OK);
	assert_int_equal(inv_prefetch_next(a, &item), INVAR_E_FORMAT);
	test_assert_error("broken/00.png");
	inv_prefetch_free(a);
	invar_dataset_close(d);
	invar_context_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_come_in_order_whatever_the_threads),
		cmocka_unit_test(without_work_the_images_themselves_come),
		cmocka_unit_test(a_failure_comes_in_its_turn),
		cmocka_unit_test(broken_images_are_passed_over_and_counted),
	};

	return cmocka_run_group_tests_name("ahead", tests, make_images, NULL);
}
