/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lanes_neon.c - attraction by eight edges, with the bits of lanes_avx2.c. The kernels of
 * lanes.h need no form of their own: the compiler's vectors are NEON's.
 */
#include <arm_neon.h>

#include "math/kernels.h"

enum { HALF = INV_EDGES / 2 };

/* Two points, which lie as pairs (x, y). */
static inline float32x4_t two_points(const float *y, const uint32_t *index)
{
	return vcombine_f32(vld1_f32(y + 2 * (size_t)index[0]),
	                    vld1_f32(y + 2 * (size_t)index[1]));
}

static inline float sum_of(const float32x4_t x[2])
{
	float32x4_t s = vaddq_f32(x[0], x[1]);
	float32x2_t two = vadd_f32(vget_low_f32(s), vget_high_f32(s));

	return vget_lane_f32(two, 0) + vget_lane_f32(two, 1);
}

static void attract_neon(const float *y, size_t self, const uint32_t *index,
                         const float *weight, size_t count, float force[2])
{
	const float32x4_t x0 = vdupq_n_f32(y[2 * self]), x1 = vdupq_n_f32(y[2 * self + 1]);
	const float32x4_t one = vdupq_n_f32(1), none = vdupq_n_f32(0);
	float32x4_t f0[2] = {none, none}, f1[2] = {none, none};

	for (size_t i = 0; i < count; i += INV_EDGES)
#pragma GCC unroll 2
		for (size_t half = 0; half < 2; half++) {
			const size_t at = i + half * HALF;
			float32x4_t a = two_points(y, index + at), b = two_points(y, index + at + 2);
			float32x4_t d0 = vsubq_f32(x0, vuzp1q_f32(a, b));
			float32x4_t d1 = vsubq_f32(x1, vuzp2q_f32(a, b));
			float32x4_t square = vfmaq_f32(vmulq_f32(d1, d1), d0, d0);
			float32x4_t w = vdivq_f32(vld1q_f32(weight + at), vaddq_f32(one, square));

			f0[half] = vfmaq_f32(f0[half], w, d0);
			f1[half] = vfmaq_f32(f1[half], w, d1);
		}
	force[0] = sum_of(f0);
	force[1] = sum_of(f1);
}

void inv_kernels_lanes_neon(struct inv_kernels *k)
{
	k->attract = attract_neon;
}
