/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feature_ridge.c - see feature_ridge.h.
 *
 * Rows are buffered in chunks, one for clean rows and one for copies, and converted to
 * features when a chunk is full. A solution first adds the rows that are still buffered. So
 * the sums are the same bits for any split of the rows into calls between two solutions. Of
 * several ranks, each makes the sums of its own chunks.
 *
 * While there are at most half as many rows as features, all rows stay in their buffers,
 * and a solution is computed from their products (math/dual_ridge.h): of 126 images with 6
 * copies and 6144 features in a fraction of the time. The first row beyond that starts the
 * sums.
 *
 * With n rows, weights w_i and the weighted mean x_m, the centred sums are those of x
 * minus (sum w_i) x_m x_m^T. u is already centred and relu(...) is of the size of its own
 * mean, so this subtraction loses less than a digit.
 *
 * As an MLP: sigma B_u^T u is the linear map (z - mu) B_u; the hidden units read z itself,
 *
 *     W u + b = (W / sigma) z + (b - W mu / sigma),
 *
 * both rounded to float once.
 */
#include "adapter/closed_forms/feature_ridge.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/processes.h"
#include "base/rng.h"
#include "base/threads.h"
#include "math/dual_ridge.h"
#include "math/gram_sum.h"
#include "math/linalg.h"
#include "math/matmul.h"

enum { BLOCK = 512, CHUNK = 3584 }; /* rows of a product, of an addition */

/* Of the clean rows or of the copies. */
typedef struct sums {
	uint64_t n;
	inv_block_sums *totals; /* over chunks, dealt out to ranks; a vector consists of: */
	double *gram;           /* [p, p], lower triangle; these are set by a solution */
	double *sum;            /* [p] of x */
	double *cross;          /* [p, d] of x y^T; of copies alone, as is the next */
	double *sum_y;          /* [d] */
	size_t waiting;
	float *u, *y; /* [room, d] buffered rows, and their targets (NULL: 0) */
} sums;

/* All rows, clean ones first, while they are few; made by the first solution. */
typedef struct few_rows {
	size_t n;
	double *x, *y, *weight, *products; /* [n, p], [n, d], [n], [n, n] */
} few_rows;

struct inv_feature_ridge {
	const invar_context *ctx;
	size_t d, h, p;
	double *mu, sigma;
	float *W, *b; /* [h, d], [h] */
	float *H;     /* [CHUNK, h] relu(W u + b) */
	sums clean, copies;
	double *columns;   /* [p] of one addition */
	inv_matmul *units; /* H of u */
	inv_gram_sum *add;
	bool summed; /* too many rows to keep them all */
	few_rows few;
};

/* ---- Making and freeing ----------------------------------------------------------- */

static size_t max_few(size_t p)
{
	return p / 2;
}

/* Rows of a buffer: whole blocks, for all few rows and the one that starts the sums. */
static size_t room(size_t p)
{
	return (max_few(p) / CHUNK + 1) * CHUNK;
}

static invar_status refuse_memory(const inv_feature_ridge *f)
{
	return inv_fail(INVAR_E_NOMEM,
	                "not enough memory for the Gram matrices of %zu features: they "
	                "take %zu MB; a smaller @hidden needs less",
	                f->p, inv_feature_ridge_memory(f->d, f->h) >> 20);
}

invar_status inv_feature_ridge_new(const invar_context *ctx, size_t d, size_t h,
                                   const inv_clean_statistics *scale, uint64_t seed,
                                   inv_feature_ridge **out)
{
	const inv_matmul_spec units = {BLOCK,        h,           d, .transpose_b = true,
	                               .bias = true, .relu = true};
	inv_stream weights = inv_stream_of(seed, "features/weight", 0);
	inv_stream biases = inv_stream_of(seed, "features/bias", 0);
	float by = (float)(1 / sqrt((double)d));
	inv_feature_ridge *f;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&f));
	f->ctx = ctx;
	f->d = d;
	f->h = h;
	f->p = d + h;
	f->sigma = scale->sigma;
	if (inv_new_array(&f->mu, d) != INVAR_OK || inv_new_array(&f->W, h * d) != INVAR_OK ||
	    inv_new_array(&f->b, h) != INVAR_OK ||
	    inv_new_array(&f->H, CHUNK * h) != INVAR_OK ||
	    inv_new_array(&f->columns, f->p) != INVAR_OK ||
	    inv_new_zeros(&f->clean.u, room(f->p) * d) != INVAR_OK ||
	    inv_new_zeros(&f->copies.u, room(f->p) * d) != INVAR_OK ||
	    inv_new_zeros(&f->copies.y, room(f->p) * d) != INVAR_OK)
		INV_TRY_OR(fail, refuse_memory(f));
	memcpy(f->mu, scale->mean, d * sizeof *f->mu);
	for (size_t i = 0; i < h; i++)
		inv_fill_normal(&weights, (uint32_t)i, f->W + i * d, d);
	for (size_t i = 0; i < h * d; i++)
		f->W[i] *= by;
	inv_fill_uniform(&biases, 0, -1, 1, f->b, h);
	INV_TRY_OR(fail, inv_matmul_new(ctx, &units, &f->units));
	INV_TRY_OR(fail, inv_gram_sum_new(ctx, &f->add));
	*out = f;
	return INVAR_OK;
fail:
	inv_feature_ridge_free(f);
	return st;
}

static void free_few(few_rows *few)
{
	inv_free(few->x);
	inv_free(few->y);
	inv_free(few->weight);
	inv_free(few->products);
	*few = (few_rows){0};
}

void inv_feature_ridge_free(inv_feature_ridge *f)
{
	if (!f)
		return;
	free_few(&f->few);
	inv_block_sums_free(f->clean.totals);
	inv_free(f->clean.u);
	inv_block_sums_free(f->copies.totals);
	inv_free(f->copies.u);
	inv_free(f->copies.y);
	inv_free(f->mu);
	inv_free(f->W);
	inv_free(f->b);
	inv_free(f->H);
	inv_free(f->columns);
	inv_matmul_free(f->units);
	inv_gram_sum_free(f->add);
	inv_free(f);
}

size_t inv_feature_ridge_memory(size_t d, size_t h)
{
	size_t p = d + h, held = 2 * p * p + p * d, solution = p * p + p * d;

	return (held + solution) * sizeof(double) +
	       (h * d + 3 * room(p) * d + CHUNK * h) * sizeof(float);
}

/* ---- Adding rows ------------------------------------------------------------------ */

static void add_columns(const inv_feature_ridge *f, const float *x, size_t rows,
                        size_t cols, double *to)
{
	memset(f->columns, 0, cols * sizeof *f->columns);
	inv_column_sums_add(x, rows, cols, f->columns);
	for (size_t j = 0; j < cols; j++)
		to[j] += f->columns[j];
}

/* Where the sums are in their vector. */
static void place_sums(const inv_feature_ridge *f, double *vector, sums *s)
{
	s->gram = vector;
	s->sum = s->gram + f->p * f->p;
	s->cross = s->y ? s->sum + f->p : NULL;
	s->sum_y = s->y ? s->cross + f->p * f->d : NULL;
}

/* Adds buffered rows from number `at` on, at most CHUNK, if the block is this rank's. */
static invar_status add_block(inv_feature_ridge *f, sums *s, size_t at, size_t rows)
{
	const float *u = s->u + at * f->d, *y = s->y ? s->y + at * f->d : NULL;
	const inv_gram_part x[] = {{u, f->d}, {f->H, f->h}};
	double *vector = inv_block_sums_next(s->totals);
	sums to = *s;

	s->n += rows;
	if (!vector)
		return inv_block_sums_end(s->totals);
	place_sums(f, vector, &to);
	for (size_t i = 0; i < rows; i += BLOCK)
		INV_TRY(inv_matmul_run(f->units, u + i * f->d, f->W, f->b, f->H + i * f->h));
	inv_gram_sum_add(f->add, x, 2, rows, to.gram);
	add_columns(f, u, rows, f->d, to.sum);
	add_columns(f, f->H, rows, f->h, to.sum + f->d);
	if (y) {
		inv_gram_sum_add_cross(f->add, x, 2, rows, y, f->d, to.cross);
		add_columns(f, y, rows, f->d, to.sum_y);
	}
	return inv_block_sums_end(s->totals);
}

/* Full chunks, and the rest if `all`. */
static invar_status add_waiting(inv_feature_ridge *f, sums *s, bool all)
{
	size_t at = 0, rest;

	for (; at + CHUNK <= s->waiting; at += CHUNK)
		INV_TRY(add_block(f, s, at, CHUNK));
	rest = s->waiting - at;
	if (all && rest) {
		INV_TRY(add_block(f, s, at, rest));
		rest = 0;
	}
	memmove(s->u, s->u + at * f->d, rest * f->d * sizeof *s->u);
	if (s->y)
		memmove(s->y, s->y + at * f->d, rest * f->d * sizeof *s->y);
	s->waiting = rest;
	return INVAR_OK;
}

static invar_status buffer_rows(inv_feature_ridge *f, sums *s, const float *z,
                                const float *clean, uint64_t rows)
{
	size_t d = f->d, gram = f->p * f->p + f->p;

	for (uint64_t i = 0; i < rows; i++) {
		size_t at = s->waiting++ * d;
		const float *row = z + i * d;

		if (!f->summed || inv_block_sums_own(s->totals)) {
			for (size_t j = 0; j < d; j++)
				s->u[at + j] = (float)((row[j] - f->mu[j]) / f->sigma);
			for (size_t j = 0; j < d && clean; j++)
				s->y[at + j] = (float)(((double)clean[i * d + j] - row[j]) / f->sigma);
		}
		if (f->summed && s->waiting == CHUNK)
			INV_TRY(add_waiting(f, s, false));
		else if (!f->summed && f->clean.waiting + f->copies.waiting > max_few(f->p)) {
			/* There are too many rows to keep them all. */
			free_few(&f->few);
			if (inv_block_sums_new(f->ctx, gram, &f->clean.totals) != INVAR_OK ||
			    inv_block_sums_new(f->ctx, gram + f->p * d + d, &f->copies.totals) !=
			        INVAR_OK)
				return refuse_memory(f);
			f->summed = true;
			INV_TRY(add_waiting(f, &f->clean, false));
			INV_TRY(add_waiting(f, &f->copies, false));
		}
	}
	return INVAR_OK;
}

invar_status inv_feature_ridge_add_clean(inv_feature_ridge *f, const float *z,
                                         uint64_t rows)
{
	return buffer_rows(f, &f->clean, z, NULL, rows);
}

invar_status inv_feature_ridge_add_copies(inv_feature_ridge *f, const float *z,
                                          const float *clean, uint64_t rows)
{
	return buffer_rows(f, &f->copies, z, clean, rows);
}

/* ---- Solving ---------------------------------------------------------------------- */

/* The regression for one lambda and anchor. */
typedef struct solution {
	const inv_feature_ridge *f;
	double lambda, anchor, weight; /* weight: of all rows */
	double *mean, *mean_y;         /* [p], [d] weighted means of x and of the targets */
	size_t q;                      /* d + the units that take part */
	double *gram, *B;              /* [q, q]; [q, r] */
	size_t r, step;                /* for r features: 0, step, 2 step … */
} solution;

/* Of the centred Gram matrix of both kinds of rows. */
static double gram_cell(const solution *c, size_t i, size_t j)
{
	const inv_feature_ridge *f = c->f;
	size_t at = i * f->p + j;

	return c->anchor * f->clean.gram[at] + f->copies.gram[at] -
	       c->weight * c->mean[i] * c->mean[j];
}

static void centre_row(void *user, size_t i, unsigned thread)
{
	const solution *c = user;
	const inv_feature_ridge *f = c->f;
	double mean = c->weight * c->mean[i];

	(void)thread;
	for (size_t j = 0; j <= i; j++)
		c->gram[i * c->q + j] = gram_cell(c, i, j);
	for (size_t j = 0; j < c->r; j++)
		c->B[i * c->r + j] =
			f->copies.cross[i * f->d + j * c->step] - mean * c->mean_y[j * c->step];
}

/* If all features are constant (one row), B stays 0 and E is a translation. */
static invar_status solve_sums(solution *c)
{
	const inv_feature_ridge *f = c->f;
	double diagonal = 0, fraction = (double)(c->q - f->d) / (double)f->h;

	c->weight = c->anchor * (double)f->clean.n + (double)f->copies.n;
	for (size_t i = 0; i < f->p; i++)
		c->mean[i] = (c->anchor * f->clean.sum[i] + f->copies.sum[i]) / c->weight;
	for (size_t j = 0; j < f->d; j++)
		c->mean_y[j] = f->copies.sum_y[j] / c->weight;
	for (size_t i = 0; i < f->p; i++)
		diagonal += gram_cell(c, i, i) / (double)f->p;
	if (!(diagonal > 0)) {
		memset(c->B, 0, c->q * c->r * sizeof *c->B);
		return INVAR_OK;
	}
	inv_parallel(f->ctx, c->q, centre_row, c);
	/* Units are penalised by their fraction: see inv_feature_ridge_try. */
	for (size_t i = 0; i < c->q; i++)
		c->gram[i * c->q + i] += c->lambda * diagonal * (i < f->d ? 1 : fraction);
	return inv_cholesky_solve(f->ctx, c->q, c->r, c->gram, c->B);
}

/* ---- Few rows --------------------------------------------------------------------- */

static invar_status fill_rows(inv_feature_ridge *f, const sums *s, size_t first)
{
	size_t d = f->d, p = f->p, h = f->h;

	for (size_t i = 0; i < s->waiting; i++) {
		double *x = f->few.x + (first + i) * p, *y = f->few.y + (first + i) * d;

		if (i % BLOCK == 0)
			INV_TRY(inv_matmul_run(f->units, s->u + i * d, f->W, f->b, f->H));
		for (size_t j = 0; j < d; j++) {
			x[j] = s->u[i * d + j];
			y[j] = s->y ? s->y[i * d + j] : 0;
		}
		for (size_t j = 0; j < h; j++)
			x[d + j] = f->H[i % BLOCK * h + j];
	}
	return INVAR_OK;
}

/* The rows are collected by the first solution, and kept until there are more. */
static invar_status solve_few(inv_feature_ridge *f, solution *c)
{
	size_t n = f->clean.waiting + f->copies.waiting;
	few_rows *few = &f->few;
	inv_dual_rows rows;
	invar_status st;

	if (!few->x || few->n != n) {
		free_few(few);
		few->n = n;
		INV_TRY_OR(fail, inv_new_array(&few->x, n * f->p));
		INV_TRY_OR(fail, inv_new_array(&few->y, n * f->d));
		INV_TRY_OR(fail, inv_new_array(&few->weight, n));
		INV_TRY_OR(fail, inv_new_array(&few->products, n * n));
		INV_TRY_OR(fail, fill_rows(f, &f->clean, 0));
		INV_TRY_OR(fail, fill_rows(f, &f->copies, f->clean.waiting));
		INV_TRY_OR(fail, inv_dual_products(f->ctx, n, f->p, few->x, few->products));
	}
	rows = (inv_dual_rows){n, f->p, f->d, few->x, few->y, few->weight, few->products};
	for (size_t i = 0; i < n; i++)
		few->weight[i] = i < f->clean.waiting ? c->anchor : 1;
	return inv_dual_ridge(f->ctx, &rows, c->lambda, c->step, c->mean, c->mean_y, c->B);
fail:
	free_few(few);
	return st;
}

/* ---- Solutions -------------------------------------------------------------------- */

/* The sums of all rows, also of those that are still buffered. */
static invar_status complete_sums(inv_feature_ridge *f, sums *s)
{
	double *vector;

	INV_TRY(add_waiting(f, s, true));
	INV_TRY(inv_block_sums_total(s->totals, &vector));
	place_sums(f, vector, s);
	return INVAR_OK;
}

static void free_solution(solution *c)
{
	inv_free(c->mean);
	inv_free(c->gram);
	inv_free(c->B);
}

/*
 * The regression for every `step`th feature on the first units, on all of them if there are
 * few rows; free_solution frees, whatever the status.
 */
static invar_status regress(inv_feature_ridge *f, double lambda, double anchor,
                            size_t units, size_t step, solution *c)
{
	size_t r = inv_blocks(f->d, step), q = f->d + (f->summed ? units : f->h);
	invar_status st;

	*c = (solution){
		.f = f, .lambda = lambda, .anchor = anchor, .q = q, .r = r, .step = step};
	INV_TRY(inv_new_array(&c->mean, f->p + f->d));
	c->mean_y = c->mean + f->p;
	INV_TRY(inv_new_array(&c->B, q * r));
	if (f->summed) {
		INV_TRY(inv_new_array(&c->gram, q * q));
		INV_TRY(complete_sums(f, &f->clean));
		INV_TRY(complete_sums(f, &f->copies));
		st = solve_sums(c);
		inv_free(c->gram); /* the largest array, no longer needed */
		c->gram = NULL;
	} else {
		st = solve_few(f, c);
	}
	if (st == INVAR_E_NUMERIC)
		return inv_fail(st,
		                "features: %g of the mean diagonal is too small for features that "
		                "depend on each other; try 1e-4 or more",
		                lambda);
	return st;
}

invar_status inv_feature_ridge_solve(inv_feature_ridge *f, double lambda, double anchor,
                                     inv_closed_form *out)
{
	inv_map_affine *m = &out->map;
	inv_hidden_units *u = &out->units;
	size_t d = f->d, h = f->h;
	solution c;
	invar_status st;

	INV_TRY_OR(done, regress(f, lambda, anchor, h, 1, &c));
	m->d = d;
	u->count = h;
	INV_TRY_OR(done, inv_new_array(&m->M, d * d));
	INV_TRY_OR(done, inv_new_array(&m->t, d));
	INV_TRY_OR(done, inv_new_array(&u->W, h * d));
	INV_TRY_OR(done, inv_new_array(&u->b, h));
	INV_TRY_OR(done, inv_new_array(&u->V, h * d));

	/* z M + t with the linear features and the sum of intercept and means. */
	for (size_t j = 0; j < d; j++)
		m->t[j] = f->sigma * c.mean_y[j];
	for (size_t i = 0; i < f->p; i++) {
		double shift = f->sigma * c.mean[i] + (i < d ? f->mu[i] : 0);

		for (size_t j = 0; j < d; j++)
			m->t[j] -= shift * c.B[i * d + j];
	}
	memcpy(m->M, c.B, d * d * sizeof *m->M);
	for (size_t i = 0; i < d; i++)
		m->M[i * d + i] += 1;

	/* The hidden units. */
	for (size_t i = 0; i < h; i++) {
		double bias = f->b[i];

		for (size_t j = 0; j < d; j++) {
			u->W[i * d + j] = (float)(f->W[i * d + j] / f->sigma);
			bias -= f->W[i * d + j] * f->mu[j] / f->sigma;
		}
		u->b[i] = (float)bias;
	}
	for (size_t i = 0; i < h * d; i++)
		u->V[i] = f->sigma * c.B[d * d + i];
done:
	free_solution(&c);
	return st;
}

/* ---- Trials ----------------------------------------------------------------------- */

invar_status inv_feature_ridge_try(inv_feature_ridge *f, double lambda, double anchor,
                                   size_t units, inv_feature_trial *out)
{
	size_t step = inv_blocks(f->d, INV_FEATURE_TRIAL), r = inv_blocks(f->d, step), q;
	solution c;
	invar_status st;

	*out = (inv_feature_trial){.r = r, .step = step};
	INV_TRY_OR(done, regress(f, lambda, anchor, units, step, &c));
	q = c.q;
	out->units = q - f->d;
	INV_TRY_OR(done, inv_new_array(&out->B, q * r));
	INV_TRY_OR(done, inv_new_array(&out->t, r));
	for (size_t i = 0; i < q * r; i++)
		out->B[i] = (float)c.B[i];
	for (size_t j = 0; j < r; j++) {
		double t = c.mean_y[j * step];

		for (size_t i = 0; i < q; i++)
			t -= c.mean[i] * c.B[i * r + j];
		out->t[j] = (float)t;
	}
done:
	free_solution(&c);
	if (st != INVAR_OK)
		inv_feature_trial_clear(out);
	return st;
}

void inv_feature_trial_clear(inv_feature_trial *t)
{
	inv_free(t->B);
	inv_free(t->t);
	*t = (inv_feature_trial){0};
}

/* In blocks of rows, mapped by products with u and with the hidden units. */
invar_status inv_feature_ridge_add_error(inv_feature_ridge *f, const inv_feature_trial *t,
                                         const float *z, const float *clean, uint64_t rows,
                                         double *sum)
{
	size_t d = f->d, r = t->r, block = rows < BLOCK ? (size_t)rows : BLOCK;
	const inv_matmul_spec units = {block,        t->units,    d, .transpose_b = true,
	                               .bias = true, .relu = true};
	const inv_matmul_spec linear = {block, r, d, .bias = true};
	const inv_matmul_spec hidden = {block, r, t->units, .bias = false};
	inv_matmul *to_units = NULL, *to_linear = NULL, *to_hidden = NULL;
	/* [block, d], [block, units], [block, r], [block, r] */
	float *u = NULL, *H = NULL, *a = NULL, *b = NULL;
	invar_status st;

	if (!rows)
		return INVAR_OK;
	INV_TRY_OR(done, inv_new_zeros(&u, block * d));
	INV_TRY_OR(done, inv_new_array(&H, block * t->units));
	INV_TRY_OR(done, inv_new_array(&a, block * r));
	INV_TRY_OR(done, inv_new_array(&b, block * r));
	INV_TRY_OR(done, inv_matmul_new(f->ctx, &units, &to_units));
	INV_TRY_OR(done, inv_matmul_new(f->ctx, &linear, &to_linear));
	INV_TRY_OR(done, inv_matmul_new(f->ctx, &hidden, &to_hidden));
	for (uint64_t from = 0; from < rows; from += block) {
		size_t now = rows - from < block ? (size_t)(rows - from) : block;

		for (size_t i = 0; i < now * d; i++)
			u[i] = (float)((z[from * d + i] - f->mu[i % d]) / f->sigma);
		INV_TRY_OR(done, inv_matmul_run(to_units, u, f->W, f->b, H));
		INV_TRY_OR(done, inv_matmul_run(to_linear, u, t->B, t->t, a));
		INV_TRY_OR(done, inv_matmul_run(to_hidden, H, t->B + d * r, NULL, b));
		for (size_t i = 0; i < now; i++) {
			double row = 0; /* summed row by row to keep precision */

			for (size_t j = 0; j < r; j++) {
				size_t at = (from + i) * d + j * t->step;
				double moved = f->sigma * ((double)a[i * r + j] + b[i * r + j]);
				double error = z[at] + moved - clean[at];

				row += error * error;
			}
			*sum += row;
		}
	}
done:
	inv_matmul_free(to_units);
	inv_matmul_free(to_linear);
	inv_matmul_free(to_hidden);
	inv_free(u);
	inv_free(H);
	inv_free(a);
	inv_free(b);
	return st;
}
