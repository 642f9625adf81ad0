/* SPDX-License-Identifier: Apache-2.0 */
/* fourier_avx2.c - the kernels of fourier.h, compiled for AVX2. */
#include "math/fourier.h"

void inv_kernels_fourier_avx2(struct inv_kernels *k)
{
	set_fourier(k);
}
