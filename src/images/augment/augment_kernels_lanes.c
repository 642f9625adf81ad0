/* SPDX-License-Identifier: Apache-2.0 */
/*
 * augment_kernels_lanes.c - the loops over pixels over lanes, see math/lanes.h.
 *
 * The two neighbours of a pixel in a row lie side by side, so a pixel costs two
 * loads of 64 bits per plane instead of four elements of a gather. Positions are
 * computed once for all planes. Blocks begin at multiples of 8, so that a pixel's
 * position does not depend on where its span begins; of a block that reaches beyond
 * its span, only the pixels inside are stored.
 */
#include <math.h>

#include "images/augment/augment_kernels.h"
#include "math/lanes.h"

enum { BLOCK = INV_WARP_BLOCK, ROWS_AHEAD = 8 };

INLINE vec mix(vec a, vec b, vec share)
{
	return madd(share, b - a, a);
}

/* Left and right neighbours of LANES positions, mixed. */
INLINE vec mix_pairs(const float *p, const int32_t at[LANES], vec share)
{
	vec left, right;

	load_twos(p, 1, at, &left, &right);
	return mix(left, right, share);
}

/* ---- Warps ------------------------------------------------------------------- */

/* Positions of the 8 pixels of a block: offsets of the left upper neighbours, and weights.
 */
typedef struct spots {
	vec fx[PARTS], fy[PARTS];
	int32_t at[BLOCK];
} spots;

INLINE ints find_axis(double step, double start, vec lanes, vec *share)
{
	double whole = floor(start);
	vec at = madd(splat((float)step), lanes, splat((float)(start - whole)));
	vec steps = floor_of(at);

	*share = at - steps;
	return to_ints(steps) + (int32_t)whole;
}

/* Lanes outside [low, high) repeat one inside, so that they read valid memory. */
INLINE void find_spots(const inv_view *view, double x, double y, int low, int high,
                       spots *s)
{
#pragma GCC unroll 2
	for (int v = 0; v < PARTS; v++) {
		vec lanes = to_floats(lane_numbers() + v * LANES), last = splat((float)(high - 1));
		vec held = min(max(lanes, splat((float)low)), last);
		ints px = find_axis(view->at.xx, x, held, &s->fx[v]);
		ints py = find_axis(view->at.yx, y, held, &s->fy[v]),
			 at = py * (int32_t)view->w + px;

		store_ints(s->at + v * LANES, at);
	}
}

/* What the same pixels of a later row will read lies at a constant distance. */
INLINE void prefetch_row(const float *p, const spots *s, ptrdiff_t distance)
{
	for (int i = 0; i < BLOCK; i += 2)
		__builtin_prefetch(p + s->at[i] + distance);
}

INLINE void warp_block(const inv_view *view, const spots *s, int low, int high,
                       ptrdiff_t distance, float *out)
{
	const bool whole = low == 0 && high == BLOCK;
	const float *p = view->in;

	for (size_t c = 0; c < view->planes; c++) {
		if (whole)
			prefetch_row(p, s, distance);
#pragma GCC unroll 2
		for (int v = 0; v < PARTS; v++) {
			const int32_t *at = s->at + v * LANES;
			const ints lane = lane_numbers() + v * LANES;
			vec above = mix_pairs(p, at, s->fx[v]);
			vec below = mix_pairs(p + view->w, at, s->fx[v]);

			if (whole)
				store(out + v * LANES, mix(above, below, s->fy[v]));
			else
				store_where((lane >= low) & (lane < high), out + v * LANES,
				            mix(above, below, s->fy[v]));
		}
		p += view->h * view->w;
		out += view->out_h * view->out_w;
	}
}

static void warp_span(const inv_view *view, size_t v, size_t from, size_t to)
{
	double row_x = fma(view->at.xy, (double)v, view->at.x0);
	double row_y = fma(view->at.yy, (double)v, view->at.y0);
	float *row = view->out + v * view->out_w;
	ptrdiff_t distance = (ptrdiff_t)(ROWS_AHEAD * view->at.xy) +
	                     (ptrdiff_t)(ROWS_AHEAD * view->at.yy) * (ptrdiff_t)view->w;

	for (size_t u = from / BLOCK * BLOCK; u < to; u += BLOCK) {
		int low = u < from ? (int)(from - u) : 0;
		int high = to - u < BLOCK ? (int)(to - u) : BLOCK;
		spots s;

		find_spots(view, fma(view->at.xx, (double)u, row_x),
		           fma(view->at.yx, (double)u, row_y), low, high, &s);
		warp_block(view, &s, low, high, distance, row + u);
	}
}

/* ---- Rows -------------------------------------------------------------------- */

static void stretch_row(const float *row, const int32_t *at, const float *share,
                        size_t count, float *out)
{
	size_t i = 0;

	for (; i + LANES <= count; i += LANES)
		store(out + i, mix_pairs(row, at + i, load(share + i)));
	for (; i < count; i++)
		out[i] = fmaf(share[i], row[at[i] + 1] - row[at[i]], row[at[i]]);
}

static void mix_rows(const float *a, const float *b, float share, size_t count, float *out)
{
	size_t i = 0;

	for (; i + LANES <= count; i += LANES)
		store(out + i, mix(load(a + i), load(b + i), splat(share)));
	for (; i < count; i++)
		out[i] = fmaf(share, b[i] - a[i], a[i]);
}

static void add_scaled(const float *x, float scale, size_t count, float *y)
{
	size_t i = 0;

	for (; i + LANES <= count; i += LANES)
		store(y + i, madd(splat(scale), load(x + i), load(y + i)));
	for (; i < count; i++)
		y[i] = fmaf(scale, x[i], y[i]);
}

static void add_field(const float *x, float mean, float std, size_t count, float *out)
{
	size_t i = 0;

	for (; i + LANES <= count; i += LANES)
		store(out + i, load(x + i) + madd(splat(std), load(out + i), splat(mean)));
	for (; i < count; i++)
		out[i] = x[i] + fmaf(std, out[i], mean);
}

static void scale_pixels_row(const float *x, float scale, float offset, float low,
                             float high, size_t count, float *out)
{
	size_t i = 0;

	for (; i + LANES <= count; i += LANES) {
		vec y = madd(load(x + i), splat(scale), splat(offset));

		/* In this order NaN stays NaN, as in the plain loop. */
		store(out + i, min(splat(high), max(splat(low), y)));
	}
	for (; i < count; i++) {
		float y = fmaf(x[i], scale, offset);

		out[i] = y < low ? low : y > high ? high : y;
	}
}

void INV_OF_SET(inv_augment_kernels)(struct inv_augment_kernels *k)
{
	k->warp_span = warp_span;
	k->stretch_row = stretch_row;
	k->mix_rows = mix_rows;
	k->add_scaled = add_scaled;
	k->add_field = add_field;
	k->scale = scale_pixels_row;
}
