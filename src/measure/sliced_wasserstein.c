/* SPDX-License-Identifier: Apache-2.0 */
/* sliced_wasserstein.c - the sliced Wasserstein distance of two sets, and its gradient. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "math/sliced.h"
#include "measure/projected.h"
#include "measure/sliced_options.h"

/* Slopes |gap|^(p - 1) are floats: with a larger p, ordinary gaps would overflow. */
enum { POWER_WITH_SLOPES = 10 };

static const invar_option rows_of_options[] = {
	{.name = "projections",
     .type = INVAR_OPTION_COUNT,
     .initial = "1000",
     .min = 1,
     .max = 1 << 20,
     .meta = "N",
     .group = "Slices",
     .help = "number of directions"},
	{.name = "p",
     .type = INVAR_OPTION_NUMBER,
     .initial = "2",
     .min = 1,
     .max = 100,
     .meta = "F",
     .group = "Slices",
     .help = "power of the distance"},
	{.name = "slices",
     .type = INVAR_OPTION_TEXT,
     .initial = "random",
     .choices = "random|orthogonal",
     .meta = "WORD",
     .group = "Slices",
     .help = "independent directions, or blocks of orthogonal ones"},
	{.name = "permutations",
     .type = INVAR_OPTION_COUNT,
     .initial = "20",
     .max = 1e5,
     .meta = "N",
     .group = "Slices",
     .help = "number of shuffled pairings to compare with"},
	{INV_SEED_ROW},
	{0},
};

invar_status inv_sliced_declare(invar_options *o)
{
	return inv_options_add_rows(o, rows_of_options);
}

invar_status inv_sliced_overflow(void)
{
	return inv_fail(INVAR_E_NUMERIC,
	                "the distance is too large for a float; scale the samples down");
}

invar_status inv_sliced_read(const invar_options *o, uint64_t rows, uint32_t width,
                             inv_sliced_settings *out)
{
	invar_status st = inv_options_expect(o, "dependence");

	if (st != INVAR_OK)
		return st;
	if (!rows || !width)
		return inv_fail(INVAR_E_USE, "the samples are empty");
	if (rows > INV_KEY_ROWS)
		return inv_fail(INVAR_E_USE,
		                "%" PRIu64 " rows are too many; at most %u can be sorted", rows,
		                INV_KEY_ROWS);
	*out = (inv_sliced_settings){.p = inv_option_number(o, "p"),
	                             .projections = inv_option_count(o, "projections"),
	                             .permutations = inv_option_count(o, "permutations"),
	                             .seed = inv_option_count(o, "seed"),
	                             .orthogonal = inv_option_is(o, "slices", "orthogonal")};
	return INVAR_OK;
}

/* ---- Distance and derivative --------------------------------------------------------- */

typedef struct distance {
	const inv_sliced_settings *o;
	inv_projected pair;
	const float *a, *b, *directions;
	uint32_t *rows; /* 0, 1, … */
	double *powers; /* [projections] */
	void *scratch;
	float *grad, *part; /* [rows, dim]; NULL where not wanted */
	inv_matmul *back;
} distance;

static invar_status begin(const invar_context *ctx, size_t rows, size_t dim, distance *d)
{
	bool slopes = d->grad;
	inv_matmul_spec back = {.m = rows, .n = dim};
	invar_status st = inv_projected_new(ctx, rows, dim, dim, false, d->o->projections,
	                                    d->o->orthogonal, &d->pair);

	if (st != INVAR_OK)
		return st;
	d->rows = inv_calloc(rows, sizeof *d->rows);
	d->powers = inv_calloc(d->o->projections, sizeof *d->powers);
	d->scratch = inv_alloc(inv_sliced_scratch(ctx, rows, slopes));
	d->part = slopes ? inv_calloc(rows * dim, sizeof *d->part) : NULL;
	if (!d->rows || !d->powers || !d->scratch || (slopes && !d->part))
		return inv_fail(INVAR_E_NOMEM, "not enough memory to sort %zu rows", rows);
	for (size_t r = 0; r < rows; r++)
		d->rows[r] = (uint32_t)r;
	back.k = d->pair.chunk;
	return slopes ? inv_matmul_new(ctx, &back, &d->back) : INVAR_OK;
}

static void end(distance *d)
{
	inv_projected_clear(&d->pair);
	inv_free(d->rows);
	inv_free(d->powers);
	inv_free(d->scratch);
	inv_free(d->part);
	inv_matmul_free(d->back);
}

static invar_status add_chunk(const invar_context *ctx, distance *d, size_t from,
                              size_t dim)
{
	inv_projected *p = &d->pair;
	size_t left = d->o->projections - from, count = left < p->chunk ? left : p->chunk;
	inv_stream stream = inv_stream_of(d->o->seed, "sliced/directions", 0);
	inv_sliced job = {
		.first = {.a = p->a, .stride_a = p->chunk, .rows_a = d->rows, .M = p->rows},
		.second = {.a = p->b, .stride_a = p->chunk, .rows_a = d->rows, .M = p->rows},
		.repeat = 1,
		.L = count,
		.p = d->o->p,
		.powers = d->powers + from};
	invar_status st = inv_projected_run(p, &stream, from, count, d->directions, d->a, d->b);

	if (st != INVAR_OK)
		return st;
	if (d->grad)
		job.slopes[0] = (inv_slopes){.out = p->a, .stride = p->chunk};
	inv_sliced_run(ctx, &p->kernels, &job, d->scratch);
	if (d->grad &&
	    (st = inv_matmul_run(d->back, p->a, p->theta.a, NULL, d->part)) == INVAR_OK)
		p->kernels.add(d->part, p->rows * dim, d->grad);
	return st;
}

static invar_status conclude(distance *d, size_t rows, size_t dim, double *value)
{
	double scale;

	*value = inv_sliced_distance(d->powers, d->o->projections, d->o->p);
	scale = inv_sliced_slope(*value, rows, d->o->projections, d->o->p);
	for (size_t i = 0; d->grad && i < rows * dim; i++)
		d->grad[i] = (float)(scale * d->grad[i]);
	if (!isfinite(*value) || (d->grad && !d->pair.kernels.all_finite(d->grad, rows * dim)))
		return inv_sliced_overflow();
	return INVAR_OK;
}

invar_status invar_sliced_wasserstein(invar_context *ctx, const float *a, const float *b,
                                      uint64_t rows, uint32_t dim, const float *directions,
                                      const invar_options *options, double *value,
                                      float *grad_a)
{
	inv_sliced_settings o = {0};
	distance d = {.o = &o, .a = a, .b = b, .directions = directions, .grad = grad_a};
	invar_status st = inv_sliced_read(options, rows, dim, &o);

	*value = NAN;
	if (st == INVAR_OK && grad_a && o.p > POWER_WITH_SLOPES)
		return inv_fail(INVAR_E_USE, "@p is %g, but gradients need @p of at most %d", o.p,
		                POWER_WITH_SLOPES);
	if (st != INVAR_OK || (st = begin(ctx, rows, dim, &d)) != INVAR_OK) {
		end(&d);
		return st;
	}
	if (grad_a)
		memset(grad_a, 0, rows * dim * sizeof *grad_a);
	for (size_t from = 0; from < o.projections && st == INVAR_OK; from += d.pair.chunk)
		st = add_chunk(ctx, &d, from, dim);
	if (st == INVAR_OK)
		st = conclude(&d, rows, dim, value);
	end(&d);
	return st;
}
