/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conv.h - convolutions with bias, residual sum and ReLU fused; pooling.
 *
 * Maps are stored pixel by pixel, [images, height, width, channels], channels padded with
 * zeros to a multiple of 16. The window of a pixel is one row of a product (panels.h) that
 * is never stored as a whole: strips are packed from the maps. Bias, residual and ReLU
 * follow before the result is stored. Some 3x3 convolutions use tiles (winograd.h).
 *
 * Maps are of floats, or of bfloat16; then sums are still floats. The product of the latter
 * may be one of bytes, except in tiles: weights from -127 to 127 times a scale per output,
 * numbers of the maps, none of them negative, from 0 to 255 times a scale per image, which
 * follows from the largest. Its sums are exact.
 *
 * A convolution is made once, with its weights in the order of the kernels, for maps of one
 * height and width. A run allocates nothing. No bit depends on the images that run together
 * or on the threads, nor on the instruction set; but plain C adds floats in double.
 * inv_conv_ref is the loop it is tested against.
 */
#ifndef INV_CONV_H
#define INV_CONV_H

#include "base/context.h"
#include "math/kernels.h"

enum { INV_MAP_BLOCK = 16 }; /* channels are padded to a multiple */

typedef enum inv_precision {
	INV_FLOAT32,
	INV_BFLOAT16,
	INV_INT8 /* of products; maps are in bfloat16 */
} inv_precision;

typedef struct inv_maps {
	size_t images, channels, height, width;
} inv_maps;

/* A square window over maps. */
typedef struct inv_window {
	size_t kernel, stride, padding;
	bool ceil; /* the last window may reach beyond the padding; pooling only */
} inv_window;

typedef struct inv_conv_spec {
	inv_maps from;  /* at most so many images at once; tiles depend on the number */
	size_t outputs; /* channels of the result */
	inv_window window;
	inv_precision precision;
	bool plain; /* not in int8: `from` are images of floats, [images, channels, height,
	               width] */
	bool add;   /* to the previous content of the result */
	bool relu;  /* then max(0, .) */
} inv_conv_spec;

typedef struct inv_conv inv_conv;

/* Numbers of a pixel; bytes of a number; bytes of maps. */
size_t inv_map_channels(size_t channels);
size_t inv_map_number(inv_precision precision);
uint64_t inv_map_bytes(inv_precision precision, inv_maps m);
/* Number of window positions along a side; 0: the side is too short. */
size_t inv_window_places(inv_window w, size_t side);
inv_maps inv_conv_result(const inv_conv_spec *s);

/* weights [outputs, channels, kernel, kernel], bias [outputs]. Borrows the kernels. */
invar_status inv_conv_new(const struct inv_kernels *kernels, const inv_conv_spec *s,
                          const float *weights, const float *bias, inv_conv **out);
void inv_conv_free(inv_conv *p); /* accepts NULL */

/* Bytes of scratch memory for this number of images on `threads` threads. */
uint64_t inv_conv_scratch(const inv_conv *p, size_t images, unsigned threads);

/*
 * Results go to channels from `first` on, a multiple of 16, of maps with to_channels. ctx:
 * on all its threads; or NULL.
 */
void inv_conv_run(const inv_conv *p, const invar_context *ctx, size_t images, const void *x,
                  size_t to_channels, size_t first, void *to, void *scratch);

/* Everything as plain images; `to` is read if the spec adds to it. */
void inv_conv_ref(const inv_conv_spec *s, const float *from, const float *weights,
                  const float *bias, float *to);

/* The largest value of each window, of at most INV_MAX_POOL pixels a side, each of which
 * has a pixel of the map; padding is ignored. ctx: on all its threads; or NULL. */
enum { INV_MAX_POOL = 3 };
void inv_max_pool(const struct inv_kernels *kernels, const invar_context *ctx,
                  inv_precision precision, inv_maps from, inv_window w, const void *x,
                  void *to);
/* The mean of each map: [images, channels], plain. */
void inv_mean_pool(inv_precision precision, inv_maps from, const void *x, float *to);

#endif
