/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sliced_neon.c - joining, sorting and comparing the projections of four
 * directions at a time: sliced_avx2.c with two vectors of two doubles.
 */
#include <arm_neon.h>
#include <math.h>

#include "math/sliced.h"

typedef struct lanes {
	float64x2_t low, high;
} lanes;

static inline lanes load(const double *keys, size_t row)
{
	return (lanes){vld1q_f64(keys + row * INV_SLICES),
	               vld1q_f64(keys + row * INV_SLICES + 2)};
}

static inline void store(double *keys, size_t row, lanes x)
{
	vst1q_f64(keys + row * INV_SLICES, x.low);
	vst1q_f64(keys + row * INV_SLICES + 2, x.high);
}

static inline float64x2_t or_bits(float64x2_t x, uint64x2_t bits)
{
	return vreinterpretq_f64_u64(vorrq_u64(vreinterpretq_u64_f64(x), bits));
}

/* ---- Joining ------------------------------------------------------------------ */

/* Doubles that hold a float with 29 bits to spare; the row goes there. */
static inline lanes with_row(float32x4_t x, size_t row)
{
	const uint64x2_t bits = vdupq_n_u64(row);

	return (lanes){or_bits(vcvt_f64_f32(vget_low_f32(x)), bits),
	               or_bits(vcvt_high_f64_f32(x), bits)};
}

/* The network assumes numbers, so a NaN makes its whole slice NaN. */
static void spoil_slices(float32x4_t faults, size_t n, double *keys)
{
	const uint64x2_t low = vreinterpretq_u64_f64(vcvt_f64_f32(vget_low_f32(faults)));
	const uint64x2_t high = vreinterpretq_u64_f64(vcvt_high_f64_f32(faults));

	for (size_t r = 0; r < n; r++) {
		lanes x = load(keys, r);

		store(keys, r, (lanes){or_bits(x.low, low), or_bits(x.high, high)});
	}
}

static void join_keys_neon(const inv_side *s, size_t column, double *keys)
{
	const float *a = s->a + column, *b = s->b ? s->b + column : NULL;
	uint32x4_t bits = vdupq_n_u32(0); /* of a NaN in lanes that are not finite throughout */
	float32x4_t faults;

	for (size_t r = 0; r < s->M; r++) {
		float32x4_t x = vld1q_f32(a + s->rows_a[r] * s->stride_a);

		if (b)
			x = vaddq_f32(x, vld1q_f32(b + s->rows_b[r] * s->stride_b));
		bits = vorrq_u32(bits, vreinterpretq_u32_f32(vsubq_f32(x, x)));
		store(keys, r, with_row(x, r));
	}
	faults = vreinterpretq_f32_u32(bits);
	if (vminvq_u32(vceqq_f32(faults, faults)) == 0)
		spoil_slices(faults, s->M, keys);
}

/* ---- Sorting ------------------------------------------------------------------- */

static inline void in_order(lanes *low, lanes *high)
{
	lanes smaller = {vminq_f64(low->low, high->low), vminq_f64(low->high, high->high)};

	*high = (lanes){vmaxq_f64(low->low, high->low), vmaxq_f64(low->high, high->high)};
	*low = smaller;
}

static inline lanes infinite(void)
{
	return (lanes){vdupq_n_f64(INFINITY), vdupq_n_f64(INFINITY)};
}

#include "math/sort_network.h"

/* ---- Comparing ------------------------------------------------------------------ */

/* The float that a key was made from. */
static inline float64x2_t value_of(float64x2_t key)
{
	const uint64x2_t mask = vdupq_n_u64(~(uint64_t)INV_KEY_ROWS);

	return vreinterpretq_f64_u64(vandq_u64(vreinterpretq_u64_f64(key), mask));
}

static inline void scatter(const double *key, float32x4_t gap, float *out)
{
	float g[INV_SLICES];

	vst1q_f32(g, gap);
#pragma GCC unroll 4
	for (size_t l = 0; l < INV_SLICES; l++)
		out[inv_key_row(key[l]) * INV_SLICES + l] = g[l];
}

static void compare_keys_neon(const double *p, const double *q, size_t n, size_t repeat,
                              double sums[INV_SLICES], float *u, float *v)
{
	lanes sum = {vdupq_n_f64(0), vdupq_n_f64(0)};
	size_t left = repeat;

	for (size_t r = 0; r < n; r++) {
		const double *other = q + r * INV_SLICES;
		const lanes x = load(p, 0), y = load(other, 0);
		float64x2_t low = vsubq_f64(value_of(x.low), value_of(y.low));
		float64x2_t high = vsubq_f64(value_of(x.high), value_of(y.high));

		sum.low = vfmaq_f64(sum.low, low, low);
		sum.high = vfmaq_f64(sum.high, high, high);
		if (u) {
			float32x4_t gap = vcvt_high_f32_f64(vcvt_f32_f64(low), high);

			scatter(p, gap, u);
			scatter(other, gap, v);
		}
		if (!--left) {
			p += INV_SLICES;
			left = repeat;
		}
	}
	vst1q_f64(sums, vaddq_f64(vld1q_f64(sums), sum.low));
	vst1q_f64(sums + 2, vaddq_f64(vld1q_f64(sums + 2), sum.high));
}

static void spread_neon(const float *u, const float *v, const uint32_t *back, size_t n,
                        float *out, size_t stride)
{
	for (size_t r = 0; r < n; r++)
		vst1q_f32(out + r * stride, vsubq_f32(vld1q_f32(u + r * INV_SLICES),
		                                      vld1q_f32(v + back[r] * INV_SLICES)));
}

void inv_kernels_sliced_neon(struct inv_kernels *k)
{
	k->join_keys = join_keys_neon;
	k->sort_keys = sort_keys;
	k->compare_keys = compare_keys_neon;
	k->spread = spread_neon;
}
