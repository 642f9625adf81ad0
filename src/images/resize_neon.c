/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resize_neon.c - the two passes over bytes for NEON, with the bytes of the plain loops.
 *
 * Products are of 32-bit numbers, as there: widening multiply-adds of a weight's 16-bit
 * halves would be as many instructions.
 */
#include <arm_neon.h>

#include "images/resize_kernels.h"

enum { COLUMNS = 16, LANES = 4 };

/* Rounded and clamped to bytes, as 16-bit numbers. */
static inline uint16x4_t levels(int32x4_t sum)
{
	return vqmovun_s32(vrshrq_n_s32(sum, INV_WEIGHT_BITS));
}

/* ---- Rows of RGB ---------------------------------------------------------------- */

/* The colours of a pixel as three lanes; the fourth is ignored. */
static inline int32x4_t colours(const uint8_t *p)
{
	const int32_t rgb[LANES] = {p[0], p[1], p[2], 0};

	return vld1q_s32(rgb);
}

static inline void rgb_pixel(const inv_fixed_taps *t, size_t i, const uint8_t *in,
                             uint8_t *out)
{
	const uint8_t *p = in + 3 * (size_t)t->first[i];
	const int32_t *weight = t->weight + i * t->stride;
	int32x4_t sum = vdupq_n_s32(0);
	uint8x8_t level;

	for (int32_t j = 0; j < t->count[i]; j++)
		sum = vmlaq_n_s32(sum, colours(p + 3 * j), weight[j]);
	level = vqmovn_u16(vcombine_u16(levels(sum), vdup_n_u16(0)));
	out[0] = vget_lane_u8(level, 0);
	out[1] = vget_lane_u8(level, 1);
	out[2] = vget_lane_u8(level, 2);
}

static void row_neon(const inv_fixed_taps *t, const uint8_t *in, size_t channels,
                     uint8_t *out)
{
	struct inv_resize_kernels plain;

	if (channels == 3) {
		for (size_t i = 0; i < t->out; i++)
			rgb_pixel(t, i, in, out + 3 * i);
		return;
	}
	inv_resize_kernels_ref(&plain);
	plain.row(t, in, channels, out);
}

/* ---- Columns ---------------------------------------------------------------------- */

/* Four bytes of a row, from 16 as 16-bit halves. */
static inline void add_row(int32x4_t sum[4], uint8x16_t row, int32_t weight)
{
	uint16x8_t low = vmovl_u8(vget_low_u8(row)), high = vmovl_high_u8(row);

	sum[0] =
		vmlaq_n_s32(sum[0], vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(low))), weight);
	sum[1] = vmlaq_n_s32(sum[1], vreinterpretq_s32_u32(vmovl_high_u16(low)), weight);
	sum[2] =
		vmlaq_n_s32(sum[2], vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(high))), weight);
	sum[3] = vmlaq_n_s32(sum[3], vreinterpretq_s32_u32(vmovl_high_u16(high)), weight);
}

static inline void sixteen_columns(const inv_fixed_taps *t, size_t i, const uint8_t *p,
                                   size_t bytes, uint8_t *out)
{
	const int32_t *weight = t->weight + i * t->stride;
	int32x4_t sum[4];
	uint16x8_t low, high;

	for (int v = 0; v < 4; v++)
		sum[v] = vdupq_n_s32(0);
	for (int32_t j = 0; j < t->count[i]; j++)
		add_row(sum, vld1q_u8(p + (size_t)j * bytes), weight[j]);
	low = vcombine_u16(levels(sum[0]), levels(sum[1]));
	high = vcombine_u16(levels(sum[2]), levels(sum[3]));
	vst1q_u8(out, vcombine_u8(vqmovn_u16(low), vqmovn_u16(high)));
}

/* The last 16 columns end with the row and may overlap those already computed. */
static void column_neon(const inv_fixed_taps *t, size_t i, const uint8_t *in, size_t bytes,
                        uint8_t *out)
{
	const uint8_t *p = in + (size_t)t->first[i] * bytes;
	struct inv_resize_kernels plain;
	size_t b = 0;

	if (bytes < COLUMNS) {
		inv_resize_kernels_ref(&plain);
		plain.column(t, i, in, bytes, out);
		return;
	}
	for (; b + COLUMNS <= bytes; b += COLUMNS)
		sixteen_columns(t, i, p + b, bytes, out + b);
	if (b < bytes)
		sixteen_columns(t, i, p + bytes - COLUMNS, bytes, out + bytes - COLUMNS);
}

void inv_resize_kernels_neon(struct inv_resize_kernels *k)
{
	k->row = row_neon;
	k->column = column_neon;
}
