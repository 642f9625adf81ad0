/* SPDX-License-Identifier: Apache-2.0 */
/* kernels.c - choosing the kernels, lowest flavour to highest. */
#include "math/kernels.h"

#include "base/context.h"

#define SET_KERNELS(set)                  \
	do {                                  \
		inv_kernels_##set(k);             \
		inv_kernels_random_##set(k);      \
		inv_kernels_sliced_##set(k);      \
		inv_kernels_tokens_##set(k);      \
		inv_kernels_activations_##set(k); \
		inv_kernels_packing_##set(k);     \
		inv_kernels_products_##set(k);    \
		inv_kernels_maps_##set(k);        \
	} while (0)

void inv_kernels_init(struct inv_kernels *k, unsigned cpu)
{
	inv_kernels_ref(k); /* complete, portable, obviously right */
#if defined(__x86_64__)
	if (cpu & INV_CPU_AVX2) { /* overrides what it improves */
		SET_KERNELS(avx2);
		inv_kernels_fourier_avx2(k);
	}
	if (cpu & INV_CPU_AVX512) {
		inv_kernels_activations_avx512(k);
		inv_kernels_random_avx512(k);
		inv_kernels_products_avx512(k);
		inv_kernels_maps_avx512(k);
		if (cpu & INV_CPU_BFLOAT16) {
			inv_kernels_products_bf16(k);
			inv_kernels_maps_bf16(k);
		}
	}
#elif defined(__aarch64__)
	if (cpu & INV_CPU_NEON)
		SET_KERNELS(neon);
#else
	(void)cpu;
#endif
}
