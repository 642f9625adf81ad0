/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hsic.c - the Hilbert-Schmidt independence criterion (Eq. 33), to be maximised.
 *
 *     L = -tr(K H L H) / (M - 1)²,   H = I - 11ᵀ/M
 *
 * K and L are Gaussian kernels of the clean features and of the codes, a row of X for
 * every code. With K~ = H K H the trace is the sum of W = K~ ∘ L over all pairs.
 *
 * Only the N distinct rows of X are used: each occurs M/N times among the M, so the mean
 * of a row over M equals that over N, so does the grand mean, and K~ repeats too.
 *
 * One [M, M] matrix holds in turn the squared distances of the codes and W. A translation
 * of all codes changes nothing, so they are centred, and
 *
 *     dL/dz_a = 2 / (sigma_z² (M - 1)²) sum_b W_ab (z_a - z_b)
 *
 * is one product and the row sums of W. The pair (a, a) is left out: its term would
 * cancel except for rounding.
 *
 * A width that is not given is the median distance, a constant to the gradient: over the
 * pairs of distinct clean rows, and over all pairs of codes; 1 if it is 0.
 */
#include "adapter/losses/loss.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/threads.h"
#include "math/matmul.h"
#include "math/median.h"
#include "math/squares.h"

extern const inv_loss inv_loss_hsic;

/* MAX_ROWS: the number of their pairs fits in 32 bits, as median.c needs. */
enum { BLOCK = 16, MAX_ROWS = 92681 };
enum { TERM_HSIC = 0, TERM_SIGMA_X = 1, TERM_SIGMA_Z = 2 };

typedef struct hsic {
	const inv_loss_shape *shape;
	size_t N, M, w;
	double given_x, given_z; /* widths of the kernels; 0: the median */
	inv_squares *of_clean, *of_codes;
	inv_median *median;
	inv_matmul *product;
	inv_arena arena;
	float *kernel;    /* [N, N] K~ */
	double *mean;     /* [N] of the rows of K */
	size_t *distinct; /* [N] the first of equal clean rows */
	float *pairs;     /* [M, M] squared distances, then W */
	double *sum;      /* [M] of the rows of W */
	/* Of the current batch: */
	double sigma_z;
	float *grad;
} hsic;

static const invar_option options[] = {
	{"sigma-x", INVAR_OPTION_TEXT, "median", .flags = INVAR_OPTION_RESULT, .meta = "F",
     .group = "Loss",
     .help = "hsic: kernel width for features, a number or the median of each batch"},
	{"sigma-z", INVAR_OPTION_TEXT, "median", .flags = INVAR_OPTION_RESULT, .meta = "F",
     .group = "Loss", .help = "hsic: kernel width for codes"},
	{0},
};

/* The width of a kernel: 0 for "median", else a number above 0. */
static invar_status read_width(const invar_options *o, const char *name, double *out)
{
	const char *text = inv_option_text(o, name);
	char *end = NULL;

	*out = 0;
	if (strcmp(text, "median") == 0)
		return INVAR_OK;
	if (!text[strspn(text, "0123456789.eE+-")])
		*out = strtod(text, &end);
	if (end && end != text && !*end && *out > 0 && isfinite(*out))
		return INVAR_OK;
	return inv_fail(INVAR_E_USE, "@%s must be median or a number above 0, not '%s'", name,
	                text);
}

static invar_status check_hsic(const invar_options *o)
{
	double width;

	INV_TRY(read_width(o, "sigma-x", &width));
	return read_width(o, "sigma-z", &width);
}

static void plan_hsic_memory(hsic *p)
{
	p->kernel = inv_arena_take(&p->arena, (uint64_t)p->N * p->N, sizeof(float));
	p->mean = inv_arena_take(&p->arena, p->N, sizeof(double));
	p->distinct = inv_arena_take(&p->arena, p->N, sizeof(size_t));
	p->pairs = inv_arena_take(&p->arena, (uint64_t)p->M * p->M, sizeof(float));
	p->sum = inv_arena_take(&p->arena, p->M, sizeof(double));
}

static void release_hsic(void *state)
{
	hsic *p = state;

	inv_matmul_free(p->product);
	inv_median_free(p->median);
	inv_squares_free(p->of_codes);
	inv_squares_free(p->of_clean);
	inv_arena_free(&p->arena);
	inv_free(p);
}

static invar_status prepare_hsic(const inv_loss_shape *s, inv_loss_work *out)
{
	size_t M = inv_loss_rows(&inv_loss_hsic, s);
	const inv_matmul_spec product = {.m = M, .n = s->w, .k = M};
	invar_status st;
	hsic *p;

	if (M > MAX_ROWS)
		return inv_fail(INVAR_E_USE,
		                "hsic can compare at most %d rows; use a @batch-size below %zu",
		                MAX_ROWS, s->N);
	INV_TRY(inv_new(&p));
	p->shape = s;
	p->N = s->N;
	p->M = M;
	p->w = s->w;
	INV_TRY_OR(fail, read_width(s->options, "sigma-x", &p->given_x));
	INV_TRY_OR(fail, read_width(s->options, "sigma-z", &p->given_z));
	plan_hsic_memory(p);
	INV_TRY_OR(fail, inv_arena_commit(&p->arena));
	plan_hsic_memory(p);
	INV_TRY_OR(fail, inv_squares_new(s->ctx, p->N, s->d, &p->of_clean));
	INV_TRY_OR(fail, inv_squares_new(s->ctx, M, s->w, &p->of_codes));
	INV_TRY_OR(fail, inv_median_new(s->ctx, &p->median));
	INV_TRY_OR(fail, inv_matmul_new(s->ctx, &product, &p->product));
	*out = (inv_loss_work){.state = p,
	                       .bytes = p->arena.size + inv_squares_memory(p->of_clean) +
	                                inv_squares_memory(p->of_codes)};
	return INVAR_OK;
fail:
	release_hsic(p);
	return st;
}

/* ---- Widths ---------------------------------------------------------------------- */

/* d2 [n, n] */
static double median_distance(hsic *p, const float *d2, size_t n)
{
	inv_middle middle;
	double sigma;

	if (n < 2)
		return 1;
	middle = inv_median_above(p->median, d2, n);
	sigma = (sqrt((double)middle.low) + sqrt((double)middle.high)) / 2;
	return sigma == 0 ? 1 : sigma;
}

/* The distances among distinct rows, gathered in [M, M], which is still free. */
static double median_of_distinct(hsic *p)
{
	const float *d2 = p->kernel;
	size_t count = 0;

	for (size_t j = 0; j < p->N; j++) {
		size_t i = 0;

		while (i < count && d2[j * p->N + p->distinct[i]] != 0)
			i++;
		if (i == count)
			p->distinct[count++] = j;
	}
	if (count == p->N)
		return median_distance(p, d2, p->N);
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count; j++)
			p->pairs[i * count + j] = d2[p->distinct[i] * p->N + p->distinct[j]];
	return median_distance(p, p->pairs, count);
}

/* 1 / (2 sigma²), finite, so that the exponential of equal rows stays 1. */
static float exponent(double sigma)
{
	return (float)fmin(1 / (2 * sigma * sigma), FLT_MAX);
}

/* ---- The clean features --------------------------------------------------------- */

/* Computes K~; returns sigma_x. */
static double find_kernel(hsic *p, const float *clean)
{
	double sigma = p->given_x, all;

	inv_squares_run(p->of_clean, clean, p->kernel);
	if (!(sigma > 0))
		sigma = median_of_distinct(p);
	for (size_t i = 0; i < p->N; i++)
		p->mean[i] = p->shape->kernels->exp_shifted(0, -exponent(sigma), p->N,
		                                            p->kernel + i * p->N) /
		             (double)p->N;
	all = inv_sum_in_order(p->mean, p->N) / (double)p->N;
	for (size_t i = 0; i < p->N; i++)
		for (size_t j = 0; j < p->N; j++) {
			float *k = p->kernel + i * p->N + j;

			*k = (float)(*k - p->mean[i] - p->mean[j] + all);
		}
	return sigma;
}

/* ---- The codes --------------------------------------------------------------------- */

/* Past the last row of a block. */
static size_t end_of_rows(const hsic *p, size_t block)
{
	return (block + 1) * BLOCK < p->M ? (block + 1) * BLOCK : p->M;
}

/* Squared distances to W; the row of K~ of an image is used M/N times. */
static void hsic_weights_of_block(void *user, size_t block, unsigned thread)
{
	hsic *p = user;
	float scale = exponent(p->sigma_z);

	(void)thread;
	for (size_t a = block * BLOCK; a < end_of_rows(p, block); a++) {
		const float *k = p->kernel + a % p->N * p->N;
		double sum = 0;

		for (size_t b = 0; b < p->M; b += p->N)
			sum += p->shape->kernels->exp_weighted(k, scale, p->N, p->pairs + a * p->M + b);
		p->sum[a] = sum;
	}
}

/* grad holds W z and becomes dL/dz. */
static void hsic_gradient_of_block(void *user, size_t block, unsigned thread)
{
	hsic *p = user;
	const float *z = inv_squares_centred(p->of_codes) + block * BLOCK * p->w;
	double rest = fmax((double)p->M - 1, 1);
	double scale = 4 * (double)exponent(p->sigma_z) / (rest * rest);

	(void)thread;
	for (size_t a = block * BLOCK; a < end_of_rows(p, block); a++, z += p->w) {
		float *grad = p->grad + a * p->w;

		for (size_t j = 0; j < p->w; j++)
			grad[j] = (float)(scale * (p->sum[a] * z[j] - grad[j]));
	}
}

static invar_status evaluate_hsic(const inv_loss_shape *s, void *state,
                                  const inv_loss_batch *b, inv_loss_value *out, float *grad)
{
	hsic *p = state;
	double rest = fmax((double)p->M - 1, 1); /* one row alone depends on nothing: 0 */

	p->shape = s;
	p->grad = grad;
	out->term[TERM_SIGMA_X] = find_kernel(p, b->clean);
	inv_squares_run(p->of_codes, b->codes, p->pairs);
	p->sigma_z = p->given_z > 0 ? p->given_z : median_distance(p, p->pairs, p->M);
	out->term[TERM_SIGMA_Z] = p->sigma_z;
	inv_parallel(s->ctx, inv_blocks(p->M, BLOCK), hsic_weights_of_block, p);
	out->term[TERM_HSIC] = inv_sum_in_order(p->sum, p->M) / (rest * rest);
	out->value = 0 - out->term[TERM_HSIC]; /* 0 and not -0 */
	if (!grad)
		return INVAR_OK;
	for (size_t a = 0; a < p->M; a++) {
		p->sum[a] -= p->pairs[a * p->M + a];
		p->pairs[a * p->M + a] = 0;
	}
	INV_TRY(inv_matmul_run(p->product, p->pairs, inv_squares_centred(p->of_codes), NULL,
	                       grad));
	inv_parallel(s->ctx, inv_blocks(p->M, BLOCK), hsic_gradient_of_block, p);
	return INVAR_OK;
}

const inv_loss inv_loss_hsic = {
	.name = "hsic",
	.summary = "minus the dependence of codes and F(x) by Gaussian kernels",
	.terms = {"hsic", "sigma_x", "sigma_z"},
	.batch = 256,
	.options = options,
	.shares = "no-identity",
	.check = check_hsic,
	.codes_clean = inv_loss_keeps_identity,
	.prepare = prepare_hsic,
	.evaluate = evaluate_hsic,
	.release = release_hsic,
};
