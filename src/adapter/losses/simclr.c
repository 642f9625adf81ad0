/* SPDX-License-Identifier: Apache-2.0 */
/*
 * simclr.c - NT-Xent over two views of each image.
 *
 *     L = 1/M sum_i ( log sum_{k != i} exp(c_ik / T) - c_ip / T ),   c = u uᵀ
 *
 * u are the codes divided by their norms, M = 2 N rows; rows i and i + N are
 * partners p of each other. The clean rows are not used.
 *
 * One [M, M] matrix holds in turn the cosines c, E = exp((c - row's largest) / T)
 * with a diagonal of 0, and G = P + Pᵀ - 2 [partners], P = E / its row sums. Then
 * dL/du = G u / (M T), one product; through u = z / |z| that gives
 *
 *     dL/dz = (g - (g·u) u) / |z|,   g = dL/du
 *
 * Norms below 1e-12 count as 1e-12, a constant: then dL/dz = g / 1e-12. If training is
 * scaled, z is a code plus the origin of the frame: its direction is that of a feature.
 */
#include "adapter/losses/loss.h"

#include <float.h>
#include <math.h>

#include "base/memory.h"
#include "base/threads.h"
#include "math/gram.h"
#include "math/matmul.h"

extern const inv_loss inv_loss_simclr;

enum { BLOCK = 16, TILE = 128 }; /* rows of a block of work; sides of tiles of P + Pᵀ */

static const double least_norm = 1e-12;

typedef struct simclr {
	const inv_loss_shape *shape;
	size_t M, w;
	double temperature;
	inv_gram *gram;
	inv_matmul *product;
	inv_arena arena;
	float *unit;    /* [M, w] u */
	double *norm;   /* [M] */
	float *pairs;   /* [M, M] c, E, G */
	float *inverse; /* [M] 1 / row sums of E */
	double *loss;   /* [M] of each row */
	double *cosine; /* [M] with its partner */
	/* Of the current batch: */
	const float *codes;
	float *grad;
} simclr;

static const invar_option options[] = {
	{"temperature", INVAR_OPTION_NUMBER, "0.5", .max = 1e6,
     .flags = INVAR_OPTION_RESULT | INVAR_OPTION_ABOVE, .meta = "F", .group = "Loss",
     .help = "simclr: temperature"},
	{0},
};

static bool simclr_codes_clean(const invar_options *o)
{
	(void)o;
	return false;
}

static void plan_simclr_memory(simclr *p)
{
	p->unit = inv_arena_take(&p->arena, (uint64_t)p->M * p->w, sizeof(float));
	p->pairs = inv_arena_take(&p->arena, (uint64_t)p->M * p->M, sizeof(float));
	p->inverse = inv_arena_take(&p->arena, p->M, sizeof(float));
	p->norm = inv_arena_take(&p->arena, p->M, sizeof(double));
	p->loss = inv_arena_take(&p->arena, p->M, sizeof(double));
	p->cosine = inv_arena_take(&p->arena, p->M, sizeof(double));
}

static void release_simclr(void *state)
{
	simclr *p = state;

	inv_matmul_free(p->product);
	inv_gram_free(p->gram);
	inv_arena_free(&p->arena);
	inv_free(p);
}

static invar_status prepare_simclr(const inv_loss_shape *s, inv_loss_work *out)
{
	size_t M = inv_loss_rows(&inv_loss_simclr, s);
	const inv_matmul_spec product = {.m = M, .n = s->w, .k = M};
	invar_status st;
	simclr *p;

	INV_TRY(inv_new(&p));
	p->temperature = inv_option_number(s->options, "temperature");
	p->M = M;
	p->w = s->w;
	plan_simclr_memory(p);
	INV_TRY_OR(fail, inv_arena_commit(&p->arena));
	plan_simclr_memory(p);
	INV_TRY_OR(fail, inv_gram_new(s->ctx, M, s->w, &p->gram));
	INV_TRY_OR(fail, inv_matmul_new(s->ctx, &product, &p->product));
	*out = (inv_loss_work){.state = p, .bytes = p->arena.size};
	return INVAR_OK;
fail:
	release_simclr(p);
	return st;
}

/* Past the last row of a block. */
static size_t block_end(const simclr *p, size_t block)
{
	return (block + 1) * BLOCK < p->M ? (block + 1) * BLOCK : p->M;
}

/* ---- The value ------------------------------------------------------------------- */

/* u and |z|, z the code plus the origin. */
static void normalise_block(void *user, size_t block, unsigned thread)
{
	simclr *p = user;
	const float *origin = p->shape->frame.origin;

	(void)thread;
	for (size_t i = block * BLOCK; i < block_end(p, block); i++) {
		const float *z = p->codes + i * p->w;
		float *u = p->unit + i * p->w;
		double by;

		for (size_t j = 0; origin && j < p->w; j++)
			u[j] = z[j] + origin[j];
		z = origin ? u : z;
		p->norm[i] = sqrt(p->shape->kernels->dot(z, z, p->w));
		by = 1 / fmax(p->norm[i], least_norm);
		for (size_t j = 0; j < p->w; j++)
			u[j] = (float)(z[j] * by);
	}
}

/* Cosines to E; the largest of a row is subtracted, so nothing overflows and r >= 1. */
static void exponentials_of_block(void *user, size_t block, unsigned thread)
{
	simclr *p = user;
	const struct inv_kernels *k = p->shape->kernels;
	double inverse = 1 / p->temperature;

	(void)thread;
	for (size_t i = block * BLOCK; i < block_end(p, block); i++) {
		float *row = p->pairs + i * p->M, largest;
		double r;

		row[i] = -INFINITY; /* whose exponential is 0 */
		p->cosine[i] = row[(i + p->M / 2) % p->M];
		largest = k->largest(row, p->M);
		r = k->exp_shifted(largest, (float)fmin(inverse, FLT_MAX), p->M, row);
		p->loss[i] = log(r) + (largest - p->cosine[i]) * inverse;
		p->inverse[i] = (float)(1 / r);
	}
}

/* ---- The gradient ------------------------------------------------------------------ */

/* E to P + Pᵀ: a band of tiles from the diagonal to the right, and their transposes. */
static void symmetrise_band(void *user, size_t band, unsigned thread)
{
	simclr *p = user;
	size_t i = band * TILE, rows = p->M - i < TILE ? p->M - i : TILE;

	(void)thread;
	for (size_t j = i; j < p->M; j += TILE)
		p->shape->kernels->add_mirrored(p->inverse + i, p->inverse + j, rows,
		                                p->M - j < TILE ? p->M - j : TILE, p->M,
		                                p->pairs + i * p->M + j, p->pairs + j * p->M + i);
}

/* grad holds g = G u and becomes dL/dz. */
static void through_norms_of_block(void *user, size_t block, unsigned thread)
{
	simclr *p = user;
	double scale = 1 / ((double)p->M * p->temperature);

	(void)thread;
	for (size_t i = block * BLOCK; i < block_end(p, block); i++) {
		const float *u = p->unit + i * p->w;
		float *g = p->grad + i * p->w;
		double by = scale / fmax(p->norm[i], least_norm), along = 0;

		if (p->norm[i] >= least_norm)
			along = p->shape->kernels->dot(g, u, p->w);
		for (size_t j = 0; j < p->w; j++)
			g[j] = (float)(by * (g[j] - along * u[j]));
	}
}

static invar_status evaluate_simclr(const inv_loss_shape *s, void *state,
                                    const inv_loss_batch *b, inv_loss_value *out,
                                    float *grad)
{
	simclr *p = state;

	p->shape = s;
	p->codes = b->codes;
	p->grad = grad;
	inv_parallel(s->ctx, inv_blocks(p->M, BLOCK), normalise_block, p);
	inv_gram_run(p->gram, p->unit, p->pairs, NULL, NULL);
	inv_parallel(s->ctx, inv_blocks(p->M, BLOCK), exponentials_of_block, p);
	out->value = inv_sum_in_order(p->loss, p->M) / (double)p->M;
	out->term[0] = inv_sum_in_order(p->cosine, p->M) / (double)p->M;
	if (!grad)
		return INVAR_OK;
	inv_parallel(s->ctx, inv_blocks(p->M, TILE), symmetrise_band, p);
	for (size_t i = 0; i < p->M; i++)
		p->pairs[i * p->M + (i + p->M / 2) % p->M] -= 2;
	INV_TRY(inv_matmul_run(p->product, p->pairs, p->unit, NULL, grad));
	inv_parallel(s->ctx, inv_blocks(p->M, BLOCK), through_norms_of_block, p);
	return INVAR_OK;
}

const inv_loss inv_loss_simclr = {
	.name = "simclr",
	.summary = "copies of an image attract, those of others repel",
	.terms = {"cosine"}, /* of partners, the mean */
	.min_samples = 2,
	.max_samples = 2,
	.batch = 1024,
	.options = options,
	.codes_clean = simclr_codes_clean,
	.prepare = prepare_simclr,
	.evaluate = evaluate_simclr,
	.release = release_simclr,
};
