/*
 * random_avx2.c - Philox4x32-10 for eight counters at once, and normals from it.
 *
 * The words are those of Random123, word for word. Normals follow Box and
 * Muller in double, four pairs at a time; they agree with inv_fill_normal to
 * the rounding of a float.
 */
#include <Random123/philox.h>
#include <immintrin.h>
#include <string.h>

#include "math/kernels.h"

enum { LANES = 8, BLOCK = 4 * LANES }; /* slots at once, and their words */

/* ---- Philox ----------------------------------------------------------------- */

/* High and low halves of 32-bit products; even and odd lanes are multiplied apart. */
static inline __m256i multiply(__m256i a, __m256i by, __m256i *high)
{
	__m256i even = _mm256_mul_epu32(a, by);
	__m256i odd = _mm256_mul_epu32(_mm256_srli_epi64(a, 32), by);

	*high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
	return _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
}

/* Words w of eight slots from `slot` on, one vector for each of the four words. */
static inline void eight_slots(const inv_stream *s, uint32_t index, uint32_t slot,
                               __m256i w[4])
{
	const __m256i m0 = _mm256_set1_epi32((int)PHILOX_M4x32_0);
	const __m256i m1 = _mm256_set1_epi32((int)PHILOX_M4x32_1);
	uint32_t k0 = s->key[0], k1 = s->key[1];

	w[0] = _mm256_add_epi32(_mm256_set1_epi32((int)slot),
	                        _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
	w[1] = _mm256_set1_epi32((int)index);
	w[2] = _mm256_set1_epi32((int)s->epoch);
	w[3] = _mm256_set1_epi32((int)s->purpose);
	for (int round = 0; round < 10; round++) {
		__m256i high0, high1;
		__m256i low0 = multiply(w[0], m0, &high0), low1 = multiply(w[2], m1, &high1);

		w[0] = _mm256_xor_si256(_mm256_xor_si256(high1, w[1]), _mm256_set1_epi32((int)k0));
		w[1] = low1;
		w[2] = _mm256_xor_si256(_mm256_xor_si256(high0, w[3]), _mm256_set1_epi32((int)k1));
		w[3] = low0;
		k0 += PHILOX_W32_0;
		k1 += PHILOX_W32_1;
	}
}

/* Four vectors by word -> four vectors in the order of the stream. */
static inline void in_order(const __m256i w[4], __m256i out[4])
{
	__m256i a = _mm256_unpacklo_epi32(w[0], w[1]), b = _mm256_unpacklo_epi32(w[2], w[3]);
	__m256i c = _mm256_unpackhi_epi32(w[0], w[1]), d = _mm256_unpackhi_epi32(w[2], w[3]);
	__m256i slots04 = _mm256_unpacklo_epi64(a, b), slots15 = _mm256_unpackhi_epi64(a, b);
	__m256i slots26 = _mm256_unpacklo_epi64(c, d), slots37 = _mm256_unpackhi_epi64(c, d);

	out[0] = _mm256_permute2x128_si256(slots04, slots15, 0x20);
	out[1] = _mm256_permute2x128_si256(slots26, slots37, 0x20);
	out[2] = _mm256_permute2x128_si256(slots04, slots15, 0x31);
	out[3] = _mm256_permute2x128_si256(slots26, slots37, 0x31);
}

static void block_of_words(const inv_stream *s, uint32_t index, uint32_t slot,
                           uint32_t out[BLOCK])
{
	__m256i w[4], ordered[4];

	eight_slots(s, index, slot, w);
	in_order(w, ordered);
	for (int i = 0; i < 4; i++)
		_mm256_storeu_si256((__m256i *)(void *)(out + i * LANES), ordered[i]);
}

static void words_avx2(const inv_stream *s, uint32_t index, uint32_t first, size_t slots,
                       uint32_t *out)
{
	uint32_t rest[BLOCK];
	size_t i = 0;

	for (; i + LANES <= slots; i += LANES)
		block_of_words(s, index, first + (uint32_t)i, out + 4 * i);
	if (i < slots) {
		block_of_words(s, index, first + (uint32_t)i, rest);
		memcpy(out + 4 * i, rest, 4 * (slots - i) * sizeof *out);
	}
}

/* ---- Box and Muller ---------------------------------------------------------- */

/* An unsigned word below 2^52 has its double beside that of 2^52. */
static inline __m256d to_double(__m128i words)
{
	const __m256i two52 = _mm256_set1_epi64x(0x4330000000000000);
	__m256i wide = _mm256_or_si256(_mm256_cvtepu32_epi64(words), two52);

	return _mm256_sub_pd(_mm256_castsi256_pd(wide), _mm256_castsi256_pd(two52));
}

/* c[0] + x (c[1] + x (…)) */
static inline __m256d polynomial(__m256d x, const double *c, int count)
{
	__m256d sum = _mm256_set1_pd(c[count - 1]);

#pragma GCC unroll 8
	for (int i = count - 2; i >= 0; i--)
		sum = _mm256_fmadd_pd(sum, x, _mm256_set1_pd(c[i]));
	return sum;
}

/*
 * log(x), x positive and normal: x = m 2^e with m in [1/sqrt(2), sqrt(2)), then
 * log m = 2 atanh((m - 1) / (m + 1)) by its series; error below 1e-14.
 */
static inline __m256d log_of(__m256d x)
{
	static const double series[] = {2,      2. / 3,  2. / 5,  2. / 7,
	                                2. / 9, 2. / 11, 2. / 13, 2. / 15};
	const __m256d one = _mm256_set1_pd(1);
	const __m256i shift = _mm256_set1_epi64x(0x3ff0000000000000 - 0x3fe6a09e667f3bcd);
	__m256i bits = _mm256_add_epi64(_mm256_castpd_si256(x), shift);
	__m256i power = _mm256_srli_epi64(bits, 52); /* e + 1023 */
	__m256i m = _mm256_sub_epi64(
		_mm256_castpd_si256(x),
		_mm256_slli_epi64(_mm256_sub_epi64(power, _mm256_set1_epi64x(1023)), 52));
	__m256d e = _mm256_sub_pd(
		_mm256_castsi256_pd(_mm256_or_si256(power, _mm256_set1_epi64x(0x4330000000000000))),
		_mm256_set1_pd(0x1p52 + 1023));
	__m256d t = _mm256_div_pd(_mm256_sub_pd(_mm256_castsi256_pd(m), one),
	                          _mm256_add_pd(_mm256_castsi256_pd(m), one));
	__m256d log_m = _mm256_mul_pd(t, polynomial(_mm256_mul_pd(t, t), series, 8));

	return _mm256_fmadd_pd(e, _mm256_set1_pd(0x1.62e42fefa39efp-1), log_m);
}

/*
 * cos and sin of 2 pi turn, turn in [0, 1): the nearest quarter is taken off, the
 * series of what is left, at most an eighth of a turn, is below 1e-11 off.
 */
static inline __m256d cos_sin(__m256d turn, __m256d *sine)
{
	static const double sines[] = {1,          -1. / 6,     1. / 120,
	                               -1. / 5040, 1. / 362880, -1. / 39916800};
	static const double cosines[] = {1,          -1. / 2,       1. / 24,       -1. / 720,
	                                 1. / 40320, -1. / 3628800, 1. / 479001600};
	const __m256d sign = _mm256_set1_pd(-0.0);
	__m256d quarter = _mm256_round_pd(_mm256_mul_pd(turn, _mm256_set1_pd(4)),
	                                  _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
	__m256d x = _mm256_mul_pd(_mm256_fnmadd_pd(quarter, _mm256_set1_pd(0.25), turn),
	                          _mm256_set1_pd(0x1.921fb54442d18p+2));
	__m256d x2 = _mm256_mul_pd(x, x);
	__m256d s = _mm256_mul_pd(x, polynomial(x2, sines, 6)), c = polynomial(x2, cosines, 7);
	__m256i q = _mm256_cvtepi32_epi64(_mm256_cvtpd_epi32(quarter));
	__m256d odd = _mm256_castsi256_pd(_mm256_slli_epi64(q, 63));
	__m256d swapped_c = _mm256_blendv_pd(c, s, odd),
			swapped_s = _mm256_blendv_pd(s, c, odd);
	/* cos changes its sign in quarters 1 and 2, sin in 2 and 3. */
	__m256i q1 = _mm256_add_epi64(q, _mm256_set1_epi64x(1));
	__m256d flip_c = _mm256_and_pd(_mm256_castsi256_pd(_mm256_slli_epi64(q1, 62)), sign);
	__m256d flip_s = _mm256_and_pd(_mm256_castsi256_pd(_mm256_slli_epi64(q, 62)), sign);

	*sine = _mm256_xor_pd(swapped_s, flip_s);
	return _mm256_xor_pd(swapped_c, flip_c);
}

/* Two normals of four pairs of words: cos parts in *first, sin parts in *second. */
static inline void four_pairs(__m128i a, __m128i b, __m128 *first, __m128 *second)
{
	__m256d u = _mm256_mul_pd(_mm256_add_pd(to_double(a), _mm256_set1_pd(1)),
	                          _mm256_set1_pd(0x1p-32));
	__m256d radius = _mm256_sqrt_pd(_mm256_mul_pd(_mm256_set1_pd(-2), log_of(u)));
	__m256d sine,
		cosine = cos_sin(_mm256_mul_pd(to_double(b), _mm256_set1_pd(0x1p-32)), &sine);

	*first = _mm256_cvtpd_ps(_mm256_mul_pd(radius, cosine));
	*second = _mm256_cvtpd_ps(_mm256_mul_pd(radius, sine));
}

/* The normals of words a and b of eight slots: eight of cosines, eight of sines. */
static inline void eight_pairs(__m256i a, __m256i b, __m256i *first, __m256i *second)
{
	__m128 c0, c1, s0, s1;

	four_pairs(_mm256_castsi256_si128(a), _mm256_castsi256_si128(b), &c0, &s0);
	four_pairs(_mm256_extracti128_si256(a, 1), _mm256_extracti128_si256(b, 1), &c1, &s1);
	*first = _mm256_castps_si256(_mm256_set_m128(c1, c0));
	*second = _mm256_castps_si256(_mm256_set_m128(s1, s0));
}

static void block_of_normals(const inv_stream *s, uint32_t index, uint32_t slot,
                             float out[BLOCK])
{
	__m256i w[4], n[4], ordered[4];

	eight_slots(s, index, slot, w);
	eight_pairs(w[0], w[1], &n[0], &n[1]);
	eight_pairs(w[2], w[3], &n[2], &n[3]);
	in_order(n, ordered);
	for (int i = 0; i < 4; i++)
		_mm256_storeu_ps(out + i * LANES, _mm256_castsi256_ps(ordered[i]));
}

static void normal_avx2(const inv_stream *s, uint32_t index, float *out, size_t count)
{
	float rest[BLOCK];
	size_t i = 0;

	for (; i + BLOCK <= count; i += BLOCK)
		block_of_normals(s, index, (uint32_t)(i / 4), out + i);
	if (i < count) {
		block_of_normals(s, index, (uint32_t)(i / 4), rest);
		memcpy(out + i, rest, (count - i) * sizeof *out);
	}
}

void inv_kernels_random_avx2(struct inv_kernels *k)
{
	k->words = words_avx2;
	k->normal = normal_avx2;
}
