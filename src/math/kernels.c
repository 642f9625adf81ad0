/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.c - choosing the kernels, lowest flavour to highest. */
#include "math/kernels.h"

#include "base/context.h"

void inv_kernels_init(struct inv_kernels *k, unsigned cpu)
{
	inv_kernels_ref(k); /* complete, portable, obviously right */
#if defined(__x86_64__)
	if (cpu & INV_CPU_AVX2) { /* overrides what it improves */
		inv_kernels_avx2(k);
		inv_kernels_random_avx2(k);
		inv_kernels_sliced_avx2(k);
		inv_kernels_tokens_avx2(k);
		inv_kernels_panels_avx2(k);
		inv_kernels_lanes_avx2(k);
	}
	if (cpu & INV_CPU_AVX512) {
		inv_kernels_avx512(k);
		inv_kernels_random_avx512(k);
	}
#elif defined(__aarch64__)
	if (cpu & INV_CPU_NEON) {
		inv_kernels_neon(k);
		inv_kernels_random_neon(k);
		inv_kernels_sliced_neon(k);
		inv_kernels_tokens_neon(k);
		inv_kernels_panels_neon(k);
		inv_kernels_lanes_neon(k);
	}
#else
	(void)cpu;
#endif
}
