/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resize_avx2.c - the two passes over bytes for AVX2.
 *
 * A weight of 23 bits does not fit the 16-bit products of vpmaddwd, so it is cut into
 * high * 4096 + low, and two exact sums are joined at the end: the same bytes as from the
 * plain loops, which multiply 32-bit numbers.
 */
#include <immintrin.h>
#include <string.h>

#include "images/resize_kernels.h"

enum { LOW_BITS = 12, TAPS = 4, COLUMNS = 16 };

/* (high << 12) + low, rounded and clamped to bytes; as 32-bit lanes. */
static inline __m128i join(__m128i high, __m128i low)
{
	const __m128i half = _mm_set1_epi32(1 << (INV_WEIGHT_BITS - 1));
	__m128i sum = _mm_add_epi32(_mm_slli_epi32(high, LOW_BITS), low);

	return _mm_srai_epi32(_mm_add_epi32(sum, half), INV_WEIGHT_BITS);
}

static inline __m128i fold(__m256i x)
{
	return _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
}

/* ---- Rows of RGB ---------------------------------------------------------------- */

/* Four pixels of three bytes -> pairs (r0 r1 g0 g1 b0 b1 . .), (r2 r3 …), 16-bit. */
static inline __m256i spread_rgb(__m128i pixels)
{
	const __m256i places = _mm256_setr_epi8(
		0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1, /* the first two */
		6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1);

	return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(pixels), places);
}

/* Four weights of 16 bits -> (w0 w1) in the low lanes, (w2 w3) in the high ones. */
static inline __m256i spread_weights(const int16_t *weight)
{
	const __m256i pairs = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1);
	__m128i four = _mm_loadl_epi64((const __m128i *)weight);

	return _mm256_permutevar8x32_epi32(_mm256_castsi128_si256(four), pairs);
}

static inline void rgb_pixel(const inv_fixed_taps *t, size_t i, const uint8_t *in,
                             uint8_t *out)
{
	const uint8_t *p = in + 3 * (size_t)t->first[i];
	__m256i high = _mm256_setzero_si256(), low = high;
	__m128i level;
	uint32_t bytes;

	for (int32_t j = 0; j < t->count[i]; j += TAPS) {
		__m256i x = spread_rgb(_mm_loadu_si128((const __m128i *)(p + 3 * j)));
		size_t at = i * t->stride + (size_t)j;

		high = _mm256_add_epi32(high, _mm256_madd_epi16(x, spread_weights(t->high + at)));
		low = _mm256_add_epi32(low, _mm256_madd_epi16(x, spread_weights(t->low + at)));
	}
	level = join(fold(high), fold(low));
	level = _mm_packus_epi16(_mm_packs_epi32(level, level), level);
	bytes = (uint32_t)_mm_cvtsi128_si32(level);
	memcpy(out, &bytes, 3);
}

static void row_avx2(const inv_fixed_taps *t, const uint8_t *in, size_t channels,
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

/* Sums of 16 columns: lanes of a unpacked low half and high half, 8 columns each. */
typedef struct sums {
	__m256i high[2], low[2];
} sums;

static inline void add_two_rows(sums *s, __m128i a, __m128i b, int32_t high, int32_t low)
{
	__m256i x = _mm256_cvtepu8_epi16(a), y = _mm256_cvtepu8_epi16(b);
	__m256i pair[2] = {_mm256_unpacklo_epi16(x, y), _mm256_unpackhi_epi16(x, y)};

	for (int k = 0; k < 2; k++) {
		s->high[k] = _mm256_add_epi32(s->high[k],
		                              _mm256_madd_epi16(pair[k], _mm256_set1_epi32(high)));
		s->low[k] =
			_mm256_add_epi32(s->low[k], _mm256_madd_epi16(pair[k], _mm256_set1_epi32(low)));
	}
}

static inline int32_t pair_of(const int16_t *weight)
{
	int32_t two;

	memcpy(&two, weight, sizeof two);
	return two;
}

static inline __m256i join_wide(__m256i high, __m256i low)
{
	return _mm256_set_m128i(
		join(_mm256_extracti128_si256(high, 1), _mm256_extracti128_si256(low, 1)),
		join(_mm256_castsi256_si128(high), _mm256_castsi256_si128(low)));
}

static inline void sixteen_columns(const inv_fixed_taps *t, size_t i, const uint8_t *p,
                                   size_t bytes, uint8_t *out)
{
	const int16_t *high = t->high + i * t->stride, *low = t->low + i * t->stride;
	sums s;
	__m256i words;

	memset(&s, 0, sizeof s);
	for (int32_t j = 0; j < t->count[i]; j += 2, p += 2 * bytes) {
		__m128i a = _mm_loadu_si128((const __m128i *)p), b = _mm_setzero_si128();

		if (j + 1 < t->count[i])
			b = _mm_loadu_si128((const __m128i *)(p + bytes));
		add_two_rows(&s, a, b, pair_of(high + j), pair_of(low + j));
	}
	words =
		_mm256_packs_epi32(join_wide(s.high[0], s.low[0]), join_wide(s.high[1], s.low[1]));
	words = _mm256_permute4x64_epi64(_mm256_packus_epi16(words, words),
	                                 _MM_SHUFFLE(3, 1, 2, 0));
	_mm_storeu_si128((__m128i *)out, _mm256_castsi256_si128(words));
}

/* The last 16 columns end with the row and may overlap those already computed. */
static void column_avx2(const inv_fixed_taps *t, size_t i, const uint8_t *in, size_t bytes,
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

void inv_resize_kernels_avx2(struct inv_resize_kernels *k)
{
	k->row = row_avx2;
	k->column = column_avx2;
}
