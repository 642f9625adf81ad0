/* SPDX-License-Identifier: Apache-2.0 */
/* projected.c - chunks of directions and the projections of two sets. */
#include "measure/projected.h"

#include <string.h>

#include "base/memory.h"

/* Floats of a cache line, and of a set's projections, which stay in the cache for sorting.
 */
enum { LINE = 16, CHUNK_FLOATS = 1 << 21 };

static size_t chunk_of(size_t rows, size_t width, size_t directions, bool orthogonal)
{
	size_t max = CHUNK_FLOATS / rows / LINE * LINE;
	size_t all = (directions + LINE - 1) / LINE * LINE;
	size_t chunk = max < LINE ? LINE : max;

	if (chunk >= all)
		return all;
	if (orthogonal && chunk > width && width >= LINE) /* whole frames */
		chunk = chunk / width * width / LINE * LINE;
	return chunk;
}

invar_status inv_projected_new(const invar_context *ctx, size_t rows, size_t first,
                               size_t second, bool joint, size_t directions,
                               bool orthogonal, inv_projected *out)
{
	inv_matmul_spec spec = {.m = rows, .k = first, .transpose_b = true};
	inv_directions *t = &out->theta;
	size_t chunk = chunk_of(rows, first + (joint ? second : 0), directions, orthogonal);
	invar_status st;

	*out = (inv_projected){.ctx = ctx, .rows = rows, .chunk = chunk};
	*t = (inv_directions){
		.first = first, .second = joint ? second : 0, .L = chunk, .orthogonal = orthogonal};
	inv_kernels_init(&out->kernels, ctx->cpu);
	INV_TRY_OR(fail, inv_new_zeros(&t->a, chunk * first));
	if (joint)
		INV_TRY_OR(fail, inv_new_zeros(&t->b, chunk * second));
	else
		t->b = t->a;
	INV_TRY_OR(fail, inv_new_zeros(&out->a, rows * chunk));
	INV_TRY_OR(fail, inv_new_zeros(&out->b, rows * chunk));
	INV_TRY_OR(fail, inv_new_array(&out->scratch, inv_directions_scratch(ctx, t, 1)));
	spec.n = chunk;
	INV_TRY_OR(fail, inv_matmul_new(ctx, &spec, &out->product_a));
	spec.k = second;
	INV_TRY_OR(fail, inv_matmul_new(ctx, &spec, &out->product_b));
	return INVAR_OK;
fail:
	inv_projected_clear(out);
	return st;
}

invar_status inv_projected_run(inv_projected *p, const inv_stream *stream, size_t from,
                               size_t count, const float *given, const float *x,
                               const float *z)
{
	inv_directions *t = &p->theta;
	size_t rest = p->chunk - count; /* columns past the last direction, which are zero */

	t->L = count;
	t->from = from;
	t->stream = *stream;
	if (given)
		inv_directions_take(t, given + from * (t->first + t->second));
	else
		INV_TRY(inv_directions_fill(p->ctx, &p->kernels, t, 1, p->scratch));
	memset(t->a + count * t->first, 0, rest * t->first * sizeof(float));
	if (t->second)
		memset(t->b + count * t->second, 0, rest * t->second * sizeof(float));
	INV_TRY(inv_matmul_run(p->product_a, x, t->a, NULL, p->a));
	return inv_matmul_run(p->product_b, z, t->b, NULL, p->b);
}

void inv_projected_clear(inv_projected *p)
{
	if (p->theta.second)
		inv_free(p->theta.b);
	inv_free(p->theta.a);
	inv_free(p->a);
	inv_free(p->b);
	inv_free(p->scratch);
	inv_matmul_free(p->product_a);
	inv_matmul_free(p->product_b);
	*p = (inv_projected){0};
}
