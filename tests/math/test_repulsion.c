/* SPDX-License-Identifier: Apache-2.0 */
/* test_repulsion.c - FFTs against the definition, and the grid against all pairs. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "math/kernels.h"
#include "math/repulsion.h"

enum { LANES = INV_LANES, MOST = 1200 };

static const double pi = 3.14159265358979323846;

static invar_context *context(unsigned threads)
{
	invar_context *ctx;

	assert_int_equal(invar_context_new(threads, NULL, &ctx), INVAR_OK);
	return ctx;
}

/* ---- FFT ------------------------------------------------------------------------ */

static void draw(double *x, size_t count, uint32_t index)
{
	inv_stream s = inv_stream_of(count, "fft", 0);
	float z[8];

	for (size_t i = 0; i < count; i += 8) {
		inv_fill_normal(&s, index + (uint32_t)i, z, 8);
		for (size_t k = 0; k < 8; k++)
			x[i + k] = z[k];
	}
}

/* Frequencies come in an order of their own: each must be one of the definition's. */
static void check_spectrum(const double *x, const double *spectrum, size_t n, size_t lane)
{
	double error = 0;

	for (size_t k = 0; k < n; k++) {
		double re = 0, im = 0, least = INFINITY;

		for (size_t m = 0; m < n; m++) {
			double angle = -2 * pi * (double)(m * k % n) / (double)n;
			double a = x[2 * m * LANES + lane], b = x[(2 * m + 1) * LANES + lane];

			re += a * cos(angle) - b * sin(angle);
			im += a * sin(angle) + b * cos(angle);
		}
		for (size_t m = 0; m < n; m++)
			least = fmin(least, hypot(spectrum[2 * m * LANES + lane] - re,
			                          spectrum[(2 * m + 1) * LANES + lane] - im));
		error = fmax(error, least);
	}
	if (error > 1e-12 * (double)n)
		fail_msg("n %zu: a frequency is off by %g", n, error);
}

static void check_fft(const struct inv_kernels *kernels, size_t n)
{
	double *x = inv_alloc(2 * n * LANES * sizeof *x),
		   *y = inv_alloc(2 * n * LANES * sizeof *y);
	double *roots = inv_alloc(2 * n * sizeof *roots);

	for (size_t k = 0; k < n; k++) {
		roots[2 * k] = cos(2 * pi * (double)k / (double)n);
		roots[2 * k + 1] = -sin(2 * pi * (double)k / (double)n);
	}
	draw(x, 2 * n * LANES, 0);
	memcpy(y, x, 2 * n * LANES * sizeof *x);
	kernels->fft(n, roots, y);
	if (n <= 96)
		for (size_t lane = 0; lane < LANES; lane++)
			check_spectrum(x, y, n, lane);
	kernels->fft_back(n, roots, y);
	for (size_t i = 0; i < 2 * n * LANES; i++)
		if (fabs(y[i] / (double)n - x[i]) > 1e-13)
			fail_msg("n %zu: value %zu comes back as %g, not %g", n, i, y[i] / (double)n,
			         x[i]);
	inv_free(x);
	inv_free(y);
	inv_free(roots);
}

static void frequencies_are_those_of_the_definition(void **state)
{
	static const size_t sizes[] = {4,  8,  12,  16,  24,  32,   48,
	                               64, 96, 128, 192, 256, 1536, 2048};
	invar_context *ctx = context(1);

	(void)state;
	for (unsigned fast = 0; fast < 2; fast++) {
		struct inv_kernels kernels;

		inv_kernels_init(&kernels, fast ? ctx->cpu : 0);
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
			check_fft(&kernels, sizes[i]);
	}
	invar_context_free(ctx);
}

/* ---- Repulsion ------------------------------------------------------------------- */

static float points[2 * MOST];
static double force[2 * MOST], force_ref[2 * MOST];

static void draw_points(size_t n, float scale)
{
	inv_stream s = inv_stream_of(n, "points", 0);

	for (size_t i = 0; i < 2 * n; i += 2) {
		inv_fill_normal(&s, (uint32_t)i, points + i, 2);
		points[i] = scale * (points[i] + 3 * (float)(i % 7));
		points[i + 1] = scale * (points[i + 1] - 2 * (float)(i % 5)) + 40;
	}
}

/* Largest error of a force, as a share of the largest force, or of `scale` if more. */
static double error_of(const invar_context *ctx, size_t n, double scale, double *z_error)
{
	double largest = 0, error = 0, z, z_ref;
	inv_repulsion *p;

	assert_int_equal(inv_repulsion_new(ctx, n, &p), INVAR_OK);
	assert_int_equal(inv_repulsion_find(p, points, force, &z), INVAR_OK);
	inv_repulsion_ref(points, n, force_ref, &z_ref);
	for (size_t i = 0; i < n; i++) {
		largest = fmax(largest, hypot(force_ref[2 * i], force_ref[2 * i + 1]));
		error = fmax(error, hypot(force[2 * i] - force_ref[2 * i],
		                          force[2 * i + 1] - force_ref[2 * i + 1]));
	}
	*z_error = fabs(z - z_ref) / fmax(z_ref, (double)n);
	inv_repulsion_free(p);
	return error / fmax(largest, scale);
}

/*
 * Shares of the force between two points, 0.32 at most, or of the largest where many push.
 * The splines' error is largest for points alone on a coarse grid; all within a unit, as
 * at the start, is next to exact.
 */
static void the_grid_equals_all_pairs(void **state)
{
	static const size_t sizes[] = {1, 2, 3, 10, 100, 256, 257, 400, 777, MOST};
	static const float scales[] = {1e-6f, 1e-4f, 0.01f, 0.3f, 1, 4, 12};
	invar_context *ctx = context(2);

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (size_t k = 0; k < sizeof scales / sizeof *scales; k++) {
			double z, f;

			draw_points(sizes[i], scales[k]);
			f = error_of(ctx, sizes[i], fmin(0.32, (double)scales[k]), &z);
			if (f > (scales[k] < 0.1f ? 1e-8 : 0.02) ||
			    z > (scales[k] < 0.1f ? 1e-9 : 2e-3))
				fail_msg("n %zu, scale %g: a force is off by %g, Z by %g", sizes[i],
				         (double)scales[k], f, z);
		}
	invar_context_free(ctx);
}

static void points_that_coincide_do_not_push(void **state)
{
	invar_context *ctx = context(1);
	double z;

	(void)state;
	for (size_t i = 0; i < 600; i++)
		points[i] = 5;
	assert_true(error_of(ctx, 300, 0.32, &z) < 1e-9);
	assert_true(z < 1e-9);
	points[17] = NAN;
	{
		inv_repulsion *p;

		assert_int_equal(inv_repulsion_new(ctx, 300, &p), INVAR_OK);
		assert_int_equal(inv_repulsion_find(p, points, force, &z), INVAR_E_NUMERIC);
		inv_repulsion_free(p);
	}
	invar_context_free(ctx);
}

static void one_and_many_threads_give_the_same_bits(void **state)
{
	double z[2];

	(void)state;
	draw_points(MOST, 3);
	for (unsigned threads = 1; threads <= 4; threads++) {
		invar_context *ctx = context(threads);
		inv_repulsion *p;

		assert_int_equal(inv_repulsion_new(ctx, MOST, &p), INVAR_OK);
		assert_int_equal(
			inv_repulsion_find(p, points, threads > 1 ? force : force_ref, &z[threads > 1]),
			INVAR_OK);
		if (threads > 1) {
			assert_memory_equal(force, force_ref, sizeof force);
			assert_memory_equal(&z[0], &z[1], sizeof z[0]);
		}
		inv_repulsion_free(p);
		invar_context_free(ctx);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frequencies_are_those_of_the_definition),
		cmocka_unit_test(the_grid_equals_all_pairs),
		cmocka_unit_test(points_that_coincide_do_not_push),
		cmocka_unit_test(one_and_many_threads_give_the_same_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
