/* SPDX-License-Identifier: Apache-2.0 */
/*
 * augment_kernels_neon.c - the loops over pixels for NEON, with the bits of the plain ones.
 *
 * As in augment_kernels_avx2.c, the two neighbours of a pixel cost one load of 64 bits,
 * positions are computed once for all planes, and blocks of eight pixels begin at multiples
 * of 8; here a block is two vectors.
 */
#include <arm_neon.h>
#include <math.h>

#include "images/augment/augment_kernels.h"

enum { LANES = 4, BLOCK = INV_WARP_BLOCK, HALVES = BLOCK / LANES };

static inline float32x4_t mix(float32x4_t a, float32x4_t b, float32x4_t share)
{
	return vfmaq_f32(a, share, vsubq_f32(b, a));
}

/* Left and right neighbours of four positions, mixed. */
static inline float32x4_t mix_pairs(const float *p, const int32_t at[LANES],
                                    float32x4_t share)
{
	float32x4_t even = vcombine_f32(vld1_f32(p + at[0]), vld1_f32(p + at[1]));
	float32x4_t odd = vcombine_f32(vld1_f32(p + at[2]), vld1_f32(p + at[3]));

	return mix(vuzp1q_f32(even, odd), vuzp2q_f32(even, odd), share);
}

/* ---- Warps ------------------------------------------------------------------- */

/* Positions of the 8 pixels of a block: offsets of the left upper neighbours, and weights.
 */
typedef struct spots {
	float32x4_t fx[HALVES], fy[HALVES];
	int32_t at[BLOCK];
} spots;

static inline int32x4_t find_axis(double step, double start, float32x4_t lanes,
                                  float32x4_t *share)
{
	double whole = floor(start);
	float32x4_t rest = vdupq_n_f32((float)(start - whole));
	float32x4_t at = vfmaq_n_f32(rest, lanes, (float)step), steps = vrndmq_f32(at);

	*share = vsubq_f32(at, steps);
	return vaddq_s32(vcvtq_s32_f32(steps), vdupq_n_s32((int32_t)whole));
}

/* Lanes outside [low, high) repeat one inside, so that they read valid memory. */
static inline void find_spots(const inv_view *view, double x, double y, int low, int high,
                              spots *s)
{
	static const int32_t lane[BLOCK] = {0, 1, 2, 3, 4, 5, 6, 7};

	for (int h = 0; h < HALVES; h++) {
		int32x4_t held = vminq_s32(vmaxq_s32(vld1q_s32(lane + h * LANES), vdupq_n_s32(low)),
		                           vdupq_n_s32(high - 1));
		float32x4_t lanes = vcvtq_f32_s32(held);
		int32x4_t px = find_axis(view->at.xx, x, lanes, &s->fx[h]);
		int32x4_t py = find_axis(view->at.yx, y, lanes, &s->fy[h]);

		vst1q_s32(s->at + h * LANES, vmlaq_n_s32(px, py, (int32_t)view->w));
	}
}

static inline float32x4_t warp_half(const float *p, size_t width, const spots *s, int h)
{
	const int32_t *at = s->at + h * LANES;

	return mix(mix_pairs(p, at, s->fx[h]), mix_pairs(p + width, at, s->fx[h]), s->fy[h]);
}

static void warp_whole(const inv_view *view, const spots *s, float *out)
{
	const float *p = view->in;

	for (size_t c = 0; c < view->planes; c++) {
		for (int h = 0; h < HALVES; h++)
			vst1q_f32(out + h * LANES, warp_half(p, view->w, s, h));
		p += view->h * view->w;
		out += view->out_h * view->out_w;
	}
}

static void warp_part(const inv_view *view, const spots *s, int low, int high, float *out)
{
	const float *p = view->in;

	for (size_t c = 0; c < view->planes; c++) {
		float block[BLOCK];

		for (int h = 0; h < HALVES; h++)
			vst1q_f32(block + h * LANES, warp_half(p, view->w, s, h));
		for (int i = low; i < high; i++)
			out[i] = block[i];
		p += view->h * view->w;
		out += view->out_h * view->out_w;
	}
}

static void warp_span_neon(const inv_view *view, size_t v, size_t from, size_t to)
{
	double row_x = fma(view->at.xy, (double)v, view->at.x0);
	double row_y = fma(view->at.yy, (double)v, view->at.y0);
	float *row = view->out + v * view->out_w;

	for (size_t u = from / BLOCK * BLOCK; u < to; u += BLOCK) {
		int low = u < from ? (int)(from - u) : 0;
		int high = to - u < BLOCK ? (int)(to - u) : BLOCK;
		spots s;

		find_spots(view, fma(view->at.xx, (double)u, row_x),
		           fma(view->at.yx, (double)u, row_y), low, high, &s);
		if (low == 0 && high == BLOCK)
			warp_whole(view, &s, row + u);
		else
			warp_part(view, &s, low, high, row + u);
	}
}

/* ---- Rows -------------------------------------------------------------------- */

static void stretch_row_neon(const float *row, const int32_t *at, const float *share,
                             size_t count, float *out)
{
	size_t i = 0;

	for (; i + LANES <= count; i += LANES)
		vst1q_f32(out + i, mix_pairs(row, at + i, vld1q_f32(share + i)));
	for (; i < count; i++)
		out[i] = fmaf(share[i], row[at[i] + 1] - row[at[i]], row[at[i]]);
}

static void mix_rows_neon(const float *a, const float *b, float share, size_t count,
                          float *out)
{
	const float32x4_t shares = vdupq_n_f32(share);
	size_t i = 0;

	for (; i + LANES <= count; i += LANES)
		vst1q_f32(out + i, mix(vld1q_f32(a + i), vld1q_f32(b + i), shares));
	for (; i < count; i++)
		out[i] = fmaf(share, b[i] - a[i], a[i]);
}

static void add_scaled_neon(const float *x, float scale, size_t count, float *y)
{
	size_t i = 0;

	for (; i + LANES <= count; i += LANES)
		vst1q_f32(y + i, vfmaq_n_f32(vld1q_f32(y + i), vld1q_f32(x + i), scale));
	for (; i < count; i++)
		y[i] = fmaf(scale, x[i], y[i]);
}

static void add_field_neon(const float *x, float mean, float std, size_t count, float *out)
{
	const float32x4_t means = vdupq_n_f32(mean);
	size_t i = 0;

	for (; i + LANES <= count; i += LANES) {
		float32x4_t field = vfmaq_n_f32(means, vld1q_f32(out + i), std);

		vst1q_f32(out + i, vaddq_f32(vld1q_f32(x + i), field));
	}
	for (; i < count; i++)
		out[i] = x[i] + fmaf(std, out[i], mean);
}

static void scale_neon(const float *x, float scale, float offset, float low, float high,
                       size_t count, float *out)
{
	const float32x4_t lows = vdupq_n_f32(low), highs = vdupq_n_f32(high);
	const float32x4_t offsets = vdupq_n_f32(offset);
	size_t i = 0;

	for (; i + LANES <= count; i += LANES) {
		float32x4_t y = vfmaq_n_f32(offsets, vld1q_f32(x + i), scale);

		/* By comparisons, as in the plain loop: NaN and the sign of a zero stay. */
		y = vbslq_f32(vcltq_f32(y, lows), lows, y);
		vst1q_f32(out + i, vbslq_f32(vcgtq_f32(y, highs), highs, y));
	}
	for (; i < count; i++) {
		float y = fmaf(x[i], scale, offset);

		out[i] = y < low ? low : y > high ? high : y;
	}
}

void inv_augment_kernels_neon(struct inv_augment_kernels *k)
{
	k->warp_span = warp_span_neon;
	k->stretch_row = stretch_row_neon;
	k->mix_rows = mix_rows_neon;
	k->add_scaled = add_scaled_neon;
	k->add_field = add_field_neon;
	k->scale = scale_neon;
}
