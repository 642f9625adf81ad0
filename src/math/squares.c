/* SPDX-License-Identifier: Apache-2.0 */
/* squares.c - distances from a Gram matrix, by differences if rows are close. */
#include "math/squares.h"

#include <float.h>
#include <string.h>

#include "base/memory.h"
#include "base/threads.h"
#include "math/gram.h"
#include "math/kernels.h"

enum { BLOCK_ROWS = 32, BLOCK_COLS = 64 };

/*
 * A product of rows is off by about 1e-6 of their squares, so that above this share of them
 * a distance keeps at least three digits.
 */
static const float near = 0x1p-10f;

struct inv_squares {
	const invar_context *ctx;
	struct inv_kernels kernels;
	size_t n, width;
	inv_gram *gram;
	inv_arena arena;
	double *mean;   /* [width] */
	float *centred; /* [n, width] */
	float *squares; /* [n] of the centred rows */
	/* State of the current run: */
	const float *x;
	float *out;
};

invar_status inv_squares_new(const invar_context *ctx, size_t n, size_t width,
                             inv_squares **out)
{
	inv_squares *p;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&p));
	p->ctx = ctx;
	p->n = n;
	p->width = width;
	inv_kernels_init(&p->kernels, ctx->cpu);
	for (int round = 0; round < 2; round++) {
		p->mean = inv_arena_take(&p->arena, width, sizeof *p->mean);
		p->centred = inv_arena_take(&p->arena, (uint64_t)n * width, sizeof *p->centred);
		p->squares = inv_arena_take(&p->arena, n, sizeof *p->squares);
		if (!round)
			INV_TRY_OR(fail, inv_arena_commit(&p->arena));
	}
	INV_TRY_OR(fail, inv_gram_new(ctx, n, width, &p->gram));
	*out = p;
	return INVAR_OK;
fail:
	inv_squares_free(p);
	return st;
}

void inv_squares_free(inv_squares *p)
{
	if (!p)
		return;
	inv_gram_free(p->gram);
	inv_arena_free(&p->arena);
	inv_free(p);
}

const float *inv_squares_centred(const inv_squares *p)
{
	return p->centred;
}

size_t inv_squares_memory(const inv_squares *p)
{
	return p->arena.size;
}

/* ---- Rows about their mean ----------------------------------------------------- */

static void mean_of_columns(void *user, size_t block, unsigned thread)
{
	inv_squares *p = user;
	size_t from = block * BLOCK_COLS;
	size_t count = p->width - from < BLOCK_COLS ? p->width - from : BLOCK_COLS;
	double *mean = p->mean + from;

	(void)thread;
	memset(mean, 0, count * sizeof *mean);
	for (size_t i = 0; i < p->n; i++)
		for (size_t j = 0; j < count; j++)
			mean[j] += p->x[i * p->width + from + j];
	for (size_t j = 0; j < count; j++)
		mean[j] /= (double)p->n;
}

static void centre_rows(void *user, size_t block, unsigned thread)
{
	inv_squares *p = user;
	size_t from = block * BLOCK_ROWS, w = p->width;
	size_t end = from + BLOCK_ROWS < p->n ? from + BLOCK_ROWS : p->n;

	(void)thread;
	for (size_t i = from; i < end; i++) {
		const float *x = p->x + i * w;
		float *centred = p->centred + i * w;

		for (size_t j = 0; j < w; j++)
			centred[j] = (float)(x[j] - p->mean[j]);
		p->squares[i] = (float)p->kernels.dot(centred, centred, w);
	}
}

/* ---- Distances ----------------------------------------------------------------- */

static void distances_of_tile(void *user, size_t row, size_t rows, size_t col, size_t cols)
{
	const inv_squares *p = user;

	for (size_t i = row; i < row + rows; i++) {
		size_t from = i > col ? i : col, count = col + cols - from;
		const float *squares = p->squares + from;
		float *out = p->out + i * p->n + from, own = p->squares[i];

		if (!p->kernels.squares_of_products(own, squares, near, count, out))
			continue;
		for (size_t j = 0; j < count; j++) {
			const float *a = p->x + i * p->width, *b = p->x + (from + j) * p->width;
			double d2;

			if (!(out[j] <= near * (own + squares[j])))
				continue;
			/* A square too small for a float must not look like that of equal rows. */
			d2 = p->kernels.squared_distance(a, b, p->width);
			out[j] = d2 > 0 && d2 < FLT_MIN ? FLT_MIN : (float)d2;
		}
	}
}

void inv_squares_run(inv_squares *p, const float *x, float *out)
{
	p->x = x;
	p->out = out;
	inv_parallel(p->ctx, inv_blocks(p->width, BLOCK_COLS), mean_of_columns, p);
	inv_parallel(p->ctx, inv_blocks(p->n, BLOCK_ROWS), centre_rows, p);
	inv_gram_run(p->gram, p->centred, out, distances_of_tile, p);
}
