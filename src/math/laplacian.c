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
	inv_arena arena;
	double *scale;       /* [n]: D^-1/2 */
	double *null;        /* [n]: entries of the null vectors, which do not overlap */
	uint32_t *component; /* [n] */
	double *sums;        /* [components] */
	double *start;       /* [n] */
	double *scaled;      /* [n]: D^-1/2 x */
	double *vectors;     /* [found, n] */
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

/* y -= SHIFT P x; the null vectors do not overlap, so one pass serves all. */
static void move_null_space(const laplacian *p, const double *x, double *y)
{
	memset(p->sums, 0, p->components * sizeof *p->sums);
	for (size_t i = 0; i < p->g->n; i++)
		p->sums[p->component[i]] += p->null[i] * x[i];
	for (size_t i = 0; i < p->g->n; i++)
		y[i] -= shift * p->null[i] * p->sums[p->component[i]];
}

static void move_found(const laplacian *p, const double *x, double *y)
{
	const size_t n = p->g->n;

	for (size_t v = 0; v < p->found; v++) {
		const double *vector = p->vectors + v * n;
		double sum = 0;

		for (size_t i = 0; i < n; i++)
			sum += vector[i] * x[i];
		for (size_t i = 0; i < n; i++)
			y[i] -= shift * sum * vector[i];
	}
}

static invar_status multiply(void *user, const double *x, double *y)
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
	move_null_space(p, x, y);
	move_found(p, x, y);
	return INVAR_OK;
}

/* ---- Finding --------------------------------------------------------------------- */

static invar_status find_dense(laplacian *p, size_t want, double *values, double *vectors)
{
	const size_t n = p->g->n;
	double *matrix = inv_alloc(n * n * sizeof *matrix);
	double *all = inv_calloc(2 * n, sizeof *all), *unit = all + n;
	invar_status st =
		matrix && all
			? INVAR_OK
			: inv_fail(INVAR_E_NOMEM, "not enough memory for eigenvalues of %zu rows", n);

	for (size_t i = 0; i < n && st == INVAR_OK; i++) {
		unit[i] = 1;
		st = multiply(p, unit, matrix + i * n);
		unit[i] = 0;
	}
	if (st == INVAR_OK)
		st = inv_eigen_symmetric(n, matrix, all);
	for (size_t i = 0; i < want && st == INVAR_OK; i++) {
		values[i] = all[n - 1 - i];
		memcpy(vectors + i * n, matrix + (n - 1 - i) * n, n * sizeof *vectors);
	}
	inv_free(all);
	inv_free(matrix);
	return st;
}

/* Each search has a start of its own: what one start cannot see, another one can. */
static void draw_start(laplacian *p)
{
	const inv_stream s = inv_stream_of(0, "laplacian", 0);
	inv_cursor c = inv_cursor_of(&s, p->searches++);

	for (size_t i = 0; i < p->g->n; i++)
		p->start[i] = inv_next_uniform(&c) - 0.5;
}

static invar_status find_largest(laplacian *p, size_t want, double accuracy, double *values,
                                 double *vectors)
{
	const inv_largest_spec s = {.n = p->g->n,
	                            .want = want,
	                            .tolerance = accuracy,
	                            .start = p->start,
	                            .multiply = multiply,
	                            .user = p};

	draw_start(p);
	return inv_largest_eigenpairs(&s, values, vectors);
}

/* Puts a pair where it belongs among `want` that descend; the last one drops out. */
static void insert_pair(size_t n, size_t want, double *values, double *vectors,
                        double value, const double *vector)
{
	size_t at = want - 1;

	while (at && values[at - 1] < value) {
		values[at] = values[at - 1];
		memcpy(vectors + at * n, vectors + (at - 1) * n, n * sizeof *vectors);
		at--;
	}
	values[at] = value;
	memcpy(vectors + at * n, vector, n * sizeof *vector);
}

/*
 * Is there a pair beside those found that is larger than the last of them? The largest Ritz
 * value is a lower bound, so a rough answer does not mislead.
 */
static invar_status look_for_missed(laplacian *p, size_t want, double *values,
                                    double *vectors, double *more, bool *missed)
{
	const size_t n = p->g->n;
	double top[PER_CHECK];
	invar_status st;

	p->vectors = vectors;
	p->found = want;
	if ((st = find_largest(p, 1, check_tolerance, top, more)) != INVAR_OK)
		return st;
	*missed = top[0] > values[want - 1] + same;
	if (!*missed)
		return INVAR_OK;
	if ((st = find_largest(p, PER_CHECK, tolerance, top, more)) != INVAR_OK)
		return st;
	for (size_t i = 0; i < PER_CHECK && top[i] > values[want - 1]; i++)
		insert_pair(n, want, values, vectors, top[i], more + i * n);
	return INVAR_OK;
}

static invar_status find_sparse(laplacian *p, size_t want, double *values, double *vectors)
{
	double *more = inv_alloc(PER_CHECK * p->g->n * sizeof *more);
	bool missed = true;
	invar_status st =
		more ? find_largest(p, want, tolerance, values, vectors)
			 : inv_fail(INVAR_E_NOMEM, "not enough memory for eigenvalues of %zu rows",
	                    p->g->n);

	while (st == INVAR_OK && missed)
		st = look_for_missed(p, want, values, vectors, more, &missed);
	inv_free(more);
	return st;
}

/* ---- The whole ------------------------------------------------------------------- */

static invar_status allocate_laplacian(laplacian *p)
{
	const size_t n = p->g->n;
	inv_arena *a = &p->arena;

	for (int round = 0; round < 2; round++) {
		invar_status st;

		p->scale = inv_arena_take(a, n, sizeof *p->scale);
		p->null = inv_arena_take(a, n, sizeof *p->null);
		p->component = inv_arena_take(a, n, sizeof *p->component);
		p->sums = inv_arena_take(a, n, sizeof *p->sums);
		p->start = inv_arena_take(a, n, sizeof *p->start);
		p->scaled = inv_arena_take(a, n, sizeof *p->scaled);
		if (!round && (st = inv_arena_commit(a)) != INVAR_OK)
			return st;
	}
	return INVAR_OK;
}

/* D^-1/2, and D^1/2 divided by its length on each component. */
static void prepare_null_space(laplacian *p)
{
	const size_t n = p->g->n;

	p->components = inv_graph_components(p->g, p->component);
	memset(p->sums, 0, p->components * sizeof *p->sums);
	for (size_t i = 0; i < n; i++) {
		double degree = row_sum(p->g, i);

		p->scale[i] = 1 / sqrt(degree);
		p->null[i] = sqrt(degree);
		p->sums[p->component[i]] += degree;
	}
	for (size_t i = 0; i < n; i++)
		p->null[i] /= sqrt(p->sums[p->component[i]]);
}

static void write_null_space(const laplacian *p, size_t count, double *values,
                             double *vectors)
{
	memset(values, 0, count * sizeof *values);
	memset(vectors, 0, count * p->g->n * sizeof *vectors);
	for (size_t i = 0; i < p->g->n; i++)
		if (p->component[i] < count)
			vectors[p->component[i] * p->g->n + i] = p->null[i];
}

invar_status inv_laplacian_smallest(const inv_laplacian_spec *s, double *values,
                                    double *vectors, size_t *components)
{
	const size_t n = s->g->n, want = s->want;
	const bool few = n <= DENSE || n < 4 * want;
	laplacian p = {.s = s, .g = s->g};
	size_t zeros, rest;
	invar_status st;

	INV_TRY(allocate_laplacian(&p));
	prepare_null_space(&p);
	zeros = p.components < want ? p.components : want;
	rest = want - zeros;
	write_null_space(&p, zeros, values, vectors);
	st = !rest ? INVAR_OK
	           : (few ? find_dense : find_sparse)(&p, rest, values + zeros,
	                                              vectors + zeros * n);
	for (size_t i = zeros; i < want && st == INVAR_OK; i++)
		values[i] = 1 - values[i];
	*components = p.components;
	inv_arena_free(&p.arena);
	return st;
}

invar_status inv_laplacian_smallest_ref(const inv_graph *g, size_t want, double *values,
                                        double *vectors)
{
	const size_t n = g->n;
	double *matrix = inv_calloc(n * n, sizeof *matrix), *all = inv_calloc(n, sizeof *all);
	invar_status st = matrix && all ? INVAR_OK : inv_fail(INVAR_E_NOMEM, "no memory");

	for (size_t i = 0; i < n && st == INVAR_OK; i++) {
		for (size_t e = g->start[i]; e < g->start[i + 1]; e++)
			matrix[i * n + g->to[e]] -=
				(g->weight ? g->weight[e] : 1) / sqrt(row_sum(g, i) * row_sum(g, g->to[e]));
		matrix[i * n + i] += 1;
	}
	if (st == INVAR_OK)
		st = inv_eigen_symmetric(n, matrix, all);
	if (st == INVAR_OK) {
		memcpy(values, all, want * sizeof *values);
		memcpy(vectors, matrix, want * n * sizeof *vectors);
	}
	inv_free(all);
	inv_free(matrix);
	return st;
}
