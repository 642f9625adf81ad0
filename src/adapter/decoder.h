/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decoder.h - D, which rebuilds clean features from their codes (Eq. 32).
 *
 *     R = 1/N sum_i |x_i - D(E(x_i))|^2          summed over dimensions
 *
 * is combined with any loss L as alpha R + beta L. D is an MLP (w, hidden, d), trained
 * together with E. Letters: N clean rows x [N, d] with codes z [N, w].
 */
#ifndef INV_DECODER_H
#define INV_DECODER_H

#include "nn/mlp.h"

typedef struct inv_decoder inv_decoder;

/* PyTorch's distribution, with its own stream. */
void inv_decoder_init(inv_mlp_shape s, uint64_t seed, float *params);

/* s is D's own shape: s.d = w of E, s.w = d of E. */
invar_status inv_decoder_new(const invar_context *ctx, const struct inv_kernels *kernels,
                             inv_mlp_shape s, size_t N, bool backward, inv_decoder **out);
size_t inv_decoder_memory(const inv_decoder *d);
/* R, unweighted; alpha weighs the gradients of the backward pass that may follow. */
invar_status inv_decoder_forward(inv_decoder *d, const float *params, const float *x,
                                 const float *z, double alpha, double *out);
/* alpha dR: of the parameters into grads, of the codes added to dz [N, w]. */
invar_status inv_decoder_backward(inv_decoder *d, const float *params, const float *z,
                                  float *grads, float *dz);
void inv_decoder_free(inv_decoder *d);

#endif
