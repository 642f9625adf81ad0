/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mlp.h - E itself: y = W2 relu(W0 x + b0) + b2, forward and backward.
 *
 * Letters: M rows, d features in, h hidden, w out. Two of the layers of
 * layers.h; this file gives their blocks the names used in files.
 */
#ifndef INV_MLP_H
#define INV_MLP_H

#include "nn/layers.h"

enum { INV_MLP_BLOCKS = 4 };

typedef struct inv_mlp_shape {
	size_t d, h, w;
} inv_mlp_shape;

/* One parameter block: "0.weight" [h, d], "0.bias" [h], "2.weight" [w, h], "2.bias" [w]. */
typedef struct inv_mlp_block {
	const char *name;
	unsigned ndim;
	uint64_t shape[2];
	size_t offset, count;
} inv_mlp_block;

void inv_mlp_layout(inv_mlp_shape s, inv_mlp_block blocks[INV_MLP_BLOCKS]);
size_t inv_mlp_floats(inv_mlp_shape s); /* of the whole vector, padding included */

/*
 * PyTorch's Linear: uniform in +-1/sqrt(inputs), weights and biases alike, drawn
 * by (seed, block, element). `zero_last` clears the second layer, so that a residual
 * adapter starts at the identity.
 */
void inv_mlp_init(inv_mlp_shape s, uint64_t seed, bool zero_last, float *params);

/*
 * The plans and activations for batches of M rows; see inv_layers_forward and _backward.
 * The gradient of x is not computed, because F is frozen, unless inv_layers_want_input was
 * called: a decoder's x are codes.
 */
invar_status inv_mlp_pass_new(const invar_context *ctx, inv_mlp_shape s, size_t M,
                              bool backward, inv_layers **out);

/* One-shot forward of any number of rows, safe from several threads at once. */
invar_status inv_mlp_apply(const invar_context *ctx, inv_mlp_shape s, const float *params,
                           bool residual, const float *x, uint64_t rows, float *y);

#endif
