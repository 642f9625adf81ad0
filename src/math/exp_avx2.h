/* SPDX-License-Identifier: Apache-2.0 */
/* exp_avx2.h - the exponential of eight numbers; only for files compiled for AVX2. */
#ifndef INV_EXP_AVX2_H
#define INV_EXP_AVX2_H

#include <immintrin.h>

/*
 * exp(x) for x <= 0, within 2 ulp; 0 below -87.3, where results would lose bits. x is split
 * into n log 2 + r, the exponential of r is a polynomial, n goes into the exponent. A NaN
 * stays a NaN: max returns its second argument if either is NaN.
 */
static inline __m256 exp_eight(__m256 x)
{
	const __m256 lowest = _mm256_set1_ps(-87.3f), one = _mm256_set1_ps(1);
	__m256 on = _mm256_cmp_ps(x, lowest, _CMP_NLT_UQ), n, r, y;

	x = _mm256_max_ps(lowest, x);
	n = _mm256_round_ps(_mm256_mul_ps(x, _mm256_set1_ps(1.44269504f)),
	                    _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
	r = _mm256_fnmadd_ps(n, _mm256_set1_ps(0.693359375f), x);
	r = _mm256_fnmadd_ps(n, _mm256_set1_ps(-2.12194440e-4f), r);
	y = _mm256_set1_ps(1.9875691500e-4f);
	y = _mm256_fmadd_ps(y, r, _mm256_set1_ps(1.3981999507e-3f));
	y = _mm256_fmadd_ps(y, r, _mm256_set1_ps(8.3334519073e-3f));
	y = _mm256_fmadd_ps(y, r, _mm256_set1_ps(4.1665795894e-2f));
	y = _mm256_fmadd_ps(y, r, _mm256_set1_ps(1.6666665459e-1f));
	y = _mm256_fmadd_ps(y, r, _mm256_set1_ps(5.0000001201e-1f));
	y = _mm256_add_ps(_mm256_fmadd_ps(_mm256_mul_ps(r, r), y, r), one);
	n = _mm256_castsi256_ps(_mm256_slli_epi32(
		_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23));
	return _mm256_and_ps(on, _mm256_mul_ps(y, n));
}

#endif
