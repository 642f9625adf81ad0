/* SPDX-License-Identifier: Apache-2.0 */
/* sliced_wasserstein.c - the sliced Wasserstein distance of two sets, and its gradient. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/pool.h"
#include "math/sliced.h"
#include "measure/projected.h"

/* Slopes |gap|^(p - 1) are floats: with a larger p, ordinary gaps would overflow. */
enum { POWER_WITH_SLOPES = 10 };

static const invar_option rows_of_options[] = {
	{"projections", INVAR_OPTION_COUNT, "1000", .min = 1, .max = 1 << 20, .meta = "N",
     .group = "Slices", .help = "number of directions"},
	{"p", INVAR_OPTION_NUMBER, "2", .min = 1, .max = 100, .meta = "F", .group = "Slices",
     .help = "power of the distance"},
	{"slices", INVAR_OPTION_TEXT, "random", .choices = "random|orthogonal", .meta = "WORD",
     .group = "Slices", .help = "independent directions, or blocks of orthogonal ones"},
	{"permutations", INVAR_OPTION_COUNT, "20", .max = 1e5, .meta = "N", .group = "Slices",
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
	INV_TRY(inv_options_expect(o, "dependence"));
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

invar_status invar_sliced_wasserstein(invar_context *ctx, const float *a, const float *b,
                                      uint64_t rows, uint32_t dim, const float *directions,
                                      const invar_options *options, double *value,
                                      float *grad_a)
{
	inv_stream stream;
	inv_sliced_settings o;
	inv_projected p;
	inv_matmul *back = NULL;
	inv_pool scratch = {0};
	uint32_t *in_order;    /* 0, 1, … */
	double *powers;        /* [projections] */
	float *product = NULL; /* [rows, dim] */
	char *sorting;
	double scale;
	invar_status st;

	*value = NAN;
	INV_TRY(inv_sliced_read(options, rows, dim, &o));
	if (grad_a && o.p > POWER_WITH_SLOPES)
		return inv_fail(INVAR_E_USE, "@p is %g, but gradients need @p of at most %d", o.p,
		                POWER_WITH_SLOPES);
	stream = inv_stream_of(o.seed, "sliced/directions", 0);
	INV_TRY(inv_projected_new(ctx, rows, dim, dim, false, o.projections, o.orthogonal, &p));
	INV_TRY_OR(end, inv_pool_zeros(&scratch, &in_order, rows));
	INV_TRY_OR(end, inv_pool_zeros(&scratch, &powers, o.projections));
	INV_TRY_OR(end, inv_pool_zeros(&scratch, &sorting,
	                               inv_sliced_scratch(ctx, rows, grad_a != NULL)));
	for (size_t r = 0; r < rows; r++)
		in_order[r] = (uint32_t)r;
	if (grad_a) {
		const inv_matmul_spec spec = {.m = rows, .n = dim, .k = p.chunk};

		INV_TRY_OR(end, inv_pool_zeros(&scratch, &product, rows * dim));
		INV_TRY_OR(end, inv_matmul_new(ctx, &spec, &back));
		memset(grad_a, 0, rows * dim * sizeof *grad_a);
	}

	for (size_t from = 0; from < o.projections; from += p.chunk) {
		size_t left = o.projections - from, count = left < p.chunk ? left : p.chunk;
		inv_sliced job = {
			.first = {.a = p.a, .stride_a = p.chunk, .rows_a = in_order, .M = rows},
			.second = {.a = p.b, .stride_a = p.chunk, .rows_a = in_order, .M = rows},
			.repeat = 1,
			.L = count,
			.p = o.p,
			.powers = powers + from};

		INV_TRY_OR(end, inv_projected_run(&p, &stream, from, count, directions, a, b));
		if (grad_a) /* slopes replace the projections */
			job.slopes[0] = (inv_slopes){.out = p.a, .stride = p.chunk};
		inv_sliced_run(ctx, &p.kernels, &job, sorting);
		if (grad_a) {
			INV_TRY_OR(end, inv_matmul_run(back, p.a, p.theta.a, NULL, product));
			p.kernels.add(product, rows * dim, grad_a);
		}
	}

	*value = inv_sliced_distance(powers, o.projections, o.p);
	scale = inv_sliced_slope(*value, rows, o.projections, o.p);
	for (size_t i = 0; grad_a && i < rows * dim; i++)
		grad_a[i] = (float)(scale * grad_a[i]);
	if (!isfinite(*value) || (grad_a && !p.kernels.all_finite(grad_a, rows * dim)))
		st = inv_sliced_overflow();
end:
	inv_projected_clear(&p);
	inv_matmul_free(back);
	inv_pool_free(&scratch);
	return st;
}
