/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mlp_steps.h - forward passes, gradients and AdamW steps of an adapter, for one batch size.
 *
 * A training whose weights change only by inv_mlp_steps_update has its hidden units dealt
 * out where there are several ranks (mlp_steps.c), with the same bits; the caller does not
 * see which. Vectors are laid out as mlp.h has them.
 */
#ifndef INV_MLP_STEPS_H
#define INV_MLP_STEPS_H

#include "nn/adamw.h"
#include "nn/mlp.h"

/* The caller's; those that are not needed may be NULL. */
typedef struct inv_mlp_vectors {
	float *params, *grads, *m, *v;
} inv_mlp_vectors;

typedef struct inv_mlp_steps inv_mlp_steps;

/*
 * M rows per batch; with `backward` also gradients; with `deal` hidden units may be dealt
 * out: then params, m and v are up to date only after inv_mlp_steps_collect. Copies `of`.
 */
invar_status inv_mlp_steps_new(const invar_context *ctx, inv_mlp_shape s, size_t M,
                               bool backward, bool deal, const inv_mlp_vectors *of,
                               inv_mlp_steps **out);
size_t inv_mlp_steps_memory(const inv_mlp_steps *p);
bool inv_mlp_steps_are_dealt(const inv_mlp_steps *p);
void inv_mlp_steps_free(inv_mlp_steps *p); /* accepts NULL */

/* x [M, d] -> y [M, w]. params are those given to new, or others if nothing is dealt. */
invar_status inv_mlp_steps_forward(inv_mlp_steps *p, const float *params, const float *x,
                                   bool residual, float *y);
/* After a forward of the same x: the gradients of dy [M, w]; not with `deal`. */
invar_status inv_mlp_steps_gradients(inv_mlp_steps *p, const float *x, const float *dy);
/*
 * The same and AdamW step t by them. A gradient is used as soon as it is computed, while it
 * is in the cache, and never stored as a whole; the second layer's weights may change once
 * dH has been computed from them.
 */
invar_status inv_mlp_steps_update(inv_mlp_steps *p, const float *x, const float *dy,
                                  const inv_adamw *a, double lr, uint64_t t);
invar_status inv_mlp_steps_collect(inv_mlp_steps *p);

#endif
