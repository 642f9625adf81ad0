/* SPDX-License-Identifier: Apache-2.0 */
/*
 * winograd.h - 3x3 convolutions with a quarter of the multiplications, for conv.c.
 *
 * Winograd's F(4x4, 3x3): tiles of 6x6 pixels that overlap by two become 36 numbers each,
 * Bt d B; the weights become as many, G g Gt; the 36 products of [tiles, channels] and
 * [channels, outputs] that remain are those of panels.h; At m A gives the 4x4 results. A.
 * Lavin and S. Gray, "Fast algorithms for convolutional neural networks", 2015.
 *
 * The polynomials behind it are taken at 0, ±a, ±b and infinity. The paper has a = 1, b =
 * 2; the points used here keep intermediate numbers small, so that the largest rounding
 * error is about twice that of the direct sum instead of eight times. Where maps are of
 * bfloat16, transforms are computed in floats, and what is multiplied is rounded again.
 */
#ifndef INV_WINOGRAD_H
#define INV_WINOGRAD_H

#include "math/conv.h"

enum { INV_WINOGRAD_TILE = 4, INV_WINOGRAD_WINDOW = 6, INV_WINOGRAD_PRODUCTS = 36 };
#define INV_WINOGRAD_A 0.6875f
#define INV_WINOGRAD_B 1.5f

typedef struct inv_winograd inv_winograd;

/* Can it be used for this, and does it pay off? */
bool inv_winograd_pays(const inv_conv_spec *s);

/* As in conv.h. */
invar_status inv_winograd_new(const struct inv_kernels *kernels, const inv_conv_spec *s,
                              const float *weights, const float *bias, inv_winograd **out);
void inv_winograd_free(inv_winograd *p); /* accepts NULL */
uint64_t inv_winograd_scratch(const inv_winograd *p, size_t images, unsigned threads);
void inv_winograd_run(const inv_winograd *p, const invar_context *ctx, size_t images,
                      const void *x, size_t to_channels, void *to, void *scratch);

#endif
