/*
 * attention.h - softmax(scale Q K') V for every head of one image, without n^2 copies.
 *
 * Scores of one head are computed for a block of queries at a time and stay in the cache
 * until they have weighed the values. Sums over keys are whole, so neither the block nor
 * anything else but the shape changes a bit.
 */
#ifndef INV_ATTENTION_H
#define INV_ATTENTION_H

#include "base/context.h"
#include "math/kernels.h"

/* Head h of a token's q, k and v stands at columns [h width, (h + 1) width). */
typedef struct inv_attention {
	const invar_context *ctx;
	const struct inv_kernels *kernels;
	size_t queries; /* the first of the tokens; their output alone is computed */
	size_t tokens, heads, width;
	size_t q_stride, kv_stride, out_stride; /* floats from token to token */
} inv_attention;

/* Floats of working space that a run needs. */
size_t inv_attention_room(const inv_attention *a);
void inv_attention_run(const inv_attention *a, const float *q, const float *k,
                       const float *v, float *room, float *out);

/* The definition, in double. */
void inv_attention_ref(const inv_attention *a, const float *q, const float *k,
                       const float *v, double *scores /* [tokens] */, float *out);

#endif
