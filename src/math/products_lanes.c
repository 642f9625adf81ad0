/* SPDX-License-Identifier: Apache-2.0 */
/*
 * products_lanes.c - the inner loops of products: of strips and panels, and of integers.
 *
 * 6 x 16 sums stay in registers: 12 of AVX2, 24 of NEON. With AVX-512, where a panel is one
 * vector wide, 12 x 32 do, of two strips and two panels: a Zen 5 can add two products of
 * whole vectors per cycle but also loads no more than two, so each must be used twice. Each
 * sum has the same terms in the same order with every set. All loops over rows and vectors
 * are unrolled, or the sums would spill to memory. The next data is prefetched: the rows of
 * c, the strip further on, and, into the L2 cache, the next panel.
 *
 * Products of pairs of bfloat16 and of bytes differ in one instruction. This file is
 * compiled once more with AVX-512 BF16, for the former alone.
 */
#include "math/kernels.h"
#include "math/lanes.h"

enum { R = INV_STRIP_ROWS, C = INV_PANEL_COLS, MAX_ROWS = LANES == 16 ? 2 * R : R };
enum { ACROSS = C / LANES, SIDE = INV_SIDE_PANELS * ACROSS, AHEAD = 128 };
enum { PANELS = LANES == 16 ? 2 : 1 }; /* at a time */
enum { UNROLL = LANES == 8 ? 4 : 2 };

/* LANES columns from `column` on; those that are not of the product are left alone. */
INLINE vec get(const inv_panel_product *p, const float *x, size_t column)
{
	return p->columns >= C ? load(x + column)
	                       : load_where(lanes_before(p->columns, column), x + column);
}

INLINE void put(const inv_panel_product *p, float *x, size_t column, vec v)
{
	if (p->columns >= C)
		store(x + column, v);
	else
		store_where(lanes_before(p->columns, column), x + column, v);
}

/* What a cell of 32 bits holds. Here and below it is a constant. */
enum cell { FLOATS, PAIRS, BYTES };

INLINE void finish(const enum cell kind, const inv_panel_product *p, size_t row,
                   size_t column, vec sum)
{
	float *c = p->c + row * p->stride;

	if (p->add) {
		const vec before = get(p, p->from ? p->from + row * p->from_stride : c, column);

		sum = kind == BYTES ? (vec)((ints)before + (ints)sum) : before + sum;
	}
	if (kind == BYTES && p->column_scale)
		sum = to_floats((ints)sum) * get(p, p->column_scale, column) *
		      splat(p->row_scale[row]);
	if (p->bias)
		sum = sum + get(p, p->bias, column);
	if (kind != FLOATS && p->half && p->half_add)
		sum = sum + load_upper(p->half + row * p->half_stride + column);
	if (p->relu)
		sum = keep(~(sum < 0.0f), sum); /* NaN stays */
	if (p->mask) {
		sum = keep(get(p, p->mask + row * p->mask_stride, column) > 0.0f, sum);
		put(p, p->sums, column, get(p, p->sums, column) + sum);
	}
	if (kind != FLOATS && p->half)
		store_upper(p->half + row * p->half_stride + column, sum);
	else
		put(p, c, column, sum);
}

INLINE vec add_product(const enum cell kind, const float *a, vec x, vec sum)
{
	return kind == BYTES   ? dot_bytes(a, x, sum)
	       : kind == PAIRS ? dot_pairs(a, x, sum)
	                       : madd(splat(*a), x, sum);
}

/* Constant numbers of panels, and of rows from `row` on: of a strip, or two in sequence. */
INLINE void multiply_strips(const enum cell kind, const size_t panels, const size_t rows,
                            const inv_panel_product *p, size_t row)
{
	const float *a = p->strips + row * p->k, *b = p->panel;
	const size_t step = p->k * R, wide = panels * ACROSS;
	vec sum[MAX_ROWS][PANELS * ACROSS];

#pragma GCC unroll 12
	for (size_t i = 0; i < rows; i++) {
#pragma GCC unroll 4
		for (size_t v = 0; v < wide; v++)
			sum[i][v] = (vec){0};
		if (kind != FLOATS && p->half)
			__builtin_prefetch(p->half + (row + i) * p->half_stride);
		else
			__builtin_prefetch(p->c + (row + i) * p->stride);
		if (p->from)
			__builtin_prefetch(p->from + (row + i) * p->from_stride);
		if (p->mask)
			__builtin_prefetch(p->mask + (row + i) * p->mask_stride);
	}
#pragma GCC unroll UNROLL
	for (size_t l = 0; l < p->k; l++, a += R, b += C) {
		vec x[PANELS * ACROSS];

		__builtin_prefetch(a + AHEAD);
		__builtin_prefetch(b + panels * p->k * C, 0, 2);
#pragma GCC unroll 4
		for (size_t v = 0; v < wide; v++)
			x[v] = load(b + v / ACROSS * p->k * C + v % ACROSS * LANES);
#pragma GCC unroll 12
		for (size_t i = 0; i < rows; i++)
#pragma GCC unroll 4
			for (size_t v = 0; v < wide; v++)
				sum[i][v] = add_product(kind, a + i / R * step + i % R, x[v], sum[i][v]);
	}
#pragma GCC unroll 12
	for (size_t i = 0; i < rows; i++)
#pragma GCC unroll 4
		for (size_t v = 0; v < wide; v++)
			finish(kind, p, row + i, v * LANES, sum[i][v]);
}

/* The columns from j on. */
INLINE inv_panel_product columns_from(const inv_panel_product *p, size_t j)
{
	inv_panel_product rest = *p;

	rest.panel += j * p->k;
	rest.columns -= j;
	rest.c += j;
	rest.bias = p->bias ? p->bias + j : NULL;
	rest.from = p->from ? p->from + j : NULL;
	rest.mask = p->mask ? p->mask + j : NULL;
	rest.sums = p->sums ? p->sums + j : NULL;
	rest.half = p->half ? p->half + j : NULL;
	rest.column_scale = p->column_scale ? p->column_scale + j : NULL;
	return rest;
}

/* A constant number of panels. */
INLINE void multiply_panels(const enum cell kind, const size_t panels,
                            const inv_panel_product *p)
{
	size_t i = 0;

	for (; i + MAX_ROWS <= p->rows; i += MAX_ROWS)
		multiply_strips(kind, panels, MAX_ROWS, p, i);
	for (; MAX_ROWS > R && i + R <= p->rows; i += R)
		multiply_strips(kind, panels, R, p, i);
	switch (p->rows - i) {
	case 1:
		multiply_strips(kind, panels, 1, p, i);
		break;
	case 2:
		multiply_strips(kind, panels, 2, p, i);
		break;
	case 3:
		multiply_strips(kind, panels, 3, p, i);
		break;
	case 4:
		multiply_strips(kind, panels, 4, p, i);
		break;
	case 5:
		multiply_strips(kind, panels, 5, p, i);
		break;
	default:
		break;
	}
}

/* One row times SIDE panels: of one panel, each multiply-add would wait for the last. */
INLINE void multiply_row(const enum cell kind, const inv_panel_product *p)
{
	vec sum[SIDE];

#pragma GCC unroll 16
	for (size_t i = 0; i < SIDE; i++)
		sum[i] = (vec){0};
	for (size_t l = 0; l < p->k; l++)
#pragma GCC unroll 16
		for (size_t i = 0; i < SIDE; i++)
			sum[i] = add_product(
				kind, p->row + l,
				load(p->panel + (i / ACROSS * p->k + l) * C + i % ACROSS * LANES), sum[i]);
#pragma GCC unroll 16
	for (size_t i = 0; i < SIDE; i++)
		finish(kind, p, 0, i * LANES, sum[i]);
}

INLINE void multiply(const enum cell kind, const inv_panel_product *p)
{
	for (size_t j = 0, panels; j < p->columns; j += panels * C) {
		const inv_panel_product rest = columns_from(p, j); /* which no store changes */

		if (p->row && rest.columns >= INV_SIDE_PANELS * C) {
			panels = INV_SIDE_PANELS;
			multiply_row(kind, &rest);
		} else if (PANELS > 1 && rest.columns >= (size_t)PANELS * C) {
			panels = PANELS;
			multiply_panels(kind, PANELS, &rest);
		} else {
			panels = 1;
			multiply_panels(kind, 1, &rest);
		}
	}
}

static void panel_product(const inv_panel_product *p)
{
	multiply(FLOATS, p);
}

static void pair_panel_product(const inv_panel_product *p)
{
	const __typeof__(flush_small()) mode = flush_small();

	multiply(PAIRS, p);
	restore_small(mode);
}

static void byte_panel_product(const inv_panel_product *p)
{
	multiply(BYTES, p);
}

/* Without their signs, the bits compare like the numbers. */
static uint16_t largest_half(const uint16_t *x, size_t count)
{
	enum { WIDE = 2 * LANES };
	short_lanes most = {0};
	int16_t found = 0;
	size_t i = 0;

	for (; i + WIDE <= count; i += WIDE) {
		const short_lanes now = (short_lanes)load_ints(x + i) & 0x7fff, more = now > most;

		most = (now & more) | (most & ~more);
	}
	for (size_t j = 0; j < WIDE; j++)
		found = most[j] > found ? most[j] : found;
	for (; i < count; i++)
		found = (x[i] & 0x7fff) > found ? (int16_t)(x[i] & 0x7fff) : found;
	return (uint16_t)found;
}

static void halves_to_bytes(const uint16_t *x, size_t count, float scale, uint8_t *out)
{
	for (size_t i = 0; i < count; i += 16) {
		vec v[16 / LANES];

#pragma GCC unroll 4
		for (size_t j = 0; j < 16 / LANES; j++)
			v[j] = min(max(load_upper(x + i + j * LANES) * splat(scale), splat(0)),
			           splat(255));
		store_bytes(out + i, v);
	}
}

/* 16-bit products are twice as many per instruction as those of floats. */
static void dot_tile(const int16_t *a, const int16_t *b, size_t count, int32_t *sums)
{
	enum { TILE_ROWS = INV_DOT_ROWS, TILE_COLS = INV_DOT_COLS, WIDE = TILE_COLS / LANES };
	ints sum[TILE_ROWS][WIDE];

#pragma GCC unroll 6
	for (size_t i = 0; i < TILE_ROWS; i++)
#pragma GCC unroll 4
		for (size_t v = 0; v < WIDE; v++)
			sum[i][v] = load_ints(sums + i * TILE_COLS + v * LANES);
#pragma GCC unroll 2
	for (size_t k = 0; k < count; k++, a += 2 * TILE_ROWS, b += 2 * TILE_COLS) {
		short_pairs x[WIDE];

#pragma GCC unroll 2
		for (size_t v = 0; v < WIDE; v += PAIR_VECTORS)
			x[v] = load_pairs(b + 2 * v * LANES);
#pragma GCC unroll 6
		for (size_t i = 0; i < TILE_ROWS; i++)
#pragma GCC unroll 2
			for (size_t v = 0; v < WIDE; v += PAIR_VECTORS)
				add_products(&sum[i][v], x[v], a + 2 * i);
	}
#pragma GCC unroll 6
	for (size_t i = 0; i < TILE_ROWS; i++)
#pragma GCC unroll 4
		for (size_t v = 0; v < WIDE; v++)
			store_ints(sums + i * TILE_COLS + v * LANES, sum[i][v]);
}

void INV_OF_SET(inv_kernels_products)(struct inv_kernels *k)
{
	k->panel_product = panel_product;
	k->pair_panel_product = pair_panel_product;
	k->byte_panel_product = byte_panel_product;
	k->largest_half = largest_half;
	k->halves_to_bytes = halves_to_bytes;
	k->dot_tile = dot_tile;
}
