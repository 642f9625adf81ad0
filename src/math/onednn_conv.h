/* SPDX-License-Identifier: Apache-2.0 */
/* onednn_conv.h - a convolution as a oneDNN primitive, for conv.c only. */
#ifndef INV_ONEDNN_CONV_H
#define INV_ONEDNN_CONV_H

#include "math/conv.h"

typedef struct inv_onednn_conv inv_onednn_conv;

/* False for a oneDNN whose threads are not OpenMP's. If it cannot be loaded, which the
 * calls below report, true. */
bool inv_onednn_usable(void);

/* Channels per block. */
size_t inv_onednn_block(void);

/*
 * `sets` sets of weights and biases, one after the other; each can be run. `like` has the
 * same weights, for other maps or cut into another number of sets, and outlives this one,
 * which views its copy if the order is the same; NULL: none. Without weights *out is NULL
 * if they are needed because the order differs from that of `like`.
 */
invar_status inv_onednn_conv_new(const inv_conv_spec *s, size_t sets, const float *weights,
                                 const float *bias, unsigned threads,
                                 const inv_onednn_conv *like, inv_onednn_conv **out);
size_t inv_onednn_conv_scratch(const inv_onednn_conv *p); /* bytes */
invar_status inv_onednn_conv_run(const inv_onednn_conv *p, size_t set, const float *from,
                                 float *to, void *scratch, unsigned thread);
void inv_onednn_conv_free(inv_onednn_conv *p); /* accepts NULL */

#endif
