/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_dependence.c - sliced Wasserstein distances: golden values and gradients,
 * what must hold for any sets; dependence and correlation of paired samples.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "golden.h"
#include "invar.h"

/* ---- Distance -------------------------------------------------------------------- */

static void check_power(golden *g, int p)
{
	size_t shape[GOLDEN_NDIM], lines[GOLDEN_NDIM];
	const float *a = golden_f32(g, "a", shape), *b = golden_f32(g, "b", NULL);
	const float *directions = golden_f32(g, "directions", lines);
	float *grad = malloc(shape[0] * shape[1] * sizeof *grad);
	invar_options *o = test_options("dependence", NULL);
	char name[32];
	double value;

	invar_options_set_number(o, "p", p);
	invar_options_set_number(o, "projections", (double)lines[0]);
	assert_int_equal(invar_sliced_wasserstein(test_ctx, a, b, shape[0], (uint32_t)shape[1],
	                                          directions, o, &value, grad),
	                 INVAR_OK);
	invar_options_free(o);
	snprintf(name, sizeof name, "sw_p%d", p);
	golden_check_value(g, name, value);
	snprintf(name, sizeof name, "grad_a_p%d", p);
	golden_check(g, name, grad, shape[0] * shape[1]);
	free(grad);
}

static void golden_distances(void **state)
{
	(void)state;
	for (const char *const *root = golden_roots(); *root; root++) {
		golden *g = golden_open(*root, "sliced_wasserstein");

		for (int p = 1; p <= 3; p++)
			check_power(g, p);
		golden_close(g);
	}
}

static float *normal_rows(const char *name, size_t count)
{
	inv_stream s = inv_stream_of(1, name, 0);
	float *x = malloc(count * sizeof *x);

	inv_fill_normal(&s, 0, x, count);
	return x;
}

static double distance(const float *a, const float *b, size_t n, uint32_t d, double p,
                       const char *slices)
{
	invar_options *o =
		test_options("dependence", "projections", "37", "slices", slices, NULL);
	double value;

	invar_options_set_number(o, "p", p);
	assert_int_equal(invar_sliced_wasserstein(test_ctx, a, b, n, d, NULL, o, &value, NULL),
	                 INVAR_OK);
	invar_options_free(o);
	return value;
}

static void what_holds_for_any_sets(void **state)
{
	enum { n = 333, d = 12 };
	static const char *const slices[] = {"random", "orthogonal"};
	float *a = normal_rows("a", n * d), *b = normal_rows("b", n * d), turned[n * d],
		  twice[n * d];

	(void)state;
	for (size_t r = 0; r < n; r++)
		memcpy(turned + (r * 7 + 3) % n * d, a + r * d, d * sizeof *a);
	for (size_t i = 0; i < n * d; i++)
		twice[i] = 2 * a[i];
	for (size_t i = 0; i < 8; i++) {
		double p = 1 + (double)(i / 2) / 2, value;
		const char *how = slices[i % 2];
		float doubled[n * d];

		value = distance(a, b, n, d, p, how);
		for (size_t k = 0; k < n * d; k++)
			doubled[k] = 2 * b[k];
		assert_true(distance(a, a, n, d, p, how) == 0);
		assert_true(distance(a, turned, n, d, p, how) <
		            1e-6); /* rounding depends on the position */
		assert_true(value > 0);
		assert_true(fabs(distance(turned, b, n, d, p, how) - value) < 1e-6);
		assert_true(fabs(distance(b, a, n, d, p, how) - value) < 1e-6);
		assert_true(fabs(distance(twice, doubled, n, d, p, how) - 2 * value) < 1e-6);
	}
	free(a);
	free(b);
}

/* Radix and threads: the same bits. */
static void long_sets_and_threads(void **state)
{
	enum { n = 40000, d = 3 };
	float *a = normal_rows("long a", n * d), *b = normal_rows("long b", n * d);
	invar_options *o = test_options("dependence", "projections", "130", NULL);
	double value[4];

	(void)state;
	for (unsigned threads = 1; threads <= 4; threads++) {
		invar_context *own;

		assert_int_equal(invar_context_new(threads, NULL, &own), INVAR_OK);
		assert_int_equal(
			invar_sliced_wasserstein(own, a, b, n, d, NULL, o, &value[threads - 1], NULL),
			INVAR_OK);
		assert_memory_equal(&value[threads - 1], &value[0], sizeof value[0]);
		invar_context_free(own);
	}
	/* Shifting one set by 1 along an axis: SW_2^2 grows by the mean of theta_0^2, 1/d. */
	for (size_t r = 0; r < n; r++)
		a[r * d] += 1;
	/* Whole frames: the mean is exact. */
	test_set(o, "slices", "orthogonal", "projections", "129", NULL);
	assert_int_equal(
		invar_sliced_wasserstein(test_ctx, a, b, n, d, NULL, o, &value[0], NULL), INVAR_OK);
	invar_options_free(o);
	assert_true(fabs(value[0] - sqrt(1.0 / d)) < 0.02);
	free(a);
	free(b);
}

/* Through directions that are drawn. */
static void gradients_of_many_directions_equal_differences(void **state)
{
	enum { n = 31, d = 4 };
	float *a = normal_rows("grad a", n * d), *b = normal_rows("grad b", n * d);
	float grad[n * d];
	invar_options *o = test_options("dependence", "projections", "50", NULL);
	double value, up, down;

	(void)state;
	assert_int_equal(invar_sliced_wasserstein(test_ctx, a, b, n, d, NULL, o, &value, grad),
	                 INVAR_OK);
	for (size_t i = 0; i < n * d; i += 5) {
		float kept = a[i];

		a[i] = kept + 1e-3f;
		invar_sliced_wasserstein(test_ctx, a, b, n, d, NULL, o, &up, NULL);
		a[i] = kept - 1e-3f;
		invar_sliced_wasserstein(test_ctx, a, b, n, d, NULL, o, &down, NULL);
		a[i] = kept;
		assert_true(fabs(grad[i] - (up - down) / 2e-3) < 2e-4);
	}
	invar_options_free(o);
	free(a);
	free(b);
}

/* ---- Dependence ------------------------------------------------------------------ */

/* In the order of the results. */
typedef struct numbers {
	double dependence, dependence_error, correlation, correlation_error, sw_xx, sw_zz;
	double floor, floor_deviation, dependence_floor, p_value;
} numbers;

/* Takes r. */
static numbers numbers_of(invar_results *r)
{
	double all[10];
	numbers n;

	assert_int_equal(invar_results_metrics(r), 10);
	assert_string_equal(invar_results_metric(r, 2)->id, "correlation");
	assert_string_equal(invar_results_metric(r, 9)->id, "p_value");
	for (size_t i = 0; i < 10; i++)
		all[i] = invar_results_value(r, invar_results_metric(r, i)->id, "xz")->value;
	memcpy(&n, all, sizeof n);
	invar_results_free(r);
	return n;
}

static numbers depend(const float *x, uint32_t dx, const float *z, uint32_t dz, size_t n,
                      const char *slices, uint64_t seed)
{
	invar_options *o =
		test_options("dependence", "slices", slices, "projections", "400", NULL);
	invar_results *r;

	invar_options_set_number(o, "seed", (double)seed);
	assert_int_equal(invar_dependence(test_ctx, x, dx, z, dz, n, o, &r), INVAR_OK);
	invar_options_free(o);
	return numbers_of(r);
}

static void a_sample_correlates_with_itself_by_one(void **state)
{
	enum { n = 700, d = 20 };
	float *x = normal_rows("self", n * d);
	int within = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		numbers r = depend(x, d, x, d, n, "random", seed);
		double off = fabs(r.correlation - 1) / r.correlation_error;

		assert_true(off < 4);
		within += off < 1;
		assert_true(r.p_value < 0.05 && r.floor < 0.8);
	}
	assert_true(within >= 8 && within <= 19); /* about two of three */
	free(x);
}

static void independent_samples_lie_on_the_floor(void **state)
{
	enum { n = 600, dx = 9, dz = 30 };
	float *x = normal_rows("x", n * dx), *z = normal_rows("z", n * dz);
	double smallest = 1, largest = 0;

	(void)state;
	for (uint64_t seed = 0; seed < 6; seed++) {
		numbers r = depend(x, dx, z, dz, n, "random", seed);

		assert_true(r.correlation > 0.2); /* far from zero: the floor is needed */
		assert_true(fabs(r.correlation - r.floor) < 0.1 * r.floor);
		smallest = fmin(smallest, r.p_value);
		largest = fmax(largest, r.p_value);
	}
	assert_true(largest > 0.1);
	free(x);
	free(z);
}

static void scales_follow_their_law(void **state)
{
	enum { n = 6000, d = 6 };
	float *x = normal_rows("scale", n * d), *z = malloc(n * d * sizeof *z);

	(void)state;
	for (int c = 1; c <= 10; c += 3) {
		double want = sqrt(2.0 * c / (1.0 + c * c));
		numbers r;

		for (size_t i = 0; i < n * d; i++)
			z[i] = (float)c * x[i];
		r = depend(x, d, z, d, n, "orthogonal", 0);
		assert_true(fabs(r.correlation - want) < 0.05);
	}
	free(x);
	free(z);
}

static void threads_change_no_bit(void **state)
{
	enum { n = 100, d = 5 };
	float *x = normal_rows("x", n * d), *z = normal_rows("y", n * d);
	invar_options *o = test_options("dependence", NULL);
	numbers first, now;

	(void)state;
	for (unsigned threads = 1; threads <= 3; threads++) {
		invar_context *own;
		invar_results *r;

		assert_int_equal(invar_context_new(threads, NULL, &own), INVAR_OK);
		assert_int_equal(invar_dependence(own, x, d, z, d, n, o, &r), INVAR_OK);
		now = numbers_of(r);
		if (threads == 1)
			first = now;
		assert_memory_equal(&now, &first, sizeof now);
		invar_context_free(own);
	}
	invar_options_free(o);
	free(x);
	free(z);
}

static void little_is_refused_or_finite(void **state)
{
	float x[4] = {1, 2, 3, 4}, huge[4] = {3e38f, -3e38f, -3e38f, 3e38f}, grad[4];
	invar_options *o = test_options("dependence", NULL);
	invar_results *r;
	numbers alone;
	double value;

	(void)state;
	assert_int_equal(invar_sliced_wasserstein(test_ctx, x, x, 0, 2, NULL, o, &value, NULL),
	                 INVAR_E_USE);
	assert_int_equal(invar_dependence(test_ctx, x, 4, x, 4, 1, o, &r), INVAR_OK);
	alone = numbers_of(r);
	assert_true(alone.dependence == 0 && alone.correlation == 0);
	assert_int_equal(invar_dependence(test_ctx, x, 0, x, 4, 1, o, &r), INVAR_E_USE);
	assert_int_equal(invar_dependence(test_ctx, x, 4, x, 0, 1, o, &r), INVAR_E_USE);
	assert_int_equal(invar_sliced_wasserstein(test_ctx, x, x, 4, 0, NULL, o, &value, NULL),
	                 INVAR_E_USE);
	assert_int_equal(
		invar_sliced_wasserstein(test_ctx, huge, x, 2, 2, NULL, o, &value, grad),
		INVAR_E_NUMERIC);
	assert_int_equal(invar_dependence(test_ctx, huge, 2, x, 2, 2, o, &r), INVAR_E_NUMERIC);
	assert_null(r);
	test_set(o, "p", "11", NULL);
	assert_int_equal(invar_sliced_wasserstein(test_ctx, x, x, 2, 2, NULL, o, &value, grad),
	                 INVAR_E_USE);
	assert_int_equal(invar_options_set(o, "p", "0.5"), INVAR_E_USE);
	invar_options_free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_distances),
		cmocka_unit_test(what_holds_for_any_sets),
		cmocka_unit_test(long_sets_and_threads),
		cmocka_unit_test(gradients_of_many_directions_equal_differences),
		cmocka_unit_test(a_sample_correlates_with_itself_by_one),
		cmocka_unit_test(independent_samples_lie_on_the_floor),
		cmocka_unit_test(scales_follow_their_law),
		cmocka_unit_test(threads_change_no_bit),
		cmocka_unit_test(little_is_refused_or_finite),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
