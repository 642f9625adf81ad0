/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tokens_neon.c - the work on tokens between the products, for NEON.
 *
 * Sums are those of eight and eight numbers side by side, added up as in tokens_avx2.c:
 * the bits are the same.
 */
#include <arm_neon.h>
#include <math.h>
#include <string.h>

#include "math/exp_neon.h"
#include "math/gelu_series.h"
#include "math/kernels.h"

enum { LANES = 4, WIDE = 8 };

/* ---- Layer norm ------------------------------------------------------------------- */

typedef struct eight {
	float32x4_t low, high;
} eight;

static inline eight load(const float *x)
{
	return (eight){vld1q_f32(x), vld1q_f32(x + LANES)};
}

static inline eight add(eight a, eight b)
{
	return (eight){vaddq_f32(a.low, b.low), vaddq_f32(a.high, b.high)};
}

static inline float sum_eight(eight x)
{
	float32x4_t y = vaddq_f32(x.low, x.high);
	float32x2_t z = vadd_f32(vget_low_f32(y), vget_high_f32(y));

	return vget_lane_f32(z, 0) + vget_lane_f32(z, 1);
}

/* The first `left` numbers of eight, `other` in place of the rest. */
static eight load_some(const float *x, size_t left, float other)
{
	float some[WIDE];

	for (size_t j = 0; j < WIDE; j++)
		some[j] = j < left ? x[j] : other;
	return load(some);
}

static float mean_of(const float *x, size_t width)
{
	eight a = {vdupq_n_f32(0), vdupq_n_f32(0)}, b = a;
	size_t j = 0;

	for (; j + 2 * WIDE <= width; j += 2 * WIDE) {
		a = add(a, load(x + j));
		b = add(b, load(x + j + WIDE));
	}
	for (; j < width; j += WIDE)
		a = add(a, load_some(x + j, width - j, 0));
	return sum_eight(add(a, b)) / (float)width;
}

static inline eight add_squares(eight sum, eight x, float mean)
{
	const float32x4_t from = vdupq_n_f32(mean);
	float32x4_t low = vsubq_f32(x.low, from), high = vsubq_f32(x.high, from);

	return (eight){vfmaq_f32(sum.low, low, low), vfmaq_f32(sum.high, high, high)};
}

static float variance_of(const float *x, size_t width, float mean)
{
	eight a = {vdupq_n_f32(0), vdupq_n_f32(0)}, b = a;
	size_t j = 0;

	for (; j + 2 * WIDE <= width; j += 2 * WIDE) {
		a = add_squares(a, load(x + j), mean);
		b = add_squares(b, load(x + j + WIDE), mean);
	}
	for (; j < width; j += WIDE)
		a = add_squares(a, load_some(x + j, width - j, mean), mean);
	return sum_eight(add(a, b)) / (float)width;
}

static void norm_row(const inv_layer_norm *n, float *x, float *y)
{
	float mean = mean_of(x, n->width);
	float by = 1 / sqrtf(variance_of(x, n->width, mean) + n->eps);
	size_t j = 0;

	for (; j + LANES <= n->width; j += LANES) {
		float32x4_t old = vld1q_f32(x + j);
		float32x4_t z = vmulq_n_f32(vsubq_f32(old, vdupq_n_f32(mean)), by);

		vst1q_f32(y + j, vfmaq_f32(vld1q_f32(n->bias + j), z, vld1q_f32(n->weight + j)));
		if (n->then)
			vst1q_f32(x + j, vaddq_f32(old, vld1q_f32(n->then + j)));
	}
	for (; j < n->width; j++) {
		float old = x[j];

		y[j] = fmaf((old - mean) * by, n->weight[j], n->bias[j]);
		if (n->then)
			x[j] = old + n->then[j];
	}
}

static void layer_norm_neon(const inv_layer_norm *n, size_t rows, size_t x_stride,
                            size_t y_stride, float *x, float *y)
{
	for (size_t i = 0; i < rows; i++)
		norm_row(n, x + i * x_stride, y + i * y_stride);
}

static void add_bias_neon(const float *bias, size_t rows, size_t width, size_t stride,
                          float *x)
{
	for (size_t i = 0; i < rows; i++, x += stride) {
		size_t j = 0;

		for (; j + LANES <= width; j += LANES)
			vst1q_f32(x + j, vaddq_f32(vld1q_f32(x + j), vld1q_f32(bias + j)));
		for (; j < width; j++)
			x[j] += bias[j];
	}
}

/* ---- Activations ------------------------------------------------------------------ */

/* t Phi(t), see gelu_series.h. */
static inline float32x4_t gelu_four(float32x4_t t)
{
	const float32x4_t end = vdupq_n_f32((float)INV_GELU_END);
	const float32x4_t start = vdupq_n_f32((float)-INV_GELU_END);
	uint32x4_t low = vcltq_f32(t, start);
	float32x4_t x = vmaxq_f32(start, vminq_f32(end, t)); /* NaN stays one */
	float32x4_t s = vfmaq_n_f32(vdupq_n_f32(-1), vmulq_f32(x, x),
	                            (float)(2 / (INV_GELU_END * INV_GELU_END)));
	float32x4_t y = vdupq_n_f32(inv_gelu_series[INV_GELU_TERMS - 1]);

#pragma GCC unroll 14
	for (int i = INV_GELU_TERMS - 2; i >= 0; i--)
		y = vfmaq_f32(vdupq_n_f32(inv_gelu_series[i]), y, s);
	y = vfmaq_f32(vdupq_n_f32(0.5f), y, x);
	y = vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(y), low));
	return vmulq_f32(t, y);
}

/* t / (1 + exp(-1.702 t)), using only exponentials of numbers <= 0. */
static inline float32x4_t quick_gelu_four(float32x4_t t)
{
	const float32x4_t one = vdupq_n_f32(1);
	const uint32x4_t sign = vdupq_n_u32(1u << 31);
	uint32x4_t z = vreinterpretq_u32_f32(vmulq_n_f32(t, 1.702f));
	float32x4_t e = exp_four(vreinterpretq_f32_u32(vorrq_u32(z, sign)));
	uint32x4_t negative = vtstq_u32(vreinterpretq_u32_f32(t), sign);

	return vmulq_f32(t, vdivq_f32(vbslq_f32(negative, e, one), vaddq_f32(one, e)));
}

typedef float32x4_t activation(float32x4_t t);

static inline __attribute__((always_inline)) void
activate_rows(activation *of, const float *bias, size_t rows, size_t width, float *x)
{
	for (size_t i = 0; i < rows; i++, x += width) {
		float rest[LANES] = {0};
		size_t j = 0;

		for (; j + LANES <= width; j += LANES)
			vst1q_f32(x + j, of(vaddq_f32(vld1q_f32(x + j), vld1q_f32(bias + j))));
		for (size_t l = 0; j + l < width; l++)
			rest[l] = x[j + l] + bias[j + l];
		vst1q_f32(rest, of(vld1q_f32(rest)));
		memcpy(x + j, rest, (width - j) * sizeof *x);
	}
}

static void bias_gelu_neon(const float *bias, size_t rows, size_t width, float *x)
{
	activate_rows(gelu_four, bias, rows, width, x);
}

static void bias_quick_gelu_neon(const float *bias, size_t rows, size_t width, float *x)
{
	activate_rows(quick_gelu_four, bias, rows, width, x);
}

void inv_kernels_tokens_neon(struct inv_kernels *k)
{
	k->layer_norm = layer_norm_neon;
	k->add_bias = add_bias_neon;
	k->bias_gelu = bias_gelu_neon;
	k->bias_quick_gelu = bias_quick_gelu_neon;
}
