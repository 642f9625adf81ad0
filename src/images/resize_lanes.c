/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resize_lanes.c - the two passes over bytes over lanes, see math/lanes.h.
 *
 * A weight of 23 bits does not fit 16-bit products, so it is cut into high * 4096 + low,
 * and two exact sums are joined at the end: the same bytes as from the plain loops, which
 * multiply 32-bit numbers.
 */
#include "images/resize_kernels.h"
#include "math/lanes.h"

enum { LOW_BITS = 12, COLUMNS = 16, VECTORS = COLUMNS / LANES };
enum { HALF_LEVEL = 1 << (INV_WEIGHT_BITS - 1) }; /* half a level, for rounding */

#if defined(__aarch64__)

/* Sixteen columns of two rows as pairs. */
INLINE void pair_rows(const uint8_t *a, const uint8_t *b, short_pairs x[2])
{
	uint8x16_t p = vld1q_u8(a), q = b ? vld1q_u8(b) : vdupq_n_u8(0);

	x[0].val[0] = (int16x8_t)vmovl_u8(vget_low_u8(p));
	x[0].val[1] = (int16x8_t)vmovl_u8(vget_low_u8(q));
	x[1].val[0] = (int16x8_t)vmovl_high_u8(p);
	x[1].val[1] = (int16x8_t)vmovl_high_u8(q);
}

/* Clamped to bytes. */
INLINE uint8x8_t eight_bytes(ints a, ints b)
{
	return vqmovn_u16(vcombine_u16(vqmovun_s32(a), vqmovun_s32(b)));
}

INLINE void store_levels(uint8_t *out, const ints x[VECTORS])
{
	vst1q_u8(out, vcombine_u8(eight_bytes(x[0], x[1]), eight_bytes(x[2], x[3])));
}

/* 32-bit products: the colours of a pixel are three lanes, the fourth is ignored. */
INLINE void rgb_pixel(const inv_fixed_taps *t, size_t i, const uint8_t *in, uint8_t *out)
{
	const uint8_t *p = in + 3 * (size_t)t->first[i];
	const int32_t *weight = t->weight + i * t->stride;
	ints sum = {HALF_LEVEL, HALF_LEVEL, HALF_LEVEL, 0};
	uint8_t level[8];

	for (int32_t j = 0; j < t->count[i]; j++, p += 3)
		sum += (ints){p[0], p[1], p[2], 0} * weight[j];
	sum >>= INV_WEIGHT_BITS;
	vst1_u8(level, eight_bytes(sum, sum));
	memcpy(out, level, 3);
}

#else

/* Of each half of a row, the first four columns are in x[0], the others in x[1]. */
INLINE void pair_rows(const uint8_t *a, const uint8_t *b, short_pairs x[2])
{
	const __m128i none = _mm_setzero_si128();
	raw p = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(const void *)a));
	raw q =
		_mm256_cvtepu8_epi16(b ? _mm_loadu_si128((const __m128i *)(const void *)b) : none);

	x[0] = (ints)_mm256_unpacklo_epi16(p, q);
	x[1] = (ints)_mm256_unpackhi_epi16(p, q);
}

INLINE void store_levels(uint8_t *out, const ints x[VECTORS])
{
	raw shorts = _mm256_packs_epi32((raw)x[0], (raw)x[1]);
	raw bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(shorts, shorts), 0xd8);

	_mm_storeu_si128((__m128i *)(void *)out, _mm256_castsi256_si128(bytes));
}

/* Four pixels of three bytes to pairs (r0 r1 g0 g1 b0 b1 . .), (r2 r3 …), 16-bit. */
INLINE raw spread_rgb(const uint8_t *p)
{
	const raw places = _mm256_setr_epi8(
		0, -1, 3, -1, 1, -1, 4, -1, 2, -1, 5, -1, -1, -1, -1, -1, /* the first two */
		6, -1, 9, -1, 7, -1, 10, -1, 8, -1, 11, -1, -1, -1, -1, -1);
	__m128i pixels = _mm_loadu_si128((const __m128i *)(const void *)p);

	return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(pixels), places);
}

/* Four weights of 16 bits to (w0 w1) in the low lanes, (w2 w3) in the high ones. */
INLINE raw spread_weights(const int16_t *weight)
{
	const raw pairs = _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1);
	__m128i four_weights = _mm_loadl_epi64((const __m128i *)(const void *)weight);

	return _mm256_permutevar8x32_epi32(_mm256_castsi128_si256(four_weights), pairs);
}

/* Four taps at a time. */
INLINE void rgb_pixel(const inv_fixed_taps *t, size_t i, const uint8_t *in, uint8_t *out)
{
	const uint8_t *p = in + 3 * (size_t)t->first[i];
	const int16_t *high = t->high + i * t->stride, *low = t->low + i * t->stride;
	ints high_sum = {0}, sum = {0};
	__m128i level;
	uint32_t bytes;

	for (int32_t j = 0; j < t->count[i]; j += 4) {
		raw x = spread_rgb(p + 3 * j);

		high_sum += (ints)_mm256_madd_epi16(x, spread_weights(high + j));
		sum += (ints)_mm256_madd_epi16(x, spread_weights(low + j));
	}
	sum += high_sum << LOW_BITS;
	level = _mm_add_epi32(_mm256_castsi256_si128((raw)sum),
	                      _mm256_extracti128_si256((raw)sum, 1));
	level =
		_mm_srai_epi32(_mm_add_epi32(level, _mm_set1_epi32(HALF_LEVEL)), INV_WEIGHT_BITS);
	level = _mm_packus_epi16(_mm_packs_epi32(level, level), level);
	bytes = (uint32_t)_mm_cvtsi128_si32(level);
	memcpy(out, &bytes, 3);
}

#endif

static void resize_row(const inv_fixed_taps *t, const uint8_t *in, size_t channels,
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

INLINE void sixteen_columns(const inv_fixed_taps *t, size_t i, const uint8_t *p,
                            size_t bytes, uint8_t *out)
{
	const int16_t *high = t->high + i * t->stride, *low = t->low + i * t->stride;
	ints high_sum[VECTORS] = {{0}}, sum[VECTORS] = {{0}};

	for (int32_t j = 0; j < t->count[i]; j += 2, p += 2 * bytes) {
		short_pairs x[2];

		pair_rows(p, j + 1 < t->count[i] ? p + bytes : NULL, x);
#pragma GCC unroll 2
		for (int k = 0; k < 2; k++) {
			add_products(high_sum + k * PAIR_VECTORS, x[k], high + j);
			add_products(sum + k * PAIR_VECTORS, x[k], low + j);
		}
	}
#pragma GCC unroll 4
	for (int v = 0; v < VECTORS; v++)
		sum[v] = (sum[v] + (high_sum[v] << LOW_BITS) + HALF_LEVEL) >> INV_WEIGHT_BITS;
	store_levels(out, sum);
}

/* The last 16 columns end with the row and may overlap those already computed. */
static void resize_column(const inv_fixed_taps *t, size_t i, const uint8_t *in,
                          size_t bytes, uint8_t *out)
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

void INV_OF_SET(inv_resize_kernels)(struct inv_resize_kernels *k)
{
	k->row = resize_row;
	k->column = resize_column;
}
