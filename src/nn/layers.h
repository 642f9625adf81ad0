/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layers.h - linear layers with ReLU between them: the adapter, and the probes.
 *
 * Letters: M rows; layer l maps width[l] numbers to width[l + 1]. The weight
 * [out, in] and the bias [out] of all layers are stored in one vector, each at a multiple
 * of 16 floats, so that the optimiser and the checkpoint see plain arrays; the padding
 * stays zero.
 */
#ifndef INV_LAYERS_H
#define INV_LAYERS_H

#include "base/memory.h"
#include "base/rng.h"
#include "math/kernels.h"
#include "math/matmul.h"

enum { INV_MAX_LAYERS = 3 };

typedef struct inv_layers_shape {
	size_t count;
	size_t width[INV_MAX_LAYERS + 1]; /* of the input, then of each layer's output */
} inv_layers_shape;

/* Where a layer is in the vector; the next one starts at `end`. */
typedef struct inv_layer_place {
	size_t weight, bias, end;
} inv_layer_place;

inv_layer_place inv_layers_place(const inv_layers_shape *s, size_t layer);
size_t inv_layers_floats(const inv_layers_shape *s); /* of the vector, padding included */

/*
 * PyTorch's Linear: uniform in +-1/sqrt(inputs), weights and biases alike, drawn
 * by (stream, 2 layer for the weight and the next for the bias, element).
 */
void inv_layers_init(const inv_layers_shape *s, const inv_stream *stream, float *params);

/* The plans and activations for batches of M rows; a pass allocates nothing. */
typedef struct inv_layers inv_layers;

invar_status inv_layers_new(const invar_context *ctx, const inv_layers_shape *s, size_t M,
                            bool backward, inv_layers **out);
size_t inv_layers_memory(const inv_layers *p);
/* The first of several layers alone; the result views the pass until the next one. */
invar_status inv_layers_forward_first(inv_layers *p, const float *params, const float *x,
                                      const float **hidden);
/* x [M, in] -> y [M, out]; with `residual`, both have the same width and y = x + layers(x).
 */
invar_status inv_layers_forward(inv_layers *p, const float *params, const float *x,
                                bool residual, float *y);
/*
 * After a forward of the same x: the gradients of one layer, into grads (laid out
 * as params), for dy [M, out]. Layers go from the last to the first; once a layer
 * is done, its parameters may change. The gradient of x is not computed unless planned.
 */
invar_status inv_layers_backward(inv_layers *p, size_t layer, const float *params,
                                 const float *x, const float *dy, float *grads);
/*
 * Gets `count` numbers of the gradient, which belong to the parameters from `at` on, while
 * they are in the cache; called by several threads, each number once.
 */
typedef void inv_gradient_fn(void *user, const float *grad, size_t at, size_t count);
/*
 * The same, but the gradient of the weight goes to `take` only (its place in grads is
 * scratch), which may change the layer's parameters; the bias, in grads, comes last.
 */
invar_status inv_layers_backward_take(inv_layers *p, size_t layer, const float *params,
                                      const float *x, const float *dy, float *grads,
                                      inv_gradient_fn *take, void *user);
/* Plans the gradient of x as well; once, before the first pass. */
invar_status inv_layers_want_input(inv_layers *p);
/*
 * Of at least two layers: dx [M, in], after the backward of layer 1 and before
 * layer 0 changes; without the part that a residual form adds.
 */
invar_status inv_layers_backward_input(inv_layers *p, const float *params, float *dx);
void inv_layers_free(inv_layers *p);

/* One-shot forward of any number of rows, safe from several threads at once. */
invar_status inv_layers_apply(const invar_context *ctx, const inv_layers_shape *s,
                              const float *params, bool residual, const float *x,
                              uint64_t rows, float *y);

#endif
