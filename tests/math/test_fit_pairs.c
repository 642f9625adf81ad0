/* SPDX-License-Identifier: Apache-2.0 */
/* test_fit_pairs.c - rigid and ridge maps against SciPy's and against what defines them. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "golden.h"
#include "math/fit_pairs.h"
#include "math/linalg.h"

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

static float *draw(const char *purpose, size_t count)
{
	inv_stream s = inv_stream_of(5, purpose, 0);
	float *x = inv_alloc(count * sizeof *x);

	assert_non_null(x);
	inv_fill_normal(&s, 0, x, count);
	return x;
}

static inv_pairs *pairs_of(const invar_context *c, const float *a, const float *b, size_t n,
                           size_t d, bool ridge)
{
	inv_pairs *p;

	assert_int_equal(inv_pairs_new(c, d, ridge, &p), INVAR_OK);
	inv_pairs_add(p, a, b, n);
	return p;
}

static double residual(const inv_map_affine *m, const float *a, const float *b, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < m->d; j++) {
			double y = m->t[j];

			for (size_t l = 0; l < m->d; l++)
				y += a[i * m->d + l] * m->M[l * m->d + j];
			sum += (y - b[i * m->d + j]) * (y - b[i * m->d + j]);
		}
	return sum;
}

static void assert_orthogonal(const inv_map_affine *m)
{
	size_t d = m->d;

	for (size_t i = 0; i < d; i++)
		for (size_t j = 0; j < d; j++) {
			double dot = 0;

			for (size_t l = 0; l < d; l++)
				dot += m->M[i * d + l] * m->M[j * d + l];
			assert_true(fabs(dot - (i == j)) < 1e-12);
		}
}

/* ---- Rigid ------------------------------------------------------------------------ */

/* X(i,j) = sin(1+i+2j), A(i,j) = cos(2+3i+j), 6 x 3: singular values 0.712, 0.195, 0. */
static void a_flat_cloud_has_the_known_residual(void **state)
{
	float x[18], a[18];
	inv_map_affine m, identity = {.d = 3,
	                              .M = (double[]){1, 0, 0, 0, 1, 0, 0, 0, 1},
	                              .t = (double[]){0, 0, 0}};
	inv_pairs *p;

	(void)state;
	for (int i = 0; i < 6; i++)
		for (int j = 0; j < 3; j++) {
			x[3 * i + j] = (float)sin(1 + i + 2 * j);
			a[3 * i + j] = (float)cos(2 + 3 * i + j);
		}
	p = pairs_of(ctx, a, x, 6, 3, false);
	assert_int_equal(inv_fit_rigid(p, &m), INVAR_OK);
	assert_orthogonal(&m);
	/* The entries were rounded to float, 3e-8 each. */
	assert_true(fabs(residual(&identity, a, x, 6) - 19.073179317461) < 2e-6);
	assert_true(fabs(residual(&m, a, x, 6) - 16.366701709585) < 2e-6);
	inv_map_clear(&m);
	inv_pairs_free(p);
}

/* b = (a - 3) Q + t for a reflection Q: a rotation alone would not do. */
static void a_moved_cloud_is_moved_back_exactly(void **state)
{
	enum { N = 600, D = 7 };
	float *a = draw("a", N * D), *b = inv_alloc(N * D * sizeof *b);
	inv_map_affine m;
	inv_pairs *p;

	(void)state;
	for (size_t i = 0; i < N; i++)
		for (size_t j = 0; j < D; j++)
			b[i * D + j] = (j == 2 ? -1 : 1) * a[i * D + (j + 3) % D] + (float)j;
	p = pairs_of(ctx, a, b, N, D, false);
	assert_int_equal(inv_fit_rigid(p, &m), INVAR_OK);
	for (size_t i = 0; i < D; i++)
		for (size_t j = 0; j < D; j++) {
			double want = i == (j + 3) % D ? (j == 2 ? -1 : 1) : 0;

			assert_true(fabs(m.M[i * D + j] - want) < 1e-7);
		}
	for (size_t j = 0; j < D; j++)
		assert_true(fabs(m.t[j] - (double)j) < 1e-6);
	inv_map_clear(&m);
	inv_pairs_free(p);
	inv_free(a);
	inv_free(b);
}

static void fewer_rows_than_features_fit_exactly(void **state)
{
	enum { N = 5, D = 23 };
	float *a = draw("few", N * D), *b = inv_alloc(N * D * sizeof *b);
	inv_map_affine m;
	inv_pairs *p;

	(void)state;
	for (size_t i = 0; i < N * D; i++)
		b[i] = a[i / D * D + (i % D + 1) % D];
	p = pairs_of(ctx, a, b, N, D, true);
	assert_int_equal(inv_fit_rigid(p, &m), INVAR_OK);
	assert_orthogonal(&m);
	assert_true(residual(&m, a, b, N) < 1e-20);
	inv_map_clear(&m);
	assert_int_equal(inv_fit_ridge(p, 1e-10, &m), INVAR_OK);
	assert_true(residual(&m, a, b, N) < 1e-10);
	inv_map_clear(&m);
	inv_pairs_free(p);
	inv_free(a);
	inv_free(b);
}

/* [n, d] seen from the mean of its rows. */
static double *centred(const float *x, size_t n, size_t d)
{
	double *out = inv_alloc(n * d * sizeof *out);

	assert_non_null(out);
	for (size_t j = 0; j < d; j++) {
		double mean = 0;

		for (size_t i = 0; i < n; i++)
			mean += x[i * d + j] / (double)n;
		for (size_t i = 0; i < n; i++)
			out[i * d + j] = x[i * d + j] - mean;
	}
	return out;
}

/* A U V^T of the whole cross-covariance A^T B = U S V^T. */
static double *moved_by_whole_svd(const double *a, const double *b, size_t n, size_t d)
{
	double *memory = inv_alloc((4 * d * d + d) * sizeof *memory);
	double *cross = memory, *u = cross + d * d, *vt = u + d * d, *R = vt + d * d;
	double *moved = inv_alloc(n * d * sizeof *moved);
	const inv_dgemm_spec covariance = {d, d, n, .transpose_a = true},
						 rotation = {d, d, d, .add = false}, move = {n, d, d, .add = false};

	assert_true(memory && moved);
	inv_dgemm_ref(&covariance, a, b, cross);
	assert_int_equal(inv_svd(d, d, cross, u, R + d * d, vt), INVAR_OK);
	inv_dgemm_ref(&rotation, u, vt, R);
	inv_dgemm_ref(&move, a, R, moved);
	inv_free(memory);
	return moved;
}

static void check_thin_side(size_t n, size_t d)
{
	float *x = draw("thin a", n * d), *y = draw("thin b", n * d);
	double *a = centred(x, n, d), *b = centred(y, n, d);
	double *want = moved_by_whole_svd(a, b, n, d), *got = inv_alloc(n * d * sizeof *got);
	const inv_dgemm_spec move = {n, d, d, .add = false};
	inv_pairs *p = pairs_of(ctx, x, y, n, d, false);
	inv_map_affine m;

	assert_int_equal(inv_fit_rigid(p, &m), INVAR_OK);
	assert_orthogonal(&m);
	inv_dgemm_ref(&move, a, m.M, got);
	for (size_t i = 0; i < n * d; i++)
		if (!(fabs(got[i] - want[i]) < 1e-11))
			fail_msg("%zu rows of %zu: cell %zu is %.17g, not %.17g", n, d, i, got[i],
			         want[i]);
	inv_map_clear(&m);
	inv_pairs_free(p);
	inv_free(x);
	inv_free(y);
	inv_free(a);
	inv_free(b);
	inv_free(want);
	inv_free(got);
}

static void the_thin_side_moves_rows_as_the_whole_svd_does(void **state)
{
	const size_t sizes[][2] = {{1, 2},    {1, 7},   {2, 4},     {2, 5},    {3, 6},
	                           {5, 11},   {17, 64}, {31, 63},   {33, 66},  {33, 67},
	                           {65, 130}, {2, 257}, {127, 255}, {128, 255}};

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		check_thin_side(sizes[i][0], sizes[i][1]);
}

static void golden_rigid(void **state)
{
	const char *const names[] = {"rigid", "rigid_few"};

	(void)state;
	for (int few = 0; few < 2; few++) {
		golden *g = golden_open(golden_roots()[0], names[few]);
		size_t shape[GOLDEN_NDIM];
		const float *a = golden_f32(g, "a", shape), *b = golden_f32(g, "b", NULL);
		inv_pairs *p = pairs_of(ctx, a, b, shape[0], shape[1], false);
		inv_map_affine m;

		assert_int_equal(inv_fit_rigid(p, &m), INVAR_OK);
		assert_orthogonal(&m);
		if (!few) {
			golden_check_f64(g, "Q", m.M, m.d * m.d);
			golden_check_f64(g, "t", m.t, m.d);
		}
		golden_check_value(g, "residual", residual(&m, a, b, shape[0]));
		inv_map_clear(&m);
		inv_pairs_free(p);
		golden_close(g);
	}
}

/* Its Q acts on columns, so it is our M transposed. */
static void the_alignment_of_the_collision_case(void **state)
{
	char manifest[4096];
	golden *g;
	size_t shape[GOLDEN_NDIM];
	const float *a, *b;
	double Q[16 * 16];
	inv_map_affine m;
	inv_pairs *p;

	(void)state;
	snprintf(manifest, sizeof manifest, "%s", test_need_shared("golden/manifest.json"));
	*strrchr(manifest, '/') = '\0';
	g = golden_open(manifest, "collision");
	a = golden_f32(g, "aug", shape);
	b = golden_f32(g, "clean", NULL);
	assert_int_equal(shape[1], 16);
	p = pairs_of(ctx, a, b, shape[0], shape[1], false);
	assert_int_equal(inv_fit_rigid(p, &m), INVAR_OK);
	for (size_t i = 0; i < 16; i++)
		for (size_t j = 0; j < 16; j++)
			Q[j * 16 + i] = m.M[i * 16 + j];
	golden_check_f64(g, "Q", Q, 16 * 16);
	golden_check_f64(g, "t", m.t, 16);
	inv_map_clear(&m);
	inv_pairs_free(p);
	golden_close(g);
}

/* ---- Ridge ------------------------------------------------------------------------ */

static void golden_ridge(void **state)
{
	const char *const names[] = {"ridge", "ridge_few"};

	(void)state;
	for (int few = 0; few < 2; few++) {
		golden *g = golden_open(golden_roots()[0], names[few]);
		size_t shape[GOLDEN_NDIM];
		const float *a = golden_f32(g, "a", shape), *b = golden_f32(g, "b", NULL);
		inv_pairs *p = pairs_of(ctx, a, b, shape[0], shape[1], true);

		for (int k = 0; k < 4; k++) {
			char lambda[16], M[16], t[16], rest[16];
			inv_map_affine m;

			snprintf(lambda, sizeof lambda, "lambda_%d", k);
			snprintf(M, sizeof M, "M_%d", k);
			snprintf(t, sizeof t, "t_%d", k);
			snprintf(rest, sizeof rest, "residual_%d", k);
			assert_int_equal(inv_fit_ridge(p, golden_value(g, lambda), &m), INVAR_OK);
			golden_check_f64(g, M, m.M, m.d * m.d);
			golden_check_f64(g, t, m.t, m.d);
			golden_check_value(g, rest, residual(&m, a, b, shape[0]));
			inv_map_clear(&m);
		}
		inv_pairs_free(p);
		golden_close(g);
	}
}

static void sources_that_never_change_give_the_mean(void **state)
{
	enum { N = 300, D = 3 };
	float a[N * D], *b = draw("b", N * D);
	inv_map_affine m;
	inv_pairs *p;

	(void)state;
	for (size_t i = 0; i < N * D; i++)
		a[i] = 1000.1f + (float)(i % D); /* no sum of these is exact */
	p = pairs_of(ctx, a, b, N, D, true);
	assert_int_equal(inv_fit_ridge(p, 1e-4, &m), INVAR_OK);
	for (size_t j = 0; j < D; j++) {
		double mean = 0;

		for (size_t i = 0; i < N; i++)
			mean += b[i * D + j] / (double)N;
		assert_true(fabs(m.t[j] - mean) < 1e-12);
	}
	for (size_t i = 0; i < D * D; i++)
		assert_true(m.M[i] == 0);
	inv_map_clear(&m);
	assert_int_equal(inv_fit_rigid(p, &m), INVAR_OK);
	assert_orthogonal(&m);
	inv_map_clear(&m);
	inv_pairs_free(p);
	inv_free(b);
}

/* Features far from zero: sums of squares alone would lose half of the digits. */
static void a_large_mean_costs_no_digits(void **state)
{
	enum { N = 400, D = 5 };
	float *a = draw("a", N * D), *far = inv_alloc(N * D * sizeof *far);
	inv_map_affine near, away;
	inv_pairs *p, *q;

	(void)state;
	for (size_t i = 0; i < N * D; i++) {
		a[i] = roundf(a[i] * 64) / 64; /* so that adding 4096 is exact */
		far[i] = a[i] + 4096;
	}
	p = pairs_of(ctx, a, far, N, D, true);
	q = pairs_of(ctx, far, far, N, D, true);
	assert_int_equal(inv_fit_ridge(p, 1e-2, &near), INVAR_OK);
	assert_int_equal(inv_fit_ridge(q, 1e-2, &away), INVAR_OK);
	assert_memory_equal(near.M, away.M, D * D * sizeof(double));
	inv_map_clear(&near);
	inv_map_clear(&away);
	inv_pairs_free(p);
	inv_pairs_free(q);
	inv_free(a);
	inv_free(far);
}

/* ---- Threads, blocks, wrong uses ----------------------------------------- */

static void neither_threads_nor_calls_change_a_bit(void **state)
{
	enum { N = 1111, D = 150 };
	float *a = draw("a", N * D), *b = draw("b", N * D), *out[2];
	inv_map_affine want[2], got[2];

	(void)state;
	for (unsigned t = 0; t < 4; t++) {
		inv_map_affine *fit = t ? got : want;
		invar_context *c;
		inv_pairs *p;

		assert_int_equal(invar_context_new(t + 1, NULL, &c), INVAR_OK);
		assert_int_equal(inv_pairs_new(c, D, true, &p), INVAR_OK);
		for (size_t at = 0, now; at < N; at += now) {
			now = t == 0 ? N : t == 1 ? 256 : t == 2 ? 1 : 299;
			now = N - at < now ? N - at : now;
			inv_pairs_add(p, a + at * D, b + at * D, now);
		}
		assert_int_equal(inv_fit_rigid(p, &fit[0]), INVAR_OK);
		assert_int_equal(inv_fit_ridge(p, 0.1, &fit[1]), INVAR_OK);
		out[t > 0] = inv_alloc(N * D * sizeof(float));
		assert_int_equal(inv_map_rows(c, &fit[1], a, N, out[t > 0]), INVAR_OK);
		for (int i = 0; i < 2 && t; i++) {
			assert_memory_equal(got[i].M, want[i].M, D * D * sizeof(double));
			assert_memory_equal(got[i].t, want[i].t, D * sizeof(double));
			inv_map_clear(&got[i]);
		}
		assert_memory_equal(out[t > 0], out[0], N * D * sizeof(float));
		if (t)
			inv_free(out[1]);
		inv_pairs_free(p);
		invar_context_free(c);
	}
	inv_map_clear(&want[0]);
	inv_map_clear(&want[1]);
	inv_free(out[0]);
	inv_free(a);
	inv_free(b);
}

static void rows_are_mapped_in_place_as_in_double(void **state)
{
	enum { N = 300, D = 11 };
	float *z = draw("z", N * D), *out = inv_alloc(N * D * sizeof *out);
	double M[D * D], t[D];
	inv_map_affine m = {D, M, t};

	(void)state;
	for (size_t i = 0; i < D * D; i++)
		M[i] = sin((double)i);
	for (size_t j = 0; j < D; j++)
		t[j] = (double)j;
	assert_int_equal(inv_map_rows(ctx, &m, z, N, out), INVAR_OK);
	for (size_t i = 0; i < N * D; i++) {
		double want = t[i % D];

		for (size_t l = 0; l < D; l++)
			want += z[i / D * D + l] * M[l * D + i % D];
		assert_true(fabs(out[i] - want) <= 1.2e-7 * fabs(want) + 1e-14);
	}
	assert_int_equal(inv_map_rows(ctx, &m, z, N, z), INVAR_OK);
	assert_memory_equal(z, out, N * D * sizeof *z);
	inv_free(z);
	inv_free(out);
}

static void wrong_uses_have_a_sentence(void **state)
{
	const float flat[4] = {1, 1, 2, 1}; /* the second feature never changes */
	inv_map_affine m;
	inv_pairs *p;

	(void)state;
	assert_int_equal(inv_pairs_new(ctx, 2, true, &p), INVAR_OK);
	assert_int_equal(inv_fit_rigid(p, &m), INVAR_E_USE);
	test_assert_error("without rows");
	inv_pairs_add(p, flat, flat, 2);
	assert_int_equal(inv_fit_ridge(p, 0, &m), INVAR_E_NUMERIC);
	test_assert_error("too small");
	assert_null(m.M);
	inv_pairs_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flat_cloud_has_the_known_residual),
		cmocka_unit_test(a_moved_cloud_is_moved_back_exactly),
		cmocka_unit_test(fewer_rows_than_features_fit_exactly),
		cmocka_unit_test(the_thin_side_moves_rows_as_the_whole_svd_does),
		cmocka_unit_test(golden_rigid),
		cmocka_unit_test(the_alignment_of_the_collision_case),
		cmocka_unit_test(golden_ridge),
		cmocka_unit_test(sources_that_never_change_give_the_mean),
		cmocka_unit_test(a_large_mean_costs_no_digits),
		cmocka_unit_test(neither_threads_nor_calls_change_a_bit),
		cmocka_unit_test(rows_are_mapped_in_place_as_in_double),
		cmocka_unit_test(wrong_uses_have_a_sentence),
	};

	return cmocka_run_group_tests(tests, open_context, close_context);
}
