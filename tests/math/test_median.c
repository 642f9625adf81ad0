/* SPDX-License-Identifier: Apache-2.0 */
/* test_median.c - the median of the pairs against qsort. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "math/median.h"

enum { MOST = 150 };

static int by_size(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static inv_middle by_sorting(const float *x, size_t n)
{
	static float sorted[MOST * MOST];
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			sorted[count++] = x[i * n + j];
	qsort(sorted, count, sizeof *sorted, by_size);
	return (inv_middle){sorted[(count - 1) / 2], sorted[count / 2]};
}

static void check(const float *x, size_t n)
{
	inv_middle want = by_sorting(x, n);

	for (unsigned threads = 1; threads <= 4; threads++) {
		invar_context *ctx;
		inv_median *p;
		inv_middle got;

		assert_int_equal(invar_context_new(threads, NULL, &ctx), INVAR_OK);
		assert_int_equal(inv_median_new(ctx, &p), INVAR_OK);
		for (int again = 0; again < 2; again++) {
			got = inv_median_above(p, x, n);
			assert_true(got.low == want.low && got.high == want.high);
		}
		inv_median_free(p);
		invar_context_free(ctx);
	}
}

/* Of every size: the number of pairs is odd for n = 2, 3 and even for n = 4, 5. */
static void the_middle_is_that_of_sorted_values(void **state)
{
	static float x[MOST * MOST];
	inv_stream s = inv_stream_of(1, "median", 0);

	(void)state;
	inv_fill_normal(&s, 0, x, MOST * MOST);
	for (size_t i = 0; i < MOST * MOST; i++)
		x[i] = fabsf(x[i]);
	for (size_t n = 2; n < 40; n++)
		check(x, n);
	check(x, 97);
	check(x, MOST);
	for (size_t i = 0; i < MOST * MOST; i++)
		x[i] = powf(x[i], 20); /* over the whole range of exponents */
	check(x, MOST);
}

static void ties_zeros_and_far_neighbours(void **state)
{
	static float x[MOST * MOST];
	/* 2.5 and 1e30 are the middle ones of 6: their upper bits differ */
	const float far[] = {0, 1e-40f, 2.5f, 1e30f, 2e30f, 3e38f};
	size_t at = 0;

	(void)state;
	check(x, 30); /* all zero */
	for (size_t i = 0; i < MOST * MOST; i++)
		x[i] = (float)(i * 7919 % 3);
	for (size_t n = 2; n < 30; n++)
		check(x, n);
	for (size_t i = 0; i < 4; i++)
		for (size_t j = i + 1; j < 4; j++)
			x[i * 4 + j] = far[at++ * 5 % 6];
	check(x, 4);
}

static void what_is_no_number_is_last(void **state)
{
	float x[16] = {0, -NAN, NAN, 1, 0, 0, 2, 3, 0, 0, 0, 4};
	invar_context *ctx;
	inv_median *p;
	inv_middle got;

	(void)state;
	assert_int_equal(invar_context_new(2, NULL, &ctx), INVAR_OK);
	assert_int_equal(inv_median_new(ctx, &p), INVAR_OK);
	got = inv_median_above(p, x, 4);
	assert_true(got.low == 3 && got.high == 4);
	inv_median_free(p);
	invar_context_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_middle_is_that_of_sorted_values),
		cmocka_unit_test(ties_zeros_and_far_neighbours),
		cmocka_unit_test(what_is_no_number_is_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
