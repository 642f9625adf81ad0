/* SPDX-License-Identifier: Apache-2.0 */
/* packing_lanes.c - strips and panels, as products_lanes.c reads them. */
#include "math/kernels.h"
#include "math/lanes.h"

enum { R = INV_STRIP_ROWS, C = INV_PANEL_COLS, EIGHT = 8, TURN = 8, LINE = 16 };

/* Rows of six are stored as eight, whose last two the next row overwrites. */
static void pack_strip(const float *const row[R], size_t ahead, size_t k, float *out)
{
	size_t l = 0;

	for (; l + LANES <= k; l += LANES) {
		vec r[EIGHT];

		if (l % LINE == 0)
			for (int i = 0; i < R; i++)
				__builtin_prefetch(row[i] + ahead + l, 0, 2);
#pragma GCC unroll 8
		for (size_t i = 0; i < EIGHT; i++)
			r[i] = load(row[i < R ? i : 0] + l);
#pragma GCC unroll 2
		for (size_t i = 0; i < EIGHT; i += LANES)
			transpose_block(r + i);
#pragma GCC unroll 8
		for (size_t i = 0; i < EIGHT; i++)
			store(out + (l + i / PARTS) * R + i % PARTS * LANES,
			      r[i / PARTS + i % PARTS * LANES]);
	}
	for (; l < k; l++)
		for (size_t i = 0; i < R; i++)
			out[l * R + i] = row[i][l];
}

/* Missing rows of the last strip are copies of its first. */
static void pack_strips(const float *a, size_t stride, size_t rows, size_t k, float *strips)
{
	for (size_t i = 0; i < rows; i += R) {
		const float *row[R];

		for (size_t j = 0; j < R; j++)
			row[j] = a + (i + j < rows ? i + j : i) * stride;
		pack_strip(row, R * stride, k, strips + i * k);
	}
}

/* The hardware does not foresee that rows far apart are read one after the other. */
static inline void prefetch_rows(const float *x, size_t stride, size_t rows, size_t columns)
{
	for (size_t j = 0; j < columns; j += LINE)
		for (size_t i = 0; i < rows; i++)
			__builtin_prefetch(x + i * stride + j, 0, 2);
}

/* `wide` columns of k rows of x, zeros past `columns`, to rows of out that are `step`
 * apart. */
INLINE void copy_columns(const float *x, size_t stride, size_t columns, size_t k,
                         const size_t wide, float *out, size_t step)
{
	ints on[C / LANES];

#pragma GCC unroll 4
	for (size_t v = 0; v < wide; v += LANES)
		on[v / LANES] = lanes_before(columns, v);
	for (size_t l = 0; l < k; l++)
#pragma GCC unroll 4
		for (size_t v = 0; v < wide; v += LANES)
			store(out + l * step + v, columns >= wide
			                              ? load(x + l * stride + v)
			                              : load_where(on[v / LANES], x + l * stride + v));
}

/*
 * A few rows of a at a time, each from its beginning to its end. Sixes are stored as eights
 * here too, but for the last row, which may be followed by another strip.
 */
static void pack_strips_turned(const float *a, size_t stride, size_t rows, size_t k,
                               float *strips)
{
	for (size_t l = 0; l < k; l += TURN) {
		size_t now = k - l < TURN ? k - l : TURN;
		bool end = l + now == k;

		prefetch_rows(a + (l + TURN) * stride, stride, now, rows);
		for (size_t i = 0; i < rows; i += R) {
			float six[EIGHT];

			copy_columns(a + l * stride + i, stride, rows - i, now - end, EIGHT,
			             strips + i * k + l * R, R);
			if (!end)
				continue;
			copy_columns(a + (k - 1) * stride + i, stride, rows - i, 1, EIGHT, six, R);
			memcpy(strips + i * k + (k - 1) * R, six, R * sizeof *six);
		}
	}
}

static void fill_panels(const float *x, size_t stride, size_t k, size_t columns,
                        float *panels, size_t step)
{
	for (size_t l = 0; l < k; l += TURN) {
		size_t now = k - l < TURN ? k - l : TURN;

		prefetch_rows(x + (l + TURN) * stride, stride, now, columns);
		for (size_t j = 0; j < columns; j += C)
			copy_columns(x + l * stride + j, stride, columns - j, now, C,
			             panels + j / C * step + l * C, C);
	}
}

void INV_OF_SET(inv_kernels_packing)(struct inv_kernels *k)
{
	k->pack_strips = pack_strips;
	k->pack_strips_turned = pack_strips_turned;
	k->fill_panels = fill_panels;
}
