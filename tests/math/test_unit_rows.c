/* SPDX-License-Identifier: Apache-2.0 */
/* test_unit_rows.c - rows divided by their norms. */
#include "math/unit_rows.h"

#include <float.h>
#include <math.h>

#include "base/rng.h"
#include "support.h"

static void a_row_known_by_hand(void **state)
{
	const float x[2][3] = {{3, 0, -4}, {0, 0, 0}};
	float out[2][3];

	(void)state;
	assert_true(inv_row_norm(x[0], 3) == 5);
	inv_unit_rows(x[0], 2, 3, out[0]);
	assert_true(out[0][0] == 0.6f && out[0][1] == 0 && out[0][2] == -0.8f);
	for (int i = 0; i < 3; i++)
		assert_true(out[1][i] == 0); /* and not NaN */
}

/* Sums of any width, also beyond the groups in which they are made. */
static void norms_are_those_of_a_plain_sum(void **state)
{
	inv_stream s = inv_stream_of(1, "rows", 0);
	float x[70];

	(void)state;
	inv_fill_normal(&s, 0, x, 70);
	for (size_t d = 1; d <= 70; d++) {
		double sum = 0;

		for (size_t i = 0; i < d; i++)
			sum += (double)x[i] * x[i];
		assert_true(fabs(inv_row_norm(x, d) - sqrt(sum)) <= 1e-14 * sqrt(sum));
	}
}

/* The square of the largest float is infinite, and that of the smallest is 0. */
static void any_scale_gives_the_same_row(void **state)
{
	static const float scales[] = {FLT_MAX / 8, 1, 1e-30f, 1e-40f};
	static const float x[4] = {1, -2, 4, 8};

	(void)state;
	for (size_t k = 0; k < sizeof scales / sizeof *scales; k++) {
		float y[4];

		for (int i = 0; i < 4; i++)
			y[i] = x[i] * scales[k];
		inv_unit_rows(y, 1, 4, y); /* in place */
		for (int i = 0; i < 4; i++)
			assert_true(fabs(y[i] - x[i] / sqrt(85)) < (scales[k] < 1e-38f ? 1e-5 : 1e-7));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_known_by_hand),
		cmocka_unit_test(norms_are_those_of_a_plain_sum),
		cmocka_unit_test(any_scale_gives_the_same_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
