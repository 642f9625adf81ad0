/* SPDX-License-Identifier: Apache-2.0 */
/* transpose_avx2.h - transposes eight rows of eight floats in registers. */
#ifndef INV_TRANSPOSE_AVX2_H
#define INV_TRANSPOSE_AVX2_H

#include <immintrin.h>

/* Pairs, then quads, then halves swap. */
static inline void inv_transpose_block(__m256 r[8])
{
	__m256 t[8];

#pragma GCC unroll 4
	for (int i = 0; i < 8; i += 2) {
		t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
		t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
	}
#pragma GCC unroll 2
	for (int i = 0; i < 8; i += 4) {
		r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
		r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
		r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
		r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
	}
#pragma GCC unroll 4
	for (int i = 0; i < 4; i++) {
		t[i] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
		t[i + 4] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
	}
#pragma GCC unroll 8
	for (int i = 0; i < 8; i++)
		r[i] = t[i];
}

#endif
