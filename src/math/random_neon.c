/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random_neon.c - Philox4x32-10 for sixteen counters at once, and normals from it.
 *
 * The words equal Random123's, the normals have the bits of random_avx2.c, which explains
 * the series. Four vectors, one per word, are stored in the order of the stream by one
 * instruction.
 */
#include <Random123/philox.h>
#include <arm_neon.h>
#include <string.h>

#include "math/kernels.h"
#include "math/normal_series.h"

enum { LANES = 4, GROUPS = 4, BLOCK = 4 * LANES }; /* slots of a vector; words of those */

/* ---- Philox ----------------------------------------------------------------- */

/* High and low halves of 32-bit products. */
static inline uint32x4_t multiply(uint32x4_t a, uint32_t by, uint32x4_t *high)
{
	uint32x4_t low =
		vreinterpretq_u32_u64(vmull_n_u32(vget_low_u32(a), by)); /* of lanes 0 and 1 */
	uint32x4_t rest = vreinterpretq_u32_u64(vmull_high_n_u32(a, by));

	*high = vuzp2q_u32(low, rest);
	return vuzp1q_u32(low, rest);
}

/* Words w[g] of four slots each, from `slot` on: one vector per word. */
static inline void many_slots(const inv_stream *s, uint32_t index, uint32_t slot,
                              uint32x4x4_t w[GROUPS])
{
	static const uint32_t lanes[LANES] = {0, 1, 2, 3};
	uint32_t k0 = s->key[0], k1 = s->key[1];

#pragma GCC unroll 4
	for (uint32_t g = 0; g < GROUPS; g++) {
		w[g].val[0] = vaddq_u32(vdupq_n_u32(slot + g * LANES), vld1q_u32(lanes));
		w[g].val[1] = vdupq_n_u32(index);
		w[g].val[2] = vdupq_n_u32(s->epoch);
		w[g].val[3] = vdupq_n_u32(s->purpose);
	}
	for (int round = 0; round < 10; round++) {
#pragma GCC unroll 4
		for (int g = 0; g < GROUPS; g++) {
			uint32x4_t high0, high1;
			uint32x4_t low0 = multiply(w[g].val[0], PHILOX_M4x32_0, &high0);
			uint32x4_t low1 = multiply(w[g].val[2], PHILOX_M4x32_1, &high1);

			w[g].val[0] = veorq_u32(veorq_u32(high1, w[g].val[1]), vdupq_n_u32(k0));
			w[g].val[1] = low1;
			w[g].val[2] = veorq_u32(veorq_u32(high0, w[g].val[3]), vdupq_n_u32(k1));
			w[g].val[3] = low0;
		}
		k0 += PHILOX_W32_0;
		k1 += PHILOX_W32_1;
	}
}

static void blocks_of_words(const inv_stream *s, uint32_t index, uint32_t slot,
                            uint32_t out[GROUPS * BLOCK])
{
	uint32x4x4_t w[GROUPS];

	many_slots(s, index, slot, w);
	for (int g = 0; g < GROUPS; g++)
		vst4q_u32(out + g * BLOCK, w[g]);
}

static void words_neon(const inv_stream *s, uint32_t index, uint32_t first, size_t slots,
                       uint32_t *out)
{
	uint32_t rest[GROUPS * BLOCK];
	size_t i = 0;

	for (; i + GROUPS * LANES <= slots; i += GROUPS * LANES)
		blocks_of_words(s, index, first + (uint32_t)i, out + 4 * i);
	if (i < slots) {
		blocks_of_words(s, index, first + (uint32_t)i, rest);
		memcpy(out + 4 * i, rest, 4 * (slots - i) * sizeof *out);
	}
}

/* ---- Box and Muller ---------------------------------------------------------- */

/* c[0] + x (c[1] + x (…)) */
static inline float32x4_t polynomial(float32x4_t x, const float *c, int count)
{
	float32x4_t sum = vdupq_n_f32(c[count - 1]);

#pragma GCC unroll 9
	for (int i = count - 2; i >= 0; i--)
		sum = vfmaq_f32(vdupq_n_f32(c[i]), sum, x);
	return sum;
}

/* log((word + 1) / 2^32), see random_avx2.c. */
static inline float32x4_t log_of(uint32x4_t word)
{
	const float32x4_t one = vdupq_n_f32(1);
	const uint32x4_t root = vdupq_n_u32(0x3f800000 - 0x3f3504f3);
	float32x4_t x = vmulq_n_f32(vaddq_f32(vcvtq_f32_u32(word), one), 0x1p-32f);
	float32x4_t rest = vmulq_n_f32(vcvtq_f32_u32(vmvnq_u32(word)), -0x1p-32f);
	uint32x4_t bits = vreinterpretq_u32_f32(x);
	int32x4_t power = vsubq_s32(
		vreinterpretq_s32_u32(vshrq_n_u32(vaddq_u32(bits, root), 23)), vdupq_n_s32(127));
	float32x4_t m = vreinterpretq_f32_s32(
		vsubq_s32(vreinterpretq_s32_u32(bits), vshlq_n_s32(power, 23)));
	float32x4_t f = vbslq_f32(vceqzq_s32(power), rest, vsubq_f32(m, one));
	float32x4_t f2 = vmulq_f32(f, f);
	float32x4_t tail =
		vmulq_f32(vmulq_f32(f2, f), polynomial(f, inv_log_series, INV_LOG_TERMS));
	float32x4_t log_m = vaddq_f32(f, vfmaq_n_f32(tail, f2, -0.5f));

	return vfmaq_n_f32(log_m, vcvtq_f32_s32(power), 0x1.62e43p-1f);
}

static inline float32x4_t flip(float32x4_t x, uint32x4_t sign)
{
	return vreinterpretq_f32_u32(veorq_u32(vreinterpretq_u32_f32(x), sign));
}

/* cos and sin of 2 pi word / 2^32, see random_avx2.c. */
static inline float32x4_t cos_sin(uint32x4_t word, float32x4_t *sine)
{
	uint32x4_t q = vshrq_n_u32(vaddq_u32(word, vdupq_n_u32(1u << 29)), 30);
	int32x4_t left = vreinterpretq_s32_u32(vsubq_u32(word, vshlq_n_u32(q, 30)));
	float32x4_t x = vmulq_n_f32(vcvtq_f32_s32(left), 0x1.921fb6p-30f);
	float32x4_t x2 = vmulq_f32(x, x);
	float32x4_t s =
		vfmaq_f32(x, vmulq_f32(x2, x), polynomial(x2, inv_sine_series, INV_TURN_TERMS));
	float32x4_t c = vfmaq_f32(vfmaq_n_f32(vdupq_n_f32(1), x2, -0.5f), vmulq_f32(x2, x2),
	                          polynomial(x2, inv_cosine_series, INV_TURN_TERMS));
	uint32x4_t odd = vtstq_u32(q, vdupq_n_u32(1)), sign = vdupq_n_u32(1u << 31);
	/* cos changes its sign in quarters 1 and 2, sin in 2 and 3. */
	uint32x4_t q1 = vaddq_u32(q, vdupq_n_u32(1));

	*sine = flip(vbslq_f32(odd, c, s), vandq_u32(vshlq_n_u32(q, 30), sign));
	return flip(vbslq_f32(odd, s, c), vandq_u32(vshlq_n_u32(q1, 30), sign));
}

/* The normals of words a and b of four slots: four of cosines, four of sines. */
static inline void four_pairs(uint32x4_t a, uint32x4_t b, float32x4_t *first,
                              float32x4_t *second)
{
	float32x4_t radius = vsqrtq_f32(vmulq_n_f32(log_of(a), -2));
	float32x4_t sine, cosine = cos_sin(b, &sine);

	*first = vmulq_f32(radius, cosine);
	*second = vmulq_f32(radius, sine);
}

static void blocks_of_normals(const inv_stream *s, uint32_t index, uint32_t slot,
                              float out[GROUPS * BLOCK])
{
	uint32x4x4_t w[GROUPS];

	many_slots(s, index, slot, w);
	for (int g = 0; g < GROUPS; g++) {
		float32x4x4_t n;

		four_pairs(w[g].val[0], w[g].val[1], &n.val[0], &n.val[1]);
		four_pairs(w[g].val[2], w[g].val[3], &n.val[2], &n.val[3]);
		vst4q_f32(out + g * BLOCK, n);
	}
}

static void normal_neon(const inv_stream *s, uint32_t index, float *out, size_t count)
{
	float rest[GROUPS * BLOCK];
	size_t i = 0;

	for (; i + GROUPS * BLOCK <= count; i += GROUPS * BLOCK)
		blocks_of_normals(s, index, (uint32_t)(i / 4), out + i);
	if (i < count) {
		blocks_of_normals(s, index, (uint32_t)(i / 4), rest);
		memcpy(out + i, rest, (count - i) * sizeof *out);
	}
}

void inv_kernels_random_neon(struct inv_kernels *k)
{
	k->words = words_neon;
	k->normal = normal_neon;
}
