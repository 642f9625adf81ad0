/* SPDX-License-Identifier: Apache-2.0 */
/* test_pool.c - claims about memory that is freed at once. */
#include <string.h>

#include "base/pool.h"
#include "support.h"

static void pieces_are_aligned_and_clear(void **state)
{
	inv_pool p = {0};

	(void)state;
	for (size_t count = 0; count < 100; count++) {
		unsigned char *bytes;

		assert_int_equal(inv_pool_zeros(&p, &bytes, count), INVAR_OK);
		assert_int_equal((uintptr_t)bytes % INV_ALIGN, 0);
		for (size_t i = 0; i < count; i++)
			assert_int_equal(bytes[i], 0);
		memset(bytes, 1, count);
	}
	inv_pool_free(&p);
	assert_null(p.last);
	inv_pool_free(&p);
}

static void an_array_grows_and_keeps_its_items(void **state)
{
	inv_pool p = {0};
	uint64_t *list = NULL;

	(void)state;
	for (size_t count = 0; count < 1000; count++) {
		assert_int_equal(inv_pool_more(&p, &list, count), INVAR_OK);
		assert_int_equal(list[count], 0);
		list[count] = count + 1;
		for (size_t i = 0; i <= count; i += 1 + count / 7)
			assert_int_equal(list[i], i + 1);
	}
	inv_pool_free(&p);
}

static void a_text_may_contain_the_one_before(void **state)
{
	inv_pool p = {0};
	char *text;

	(void)state;
	assert_int_equal(inv_pool_print(&p, &text, "%s", ""), INVAR_OK);
	for (int i = 0; i < 12; i++)
		assert_int_equal(inv_pool_print(&p, &text, "%s%s%d", text, *text ? "," : "", i),
		                 INVAR_OK);
	assert_string_equal(text, "0,1,2,3,4,5,6,7,8,9,10,11");
	inv_pool_free(&p);
}

static void sizes_that_overflow_are_reported(void **state)
{
	volatile size_t huge = SIZE_MAX; /* hidden from the compiler's own warning */
	inv_pool p = {0};
	uint64_t *list;
	char *bytes;

	(void)state;
	assert_int_equal(inv_pool_zeros(&p, &list, huge / 4), INVAR_E_NOMEM);
	assert_null(list);
	assert_int_equal(inv_pool_zeros(&p, &bytes, huge - 10), INVAR_E_NOMEM);
	assert_null(bytes);
	assert_null(p.last);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_are_aligned_and_clear),
		cmocka_unit_test(an_array_grows_and_keeps_its_items),
		cmocka_unit_test(a_text_may_contain_the_one_before),
		cmocka_unit_test(sizes_that_overflow_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
