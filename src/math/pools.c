/* SPDX-License-Identifier: Apache-2.0 */
/* pools.c - pooling, see conv.h: the largest number of each window, the mean of each map.
 */
#include <assert.h>

#include "base/threads.h"
#include "math/bfloat16.h"
#include "math/conv.h"

typedef struct pool_run {
	const struct inv_kernels *kernels;
	inv_precision precision;
	inv_maps from;
	inv_window window;
	size_t rows, cols;
	const char *x;
	char *to;
} pool_run;

static void pool_row(void *user, size_t index, unsigned thread)
{
	const pool_run *r = user;
	const inv_window w = r->window;
	const size_t channels = inv_map_channels(r->from.channels);
	const size_t pixel = channels * inv_map_number(r->precision);
	size_t image = index / r->rows, row = index % r->rows;

	(void)thread;
	for (size_t col = 0; col < r->cols; col++) {
		const void *x[INV_MAX_POOL * INV_MAX_POOL];
		size_t count = 0;

		for (size_t tap = 0; tap < w.kernel * w.kernel; tap++) {
			size_t y = row * w.stride + tap / w.kernel - w.padding; /* wraps around */
			size_t at = col * w.stride + tap % w.kernel - w.padding;

			if (y < r->from.height && at < r->from.width)
				x[count++] =
					r->x + ((image * r->from.height + y) * r->from.width + at) * pixel;
		}
		r->kernels->largest_of(r->precision != INV_FLOAT32, x, count, channels,
		                       r->to + (index * r->cols + col) * pixel);
	}
}

void inv_max_pool(const struct inv_kernels *kernels, const invar_context *ctx,
                  inv_precision precision, inv_maps from, inv_window w, const void *x,
                  void *to)
{
	pool_run r = {.kernels = kernels,
	              .precision = precision,
	              .from = from,
	              .window = w,
	              .rows = inv_window_places(w, from.height),
	              .cols = inv_window_places(w, from.width),
	              .x = x,
	              .to = to};

	assert(w.kernel <= INV_MAX_POOL);
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
