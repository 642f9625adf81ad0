/* SPDX-License-Identifier: Apache-2.0 */
/* packing_lanes.c - strips and panels, as products_lanes.c reads them. */
#include "math/bfloat16.h"
#include "math/kernels.h"
#include "math/lanes.h"

enum { R = INV_STRIP_ROWS, C = INV_PANEL_COLS, EIGHT = 8, TURN = 8, LINE = 16 };

/*
 * Rows of six are stored as eight, whose last two the next row overwrites. With `pairs`, a
 * constant, two floats of a row become one pair.
 */
INLINE void pack_rows(const bool pairs, const float *const row[R], size_t ahead, size_t k,
                      float *out)
{
	const size_t each = pairs ? 2 : 1, count = k / each;
	size_t l = 0;

	for (; l + LANES <= count; l += LANES) {
		vec r[EIGHT];

		if (each * l % LINE == 0)
			for (int i = 0; i < R; i++)
				__builtin_prefetch(row[i] + ahead + each * l, 0, 2);
#pragma GCC unroll 8
		for (size_t i = 0; i < EIGHT; i++) {
			const float *x = row[i < R ? i : 0] + each * l;

			r[i] = pairs ? round_pairs(x) : load(x);
		}
#pragma GCC unroll 2
		for (size_t i = 0; i < EIGHT; i += LANES)
			transpose_block(r + i);
#pragma GCC unroll 8
		for (size_t i = 0; i < EIGHT; i++)
			store(out + (l + i / PARTS) * R + i % PARTS * LANES,
			      r[i / PARTS + i % PARTS * LANES]);
	}
	for (; l * each < k; l++)
		for (size_t i = 0; i < R; i++) {
			const float *x = row[i] + l * each;

			if (pairs)
				inv_store_pair(x[0], l * each + 1 < k ? x[1] : 0, out + l * R + i);
			else
				out[l * R + i] = *x;
		}
}

/* Missing rows of the last strip are copies of its first. */
INLINE void pack_all(const bool pairs, const float *a, size_t stride, size_t rows, size_t k,
                     float *strips)
{
	const size_t length = pairs ? (k + 1) / 2 : k;

	for (size_t i = 0; i < rows; i += R) {
		const float *row[R];

		for (size_t j = 0; j < R; j++)
			row[j] = a + (i + j < rows ? i + j : i) * stride;
		pack_rows(pairs, row, R * stride, k, strips + i * length);
	}
}

static void pack_strips(const float *a, size_t stride, size_t rows, size_t k, float *strips)
{
	pack_all(false, a, stride, rows, k, strips);
}

static void pack_pair_strips(const float *a, size_t stride, size_t rows, size_t k,
                             float *strips)
{
	pack_all(true, a, stride, rows, k, strips);
}

static void pack_strip(const float *const row[R], size_t k, float *strip)
{
	pack_rows(false, row, LINE, k, strip);
}

static void to_pairs(const float *x, size_t count, float *pairs)
{
	size_t i = 0;

	for (; i + 2 * LANES <= count; i += 2 * LANES)
		store(pairs + i / 2, round_pairs(x + i));
	for (; i < count; i += 2)
		inv_store_pair(x[i], i + 1 < count ? x[i + 1] : 0, pairs + i / 2);
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

/* Pairs of two rows of x; an odd last row is paired with zeros. */
static void fill_pair_panels(const float *x, size_t stride, size_t k, size_t columns,
                             float *panels, size_t step)
{
	for (size_t l = 0; l < k; l += 2) {
		const bool both = l + 1 < k;

		if (l % TURN == 0)
			prefetch_rows(x + (l + TURN) * stride, stride, TURN, columns);
		for (size_t j = 0; j < columns; j += LANES) {
			const float *at = x + l * stride + j;
			const bool whole = columns - j >= LANES && both;
			const ints on = lanes_before(columns, j);
			const vec first = whole ? load(at) : load_where(on, at);
			const vec second = whole  ? load(at + stride)
			                   : both ? load_where(on, at + stride)
			                          : (vec){0};

			store(panels + j / C * step + l / 2 * C + j % C,
			      (vec)(round_to_halves(first) >> 16 |
			            (round_to_halves(second) & 0xffff0000u)));
		}
	}
	for (size_t j = (columns + LANES - 1) / LANES * LANES; j % C; j += LANES)
		for (size_t l = 0; l < k; l += 2)
			store(panels + j / C * step + l / 2 * C + j % C, (vec){0});
}

void INV_OF_SET(inv_kernels_packing)(struct inv_kernels *k)
{
	k->pack_strip = pack_strip;
	k->pack_strips = pack_strips;
	k->pack_strips_turned = pack_strips_turned;
	k->fill_panels = fill_panels;
	k->to_pairs = to_pairs;
	k->pack_pair_strips = pack_pair_strips;
	k->fill_pair_panels = fill_pair_panels;
}
