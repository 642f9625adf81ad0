/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mlp_ranks.h - training passes of an adapter whose hidden units are dealt out to ranks.
 *
 * Each rank has some of the h units: their rows of the first weight, their columns of the
 * second, and the moments of both. Rows are those of the whole batch.
 *
 *     H_r = relu(X W1_r' + b1_r)     [M, h_r]   all rows, own units
 *     H                              [M_r, h]   exchanged: own rows, all units
 *     Y   = H W2' + b2 (+ X)         [M_r, w]   own rows; then all ranks get all
 *     D_r = dY W2_r, masked          [M, h_r]   all rows, own units
 *     dW2_r = dY' H_r, dW1_r = D_r' X
 *
 * No sum is cut: each number is computed by one rank from whole rows or columns, in the
 * order of a single process, so weights are those of one process in every bit. No gradient
 * leaves its rank, and each rank makes the AdamW step of its own weights; their new columns
 * of W2 go to all ranks while the first layer's gradients are computed.
 *
 * Floats into each rank and step: M h / R for H, M w for Y, w h for W2, (R - 1) / R of
 * each.
 */
#ifndef INV_MLP_RANKS_H
#define INV_MLP_RANKS_H

#include "base/processes.h"
#include "nn/adamw.h"
#include "nn/mlp.h"

typedef struct inv_mlp_ranks inv_mlp_ranks;

/*
 * *out is NULL, without an error, if there is a single rank, or if the share of a rank is
 * too small for our own kernels (matmul.h): then every rank computes everything.
 */
invar_status inv_mlp_ranks_new(const invar_context *ctx, inv_mlp_shape s, size_t M,
                               inv_mlp_ranks **out);
size_t inv_mlp_ranks_memory(const inv_mlp_ranks *p);
void inv_mlp_ranks_free(inv_mlp_ranks *p); /* accepts NULL */

/* Weights and moments of all units, laid out as mlp.h has them; the same on all ranks. */
void inv_mlp_ranks_take(inv_mlp_ranks *p, const float *params, const float *m,
                        const float *v);
/* The reverse: all ranks get all of them. */
invar_status inv_mlp_ranks_collect(inv_mlp_ranks *p, float *params, float *m, float *v);

/* x [M, d] -> y [M, w], both whole on every rank. */
invar_status inv_mlp_ranks_forward(inv_mlp_ranks *p, const float *x, bool residual,
                                   float *y);
/* After a forward of the same x: AdamW step t by the gradients of dy [M, w]. */
invar_status inv_mlp_ranks_update(inv_mlp_ranks *p, const float *x, const float *dy,
                                  const inv_adamw *a, double lr, uint64_t t);

#endif
