/* SPDX-License-Identifier: Apache-2.0 */
/* transport.c - matrix square roots by eigenvalues, in double. */
#include "math/transport.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "math/openblas.h"

typedef struct transport {
	const invar_context *ctx;
	size_t d;
	double *vectors, *scaled, *values; /* [d, d], [d, d], [d] */
	double *root, *inverse, *middle;   /* [d, d] A^1/2, A^-1/2, A^1/2 B A^1/2 */
} transport;

static void product(const transport *t, const double *a, const double *b, double *c)
{
	inv_dgemm_spec s = {t->d, t->d, t->d, .add = false};

	inv_dgemm_tiled(t->ctx, &s, a, b, c);
}

/* out = V^T diag(values^power) V */
static void raise_to(const transport *t, double power, double *out)
{
	inv_dgemm_spec s = {t->d, t->d, t->d, .transpose_a = true};

	for (size_t i = 0; i < t->d; i++)
		for (size_t j = 0; j < t->d; j++)
			t->scaled[i * t->d + j] = pow(t->values[i], power) * t->vectors[i * t->d + j];
	inv_dgemm_tiled(t->ctx, &s, t->vectors, t->scaled, out);
}

/* Eigenvalues and vectors of a matrix whose lower triangle is read; none may be <= 0. */
static invar_status decompose(const transport *t, const double *matrix)
{
	invar_status st;

	memcpy(t->vectors, matrix, t->d * t->d * sizeof *matrix);
	if ((st = inv_eigen_symmetric(t->d, t->vectors, t->values)) != INVAR_OK)
		return st;
	if (t->values[0] > 0)
		return INVAR_OK;
	return inv_fail(INVAR_E_NUMERIC,
	                "a covariance of %zu features is not positive definite", t->d);
}

/* B whole in t->middle, then A^1/2 B A^1/2. */
static void sandwich(const transport *t, const double *b, double *scratch)
{
	size_t d = t->d;

	for (size_t i = 0; i < d; i++)
		for (size_t j = 0; j <= i; j++)
			t->middle[i * d + j] = t->middle[j * d + i] = b[i * d + j];
	product(t, t->root, t->middle, scratch);
	product(t, scratch, t->root, t->middle);
}

static invar_status solve_transport(const transport *t, const double *a, const double *b,
                                    double *T)
{
	invar_status st = decompose(t, a);

	if (st != INVAR_OK)
		return st;
	raise_to(t, 0.5, t->root);
	raise_to(t, -0.5, t->inverse);
	sandwich(t, b, T);
	if ((st = decompose(t, t->middle)) != INVAR_OK)
		return st;
	raise_to(t, 0.5, t->middle);
	product(t, t->inverse, t->middle, t->root);
	product(t, t->root, t->inverse, T);
	return INVAR_OK;
}

static void plan_memory(transport *t, inv_arena *arena)
{
	size_t square = t->d * t->d;

	t->vectors = inv_arena_take(arena, square, sizeof(double));
	t->scaled = inv_arena_take(arena, square, sizeof(double));
	t->root = inv_arena_take(arena, square, sizeof(double));
	t->inverse = inv_arena_take(arena, square, sizeof(double));
	t->middle = inv_arena_take(arena, square, sizeof(double));
	t->values = inv_arena_take(arena, t->d, sizeof(double));
}

invar_status inv_gaussian_transport(const invar_context *ctx, size_t d, const double *a,
                                    const double *b, double *T)
{
	transport t = {.ctx = ctx, .d = d};
	inv_arena arena = {0};
	invar_status st = inv_openblas_need_for(ctx);

	if (st != INVAR_OK)
		return st;
	plan_memory(&t, &arena);
	if ((st = inv_arena_commit(&arena)) != INVAR_OK)
		return st;
	plan_memory(&t, &arena);
	st = solve_transport(&t, a, b, T);
	inv_arena_free(&arena);
	return st;
}
