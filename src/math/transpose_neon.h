/* SPDX-License-Identifier: Apache-2.0 */
/* transpose_neon.h - transposes four rows of four floats in registers. */
#ifndef INV_TRANSPOSE_NEON_H
#define INV_TRANSPOSE_NEON_H

#include <arm_neon.h>

/* The even or the odd pairs of two vectors. */
static inline float32x4_t even_pairs(float32x4_t a, float32x4_t b)
{
	return vreinterpretq_f32_f64(
		vtrn1q_f64(vreinterpretq_f64_f32(a), vreinterpretq_f64_f32(b)));
}

static inline float32x4_t odd_pairs(float32x4_t a, float32x4_t b)
{
	return vreinterpretq_f32_f64(
		vtrn2q_f64(vreinterpretq_f64_f32(a), vreinterpretq_f64_f32(b)));
}

static inline void inv_transpose_four(float32x4_t r[4])
{
	float32x4_t a = vtrn1q_f32(r[0], r[1]), b = vtrn2q_f32(r[0], r[1]);
	float32x4_t c = vtrn1q_f32(r[2], r[3]), d = vtrn2q_f32(r[2], r[3]);

	r[0] = even_pairs(a, c);
	r[1] = even_pairs(b, d);
	r[2] = odd_pairs(a, c);
	r[3] = odd_pairs(b, d);
}

#endif
