/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attention.h - softmax(scale Q K') V of the heads of one image, without n^2 memory.
 *
 * Scores of one head are computed for one block of queries at a time and stay in the cache
 * until the values are weighted by them. Sums are done as in panels.h, so that neither the
 * block size nor the other queries change a bit.
 */
#ifndef INV_ATTENTION_H
#define INV_ATTENTION_H

#include "math/kernels.h"

/* Head h of a token's q, k and v is in columns [h width, (h + 1) width). */
typedef struct inv_attention {
	const struct inv_kernels *kernels;
	size_t queries; /* the first tokens; only their output is computed */
	size_t tokens, heads, width;
	size_t q_stride, kv_stride, out_stride; /* floats from token to token */
	bool pairs; /* both products in bfloat16; the softmax between them in float */
} inv_attention;

/* Floats of scratch memory per head. */
uint64_t inv_attention_room(const inv_attention *a);
void inv_attention_head(const inv_attention *a, size_t head, const float *q, const float *k,
                        const float *v, float *scratch, float *out);

/* The definition, of all heads, in double. */
void inv_attention_ref(const inv_attention *a, const float *q, const float *k,
                       const float *v, double *scores /* [tokens] */, float *out);

#endif
