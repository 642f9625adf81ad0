/* SPDX-License-Identifier: Apache-2.0 */
/*
 * laplacian.c - smallest eigenpairs of L as largest of N = I - L, without its null space.
 *
 * Lanczos converges to the ends of a spectrum, so the largest eigenvalues of N need no
 * sparse factor of L. The null space of L is known exactly: one vector per component.
 *
 * In ARPACK the null space is moved to the other end: N - SHIFT P, P the projection on it,
 * has -2 where N has 1, and N has nothing below -1. One start vector finds equal
 * eigenvalues (of two components alike, say) only by rounding. So what was found is moved
 * away in the same way, and the rest is asked for its largest: if that belongs among those
 * found, it is taken and the question is repeated.
 *
 * Few rows go to LAPACK as a dense matrix: ARPACK wants many more rows than eigenpairs.
 */
#include "math/laplacian.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "math/arpack.h"
#include "math/linalg.h"

enum { DENSE = 256 /* rows */, PER_CHECK = 4 };

static const double shift = 3;
static const double tolerance = 1e-9;       /* vectors are good to this over the gap */
static const double check_tolerance = 1e-3; /* of the question whether one was missed */
static const double same = 1e-7;            /* eigenvalues that are taken for equal */

typedef struct laplacian {
	const inv_laplacian_spec *s;
	const inv_graph *g;
	uint32_t searches;
	size_t components, found; /* found: vectors that are moved away */
	double *scale;            /* [n]: D^-1/2 */
	double *null;             /* [n]: entries of the null vectors, which do not overlap */
	uint32_t *component;      /* [n] */
	double *sums;             /* [components] */
	double *start;            /* [n] */
	double *scaled;           /* [n]: D^-1/2 x */
	double *vectors;          /* [found, n] */
} laplacian;

/* ---- Products -------------------------------------------------------------------- */

static double row_sum(const inv_graph *g, size_t i)
{
	double sum = 0;

	if (!g->weight)
		return (double)(g->start[i + 1] - g->start[i]);
	for (size_t e = g->start[i]; e < g->start[i + 1]; e++)
		sum += g->weight[e];
	return sum;
}

/* y = (N - SHIFT P - SHIFT V^T V) x, V what was found. */
static invar_status multiply_shifted(void *user, const double *x, double *y)
{
	const laplacian *p = user;
	const inv_graph *g = p->g;

	INV_TRY(p->s->check(p->s->user));
	for (size_t i = 0; i < g->n; i++)
		p->scaled[i] = p->scale[i] * x[i];
	for (size_t i = 0; i < g->n; i++) {
		double sum = 0;

		if (g->weight)
			for (size_t e = g->start[i]; e < g->start[i + 1]; e++)
				sum += g->weight[e] * p->scaled[g->to[e]];
		else
			for (size_t e = g->start[i]; e < g->start[i + 1]; e++)
				sum += p->scaled[g->to[e]];
		y[i] = p->scale[i] * sum;
	}
	/* The null vectors do not overlap, so one pass serves all. */
	memset(p->sums, 0, p->components * sizeof *p->sums);
	for (size_t i = 0; i < g->n; i++)
		p->sums[p->component[i]] += p->null[i] * x[i];
	for (size_t i = 0; i < g->n; i++)
		y[i] -= shift * p->null[i] * p->sums[p->component[i]];
	for (size_t v = 0; v < p->found; v++) {
		const double *vector = p->vectors + v * g->n;
		double sum = 0;

		for (size_t i = 0; i < g->n; i++)
			sum += vector[i] * x[i];
		for (size_t i = 0; i < g->n; i++)
			y[i] -= shift * sum * vector[i];
	}
	return INVAR_OK;
}

/* ---- Finding --------------------------------------------------------------------- */

static invar_status find_dense(laplacian *p, size_t want, double *values, double *vectors)
{
	const size_t n = p->g->n;
	double *matrix = NULL, *all = NULL, *unit;
	invar_status st;

	INV_TRY_OR(done, inv_new_array(&matrix, n * n));
	INV_TRY_OR(done, inv_new_zeros(&all, 2 * n));
	unit = all + n;
	for (size_t i = 0; i < n; i++) {
		unit[i] = 1;
		INV_TRY_OR(done, multiply_shifted(p, unit, matrix + i * n));
		unit[i] = 0;
	}
	INV_TRY_OR(done, inv_eigen_symmetric(n, matrix, all));
	for (size_t i = 0; i < want; i++) {
		values[i] = all[n - 1 - i];
		memcpy(vectors + i * n, matrix + (n - 1 - i) * n, n * sizeof *vectors);
	}
done:
	inv_free(all);
	inv_free(matrix);
	return st;
}

/* Each search has a start of its own: what one start cannot see, another one can. */
static invar_status find_largest(laplacian *p, size_t want, double accuracy, double *values,
                                 double *vectors)
{
	const inv_largest_spec s = {.n = p->g->n,
	                            .want = want,
	                            .tolerance = accuracy,
	                            .start = p->start,
	                            .multiply = multiply_shifted,
	                            .user = p};
	const inv_stream stream = inv_stream_of(0, "laplacian", 0);
	inv_cursor c = inv_cursor_of(&stream, p->searches++);

	for (size_t i = 0; i < p->g->n; i++)
		p->start[i] = inv_next_uniform(&c) - 0.5;
	return inv_largest_eigenpairs(&s, values, vectors);
}

/*
 * After a search: is there a pair beside those found that is larger than the last of them?
 * The largest Ritz value is a lower bound, so a rough answer does not mislead.
 */
static invar_status find_sparse(laplacian *p, size_t want, double *values, double *vectors)
{
	const size_t n = p->g->n;
	double top[PER_CHECK], *more;
	invar_status st;

	INV_TRY(inv_new_array(&more, PER_CHECK * n));
	INV_TRY_OR(done, find_largest(p, want, tolerance, values, vectors));
	p->vectors = vectors;
	p->found = want;
	for (;;) {
		INV_TRY_OR(done, find_largest(p, 1, check_tolerance, top, more));
		if (!(top[0] > values[want - 1] + same))
			break;
		INV_TRY_OR(done, find_largest(p, PER_CHECK, tolerance, top, more));
		/* A pair goes where it belongs in descending order; the last one drops out. */
		for (size_t i = 0; i < PER_CHECK && top[i] > values[want - 1]; i++) {
			size_t at = want - 1;

			for (; at && values[at - 1] < top[i]; at--) {
				values[at] = values[at - 1];
				memcpy(vectors + at * n, vectors + (at - 1) * n, n * sizeof *vectors);
			}
			values[at] = top[i];
			memcpy(vectors + at * n, more + i * n, n * sizeof *vectors);
		}
	}
done:
	inv_free(more);
	return st;
}

invar_status inv_laplacian_smallest(const inv_laplacian_spec *s, double *values,
                                    double *vectors, size_t *components)
{
	const size_t n = s->g->n, want = s->want;
	const bool few = n <= DENSE || n < 4 * want;
	laplacian p = {.s = s, .g = s->g};
	inv_arena a = {0};
	size_t zeros;
	invar_status st = INVAR_OK;

	for (int round = 0; round < 2; round++) {
		p.scale = inv_arena_take(&a, n, sizeof *p.scale);
		p.null = inv_arena_take(&a, n, sizeof *p.null);
		p.component = inv_arena_take(&a, n, sizeof *p.component);
		p.sums = inv_arena_take(&a, n, sizeof *p.sums);
		p.start = inv_arena_take(&a, n, sizeof *p.start);
		p.scaled = inv_arena_take(&a, n, sizeof *p.scaled);
		if (!round)
			INV_TRY(inv_arena_commit(&a));
	}

	/* D^-1/2, and D^1/2 divided by its length on each component. */
	p.components = inv_graph_components(p.g, p.component);
	memset(p.sums, 0, p.components * sizeof *p.sums);
	for (size_t i = 0; i < n; i++) {
		double degree = row_sum(p.g, i);

		p.scale[i] = 1 / sqrt(degree);
		p.null[i] = sqrt(degree);
		p.sums[p.component[i]] += degree;
	}
	for (size_t i = 0; i < n; i++)
		p.null[i] /= sqrt(p.sums[p.component[i]]);

	*components = p.components;
	zeros = p.components < want ? p.components : want;
	memset(values, 0, zeros * sizeof *values);
	memset(vectors, 0, zeros * n * sizeof *vectors);
	for (size_t i = 0; i < n; i++)
		if (p.component[i] < zeros)
			vectors[p.component[i] * n + i] = p.null[i];
	if (zeros < want)
		st = (few ? find_dense : find_sparse)(&p, want - zeros, values + zeros,
		                                      vectors + zeros * n);
	for (size_t i = zeros; i < want && st == INVAR_OK; i++)
		values[i] = 1 - values[i];
	inv_arena_free(&a);
	return st;
}

invar_status inv_laplacian_smallest_ref(const inv_graph *g, size_t want, double *values,
                                        double *vectors)
{
	const size_t n = g->n;
	double *matrix = NULL, *all = NULL;
	invar_status st;

	INV_TRY_OR(done, inv_new_zeros(&matrix, n * n));
	INV_TRY_OR(done, inv_new_zeros(&all, n));
	for (size_t i = 0; i < n; i++) {
		for (size_t e = g->start[i]; e < g->start[i + 1]; e++)
			matrix[i * n + g->to[e]] -=
				(g->weight ? g->weight[e] : 1) / sqrt(row_sum(g, i) * row_sum(g, g->to[e]));
		matrix[i * n + i] += 1;
	}
	INV_TRY_OR(done, inv_eigen_symmetric(n, matrix, all));
	memcpy(values, all, want * sizeof *values);
	memcpy(vectors, matrix, want * n * sizeof *vectors);
done:
	inv_free(all);
	inv_free(matrix);
	return st;
}
