/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random_avx2.c - Philox4x32-10 for sixteen counters at once, and normals from it.
 *
 * The words equal Random123's. Normals are Box-Muller in float, 32 pairs at a time; they
 * agree with inv_fill_normal to a few roundings of a float, in the tails and next to 0 too.
 *
 * A processor looks only some 60 instructions ahead of one that waits, and a logarithm is
 * longer than that, so the steps of four of them are written side by side.
 */
#include <Random123/philox.h>
#include <immintrin.h>
#include <string.h>

#include "math/kernels.h"
#include "math/normal_series.h"

enum { LANES = 8, PAIR = 2, BLOCK = 4 * LANES }; /* slots of a vector; words of those */
enum { ROUNDS = 10, CHAINS = 2 * PAIR };         /* CHAINS: logarithms side by side */

#define INLINE static inline __attribute__((always_inline))

/* ---- Philox ----------------------------------------------------------------- */

/*
 * What all slots of an index share: the keys of the rounds, and what the first two rounds,
 * in which only one product depends on the slot, make of the other words.
 */
typedef struct philox {
	uint32_t key[ROUNDS][2];
	uint32_t first;        /* round 0: for word 2 */
	uint32_t second[2];    /* round 1: for words 0 and 2 */
	uint32_t second_third; /* round 1: word 3 */
} philox;

static philox philox_of(const inv_stream *s, uint32_t index)
{
	uint64_t by_epoch = (uint64_t)PHILOX_M4x32_1 * s->epoch, by_word;
	philox p;

	for (uint32_t r = 0; r < ROUNDS; r++) {
		p.key[r][0] = s->key[0] + r * PHILOX_W32_0;
		p.key[r][1] = s->key[1] + r * PHILOX_W32_1;
	}
	by_word = (uint64_t)PHILOX_M4x32_0 * ((uint32_t)(by_epoch >> 32) ^ index ^ p.key[0][0]);
	p.first = s->purpose ^ p.key[0][1];
	p.second[0] = (uint32_t)by_epoch ^ p.key[1][0];
	p.second[1] = (uint32_t)(by_word >> 32) ^ p.key[1][1];
	p.second_third = (uint32_t)by_word;
	return p;
}

INLINE __m256i all(uint32_t word)
{
	return _mm256_set1_epi32((int)word);
}

INLINE __m256i high_half(__m256i product)
{
	return _mm256_srli_epi64(product, 32);
}

/* The low halves of 64-bit lanes, of four slots and of the other four of a group. */
INLINE __m256i low_halves(__m256i a, __m256i b)
{
	return _mm256_castps_si256(
		_mm256_shuffle_ps(_mm256_castsi256_ps(a), _mm256_castsi256_ps(b), 0x88));
}

/*
 * Words w[g] of eight slots each, from `slot` on: one vector per word. Inside, a word is in
 * the low half of a 64-bit lane, where products are made, and the high half is of no use;
 * vectors 2 g and 2 g + 1 have the slots of group g, which lie so that in_order moves
 * nothing between halves of a vector.
 */
INLINE void many_slots(const philox *p, uint32_t slot, __m256i w[PAIR][4])
{
	const __m256i m0 = all(PHILOX_M4x32_0), m1 = all(PHILOX_M4x32_1);
	__m256i a[2 * PAIR], b[2 * PAIR], c[2 * PAIR], d[2 * PAIR];

#pragma GCC unroll 4
	for (uint32_t g = 0; g < 2 * PAIR; g++) {
		const __m256i lane =
			g % 2 ? _mm256_setr_epi64x(4, 6, 5, 7) : _mm256_setr_epi64x(0, 2, 1, 3);
		__m256i first =
			_mm256_mul_epu32(_mm256_add_epi32(all(slot + g / 2 * LANES), lane), m0);

		b[g] = _mm256_mul_epu32(_mm256_xor_si256(high_half(first), all(p->first)), m1);
		a[g] = _mm256_xor_si256(high_half(b[g]), all(p->second[0]));
		c[g] = _mm256_xor_si256(first, all(p->second[1]));
		d[g] = all(p->second_third);
	}
#pragma GCC unroll 8
	for (int r = 2; r < ROUNDS; r++)
#pragma GCC unroll 4
		for (int g = 0; g < 2 * PAIR; g++) {
			__m256i ma = _mm256_mul_epu32(a[g], m0), mc = _mm256_mul_epu32(c[g], m1);

			a[g] =
				_mm256_xor_si256(high_half(mc), _mm256_xor_si256(b[g], all(p->key[r][0])));
			c[g] =
				_mm256_xor_si256(high_half(ma), _mm256_xor_si256(d[g], all(p->key[r][1])));
			b[g] = mc;
			d[g] = ma;
		}
#pragma GCC unroll 2
	for (int g = 0; g < PAIR; g++) {
		w[g][0] = low_halves(a[2 * g], a[2 * g + 1]);
		w[g][1] = low_halves(b[2 * g], b[2 * g + 1]);
		w[g][2] = low_halves(c[2 * g], c[2 * g + 1]);
		w[g][3] = low_halves(d[2 * g], d[2 * g + 1]);
	}
}

/* Four vectors by word -> four vectors in the order of the stream. */
INLINE void in_order(const __m256i w[4], __m256i out[4])
{
	__m256i a = _mm256_unpacklo_epi32(w[0], w[1]), b = _mm256_unpacklo_epi32(w[2], w[3]);
	__m256i c = _mm256_unpackhi_epi32(w[0], w[1]), d = _mm256_unpackhi_epi32(w[2], w[3]);

	out[0] = _mm256_unpacklo_epi64(a, b);
	out[1] = _mm256_unpackhi_epi64(a, b);
	out[2] = _mm256_unpacklo_epi64(c, d);
	out[3] = _mm256_unpackhi_epi64(c, d);
}

static void blocks_of_words(const philox *p, uint32_t slot, uint32_t out[PAIR * BLOCK])
{
	__m256i w[PAIR][4], ordered[4];

	many_slots(p, slot, w);
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
	const philox p = philox_of(s, index);
	uint32_t rest[PAIR * BLOCK];
	size_t i = 0;

	for (; i + PAIR * LANES <= slots; i += PAIR * LANES)
		blocks_of_words(&p, first + (uint32_t)i, out + 4 * i);
	if (i < slots) {
		blocks_of_words(&p, first + (uint32_t)i, rest);
		memcpy(out + 4 * i, rest, 4 * (slots - i) * sizeof *out);
	}
}

/* ---- Box and Muller ---------------------------------------------------------- */

/* c[0] + x (c[1] + x (…)) */
INLINE __m256 polynomial(__m256 x, const float *c, int count)
{
	__m256 sum = _mm256_set1_ps(c[count - 1]);

#pragma GCC unroll 9
	for (int i = count - 2; i >= 0; i--)
		sum = _mm256_fmadd_ps(sum, x, _mm256_set1_ps(c[i]));
	return sum;
}

/* Unsigned words as floats, in two halves so that nothing rounds twice. */
INLINE __m256 to_float(__m256i words)
{
	__m256 high = _mm256_cvtepi32_ps(_mm256_srli_epi32(words, 16));
	__m256 low = _mm256_cvtepi32_ps(_mm256_and_si256(words, _mm256_set1_epi32(0xffff)));

	return _mm256_fmadd_ps(high, _mm256_set1_ps(0x1p16f), low);
}

/*
 * The fraction (word + 1) / 2^32 is 2^e (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)); close
 * to 1, f is the difference to 1, counted in integer words, so that small logarithms are as
 * exact as large ones. These words have the highest bit set, so the difference fits into a
 * signed integer.
 */
INLINE __m256 split_fraction(__m256i word, __m256 *e)
{
	const __m256 one = _mm256_set1_ps(1);
	const __m256i root = _mm256_set1_epi32(0x3f800000 - 0x3f3504f3);
	__m256 x = _mm256_mul_ps(_mm256_add_ps(to_float(word), one), _mm256_set1_ps(0x1p-32f));
	__m256i left = _mm256_xor_si256(word, _mm256_set1_epi32(-1));
	__m256 rest = _mm256_mul_ps(_mm256_cvtepi32_ps(left), _mm256_set1_ps(-0x1p-32f));
	__m256i power = _mm256_sub_epi32(
		_mm256_srli_epi32(_mm256_add_epi32(_mm256_castps_si256(x), root), 23),
		_mm256_set1_epi32(127));
	__m256 m = _mm256_castsi256_ps(
		_mm256_sub_epi32(_mm256_castps_si256(x), _mm256_slli_epi32(power, 23)));
	__m256 near_one =
		_mm256_castsi256_ps(_mm256_cmpeq_epi32(power, _mm256_setzero_si256()));

	*e = _mm256_cvtepi32_ps(power);
	return _mm256_blendv_ps(_mm256_sub_ps(m, one), rest, near_one);
}

#define EACH_CHAIN _Pragma("GCC unroll 4") for (int c = 0; c < CHAINS; c++)

/* log((word + 1) / 2^32) */
INLINE void logs_of(const __m256i word[CHAINS], __m256 out[CHAINS])
{
	__m256 f[CHAINS], e[CHAINS], sum[CHAINS];

	EACH_CHAIN
	{
		f[c] = split_fraction(word[c], &e[c]);
		sum[c] = _mm256_set1_ps(inv_log_series[INV_LOG_TERMS - 1]);
	}
#pragma GCC unroll 8
	for (int i = INV_LOG_TERMS - 2; i >= 0; i--)
		EACH_CHAIN sum[c] =
			_mm256_fmadd_ps(sum[c], f[c], _mm256_set1_ps(inv_log_series[i]));
	EACH_CHAIN
	{
		__m256 f2 = _mm256_mul_ps(f[c], f[c]);
		__m256 tail = _mm256_mul_ps(_mm256_mul_ps(f2, f[c]), sum[c]);
		__m256 log_m =
			_mm256_add_ps(f[c], _mm256_fmadd_ps(f2, _mm256_set1_ps(-0.5f), tail));

		out[c] = _mm256_fmadd_ps(e[c], _mm256_set1_ps(0x1.62e43p-1f), log_m);
	}
}

/*
 * cos and sin of 2 pi word / 2^32: the nearest quarter turn is subtracted in integer words,
 * and the rest, at most an eighth, goes through two series.
 */
INLINE __m256 cos_sin(__m256i word, __m256 *sine)
{
	const __m256i eighth = _mm256_set1_epi32(1 << 29), quarter = _mm256_set1_epi32(1 << 30);
	/* Its two highest bits are the number of the nearest quarter. */
	__m256i turn = _mm256_add_epi32(word, eighth);
	__m256i left =
		_mm256_sub_epi32(_mm256_and_si256(turn, _mm256_set1_epi32(0x3fffffff)), eighth);
	__m256 x = _mm256_mul_ps(_mm256_cvtepi32_ps(left), _mm256_set1_ps(0x1.921fb6p-30f));
	__m256 x2 = _mm256_mul_ps(x, x);
	__m256 s = _mm256_fmadd_ps(_mm256_mul_ps(x2, x),
	                           polynomial(x2, inv_sine_series, INV_TURN_TERMS), x);
	__m256 c = _mm256_fmadd_ps(
		_mm256_mul_ps(x2, x2), polynomial(x2, inv_cosine_series, INV_TURN_TERMS),
		_mm256_fmadd_ps(x2, _mm256_set1_ps(-0.5f), _mm256_set1_ps(1)));
	__m256 odd = _mm256_castsi256_ps(_mm256_slli_epi32(turn, 1));
	__m256 sign = _mm256_set1_ps(-0.0f);
	/* cos changes its sign in quarters 1 and 2, sin in 2 and 3. */
	__m256 flip_c =
		_mm256_and_ps(_mm256_castsi256_ps(_mm256_add_epi32(turn, quarter)), sign);
	__m256 flip_s = _mm256_and_ps(_mm256_castsi256_ps(turn), sign);

	*sine = _mm256_xor_ps(_mm256_blendv_ps(s, c, odd), flip_s);
	return _mm256_xor_ps(_mm256_blendv_ps(c, s, odd), flip_c);
}

/* Words 0 and 1 of a slot are a pair, and so are 2 and 3; chain c has pair c % 2. */
INLINE void many_normals(const philox *p, uint32_t slot, __m256 out[PAIR][4])
{
	__m256i w[PAIR][4], word[CHAINS], n[PAIR][4], ordered[4];
	__m256 radius[CHAINS];

	many_slots(p, slot, w);
	EACH_CHAIN word[c] = w[c / 2][c % 2 * 2];
	logs_of(word, radius);
	EACH_CHAIN radius[c] = _mm256_sqrt_ps(_mm256_mul_ps(_mm256_set1_ps(-2), radius[c]));
	EACH_CHAIN
	{
		__m256i *pair = &n[c / 2][c % 2 * 2];
		__m256 sine, cosine = cos_sin(w[c / 2][c % 2 * 2 + 1], &sine);

		pair[0] = _mm256_castps_si256(_mm256_mul_ps(radius[c], cosine));
		pair[1] = _mm256_castps_si256(_mm256_mul_ps(radius[c], sine));
	}
#pragma GCC unroll 2
	for (int g = 0; g < PAIR; g++) {
		in_order(n[g], ordered);
		for (int i = 0; i < 4; i++)
			out[g][i] = _mm256_castsi256_ps(ordered[i]);
	}
}

INLINE void blocks_of_normals(const philox *p, uint32_t slot, float out[PAIR * BLOCK])
{
	__m256 n[PAIR][4];

	many_normals(p, slot, n);
	for (int i = 0; i < PAIR * 4; i++)
		_mm256_storeu_ps(out + i * LANES, n[i / 4][i % 4]);
}

static void normal_avx2(const inv_stream *s, uint32_t index, float *out, size_t count)
{
	const philox p = philox_of(s, index);
	float rest[PAIR * BLOCK];
	size_t i = 0;

	for (; i + PAIR * BLOCK <= count; i += PAIR * BLOCK)
		blocks_of_normals(&p, (uint32_t)(i / 4), out + i);
	if (i < count) {
		blocks_of_normals(&p, (uint32_t)(i / 4), rest);
		memcpy(out + i, rest, (count - i) * sizeof *out);
	}
}

/* What is computed while x and out come from memory. */
INLINE void add_block(const philox *p, uint32_t slot, const float *x, __m256 mean,
                      __m256 std, float *out)
{
	__m256 n[PAIR][4];

	many_normals(p, slot, n);
	for (int i = 0; i < PAIR * 4; i++) {
		__m256 field = _mm256_fmadd_ps(std, n[i / 4][i % 4], mean);

		_mm256_storeu_ps(out + i * LANES,
		                 _mm256_add_ps(_mm256_loadu_ps(x + i * LANES), field));
	}
}

static void add_normal_avx2(const inv_stream *s, uint32_t index, const float *x, float mean,
                            float std, float *out, size_t count)
{
	const __m256 means = _mm256_set1_ps(mean), stds = _mm256_set1_ps(std);
	const philox p = philox_of(s, index);
	float rest[PAIR * BLOCK] = {0};
	size_t i = 0;

	for (; i + PAIR * BLOCK <= count; i += PAIR * BLOCK)
		add_block(&p, (uint32_t)(i / 4), x + i, means, stds, out + i);
	if (i < count) {
		memcpy(rest, x + i, (count - i) * sizeof *rest);
		add_block(&p, (uint32_t)(i / 4), rest, means, stds, rest);
		memcpy(out + i, rest, (count - i) * sizeof *out);
	}
}

void inv_kernels_random_avx2(struct inv_kernels *k)
{
	k->words = words_avx2;
	k->normal = normal_avx2;
	k->add_normal = add_normal_avx2;
}
