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
	inv_block_sums *totals; /* over chunks, which ranks share; the vector has the parts: */
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

static bool allocate_buffers(const inv_feature_ridge *f, bool targets, sums *s)
{
	size_t cells = room(f->p) * f->d;

	s->u = inv_calloc(cells, sizeof *s->u);
	s->y = targets ? inv_calloc(cells, sizeof *s->y) : NULL;
	return s->u && (s->y || !targets);
}

static bool allocate_ridge(inv_feature_ridge *f)
{
	f->mu = inv_alloc(f->d * sizeof *f->mu);
	f->W = inv_alloc(f->h * f->d * sizeof *f->W);
	f->b = inv_alloc(f->h * sizeof *f->b);
	f->H = inv_alloc(CHUNK * f->h * sizeof *f->H);
	f->columns = inv_alloc(f->p * sizeof *f->columns);
	return f->mu && f->W && f->b && f->H && f->columns &&
	       allocate_buffers(f, false, &f->clean) && allocate_buffers(f, true, &f->copies);
}

static invar_status refuse_memory(const inv_feature_ridge *f)
{
	return inv_fail(INVAR_E_NOMEM,
	                "not enough memory for the Gram matrices of %zu features: they "
	                "take %zu MB; a smaller @hidden needs less",
	                f->p, inv_feature_ridge_memory(f->d, f->h) >> 20);
}

static void draw_units(inv_feature_ridge *f, uint64_t seed)
{
	inv_stream weights = inv_stream_of(seed, "features/weight", 0);
	inv_stream biases = inv_stream_of(seed, "features/bias", 0);
	float scale = (float)(1 / sqrt((double)f->d));

	for (size_t i = 0; i < f->h; i++)
		inv_fill_normal(&weights, (uint32_t)i, f->W + i * f->d, f->d);
	for (size_t i = 0; i < f->h * f->d; i++)
		f->W[i] *= scale;
	inv_fill_uniform(&biases, 0, -1, 1, f->b, f->h);
}

static invar_status prepare(inv_feature_ridge *f, const inv_clean_statistics *scale,
                            uint64_t seed)
{
	const inv_matmul_spec units = {BLOCK,        f->h,        f->d, .transpose_b = true,
	                               .bias = true, .relu = true};
	invar_status st;

	if (!allocate_ridge(f))
		return refuse_memory(f);
	memcpy(f->mu, scale->mean, f->d * sizeof *f->mu);
	f->sigma = scale->sigma;
	draw_units(f, seed);
	if ((st = inv_matmul_new(f->ctx, &units, &f->units)) != INVAR_OK)
		return st;
	return inv_gram_sum_new(f->ctx, &f->add);
}

invar_status inv_feature_ridge_new(const invar_context *ctx, size_t d, size_t h,
                                   const inv_clean_statistics *scale, uint64_t seed,
                                   inv_feature_ridge **out)
{
	inv_feature_ridge *f = inv_calloc(1, sizeof *f);
	invar_status st;

	*out = NULL;
	if (!f)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for random features");
	f->ctx = ctx;
	f->d = d;
	f->h = h;
	f->p = d + h;
	if ((st = prepare(f, scale, seed)) != INVAR_OK) {
		inv_feature_ridge_free(f);
		return st;
	}
	*out = f;
	return INVAR_OK;
}

static void free_sums(sums *s)
{
	inv_block_sums_free(s->totals);
	inv_free(s->u);
	inv_free(s->y);
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
	free_sums(&f->clean);
	free_sums(&f->copies);
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

/* Where the parts of a vector of sums are. */
static void place_sums(const inv_feature_ridge *f, double *vector, sums *s)
{
	s->gram = vector;
	s->sum = s->gram + f->p * f->p;
	s->cross = s->y ? s->sum + f->p : NULL;
	s->sum_y = s->y ? s->cross + f->p * f->d : NULL;
}

static invar_status sum_rows(inv_feature_ridge *f, const float *u, const float *y,
                             size_t rows, const sums *to)
{
	const inv_gram_part x[] = {{u, f->d}, {f->H, f->h}};
	invar_status st = INVAR_OK;

	for (size_t at = 0; at < rows && st == INVAR_OK; at += BLOCK)
		st = inv_matmul_run(f->units, u + at * f->d, f->W, f->b, f->H + at * f->h);
	if (st != INVAR_OK)
		return st;
	inv_gram_sum_add(f->add, x, 2, rows, to->gram);
	add_columns(f, u, rows, f->d, to->sum);
	add_columns(f, f->H, rows, f->h, to->sum + f->d);
	if (y) {
		inv_gram_sum_add_cross(f->add, x, 2, rows, y, f->d, to->cross);
		add_columns(f, y, rows, f->d, to->sum_y);
	}
	return INVAR_OK;
}

/* Buffered rows from number `at` on, at most CHUNK. */
static invar_status add_block(inv_feature_ridge *f, sums *s, size_t at, size_t rows)
{
	double *vector = inv_block_sums_next(s->totals);
	sums to = *s;

	s->n += rows;
	if (vector) {
		place_sums(f, vector, &to);
		INV_TRY(sum_rows(f, s->u + at * f->d, s->y ? s->y + at * f->d : NULL, rows, &to));
	}
	return inv_block_sums_end(s->totals);
}

/* Full chunks, and the rest if `all`. */
static invar_status add_waiting(inv_feature_ridge *f, sums *s, bool all)
{
	size_t at = 0, rest;
	invar_status st = INVAR_OK;

	for (; at + CHUNK <= s->waiting && st == INVAR_OK; at += CHUNK)
		st = add_block(f, s, at, CHUNK);
	rest = s->waiting - at;
	if (st == INVAR_OK && all && rest) {
		st = add_block(f, s, at, rest);
		rest = 0;
	}
	memmove(s->u, s->u + at * f->d, rest * f->d * sizeof *s->u);
	if (s->y)
		memmove(s->y, s->y + at * f->d, rest * f->d * sizeof *s->y);
	s->waiting = rest;
	return st;
}

static invar_status start_sums(inv_feature_ridge *f)
{
	free_few(&f->few);
	if (inv_block_sums_new(f->ctx, f->p * f->p + f->p, &f->clean.totals) != INVAR_OK ||
	    inv_block_sums_new(f->ctx, f->p * f->p + f->p + f->p * f->d + f->d,
	                       &f->copies.totals) != INVAR_OK)
		return refuse_memory(f);
	f->summed = true;
	return INVAR_OK;
}

static invar_status add_buffered(inv_feature_ridge *f)
{
	invar_status st = start_sums(f);

	if (st == INVAR_OK)
		st = add_waiting(f, &f->clean, false);
	return st == INVAR_OK ? add_waiting(f, &f->copies, false) : st;
}

static invar_status check_buffers(inv_feature_ridge *f, sums *s)
{
	if (f->summed)
		return s->waiting == CHUNK ? add_waiting(f, s, false) : INVAR_OK;
	return f->clean.waiting + f->copies.waiting > max_few(f->p) ? add_buffered(f)
	                                                            : INVAR_OK;
}

static void scale_row(const inv_feature_ridge *f, const float *row, const float *clean,
                      float *u, float *y)
{
	for (size_t j = 0; j < f->d; j++)
		u[j] = (float)((row[j] - f->mu[j]) / f->sigma);
	for (size_t j = 0; j < f->d && clean; j++)
		y[j] = (float)(((double)clean[j] - row[j]) / f->sigma);
}

static invar_status add_rows(inv_feature_ridge *f, sums *s, const float *z,
                             const float *clean, uint64_t rows)
{
	size_t d = f->d;
	invar_status st = INVAR_OK;

	for (uint64_t i = 0; i < rows && st == INVAR_OK; i++) {
		size_t at = s->waiting++ * d;

		if (!f->summed || inv_block_sums_own(s->totals))
			scale_row(f, z + i * d, clean ? clean + i * d : NULL, s->u + at,
			          s->y ? s->y + at : NULL);
		st = check_buffers(f, s);
	}
	return st;
}

invar_status inv_feature_ridge_add_clean(inv_feature_ridge *f, const float *z,
                                         uint64_t rows)
{
	return add_rows(f, &f->clean, z, NULL, rows);
}

invar_status inv_feature_ridge_add_copies(inv_feature_ridge *f, const float *z,
                                          const float *clean, uint64_t rows)
{
	return add_rows(f, &f->copies, z, clean, rows);
}

/* ---- Solving ---------------------------------------------------------------------- */

/* The solution for one choice of lambda and anchor. */
typedef struct choice {
	const inv_feature_ridge *f;
	double lambda, anchor, weight; /* weight: of all rows */
	double *mean, *mean_y;         /* [p], [d] weighted means of x and of the targets */
	size_t q;                      /* d + the units that take part */
	double *gram, *B;              /* [q, q]; [q, r] */
	size_t r, step;                /* for r features: 0, step, 2 step … */
} choice;

static void average(choice *c)
{
	const inv_feature_ridge *f = c->f;

	c->weight = c->anchor * (double)f->clean.n + (double)f->copies.n;
	for (size_t i = 0; i < f->p; i++)
		c->mean[i] = (c->anchor * f->clean.sum[i] + f->copies.sum[i]) / c->weight;
	for (size_t j = 0; j < f->d; j++)
		c->mean_y[j] = f->copies.sum_y[j] / c->weight;
}

/* Of the centred Gram matrix of both kinds of rows. */
static double gram_cell(const choice *c, size_t i, size_t j)
{
	const inv_feature_ridge *f = c->f;
	size_t at = i * f->p + j;

	return c->anchor * f->clean.gram[at] + f->copies.gram[at] -
	       c->weight * c->mean[i] * c->mean[j];
}

static void centre_row(void *user, size_t i, unsigned thread)
{
	const choice *c = user;
	const inv_feature_ridge *f = c->f;
	double mean = c->weight * c->mean[i];

	(void)thread;
	for (size_t j = 0; j <= i; j++)
		c->gram[i * c->q + j] = gram_cell(c, i, j);
	for (size_t j = 0; j < c->r; j++)
		c->B[i * c->r + j] =
			f->copies.cross[i * f->d + j * c->step] - mean * c->mean_y[j * c->step];
}

/* Units penalised by their share: see inv_feature_ridge_try. */
static void penalise(choice *c, double diagonal)
{
	const inv_feature_ridge *f = c->f;
	double share = (double)(c->q - f->d) / (double)f->h;

	for (size_t i = 0; i < c->q; i++)
		c->gram[i * c->q + i] += c->lambda * diagonal * (i < f->d ? 1 : share);
}

/* If all features are constant (one row), B stays 0 and E is a translation. */
static invar_status solve_sums(choice *c)
{
	const inv_feature_ridge *f = c->f;
	double diagonal = 0;

	average(c);
	for (size_t i = 0; i < f->p; i++)
		diagonal += gram_cell(c, i, i) / (double)f->p;
	if (!(diagonal > 0)) {
		memset(c->B, 0, c->q * c->r * sizeof *c->B);
		return INVAR_OK;
	}
	inv_parallel(f->ctx, c->q, centre_row, c);
	penalise(c, diagonal);
	return inv_cholesky_solve(f->ctx, c->q, c->r, c->gram, c->B);
}

/* ---- Few rows --------------------------------------------------------------------- */

static invar_status fill_rows(inv_feature_ridge *f, const sums *s, size_t first)
{
	size_t d = f->d, p = f->p, h = f->h;
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < s->waiting && st == INVAR_OK; i++) {
		double *x = f->few.x + (first + i) * p, *y = f->few.y + (first + i) * d;

		if (i % BLOCK == 0)
			st = inv_matmul_run(f->units, s->u + i * d, f->W, f->b, f->H);
		for (size_t j = 0; j < d; j++) {
			x[j] = s->u[i * d + j];
			y[j] = s->y ? s->y[i * d + j] : 0;
		}
		for (size_t j = 0; j < h; j++)
			x[d + j] = f->H[i % BLOCK * h + j];
	}
	return st;
}

static invar_status collect_rows(inv_feature_ridge *f)
{
	size_t n = f->clean.waiting + f->copies.waiting;
	few_rows *few = &f->few;
	invar_status st;

	if (few->x && few->n == n)
		return INVAR_OK;
	free_few(few);
	*few = (few_rows){.n = n,
	                  .x = inv_alloc(n * f->p * sizeof *few->x),
	                  .y = inv_alloc(n * f->d * sizeof *few->y),
	                  .weight = inv_alloc(n * sizeof *few->weight),
	                  .products = inv_alloc(n * n * sizeof *few->products)};
	if (!few->x || !few->y || !few->weight || !few->products) {
		free_few(few);
		return inv_fail(INVAR_E_NOMEM, "not enough memory for %zu rows of %zu features", n,
		                f->p);
	}
	st = fill_rows(f, &f->clean, 0);
	if (st == INVAR_OK)
		st = fill_rows(f, &f->copies, f->clean.waiting);
	if (st == INVAR_OK)
		st = inv_dual_products(f->ctx, n, f->p, few->x, few->products);
	if (st != INVAR_OK)
		free_few(few);
	return st;
}

static invar_status solve_few(inv_feature_ridge *f, choice *c)
{
	invar_status st = collect_rows(f);
	const inv_dual_rows rows = {f->few.n, f->p,          f->d,           f->few.x,
	                            f->few.y, f->few.weight, f->few.products};

	if (st != INVAR_OK)
		return st;
	for (size_t i = 0; i < rows.n; i++)
		f->few.weight[i] = i < f->clean.waiting ? c->anchor : 1;
	return inv_dual_ridge(f->ctx, &rows, c->lambda, c->step, c->mean, c->mean_y, c->B);
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

static invar_status regress(inv_feature_ridge *f, choice *c)
{
	invar_status st;

	if (!f->summed)
		st = solve_few(f, c);
	else if ((st = complete_sums(f, &f->clean)) == INVAR_OK &&
	         (st = complete_sums(f, &f->copies)) == INVAR_OK)
		st = solve_sums(c);
	if (st == INVAR_E_NUMERIC)
		st = inv_fail(st,
		              "features: %g of the mean diagonal is too small for features that "
		              "depend on each other; try 1e-4 or more",
		              c->lambda);
	return st;
}

/* z M + t: the linear features, and the sum of the intercept and the means. */
static void fill_map(const choice *c, inv_map_affine *m)
{
	const inv_feature_ridge *f = c->f;
	size_t d = f->d;

	for (size_t j = 0; j < d; j++)
		m->t[j] = f->sigma * c->mean_y[j];
	for (size_t i = 0; i < f->p; i++) {
		double shift = f->sigma * c->mean[i] + (i < d ? f->mu[i] : 0);

		for (size_t j = 0; j < d; j++)
			m->t[j] -= shift * c->B[i * d + j];
	}
	memcpy(m->M, c->B, d * d * sizeof *m->M);
	for (size_t i = 0; i < d; i++)
		m->M[i * d + i] += 1;
}

static void fill_units(const choice *c, inv_hidden_units *u)
{
	const inv_feature_ridge *f = c->f;
	const double *B = c->B + f->d * f->d;

	for (size_t i = 0; i < f->h; i++) {
		double bias = f->b[i];

		for (size_t j = 0; j < f->d; j++) {
			u->W[i * f->d + j] = (float)(f->W[i * f->d + j] / f->sigma);
			bias -= f->W[i * f->d + j] * f->mu[j] / f->sigma;
		}
		u->b[i] = (float)bias;
	}
	for (size_t i = 0; i < f->h * f->d; i++)
		u->V[i] = f->sigma * B[i];
}

static bool allocate_form(const inv_feature_ridge *f, inv_closed_form *out)
{
	size_t d = f->d, h = f->h;

	out->map = (inv_map_affine){
		.d = d, .M = inv_alloc(d * d * sizeof(double)), .t = inv_alloc(d * sizeof(double))};
	out->units = (inv_hidden_units){.count = h,
	                                .W = inv_alloc(h * d * sizeof(float)),
	                                .b = inv_alloc(h * sizeof(float)),
	                                .V = inv_alloc(h * d * sizeof(double))};
	return out->map.M && out->map.t && out->units.W && out->units.b && out->units.V;
}

static invar_status fill_form(const choice *c, inv_closed_form *out)
{
	if (!allocate_form(c->f, out))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for a map of %zu features",
		                c->f->p);
	fill_map(c, &out->map);
	fill_units(c, &out->units);
	return INVAR_OK;
}

static void close_choice(choice *c)
{
	inv_free(c->mean);
	inv_free(c->gram);
	inv_free(c->B);
}

/*
 * The regression for every `step`th feature on the first units, on all of them if there are
 * few rows; close_choice frees, whatever the status.
 */
static invar_status solve_choice(inv_feature_ridge *f, double lambda, double anchor,
                                 size_t units, size_t step, choice *c)
{
	size_t r = inv_blocks(f->d, step), q = f->d + (f->summed ? units : f->h);
	invar_status st;

	*c = (choice){.f = f,
	              .lambda = lambda,
	              .anchor = anchor,
	              .mean = inv_alloc((f->p + f->d) * sizeof *c->mean),
	              .q = q,
	              .gram = f->summed ? inv_alloc(q * q * sizeof *c->gram) : NULL,
	              .B = inv_alloc(q * r * sizeof *c->B),
	              .r = r,
	              .step = step};
	if (!c->mean || (f->summed && !c->gram) || !c->B)
		return inv_fail(INVAR_E_NOMEM, "not enough memory to solve for %zu features", q);
	c->mean_y = c->mean + f->p;
	st = regress(f, c);
	inv_free(c->gram); /* the largest array, no longer needed */
	c->gram = NULL;
	return st;
}

invar_status inv_feature_ridge_solve(inv_feature_ridge *f, double lambda, double anchor,
                                     inv_closed_form *out)
{
	choice c;
	invar_status st = solve_choice(f, lambda, anchor, f->h, 1, &c);

	if (st == INVAR_OK)
		st = fill_form(&c, out);
	close_choice(&c);
	return st;
}

/* ---- Trials ----------------------------------------------------------------------- */

static invar_status fill_trial(const choice *c, inv_feature_trial *out)
{
	size_t q = c->q, r = c->r;

	*out = (inv_feature_trial){.r = r,
	                           .step = c->step,
	                           .units = q - c->f->d,
	                           .B = inv_alloc(q * r * sizeof *out->B),
	                           .t = inv_alloc(r * sizeof *out->t)};
	if (!out->B || !out->t) {
		inv_feature_trial_clear(out);
		return inv_fail(INVAR_E_NOMEM, "not enough memory to try a choice for %zu features",
		                q);
	}
	for (size_t i = 0; i < q * r; i++)
		out->B[i] = (float)c->B[i];
	for (size_t j = 0; j < r; j++) {
		double t = c->mean_y[j * c->step];

		for (size_t i = 0; i < q; i++)
			t -= c->mean[i] * c->B[i * r + j];
		out->t[j] = (float)t;
	}
	return INVAR_OK;
}

invar_status inv_feature_ridge_try(inv_feature_ridge *f, double lambda, double anchor,
                                   size_t units, inv_feature_trial *out)
{
	choice c;
	invar_status st =
		solve_choice(f, lambda, anchor, units, inv_blocks(f->d, INV_FEATURE_TRIAL), &c);

	*out = (inv_feature_trial){0};
	if (st == INVAR_OK)
		st = fill_trial(&c, out);
	close_choice(&c);
	return st;
}

void inv_feature_trial_clear(inv_feature_trial *t)
{
	inv_free(t->B);
	inv_free(t->t);
	*t = (inv_feature_trial){0};
}

/* Rows of a block as a trial maps them: products with u and with the hidden units. */
typedef struct mapping {
	size_t block; /* rows, at most BLOCK: held-out images may be few */
	inv_matmul *units, *linear, *hidden;
	float *u, *H, *a, *b; /* [block, d], [block, units], [block, r], [block, r] */
} mapping;

static invar_status open_mapping(const inv_feature_ridge *f, const inv_feature_trial *t,
                                 uint64_t rows, mapping *m)
{
	size_t block = rows < BLOCK ? (size_t)rows : BLOCK;
	const inv_matmul_spec units = {block,        t->units,    f->d, .transpose_b = true,
	                               .bias = true, .relu = true};
	const inv_matmul_spec linear = {block, t->r, f->d, .bias = true};
	const inv_matmul_spec hidden = {block, t->r, t->units, .bias = false};
	invar_status st;

	*m = (mapping){.block = block,
	               .u = inv_calloc(block * f->d, sizeof *m->u),
	               .H = inv_alloc(block * t->units * sizeof *m->H),
	               .a = inv_alloc(block * t->r * sizeof *m->a),
	               .b = inv_alloc(block * t->r * sizeof *m->b)};
	if (!m->u || !m->H || !m->a || !m->b)
		return inv_fail(INVAR_E_NOMEM, "not enough memory to try a choice for %zu features",
		                f->p);
	if ((st = inv_matmul_new(f->ctx, &units, &m->units)) != INVAR_OK ||
	    (st = inv_matmul_new(f->ctx, &linear, &m->linear)) != INVAR_OK)
		return st;
	return inv_matmul_new(f->ctx, &hidden, &m->hidden);
}

static void close_mapping(mapping *m)
{
	inv_matmul_free(m->units);
	inv_matmul_free(m->linear);
	inv_matmul_free(m->hidden);
	inv_free(m->u);
	inv_free(m->H);
	inv_free(m->a);
	inv_free(m->b);
}

/* At most m->block rows. */
static invar_status add_block_error(inv_feature_ridge *f, const inv_feature_trial *t,
                                    const mapping *m, const float *z, const float *clean,
                                    size_t rows, double *sum)
{
	size_t d = f->d;
	invar_status st;

	for (size_t i = 0; i < rows * d; i++)
		m->u[i] = (float)((z[i] - f->mu[i % d]) / f->sigma);
	if ((st = inv_matmul_run(m->units, m->u, f->W, f->b, m->H)) != INVAR_OK ||
	    (st = inv_matmul_run(m->linear, m->u, t->B, t->t, m->a)) != INVAR_OK ||
	    (st = inv_matmul_run(m->hidden, m->H, t->B + d * t->r, NULL, m->b)) != INVAR_OK)
		return st;
	for (size_t i = 0; i < rows; i++) {
		double row = 0; /* summed row by row to keep precision */

		for (size_t j = 0; j < t->r; j++) {
			size_t at = i * d + j * t->step;
			double moved = f->sigma * ((double)m->a[i * t->r + j] + m->b[i * t->r + j]);
			double error = z[at] + moved - clean[at];

			row += error * error;
		}
		*sum += row;
	}
	return INVAR_OK;
}

invar_status inv_feature_ridge_add_error(inv_feature_ridge *f, const inv_feature_trial *t,
                                         const float *z, const float *clean, uint64_t rows,
                                         double *sum)
{
	mapping m = {0};
	invar_status st = rows ? open_mapping(f, t, rows, &m) : INVAR_OK;

	for (uint64_t at = 0; at < rows && st == INVAR_OK; at += m.block)
		st = add_block_error(f, t, &m, z + at * f->d, clean + at * f->d,
		                     rows - at < m.block ? (size_t)(rows - at) : m.block, sum);
	close_mapping(&m);
	return st;
}
