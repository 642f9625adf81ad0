/* kernels_ref.c - the loops over pixels in plain C. */
#include <math.h>

#include "base/context.h"
#include "images/augment/kernels.h"

static float mix(float a, float b, float share)
{
	return fmaf(share, b - a, a);
}

float inv_mix_four(float a, float b, float c, float d, float fx, float fy)
{
	return mix(mix(a, b, fx), mix(c, d, fx), fy);
}

/* Positions are double: in float, a pixel 200 from the corner would be off by 1e-5. */
static void warp_span_ref(const inv_view *view, size_t v, size_t from, size_t to)
{
	const inv_source *at = &view->at;
	double row_x = fma(at->xy, (double)v, at->x0), row_y = fma(at->yy, (double)v, at->y0);
	size_t plane = view->h * view->w, out_plane = view->out_h * view->out_w;

	for (size_t u = from; u < to; u++) {
		double x = fma(at->xx, (double)u, row_x), y = fma(at->yx, (double)u, row_y);
		float fx = (float)(x - floor(x)), fy = (float)(y - floor(y));
		const float *p = view->in + (size_t)y * view->w + (size_t)x;
		float *out = view->out + v * view->out_w + u;

		for (size_t c = 0; c < view->planes; c++, p += plane, out += out_plane)
			*out = inv_mix_four(p[0], p[1], p[view->w], p[view->w + 1], fx, fy);
	}
}

static void stretch_row_ref(const float *row, const int32_t *at, const float *share,
                            size_t count, float *out)
{
	for (size_t i = 0; i < count; i++)
		out[i] = mix(row[at[i]], row[at[i] + 1], share[i]);
}

static void mix_rows_ref(const float *a, const float *b, float share, size_t count,
                         float *out)
{
	for (size_t i = 0; i < count; i++)
		out[i] = mix(a[i], b[i], share);
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

void inv_image_kernels_ref(struct inv_image_kernels *k)
{
	*k = (struct inv_image_kernels){
		.warp_span = warp_span_ref,
		.stretch_row = stretch_row_ref,
		.mix_rows = mix_rows_ref,
		.add_scaled = add_scaled_ref,
		.add_field = add_field_ref,
		.scale = scale_ref,
	};
}

void inv_image_kernels_init(struct inv_image_kernels *k, unsigned cpu)
{
	inv_image_kernels_ref(k);
#if defined(__x86_64__)
	if (cpu & INV_CPU_AVX2)
		inv_image_kernels_avx2(k);
#else
	(void)cpu;
#endif
}
