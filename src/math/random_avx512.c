/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random_avx512.c - random_avx2.c with sixteen counters per vector, and the same bits.
 *
 * What it gains: three-way xors, halves of products joined under a mask, and unsigned words
 * converted to float by one instruction.
 */
#include <Random123/philox.h>
#include <immintrin.h>
#include <string.h>

#include "math/kernels.h"
#include "math/normal_series.h"

enum { LANES = 16, PAIR = 2, BLOCK = 4 * LANES }; /* slots of a vector; words of those */
enum { ODD = 0xaaaa, EVEN = 0x5555 };             /* lanes */
enum { XOR3 = 0x96, XOR_AND = 0x78 };             /* a ^ b ^ c; a ^ (b & c) */

/* ---- Philox ----------------------------------------------------------------- */

/* High and low halves of 32-bit products; even and odd lanes are multiplied separately. */
static inline __m512i multiply(__m512i a, __m512i by, __m512i *high)
{
	__m512i even = _mm512_mul_epu32(a, by);
	__m512i odd = _mm512_mul_epu32(_mm512_srli_epi64(a, 32), by);

	*high = _mm512_mask_shuffle_epi32(odd, EVEN, even, _MM_PERM_CDAB);
	return _mm512_mask_shuffle_epi32(even, ODD, odd, _MM_PERM_CDAB);
}

/*
 * Words w[g] of sixteen slots each, from `slot` on: one vector per word. The slots lie in
 * the lanes so that in_order moves nothing between quarters of a vector.
 */
static inline void many_slots(const inv_stream *s, uint32_t index, uint32_t slot,
                              __m512i w[PAIR][4])
{
	const __m512i m0 = _mm512_set1_epi32((int)PHILOX_M4x32_0);
	const __m512i m1 = _mm512_set1_epi32((int)PHILOX_M4x32_1);
	const __m512i lane =
		_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
	uint32_t k0 = s->key[0], k1 = s->key[1];

#pragma GCC unroll 2
	for (int g = 0; g < PAIR; g++) {
		w[g][0] = _mm512_add_epi32(_mm512_set1_epi32((int)slot + g * LANES), lane);
		w[g][1] = _mm512_set1_epi32((int)index);
		w[g][2] = _mm512_set1_epi32((int)s->epoch);
		w[g][3] = _mm512_set1_epi32((int)s->purpose);
	}
	for (int round = 0; round < 10; round++) {
		const __m512i x0 = _mm512_set1_epi32((int)k0), x1 = _mm512_set1_epi32((int)k1);

#pragma GCC unroll 2
		for (int g = 0; g < PAIR; g++) {
			__m512i high0, high1;
			__m512i low0 = multiply(w[g][0], m0, &high0);
			__m512i low1 = multiply(w[g][2], m1, &high1);

			w[g][0] = _mm512_ternarylogic_epi32(high1, w[g][1], x0, XOR3);
			w[g][1] = low1;
			w[g][2] = _mm512_ternarylogic_epi32(high0, w[g][3], x1, XOR3);
			w[g][3] = low0;
		}
		k0 += PHILOX_W32_0;
		k1 += PHILOX_W32_1;
	}
}

/* Four vectors by word -> four vectors in the order of the stream. */
static inline void in_order(const __m512i w[4], __m512i out[4])
{
	__m512i a = _mm512_unpacklo_epi32(w[0], w[1]), b = _mm512_unpacklo_epi32(w[2], w[3]);
	__m512i c = _mm512_unpackhi_epi32(w[0], w[1]), d = _mm512_unpackhi_epi32(w[2], w[3]);

	out[0] = _mm512_unpacklo_epi64(a, b);
	out[1] = _mm512_unpackhi_epi64(a, b);
	out[2] = _mm512_unpacklo_epi64(c, d);
	out[3] = _mm512_unpackhi_epi64(c, d);
}

static void blocks_of_words(const inv_stream *s, uint32_t index, uint32_t slot,
                            uint32_t out[PAIR * BLOCK])
{
	__m512i w[PAIR][4], ordered[4];

	many_slots(s, index, slot, w);
	for (int g = 0; g < PAIR; g++) {
		in_order(w[g], ordered);
		for (int i = 0; i < 4; i++)
			_mm512_storeu_si512(out + g * BLOCK + i * LANES, ordered[i]);
	}
}

static void words_avx512(const inv_stream *s, uint32_t index, uint32_t first, size_t slots,
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
static inline __m512 polynomial(__m512 x, const float *c, int count)
{
	__m512 sum = _mm512_set1_ps(c[count - 1]);

#pragma GCC unroll 9
	for (int i = count - 2; i >= 0; i--)
		sum = _mm512_fmadd_ps(sum, x, _mm512_set1_ps(c[i]));
	return sum;
}

/* log((word + 1) / 2^32), see random_avx2.c. */
static inline __m512 log_of(__m512i word)
{
	const __m512 one = _mm512_set1_ps(1);
	const __m512i root = _mm512_set1_epi32(0x3f800000 - 0x3f3504f3);
	__m512 x = _mm512_mul_ps(_mm512_add_ps(_mm512_cvtepu32_ps(word), one),
	                         _mm512_set1_ps(0x1p-32f));
	__m512i flipped = _mm512_xor_si512(word, _mm512_set1_epi32(-1));
	__m512 rest = _mm512_mul_ps(_mm512_cvtepu32_ps(flipped), _mm512_set1_ps(-0x1p-32f));
	__m512i power = _mm512_sub_epi32(
		_mm512_srli_epi32(_mm512_add_epi32(_mm512_castps_si512(x), root), 23),
		_mm512_set1_epi32(127));
	__m512 m = _mm512_castsi512_ps(
		_mm512_sub_epi32(_mm512_castps_si512(x), _mm512_slli_epi32(power, 23)));
	__mmask16 near_one = _mm512_testn_epi32_mask(power, power);
	__m512 f = _mm512_mask_mov_ps(_mm512_sub_ps(m, one), near_one, rest);
	__m512 f2 = _mm512_mul_ps(f, f);
	__m512 tail =
		_mm512_mul_ps(_mm512_mul_ps(f2, f), polynomial(f, inv_log_series, INV_LOG_TERMS));
	__m512 log_m = _mm512_add_ps(f, _mm512_fmadd_ps(f2, _mm512_set1_ps(-0.5f), tail));

	return _mm512_fmadd_ps(_mm512_cvtepi32_ps(power), _mm512_set1_ps(0x1.62e43p-1f), log_m);
}

/* Flips the sign of x where bit 1 of q is set. */
static inline __m512 flip(__m512 x, __m512i q)
{
	return _mm512_castsi512_ps(
		_mm512_ternarylogic_epi32(_mm512_castps_si512(x), _mm512_slli_epi32(q, 30),
	                              _mm512_set1_epi32((int)(1u << 31)), XOR_AND));
}

/* cos and sin of 2 pi word / 2^32, see random_avx2.c. */
static inline __m512 cos_sin(__m512i word, __m512 *sine)
{
	const __m512i one = _mm512_set1_epi32(1), eighth = _mm512_set1_epi32(1 << 29);
	__m512i q = _mm512_srli_epi32(_mm512_add_epi32(word, eighth), 30);
	__m512i left = _mm512_sub_epi32(word, _mm512_slli_epi32(q, 30));
	__m512 x = _mm512_mul_ps(_mm512_cvtepi32_ps(left), _mm512_set1_ps(0x1.921fb6p-30f));
	__m512 x2 = _mm512_mul_ps(x, x);
	__m512 s = _mm512_fmadd_ps(_mm512_mul_ps(x2, x),
	                           polynomial(x2, inv_sine_series, INV_TURN_TERMS), x);
	__m512 c = _mm512_fmadd_ps(
		_mm512_mul_ps(x2, x2), polynomial(x2, inv_cosine_series, INV_TURN_TERMS),
		_mm512_fmadd_ps(x2, _mm512_set1_ps(-0.5f), _mm512_set1_ps(1)));
	__mmask16 odd = _mm512_test_epi32_mask(q, one);

	/* cos changes its sign in quarters 1 and 2, sin in 2 and 3. */
	*sine = flip(_mm512_mask_mov_ps(s, odd, c), q);
	return flip(_mm512_mask_mov_ps(c, odd, s), _mm512_add_epi32(q, one));
}

/* The normals of words a and b of sixteen slots: sixteen of cosines, sixteen of sines. */
static inline void sixteen_pairs(__m512i a, __m512i b, __m512i *first, __m512i *second)
{
	__m512 radius = _mm512_sqrt_ps(_mm512_mul_ps(_mm512_set1_ps(-2), log_of(a)));
	__m512 sine, cosine = cos_sin(b, &sine);

	*first = _mm512_castps_si512(_mm512_mul_ps(radius, cosine));
	*second = _mm512_castps_si512(_mm512_mul_ps(radius, sine));
}

static inline void many_normals(const inv_stream *s, uint32_t index, uint32_t slot,
                                __m512 out[PAIR][4])
{
	__m512i w[PAIR][4], n[4], ordered[4];

	many_slots(s, index, slot, w);
#pragma GCC unroll 2
	for (int g = 0; g < PAIR; g++) {
		sixteen_pairs(w[g][0], w[g][1], &n[0], &n[1]);
		sixteen_pairs(w[g][2], w[g][3], &n[2], &n[3]);
		in_order(n, ordered);
		for (int i = 0; i < 4; i++)
			out[g][i] = _mm512_castsi512_ps(ordered[i]);
	}
}

static void blocks_of_normals(const inv_stream *s, uint32_t index, uint32_t slot,
                              float out[PAIR * BLOCK])
{
	__m512 n[PAIR][4];

	many_normals(s, index, slot, n);
	for (int i = 0; i < PAIR * 4; i++)
		_mm512_storeu_ps(out + i * LANES, n[i / 4][i % 4]);
}

static void normal_avx512(const inv_stream *s, uint32_t index, float *out, size_t count)
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

static void add_block(const inv_stream *s, uint32_t index, uint32_t slot, const float *x,
                      float mean, float std, float *out)
{
	__m512 n[PAIR][4];

	many_normals(s, index, slot, n);
	for (int i = 0; i < PAIR * 4; i++) {
		__m512 field =
			_mm512_fmadd_ps(_mm512_set1_ps(std), n[i / 4][i % 4], _mm512_set1_ps(mean));

		_mm512_storeu_ps(out + i * LANES,
		                 _mm512_add_ps(_mm512_loadu_ps(x + i * LANES), field));
	}
}

static void add_normal_avx512(const inv_stream *s, uint32_t index, const float *x,
                              float mean, float std, float *out, size_t count)
{
	float rest[PAIR * BLOCK] = {0};
	size_t i = 0;

	for (; i + PAIR * BLOCK <= count; i += PAIR * BLOCK)
		add_block(s, index, (uint32_t)(i / 4), x + i, mean, std, out + i);
	if (i < count) {
		memcpy(rest, x + i, (count - i) * sizeof *rest);
		add_block(s, index, (uint32_t)(i / 4), rest, mean, std, rest);
		memcpy(out + i, rest, (count - i) * sizeof *out);
	}
}

void inv_kernels_random_avx512(struct inv_kernels *k)
{
	k->words = words_avx512;
	k->normal = normal_avx512;
	k->add_normal = add_normal_avx512;
}
