/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_dual_ridge.c - ridge regression from products of rows against the usual form.
 */
#include "support.h"

#include <math.h>

#include "base/rng.h"
#include "math/dual_ridge.h"
#include "math/linalg.h"

enum { N = 12, P = 30, D = 5 };

static double x[N * P], y[N * D], weight[N], products[N * N];

static inv_dual_rows make_rows(void)
{
	inv_stream s = inv_stream_of(5, "rows", 0);
	float values[N * (P + D)];

	inv_fill_normal(&s, 0, values, N * (P + D));
	for (size_t i = 0; i < N * P; i++)
		x[i] = values[i] + 2; /* a mean that is not 0 */
	for (size_t i = 0; i < N * D; i++)
		y[i] = values[N * P + i] - 1;
	for (size_t i = 0; i < N; i++)
		weight[i] = i < 4 ? 2.5 : 1;
	assert_int_equal(inv_dual_products(test_ctx, N, P, x, products), INVAR_OK);
	return (inv_dual_rows){N, P, D, x, y, weight, products};
}

/* Sums of centred rows, then a factor of P by P. */
static void solve_usual(double lambda, double *mean, double *mean_y, double *B)
{
	double gram[P * P] = {0}, total = 0, diagonal = 0;

	for (size_t i = 0; i < N; i++)
		total += weight[i];
	for (size_t k = 0; k < P; k++)
		for (size_t i = 0; i < N; i++)
			mean[k] += weight[i] * x[i * P + k] / total;
	for (size_t j = 0; j < D; j++)
		for (size_t i = 0; i < N; i++)
			mean_y[j] += weight[i] * y[i * D + j] / total;
	for (size_t i = 0; i < N; i++)
		for (size_t k = 0; k < P; k++) {
			double a = weight[i] * (x[i * P + k] - mean[k]);

			for (size_t l = 0; l < P; l++)
				gram[k * P + l] += a * (x[i * P + l] - mean[l]);
			for (size_t j = 0; j < D; j++)
				B[k * D + j] += a * (y[i * D + j] - mean_y[j]);
		}
	for (size_t k = 0; k < P; k++)
		diagonal += gram[k * P + k] / P;
	for (size_t k = 0; k < P; k++)
		gram[k * P + k] += lambda * diagonal;
	assert_int_equal(inv_cholesky_solve(test_ctx, P, D, gram, B), INVAR_OK);
}

static void both_forms_are_equal(void **state)
{
	const double lambdas[] = {1e-3, 0.3, 10};
	inv_dual_rows rows = make_rows();

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		double mean[P], mean_y[D], B[P * D];
		double want_mean[P] = {0}, want_y[D] = {0}, want[P * D] = {0};

		solve_usual(lambdas[i], want_mean, want_y, want);
		assert_int_equal(inv_dual_ridge(test_ctx, &rows, lambdas[i], 1, mean, mean_y, B),
		                 INVAR_OK);
		for (size_t k = 0; k < P; k++)
			assert_true(fabs(mean[k] - want_mean[k]) < 1e-12);
		for (size_t j = 0; j < D; j++)
			assert_true(fabs(mean_y[j] - want_y[j]) < 1e-12);
		for (size_t k = 0; k < P * D; k++)
			if (!(fabs(B[k] - want[k]) < 1e-10))
				fail_msg("lambda %g: %g, not %g", lambdas[i], B[k], want[k]);
	}
}

static void some_targets_are_those_of_all(void **state)
{
	inv_dual_rows rows = make_rows();
	double mean[P], mean_y[D], all[P * D], some[P * 3];

	(void)state;
	assert_int_equal(inv_dual_ridge(test_ctx, &rows, 0.1, 1, mean, mean_y, all), INVAR_OK);
	assert_int_equal(inv_dual_ridge(test_ctx, &rows, 0.1, 2, mean, mean_y, some), INVAR_OK);
	for (size_t k = 0; k < P; k++)
		for (size_t j = 0; j < 3; j++)
			assert_true(fabs(some[k * 3 + j] - all[k * D + 2 * j]) < 1e-12);
}

static void degenerate_rows(void **state)
{
	inv_dual_rows rows = make_rows();
	double mean[P], mean_y[D], B[P * D];

	(void)state;
	assert_int_equal(inv_dual_ridge(test_ctx, &rows, 1e-300, 1, mean, mean_y, B),
	                 INVAR_E_NUMERIC);
	test_assert_error("lost in rounding");
	for (size_t i = 0; i < N * P; i++)
		x[i] = 4;
	assert_int_equal(inv_dual_products(test_ctx, N, P, x, products), INVAR_OK);
	assert_int_equal(inv_dual_ridge(test_ctx, &rows, 0.1, 1, mean, mean_y, B), INVAR_OK);
	for (size_t k = 0; k < P * D; k++)
		assert_true(fabs(B[k]) < 1e-6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_forms_are_equal),
		cmocka_unit_test(some_targets_are_those_of_all),
		cmocka_unit_test(degenerate_rows),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
