/* SPDX-License-Identifier: Apache-2.0 */
/*
 * panels_avx2.c - products of strips and panels: 6 x 16 sums in 12 registers.
 *
 * Two loads of the panel and six broadcasts of the strip feed twelve multiply-adds. All
 * loops over the rows of a strip are unrolled, or the sums would spill to memory. The next
 * data is prefetched: the rows of c, the strip further on, and, into the L2 cache, the next
 * panel. Of one row, the sums of several panels are made at once.
 */
#include <immintrin.h>

#include "math/panel_rows.h"
#include "math/transpose_avx2.h"

enum { LANES = 8, HALVES = 2 * INV_SIDE_PANELS, AHEAD = 128, TURN = 8, LINE = 16 };

/* Rows of six are stored as eight, whose last two the next row overwrites. */
static void pack_strip(const float *const row[R], size_t ahead, size_t k, float *out)
{
	size_t l = 0;

	for (; l + LANES <= k; l += LANES) {
		__m256 r[LANES];

		if (l % LINE == 0)
			for (int i = 0; i < R; i++)
				_mm_prefetch((const char *)(row[i] + ahead + l), _MM_HINT_T1);

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
		pack_strip(row, R * stride, k, strips + i * k);
	}
}

/* The first `count` lanes. */
static __m256i lanes_below(size_t count)
{
	const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);

	return _mm256_cmpgt_epi32(_mm256_set1_epi32(count < LANES ? (int)count : LANES), lane);
}

/* The hardware does not foresee that rows far apart are read one after the other. */
static inline void prefetch_column(const float *x, size_t stride, size_t rows)
{
	for (size_t i = 0; i < rows; i++)
		_mm_prefetch((const char *)(x + i * stride), _MM_HINT_T1);
}

/*
 * Six columns of k rows of a to one strip; nothing is read past `columns`. Sixes are stored
 * as eights here too, the last one apart, as it may be followed by another strip.
 */
static inline __attribute__((always_inline)) void
pack_columns(const float *a, size_t stride, size_t columns, size_t k, float *out)
{
	const __m256i mask = lanes_below(columns);
	__m256 last;

	for (size_t l = 0; l + 1 < k; l++)
		_mm256_storeu_ps(out + l * R, columns >= LANES
		                                  ? _mm256_loadu_ps(a + l * stride)
		                                  : _mm256_maskload_ps(a + l * stride, mask));
	last = _mm256_maskload_ps(a + (k - 1) * stride, mask);
	_mm_storeu_ps(out + (k - 1) * R, _mm256_castps256_ps128(last));
	_mm_storel_pi((__m64 *)(void *)(out + (k - 1) * R + 4), _mm256_extractf128_ps(last, 1));
}

/* A few rows of a at a time, each from its beginning to its end. */
static void pack_strips_turned_avx2(const float *a, size_t stride, size_t rows, size_t k,
                                    float *strips)
{
	for (size_t l = 0; l < k; l += TURN) {
		size_t now = k - l < TURN ? k - l : TURN;

		for (size_t i = 0; i < rows; i += LINE)
			prefetch_column(a + (l + TURN) * stride + i, stride, now);
		for (size_t i = 0; i < rows; i += R)
			pack_columns(a + l * stride + i, stride, rows - i, now, strips + i * k + l * R);
	}
}

static inline __attribute__((always_inline)) void
copy_columns(const float *x, size_t stride, size_t columns, size_t k, float *out)
{
	const __m256i left = lanes_below(columns);
	const __m256i right = lanes_below(columns > LANES ? columns - LANES : 0);

	if (columns >= C)
		for (size_t l = 0; l < k; l++) {
			_mm256_storeu_ps(out + l * C, _mm256_loadu_ps(x + l * stride));
			_mm256_storeu_ps(out + l * C + LANES, _mm256_loadu_ps(x + l * stride + LANES));
		}
	else
		for (size_t l = 0; l < k; l++) {
			_mm256_storeu_ps(out + l * C, _mm256_maskload_ps(x + l * stride, left));
			_mm256_storeu_ps(out + l * C + LANES,
			                 _mm256_maskload_ps(x + l * stride + LANES, right));
		}
}

static void fill_panels_avx2(const float *x, size_t stride, size_t k, size_t columns,
                             float *panels, size_t step)
{
	for (size_t l = 0; l < k; l += TURN) {
		size_t now = k - l < TURN ? k - l : TURN;

		for (size_t j = 0; j < columns; j += LINE)
			prefetch_column(x + (l + TURN) * stride + j, stride, now);
		for (size_t j = 0; j < columns; j += C)
			copy_columns(x + l * stride + j, stride, columns - j, now,
			             panels + j / C * step + l * C);
	}
}

static inline __attribute__((always_inline)) __m256 mask_half(const float *mask,
                                                              float *sums, __m256 sum)
{
	sum = _mm256_and_ps(
		sum, _mm256_cmp_ps(_mm256_loadu_ps(mask), _mm256_setzero_ps(), _CMP_GT_OQ));
	_mm256_storeu_ps(sums, _mm256_add_ps(_mm256_loadu_ps(sums), sum));
	return sum;
}

static inline __attribute__((always_inline)) __m256 finish(const inv_panel_product *p,
                                                           const float *bias, __m256 sum)
{
	if (bias)
		sum = _mm256_add_ps(sum, _mm256_loadu_ps(bias));
	return p->relu ? _mm256_max_ps(_mm256_setzero_ps(), sum) : sum; /* NaN stays */
}

static inline __attribute__((always_inline)) void multiply_strip(const size_t rows,
                                                                 const float *a,
                                                                 const inv_panel_product *p,
                                                                 const place *at)
{
	const float *b = p->panel, *from = at->from, *bias = at->bias, *mask = at->mask;
	float *c = at->c;
	__m256 left[R], right[R];

#pragma GCC unroll 6
	for (size_t i = 0; i < rows; i++) {
		left[i] = right[i] = _mm256_setzero_ps();
		_mm_prefetch((const char *)(c + i * at->stride), _MM_HINT_T0);
		if (from != c)
			_mm_prefetch((const char *)(from + i * at->from_stride), _MM_HINT_T0);
		if (mask)
			_mm_prefetch((const char *)(mask + i * at->mask_stride), _MM_HINT_T0);
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
	for (size_t i = 0; i < rows; i++, c += at->stride, from += at->from_stride) {
		if (p->add) {
			left[i] = _mm256_add_ps(_mm256_loadu_ps(from), left[i]);
			right[i] = _mm256_add_ps(_mm256_loadu_ps(from + LANES), right[i]);
		}
		left[i] = finish(p, bias, left[i]);
		right[i] = finish(p, bias ? bias + LANES : NULL, right[i]);
		if (mask) {
			left[i] = mask_half(mask, at->sums, left[i]);
			right[i] = mask_half(mask + LANES, at->sums + LANES, right[i]);
			mask += at->mask_stride;
		}
		_mm256_storeu_ps(c, left[i]);
		_mm256_storeu_ps(c + LANES, right[i]);
	}
}

/* Of one panel, each multiply-add would wait for the one before. */
static void row_product_avx2(const inv_panel_product *p)
{
	const float *from = p->from ? p->from : p->c;
	__m256 sum[HALVES];

#pragma GCC unroll 8
	for (size_t h = 0; h < HALVES; h++)
		sum[h] = _mm256_setzero_ps();
	for (size_t l = 0; l < p->k; l++) {
		const __m256 x = _mm256_broadcast_ss(p->strips + l);

#pragma GCC unroll 8
		for (size_t h = 0; h < HALVES; h++)
			sum[h] = _mm256_fmadd_ps(
				x, _mm256_loadu_ps(p->panel + (h / 2 * p->k + l) * C + h % 2 * LANES),
				sum[h]);
	}
#pragma GCC unroll 8
	for (size_t h = 0; h < HALVES; h++) {
		size_t j = h * LANES;

		if (p->add)
			sum[h] = _mm256_add_ps(_mm256_loadu_ps(from + j), sum[h]);
		sum[h] = finish(p, p->bias ? p->bias + j : NULL, sum[h]);
		if (p->mask)
			sum[h] = mask_half(p->mask + j, p->sums + j, sum[h]);
		_mm256_storeu_ps(p->c + j, sum[h]);
	}
}

void inv_kernels_panels_avx2(struct inv_kernels *k)
{
	k->pack_strips = pack_strips_avx2;
	k->pack_strips_turned = pack_strips_turned_avx2;
	k->fill_panels = fill_panels_avx2;
	k->panel_product = panel_product;
	k->row_product = row_product_avx2;
}
