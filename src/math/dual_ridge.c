/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dual_ridge.c - see dual_ridge.h.
 *
 * The products of centred rows follow from those of the rows: with k = K w / W and
 * b = w^T k / W, W the sum of weights,
 *
 *     (x_i - m)^T (x_j - m) = K_ij - k_i - k_j + b.
 *
 * So another choice of weights or lambda reads no row again, except for B itself.
 */
#include "math/dual_ridge.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "math/linalg.h"
#include "math/openblas.h"

typedef struct dual {
	const inv_dual_rows *rows;
	size_t step, r;
	double shift;     /* b */
	double *k, *root; /* [n] each; root: of the weights */
	double *kernel;   /* [n, n] of centred rows */
	double *a;        /* [n, r] */
	const double *mean_y;
} dual;

invar_status inv_dual_products(const invar_context *ctx, size_t n, size_t p,
                               const double *x, double *products)
{
	const inv_dgemm_spec s = {n, n, p, .transpose_b = true, .lower = true};

	INV_TRY(inv_openblas_need_for(ctx));
	inv_dgemm_tiled(ctx, &s, x, x, products);
	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			products[i * n + j] = products[j * n + i];
	return INVAR_OK;
}

/* A row of the kernel, up to the diagonal, and of the right-hand side. */
static void centre_row(void *user, size_t i, unsigned thread)
{
	const dual *t = user;
	const inv_dual_rows *q = t->rows;

	(void)thread;
	for (size_t j = 0; j <= i; j++)
		t->kernel[i * q->n + j] =
			t->root[i] * t->root[j] *
			(q->products[i * q->n + j] - t->k[i] - t->k[j] + t->shift);
	for (size_t j = 0; j < t->r; j++)
		t->a[i * t->r + j] =
			t->root[i] * (q->y[i * q->d + j * t->step] - t->mean_y[j * t->step]);
}

invar_status inv_dual_ridge(const invar_context *ctx, const inv_dual_rows *q, double lambda,
                            size_t step, double *mean, double *mean_y, double *B)
{
	size_t n = q->n, p = q->p, d = q->d, r = inv_blocks(d, step);
	const inv_dgemm_spec back = {p, r, n, .transpose_a = true};
	dual t = {.rows = q, .step = step, .r = r, .mean_y = mean_y};
	double total = 0, trace = 0, before = 0, penalty;
	inv_arena arena = {0};
	invar_status st;

	INV_TRY(inv_openblas_need_for(ctx));
	for (int round = 0; round < 2; round++) {
		t.k = inv_arena_take(&arena, n, sizeof *t.k);
		t.root = inv_arena_take(&arena, n, sizeof *t.root);
		t.kernel = inv_arena_take(&arena, (uint64_t)n * n, sizeof *t.kernel);
		t.a = inv_arena_take(&arena, (uint64_t)n * r, sizeof *t.a);
		if (!round)
			INV_TRY(inv_arena_commit(&arena));
	}

	memset(mean, 0, p * sizeof *mean);
	memset(mean_y, 0, d * sizeof *mean_y);
	for (size_t i = 0; i < n; i++)
		total += q->weight[i];
	for (size_t i = 0; i < n; i++) {
		double fraction = q->weight[i] / total;

		t.root[i] = sqrt(q->weight[i]);
		for (size_t l = 0; l < p; l++)
			mean[l] += fraction * q->x[i * p + l];
		for (size_t j = 0; j < d; j++)
			mean_y[j] += fraction * q->y[i * d + j];
	}
	for (size_t i = 0; i < n; i++) {
		double sum = 0;

		for (size_t j = 0; j < n; j++)
			sum += q->weight[j] * q->products[i * n + j];
		t.k[i] = sum / total;
		t.shift += q->weight[i] * t.k[i] / total;
	}
	inv_parallel(ctx, n, centre_row, &t);

	/* What is left of the diagonal after centring; if only rounding, B is 0. */
	for (size_t i = 0; i < n; i++) {
		trace += t.kernel[i * n + i];
		before += q->weight[i] * q->products[i * n + i];
	}
	if (!(trace > 1e-13 * before))
		trace = 0;
	penalty = lambda * trace / (double)p;
	if (trace > 0 && !(penalty > DBL_EPSILON * trace)) {
		st = inv_fail(INVAR_E_NUMERIC, "a ridge of %g is lost in rounding", lambda);
		goto done;
	}
	for (size_t i = 0; i < n; i++)
		t.kernel[i * n + i] += trace > 0 ? penalty : 1;
	INV_TRY_OR(done, inv_cholesky_solve(ctx, n, r, t.kernel, t.a));

	/*
	 * B = X_c^T a = X^T S a - m (1^T S a). The kernel of centred rows maps sqrt w to 0 and
	 * Y_c is orthogonal to it, so a is as well, and the second term vanishes.
	 */
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < r; j++)
			t.a[i * r + j] *= t.root[i];
	inv_dgemm_tiled(ctx, &back, q->x, t.a, B);
done:
	inv_arena_free(&arena);
	return st;
}
