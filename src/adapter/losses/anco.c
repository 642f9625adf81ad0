/* SPDX-License-Identifier: Apache-2.0 */
/*
 * anco.c - anchored contrast: MaWa, and each code against the clean features of the batch.
 *
 *     L = MaWa / (sigma² d) + alpha / R sum_r -log softmax_j( sim(z_r, F_j) / tau )[i]
 *
 * Row r of the R codes is a copy of image i (or its clean feature), F_j are the N clean
 * features of the batch: constants, so the frame stays where it is, and what is learned
 * is that an index of old features finds the image of a copy.
 *
 *     l2:      sim = -|z - F_j|² / D     D the mean squared distance of clean features
 *     cosine:  sim = z·F_j / (|z| |F_j|)
 *
 * Both are one product. With rows y of the codes and a_j of the clean features,
 *
 *     sim / tau = c (y·a_j + b_j) + a number of the row, which the softmax cancels
 *     l2:      y = z - m, a_j = F_j - m, b_j = -|a_j|² / 2, c = 2 / (D tau)
 *     cosine:  y, a_j of length 1, b_j = 0, c = 1 / tau
 *
 * m is the mean of the batch's clean features, so that little cancels in floats. One
 * [R, N] matrix holds in turn y·a_j + b_j and E = exp(c (. - the row's largest)); with
 * the row sums r of E the gradient is one more product:
 *
 *     alpha c / (R r) (E - r [own]) a
 *
 * [own] is 1 for the row's own image; through y = z / |z| the part along y goes. The own
 * entry is minus the sum of the others, which keeps its digits where it is near 0.
 *
 * A direction shorter than 1e-6 sigma √d is none: its cosines are 0 and so is what the
 * contrast pulls it with, whereas dividing by its length would drown all other rows.
 */
#include "adapter/losses/loss.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "math/matmul.h"

extern const inv_loss inv_loss_anco;

enum { BLOCK = 16, BLOCK_COLS = 64, TERM_MAWA = 0, TERM_CONTRAST = 1 };

static const double shortest = 1e-6; /* direction, as a share of sigma sqrt(d) */

typedef struct anco {
	const inv_loss_shape *shape;
	size_t N, R, w;
	inv_shares own; /* rows of codes */
	bool cosine;
	double alpha, tau, anchor;
	size_t clean;         /* rows of codes that are clean: N, or 0 without identity */
	inv_matmul *products; /* [R, N], own rows */
	inv_matmul *gradient; /* [R, w], own rows */
	inv_arena arena;
	double *mean;    /* [w] m */
	float *anchors;  /* [N, w] a */
	float *offset;   /* [N] b */
	float *rows;     /* [R, w] y */
	double *length;  /* [R] of the directions; 0: none */
	float *pairs;    /* [R, N] y·a + b, then E */
	double *error;   /* [R] weighted squared errors of MaWa */
	double *entropy; /* [R] cross-entropies */
	double *sum;     /* [R] of the rows of E */
	/* Of the batch that is under way: */
	const inv_loss_batch *b;
	float *grad;
} anco;

static const invar_option options[] = {
	{.name = "similarity",
     .type = INVAR_OPTION_TEXT,
     .initial = "l2",
     .choices = "l2|cosine",
     .flags = INVAR_OPTION_RESULT,
     .meta = "WORD",
     .group = "Loss",
     .help =
         "anco: how codes are compared with clean features; choose what your index uses"},
	{.name = "tau",
     .type = INVAR_OPTION_NUMBER,
     .initial = "0.1",
     .max = 1e6,
     .flags = INVAR_OPTION_RESULT | INVAR_OPTION_ABOVE,
     .meta = "F",
     .group = "Loss",
     .help = "anco: temperature; default 0.05 with similarity cosine"},
	{0},
};

static const inv_option_default defaults[] = {
	{.name = "alpha", .initial = "0.3"},
	{.selector = "similarity", .value = "cosine", .name = "tau", .initial = "0.05"},
	{0},
};

static void plan_memory(anco *p)
{
	uint64_t N = p->N, R = p->R, w = p->w;

	p->mean = inv_arena_take(&p->arena, w, sizeof *p->mean);
	p->anchors = inv_arena_take(&p->arena, N * w, sizeof *p->anchors);
	p->offset = inv_arena_take(&p->arena, N, sizeof *p->offset);
	p->rows = inv_arena_take(&p->arena, R * w, sizeof *p->rows);
	p->length = inv_arena_take(&p->arena, R, sizeof *p->length);
	p->pairs = inv_arena_take(&p->arena, R * N, sizeof *p->pairs);
	p->error = inv_arena_take(&p->arena, R, sizeof *p->error);
	p->entropy = inv_arena_take(&p->arena, R, sizeof *p->entropy);
	p->sum = inv_arena_take(&p->arena, R, sizeof *p->sum);
}

static void release(void *state)
{
	anco *p = state;

	inv_matmul_free(p->gradient);
	inv_matmul_free(p->products);
	inv_arena_free(&p->arena);
	inv_free(p);
}

static invar_status plan_products(const inv_loss_shape *s, anco *p)
{
	const inv_matmul_spec products = {.m = inv_own_count(&p->own),
	                                  .n = p->N,
	                                  .k = p->w,
	                                  .transpose_b = true,
	                                  .bias = true,
	                                  .whole_m = p->R};
	const inv_matmul_spec gradient = {
		.m = inv_own_count(&p->own), .n = p->w, .k = p->N, .whole_m = p->R};
	invar_status st = inv_matmul_new(s->ctx, &products, &p->products);

	return st == INVAR_OK ? inv_matmul_new(s->ctx, &gradient, &p->gradient) : st;
}

static invar_status prepare(const inv_loss_shape *s, inv_loss_work *out)
{
	anco *p = inv_calloc(1, sizeof *p);
	invar_status st;

	assert(s->frame.sigma > 0 && s->frame.distance > 0);
	if (!p)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for the loss");
	p->cosine = inv_option_is(s->options, "similarity", "cosine");
	p->alpha = inv_option_number(s->options, "alpha");
	p->tau = inv_option_number(s->options, "tau");
	p->anchor = inv_option_number(s->options, "anchor");
	p->clean = inv_loss_keeps_identity(s->options) ? s->N : 0;
	p->N = s->N;
	p->own = inv_loss_shares(&inv_loss_anco, s);
	p->R = p->own.items;
	p->w = s->w;
	plan_memory(p);
	if ((st = inv_arena_commit(&p->arena)) == INVAR_OK)
		st = plan_products(s, p);
	if (st != INVAR_OK) {
		release(p);
		return st;
	}
	plan_memory(p);
	*out = (inv_loss_work){.state = p, .bytes = p->arena.size};
	return INVAR_OK;
}

/* ---- Rows to be multiplied ------------------------------------------------------- */

static size_t end_of(size_t block, size_t rows)
{
	return (block + 1) * BLOCK < rows ? (block + 1) * BLOCK : rows;
}

/* Of a block of this process's rows of codes: the first, and past the last. */
static size_t first_code(const anco *p, size_t block)
{
	return inv_own_first(&p->own) + block * BLOCK;
}

static size_t end_code(const anco *p, size_t block)
{
	return inv_own_first(&p->own) + end_of(block, inv_own_count(&p->own));
}

static void mean_of_columns(void *user, size_t block, unsigned thread)
{
	anco *p = user;
	size_t from = block * BLOCK_COLS;
	size_t count = p->w - from < BLOCK_COLS ? p->w - from : BLOCK_COLS;
	double *mean = p->mean + from;

	(void)thread;
	memset(mean, 0, count * sizeof *mean);
	for (size_t i = 0; i < p->N; i++)
		for (size_t j = 0; j < count; j++)
			mean[j] += p->b->clean[i * p->w + from + j];
	for (size_t j = 0; j < count; j++)
		mean[j] /= (double)p->N;
}

/* z - m into y. */
static void centre(const anco *p, const float *z, float *y)
{
	for (size_t j = 0; j < p->w; j++)
		y[j] = (float)(z[j] - p->mean[j]);
}

/* The direction of z into y; gives its length before, 0 where it has none. */
static double direct(const anco *p, const float *z, float *y)
{
	const inv_loss_frame *f = &p->shape->frame;
	double length, by;

	if (f->origin)
		for (size_t j = 0; j < p->w; j++)
			y[j] = z[j] + f->origin[j];
	else
		memcpy(y, z, p->w * sizeof *y);
	length = sqrt(p->shape->kernels->dot(y, y, p->w));
	if (length < shortest * f->sigma * sqrt((double)p->w))
		length = 0;
	by = length > 0 ? 1 / length : 0;
	for (size_t j = 0; j < p->w; j++)
		y[j] = (float)(y[j] * by);
	return length;
}

static void place_clean_block(void *user, size_t block, unsigned thread)
{
	anco *p = user;

	(void)thread;
	for (size_t i = block * BLOCK; i < end_of(block, p->N); i++) {
		const float *clean = p->b->clean + i * p->w;
		float *a = p->anchors + i * p->w;

		p->offset[i] = 0;
		if (p->cosine) {
			direct(p, clean, a);
		} else {
			centre(p, clean, a);
			p->offset[i] = (float)(-0.5 * p->shape->kernels->dot(a, a, p->w));
		}
	}
}

static void place_codes_block(void *user, size_t block, unsigned thread)
{
	anco *p = user;

	(void)thread;
	for (size_t r = first_code(p, block); r < end_code(p, block); r++) {
		const float *z = p->b->codes + r * p->w;
		const float *clean = p->b->clean + r % p->N * p->w;
		double weight = r < p->clean ? p->anchor : 1;

		p->error[r] = weight * p->shape->kernels->squared_distance(z, clean, p->w);
		if (p->cosine)
			p->length[r] = direct(p, z, p->rows + r * p->w);
		else
			centre(p, z, p->rows + r * p->w);
	}
}

/* ---- The value ------------------------------------------------------------------- */

/* c of the opening comment. */
static double steepness(const anco *p)
{
	return p->cosine ? 1 / p->tau : 2 / (p->shape->frame.distance * p->tau);
}

/* Products to E with its own entry less the row's sum. */
static void entropy_of_block(void *user, size_t block, unsigned thread)
{
	anco *p = user;
	const struct inv_kernels *k = p->shape->kernels;
	double c = steepness(p);

	(void)thread;
	for (size_t r = first_code(p, block); r < end_code(p, block); r++) {
		float *row = p->pairs + r * p->N, *own = row + r % p->N;
		float largest = k->largest(row, p->N), gap = largest - *own;

		p->sum[r] = k->exp_shifted(largest, (float)fmin(c, FLT_MAX), p->N, row);
		p->entropy[r] = log(p->sum[r]) + c * gap;
		*own = (float)(*own - p->sum[r]);
	}
}

/* ---- The gradient ------------------------------------------------------------------ */

/* The product in place of grad to dL/dz. */
static void gradient_of_block(void *user, size_t block, unsigned thread)
{
	anco *p = user;
	const inv_loss_frame *f = &p->shape->frame;
	double contrast = p->alpha * steepness(p) / (double)p->R;
	double mawa = 2 / (f->sigma * f->sigma * (double)p->w * (double)p->R);

	(void)thread;
	for (size_t r = first_code(p, block); r < end_code(p, block); r++) {
		const float *z = p->b->codes + r * p->w, *y = p->rows + r * p->w;
		const float *clean = p->b->clean + r % p->N * p->w;
		float *g = p->grad + r * p->w;
		double pull = r < p->clean ? mawa * p->anchor : mawa;
		double turn = contrast / p->sum[r], along = 0;

		if (p->cosine) {
			turn = p->length[r] > 0 ? turn / p->length[r] : 0;
			along = p->shape->kernels->dot(g, y, p->w);
		}
		for (size_t j = 0; j < p->w; j++)
			g[j] = (float)(pull * ((double)z[j] - clean[j]) + turn * (g[j] - along * y[j]));
	}
}

/* All processes get the terms of all rows. */
static invar_status gather_terms(anco *p)
{
	const invar_context *ctx = p->shape->ctx;
	invar_status st = INVAR_OK;

	if (p->shape->shared)
		st = inv_gather_rows(ctx, &p->own, p->error, sizeof *p->error);
	if (p->shape->shared && st == INVAR_OK)
		st = inv_gather_rows(ctx, &p->own, p->entropy, sizeof *p->entropy);
	return st;
}

static invar_status evaluate(const inv_loss_shape *s, void *state, const inv_loss_batch *b,
                             inv_loss_value *out, float *grad)
{
	anco *p = state;
	double scale = s->frame.sigma * s->frame.sigma * (double)p->w * (double)p->R;
	size_t first = inv_own_first(&p->own),
		   blocks = inv_blocks(inv_own_count(&p->own), BLOCK);
	invar_status st;

	p->shape = s;
	p->b = b;
	p->grad = grad;
	if (!p->cosine)
		inv_parallel(s->ctx, inv_blocks(p->w, BLOCK_COLS), mean_of_columns, p);
	inv_parallel(s->ctx, inv_blocks(p->N, BLOCK), place_clean_block, p);
	inv_parallel(s->ctx, blocks, place_codes_block, p);
	st = inv_matmul_run(p->products, p->rows + first * p->w, p->anchors, p->offset,
	                    p->pairs + first * p->N);
	if (st != INVAR_OK)
		return st;
	inv_parallel(s->ctx, blocks, entropy_of_block, p);
	if ((st = gather_terms(p)) != INVAR_OK)
		return st;
	out->term[TERM_MAWA] = inv_sum_in_order(p->error, p->R) / scale;
	out->term[TERM_CONTRAST] = inv_sum_in_order(p->entropy, p->R) / (double)p->R;
	out->value = out->term[TERM_MAWA] + p->alpha * out->term[TERM_CONTRAST];
	if (!grad)
		return INVAR_OK;
	st = inv_matmul_run(p->gradient, p->pairs + first * p->N, p->anchors, NULL,
	                    grad + first * p->w);
	if (st == INVAR_OK)
		inv_parallel(s->ctx, blocks, gradient_of_block, p);
	return st;
}

const inv_loss inv_loss_anco = {
	.name = "anco",
	.terms = {"mawa", "contrast"}, /* as they are added, but for alpha */
	.same_width = true,
	.needs_frame = true,
	.batch = 256,
	.options = options,
	.shares = "no-identity|anchor",
	.defaults = defaults,
	.owns_alpha = true,
	.codes_clean = inv_loss_keeps_identity,
	.prepare = prepare,
	.evaluate = evaluate,
	.release = release,
};
