/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keep.c - KEEP: copies find their image, and the space stays where it is.
 *
 * Rows are in units u = (z - mu) / sigma of the scale-free residual (scaled.h). With clean
 * rows u_i, codes y_i^k of their copies (k >= 1) and y_i^0 of the clean rows themselves,
 * and vicinal rows v_i = u_i + rho_i (u_a(i) - u_b(i)) between images, drawn every step:
 *
 *     L = 1/((s+1) N d) sum |y_i^k - u_i|²  +  vicinal/(N d) sum |y(v_i) - v_i|²
 *         + sum over old and new index, L2 and cosine, of weight CE[logits of y_i^k]
 *
 * CE is the cross-entropy of the softmax over the N keys k_j against the copy's image,
 * mean over the C = s N copies. Keys of the old index are u_j, constants; those of the new
 * index are y_j^0, which have a gradient.
 *
 *     L2:      (2 y·k - |k|²) / (tau D)       D the mean squared distance of clean rows
 *     cosine:  q·κ / (|q| |κ| tau)            q = y + m, κ = k + m, m = mu / sigma
 *
 * Both follow from one product of the copies with all 2 N keys, with a bias for each key:
 *
 *     x = y·k - |k|²/2,   L2 logit 2 x / (tau D),   q·κ = x + (|κ|² + |q|² - |y|²) / 2
 *
 * In units the rows are centred, so that little cancels in floats. With P = (softmax -
 * [same image]) / C and the weights of the terms, one matrix A [C, 2 N] carries all gradients:
 *
 *     A = P_l2 2/(tau D) + B,   B = P_cos / (tau |q| |κ|)
 *     dy_r   = sum_j A_rj k_j - S_r y_r + V_r q_r          S_r = sum_j B_rj
 *     dy_j^0 = sum_r A_rj y_r - S_j y_j^0 + V_j κ_j        S_j = sum_r A_rj
 *     V_r = sum_j B_rj (1 - q·κ / |q|²),   V_j = sum_r B_rj (1 - q·κ / |κ|²)
 *
 * (the rows of P_l2 sum to 0), so the backward pass has two products. In each row of P the
 * entry of the copy's own image is minus the sum of the others, which keeps its digits
 * where it is near 0.
 *
 * A direction q or κ shorter than 1e-6 √d is treated as none: its cosines are 0 and so is
 * their pull, whereas dividing by its length would drown all other rows.
 */
#include "adapter/losses/loss.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/rng.h"
#include "base/threads.h"
#include "math/matmul.h"

extern const inv_loss inv_loss_keep;

enum { BLOCK = 16 }; /* rows or columns of a block of work */

/* Terms in the order of their names; cross-entropies by index, then by measure. */
enum { TERM_MAWA, TERM_VICINAL, TERM_ENTROPY };
enum { OLD, NEW, INDEXES };
enum { L2, COSINE, MEASURES };

static const double shortest = 1e-6; /* direction, in units of sqrt(d) */

/* What a copy has beside its row of A. */
typedef struct keep_row {
	double entropy[INDEXES][MEASURES];
	double S, V;
} keep_row;

typedef struct keep {
	const inv_loss_shape *shape;
	size_t N, C, R, w;
	double vicinal_weight, weight[INDEXES][MEASURES];
	double steepness[MEASURES]; /* of logits: 2 / (tau D), 1 / tau */
	inv_matmul *pairs_product, *copies_product, *clean_product;
	inv_arena arena;
	uint32_t *first, *second; /* [N] permutations of vicinal rows */
	float *rho;               /* [N] */
	float *away;              /* [w] -m */
	float *keys;              /* [2 N, w] */
	float *bias;              /* [2 N] -|k|²/2 */
	float *offset;            /* [2 N] |κ|²/2 */
	float *length;            /* [2 N] |κ|, */
	float *inverse;           /* and its inverse; 0: no direction */
	float *pairs;             /* [C, 2 N] x, then exponentials */
	float *A;                 /* [C, 2 N] */
	float *turn;              /* [C, N] B (1 - q·κ / |κ|²) of the new index */
	float *A_turned;          /* [N, C] A of the new index, by columns */
	double *S, *V;            /* [N] of clean rows */
	keep_row *row;            /* [C] */
	double *error;            /* [R] squared errors */
	float *ones;              /* [N] */
	float *scratch;           /* [threads, 2 N], or [threads, w] */
	size_t scratch_floats;    /* of a thread */
	/* Of the batch that is under way: */
	const inv_loss_batch *b;
	float *drawn; /* vicinal rows */
	float *grad;
} keep;

static const invar_option options[] = {
	{"contrast", INVAR_OPTION_NUMBER, "1", .max = 1e9, .flags = INVAR_OPTION_RESULT,
     .meta = "W", .group = "Loss",
     .help = "keep: factor of the four contrast terms; 3 is for search alone"},
	{"vicinal-weight", INVAR_OPTION_NUMBER, "1.5", .max = 1e9,
     .flags = INVAR_OPTION_RESULT | INVAR_OPTION_EXPERT, .meta = "W", .group = "Expert",
     .help = "keep: weight of rows between images, which hold the space still"},
	{0},
};

/* Weights and temperatures of the contrast terms; docs/design/KEEP.md has the evidence. */
static const double contrast_weight[INDEXES][MEASURES] = {{0.25, 0.20}, {0.04, 0.04}};
static const double tau[MEASURES] = {0.1, 0.05};

/* ---- Preparing ------------------------------------------------------------------- */

static void plan_keep_memory(keep *p)
{
	uint64_t N = p->N, C = p->C, w = p->w;
	inv_arena *a = &p->arena;

	p->first = inv_arena_take(a, N, sizeof *p->first);
	p->second = inv_arena_take(a, N, sizeof *p->second);
	p->rho = inv_arena_take(a, N, sizeof *p->rho);
	p->away = inv_arena_take(a, w, sizeof *p->away);
	p->keys = inv_arena_take(a, 2 * N * w, sizeof *p->keys);
	p->bias = inv_arena_take(a, 2 * N, sizeof *p->bias);
	p->offset = inv_arena_take(a, 2 * N, sizeof *p->offset);
	p->length = inv_arena_take(a, 2 * N, sizeof *p->length);
	p->inverse = inv_arena_take(a, 2 * N, sizeof *p->inverse);
	p->pairs = inv_arena_take(a, C * 2 * N, sizeof *p->pairs);
	p->A = inv_arena_take(a, C * 2 * N, sizeof *p->A);
	p->turn = inv_arena_take(a, C * N, sizeof *p->turn);
	p->A_turned = inv_arena_take(a, N * C, sizeof *p->A_turned);
	p->S = inv_arena_take(a, N, sizeof *p->S);
	p->V = inv_arena_take(a, N, sizeof *p->V);
	p->row = inv_arena_take(a, C, sizeof *p->row);
	p->error = inv_arena_take(a, p->R, sizeof *p->error);
	p->ones = inv_arena_take(a, N, sizeof *p->ones);
	p->scratch =
		inv_arena_take(a, p->shape->ctx->threads * p->scratch_floats, sizeof *p->scratch);
}

static void release_keep(void *state)
{
	keep *p = state;

	inv_matmul_free(p->clean_product);
	inv_matmul_free(p->copies_product);
	inv_matmul_free(p->pairs_product);
	inv_arena_free(&p->arena);
	inv_free(p);
}

static invar_status prepare_keep(const inv_loss_shape *s, inv_loss_work *out)
{
	size_t N = s->N, C = s->s * s->N, w = s->w;
	const inv_matmul_spec pairs = {
		.m = C, .n = 2 * N, .k = w, .transpose_b = true, .bias = true};
	const inv_matmul_spec copies = {.m = C, .n = w, .k = 2 * N};
	const inv_matmul_spec clean = {.m = N, .n = w, .k = C};
	invar_status st;
	keep *p;

	assert(s->frame.distance > 0 && s->groups == 1);
	INV_TRY(inv_new(&p));
	p->shape = s;
	p->N = N;
	p->C = C;
	p->w = w;
	p->R = inv_loss_rows(&inv_loss_keep, s);
	p->scratch_floats = 2 * N > w ? 2 * N : w;
	p->vicinal_weight = inv_option_number(s->options, "vicinal-weight");
	for (size_t i = 0; i < INDEXES; i++)
		for (size_t m = 0; m < MEASURES; m++)
			p->weight[i][m] =
				inv_option_number(s->options, "contrast") * contrast_weight[i][m];
	p->steepness[L2] = 2 / (tau[L2] * s->frame.distance);
	p->steepness[COSINE] = 1 / tau[COSINE];
	plan_keep_memory(p);
	INV_TRY_OR(fail, inv_arena_commit(&p->arena));
	plan_keep_memory(p);
	INV_TRY_OR(fail, inv_matmul_new(s->ctx, &pairs, &p->pairs_product));
	INV_TRY_OR(fail, inv_matmul_new(s->ctx, &copies, &p->copies_product));
	INV_TRY_OR(fail, inv_matmul_new(s->ctx, &clean, &p->clean_product));
	for (size_t j = 0; j < N; j++)
		p->ones[j] = 1;
	*out = (inv_loss_work){.state = p, .bytes = p->arena.size};
	return INVAR_OK;
fail:
	release_keep(p);
	return st;
}

static size_t end_of_block(size_t block, size_t rows)
{
	return (block + 1) * BLOCK < rows ? (block + 1) * BLOCK : rows;
}

/* ---- Vicinal rows ---------------------------------------------------------------- */

static void draw_vicinal_block(void *user, size_t block, unsigned thread)
{
	keep *p = user;
	size_t end = end_of_block(block, p->N);

	(void)thread;
	for (size_t i = block * BLOCK; i < end; i++) {
		const float *u = p->b->clean + i * p->w;
		const float *a = p->b->clean + p->first[i] * p->w;
		const float *b = p->b->clean + p->first[p->second[i]] * p->w;
		float *v = p->drawn + i * p->w;

		for (size_t j = 0; j < p->w; j++)
			v[j] = u[j] + p->rho[i] * (a[j] - b[j]);
	}
}

static void draw_vicinal(const inv_loss_shape *s, void *state, const inv_loss_batch *b,
                         float *out)
{
	keep *p = state;
	inv_stream stream = inv_stream_of(b->seed, "keep/vicinal", (uint32_t)b->step);

	p->b = b;
	p->drawn = out;
	inv_permutation(&stream, 0, p->first, (uint32_t)p->N);
	inv_permutation(&stream, 1, p->second, (uint32_t)p->N);
	inv_fill_uniform(&stream, 2, -0.5f, 0.5f, p->rho, p->N);
	inv_parallel(s->ctx, inv_blocks(p->N, BLOCK), draw_vicinal_block, p);
}

/* ---- Keys and errors --------------------------------------------------------------- */

/* 0 where a direction of this length counts as none. */
static double inverse_of(const keep *p, double length)
{
	return length < shortest * sqrt((double)p->w) ? 0 : 1 / length;
}

static void keep_place_keys_block(void *user, size_t block, unsigned thread)
{
	keep *p = user;
	const struct inv_kernels *k = p->shape->kernels;
	size_t end = end_of_block(block, 2 * p->N);

	(void)thread;
	for (size_t j = block * BLOCK; j < end; j++) {
		float *key = p->keys + j * p->w;
		double length;

		/* The codes of the clean rows are the first N. */
		memcpy(key, j < p->N ? p->b->clean + j * p->w : p->b->codes + (j - p->N) * p->w,
		       p->w * sizeof *key);
		length = sqrt(k->squared_distance(key, p->away, p->w));
		p->bias[j] = (float)(-0.5 * k->dot(key, key, p->w));
		p->offset[j] = (float)(0.5 * length * length);
		p->length[j] = (float)length;
		p->inverse[j] = (float)inverse_of(p, length);
	}
}

/* Where row r of the codes is pulled to. */
static const float *target_of(const keep *p, size_t r)
{
	size_t i = r % p->N;

	return (r < p->N + p->C ? p->b->clean : p->b->vicinal) + i * p->w;
}

static double pull_on(const keep *p, size_t r)
{
	double rows = (double)(p->N + p->C), w = (double)p->w;

	return r < p->N + p->C ? 2 / (rows * w) : 2 * p->vicinal_weight / ((double)p->N * w);
}

/* Squared errors; also the whole gradient of vicinal rows. */
static void keep_error_of_block(void *user, size_t block, unsigned thread)
{
	keep *p = user;
	size_t end = end_of_block(block, p->R);
	float *unwanted = p->scratch + thread * p->scratch_floats;

	for (size_t r = block * BLOCK; r < end; r++) {
		bool is_vicinal = r >= p->N + p->C;

		p->error[r] = p->shape->kernels->squared_error(
			p->b->codes + r * p->w, target_of(p, r), p->w, (float)pull_on(p, r),
			is_vicinal && p->grad ? p->grad + r * p->w : unwanted);
	}
}

/* ---- Logits ------------------------------------------------------------------------ */

/* A copy as the rows of x see it. */
typedef struct keep_query {
	size_t r;
	float shift;           /* (|q|² - |y|²) / 2 */
	float length, inverse; /* of q */
} keep_query;

/*
 * exp(steepness (x - largest)) in place; the sum of all is subtracted from the entry of the
 * copy's own image, and returned.
 */
static double soften(const keep *p, int measure, size_t same, float *x, double *entropy)
{
	const struct inv_kernels *k = p->shape->kernels;
	double steepness = p->steepness[measure], sum;
	float largest = k->largest(x, p->N), gap = largest - x[same];

	sum = k->exp_shifted(largest, (float)fmin(steepness, FLT_MAX), p->N, x);
	*entropy = log(sum) + steepness * gap;
	x[same] = (float)(x[same] - sum);
	return sum;
}

/* Products with the keys of one index to entropies and to that part of A. */
static void weigh_index(keep *p, const keep_query *q, int index, float *scratch)
{
	const struct inv_kernels *k = p->shape->kernels;
	size_t N = p->N, same = q->r % N, at = (2 * q->r + (size_t)index) * N;
	const float *offset = p->offset + (size_t)index * N;
	const float *length = p->length + (size_t)index * N;
	const float *inverse = p->inverse + (size_t)index * N;
	float *x = p->pairs + at, *A = p->A + at, *turn = p->turn + q->r * N;
	float *B = scratch, *across = scratch + N, by_l2, by_cosine;
	keep_row *row = &p->row[q->r];
	double sum[MEASURES];

	for (size_t j = 0; j < N; j++)
		A[j] = B[j] = (x[j] + (offset[j] + q->shift)) * (inverse[j] * q->inverse);
	sum[L2] = soften(p, L2, same, x, &row->entropy[index][L2]);
	sum[COSINE] = soften(p, COSINE, same, B, &row->entropy[index][COSINE]);
	if (!p->grad)
		return;

	by_l2 = (float)(p->weight[index][L2] * p->steepness[L2] / ((double)p->C * sum[L2]));
	by_cosine = (float)(p->weight[index][COSINE] * p->steepness[COSINE] * q->inverse /
	                    ((double)p->C * sum[COSINE]));
	for (size_t j = 0; j < N; j++) {
		B[j] *= by_cosine * inverse[j];
		across[j] = 1 - A[j] * (length[j] * q->inverse);
	}
	for (size_t j = 0; index == NEW && j < N; j++)
		turn[j] = B[j] * (1 - A[j] * (inverse[j] * q->length));
	for (size_t j = 0; j < N; j++)
		A[j] = by_l2 * x[j] + B[j];
	row->S += k->dot(B, p->ones, N);
	row->V += k->dot(B, across, N);
}

static void keep_weigh_block(void *user, size_t block, unsigned thread)
{
	keep *p = user;
	const struct inv_kernels *k = p->shape->kernels;
	size_t end = end_of_block(block, p->C);
	float *scratch = p->scratch + thread * p->scratch_floats;

	for (size_t r = block * BLOCK; r < end; r++) {
		const float *y = p->b->codes + (p->N + r) * p->w;
		double square = k->squared_distance(y, p->away, p->w), length = sqrt(square);
		keep_query q = {.r = r,
		                .shift = (float)(0.5 * (square - k->dot(y, y, p->w))),
		                .length = (float)length,
		                .inverse = (float)inverse_of(p, length)};

		p->row[r] = (keep_row){0};
		weigh_index(p, &q, OLD, scratch);
		weigh_index(p, &q, NEW, scratch);
	}
}

/* ---- The gradient ------------------------------------------------------------------ */

/* S and V of clean rows, and A of the new index by columns. */
static void keep_sum_columns_block(void *user, size_t block, unsigned thread)
{
	keep *p = user;
	size_t column = block * BLOCK, N = p->N;
	size_t count = N - column < BLOCK ? N - column : BLOCK;
	double S[BLOCK] = {0}, V[BLOCK] = {0};

	(void)thread;
	for (size_t r = 0; r < p->C; r++) {
		const float *A = p->A + (2 * r + NEW) * N + column;
		const float *turn = p->turn + r * N + column;

		for (size_t j = 0; j < count; j++) {
			S[j] += A[j];
			V[j] += turn[j];
		}
	}
	memcpy(p->S + column, S, count * sizeof *S);
	memcpy(p->V + column, V, count * sizeof *V);
	p->shape->kernels->transpose(p->A + N + column, p->C, count, 2 * N, p->C,
	                             p->A_turned + column * p->C);
}

/* The product in place of grad to dL/dy, of clean rows and copies. */
static void keep_gradient_of_block(void *user, size_t block, unsigned thread)
{
	keep *p = user;
	size_t count = p->N + p->C;
	size_t end = end_of_block(block, count);

	(void)thread;
	for (size_t r = block * BLOCK; r < end; r++) {
		const float *y = p->b->codes + r * p->w, *u = target_of(p, r), *away = p->away;
		float *g = p->grad + r * p->w, pull = (float)pull_on(p, r);
		float S = (float)(r < p->N ? p->S[r] : p->row[r - p->N].S);
		float V = (float)(r < p->N ? p->V[r] : p->row[r - p->N].V);

		for (size_t j = 0; j < p->w; j++)
			g[j] += pull * (y[j] - u[j]) + V * (y[j] - away[j]) - S * y[j];
	}
}

/* ---- The whole --------------------------------------------------------------------- */

static invar_status evaluate_keep(const inv_loss_shape *s, void *state,
                                  const inv_loss_batch *b, inv_loss_value *out, float *grad)
{
	keep *p = state;
	const float *origin = s->frame.origin, *copies = b->codes + p->N * p->w;
	double rows = (double)(p->N + p->C), w = (double)p->w;
	double *entropy = out->term + TERM_ENTROPY;

	p->shape = s;
	p->b = b;
	p->grad = grad;
	for (size_t j = 0; j < p->w; j++)
		p->away[j] = origin ? -origin[j] : 0;
	inv_parallel(s->ctx, inv_blocks(2 * p->N, BLOCK), keep_place_keys_block, p);
	inv_parallel(s->ctx, inv_blocks(p->R, BLOCK), keep_error_of_block, p);
	INV_TRY(inv_matmul_run(p->pairs_product, copies, p->keys, p->bias, p->pairs));
	inv_parallel(s->ctx, inv_blocks(p->C, BLOCK), keep_weigh_block, p);

	/* The terms, from the numbers of all rows, added in order. */
	out->term[TERM_MAWA] = inv_sum_in_order(p->error, p->N + p->C) / (rows * w);
	out->term[TERM_VICINAL] =
		inv_sum_in_order(p->error + p->N + p->C, p->N) / ((double)p->N * w);
	for (size_t r = 0; r < p->C; r++)
		for (size_t i = 0; i < INDEXES * MEASURES; i++)
			entropy[i] += p->row[r].entropy[i / MEASURES][i % MEASURES];
	out->value = out->term[TERM_MAWA] + p->vicinal_weight * out->term[TERM_VICINAL];
	for (size_t i = 0; i < INDEXES * MEASURES; i++) {
		entropy[i] /= (double)p->C;
		out->value += p->weight[i / MEASURES][i % MEASURES] * entropy[i];
	}
	if (!grad)
		return INVAR_OK;
	inv_parallel(s->ctx, inv_blocks(p->N, BLOCK), keep_sum_columns_block, p);
	INV_TRY(inv_matmul_run(p->clean_product, p->A_turned, copies, NULL, grad));
	INV_TRY(inv_matmul_run(p->copies_product, p->A, p->keys, NULL, grad + p->N * p->w));
	inv_parallel(s->ctx, inv_blocks(p->N + p->C, BLOCK), keep_gradient_of_block, p);
	return INVAR_OK;
}

static bool keep_codes_clean(const invar_options *o)
{
	(void)o;
	return true;
}

const inv_loss inv_loss_keep = {
	.name = "keep",
	.summary = "MaWa in units of the spread, with contrast: preset keep",
	.terms = {"mawa", "vicinal", "old_l2", "old_cosine", "new_l2", "new_cosine"},
	.same_width = true,
	.needs_scaled = true,
	.by_epochs = true,
	.no_decoder = true,
	.min_samples = 1,
	.batch = 256,
	.options = options,
	.codes_clean = keep_codes_clean,
	.prepare = prepare_keep,
	.draw_vicinal = draw_vicinal,
	.evaluate = evaluate_keep,
	.release = release_keep,
};
