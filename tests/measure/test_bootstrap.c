/* SPDX-License-Identifier: Apache-2.0 */
/* test_bootstrap.c - intervals: coverage, a case computed by hand, edge cases, threads. */
#include "support.h"

#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "measure/bootstrap.h"

static invar_context *ctx;

static int open_context(void **state)
{
	(void)state;
	return invar_context_new(2, NULL, &ctx) != INVAR_OK;
}

static int close_context(void **state)
{
	(void)state;
	invar_context_free(ctx);
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The same draws, averaged and sorted by plain loops. */
static void a_tiny_case_equals_plain_loops(void **state)
{
	const double fraction[] = {0, 1, 0.25, 0.5, 1};
	inv_stream s = inv_stream_of(3, "bootstrap", 0);
	double mean[1000];
	inv_interval got;

	(void)state;
	for (uint32_t r = 0; r < 1000; r++) {
		inv_cursor c = inv_cursor_of(&s, r);
		double sum = 0;

		for (int i = 0; i < 5; i++)
			sum += fraction[inv_next_below(&c, 5)];
		mean[r] = sum / 5;
	}
	qsort(mean, 1000, sizeof *mean, by_value);
	assert_int_equal(inv_bootstrap(ctx, fraction, 5, 1, 3, &got), INVAR_OK);
	assert_true(got.value == 2.75 / 5);
	assert_true(got.low == mean[24] && got.high == mean[974]);
}

/* Draws once for all fractions; a ratio of equal sums is certain. */
static void fractions_and_ratios_use_the_same_draws(void **state)
{
	double pair[40][2], sum[40], count[40];
	inv_interval one, two[2], ratio;

	(void)state;
	for (int i = 0; i < 40; i++) {
		sum[i] = pair[i][0] = i % 7;
		count[i] = pair[i][1] = 2.0 * (i % 7);
	}
	assert_int_equal(inv_bootstrap(ctx, pair[0], 40, 2, 9, two), INVAR_OK);
	assert_int_equal(inv_bootstrap(ctx, sum, 40, 1, 9, &one), INVAR_OK);
	assert_memory_equal(&one, &two[0], sizeof one);
	assert_int_equal(inv_bootstrap(ctx, count, 40, 1, 9, &one), INVAR_OK);
	assert_memory_equal(&one, &two[1], sizeof one);
	assert_int_equal(inv_bootstrap_ratio(ctx, sum, count, 40, 9, &ratio), INVAR_OK);
	assert_true(ratio.value == 0.5 && ratio.low == 0.5 && ratio.high == 0.5);
}

/* The median of resampled images, each with both of its copies, by sorting them all. */
static void quantiles_resample_images_with_all_copies(void **state)
{
	enum { IMAGES = 12, COPIES = 2 };
	const double q[] = {0.5, 0.9};
	double value[COPIES][IMAGES], median[1000], drawn[IMAGES * COPIES];
	inv_stream s = inv_stream_of(4, "bootstrap", 0);
	inv_sample all[IMAGES * COPIES];
	inv_interval got[2];

	(void)state;
	for (uint32_t i = 0; i < IMAGES * COPIES; i++) {
		value[i / IMAGES][i % IMAGES] = (double)(i * 7 % 24);
		all[i] = (inv_sample){(double)(i * 7 % 24), i % IMAGES};
	}
	for (uint32_t r = 0; r < 1000; r++) {
		inv_cursor c = inv_cursor_of(&s, r);

		for (int i = 0; i < IMAGES; i++) {
			uint32_t image = inv_next_below(&c, IMAGES);

			drawn[2 * i] = value[0][image];
			drawn[2 * i + 1] = value[1][image];
		}
		qsort(drawn, IMAGES * COPIES, sizeof *drawn, by_value);
		median[r] = (drawn[11] + drawn[12]) / 2;
	}
	qsort(median, 1000, sizeof *median, by_value);
	assert_int_equal(inv_bootstrap_quantiles(ctx, all, IMAGES, COPIES, q, 2, 4, got),
	                 INVAR_OK);
	assert_true(got[0].value == 11.5 && fabs(got[1].value - 20.7) < 1e-12);
	assert_true(got[0].low == median[24] && got[0].high == median[974]);
}

static void all_or_nothing_has_no_width(void **state)
{
	double fraction[40];
	inv_interval got;

	(void)state;
	for (int value = 0; value <= 1; value++) {
		for (int i = 0; i < 40; i++)
			fraction[i] = value;
		assert_int_equal(inv_bootstrap(ctx, fraction, 40, 1, 0, &got), INVAR_OK);
		assert_true(got.low == value && got.value == value && got.high == value);
	}
	assert_int_equal(inv_bootstrap(ctx, fraction, 1, 1, 0, &got), INVAR_OK);
	assert_true(got.low == 1 && got.high == 1);
	assert_int_equal(inv_bootstrap(ctx, fraction, 0, 1, 0, &got), INVAR_E_USE);
}

static void few_images_have_no_interval(void **state)
{
	const double fraction[INV_INTERVAL_IMAGES] = {0, 1, 0.5};
	inv_interval got;

	(void)state;
	for (uint64_t n = 1; n <= INV_INTERVAL_IMAGES; n++) {
		char why[INV_INTERVAL_WHY];
		invar_value value;

		assert_int_equal(inv_bootstrap(ctx, fraction, n, 1, 0, &got), INVAR_OK);
		value = inv_interval_value(&got, why);
		assert_true(value.value == got.value && value.count == n);
		assert_int_equal(!isnan(value.low), n == INV_INTERVAL_IMAGES);
		assert_int_equal(value.no_interval == NULL, n == INV_INTERVAL_IMAGES);
		if (n == 2)
			assert_string_equal(value.no_interval,
			                    "too few images for an interval (n = 2)");
	}
}

/* Of 300 samples of 200 coins with probability 0.7, about 95 % cover 0.7. */
static void intervals_cover_the_truth(void **state)
{
	enum { SAMPLES = 300, COINS = 200 };
	inv_stream s = inv_stream_of(12, "coins", 0);
	int covered = 0;

	(void)state;
	for (uint32_t r = 0; r < SAMPLES; r++) {
		inv_cursor c = inv_cursor_of(&s, r);
		double fraction[COINS];
		inv_interval got;

		for (int i = 0; i < COINS; i++)
			fraction[i] = inv_next_uniform(&c) < 0.7f;
		assert_int_equal(inv_bootstrap(ctx, fraction, COINS, 1, r, &got), INVAR_OK);
		assert_true(got.low <= got.value && got.value <= got.high);
		/* 1.96 sqrt(0.7 0.3 / 200) = 0.064 on either side */
		assert_true(got.high - got.low > 0.09 && got.high - got.low < 0.16);
		covered += got.low <= 0.7 && 0.7 <= got.high;
	}
	/* 285 expected, 3.8 of standard deviation */
	assert_true(covered >= 270 && covered <= 298);
}

static void threads_do_not_matter(void **state)
{
	double fraction[97];
	inv_interval first = {0}, got;

	(void)state;
	for (int i = 0; i < 97; i++)
		fraction[i] = i % 7 / 7.0;
	for (unsigned threads = 1; threads <= 4; threads++) {
		invar_context *other;

		assert_int_equal(invar_context_new(threads, NULL, &other), INVAR_OK);
		assert_int_equal(inv_bootstrap(other, fraction, 97, 1, 1, &got), INVAR_OK);
		if (threads == 1)
			first = got;
		assert_memory_equal(&first, &got, sizeof got);
		invar_context_free(other);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tiny_case_equals_plain_loops),
		cmocka_unit_test(fractions_and_ratios_use_the_same_draws),
		cmocka_unit_test(quantiles_resample_images_with_all_copies),
		cmocka_unit_test(all_or_nothing_has_no_width),
		cmocka_unit_test(few_images_have_no_interval),
		cmocka_unit_test(intervals_cover_the_truth),
		cmocka_unit_test(threads_do_not_matter),
	};

	return cmocka_run_group_tests(tests, open_context, close_context);
}
