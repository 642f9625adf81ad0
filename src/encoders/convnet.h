/* SPDX-License-Identifier: Apache-2.0 */
/*
 * convnet.h - convolutional networks as a list of steps, shared by their families.
 *
 * A family describes its network from the weights: each call below adds a step that reads
 * one value and writes another. Value 0 is the image; the features are the mean over each
 * map of the last value. Batch norms are folded into the convolutions before them, in
 * double. A plan for a shape of images then places the values that are alive at the same
 * time side by side in one buffer per thread, and creates the convolutions once.
 *
 * The first failure is kept and later calls do nothing, so a description needs no checks;
 * inv_convnet_finish returns the failure.
 */
#ifndef INV_CONVNET_H
#define INV_CONVNET_H

#include "encoders/encoder.h"
#include "math/conv.h"

enum { INV_JOIN = 16 }; /* concatenated results start at multiples of this */

typedef struct inv_convnet inv_convnet;

typedef struct inv_layer {
	const char *conv; /* tensors conv.weight [outputs, channels, kernel, kernel] … */
	const char *norm; /* … and those of this batch norm; NULL: conv.bias */
	size_t from;      /* the value it reads */
	size_t to;        /* the value it writes; 0: a new one */
	size_t channel;   /* of `to`, where its results start */
	inv_window window;
	bool add; /* to what `to` holds */
	bool relu;
} inv_layer;

/* The option bn-eps, the same in the tables of the families that have batch norms. */
#define INV_BN_EPS_ROW                                                       \
	.name = "bn-eps", .type = INVAR_OPTION_NUMBER, .initial = "0", .max = 1, \
	.flags = INVAR_OPTION_EXPERT, .meta = "F", .group = "Encoder",           \
	.help = "epsilon of batch norms; 0: the model's default, 1e-5"

/* Becomes e->own; `family` is used in messages. */
invar_status inv_convnet_new(invar_encoder *e, inv_parameters *p, const char *family,
                             inv_convnet **out);
/* Each returns the value that was written. */
size_t inv_convnet_conv(inv_convnet *net, const inv_layer *l);
/* A convolution with weights that are not a tensor of the file; takes them. */
size_t inv_convnet_filter(inv_convnet *net, const inv_layer *l, size_t outputs,
                          float *weights, float *bias);
size_t inv_convnet_pool(inv_convnet *net, size_t from, inv_window w);
/* A value with this number of channels that several layers will write. */
size_t inv_convnet_space(inv_convnet *net, size_t channels);

/* Channels of a value; 0 after a failure. */
size_t inv_convnet_channels(const inv_convnet *net, size_t value);
/*
 * The weights of a layer as they would be used, folded: [outputs, channels, kernel,
 * kernel] and [outputs]; gives, inv_free. The status is kept as well.
 */
invar_status inv_convnet_take(inv_convnet *net, const inv_layer *l, size_t *outputs,
                              float **weights, float **bias);
void inv_convnet_fail(inv_convnet *net, invar_status st); /* keeps the message */

/* `last` becomes the features; fails if an unused tensor's name begins with one of `own`.
 */
invar_status inv_convnet_finish(inv_convnet *net, size_t last, const char *const *own);

/* The rest of an inv_encoder_kind. */
void inv_convnet_close(invar_encoder *e);
invar_status inv_convnet_plan(inv_encoder_plan *p);
void inv_convnet_unplan(inv_encoder_plan *p);
invar_status inv_convnet_onnx(const invar_encoder *e, inv_encoder_onnx *to);
invar_status inv_convnet_run(const inv_encoder_plan *p, const float *x, size_t n,
                             unsigned thread, float *out);
invar_status inv_convnet_run_together(const inv_encoder_plan *p, const float *x, size_t n,
                                      float *out);

#endif
