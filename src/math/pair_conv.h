/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pair_conv.h - convolutions in bfloat16 with bias, residual sum and ReLU fused; pooling.
 *
 * Maps are stored pixel by pixel, [images, height, width, channels], in bfloat16, channels
 * padded with zeros to a multiple of 16. The window of a pixel is one row of a product
 * (panels.h) that is never stored as a whole: strips are packed from the maps. Sums are
 * floats; bias, residual and ReLU follow before the result is rounded. No bit depends on
 * the images that run together, on the threads or on the instruction set.
 *
 * The product itself may be one of bytes: weights from -127 to 127 times a scale per output,
 * numbers of the maps, none of them negative, from 0 to 255 times a scale per image, which
 * follows from the largest. Its sums are exact.
 */
#ifndef INV_PAIR_CONV_H
#define INV_PAIR_CONV_H

#include "math/conv.h"
#include "math/kernels.h"

typedef struct inv_pair_conv inv_pair_conv;

/* Numbers of a pixel; and of maps. */
size_t inv_pair_channels(size_t channels);
uint64_t inv_pair_maps_cells(inv_maps m);

/*
 * As inv_conv_new; of `s`, from.channels, outputs, window, plain, add and relu are used.
 * bytes: the product is one of bytes; not of plain images. Borrows the kernels.
 */
invar_status inv_pair_conv_new(const struct inv_kernels *kernels, const inv_conv_spec *s,
                               bool bytes, const float *weights, const float *bias,
                               inv_pair_conv **out);
void inv_pair_conv_free(inv_pair_conv *p); /* accepts NULL */

/* Bytes of scratch memory on `threads` threads. */
size_t inv_pair_conv_scratch(const inv_pair_conv *p, inv_maps from, unsigned threads);

/*
 * `from` are images of floats if the spec is plain, else maps. Results go to channels from
 * `first` on, a multiple of 16, of maps with to_channels. ctx: on all its threads; or NULL.
 */
void inv_pair_conv_run(const inv_pair_conv *p, const invar_context *ctx, inv_maps from,
                       const void *x, size_t to_channels, size_t first, uint16_t *to,
                       void *scratch);

void inv_pair_max_pool(const invar_context *ctx, inv_maps from, inv_window w,
                       const uint16_t *x, uint16_t *to);
void inv_pair_mean_pool(inv_maps from, const uint16_t *x, float *to);

#endif
