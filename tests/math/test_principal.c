/* SPDX-License-Identifier: Apache-2.0 */
/* test_principal.c - principal components against those of the covariance matrix. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "math/linalg.h"
#include "math/principal.h"

enum { ROWS = 333, WIDE = 23 };

static float x[ROWS * WIDE];
static double scores[ROWS * 2], again[ROWS * 2];

static void find(unsigned threads, size_t d, double *out)
{
	invar_context *ctx;

	assert_int_equal(invar_context_new(threads, NULL, &ctx), INVAR_OK);
	assert_int_equal(inv_principal(ctx, x, ROWS, d, 2, 0, out), INVAR_OK);
	invar_context_free(ctx);
}

static void draw(size_t d)
{
	inv_stream s = inv_stream_of(d, "rows", 0);

	inv_fill_normal(&s, 0, x, ROWS * d);
	for (size_t i = 0; i < ROWS * d; i++)
		x[i] = x[i] * (1 + 3 / (float)(1 + i % d)) + 100;
}

/* Scores have the variances of the covariance's eigenvalues, and are uncorrelated. */
static void check_variances(size_t d)
{
	double covariance[WIDE * WIDE] = {0}, values[WIDE], mean[WIDE] = {0}, sums[3] = {0};

	for (size_t i = 0; i < ROWS * d; i++)
		mean[i % d] += (double)x[i] / ROWS;
	for (size_t i = 0; i < ROWS; i++)
		for (size_t a = 0; a < d; a++)
			for (size_t b = 0; b < d; b++)
				covariance[a * d + b] +=
					(x[i * d + a] - mean[a]) * (x[i * d + b] - mean[b]);
	assert_int_equal(inv_eigen_symmetric(d, covariance, values), INVAR_OK);
	for (size_t i = 0; i < ROWS; i++) {
		sums[0] += scores[2 * i] * scores[2 * i];
		sums[1] += scores[2 * i + 1] * scores[2 * i + 1];
		sums[2] += scores[2 * i] * scores[2 * i + 1];
	}
	assert_true(fabs(sums[0] - values[d - 1]) < 1e-9 * sums[0]);
	assert_true(fabs(sums[1] - values[d - 2]) < 1e-9 * sums[0]);
	assert_true(fabs(sums[2]) < 1e-6 * sums[0]);
}

static void components_are_those_of_the_covariance(void **state)
{
	(void)state;
	for (size_t d = 2; d <= WIDE; d += 7) {
		draw(d);
		find(2, d, scores);
		check_variances(d);
		for (unsigned threads = 1; threads <= 4; threads += 3) {
			find(threads, d, again);
			assert_memory_equal(scores, again, sizeof scores);
		}
	}
}

static void directions_without_variance_score_nothing(void **state)
{
	(void)state;
	draw(1);
	find(2, 1, scores);
	for (size_t i = 0; i < ROWS; i++)
		assert_true(scores[2 * i + 1] == 0);
	for (size_t i = 0; i < ROWS * WIDE; i++)
		x[i] = 7;
	find(2, WIDE, scores);
	for (size_t i = 0; i < 2 * ROWS; i++)
		assert_true(fabs(scores[i]) < 1e-12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(components_are_those_of_the_covariance),
		cmocka_unit_test(directions_without_variance_score_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
