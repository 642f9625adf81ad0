/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_rng.c - claims about random numbers.
 *
 * The known answers are those of Random123 for philox4x32-10. All other tests
 * draw from fixed seeds, so they pass or fail the same way every time; their
 * bounds are those that a right generator misses once in about 10^6 seeds.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "support.h"

enum { MANY = 1 << 17 };

static void philox_gives_its_known_answers(void **state)
{
	static const struct {
		uint32_t counter[4], key[2], answer[4];
	} known[] = {
		{{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{{UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX},
	     {UINT32_MAX, UINT32_MAX},
	     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
	     {0xa4093822, 0x299f31d0},
	     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		const uint32_t *c = known[i].counter;
		inv_stream s = {
			.key = {known[i].key[0], known[i].key[1]}, .epoch = c[2], .purpose = c[3]};
		uint32_t out[4];

		inv_words(&s, c[1], c[0], out);
		assert_memory_equal(out, known[i].answer, sizeof out);
	}
}

static void the_seed_uses_all_its_64_bits(void **state)
{
	inv_stream low = inv_stream_of(1, "x", 0),
			   high = inv_stream_of(UINT64_C(1) << 32, "x", 0);
	uint32_t a[4], b[4];

	(void)state;
	inv_words(&low, 0, 0, a);
	inv_words(&high, 0, 0, b);
	assert_memory_not_equal(a, b, sizeof a);
}

/* The words that the other rooms use; a new one belongs here. */
static void purposes_are_distinct(void **state)
{
	static const char *purposes[] = {
		"init",
		"order/train/train",
		"copies/train/train",
		"order/validation/train",
		"copies/validation/train",
		"validation/images",
		"order/train/unlabeled",
		"copies/train/unlabeled",
		"synthetic/direction",
		"synthetic/centre",
		"synthetic/image/train",
		"synthetic/place/train",
		"synthetic/jitter/train",
		"synthetic/image/test",
		"synthetic/place/test",
		"synthetic/jitter/test",
		"directions",
		"permutation",
		"keep/vicinal",
		"augment",
		"probe/init",
		"probe/order",
		"bootstrap",
		"points",
	};
	size_t count = sizeof purposes / sizeof *purposes;

	(void)state;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(inv_stream_of(0, purposes[i], 0).purpose,
			                     inv_stream_of(0, purposes[k], 0).purpose);
}

static void a_cursor_walks_the_words_of_its_index(void **state)
{
	inv_stream s = inv_stream_of(5, "walk", 2);
	inv_cursor c = inv_cursor_of(&s, 9);
	uint32_t words[4];

	(void)state;
	for (uint32_t slot = 0; slot < 5; slot++) {
		inv_words(&s, 9, slot, words);
		for (int i = 0; i < 4; i++)
			assert_int_equal(inv_next(&c), words[i]);
	}
}

static void draws_do_not_depend_on_what_was_drawn_before(void **state)
{
	inv_stream s = inv_stream_of(1, "a", 0), other = inv_stream_of(1, "b", 0);
	float forth[10][5], back[10][5], noise[3];

	(void)state;
	for (uint32_t i = 0; i < 10; i++)
		inv_fill_normal(&s, i, forth[i], 5);
	for (uint32_t i = 10; i-- > 0;) {
		inv_fill_normal(&other, i, noise, 3);
		inv_fill_normal(&s, i, back[i], 5);
	}
	assert_memory_equal(forth, back, sizeof forth);
	/* A shorter draw is a prefix of a longer one. */
	inv_fill_normal(&s, 4, noise, 3);
	assert_memory_equal(noise, forth[4], sizeof noise);
}

static int compare(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* Kolmogorov's distance; sqrt(n) D exceeds 2.7 with probability 1e-6. */
static void check_distribution(float *sample, double (*cdf)(double))
{
	double worst = 0;

	qsort(sample, MANY, sizeof *sample, compare);
	for (int i = 0; i < MANY; i++) {
		double p = cdf((double)sample[i]);

		worst = fmax(worst, fmax(fabs(p - (double)i / MANY), fabs(p - (i + 1.0) / MANY)));
	}
	assert_true(worst * sqrt(MANY) < 2.7);
}

static void check_moments(const float *sample, double mean, double variance, double fourth)
{
	double m = 0, v = 0;

	for (int i = 0; i < MANY; i++)
		m += (double)sample[i] / MANY;
	for (int i = 0; i < MANY; i++)
		v += pow((double)sample[i] - mean, 2) / MANY;
	/* five standard errors */
	assert_true(fabs(m - mean) < 5 * sqrt(variance / MANY));
	assert_true(fabs(v - variance) < 5 * sqrt((fourth - variance * variance) / MANY));
}

static double uniform_cdf(double x)
{
	return (x + 3) / 5;
}

static void uniform_numbers_are_uniform(void **state)
{
	inv_stream s = inv_stream_of(11, "uniform", 0);
	float *sample = malloc(MANY * sizeof *sample);

	(void)state;
	inv_fill_uniform(&s, 0, -3, 2, sample, MANY);
	for (int i = 0; i < MANY; i++)
		assert_true(sample[i] >= -3 && sample[i] <= 2);
	check_moments(sample, -0.5, 25.0 / 12, 625.0 / 80);
	check_distribution(sample, uniform_cdf);
	free(sample);
}

static double normal_cdf(double x)
{
	return erfc(-x / sqrt(2)) / 2;
}

static void normal_numbers_are_normal(void **state)
{
	inv_stream s = inv_stream_of(12, "normal", 0);
	float *sample = malloc(MANY * sizeof *sample);
	double together = 0;

	(void)state;
	inv_fill_normal(&s, 0, sample, MANY);
	for (int i = 0; i + 1 < MANY; i++)
		together += (double)sample[i] * (double)sample[i + 1] / MANY;
	assert_true(fabs(together) < 5 / sqrt(MANY)); /* neighbours do not correlate */
	check_moments(sample, 0, 1, 3);
	check_distribution(sample, normal_cdf);
	free(sample);
}

static void the_extreme_words_give_finite_normals(void **state)
{
	inv_stream s = inv_stream_of(0, "extreme", 0);
	float x[4];

	(void)state;
	for (uint32_t i = 0; i < 10000; i++) {
		inv_fill_normal(&s, i, x, 4);
		for (int k = 0; k < 4; k++)
			assert_true(isfinite(x[k]) && fabsf(x[k]) < 6.7f); /* sqrt(2 ln 2^32) */
	}
}

/* Pearson's sum; for few cells a limit far out in the tail is enough. */
static double chi_square(const unsigned *seen, size_t cells, double expected)
{
	double sum = 0;

	for (size_t i = 0; i < cells; i++)
		sum += pow(seen[i] - expected, 2) / expected;
	return sum;
}

static void numbers_below_n_are_unbiased(void **state)
{
	inv_stream s = inv_stream_of(3, "below", 0);
	inv_cursor c = inv_cursor_of(&s, 0);
	unsigned seen[6] = {0}, half[2] = {0};

	(void)state;
	for (int i = 0; i < 60000; i++)
		seen[inv_next_below(&c, 6)]++;
	assert_true(chi_square(seen, 6, 10000) < 35.9); /* 5 degrees, 1e-6 */
	/* Without rejection the upper half of 3 * 2^30 would come half as often. */
	for (int i = 0; i < 60000; i++)
		half[inv_next_below(&c, 3u << 30) >= 3u << 29]++;
	assert_true(chi_square(half, 2, 30000) < 23.9); /* 1 degree, 1e-6 */
	for (int i = 0; i < 100; i++)
		assert_int_equal(inv_next_below(&c, 1), 0);
}

static void a_permutation_holds_every_number_once(void **state)
{
	inv_stream s = inv_stream_of(4, "order", 0);

	(void)state;
	for (uint32_t n = 0; n < 200; n++) {
		uint32_t order[200];
		bool seen[200] = {false};

		inv_permutation(&s, n, order, n);
		for (uint32_t i = 0; i < n; i++) {
			assert_true(order[i] < n && !seen[order[i]]);
			seen[order[i]] = true;
		}
	}
}

static void all_orders_of_four_are_equally_likely(void **state)
{
	inv_stream s = inv_stream_of(5, "order", 1);
	unsigned seen[256] = {0}, counts[24];
	size_t found = 0;

	(void)state;
	for (uint32_t i = 0; i < 48000; i++) {
		uint32_t p[4];

		inv_permutation(&s, i, p, 4);
		seen[p[0] << 6 | p[1] << 4 | p[2] << 2 | p[3]]++;
	}
	for (int i = 0; i < 256; i++)
		if (seen[i]) {
			assert_true(found < 24);
			counts[found++] = seen[i];
		}
	assert_int_equal(found, 24);
	assert_true(chi_square(counts, 24, 2000) < 71.0); /* 23 degrees, 1e-6 */
}

static void chosen_numbers_are_distinct_and_every_pair_is_equally_likely(void **state)
{
	inv_stream s = inv_stream_of(6, "copies", 0);
	unsigned seen[25] = {0}, pairs[20];
	size_t found = 0;
	uint32_t all[5];

	(void)state;
	for (uint32_t i = 0; i < 40000; i++) {
		uint32_t two[2];

		inv_choose(&s, i, 5, two, 2);
		assert_true(two[0] < 5 && two[1] < 5 && two[0] != two[1]);
		seen[two[0] * 5 + two[1]]++;
	}
	for (int i = 0; i < 25; i++)
		if (i / 5 != i % 5)
			pairs[found++] = seen[i];
	assert_true(chi_square(pairs, 20, 2000) < 64.5); /* 19 degrees, 1e-6 */
	inv_choose(&s, 0, 5, all, 5);
	assert_int_equal(1 << all[0] | 1 << all[1] | 1 << all[2] | 1 << all[3] | 1 << all[4],
	                 31);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(philox_gives_its_known_answers),
		cmocka_unit_test(the_seed_uses_all_its_64_bits),
		cmocka_unit_test(purposes_are_distinct),
		cmocka_unit_test(a_cursor_walks_the_words_of_its_index),
		cmocka_unit_test(draws_do_not_depend_on_what_was_drawn_before),
		cmocka_unit_test(uniform_numbers_are_uniform),
		cmocka_unit_test(normal_numbers_are_normal),
		cmocka_unit_test(the_extreme_words_give_finite_normals),
		cmocka_unit_test(numbers_below_n_are_unbiased),
		cmocka_unit_test(a_permutation_holds_every_number_once),
		cmocka_unit_test(all_orders_of_four_are_equally_likely),
		cmocka_unit_test(chosen_numbers_are_distinct_and_every_pair_is_equally_likely),
	};

	return cmocka_run_group_tests_name("rng", tests, NULL, NULL);
}
