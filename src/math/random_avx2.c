/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random_avx2.c - Philox4x32-10 for eight counters at once, and normals from it.
 *
 * The words equal Random123's. Normals are Box-Muller in float, eight pairs at a time; they
 * agree with inv_fill_normal to a few roundings of a float, in the tails and next to 0 too.
 */
#include <Random123/philox.h>
#include <immintrin.h>
#include <string.h>

#include "math/kernels.h"
#include "math/normal_series.h"

enum { LANES = 8, PAIR = 2, BLOCK = 4 * LANES }; /* slots of a vector; words of those */

/* ---- Philox ----------------------------------------------------------------- */

/* High and low halves of 32-bit products; even and odd lanes are multiplied separately. */
static inline __m256i multiply(__m256i a, __m256i by, __m256i *high)
{
	__m256i even = _mm256_mul_epu32(a, by);
	__m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), by);

	*high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
	return _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
}

/*
 * Words w[g] of eight slots each, from `slot` on: one vector per word. Two groups at once,
 * as one alone would wait for its own products. The slots lie in the lanes so that in_order
 * moves nothing between halves of a vector.
 */
static inline void many_slots(const inv_stream *s, uint32_t index, uint32_t slot,
                              __m256i w[PAIR][4])
{
	const __m256i m0 = _mm256_set1_epi32((int)PHILOX_M4x32_0);
	const __m256i m1 = _mm256_set1_epi32((int)PHILOX_M4x32_1);
	const __m256i lane = _mm256_setr_epi32(0, 2, 4, 6, 1, 3, 5, 7);
	uint32_t k0 = s->key[0], k1 = s->key[1];

#pragma GCC unroll 2
	for (int g = 0; g < PAIR; g++) {
		w[g][0] = _mm256_add_epi32(_mm256_set1_epi32((int)slot + g * LANES), lane);
		w[g][1] = _mm256_set1_epi32((int)index);
		w[g][2] = _mm256_set1_epi32((int)s->epoch);
		w[g][3] = _mm256_set1_epi32((int)s->purpose);
	}
	for (int round = 0; round < 10; round++) {
		const __m256i x0 = _mm256_set1_epi32((int)k0), x1 = _mm256_set1_epi32((int)k1);

#pragma GCC unroll 2
		for (int g = 0; g < PAIR; g++) {
			__m256i high0, high1;
			__m256i low0 = multiply(w[g][0], m0, &high0);
			__m256i low1 = multiply(w[g][2], m1, &high1);

			w[g][0] = _mm256_xor_si256(_mm256_xor_si256(high1, w[g][1]), x0);
			w[g][1] = low1;
			w[g][2] = _mm256_xor_si256(_mm256_xor_si256(high0, w[g][3]), x1);
			w[g][3] = low0;
		}
		k0 += PHILOX_W32_0;
		k1 += PHILOX_W32_1;
	}
}

/* Four vectors by word -> four vectors in the order of the stream. */
static inline void in_order(const __m256i w[4], __m256i out[4])
{
	__m256i a = _mm256_unpacklo_epi32(w[0], w[1]), b = _mm256_unpacklo_epi32(w[2], w[3]);
	__m256i c = _mm256_unpackhi_epi32(w[0], w[1]), d = _mm256_unpackhi_epi32(w[2], w[3]);

	out[0] = _mm256_unpacklo_epi64(a, b);
	out[1] = _mm256_unpackhi_epi64(a, b);
	out[2] = _mm256_unpacklo_epi64(c, d);
	out[3] = _mm256_unpackhi_epi64(c, d);
}

static void blocks_of_words(const inv_stream *s, uint32_t index, uint32_t slot,
                            uint32_t out[PAIR * BLOCK])
{
	__m256i w[PAIR][4], ordered[4];

	many_slots(s, index, slot, w);
	for (int g = 0; g < PAIR; g++) {
		in_order(w[g], ordered);
		for (int i = 0; i < 4; i++)
			_mm256_storeu_si256((__m256i *)(void *)(out + g * BLOCK + i * LANES),
			                    ordered[i]);
	}
}

static void words_avx2(const inv_stream *s, uint32_t index, uint32_t first, size_t slots,
                       uint32_t *out)
{
	uint32_t rest[PAIR * BLOCK];
	size_t i = 0;

	for (; i + PAIR * LANES <= slots; i += PAIR * LANES)
		blocks_of_words(s, index, first + (uint32_t)i, out + 4 * i);
	if (i < slots) {
		blocks_of_words(s, index, first + (uint32_t)i, rest);
		memcpy(out + 4 * i, rest, 4 * (slots - i) * sizeof *out);
	}
}

/* ---- Box and Muller ---------------------------------------------------------- */

/* c[0] + x (c[1] + x (…)) */
static inline __m256 polynomial(__m256 x, const float *c, int count)
{
	__m256 sum = _mm256_set1_ps(c[count - 1]);

#pragma GCC unroll 9
	for (int i = count - 2; i >= 0; i--)
		sum = _mm256_fmadd_ps(sum, x, _mm256_set1_ps(c[i]));
	return sum;
}

/* Unsigned words as floats, in two halves so that nothing rounds twice. */
static inline __m256 to_float(__m256i words)
{
	__m256 high = _mm256_cvtepi32_ps(_mm256_srli_epi32(words, 16));
	__m256 low = _mm256_cvtepi32_ps(_mm256_and_si256(words, _mm256_set1_epi32(0xffff)));

	return _mm256_fmadd_ps(high, _mm256_set1_ps(0x1p16f), low);
}

/*
 * log((word + 1) / 2^32). The fraction is 2^e (1 + f) with 1 + f in [sqrt(1/2),
 * sqrt(2)); close to 1, f is the difference to 1, counted in integer words, so that small
 * logarithms are as exact as large ones.
 */
static inline __m256 log_of(__m256i word)
{
	const __m256 one = _mm256_set1_ps(1);
	const __m256i root = _mm256_set1_epi32(0x3f800000 - 0x3f3504f3);
	__m256 x = _mm256_mul_ps(_mm256_add_ps(to_float(word), one), _mm256_set1_ps(0x1p-32f));
	__m256 rest = _mm256_mul_ps(to_float(_mm256_xor_si256(word, _mm256_set1_epi32(-1))),
	                            _mm256_set1_ps(-0x1p-32f));
	__m256i power = _mm256_sub_epi32(
		_mm256_srli_epi32(_mm256_add_epi32(_mm256_castps_si256(x), root), 23),
		_mm256_set1_epi32(127));
	__m256 m = _mm256_castsi256_ps(
		_mm256_sub_epi32(_mm256_castps_si256(x), _mm256_slli_epi32(power, 23)));
	__m256 near_one =
		_mm256_castsi256_ps(_mm256_cmpeq_epi32(power, _mm256_setzero_si256()));
	__m256 f = _mm256_blendv_ps(_mm256_sub_ps(m, one), rest, near_one);
	__m256 f2 = _mm256_mul_ps(f, f);
	__m256 tail =
		_mm256_mul_ps(_mm256_mul_ps(f2, f), polynomial(f, inv_log_series, INV_LOG_TERMS));
	__m256 log_m = _mm256_add_ps(f, _mm256_fmadd_ps(f2, _mm256_set1_ps(-0.5f), tail));

	return _mm256_fmadd_ps(_mm256_cvtepi32_ps(power), _mm256_set1_ps(0x1.62e43p-1f), log_m);
}

/*
 * cos and sin of 2 pi word / 2^32: the nearest quarter turn is subtracted in integer words,
 * and the rest, at most an eighth, goes through two series.
 */
static inline __m256 cos_sin(__m256i word, __m256 *sine)
{
	const __m256i eighth = _mm256_set1_epi32(1 << 29);
	__m256i q = _mm256_srli_epi32(_mm256_add_epi32(word, eighth), 30);
	__m256i left = _mm256_sub_epi32(word, _mm256_slli_epi32(q, 30));
	__m256 x = _mm256_mul_ps(_mm256_cvtepi32_ps(left), _mm256_set1_ps(0x1.921fb6p-30f));
	__m256 x2 = _mm256_mul_ps(x, x);
	__m256 s = _mm256_fmadd_ps(_mm256_mul_ps(x2, x),
	                           polynomial(x2, inv_sine_series, INV_TURN_TERMS), x);
	__m256 c = _mm256_fmadd_ps(
		_mm256_mul_ps(x2, x2), polynomial(x2, inv_cosine_series, INV_TURN_TERMS),
		_mm256_fmadd_ps(x2, _mm256_set1_ps(-0.5f), _mm256_set1_ps(1)));
	__m256 odd = _mm256_castsi256_ps(_mm256_slli_epi32(q, 31));
	__m256 sign = _mm256_set1_ps(-0.0f);
	/* cos changes its sign in quarters 1 and 2, sin in 2 and 3. */
	__m256i q1 = _mm256_add_epi32(q, _mm256_set1_epi32(1));
	__m256 flip_c = _mm256_and_ps(_mm256_castsi256_ps(_mm256_slli_epi32(q1, 30)), sign);
	__m256 flip_s = _mm256_and_ps(_mm256_castsi256_ps(_mm256_slli_epi32(q, 30)), sign);

	*sine = _mm256_xor_ps(_mm256_blendv_ps(s, c, odd), flip_s);
	return _mm256_xor_ps(_mm256_blendv_ps(c, s, odd), flip_c);
}

/* The normals of words a and b of eight slots: eight of cosines, eight of sines. */
static inline void eight_pairs(__m256i a, __m256i b, __m256i *first, __m256i *second)
{
	__m256 radius = _mm256_sqrt_ps(_mm256_mul_ps(_mm256_set1_ps(-2), log_of(a)));
	__m256 sine, cosine = cos_sin(b, &sine);

	*first = _mm256_castps_si256(_mm256_mul_ps(radius, cosine));
	*second = _mm256_castps_si256(_mm256_mul_ps(radius, sine));
}

static void blocks_of_normals(const inv_stream *s, uint32_t index, uint32_t slot,
                              float out[PAIR * BLOCK])
{
	__m256i w[PAIR][4], n[4], ordered[4];

	many_slots(s, index, slot, w);
	for (int g = 0; g < PAIR; g++) {
		eight_pairs(w[g][0], w[g][1], &n[0], &n[1]);
		eight_pairs(w[g][2], w[g][3], &n[2], &n[3]);
		in_order(n, ordered);
		for (int i = 0; i < 4; i++)
			_mm256_storeu_ps(out + g * BLOCK + i * LANES, _mm256_castsi256_ps(ordered[i]));
	}
}

static void normal_avx2(const inv_stream *s, uint32_t index, float *out, size_t count)
{
	float rest[PAIR * BLOCK];
	size_t i = 0;

	for (; i + PAIR * BLOCK <= count; i += PAIR * BLOCK)
		blocks_of_normals(s, index, (uint32_t)(i / 4), out + i);
	if (i < count) {
		blocks_of_normals(s, index, (uint32_t)(i / 4), rest);
		memcpy(out + i, rest, (count - i) * sizeof *out);
	}
}

void inv_kernels_random_avx2(struct inv_kernels *k)
{
	k->words = words_avx2;
	k->normal = normal_avx2;
}
