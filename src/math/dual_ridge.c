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

#include "base/memory.h"
#include "base/threads.h"
#include "math/linalg.h"
#include "math/openblas.h"

typedef struct dual {
	const invar_context *ctx;
	const inv_dual_rows *rows;
	size_t step, r;
	double total, shift; /* W, b */
	double *k, *root;    /* [n] each; root: of the weights */
	double *kernel;      /* [n, n] of centred rows */
	double *a;           /* [n, r] */
	double *mean, *mean_y, *B;
} dual;

invar_status inv_dual_products(const invar_context *ctx, size_t n, size_t p,
                               const double *x, double *products)
{
	const inv_dgemm_spec s = {n, n, p, .transpose_b = true, .lower = true};
	invar_status st = inv_openblas_need_for(ctx);

	if (st != INVAR_OK)
		return st;
	inv_dgemm_tiled(ctx, &s, x, x, products);
	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++)
			products[i * n + j] = products[j * n + i];
	return INVAR_OK;
}

static void average_rows(dual *t)
{
	const inv_dual_rows *q = t->rows;

	for (size_t l = 0; l < q->p; l++)
		t->mean[l] = 0;
	for (size_t j = 0; j < q->d; j++)
		t->mean_y[j] = 0;
	for (size_t i = 0; i < q->n; i++)
		t->total += q->weight[i];
	for (size_t i = 0; i < q->n; i++) {
		double share = q->weight[i] / t->total;

		t->root[i] = sqrt(q->weight[i]);
		for (size_t l = 0; l < q->p; l++)
			t->mean[l] += share * q->x[i * q->p + l];
		for (size_t j = 0; j < q->d; j++)
			t->mean_y[j] += share * q->y[i * q->d + j];
	}
}

static void average_products(dual *t)
{
	const inv_dual_rows *q = t->rows;

	for (size_t i = 0; i < q->n; i++) {
		double sum = 0;

		for (size_t j = 0; j < q->n; j++)
			sum += q->weight[j] * q->products[i * q->n + j];
		t->k[i] = sum / t->total;
		t->shift += q->weight[i] * t->k[i] / t->total;
	}
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

/*
 * B = X_c^T a = X^T S a - m (1^T S a). The kernel of centred rows maps sqrt w to 0 and Y_c
 * is orthogonal to it, so a is as well, and the second term vanishes.
 */
static void multiply_back(const dual *t)
{
	const inv_dual_rows *q = t->rows;
	const inv_dgemm_spec s = {q->p, t->r, q->n, .transpose_a = true};

	for (size_t i = 0; i < q->n; i++)
		for (size_t j = 0; j < t->r; j++)
			t->a[i * t->r + j] *= t->root[i];
	inv_dgemm_tiled(t->ctx, &s, q->x, t->a, t->B);
}

/* What is left of the diagonal after centring; 0 if that is nothing but rounding. */
static double trace_of(const dual *t)
{
	size_t n = t->rows->n;
	double trace = 0, before = 0;

	for (size_t i = 0; i < n; i++) {
		trace += t->kernel[i * n + i];
		before += t->rows->weight[i] * t->rows->products[i * n + i];
	}
	return trace > 1e-13 * before ? trace : 0;
}

/* If all rows are the same, B is 0. */
static invar_status solve_dual(dual *t, double lambda)
{
	size_t n = t->rows->n;
	double trace, penalty;
	invar_status st = INVAR_OK;

	average_rows(t);
	average_products(t);
	inv_parallel(t->ctx, n, centre_row, t);
	trace = trace_of(t);
	penalty = lambda * trace / (double)t->rows->p;
	if (trace > 0 && !(penalty > DBL_EPSILON * trace))
		return inv_fail(INVAR_E_NUMERIC, "a ridge of %g is lost in rounding", lambda);
	for (size_t i = 0; i < n; i++)
		t->kernel[i * n + i] += trace > 0 ? penalty : 1;
	st = inv_cholesky_solve(t->ctx, n, t->r, t->kernel, t->a);
	if (st == INVAR_OK)
		multiply_back(t);
	return st;
}

static void plan_dual(dual *t, inv_arena *arena)
{
	size_t n = t->rows->n;

	t->k = inv_arena_take(arena, n, sizeof *t->k);
	t->root = inv_arena_take(arena, n, sizeof *t->root);
	t->kernel = inv_arena_take(arena, (uint64_t)n * n, sizeof *t->kernel);
	t->a = inv_arena_take(arena, (uint64_t)n * t->r, sizeof *t->a);
}

invar_status inv_dual_ridge(const invar_context *ctx, const inv_dual_rows *rows,
                            double lambda, size_t step, double *mean, double *mean_y,
                            double *B)
{
	dual t = {.ctx = ctx,
	          .rows = rows,
	          .step = step,
	          .r = inv_blocks(rows->d, step),
	          .mean = mean,
	          .mean_y = mean_y,
	          .B = B};
	inv_arena arena = {0};
	invar_status st = inv_openblas_need_for(ctx);

	if (st != INVAR_OK)
		return st;
	plan_dual(&t, &arena);
	if ((st = inv_arena_commit(&arena)) != INVAR_OK)
		return st;
	plan_dual(&t, &arena);
	st = solve_dual(&t, lambda);
	inv_arena_free(&arena);
	return st;
}
