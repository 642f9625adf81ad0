/* SPDX-License-Identifier: Apache-2.0 */
/* test_memory.c - claims about allocation and the arena that is planned first. */
#include <string.h>

#include "base/memory.h"
#include "support.h"

static void all_memory_is_aligned(void **state)
{
	(void)state;
	for (size_t bytes = 0; bytes < 300; bytes++) {
		unsigned char *p = inv_alloc(bytes);

		assert_non_null(p);
		assert_int_equal((uintptr_t)p % INV_ALIGN, 0);
		memset(p, 1, bytes);
		inv_free(p);
	}
	inv_free(NULL);
	invar_free(NULL);
}

static void cleared_memory_is_clear(void **state)
{
	unsigned char *p = inv_calloc(37, 5);

	(void)state;
	for (int i = 0; i < 37 * 5; i++)
		assert_int_equal(p[i], 0);
	inv_free(p);
}

static void sizes_that_overflow_give_null(void **state)
{
	volatile size_t huge = SIZE_MAX; /* hidden from the compiler's own warning */

	(void)state;
	assert_null(inv_alloc(huge));
	assert_null(inv_alloc(huge - INV_ALIGN + 2));
	assert_null(inv_calloc(huge / 2, 3));
}

static void missing_memory_is_reported_with_its_size(void **state)
{
	volatile size_t huge = SIZE_MAX;
	double *x = NULL;
	char *text = NULL;

	(void)state;
	assert_int_equal(inv_new_array(&x, huge / 16), INVAR_E_NOMEM);
	test_assert_error("not enough memory for 8796093022207 MB");
	assert_null(x);
	assert_int_equal(inv_new_zeros(&x, huge / 4), INVAR_E_NOMEM); /* its size overflows */
	assert_null(x);
	assert_int_equal(inv_check_memory(NULL, 24), INVAR_E_NOMEM);
	test_assert_error("not enough memory for 24 bytes");
	assert_int_equal(inv_new_zeros(&x, 3), INVAR_OK);
	assert_true(x[0] == 0 && x[1] == 0 && x[2] == 0);
	assert_int_equal(inv_new_text(&text, "abc"), INVAR_OK);
	assert_string_equal(text, "abc");
	inv_free(text);
	inv_free(x);
}

static void products_and_sums_say_when_they_overflow(void **state)
{
	uint64_t out;

	(void)state;
	assert_false(inv_mul_overflow(UINT64_C(1) << 32, UINT32_MAX, &out));
	assert_true(inv_mul_overflow(UINT64_C(1) << 32, UINT64_C(1) << 32, &out));
	assert_false(inv_add_overflow(UINT64_MAX - 1, 1, &out));
	assert_true(inv_add_overflow(UINT64_MAX, 1, &out));
}

static void a_copied_text_is_equal_and_separate(void **state)
{
	char text[] = "abc";
	char *copy = inv_strdup(text);

	(void)state;
	text[0] = 'x';
	assert_string_equal(copy, "abc");
	inv_free(copy);
}

typedef struct pieces {
	float *a;
	char *b;
	double *c;
} pieces;

static pieces take_all(inv_arena *arena)
{
	pieces p;

	p.a = inv_arena_take(arena, 100, sizeof *p.a);
	p.b = inv_arena_take(arena, 1, 1);
	p.c = inv_arena_take(arena, 7, sizeof *p.c);
	return p;
}

static void the_same_takes_give_the_planned_pieces(void **state)
{
	inv_arena arena = {0};
	pieces p = take_all(&arena);

	(void)state;
	assert_null(p.a);
	assert_null(p.c);
	assert_int_equal(inv_arena_commit(&arena), INVAR_OK);
	p = take_all(&arena);
	assert_int_equal(arena.used, arena.size);
	assert_int_equal((uintptr_t)p.a % INV_ALIGN, 0);
	assert_int_equal((uintptr_t)p.b % INV_ALIGN, 0);
	assert_int_equal((uintptr_t)p.c % INV_ALIGN, 0);
	assert_true((char *)(p.a + 100) <= p.b && p.b + 1 <= (char *)p.c);
	memset(p.a, 1, 100 * sizeof *p.a);
	memset(p.c, 2, 7 * sizeof *p.c);
	inv_arena_free(&arena);
	assert_null(arena.base);
	inv_arena_free(&arena);
}

static void an_empty_plan_is_fine(void **state)
{
	inv_arena arena = {0};

	(void)state;
	assert_int_equal(inv_arena_commit(&arena), INVAR_OK);
	inv_arena_free(&arena);
}

static void a_plan_that_overflows_fails_at_the_commit(void **state)
{
	inv_arena product = {0}, sum = {0};

	(void)state;
	inv_arena_take(&product, UINT64_MAX / 2, 3);
	inv_arena_take(&product, 10, 4); /* does not hide the first */
	assert_int_equal(inv_arena_commit(&product), INVAR_E_NOMEM);
	test_assert_error("not enough memory for");
	inv_arena_free(&product);
	for (int i = 0; i < 8; i++)
		inv_arena_take(&sum, PTRDIFF_MAX / 4, 2);
	assert_int_equal(inv_arena_commit(&sum), INVAR_E_NOMEM);
	inv_arena_free(&sum);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_memory_is_aligned),
		cmocka_unit_test(cleared_memory_is_clear),
		cmocka_unit_test(sizes_that_overflow_give_null),
		cmocka_unit_test(missing_memory_is_reported_with_its_size),
		cmocka_unit_test(products_and_sums_say_when_they_overflow),
		cmocka_unit_test(a_copied_text_is_equal_and_separate),
		cmocka_unit_test(the_same_takes_give_the_planned_pieces),
		cmocka_unit_test(an_empty_plan_is_fine),
		cmocka_unit_test(a_plan_that_overflows_fails_at_the_commit),
	};

	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
