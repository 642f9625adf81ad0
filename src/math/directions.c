/* SPDX-License-Identifier: Apache-2.0 */
/* directions.c - normal vectors, normalised or made orthogonal by Householder's QR. */
#include "math/directions.h"

#include <math.h>
#include <string.h>

#include "base/threads.h"
#include "math/openblas.h"

enum { BLOCK = 16, LAPACK_COLUMNS = 64 }; /* directions per task; of LAPACK's blocks */

typedef struct directions_job {
	const struct inv_kernels *k;
	const inv_directions *set;
	char *scratch;
	size_t bytes; /* of a thread's scratch */
	invar_status *status;
} directions_job;

/* ---- How the work is cut ----------------------------------------------------------- */

static size_t dimensions(const inv_directions *s)
{
	return s->first + s->second;
}

static size_t block_of(const inv_directions *s)
{
	size_t frame = dimensions(s) < s->L ? dimensions(s) : s->L;

	return s->orthogonal ? frame : BLOCK;
}

static size_t blocks_of(const inv_directions *s)
{
	return inv_blocks(s->L, block_of(s));
}

/*
 * The blocks of all sets, and the scratch of a thread: the vectors; for LAPACK also signs,
 * its reflectors' factors and its work.
 */
static size_t count_blocks(const inv_directions *set, size_t count, size_t *bytes)
{
	size_t max = 0, blocks = 0;

	for (size_t i = 0; i < count; i++) {
		size_t D = dimensions(&set[i]), k = block_of(&set[i]);
		size_t floats = set[i].orthogonal ? k * (D + 2 + LAPACK_COLUMNS) : D;

		max = floats > max ? floats : max;
		blocks += blocks_of(&set[i]);
	}
	*bytes = (max + 15) / 16 * 64;
	return blocks;
}

size_t inv_directions_scratch(const invar_context *ctx, const inv_directions *set,
                              size_t count)
{
	size_t bytes, blocks = count_blocks(set, count, &bytes);

	return ctx->threads * bytes + blocks * sizeof(invar_status);
}

/* ---- Filling a block ---------------------------------------------------------------- */

static void store(const inv_directions *s, size_t l, const float *row, float scale)
{
	for (size_t j = 0; j < s->first; j++)
		s->a[l * s->first + j] = scale * row[j];
	for (size_t j = 0; j < s->second; j++)
		s->b[l * s->second + j] = scale * row[s->first + j];
}

/*
 * LAPACK sees the rows as the columns of a D x k matrix. Its factor becomes the
 * one with a positive diagonal of R, which makes the frame uniform.
 */
static invar_status fill_orthogonal(const directions_job *j, const inv_directions *s,
                                    size_t from, size_t end, float *rows)
{
	const inv_openblas *blas = inv_openblas_get();
	int D = (int)dimensions(s), k = (int)(end - from), size = k * LAPACK_COLUMNS, info;
	size_t width = dimensions(s), count = end - from;
	float *signs = rows + count * width, *factors = signs + count, *work = factors + count;

	for (size_t i = 0; i < count; i++)
		j->k->normal(&s->stream, (uint32_t)(s->from + from + i), rows + i * width, width);
	blas->sgeqrf(&D, &k, rows, &D, factors, work, &size, &info);
	if (info)
		return INVAR_E_NUMERIC;
	for (size_t i = 0; i < count; i++)
		signs[i] = copysignf(1, rows[i * width + i]);
	blas->sorgqr(&D, &k, &k, rows, &D, factors, work, &size, &info);
	if (info)
		return INVAR_E_NUMERIC;
	for (size_t i = 0; i < count; i++)
		store(s, from + i, rows + i * width, signs[i]);
	return INVAR_OK;
}

static void fill_block(void *user, size_t block, unsigned thread)
{
	const directions_job *j = user;
	const inv_directions *s = j->set;
	float *scratch = (float *)(void *)(j->scratch + thread * j->bytes);
	size_t of_set = block, from, end;

	for (; of_set >= blocks_of(s); s++)
		of_set -= blocks_of(s);
	from = of_set * block_of(s);
	end = from + block_of(s) < s->L ? from + block_of(s) : s->L;
	j->status[block] = s->orthogonal ? fill_orthogonal(j, s, from, end, scratch) : INVAR_OK;
	for (size_t l = from; l < end && !s->orthogonal; l++) {
		size_t D = dimensions(s);
		double sum = 0;

		j->k->normal(&s->stream, (uint32_t)(s->from + l), scratch, D);
		for (size_t i = 0; i < D; i++)
			sum += (double)scratch[i] * scratch[i];
		store(s, l, scratch, sum > 0 ? (float)(1 / sqrt(sum)) : 0);
	}
}

invar_status inv_directions_fill(const invar_context *ctx, const struct inv_kernels *k,
                                 const inv_directions *set, size_t count, void *scratch)
{
	directions_job j = {.k = k, .set = set, .scratch = scratch};
	size_t blocks = count_blocks(set, count, &j.bytes);

	j.status = (invar_status *)(void *)(j.scratch + ctx->threads * j.bytes);
	for (size_t i = 0; i < count; i++)
		if (set[i].orthogonal)
			INV_TRY(inv_openblas_need(ctx->threads));
	inv_parallel(ctx, blocks, fill_block, &j);
	for (size_t i = 0; i < blocks; i++)
		if (j.status[i] != INVAR_OK)
			return inv_fail(j.status[i], "LAPACK failed to orthogonalise the directions");
	return INVAR_OK;
}

void inv_directions_take(const inv_directions *set, const float *given)
{
	for (size_t l = 0; l < set->L; l++)
		store(set, l, given + l * dimensions(set), 1);
}
