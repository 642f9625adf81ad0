/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed_layers.h - layers whose weights are rearranged once and applied many times.
 *
 * The result of a row has the same bits whatever rows come with it and on any number of
 * threads. A few rows are computed on the calling thread, see packed_layers.c.
 */
#ifndef INV_PACKED_LAYERS_H
#define INV_PACKED_LAYERS_H

#include "nn/layers.h"

typedef struct inv_packed_layers inv_packed_layers;

/* If it is false, inv_layers_apply is what there is. */
bool inv_packed_layers_usable(const invar_context *ctx);

/* Borrows params, for the biases; its own copy of the weights is as large as they are. */
invar_status inv_packed_layers_new(const invar_context *ctx, const inv_layers_shape *s,
                                   const float *params, inv_packed_layers **out);
void inv_packed_layers_free(inv_packed_layers *p);

/* As inv_layers_apply, from several threads at once too. */
invar_status inv_packed_layers_apply(const inv_packed_layers *p, bool residual,
                                     const float *x, uint64_t rows, float *y);

#endif
