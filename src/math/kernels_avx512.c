/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels_avx512.c - the two inner loops of products, for AVX-512 with VNNI.
 *
 * A panel is one vector wide, so a multiply-add needs no second load, and a number of the
 * strip is broadcast as part of it. Each sum has the same terms in the same order as with
 * AVX2: the bits are the same. Two strips at a time make twelve sums, as many as two units
 * with a latency of four or five cycles need.
 */
#include <immintrin.h>
#include <string.h>

#include "math/kernels.h"

enum { R = INV_STRIP_ROWS, C = INV_PANEL_COLS, AHEAD = 128, ALL = 0xffff };

static inline __attribute__((always_inline)) __m512 finish(const inv_panel_product *p,
                                                           __mmask16 columns, __m512 sum)
{
	if (p->bias)
		sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(columns, p->bias));
	return p->relu ? _mm512_max_ps(_mm512_setzero_ps(), sum) : sum; /* NaN stays */
}

static inline __attribute__((always_inline)) __m512
mask_row(const inv_panel_product *p, size_t row, __mmask16 columns, __m512 sum)
{
	const __m512 by = _mm512_maskz_loadu_ps(columns, p->mask + row * p->mask_stride);
	const __m512 so_far = _mm512_maskz_loadu_ps(columns, p->sums);

	sum = _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(by, _mm512_setzero_ps(), _CMP_GT_OQ), sum);
	_mm512_mask_storeu_ps(p->sums, columns, _mm512_add_ps(so_far, sum));
	return sum;
}

/* `count` strips that follow each other, from `row` on; the last has `rows` rows. */
static inline __attribute__((always_inline)) void
multiply_strips(const size_t count, const size_t rows, const float *a,
                const inv_panel_product *p, size_t row)
{
	const size_t from_stride = p->from ? p->from_stride : p->stride;
	const float *from = (p->from ? p->from : p->c) + row * from_stride;
	float *c = p->c + row * p->stride;
	const size_t step = p->k * R, all = (count - 1) * R + rows;
	const __mmask16 columns = (__mmask16)((1u << p->columns) - 1);
	const float *b = p->panel;
	__m512 sum[2 * R];

#pragma GCC unroll 12
	for (size_t i = 0; i < all; i++) {
		sum[i] = _mm512_setzero_ps();
		_mm_prefetch((const char *)(c + i * p->stride), _MM_HINT_T0);
		if (p->from)
			_mm_prefetch((const char *)(from + i * from_stride), _MM_HINT_T0);
		if (p->mask)
			_mm_prefetch((const char *)(p->mask + (row + i) * p->mask_stride), _MM_HINT_T0);
	}
#pragma GCC unroll 2
	for (size_t l = 0; l < p->k; l++, a += R, b += C) {
		const __m512 x = _mm512_loadu_ps(b);

		_mm_prefetch((const char *)(a + AHEAD), _MM_HINT_T0);
		_mm_prefetch((const char *)(b + p->k * C), _MM_HINT_T1);
#pragma GCC unroll 12
		for (size_t i = 0; i < all; i++)
			sum[i] = _mm512_fmadd_ps(_mm512_set1_ps(a[i / R * step + i % R]), x, sum[i]);
	}
#pragma GCC unroll 12
	for (size_t i = 0; i < all; i++, c += p->stride, from += from_stride) {
		if (p->add)
			sum[i] = _mm512_add_ps(_mm512_maskz_loadu_ps(columns, from), sum[i]);
		sum[i] = finish(p, columns, sum[i]);
		if (p->mask)
			sum[i] = mask_row(p, row + i, columns, sum[i]);
		_mm512_mask_storeu_ps(c, columns, sum[i]);
	}
}

static void multiply_rest(size_t rows, const float *a, const inv_panel_product *p,
                          size_t row)
{
	switch (rows) {
	case 1:
		multiply_strips(1, 1, a, p, row);
		break;
	case 2:
		multiply_strips(1, 2, a, p, row);
		break;
	case 3:
		multiply_strips(1, 3, a, p, row);
		break;
	case 4:
		multiply_strips(1, 4, a, p, row);
		break;
	case 5:
		multiply_strips(1, 5, a, p, row);
		break;
	default:
		multiply_strips(1, R, a, p, row);
	}
}

static void panel_product_avx512(const inv_panel_product *p)
{
	size_t i = 0;

	for (; i + 2 * R <= p->rows; i += 2 * R)
		multiply_strips(2, R, p->strips + i * p->k, p, i);
	for (; i < p->rows; i += R)
		multiply_rest(p->rows - i, p->strips + i * p->k, p, i);
}

/* Of one panel, each multiply-add would wait for the one before. */
static void row_product_avx512(const inv_panel_product *p)
{
	const float *from = p->from ? p->from : p->c;
	__m512 sum[INV_SIDE_PANELS];

#pragma GCC unroll 4
	for (size_t i = 0; i < INV_SIDE_PANELS; i++)
		sum[i] = _mm512_setzero_ps();
#pragma GCC unroll 2
	for (size_t l = 0; l < p->k; l++) {
		const __m512 x = _mm512_set1_ps(p->strips[l]);

#pragma GCC unroll 4
		for (size_t i = 0; i < INV_SIDE_PANELS; i++)
			sum[i] =
				_mm512_fmadd_ps(x, _mm512_loadu_ps(p->panel + (i * p->k + l) * C), sum[i]);
	}
	for (size_t i = 0; i < INV_SIDE_PANELS; i++) {
		const inv_panel_product panel = inv_panel_at(p, i * C);

		if (p->add)
			sum[i] = _mm512_add_ps(_mm512_loadu_ps(from + i * C), sum[i]);
		sum[i] = finish(&panel, ALL, sum[i]);
		if (p->mask)
			sum[i] = mask_row(&panel, 0, ALL, sum[i]);
		_mm512_storeu_ps(panel.c, sum[i]);
	}
}

static void dot_tile_avx512(const int16_t *a, const int16_t *b, size_t pairs, int32_t *sums)
{
	__m512i sum[INV_DOT_ROWS];

#pragma GCC unroll 6
	for (int i = 0; i < INV_DOT_ROWS; i++)
		sum[i] = _mm512_loadu_si512(sums + i * INV_DOT_COLS);
#pragma GCC unroll 2
	for (size_t k = 0; k < pairs; k++, a += 2 * INV_DOT_ROWS, b += 2 * INV_DOT_COLS) {
		const __m512i x = _mm512_loadu_si512(b);

#pragma GCC unroll 6
		for (int i = 0; i < INV_DOT_ROWS; i++) {
			int pair;

			memcpy(&pair, a + 2 * i, sizeof pair);
			sum[i] = _mm512_dpwssd_epi32(sum[i], _mm512_set1_epi32(pair), x);
		}
	}
#pragma GCC unroll 6
	for (int i = 0; i < INV_DOT_ROWS; i++)
		_mm512_storeu_si512(sums + i * INV_DOT_COLS, sum[i]);
}

void inv_kernels_avx512(struct inv_kernels *k)
{
	k->panel_product = panel_product_avx512;
	k->row_product = row_product_avx512;
	k->dot_tile = dot_tile_avx512;
}
