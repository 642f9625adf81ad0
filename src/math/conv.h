/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv.h - convolutions with bias, residual sum and ReLU fused; pooling.
 *
 * Maps are stored in blocks of channels, [images, channels / block, height, width, block],
 * with the last block padded with zeros: 8 or 16 channels as oneDNN's kernels require, and
 * 1 under INVAR_CPU=ref, which is plain [images, channels, height, width]. A network uses
 * this layout from its first convolution, which reads plain images, to the final average,
 * which gives plain rows.
 *
 * Small maps may be stored together, [channels / block, images, height, width, block]: then
 * a kernel processes all pixels of a group of images at once, as one image alone has too
 * few to run fast. A convolution into such maps first gathers the pixels under its windows.
 *
 * A convolution is made once for its shape, with its weights in the kernel's order. A run
 * allocates nothing. It uses the calling thread only, and may then happen on many threads
 * at once; or it is split among all threads, by images, outputs and tiles. Every number is
 * summed in an order that depends on the channels and the window alone, so no bit depends
 * on the images that run together or on the threads. inv_conv_ref is the plain loop it is
 * tested against.
 */
#ifndef INV_CONV_H
#define INV_CONV_H

#include <stdbool.h>
#include <stddef.h>

#include "base/context.h"

typedef struct inv_maps {
	size_t images, channels, height, width;
	bool together; /* the images of a block of channels are consecutive */
} inv_maps;

/* A square window over maps. */
typedef struct inv_window {
	size_t kernel, stride, padding;
	bool ceil; /* the last window may reach beyond the padding; pooling only */
} inv_window;

typedef struct inv_conv_spec {
	inv_maps from;
	size_t outputs; /* channels of the result */
	inv_window window;
	bool plain;    /* `from` is not in blocks */
	bool together; /* layout of the result; must be set if `from` is */
	bool add;      /* to the previous content of the result */
	bool relu;     /* then max(0, .) */
	bool split;    /* a run uses all threads of the context */
	size_t
		group; /* most images that ever run, which select the kernel; 0: those of `from` */
} inv_conv_spec;

typedef struct inv_conv inv_conv;

/* Channels of a block. */
size_t inv_maps_block(const invar_context *ctx);
/* Number of floats of maps in blocks. */
size_t inv_maps_floats(size_t block, inv_maps m);
/* Where the pixels of one image and block of channels start. */
const float *inv_maps_plane(inv_maps m, size_t block, size_t image, size_t first,
                            const float *x);
/* Number of window positions along a side; 0: the side is too short. */
size_t inv_window_places(inv_window w, size_t side);
inv_maps inv_conv_result(const inv_conv_spec *s);

/*
 * weights [outputs, channels, kernel, kernel], bias [outputs]; both are borrowed. Runs
 * on threads below ctx->threads. `like` is the same convolution for another number of
 * images or with another `split`, whose weights are shared where possible; it must be freed
 * later. NULL: none.
 */
invar_status inv_conv_new(const invar_context *ctx, const inv_conv_spec *s,
                          const float *weights, const float *bias, const inv_conv *like,
                          inv_conv **out);
/* Bytes of scratch memory that a run needs. */
size_t inv_conv_scratch(const inv_conv *p);
/* `thread` is the caller's; if the spec has `split`, it must be 0. */
invar_status inv_conv_run(const inv_conv *p, const float *from, float *to, void *scratch,
                          unsigned thread);
void inv_conv_free(inv_conv *p); /* accepts NULL */

/* Everything in plain layout; `to` is read if the spec adds to it. */
void inv_conv_ref(const inv_conv_spec *s, const float *from, const float *weights,
                  const float *bias, float *to);

/* The largest value of each window; padding is ignored. ctx: on all its threads; or NULL.
 */
void inv_max_pool(const invar_context *ctx, size_t block, inv_maps from, inv_window w,
                  const float *x, float *to);
/* The mean of each map of the first `count` images: [count, channels], plain. */
void inv_mean_pool(size_t block, inv_maps from, size_t count, const float *x, float *to);

#endif
