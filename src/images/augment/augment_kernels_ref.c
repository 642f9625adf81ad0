/* SPDX-License-Identifier: Apache-2.0 */
/* augment_kernels_ref.c - the loops over pixels in plain C. */
#include <math.h>

#include "base/context.h"
#include "images/augment/augment_kernels.h"

static float mix_pixels_ref(float a, float b, float share)
{
	return fmaf(share, b - a, a);
}

static inv_block_start start_of(double position)
{
	double whole = floor(position);

	return (inv_block_start){(int32_t)whole, (float)(position - whole)};
}

/* The pixel `lane` of a block: its left neighbour, and the weight of the right one. */
static int32_t step_to(inv_block_start s, float step, float lane, float *share)
{
	float at = fmaf(step, lane, s.rest), whole = floorf(at);

	*share = at - whole;
	return s.whole + (int32_t)whole;
}

static void warp_span_ref(const inv_view *view, size_t v, size_t from, size_t to)
{
	const inv_pixel_map *at = &view->at;
	double row_x = fma(at->xy, (double)v, at->x0), row_y = fma(at->yy, (double)v, at->y0);
	size_t plane = view->h * view->w, out_plane = view->out_h * view->out_w;

	for (size_t u = from; u < to; u++) {
		size_t block = u / INV_WARP_BLOCK * INV_WARP_BLOCK;
		inv_block_start x = start_of(fma(at->xx, (double)block, row_x));
		inv_block_start y = start_of(fma(at->yx, (double)block, row_y));
		float lane = (float)(u - block), fx, fy;
		int32_t px = step_to(x, (float)at->xx, lane, &fx);
		int32_t py = step_to(y, (float)at->yx, lane, &fy);
		const float *p = view->in + (ptrdiff_t)py * (ptrdiff_t)view->w + px;
		float *out = view->out + v * view->out_w + u;

		for (size_t c = 0; c < view->planes; c++, p += plane, out += out_plane)
			*out = mix_pixels_ref(mix_pixels_ref(p[0], p[1], fx),
			                      mix_pixels_ref(p[view->w], p[view->w + 1], fx), fy);
	}
}

static void stretch_row_ref(const float *row, const int32_t *at, const float *share,
                            size_t count, float *out)
{
	for (size_t i = 0; i < count; i++)
		out[i] = mix_pixels_ref(row[at[i]], row[at[i] + 1], share[i]);
}

static void mix_rows_ref(const float *a, const float *b, float share, size_t count,
                         float *out)
{
	for (size_t i = 0; i < count; i++)
		out[i] = mix_pixels_ref(a[i], b[i], share);
}

static void add_scaled_ref(const float *x, float scale, size_t count, float *y)
{
	for (size_t i = 0; i < count; i++)
		y[i] = fmaf(scale, x[i], y[i]);
}

static void add_field_ref(const float *x, float mean, float std, size_t count, float *out)
{
	for (size_t i = 0; i < count; i++)
		out[i] = x[i] + fmaf(std, out[i], mean);
}

static void scale_ref(const float *x, float scale, float offset, float low, float high,
                      size_t count, float *out)
{
	for (size_t i = 0; i < count; i++) {
		float y = fmaf(x[i], scale, offset);

		out[i] = y < low ? low : y > high ? high : y;
	}
}

void inv_augment_kernels_ref(struct inv_augment_kernels *k)
{
	*k = (struct inv_augment_kernels){
		.warp_span = warp_span_ref,
		.stretch_row = stretch_row_ref,
		.mix_rows = mix_rows_ref,
		.add_scaled = add_scaled_ref,
		.add_field = add_field_ref,
		.scale = scale_ref,
	};
}

void inv_augment_kernels_init(struct inv_augment_kernels *k, unsigned cpu)
{
	inv_augment_kernels_ref(k);
#if defined(__x86_64__)
	if (cpu & INV_CPU_AVX2)
		inv_augment_kernels_avx2(k);
#elif defined(__aarch64__)
	if (cpu & INV_CPU_NEON)
		inv_augment_kernels_neon(k);
#else
	(void)cpu;
#endif
}
