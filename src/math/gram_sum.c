/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gram_sum.c - tiles of X^T X and X^T Y, each computed and added by one thread.
 *
 * A tile is a product of some columns of X with some columns of X or Y over all rows that
 * are added at once: in float for 512 rows, these products in double. Tiles on and below
 * the diagonal of X^T X are computed, those on it whole.
 */
#include "math/gram_sum.h"

#include "base/memory.h"
#include "base/threads.h"
#include "math/openblas.h"

/* A 256 by 256 product stays in the L2 cache while it is added to the sum. */
enum { FLOAT_ROWS = 512 }; /* whose products are summed in float */
enum { TILE = 256, MAX_PANELS = 16384 / TILE + INV_GRAM_SUM_PARTS };

/* Some columns of one part. */
typedef struct panel {
	const float *x;
	size_t stride, cols, at; /* at: the first column among those of all parts */
} panel;

typedef struct tile {
	const panel *left, *right;
} tile;

struct inv_gram_sum {
	const invar_context *ctx;
	float *product;  /* [threads, TILE, TILE] */
	double *partial; /* the same, over all rows of an addition */
	/* State of the current sum: */
	size_t rows, stride; /* stride: of the sum */
	double *sum;
	size_t tiles;
	panel x[MAX_PANELS], y[MAX_PANELS];
	tile tile[MAX_PANELS * MAX_PANELS];
};

invar_status inv_gram_sum_new(const invar_context *ctx, inv_gram_sum **out)
{
	invar_status st;
	inv_gram_sum *s;

	*out = NULL;
	INV_TRY(inv_openblas_need_for(ctx));
	INV_TRY(inv_new(&s));
	s->ctx = ctx;
	INV_TRY_OR(fail, inv_new_array(&s->product, (size_t)ctx->threads * TILE * TILE));
	INV_TRY_OR(fail, inv_new_array(&s->partial, (size_t)ctx->threads * TILE * TILE));
	*out = s;
	return INVAR_OK;
fail:
	inv_gram_sum_free(s);
	return st;
}

void inv_gram_sum_free(inv_gram_sum *s)
{
	if (!s)
		return;
	inv_free(s->product);
	inv_free(s->partial);
	inv_free(s);
}

/* ---- Tiles ------------------------------------------------------------------------ */

static void sum_tile(void *user, size_t index, unsigned thread)
{
	const inv_gram_sum *s = user;
	const panel *a = s->tile[index].left, *b = s->tile[index].right;
	size_t cols = b->cols, cells = a->cols * cols;
	float *product = s->product + (size_t)thread * TILE * TILE;
	double *partial = s->partial + (size_t)thread * TILE * TILE;
	double *sum = s->sum + a->at * s->stride + b->at;

	for (size_t from = 0; from < s->rows; from += FLOAT_ROWS) {
		size_t rows = s->rows - from < FLOAT_ROWS ? s->rows - from : FLOAT_ROWS;

		if (s->ctx->cpu)
			inv_openblas_get()->sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)a->cols,
			                          (int)cols, (int)rows, 1, a->x + from * a->stride,
			                          (int)a->stride, b->x + from * b->stride,
			                          (int)b->stride, 0, product, (int)cols);
		for (size_t i = 0; !s->ctx->cpu && i < cells; i++) { /* the same in plain C */
			float dot = 0;

			for (size_t l = from; l < from + rows; l++)
				dot += a->x[l * a->stride + i / cols] * b->x[l * b->stride + i % cols];
			product[i] = dot;
		}
		for (size_t i = 0; i < cells; i++)
			partial[i] = from ? partial[i] + product[i] : product[i];
	}
	for (size_t i = 0; i < a->cols; i++)
		for (size_t j = 0; j < cols; j++)
			sum[i * s->stride + j] += partial[i * cols + j];
}

/* Returns the number of panels that the columns of all parts need. */
static size_t cut(const inv_gram_part *parts, size_t count, panel *out)
{
	size_t panels = 0, before = 0;

	for (size_t i = 0; i < count; i++) {
		size_t width = parts[i].cols;

		for (size_t at = 0; at < width; at += TILE)
			out[panels++] = (panel){parts[i].x + at, width,
			                        width - at < TILE ? width - at : TILE, before + at};
		before += width;
	}
	return panels;
}

static size_t width_of(const inv_gram_part *parts, size_t count)
{
	size_t width = 0;

	for (size_t i = 0; i < count; i++)
		width += parts[i].cols;
	return width;
}

/* sum [., stride] += X^T X for tiles up to the diagonal, or X^T Y with `right` panels. */
static void add_tiles(inv_gram_sum *s, size_t panels, size_t right, size_t rows,
                      size_t stride, double *sum)
{
	s->tiles = 0;
	for (size_t i = 0; i < panels; i++)
		for (size_t j = 0; j < (right ? right : i + 1); j++)
			s->tile[s->tiles++] = (tile){&s->x[i], right ? &s->y[j] : &s->x[j]};
	s->rows = rows;
	s->stride = stride;
	s->sum = sum;
	inv_parallel(s->ctx, s->tiles, sum_tile, s);
}

void inv_gram_sum_add(inv_gram_sum *s, const inv_gram_part *parts, size_t count,
                      size_t rows, double *gram)
{
	add_tiles(s, cut(parts, count, s->x), 0, rows, width_of(parts, count), gram);
}

void inv_gram_sum_add_cross(inv_gram_sum *s, const inv_gram_part *parts, size_t count,
                            size_t rows, const float *y, size_t r, double *cross)
{
	size_t right = cut(&(inv_gram_part){y, r}, 1, s->y);

	if (right)
		add_tiles(s, cut(parts, count, s->x), right, rows, r, cross);
}

void inv_column_sums_add(const float *x, size_t rows, size_t cols, double *sums)
{
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < cols; j++)
			sums[j] += x[i * cols + j];
}

/* ---- The plain loops ------------------------------------------------------------- */

static double cell(const inv_gram_part *parts, size_t row, size_t col)
{
	while (col >= parts->cols)
		col -= parts++->cols;
	return parts->x[row * parts->cols + col];
}

void inv_gram_sum_ref(const inv_gram_part *parts, size_t count, size_t rows, double *gram)
{
	size_t p = width_of(parts, count);

	for (size_t i = 0; i < p; i++)
		for (size_t j = 0; j < p; j++)
			for (size_t l = 0; l < rows; l++)
				gram[i * p + j] += cell(parts, l, i) * cell(parts, l, j);
}

void inv_gram_sum_cross_ref(const inv_gram_part *parts, size_t count, size_t rows,
                            const float *y, size_t r, double *cross)
{
	size_t p = width_of(parts, count);

	for (size_t i = 0; i < p; i++)
		for (size_t j = 0; j < r; j++)
			for (size_t l = 0; l < rows; l++)
				cross[i * r + j] += cell(parts, l, i) * (double)y[l * r + j];
}
