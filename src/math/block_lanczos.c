/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_lanczos.c - Lanczos with blocks of eight vectors and a polynomial of N.
 *
 * ARPACK multiplies one vector at a time and spends most of its time on keeping vectors
 * orthogonal. A product with eight vectors takes hardly longer than with one: an entry of
 * the matrix loads the same cache line. So products are cheap here, and vectors are what
 * costs. Each new block is therefore multiplied by q(N), q a Chebyshev polynomial that is
 * within [-1, 1] on the unwanted part [low, high] of the spectrum and grows steeply above:
 * the basis ends at 100 to 200 vectors, without a restart.
 *
 * Steps: survey (where the spectrum ends, and about how many eigenvalues lie above a
 * point), extend (a block more, all vectors orthogonal to all others), test (Ritz
 * values of q and their residuals), extract, verify (residuals of N itself), and look for
 * missed ones: the same from another start on what is left.
 *
 * Products run in P = D^-1 A, as N = D^1/2 P D^-1/2: where weights are 1, nothing but rows
 * is loaded. q is odd, so that what lies below `low` becomes negative and is never wanted.
 * All sums have a fixed order; everything runs on one thread.
 */
#include "math/block_lanczos.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "math/kernels.h"
#include "math/linalg.h"

enum {
	LANES = INV_WALK_LANES,
	MAX_BASIS = 288,
	MAX_DEGREE = 11,
	SURVEY = 16,      /* Lanczos steps */
	FIRST_TEST = 64,  /* vectors beyond those wanted */
	MAX_WAIT = 3,     /* blocks between tests */
	MISSED_STEPS = 4, /* blocks that look for missed ones */
	SUMS = 8          /* partial sums of a dot product */
};

static const double max_growth = 1e6; /* of q: what is wanted must not drown in rounding */
static const double same = 1e-7;      /* eigenvalues that are taken for equal */
static const double shrunk = 0.1;     /* of a length: orthogonality has suffered */
static const double lost = 1e-12;     /* of a length: nothing but rounding is left */

typedef struct lanczos {
	const invar_context *ctx;
	const inv_walk *w;
	struct inv_kernels kernels;
	size_t n, want, max, used; /* used: vectors of the basis */
	uint32_t drawn;
	double centre, half; /* of [low, high] */
	unsigned degree;
	inv_arena arena;
	double *root, *inverse; /* [n]: D^1/2, D^-1 */
	double *lane[2];        /* [n, LANES] */
	double *basis;          /* [max + LANES, n] */
	double *t;              /* [max, max]: q(N) in the basis */
	double *r;              /* [LANES, LANES]: the last block in terms of the next */
	double *products;       /* [max + LANES, LANES] */
	double *sums;           /* [components] */
	double *ritz;           /* [max, max] */
	double *theta;          /* [max] */
	double *mixed;          /* [want, max] */
} lanczos;

/* ---- Products -------------------------------------------------------------------- */

static double dot(size_t n, const double *a, const double *b)
{
	double sum[SUMS] = {0}, rest = 0;
	size_t i = 0;

	for (; i + SUMS <= n; i += SUMS)
		for (size_t s = 0; s < SUMS; s++)
			sum[s] += a[i + s] * b[i + s];
	for (; i < n; i++)
		rest += a[i] * b[i];
	return ((sum[0] + sum[4]) + (sum[1] + sum[5])) +
	       ((sum[2] + sum[6]) + (sum[3] + sum[7])) + rest;
}

static void subtract(size_t n, double factor, const double *a, double *from)
{
	for (size_t i = 0; i < n; i++)
		from[i] -= factor * a[i];
}

static void walk_once(const lanczos *b, double scale, double centre, double minus,
                      const double *x, double *y)
{
	const inv_graph *g = b->w->g;
	const inv_walk_step s = {.n = b->n,
	                         .start = g->start,
	                         .to = g->to,
	                         .weight = g->weight,
	                         .inverse = b->inverse,
	                         .scale = scale,
	                         .centre = centre,
	                         .minus = minus};

	b->kernels.walk_step(&s, x, y);
}

/* `count` <= LANES vectors [count, n] to lanes of D^-1/2 x; unused lanes are 0. */
static void to_lanes(const lanczos *b, size_t count, const double *vectors, double *lane)
{
	for (size_t i = 0; i < b->n; i++)
		for (size_t l = 0; l < LANES; l++)
			lane[i * LANES + l] = l < count ? vectors[l * b->n + i] / b->root[i] : 0;
}

static void from_lanes(const lanczos *b, size_t count, const double *lane, double *vectors)
{
	for (size_t l = 0; l < count; l++)
		for (size_t i = 0; i < b->n; i++)
			vectors[l * b->n + i] = lane[i * LANES + l] * b->root[i];
}

/* out [LANES, n] = q(N) x by the recurrence of Chebyshev polynomials. */
static void filter(const lanczos *b, const double *x, double *out)
{
	double *now = b->lane[0], *next = b->lane[1], *swap;

	to_lanes(b, LANES, x, now);
	for (unsigned k = 1; k <= b->degree; k++) {
		walk_once(b, (k > 1 ? 2 : 1) / b->half, b->centre, k > 1 ? 1 : 0, now, next);
		swap = now;
		now = next;
		next = swap;
	}
	from_lanes(b, LANES, now, out);
}

/* ---- Orthogonal vectors ---------------------------------------------------------- */

static void remove_null_space(const lanczos *b, size_t count, double *x)
{
	const inv_walk *w = b->w;

	for (size_t v = 0; v < count; v++, x += b->n) {
		memset(b->sums, 0, w->components * sizeof *b->sums);
		for (size_t i = 0; i < b->n; i++)
			b->sums[w->component[i]] += w->null[i] * x[i];
		for (size_t i = 0; i < b->n; i++)
			x[i] -= w->null[i] * b->sums[w->component[i]];
	}
}

/* x [count, n] -= its part along the basis from `first` to `end`, kept in products. */
static void remove_basis(const lanczos *b, size_t first, size_t end, size_t count,
                         double *x)
{
	const double *v = b->basis + first * b->n;
	const inv_dgemm_spec along = {
		.m = end - first, .n = count, .k = b->n, .transpose_b = true};
	const inv_dgemm_spec less = {
		.m = count, .n = b->n, .k = end - first, .transpose_a = true, .add = true};

	if (end == first)
		return;
	inv_dgemm(b->ctx, &along, v, x, b->products);
	for (size_t i = 0; i < along.m * count; i++)
		b->products[i] = -b->products[i];
	inv_dgemm(b->ctx, &less, b->products, v, x);
}

static void draw_vector(lanczos *b, double *x)
{
	const inv_stream s = inv_stream_of(0, "block lanczos", 0);
	inv_cursor c = inv_cursor_of(&s, b->drawn++);

	for (size_t i = 0; i < b->n; i++)
		x[i] = inv_next_uniform(&c) - 0.5;
}

/* A vector that nothing is left of is replaced by another one, of which r has no part. */
static void replace_vector(lanczos *b, double *block, size_t l)
{
	double *x = block + l * b->n;

	draw_vector(b, x);
	for (int round = 0; round < 2; round++) {
		remove_null_space(b, 1, x);
		remove_basis(b, 0, b->used, 1, x);
		for (size_t k = 0; k < l; k++)
			subtract(b->n, dot(b->n, block + k * b->n, x), block + k * b->n, x);
	}
}

static double normalise(const lanczos *b, double *x)
{
	double length = sqrt(dot(b->n, x, x));

	for (size_t i = 0; i < b->n && length > 0; i++)
		x[i] /= length;
	return length;
}

/*
 * Gram and Schmidt, twice: old = r^T new for the vectors of a block. Returns the smallest
 * part of a length that was left.
 */
static double orthonormalise(lanczos *b, double *block, double *r)
{
	double least = 1;

	memset(r, 0, LANES * LANES * sizeof *r);
	for (size_t l = 0; l < LANES; l++) {
		double *x = block + l * b->n, before = sqrt(dot(b->n, x, x)), length;

		for (int round = 0; round < 2; round++)
			for (size_t k = 0; k < l; k++) {
				double along = dot(b->n, block + k * b->n, x);

				r[k * LANES + l] += along;
				subtract(b->n, along, block + k * b->n, x);
			}
		length = normalise(b, x);
		if (length > lost && length > lost * before) {
			r[l * LANES + l] = length;
			least = fmin(least, length / before);
			continue;
		}
		replace_vector(b, block, l);
		normalise(b, x);
	}
	return least;
}

/* Makes the block behind the basis orthogonal to it and in itself. */
static void settle_block(lanczos *b)
{
	double *block = b->basis + b->used * b->n, again[LANES * LANES];

	remove_null_space(b, LANES, block);
	remove_basis(b, 0, b->used, LANES, block);
	if (orthonormalise(b, block, b->r) > shrunk)
		return;
	/* Vectors that were nearly parallel: the errors were divided by what was left. */
	remove_null_space(b, LANES, block);
	remove_basis(b, 0, b->used, LANES, block);
	orthonormalise(b, block, again);
}

static void start_block(lanczos *b)
{
	double *block = b->basis + b->used * b->n;

	for (size_t l = 0; l < LANES; l++)
		draw_vector(b, block + l * b->n);
	settle_block(b);
	settle_block(b);
	b->used += LANES;
}

/* t[i, j] = t[j, i], both from one number. */
static void put_symmetric(lanczos *b, size_t i, size_t j, double value)
{
	b->t[i * b->max + j] = b->t[j * b->max + i] = value;
}

/*
 * Multiplies the last block by q(N); what is new in the product is the next block, r, left
 * behind the basis. First only the last two blocks are removed, as Lanczos has it, then
 * all: the first takes away what is large, the second the errors of that.
 */
static void multiply_last(lanczos *b, size_t first)
{
	const size_t at = b->used - LANES;
	const size_t local = at >= first + LANES ? at - LANES : first;
	double *block = b->basis + b->used * b->n;

	filter(b, b->basis + at * b->n, block);
	remove_basis(b, local, b->used, LANES, block);
	for (size_t i = 0; i < LANES; i++)
		for (size_t j = 0; j <= i; j++) {
			const double *p = b->products + (at - local) * LANES;

			put_symmetric(b, at + i, at + j, -(p[i * LANES + j] + p[j * LANES + i]) / 2);
		}
	settle_block(b);
}

/* Takes the block behind the basis into it. */
static void accept_block(lanczos *b)
{
	const size_t last = b->used - LANES;

	for (size_t i = 0; i < LANES; i++)
		for (size_t j = 0; j < LANES; j++)
			put_symmetric(b, b->used + i, last + j, b->r[i * LANES + j]);
	b->used += LANES;
}

/* ---- The survey ------------------------------------------------------------------ */

typedef struct node {
	double value, weight;
} node;

typedef struct survey {
	double alpha[SURVEY][LANES], beta[SURVEY][LANES];
	size_t count;
	node nodes[SURVEY * LANES];
} survey;

static int by_value_down(const void *a, const void *b)
{
	double x = ((const node *)a)->value, y = ((const node *)b)->value;

	return (x < y) - (x > y);
}

/* sums over rows of degree x y, lane by lane */
static void dot_lanes(const lanczos *b, const double *x, const double *y, double *sums)
{
	memset(sums, 0, LANES * sizeof *sums);
	for (size_t i = 0; i < b->n; i++)
		for (size_t l = 0; l < LANES; l++)
			sums[l] += b->w->degree[i] * x[i * LANES + l] * y[i * LANES + l];
}

/* y -= alpha x; both are then divided by beta, and swap their places in the recurrence. */
static void step_lanes(const lanczos *b, double *x, double *y, survey *s, size_t step)
{
	double *alpha = s->alpha[step], *beta = s->beta[step];

	dot_lanes(b, x, y, alpha);
	for (size_t i = 0; i < b->n; i++)
		for (size_t l = 0; l < LANES; l++)
			y[i * LANES + l] -= alpha[l] * x[i * LANES + l];
	dot_lanes(b, y, y, beta);
	for (size_t l = 0; l < LANES; l++)
		beta[l] = sqrt(beta[l]);
	for (size_t i = 0; i < b->n; i++)
		for (size_t l = 0; l < LANES; l++) {
			y[i * LANES + l] /= beta[l] > lost ? beta[l] : 1;
			x[i * LANES + l] *= beta[l]; /* the next step subtracts it */
		}
}

/* The nodes of one lane: eigenvalues of its tridiagonal matrix. */
static invar_status add_nodes(survey *s, size_t l)
{
	double matrix[SURVEY * SURVEY] = {0}, values[SURVEY];
	size_t steps = 1;
	invar_status st;

	while (steps < SURVEY && s->beta[steps - 1][l] > lost)
		steps++;
	for (size_t i = 0; i < steps; i++) {
		matrix[i * steps + i] = s->alpha[i][l];
		if (i)
			matrix[i * steps + i - 1] = matrix[(i - 1) * steps + i] = s->beta[i - 1][l];
	}
	if ((st = inv_eigen_symmetric(steps, matrix, values)) != INVAR_OK)
		return st;
	for (size_t i = 0; i < steps; i++)
		s->nodes[s->count++] =
			(node){values[i], matrix[i * steps] * matrix[i * steps] / LANES};
	return INVAR_OK;
}

/*
 * A random vector has equal parts of all eigenvectors in the mean, so the weights of its
 * nodes above a point estimate how many eigenvalues lie there (Lanczos quadrature). Uses
 * the first block of the basis, without a change.
 */
static invar_status survey_spectrum(lanczos *b, survey *s)
{
	double *x = b->lane[0], *y = b->lane[1], *swap;
	invar_status st = INVAR_OK;

	to_lanes(b, LANES, b->basis, x);
	for (size_t step = 0; step < SURVEY; step++) {
		walk_once(b, 1, 0, step > 0, x, y);
		step_lanes(b, x, y, s, step);
		swap = x;
		x = y;
		y = swap;
	}
	for (size_t l = 0; l < LANES && st == INVAR_OK; l++)
		st = add_nodes(s, l);
	qsort(s->nodes, s->count, sizeof *s->nodes, by_value_down);
	return st;
}

/*
 * About twice as many eigenvalues as wanted lie above `high`: it must not pass the last
 * wanted one, and convergence hardly depends on it.
 */
static invar_status choose_filter(lanczos *b)
{
	survey s = {.count = 0};
	double share = 2 * (double)b->want / (double)(b->n - b->w->components), sum = 0, low,
		   high, growth;
	size_t at = 0;
	invar_status st = survey_spectrum(b, &s);

	if (st != INVAR_OK)
		return st;
	while (at + 1 < s.count && (sum += s.nodes[at].weight) < share)
		at++;
	low = fmax(s.nodes[s.count - 1].value - 0.02, -1);
	high = fmax(s.nodes[at].value, low + 0.02);
	b->centre = (low + high) / 2;
	b->half = (high - low) / 2;
	growth = acosh(fmax((s.nodes[0].value - b->centre) / b->half, 1.001));
	b->degree = (unsigned)fmin(acosh(max_growth) / growth, MAX_DEGREE);
	b->degree = b->degree < 1 ? 1 : b->degree - (b->degree % 2 == 0);
	return INVAR_OK;
}

/* ---- Ritz pairs ------------------------------------------------------------------ */

/*
 * lambda of q(lambda) = theta, and what a residual of q is at most in terms of N: a part
 * along an eigenvector of mu counts mu - lambda instead of q(mu) - q(lambda), which is
 * worst at the lower end. False within [low, high].
 */
static bool invert_filter(const lanczos *b, double theta, double *lambda, double *factor)
{
	if (b->degree == 1) {
		*lambda = b->centre + b->half * theta;
		*factor = b->half;
		return true;
	}
	if (theta <= 1)
		return false;
	*lambda = b->centre + b->half * cosh(acosh(theta) / b->degree);
	*factor = (*lambda - (b->centre - b->half)) / (theta - 1);
	return true;
}

/* Of t from `first` on: theta ascends, ritz has a vector per row. */
static invar_status find_ritz(lanczos *b, size_t first)
{
	const size_t m = b->used - first;

	for (size_t i = 0; i < m; i++)
		memcpy(b->ritz + i * m, b->t + (first + i) * b->max + first, m * sizeof *b->ritz);
	return inv_eigen_symmetric(m, b->ritz, b->theta);
}

/* The largest residual of N among the wanted pairs, as q tells; INFINITY: not yet there. */
static double estimate_residual(const lanczos *b)
{
	const size_t m = b->used;
	double worst = 0;

	for (size_t p = m - b->want; p < m; p++) {
		const double *last = b->ritz + p * m + m - LANES;
		double square = 0, lambda, factor;

		if (!invert_filter(b, b->theta[p], &lambda, &factor))
			return INFINITY;
		for (size_t i = 0; i < LANES; i++) {
			double sum = 0;

			for (size_t j = i; j < LANES; j++)
				sum += b->r[i * LANES + j] * last[j];
			square += sum * sum;
		}
		worst = fmax(worst, sqrt(square) * factor);
	}
	return worst;
}

/* The wanted Ritz vectors, those of the largest theta first. */
static void extract(const lanczos *b, double *vectors)
{
	const size_t m = b->used;
	const inv_dgemm_spec s = {.m = b->want, .n = b->n, .k = m};

	for (size_t p = 0; p < b->want; p++)
		memcpy(b->mixed + p * m, b->ritz + (m - 1 - p) * m, m * sizeof *b->mixed);
	inv_dgemm(b->ctx, &s, b->mixed, b->basis, vectors);
}

/* Rayleigh quotients of N, and the largest residual. */
static double verify(const lanczos *b, const double *vectors, double *values)
{
	double *product = b->basis + b->used * b->n, worst = 0;

	for (size_t p = 0; p < b->want; p += LANES) {
		const size_t count = b->want - p < LANES ? b->want - p : LANES;

		to_lanes(b, count, vectors + p * b->n, b->lane[0]);
		walk_once(b, 1, 0, 0, b->lane[0], b->lane[1]);
		from_lanes(b, count, b->lane[1], product);
		for (size_t l = 0; l < count; l++) {
			const double *v = vectors + (p + l) * b->n;
			double *residual = product + l * b->n;

			values[p + l] = dot(b->n, v, residual);
			subtract(b->n, values[p + l], v, residual);
			worst = fmax(worst, sqrt(dot(b->n, residual, residual)));
		}
	}
	return worst;
}

/* Equal ones may come out of order by a rounding. */
static void sort_pairs(const lanczos *b, double *values, double *vectors)
{
	double *keep = b->lane[0];

	for (size_t p = 1; p < b->want; p++)
		for (size_t at = p; at && values[at - 1] < values[at]; at--) {
			double *x = vectors + (at - 1) * b->n, *y = x + b->n, value = values[at];

			values[at] = values[at - 1];
			values[at - 1] = value;
			memcpy(keep, x, b->n * sizeof *x);
			memcpy(x, y, b->n * sizeof *x);
			memcpy(y, keep, b->n * sizeof *x);
		}
}

/* ---- The loop -------------------------------------------------------------------- */

/* Vectors until the next test: residuals fall by about the same factor with each block. */
static size_t until_next_test(const lanczos *b, size_t tested, double before, double now)
{
	double blocks;

	if (!isfinite(now) || !isfinite(before) || !(before > now))
		return LANES;
	blocks =
		log(now / b->w->tolerance) / log(before / now) * (double)(b->used - tested) / LANES;
	return LANES * (size_t)fmax(1, fmin(blocks, MAX_WAIT));
}

static invar_status extend(lanczos *b, bool *converged)
{
	size_t test = b->want + FIRST_TEST, tested = 0;
	double before = INFINITY;

	for (;;) {
		bool last = b->used + 2 * LANES > b->max;
		invar_status st = b->w->check(b->w->user);

		if (st != INVAR_OK)
			return st;
		multiply_last(b, 0);
		if (b->used >= test || last) {
			double now;

			if ((st = find_ritz(b, 0)) != INVAR_OK)
				return st;
			now = b->used >= b->want ? estimate_residual(b) : INFINITY;
			*converged = now <= b->w->tolerance / 2;
			if (*converged || last)
				return INVAR_OK;
			test = b->used + until_next_test(b, tested, before, now);
			tested = b->used;
			before = now;
		}
		accept_block(b);
	}
}

/*
 * Is there a pair beside those found that is larger than the last of them? A Ritz value is
 * a lower bound, so a rough answer does not mislead. The found ones begin the basis, so
 * that all vectors are orthogonal to them.
 */
static invar_status look_for_missed(lanczos *b, const double *values, const double *vectors,
                                    bool *missed)
{
	const size_t first = b->want;
	double lambda, factor;
	invar_status st;

	memcpy(b->basis, vectors, b->want * b->n * sizeof *b->basis);
	memset(b->t, 0, b->max * b->max * sizeof *b->t);
	b->used = b->want;
	start_block(b);
	for (size_t step = 1; b->used + 2 * LANES <= b->max; step++) {
		if ((st = b->w->check(b->w->user)) != INVAR_OK)
			return st;
		multiply_last(b, first);
		if (step == MISSED_STEPS)
			break;
		accept_block(b);
	}
	if ((st = find_ritz(b, first)) != INVAR_OK)
		return st;
	*missed = invert_filter(b, b->theta[b->used - first - 1], &lambda, &factor) &&
	          lambda > values[b->want - 1] + same;
	return INVAR_OK;
}

static invar_status run_lanczos(lanczos *b, double *values, double *vectors, bool *found)
{
	bool converged = false, missed = true;
	invar_status st;

	start_block(b);
	if ((st = choose_filter(b)) != INVAR_OK || (st = extend(b, &converged)) != INVAR_OK ||
	    !converged)
		return st;
	extract(b, vectors);
	if (verify(b, vectors, values) > b->w->tolerance)
		return INVAR_OK;
	sort_pairs(b, values, vectors);
	st = look_for_missed(b, values, vectors, &missed);
	*found = !missed;
	return st;
}

static invar_status allocate_lanczos(lanczos *b)
{
	const size_t n = b->n, max = b->max;
	inv_arena *a = &b->arena;

	for (int round = 0; round < 2; round++) {
		invar_status st;

		b->root = inv_arena_take(a, n, sizeof *b->root);
		b->inverse = inv_arena_take(a, n, sizeof *b->inverse);
		for (size_t i = 0; i < 2; i++)
			b->lane[i] = inv_arena_take(a, n * LANES, sizeof *b->lane[i]);
		b->basis = inv_arena_take(a, (max + LANES) * n, sizeof *b->basis);
		b->t = inv_arena_take(a, max * max, sizeof *b->t);
		b->r = inv_arena_take(a, LANES * LANES, sizeof *b->r);
		b->products = inv_arena_take(a, (max + LANES) * LANES, sizeof *b->products);
		b->sums = inv_arena_take(a, b->w->components, sizeof *b->sums);
		b->ritz = inv_arena_take(a, max * max, sizeof *b->ritz);
		b->theta = inv_arena_take(a, max, sizeof *b->theta);
		b->mixed = inv_arena_take(a, b->want * max, sizeof *b->mixed);
		if (!round && (st = inv_arena_commit(a)) != INVAR_OK)
			return st;
	}
	memset(b->t, 0, max * max * sizeof *b->t);
	for (size_t i = 0; i < n; i++) {
		b->root[i] = sqrt(b->w->degree[i]);
		b->inverse[i] = 1 / b->w->degree[i];
	}
	return INVAR_OK;
}

invar_status inv_block_lanczos(const invar_context *ctx, const inv_walk *w, size_t want,
                               double *values, double *vectors, bool *found)
{
	const size_t others = w->g->n - w->components;
	lanczos b = {.ctx = ctx, .w = w, .n = w->g->n, .want = want, .half = 1};
	invar_status st;

	*found = false;
	b.max = (others < MAX_BASIS ? others : MAX_BASIS) / LANES * LANES;
	if (b.max < want + FIRST_TEST + 2 * LANES)
		return INVAR_OK;
	inv_kernels_init(&b.kernels, ctx->cpu);
	if ((st = allocate_lanczos(&b)) == INVAR_OK)
		st = run_lanczos(&b, values, vectors, found);
	inv_arena_free(&b.arena);
	return st;
}
