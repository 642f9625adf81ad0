/* SPDX-License-Identifier: Apache-2.0 */
/* resize_kernels.h - the two passes over bytes, by table as in math/kernels.h. */
#ifndef INV_RESIZE_KERNELS_H
#define INV_RESIZE_KERNELS_H

#include <stddef.h>
#include <stdint.h>

enum { INV_WEIGHT_BITS = 22 };

/*
 * Weights of one axis in units of 2^-22, [out, stride] with zeros beyond the count;
 * stride is a multiple of 4. high * 4096 + low is the weight, for 16-bit products.
 */
typedef struct inv_fixed_taps {
	size_t out, stride;
	const int32_t *first, *count;
	const int32_t *weight;
	const int16_t *high, *low;
} inv_fixed_taps;

struct inv_resize_kernels {
	/*
	 * One row, [w, channels] to [out, channels]. 16 bytes beyond the row may be read.
	 */
	void (*row)(const inv_fixed_taps *t, const uint8_t *in, size_t channels, uint8_t *out);
	/* Row `i` of the result: `bytes` columns, of input rows that are `bytes` long. */
	void (*column)(const inv_fixed_taps *t, size_t i, const uint8_t *in, size_t bytes,
	               uint8_t *out);
};

void inv_resize_kernels_init(struct inv_resize_kernels *k, unsigned cpu);
void inv_resize_kernels_ref(struct inv_resize_kernels *k);
void inv_resize_kernels_avx2(struct inv_resize_kernels *k);
void inv_resize_kernels_neon(struct inv_resize_kernels *k);

#endif
