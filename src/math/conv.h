/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv.h - convolutions with bias, residual sum and ReLU fused; pooling.
 *
 * Maps lie in blocks of channels, [images, channels / block, height, width, block], where
 * the last block is filled up with zeros: 8 or 16 channels as oneDNN's kernels want them,
 * and 1 under INVAR_CPU=ref, which is plain [images, channels, height, width]. A network
 * keeps its maps so from its first convolution, which takes plain images, to the average
 * at its end, which gives plain rows.
 *
 * Small maps may lie together, [channels / block, images, height, width, block]: then all
 * pixels of a group of images pass a kernel at once, where those of one image would be too
 * few for it. A convolution into such maps first gathers what its windows see.
 *
 * A convolution is made once for its shape, with its weights laid as its kernel reads
 * them, and runs on the calling thread alone, on many threads at once, and without
 * allocating. inv_conv_ref is the plain loop it is tested against.
 */
#ifndef INV_CONV_H
#define INV_CONV_H

#include <stdbool.h>
#include <stddef.h>

#include "base/context.h"

typedef struct inv_maps {
	size_t images, channels, height, width;
	bool together; /* the images of a block of channels follow each other */
} inv_maps;

/* A square window over maps. */
typedef struct inv_window {
	size_t kernel, stride, padding;
	bool ceil; /* a last window may reach beyond the padding; pooling only */
} inv_window;

typedef struct inv_conv_spec {
	inv_maps from;
	size_t outputs; /* channels of the result */
	inv_window window;
	bool plain;    /* `from` is not in blocks */
	bool together; /* so lies the result; it must where `from` does */
	bool add;      /* to what the result holds before */
	bool relu;     /* then max(0, .) */
} inv_conv_spec;

typedef struct inv_conv inv_conv;

/* Channels of a block. */
size_t inv_maps_block(const invar_context *ctx);
/* Floats of maps in blocks. */
size_t inv_maps_floats(size_t block, inv_maps m);
/* Where the pixels of one image and block of channels begin. */
const float *inv_maps_plane(inv_maps m, size_t block, size_t image, size_t first,
                            const float *x);
/* How many places a window has along a side; 0: the side is too short. */
size_t inv_window_places(inv_window w, size_t side);
inv_maps inv_conv_result(const inv_conv_spec *s);

/*
 * weights [outputs, channels, kernel, kernel], bias [outputs]; both stay borrowed. Runs
 * on threads below ctx->threads.
 */
invar_status inv_conv_new(const invar_context *ctx, const inv_conv_spec *s,
                          const float *weights, const float *bias, inv_conv **out);
/* Bytes that run wants to work in, for each thread. */
size_t inv_conv_scratch(const inv_conv *p);
invar_status inv_conv_run(const inv_conv *p, const float *from, float *to, void *scratch,
                          unsigned thread);
void inv_conv_free(inv_conv *p); /* accepts NULL */

/* Everything plain; `to` is read where the spec adds. */
void inv_conv_ref(const inv_conv_spec *s, const float *from, const float *weights,
                  const float *bias, float *to);

/* The largest value of each window; padding counts as nothing. */
void inv_max_pool(size_t block, inv_maps from, inv_window w, const float *x, float *to);
/* The mean of each map of the first so many images: [count, channels], plain. */
void inv_mean_pool(size_t block, inv_maps from, size_t count, const float *x, float *to);

#endif
