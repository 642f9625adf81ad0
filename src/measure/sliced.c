/* SPDX-License-Identifier: Apache-2.0 */
/* sliced.c - invar_sliced_wasserstein: the distance of two sets, and its derivative. */
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/fields.h"
#include "base/memory.h"
#include "math/sliced.h"
#include "measure/projected.h"
#include "measure/sliced_options.h"

#define FIELD(member) offsetof(invar_sliced_opts, member)

/* Slopes |gap|^(p - 1) are floats: beyond, gaps of common size would leave their range. */
enum { POWER_WITH_SLOPES = 10 };

static const invar_field fields[] = {
	{"projections", INVAR_FIELD_COUNT, FIELD(projections), 1, 1 << 20, 0, NULL, "N",
     "Slices", "directions"},
	{"p", INVAR_FIELD_NUMBER, FIELD(p), 1, 100, 0, NULL, "F", "Slices",
     "power of the distance"},
	{"slices", INVAR_FIELD_TEXT, FIELD(slices), 0, 0, 0, "random|orthogonal", "WORD",
     "Slices", "independent directions, or blocks of orthogonal ones"},
	{"permutations", INVAR_FIELD_COUNT, FIELD(permutations), 0, 1e5, 0, NULL, "N", "Slices",
     "shuffled pairings that show the floor"},
	{"seed", INVAR_FIELD_COUNT, FIELD(seed), 0, 0x1p53, 0, NULL, "N", "Common",
     "key of every random draw"},
};

static const inv_fields table = {fields, sizeof fields / sizeof *fields};

void invar_sliced_defaults(invar_sliced_opts *o)
{
	*o = (invar_sliced_opts){.size = sizeof *o,
	                         .p = 2,
	                         .projections = 1000,
	                         .slices = "random",
	                         .permutations = 20};
}

const invar_field *invar_sliced_fields(size_t *count)
{
	*count = table.count;
	return fields;
}

invar_status inv_sliced_overflow(void)
{
	return inv_fail(
		INVAR_E_NUMERIC,
		"the distance does not fit into a float; divide the samples by their scale");
}

invar_status inv_sliced_check(const invar_sliced_opts *given, uint64_t rows, uint32_t width,
                              invar_sliced_opts *o)
{
	invar_sliced_defaults(o); /* for members that a caller's older header lacks */
	memcpy(o, given, given->size < sizeof *o ? given->size : sizeof *o);
	if (!rows || !width)
		return inv_fail(INVAR_E_USE, "there are no numbers to measure a distance of");
	if (rows > INV_KEY_ROWS)
		return inv_fail(INVAR_E_USE,
		                "%" PRIu64 " rows are too many, at most %u can be sorted", rows,
		                INV_KEY_ROWS);
	return inv_fields_check(table, o);
}

bool inv_sliced_orthogonal(const invar_sliced_opts *o)
{
	return strcmp(o->slices, "orthogonal") == 0;
}

/* ---- Distance and derivative --------------------------------------------------------- */

typedef struct distance {
	const invar_sliced_opts *o;
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
	                                    inv_sliced_orthogonal(d->o), &d->pair);

	if (st != INVAR_OK)
		return st;
	d->rows = inv_calloc(rows, sizeof *d->rows);
	d->powers = inv_calloc(d->o->projections, sizeof *d->powers);
	d->scratch = inv_alloc(inv_sliced_scratch(ctx, rows, slopes));
	d->part = slopes ? inv_calloc(rows * dim, sizeof *d->part) : NULL;
	if (!d->rows || !d->powers || !d->scratch || (slopes && !d->part))
		return inv_fail(INVAR_E_NOMEM, "no memory to sort %zu rows", rows);
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
                                      const invar_sliced_opts *opts, double *value,
                                      float *grad_a)
{
	invar_sliced_opts o;
	distance d = {.o = &o, .a = a, .b = b, .directions = directions, .grad = grad_a};
	invar_status st = inv_sliced_check(opts, rows, dim, &o);

	*value = NAN;
	if (st == INVAR_OK && grad_a && o.p > POWER_WITH_SLOPES)
		return inv_fail(INVAR_E_USE, "--p is %g, but derivatives go up to %d", o.p,
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
