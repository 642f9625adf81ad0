/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lanes_avx2.c - the kernels of lanes.h for AVX2, and attraction by eight edges.
 *
 * Points lie as pairs (x, y), so an edge costs one load of 64 bits; a gather of the same
 * eight pairs takes longer.
 */
#include <immintrin.h>

#include "math/lanes.h"

static inline __m128 two_points(const float *y, uint32_t first, uint32_t second)
{
	__m128 low =
		_mm_castpd_ps(_mm_load_sd((const double *)(const void *)(y + 2 * (size_t)first)));

	return _mm_loadh_pi(low, (const __m64 *)(const void *)(y + 2 * (size_t)second));
}

static inline __m256 four_points(const float *y, const uint32_t *index, size_t a, size_t b)
{
	return _mm256_set_m128(two_points(y, index[b], index[b + 1]),
	                       two_points(y, index[a], index[a + 1]));
}

static inline float sum_of(__m256 x)
{
	__m128 s = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));

	s = _mm_add_ps(s, _mm_movehl_ps(s, s));
	return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

static void attract_avx2(const float *y, size_t self, const uint32_t *index,
                         const float *weight, size_t count, float force[2])
{
	const __m256 x0 = _mm256_set1_ps(y[2 * self]), x1 = _mm256_set1_ps(y[2 * self + 1]);
	const __m256 one = _mm256_set1_ps(1);
	__m256 f0 = _mm256_setzero_ps(), f1 = f0;

	for (size_t i = 0; i < count; i += INV_EDGES) {
		__m256 a = four_points(y, index + i, 0, 4), b = four_points(y, index + i, 2, 6);
		__m256 d0 = _mm256_sub_ps(x0, _mm256_shuffle_ps(a, b, 0x88));
		__m256 d1 = _mm256_sub_ps(x1, _mm256_shuffle_ps(a, b, 0xdd));
		__m256 square = _mm256_fmadd_ps(d0, d0, _mm256_mul_ps(d1, d1));
		__m256 w = _mm256_div_ps(_mm256_loadu_ps(weight + i), _mm256_add_ps(one, square));

		f0 = _mm256_fmadd_ps(w, d0, f0);
		f1 = _mm256_fmadd_ps(w, d1, f1);
	}
	force[0] = sum_of(f0);
	force[1] = sum_of(f1);
}

void inv_kernels_lanes_avx2(struct inv_kernels *k)
{
	k->fft = fft;
	k->fft_back = fft_back;
	k->multiply_spectra = multiply_spectra;
	k->spline_weights = spline_weights;
	k->spread_spline = spread_spline;
	k->gather_spline = gather_spline;
	k->thin_pass = thin_pass;
	k->attract = attract_avx2;
}
