/* SPDX-License-Identifier: Apache-2.0 */
/*
 * panels_avx2.c - products of strips and panels: 6 x 16 sums in 12 registers.
 *
 * Two loads of the panel and six broadcasts of the strip feed twelve multiply-adds. All
 * loops over the rows of a strip are unrolled, or the sums would spill to memory. The next
 * data is prefetched: the rows of c, the strip further on, and, into the L2 cache, the next
 * panel.
 */
#include <immintrin.h>
#include <string.h>

#include "math/kernels.h"
#include "math/transpose_avx2.h"

enum { LANES = 8, R = INV_STRIP_ROWS, C = INV_PANEL_COLS, AHEAD = 128 };

/* Rows of six are stored as eight, whose last two the next row overwrites. */
static void pack_strip(const float *const row[R], size_t k, float *out)
{
	size_t l = 0;

	for (; l + LANES <= k; l += LANES) {
		__m256 r[LANES];

#pragma GCC unroll 8
		for (int i = 0; i < LANES; i++)
			r[i] = _mm256_loadu_ps(row[i < R ? i : 0] + l);
		inv_transpose_block(r);
#pragma GCC unroll 8
		for (int i = 0; i < LANES; i++)
			_mm256_storeu_ps(out + (l + (size_t)i) * R, r[i]);
	}
	for (; l < k; l++)
		for (int i = 0; i < R; i++)
			out[l * R + (size_t)i] = row[i][l];
}

/* Missing rows of the last strip are copies of its first. */
static void pack_strips_avx2(const float *a, size_t stride, size_t rows, size_t k,
                             float *strips)
{
	for (size_t i = 0; i < rows; i += R) {
		const float *row[R];

		for (size_t j = 0; j < R; j++)
			row[j] = a + (i + j < rows ? i + j : i) * stride;
		pack_strip(row, k, strips + i * k);
	}
}

static inline __attribute__((always_inline)) void multiply_strip(const size_t rows,
                                                                 const float *a,
                                                                 const inv_panel_product *p,
                                                                 float *c, size_t stride)
{
	const float *b = p->panel;
	__m256 left[R], right[R];

#pragma GCC unroll 6
	for (size_t i = 0; i < rows; i++) {
		left[i] = right[i] = _mm256_setzero_ps();
		_mm_prefetch((const char *)(c + i * stride), _MM_HINT_T0);
	}
#pragma GCC unroll 4
	for (size_t l = 0; l < p->k; l++, a += R, b += C) {
		const __m256 b0 = _mm256_loadu_ps(b), b1 = _mm256_loadu_ps(b + LANES);

		_mm_prefetch((const char *)(a + AHEAD), _MM_HINT_T0);
		_mm_prefetch((const char *)(b + p->k * C), _MM_HINT_T1);
#pragma GCC unroll 6
		for (size_t i = 0; i < rows; i++) {
			const __m256 x = _mm256_broadcast_ss(a + i);

			left[i] = _mm256_fmadd_ps(x, b0, left[i]);
			right[i] = _mm256_fmadd_ps(x, b1, right[i]);
		}
	}
#pragma GCC unroll 6
	for (size_t i = 0; i < rows; i++, c += stride) {
		if (p->add) {
			left[i] = _mm256_add_ps(_mm256_loadu_ps(c), left[i]);
			right[i] = _mm256_add_ps(_mm256_loadu_ps(c + LANES), right[i]);
		}
		_mm256_storeu_ps(c, left[i]);
		_mm256_storeu_ps(c + LANES, right[i]);
	}
}

static void multiply_rows(size_t rows, const float *a, const inv_panel_product *p, float *c,
                          size_t stride)
{
	switch (rows) {
	case 1:
		multiply_strip(1, a, p, c, stride);
		break;
	case 2:
		multiply_strip(2, a, p, c, stride);
		break;
	case 3:
		multiply_strip(3, a, p, c, stride);
		break;
	case 4:
		multiply_strip(4, a, p, c, stride);
		break;
	case 5:
		multiply_strip(5, a, p, c, stride);
		break;
	default:
		multiply_strip(R, a, p, c, stride);
	}
}

/* An incomplete panel goes through a separate tile. */
static void multiply_part(size_t rows, const float *a, const inv_panel_product *p, float *c)
{
	float tile[R * C];

	for (size_t i = 0; i < rows; i++)
		memcpy(tile + i * C, c + i * p->stride, p->columns * sizeof *c);
	multiply_rows(rows, a, p, tile, C);
	for (size_t i = 0; i < rows; i++)
		memcpy(c + i * p->stride, tile + i * C, p->columns * sizeof *c);
}

static void panel_product_avx2(const inv_panel_product *p)
{
	for (size_t i = 0; i < p->rows; i += R) {
		size_t rows = p->rows - i < R ? p->rows - i : R;

		if (p->columns == C)
			multiply_rows(rows, p->strips + i * p->k, p, p->c + i * p->stride, p->stride);
		else
			multiply_part(rows, p->strips + i * p->k, p, p->c + i * p->stride);
	}
}

void inv_kernels_panels_avx2(struct inv_kernels *k)
{
	k->pack_strips = pack_strips_avx2;
	k->panel_product = panel_product_avx2;
}
