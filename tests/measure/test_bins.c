/* SPDX-License-Identifier: Apache-2.0 */
/* test_bins.c - values of a parameter in bins: circles, equal widths, equal counts. */
#include "support.h"

#include <math.h>

#include "measure/bins.h"

static inv_bins make(const float *values, uint64_t n, size_t wanted, bool angles)
{
	inv_bins b;

	assert_int_equal(inv_bins_make(values, n, wanted, angles, &b), INVAR_OK);
	return b;
}

/* A whole circle: a bin about 0, and ±180 is one place. */
static void a_circle_closes(void **state)
{
	float values[360];
	inv_bins b;
	size_t in_bin[12] = {0};

	(void)state;
	for (int i = 0; i < 360; i++)
		values[i] = (float)i - 179.5f;
	b = make(values, 360, 12, true);
	assert_int_equal(b.count, 12);
	assert_true(b.circle);
	for (int i = 0; i < 360; i++) {
		double away = remainder(values[i] - b.x[b.bin[i]], 360);

		assert_true(fabs(away) <= 15);
		in_bin[b.bin[i]]++;
	}
	for (int k = 0; k < 12; k++) {
		assert_int_equal(in_bin[k], 30);
		assert_true(b.x[k] == -180 + 30 * k);
	}
	inv_bins_clear(&b);
	for (int i = 0; i < 360; i++)
		values[i] += 180; /* 0 to 360 are the same angles */
	b = make(values, 360, 11, true);
	assert_int_equal(b.count, 11);
	assert_false(b.circle); /* an odd number has no bin about 180 */
	assert_true(fabs(b.x[5]) < 1e-12);
	for (int i = 0; i < 360; i++)
		assert_true(fabs(remainder(values[i] - b.x[b.bin[i]], 360)) <= 180.0 / 11 + 1e-4);
	inv_bins_clear(&b);
}

static void angles_of_a_part_have_equal_widths(void **state)
{
	const float values[] = {-30, -29, 0, 1, 2, 3, 30};
	inv_bins b = make(values, 7, 3, true);

	(void)state;
	assert_int_equal(b.count, 3);
	assert_false(b.circle);
	assert_true(b.x[0] == -20 && b.x[1] == 0 && b.x[2] == 20);
	assert_int_equal(b.bin[1], 0);
	assert_int_equal(b.bin[5], 1);
	assert_int_equal(b.bin[6], 2); /* the largest is in the last */
	inv_bins_clear(&b);
}

static void numbers_have_equal_counts_unless_they_are_equal(void **state)
{
	const float different[] = {9, 1, 4, 2, 8, 3, NAN, 7, INFINITY};
	const float tied[] = {1, 1, 1, 1, 1, 1, 2, 3, 4};
	inv_bins b = make(different, 9, 3, false);

	(void)state;
	assert_int_equal(b.count, 3);
	assert_int_equal(b.bin[6], INV_NO_BIN);
	assert_int_equal(b.bin[8], INV_NO_BIN);
	assert_int_equal(b.bin[1], 0);
	assert_int_equal(b.bin[0], 2);
	assert_true(b.x[0] == 2 && b.x[2] == 8.5);
	inv_bins_clear(&b);
	b = make(tied, 9, 3, false); /* six values of 1 fill two of three bins */
	assert_int_equal(b.count, 2);
	assert_int_equal(b.bin[5], 0);
	assert_int_equal(b.bin[6], 1);
	assert_true(b.x[0] == 1 && b.x[1] == 3);
	inv_bins_clear(&b);
}

static void few_values_have_a_bin_each(void **state)
{
	const float values[] = {90, 0, 90, 180, 0}, none[] = {NAN, NAN}, one[] = {2, 2};
	inv_bins b = make(values, 5, 12, true);

	(void)state;
	assert_int_equal(b.count, 3);
	assert_true(b.x[0] == 0 && b.x[1] == 90 && b.x[2] == 180);
	assert_int_equal(b.bin[2], 1);
	inv_bins_clear(&b);
	b = make(none, 2, 12, false);
	assert_int_equal(b.count, 0);
	inv_bins_clear(&b);
	b = make(one, 2, 12, false);
	assert_int_equal(b.count, 1);
	inv_bins_clear(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_circle_closes),
		cmocka_unit_test(angles_of_a_part_have_equal_widths),
		cmocka_unit_test(numbers_have_equal_counts_unless_they_are_equal),
		cmocka_unit_test(few_values_have_a_bin_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
