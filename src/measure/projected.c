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

static invar_status allocate_projected(inv_projected *p)
{
	inv_directions *t = &p->theta;
	size_t bytes;

	t->L = p->chunk;
	bytes = inv_directions_scratch(p->ctx, t, 1);
	t->a = inv_calloc(p->chunk * t->first, sizeof(float));
	t->b = t->second ? inv_calloc(p->chunk * t->second, sizeof(float)) : t->a;
	p->a = inv_calloc(p->rows * p->chunk, sizeof(float));
	p->b = inv_calloc(p->rows * p->chunk, sizeof(float));
	p->scratch = inv_alloc(bytes);
	if (!t->a || !t->b || !p->a || !p->b || !p->scratch)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for %zu projections of %zu rows",
		                p->chunk, p->rows);
	return INVAR_OK;
}

invar_status inv_projected_new(const invar_context *ctx, size_t rows, size_t first,
                               size_t second, bool joint, size_t directions,
                               bool orthogonal, inv_projected *out)
{
	inv_matmul_spec spec = {.m = rows, .k = first, .transpose_b = true};
	invar_status st;

	*out = (inv_projected){.ctx = ctx, .rows = rows};
	out->theta = (inv_directions){
		.first = first, .second = joint ? second : 0, .orthogonal = orthogonal};
	out->chunk = chunk_of(rows, first + out->theta.second, directions, orthogonal);
	inv_kernels_init(&out->kernels, ctx->cpu);
	spec.n = out->chunk;
	if ((st = allocate_projected(out)) == INVAR_OK)
		st = inv_matmul_new(ctx, &spec, &out->product_a);
	spec.k = second;
	if (st == INVAR_OK)
		st = inv_matmul_new(ctx, &spec, &out->product_b);
	if (st != INVAR_OK)
		inv_projected_clear(out);
	return st;
}

/* Columns past the last direction are zero. */
static void clear_rest(const inv_directions *t, size_t chunk)
{
	memset(t->a + t->L * t->first, 0, (chunk - t->L) * t->first * sizeof(float));
	if (t->second)
		memset(t->b + t->L * t->second, 0, (chunk - t->L) * t->second * sizeof(float));
}

invar_status inv_projected_run(inv_projected *p, const inv_stream *stream, size_t from,
                               size_t count, const float *given, const float *x,
                               const float *z)
{
	inv_directions *t = &p->theta;
	invar_status st = INVAR_OK;

	t->L = count;
	t->from = from;
	t->stream = *stream;
	if (given)
		inv_directions_take(t, given + from * (t->first + t->second));
	else
		st = inv_directions_fill(p->ctx, &p->kernels, t, 1, p->scratch);
	clear_rest(t, p->chunk);
	if (st == INVAR_OK)
		st = inv_matmul_run(p->product_a, x, t->a, NULL, p->a);
	if (st == INVAR_OK)
		st = inv_matmul_run(p->product_b, z, t->b, NULL, p->b);
	return st;
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
