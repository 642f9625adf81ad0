/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tokens_avx2.c - the work on tokens between the products, eight numbers at a time.
 *
 * Widths need not be multiples of eight: the last vector of a row is loaded and stored
 * under a mask. Only that one, because masked stores are slow on some machines.
 */
#include <immintrin.h>

#include "math/exp_avx2.h"
#include "math/gelu_series.h"
#include "math/kernels.h"

enum { LANES = 8 };

static inline __m256i mask_of(size_t left)
{
	const __m256i places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);

	return _mm256_cmpgt_epi32(_mm256_set1_epi32(left < LANES ? (int)left : LANES), places);
}

static inline float sum_eight(__m256 x)
{
	__m128 y = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));

	y = _mm_add_ps(y, _mm_movehl_ps(y, y));
	return _mm_cvtss_f32(_mm_add_ss(y, _mm_movehdup_ps(y)));
}

/* ---- Layer norm ------------------------------------------------------------------- */

static float mean_of(const float *x, size_t width)
{
	__m256 a = _mm256_setzero_ps(), b = a;
	size_t j = 0;

	for (; j + 2 * LANES <= width; j += 2 * LANES) {
		a = _mm256_add_ps(a, _mm256_loadu_ps(x + j));
		b = _mm256_add_ps(b, _mm256_loadu_ps(x + j + LANES));
	}
	for (; j < width; j += LANES)
		a = _mm256_add_ps(a, _mm256_maskload_ps(x + j, mask_of(width - j)));
	return sum_eight(_mm256_add_ps(a, b)) / (float)width;
}

static float variance_of(const float *x, size_t width, float mean)
{
	const __m256 from = _mm256_set1_ps(mean);
	__m256 a = _mm256_setzero_ps(), b = a;
	size_t j = 0;

	for (; j + 2 * LANES <= width; j += 2 * LANES) {
		__m256 p = _mm256_sub_ps(_mm256_loadu_ps(x + j), from);
		__m256 q = _mm256_sub_ps(_mm256_loadu_ps(x + j + LANES), from);

		a = _mm256_fmadd_ps(p, p, a);
		b = _mm256_fmadd_ps(q, q, b);
	}
	for (; j < width; j += LANES) {
		__m256i on = mask_of(width - j);
		__m256 p = _mm256_sub_ps(_mm256_maskload_ps(x + j, on), from);

		p = _mm256_and_ps(p, _mm256_castsi256_ps(on));
		a = _mm256_fmadd_ps(p, p, a);
	}
	return sum_eight(_mm256_add_ps(a, b)) / (float)width;
}

static void norm_row(const inv_layer_norm *n, float *x, float *y)
{
	float mean = mean_of(x, n->width);
	float under = variance_of(x, n->width, mean) + n->eps;
	const __m256 from = _mm256_set1_ps(mean);
	const __m256 by =
		_mm256_div_ps(_mm256_set1_ps(1), _mm256_sqrt_ps(_mm256_set1_ps(under)));

	size_t j = 0;

	for (; j + LANES <= n->width; j += LANES) {
		__m256 old = _mm256_loadu_ps(x + j);
		__m256 z = _mm256_mul_ps(_mm256_sub_ps(old, from), by);

		_mm256_storeu_ps(y + j, _mm256_fmadd_ps(z, _mm256_loadu_ps(n->weight + j),
		                                        _mm256_loadu_ps(n->bias + j)));
		if (n->then)
			_mm256_storeu_ps(x + j, _mm256_add_ps(old, _mm256_loadu_ps(n->then + j)));
	}
	if (j < n->width) {
		__m256i on = mask_of(n->width - j);
		__m256 old = _mm256_maskload_ps(x + j, on);
		__m256 z = _mm256_mul_ps(_mm256_sub_ps(old, from), by);

		z = _mm256_fmadd_ps(z, _mm256_maskload_ps(n->weight + j, on),
		                    _mm256_maskload_ps(n->bias + j, on));
		_mm256_maskstore_ps(y + j, on, z);
		if (n->then)
			_mm256_maskstore_ps(x + j, on,
			                    _mm256_add_ps(old, _mm256_maskload_ps(n->then + j, on)));
	}
}

static void layer_norm_avx2(const inv_layer_norm *n, size_t rows, size_t x_stride,
                            size_t y_stride, float *x, float *y)
{
	for (size_t i = 0; i < rows; i++)
		norm_row(n, x + i * x_stride, y + i * y_stride);
}

static void add_bias_avx2(const float *bias, size_t rows, size_t width, size_t stride,
                          float *x)
{
	for (size_t i = 0; i < rows; i++, x += stride) {
		size_t j = 0;

		for (; j + LANES <= width; j += LANES)
			_mm256_storeu_ps(
				x + j, _mm256_add_ps(_mm256_loadu_ps(x + j), _mm256_loadu_ps(bias + j)));
		for (; j < width; j++)
			x[j] += bias[j];
	}
}

/* ---- Activations ------------------------------------------------------------------ */

/* t Phi(t), see gelu_series.h. */
static inline __m256 gelu_eight(__m256 t)
{
	const __m256 end = _mm256_set1_ps((float)INV_GELU_END);
	const __m256 start = _mm256_set1_ps((float)-INV_GELU_END);
	__m256 low = _mm256_cmp_ps(t, start, _CMP_LT_OQ);
	__m256 x = _mm256_max_ps(start, _mm256_min_ps(end, t)); /* NaN stays one */
	__m256 s = _mm256_fmadd_ps(_mm256_mul_ps(x, x),
	                           _mm256_set1_ps((float)(2 / (INV_GELU_END * INV_GELU_END))),
	                           _mm256_set1_ps(-1));
	__m256 y = _mm256_set1_ps(inv_gelu_series[INV_GELU_TERMS - 1]);

#pragma GCC unroll 14
	for (int i = INV_GELU_TERMS - 2; i >= 0; i--)
		y = _mm256_fmadd_ps(y, s, _mm256_set1_ps(inv_gelu_series[i]));
	y = _mm256_fmadd_ps(y, x, _mm256_set1_ps(0.5f));
	return _mm256_mul_ps(t, _mm256_andnot_ps(low, y));
}

static void bias_gelu_avx2(const float *bias, size_t rows, size_t width, float *x)
{
	for (size_t i = 0; i < rows; i++, x += width) {
		size_t j = 0;

		for (; j + 2 * LANES <= width; j += 2 * LANES) {
			__m256 a = _mm256_add_ps(_mm256_loadu_ps(x + j), _mm256_loadu_ps(bias + j));
			__m256 b = _mm256_add_ps(_mm256_loadu_ps(x + j + LANES),
			                         _mm256_loadu_ps(bias + j + LANES));

			_mm256_storeu_ps(x + j, gelu_eight(a));
			_mm256_storeu_ps(x + j + LANES, gelu_eight(b));
		}
		for (; j < width; j += LANES) {
			__m256i on = mask_of(width - j);
			__m256 a = _mm256_add_ps(_mm256_maskload_ps(x + j, on),
			                         _mm256_maskload_ps(bias + j, on));

			_mm256_maskstore_ps(x + j, on, gelu_eight(a));
		}
	}
}

/* t / (1 + exp(-1.702 t)), using only exponentials of numbers <= 0. */
static inline __m256 quick_gelu_eight(__m256 t)
{
	const __m256 one = _mm256_set1_ps(1), sign = _mm256_set1_ps(-0.0f);
	__m256 z = _mm256_mul_ps(_mm256_set1_ps(1.702f), t);
	__m256 e = exp_eight(_mm256_or_ps(z, sign));
	__m256 above = _mm256_blendv_ps(one, e, t);

	return _mm256_mul_ps(t, _mm256_div_ps(above, _mm256_add_ps(one, e)));
}

static void bias_quick_gelu_avx2(const float *bias, size_t rows, size_t width, float *x)
{
	for (size_t i = 0; i < rows; i++, x += width) {
		size_t j = 0;

		for (; j + LANES <= width; j += LANES)
			_mm256_storeu_ps(x + j,
			                 quick_gelu_eight(_mm256_add_ps(_mm256_loadu_ps(x + j),
			                                                _mm256_loadu_ps(bias + j))));
		if (j < width) {
			__m256i on = mask_of(width - j);
			__m256 a = _mm256_add_ps(_mm256_maskload_ps(x + j, on),
			                         _mm256_maskload_ps(bias + j, on));

			_mm256_maskstore_ps(x + j, on, quick_gelu_eight(a));
		}
	}
}

void inv_kernels_tokens_avx2(struct inv_kernels *k)
{
	k->layer_norm = layer_norm_avx2;
	k->add_bias = add_bias_avx2;
	k->bias_gelu = bias_gelu_avx2;
	k->bias_quick_gelu = bias_quick_gelu_avx2;
}
