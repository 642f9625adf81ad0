/* SPDX-License-Identifier: Apache-2.0 */
/* test_transport.c - the map between Gaussians: T A T = B, T symmetric and positive. */
#include "support.h"

#include <math.h>

#include "base/memory.h"
#include "base/rng.h"
#include "math/transport.h"

/* X^T X / n + ridge I of n rows. */
static double *covariance(const char *purpose, size_t d, size_t n, double ridge)
{
	inv_stream s = inv_stream_of(3, purpose, 0);
	float *x = inv_alloc(n * d * sizeof *x);
	double *c = inv_calloc(d * d, sizeof *c);

	inv_fill_normal(&s, 0, x, n * d);
	for (size_t i = 0; i < d; i++)
		for (size_t j = 0; j < d; j++) {
			for (size_t l = 0; l < n; l++)
				c[i * d + j] += (double)x[l * d + i] * x[l * d + j] / (double)n;
			c[i * d + j] += i == j ? ridge : 0;
		}
	inv_free(x);
	return c;
}

static void check_pair(size_t d, size_t rows_a, size_t rows_b)
{
	double *a = covariance("a", d, rows_a, 0.1), *b = covariance("b", d, rows_b, 0.1);
	double *T = inv_alloc(d * d * sizeof *T), *ta = inv_alloc(d * d * sizeof *ta);
	double *tat = inv_alloc(d * d * sizeof *tat);
	inv_dgemm_spec s = {d, d, d, .add = false};

	assert_int_equal(inv_gaussian_transport(test_ctx, d, a, b, T), INVAR_OK);
	inv_dgemm_ref(&s, T, a, ta);
	inv_dgemm_ref(&s, ta, T, tat);
	for (size_t i = 0; i < d; i++)
		for (size_t j = 0; j < d; j++) {
			assert_true(fabs(tat[i * d + j] - b[i * d + j]) < 1e-10);
			assert_true(fabs(T[i * d + j] - T[j * d + i]) < 1e-11);
		}
	inv_free(a);
	inv_free(b);
	inv_free(T);
	inv_free(ta);
	inv_free(tat);
}

static void it_maps_one_gaussian_onto_the_other(void **state)
{
	(void)state;
	check_pair(1, 3, 5);
	check_pair(7, 30, 3); /* b lacks rank but for what is added */
	check_pair(33, 20, 90);
}

static void equal_gaussians_stay(void **state)
{
	double *a = covariance("a", 9, 20, 0), T[81];

	(void)state;
	assert_int_equal(inv_gaussian_transport(test_ctx, 9, a, a, T), INVAR_OK);
	for (size_t i = 0; i < 81; i++)
		assert_true(fabs(T[i] - (i % 10 == 0)) < 1e-10);
	inv_free(a);
}

static void a_flat_cloud_is_refused(void **state)
{
	const double a[] = {1, 0, 0, 0}, b[] = {1, 0, 0, 1};
	double T[4];

	(void)state;
	assert_int_equal(inv_gaussian_transport(test_ctx, 2, a, b, T), INVAR_E_NUMERIC);
	test_assert_error("not positive definite");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_maps_one_gaussian_onto_the_other),
		cmocka_unit_test(equal_gaussians_stay),
		cmocka_unit_test(a_flat_cloud_is_refused),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
