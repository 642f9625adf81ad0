/* SPDX-License-Identifier: Apache-2.0 */
/* exp_neon.h - the exponential of four numbers, with the bits of exp_avx2.h. */
#ifndef INV_EXP_NEON_H
#define INV_EXP_NEON_H

#include <arm_neon.h>

/* See exp_avx2.h. A NaN stays a NaN: the maximum passes it on. */
static inline float32x4_t exp_four(float32x4_t x)
{
	const float32x4_t lowest = vdupq_n_f32(-87.3f);
	uint32x4_t off = vcltq_f32(x, lowest);
	float32x4_t n, r, y, power;

	x = vmaxq_f32(lowest, x);
	n = vrndnq_f32(vmulq_n_f32(x, 1.44269504f));
	r = vfmsq_f32(x, n, vdupq_n_f32(0.693359375f));
	r = vfmsq_f32(r, n, vdupq_n_f32(-2.12194440e-4f));
	y = vdupq_n_f32(1.9875691500e-4f);
	y = vfmaq_f32(vdupq_n_f32(1.3981999507e-3f), y, r);
	y = vfmaq_f32(vdupq_n_f32(8.3334519073e-3f), y, r);
	y = vfmaq_f32(vdupq_n_f32(4.1665795894e-2f), y, r);
	y = vfmaq_f32(vdupq_n_f32(1.6666665459e-1f), y, r);
	y = vfmaq_f32(vdupq_n_f32(5.0000001201e-1f), y, r);
	y = vaddq_f32(vfmaq_f32(r, vmulq_f32(r, r), y), vdupq_n_f32(1));
	power = vreinterpretq_f32_s32(
		vshlq_n_s32(vaddq_s32(vcvtq_s32_f32(n), vdupq_n_s32(127)), 23));
	y = vmulq_f32(y, power);
	return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(y), off));
}

#endif
