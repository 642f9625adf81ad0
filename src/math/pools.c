/* SPDX-License-Identifier: Apache-2.0 */
/* pools.c - pooling, see conv.h: the largest number of each window, the mean of each map.
 */
#include <math.h>

#include "base/threads.h"
#include "math/bfloat16.h"
#include "math/conv.h"

typedef struct pool_run {
	inv_precision precision;
	inv_maps from;
	inv_window window;
	size_t rows, cols, channels;
	const void *x;
	void *to;
} pool_run;

static void keep_larger(const float *x, size_t count, float *to)
{
	for (size_t i = 0; i < count; i++)
		to[i] = x[i] > to[i] ? x[i] : to[i];
}

/* Bits of bfloat16 that compare like the numbers, and back. */
static inline int16_t ordered(uint16_t half)
{
	return (int16_t)(half ^ (uint16_t)(half & 0x8000 ? 0x7fff : 0));
}

static void keep_larger_halves(const uint16_t *x, size_t count, uint16_t *to)
{
	for (size_t i = 0; i < count; i++) {
		int16_t a = ordered(x[i]), b = ordered(to[i]);

		to[i] = (uint16_t)ordered((uint16_t)(a > b ? a : b));
	}
}

static void pool_row(void *user, size_t index, unsigned thread)
{
	const pool_run *r = user;
	const inv_window w = r->window;
	const bool floats = r->precision == INV_FLOAT32;
	size_t image = index / r->rows, row = index % r->rows;

	(void)thread;
	for (size_t col = 0; col < r->cols; col++) {
		size_t to = (index * r->cols + col) * r->channels;

		for (size_t c = to; c < to + r->channels; c++)
			if (floats)
				((float *)r->to)[c] = -INFINITY;
			else
				((uint16_t *)r->to)[c] = 0xff80;
		for (size_t tap = 0; tap < w.kernel * w.kernel; tap++) {
			size_t y = row * w.stride + tap / w.kernel - w.padding; /* wraps around */
			size_t x = col * w.stride + tap % w.kernel - w.padding;
			size_t at = ((image * r->from.height + y) * r->from.width + x) * r->channels;

			if (y >= r->from.height || x >= r->from.width)
				continue;
			if (floats)
				keep_larger((const float *)r->x + at, r->channels, (float *)r->to + to);
			else
				keep_larger_halves((const uint16_t *)r->x + at, r->channels,
				                   (uint16_t *)r->to + to);
		}
	}
}

void inv_max_pool(const invar_context *ctx, inv_precision precision, inv_maps from,
                  inv_window w, const void *x, void *to)
{
	pool_run r = {.precision = precision,
	              .from = from,
	              .window = w,
	              .rows = inv_window_places(w, from.height),
	              .cols = inv_window_places(w, from.width),
	              .channels = inv_map_channels(from.channels),
	              .x = x,
	              .to = to};

	if (ctx)
		inv_parallel(ctx, from.images * r.rows, pool_row, &r);
	else
		for (size_t i = 0; i < from.images * r.rows; i++)
			pool_row(&r, i, 0);
}

void inv_mean_pool(inv_precision precision, inv_maps from, const void *x, float *to)
{
	size_t pixels = from.height * from.width, channels = inv_map_channels(from.channels);
	const float *floats = x;
	const uint16_t *halves = x;

	for (size_t n = 0; n < from.images; n++)
		for (size_t first = 0; first < from.channels; first += INV_MAP_BLOCK) {
			double sum[INV_MAP_BLOCK] = {0};

			for (size_t i = n * pixels; i < (n + 1) * pixels; i++)
				for (size_t c = 0; c < INV_MAP_BLOCK; c++) {
					size_t at = i * channels + first + c;

					sum[c] +=
						(double)(precision == INV_FLOAT32 ? floats[at]
					                                      : inv_from_bfloat16(halves[at]));
				}
			for (size_t c = 0; c < INV_MAP_BLOCK && first + c < from.channels; c++)
				*to++ = (float)(sum[c] / (double)pixels);
		}
}
