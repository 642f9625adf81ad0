/* SPDX-License-Identifier: Apache-2.0 */
/* test_linalg.c - products, SVD and Cholesky in double against plain algebra. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "math/linalg.h"
#include "math/openblas.h"

static const size_t shapes[][3] = {
	{1, 1, 1},      {1, 7, 3},   {5, 1, 9},    {3, 17, 64},    {33, 31, 1},
	{129, 130, 70}, {200, 3, 5}, {257, 12, 8}, {300, 300, 11},
};

static double *draw(const char *purpose, size_t count)
{
	inv_stream s = inv_stream_of(7, purpose, 0);
	float *x = inv_alloc((count + 1) * sizeof *x);
	double *out = inv_alloc((count + 1) * sizeof *out);

	assert_true(x && out);
	inv_fill_normal(&s, 0, x, count);
	for (size_t i = 0; i < count; i++)
		out[i] = x[i];
	inv_free(x);
	return out;
}

/* Sums of k products of N(0, 1) in any order: k roundings of about 1e-16 each. */
static void assert_near(const double *got, const double *want, size_t count, double limit,
                        const char *what)
{
	for (size_t i = 0; i < count; i++)
		if (!(fabs(got[i] - want[i]) <= limit))
			fail_msg("%s: element %zu is %.17g, not %.17g", what, i, got[i], want[i]);
}

static void check_product(invar_context *ctx, const inv_dgemm_spec *s)
{
	size_t cells = s->m * s->n;
	double *a = draw("a", s->m * s->k), *b = draw("b", s->k * s->n);
	double *want = draw("c", cells), *one = draw("c", cells), *tiled = draw("c", cells);
	double limit = 1e-15 * (double)(s->k + 10);

	inv_dgemm_ref(s, a, b, want);
	inv_dgemm(ctx, s, a, b, one);
	inv_dgemm_tiled(ctx, s, a, b, tiled);
	if (s->lower) /* above the diagonal is unspecified */
		for (size_t i = 0; i < s->m; i++)
			for (size_t j = i + 1; j < s->n; j++)
				want[i * s->n + j] = one[i * s->n + j] = tiled[i * s->n + j] = 0;
	assert_near(one, want, cells, limit * 10, "inv_dgemm");
	assert_near(tiled, want, cells, limit * 10, "inv_dgemm_tiled");
	inv_free(a);
	inv_free(b);
	inv_free(want);
	inv_free(one);
	inv_free(tiled);
}

static void products_equal_the_loop(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= 3; threads++) {
		invar_context *ctx;

		assert_int_equal(invar_context_new(threads, NULL, &ctx), INVAR_OK);
		assert_int_equal(inv_openblas_need_for(ctx), INVAR_OK);
		for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
			for (unsigned bits = 0; bits < 8; bits++) {
				inv_dgemm_spec s = {
					shapes[i][0],    shapes[i][1],    shapes[i][2], (bits & 1) != 0,
					(bits & 2) != 0, (bits & 4) != 0, false};

				check_product(ctx, &s);
				s.lower = s.m == s.n;
				check_product(ctx, &s);
			}
		invar_context_free(ctx);
	}
}

static void tiles_give_the_same_bits_on_any_threads(void **state)
{
	const inv_dgemm_spec s = {391, 391, 256, .transpose_a = true};
	double *a = draw("a", s.m * s.k), *b = draw("b", s.k * s.n), *out[4];

	(void)state;
	for (unsigned t = 0; t < 4; t++) {
		invar_context *ctx;

		out[t] = inv_calloc(s.m * s.n, sizeof(double));
		assert_int_equal(invar_context_new(t + 1, NULL, &ctx), INVAR_OK);
		assert_int_equal(inv_openblas_need_for(ctx), INVAR_OK);
		inv_dgemm_tiled(ctx, &s, a, b, out[t]);
		invar_context_free(ctx);
		assert_memory_equal(out[t], out[0], s.m * s.n * sizeof(double));
	}
	for (unsigned t = 0; t < 4; t++)
		inv_free(out[t]);
	inv_free(a);
	inv_free(b);
}

/* ---- SVD -------------------------------------------------------------------------- */

/* rows [count, width] with `stride` between elements of a vector: all unit, all square. */
static void assert_orthonormal(const double *x, size_t count, size_t width, size_t step,
                               size_t stride)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j <= i; j++) {
			double dot = 0;

			for (size_t l = 0; l < width; l++)
				dot += x[i * step + l * stride] * x[j * step + l * stride];
			assert_true(fabs(dot - (i == j)) < 1e-13);
		}
}

/* One-sided Jacobi on the columns of a [m, n], m >= n: slow, short, independent. */
static void jacobi_values(size_t m, size_t n, double *a, double *sigma)
{
	for (int sweep = 0; sweep < 40; sweep++)
		for (size_t p = 0; p < n; p++)
			for (size_t q = p + 1; q < n; q++) {
				double pp = 0, qq = 0, pq = 0, angle;

				for (size_t i = 0; i < m; i++) {
					pp += a[i * n + p] * a[i * n + p];
					qq += a[i * n + q] * a[i * n + q];
					pq += a[i * n + p] * a[i * n + q];
				}
				angle = atan2(2 * pq, pp - qq) / 2;
				for (size_t i = 0; i < m; i++) {
					double x = a[i * n + p], y = a[i * n + q];

					a[i * n + p] = cos(angle) * x + sin(angle) * y;
					a[i * n + q] = cos(angle) * y - sin(angle) * x;
				}
			}
	for (size_t j = 0; j < n; j++) {
		sigma[j] = 0;
		for (size_t i = 0; i < m; i++)
			sigma[j] += a[i * n + j] * a[i * n + j];
		sigma[j] = sqrt(sigma[j]);
	}
}

static int falling(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return (a < b) - (a > b);
}

static void check_svd(size_t m, size_t n, size_t columns)
{
	invar_context *ctx;
	size_t k = m < n ? m : n;
	double *left = draw("left", m * columns), *right = draw("right", columns * n);
	double *a = draw("x", m * n), *whole = draw("x", m * n), *again = draw("x", m * n);
	double *u = draw("x", m * k), *vt = draw("x", k * n), *sigma = draw("x", k);
	double *plain = draw("x", m + n);
	inv_dgemm_spec make = {m, n, columns, .add = false}, back = {m, n, k, .add = false};

	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	assert_int_equal(inv_openblas_need_for(ctx), INVAR_OK);
	inv_dgemm(ctx, &make, left, right, a);
	memcpy(whole, a, m * n * sizeof *a);
	assert_int_equal(inv_svd(m, n, a, u, sigma, vt), INVAR_OK);
	assert_orthonormal(u, k, m, 1, k);
	assert_orthonormal(vt, k, n, n, 1);
	if (m >= n) {
		memcpy(a, whole, m * n * sizeof *a);
		jacobi_values(m, n, a, plain);
		qsort(plain, n, sizeof *plain, falling);
		assert_near(sigma, plain, k, 1e-12 * sigma[0], "singular values");
	}
	for (size_t i = 0; i < m; i++)
		for (size_t j = 0; j < k; j++)
			u[i * k + j] *= sigma[j];
	inv_dgemm(ctx, &back, u, vt, again);
	assert_near(again, whole, m * n, 1e-13 * (1 + sigma[0]), "U S Vt");
	for (size_t j = columns; j < k; j++)
		assert_true(sigma[j] < 1e-13 * sigma[0]);
	invar_context_free(ctx);
	inv_free(left);
	inv_free(right);
	inv_free(a);
	inv_free(whole);
	inv_free(again);
	inv_free(u);
	inv_free(vt);
	inv_free(sigma);
	inv_free(plain);
}

static void svd_gives_back_singular_matrices_too(void **state)
{
	const size_t cases[][3] = {{1, 1, 1},  {2, 2, 2},  {7, 7, 7},    {7, 7, 3},
	                           {19, 5, 5}, {5, 19, 5}, {31, 31, 30}, {40, 13, 2},
	                           {1, 9, 1},  {9, 1, 1},  {65, 65, 64}};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		check_svd(cases[i][0], cases[i][1], cases[i][2]);
}

static void svd_of_zero_is_zero(void **state)
{
	double a[12] = {0}, u[9], sigma[3], vt[12];

	(void)state;
	assert_int_equal(inv_svd(3, 4, a, u, sigma, vt), INVAR_OK);
	for (int i = 0; i < 3; i++)
		assert_true(sigma[i] == 0);
	assert_orthonormal(u, 3, 3, 1, 3);
	assert_orthonormal(vt, 3, 4, 4, 1);
}

/* ---- Cholesky ----------------------------------------------------------------------- */

/* G = Y^T Y + I with garbage above its diagonal, which must not be read. */
static void check_cholesky(size_t n, size_t r, unsigned threads)
{
	invar_context *ctx;
	double *y = draw("y", n * n), *g = inv_calloc(n * n, sizeof *g),
		   *want = draw("w", n * r);
	double *c = inv_calloc(n * r, sizeof *c);
	inv_dgemm_spec square = {n, n, n, .transpose_a = true}, times = {n, r, n, .add = false};

	assert_int_equal(invar_context_new(threads, NULL, &ctx), INVAR_OK);
	inv_dgemm_ref(&square, y, y, g);
	for (size_t i = 0; i < n; i++)
		g[i * n + i] += (double)n;
	inv_dgemm_ref(&times, g, want, c);
	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			g[i * n + j] = 1e300;
	assert_int_equal(inv_cholesky_solve(ctx, n, r, g, c), INVAR_OK);
	assert_near(c, want, n * r, 1e-12, "solution");
	invar_context_free(ctx);
	inv_free(y);
	inv_free(g);
	inv_free(want);
	inv_free(c);
}

static void cholesky_solves_what_was_multiplied(void **state)
{
	const size_t sizes[][2] = {{1, 1}, {2, 5}, {7, 1}, {19, 19}, {33, 300}, {130, 129}};

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		for (unsigned threads = 1; threads <= 2; threads++)
			check_cholesky(sizes[i][0], sizes[i][1], threads);
}

/* diag(2, 3, 4, 2, …) + v v^T: large enough to be factored block by block. */
static void a_large_matrix_is_factored_in_blocks(void **state)
{
	enum { N = 2048 + 133, R = 3 };
	double *v = draw("v", N), *want = draw("w", N * R), *got[2], *vw;

	(void)state;
	vw = inv_calloc(R, sizeof *vw);
	for (size_t i = 0; i < N * R; i++)
		vw[i % R] += v[i / R] * want[i];
	for (unsigned t = 0; t < 2; t++) {
		invar_context *ctx;
		double *g = inv_calloc((size_t)N * N, sizeof *g);

		assert_int_equal(invar_context_new(t + 1, NULL, &ctx), INVAR_OK);
		got[t] = inv_calloc(N * R, sizeof **got);
		for (size_t i = 0; i < N; i++)
			for (size_t j = 0; j <= i; j++)
				g[i * N + j] = v[i] * v[j] + (i == j ? 2 + (double)(i % 3) : 0);
		for (size_t i = 0; i < N * R; i++)
			got[t][i] = (2 + (double)(i / R % 3)) * want[i] + v[i / R] * vw[i % R];
		assert_int_equal(inv_cholesky_solve(ctx, N, R, g, got[t]), INVAR_OK);
		assert_near(got[t], want, N * R, 1e-9, "solution");
		invar_context_free(ctx);
		inv_free(g);
	}
	assert_memory_equal(got[0], got[1], N * R * sizeof **got);
	inv_free(got[0]);
	inv_free(got[1]);
	inv_free(v);
	inv_free(vw);
	inv_free(want);
}

/* V^T diag(values) V is the matrix again, V V^T the identity; values ascend. */
static void eigenvectors_give_back_the_matrix(void **state)
{
	const size_t sizes[] = {1, 2, 7, 65, 130};

	(void)state;
	for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
		size_t n = sizes[k];
		double *y = draw("y", n * n), *v = inv_calloc(n * n, sizeof *v);
		double *values = inv_calloc(n, sizeof *values),
			   *back = inv_calloc(n * n, sizeof *v);
		double *want = inv_calloc(n * n, sizeof *want);
		inv_dgemm_spec times = {n, n, n, .transpose_a = true};

		for (size_t i = 0; i < n * n; i++) {
			want[i] = y[i] + y[i % n * n + i / n];
			v[i] = i % n > i / n ? 1e300 : want[i];
		}
		assert_int_equal(inv_eigen_symmetric(n, v, values), INVAR_OK);
		for (size_t i = 0; i < n * n; i++)
			y[i] = values[i / n] * v[i];
		inv_dgemm_ref(&times, v, y, back);
		assert_near(back, want, n * n, 1e-12 * (double)(n + 5), "V^T D V");
		for (size_t i = 1; i < n; i++)
			assert_true(values[i - 1] <= values[i]);
		inv_free(y);
		inv_free(v);
		inv_free(values);
		inv_free(back);
		inv_free(want);
	}
}

static void wrong_matrices_are_refused(void **state)
{
	invar_context *ctx;
	double g[4] = {1, 0, 2, 1}, c[2] = {1, 1};

	(void)state;
	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	assert_int_equal(inv_cholesky_solve(ctx, 2, 1, g, c), INVAR_E_NUMERIC);
	test_assert_error("not positive definite");
	assert_int_equal(inv_svd(2, 1 << 20, NULL, NULL, NULL, NULL), INVAR_E_USE);
	test_assert_error("wider than");
	invar_context_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products_equal_the_loop),
		cmocka_unit_test(tiles_give_the_same_bits_on_any_threads),
		cmocka_unit_test(svd_gives_back_singular_matrices_too),
		cmocka_unit_test(svd_of_zero_is_zero),
		cmocka_unit_test(cholesky_solves_what_was_multiplied),
		cmocka_unit_test(a_large_matrix_is_factored_in_blocks),
		cmocka_unit_test(eigenvectors_give_back_the_matrix),
		cmocka_unit_test(wrong_matrices_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
