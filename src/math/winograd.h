/* SPDX-License-Identifier: Apache-2.0 */
/*
 * winograd.h - 3x3 convolutions with a quarter of the multiplications, for conv.c only.
 *
 * Winograd's F(4x4, 3x3): tiles of 6x6 pixels that overlap by two become 36 numbers each,
 * Bt d B; the weights become as many, G g Gt; the 36 products of [tiles, channels] and
 * [channels, outputs] that remain are 1x1 convolutions of oneDNN; At m A gives the 4x4
 * results. A. Lavin and S. Gray, "Fast algorithms for convolutional neural
 * networks", 2015.
 *
 * The polynomials behind it are taken at 0, ±a, ±b and infinity. The paper has a = 1, b =
 * 2; the points used here keep intermediate numbers small, so that the largest rounding
 * error is about twice that of the direct sum instead of eight times.
 */
#ifndef INV_WINOGRAD_H
#define INV_WINOGRAD_H

#include "math/conv.h"

enum { INV_WINOGRAD_BLOCK = 8, INV_WINOGRAD_TILE = 4, INV_WINOGRAD_WINDOW = 6 };
enum { INV_WINOGRAD_PRODUCTS = 36 };
#define INV_WINOGRAD_A 0.6875f
#define INV_WINOGRAD_B 1.5f

typedef struct inv_winograd inv_winograd;

/* Can it be used for this, and does it pay off? */
bool inv_winograd_pays(const invar_context *ctx, const inv_conv_spec *s);

/* `like` as in conv.h. */
invar_status inv_winograd_new(const invar_context *ctx, const inv_conv_spec *s,
                              const float *weights, const float *bias,
                              const inv_winograd *like, inv_winograd **out);
size_t inv_winograd_scratch(const inv_winograd *p); /* bytes */
invar_status inv_winograd_run(const inv_winograd *p, const float *from, float *to,
                              void *scratch, unsigned thread);
void inv_winograd_free(inv_winograd *p); /* accepts NULL */

/* Where a tile starts in an 8-channel plane: its first pixel, which may be outside. */
typedef struct inv_winograd_tile {
	long top, left;
	long height, width; /* of the plane */
} inv_winograd_tile;

/* One tile of 8 channels to 36 vectors, `apart` floats between them. */
typedef void inv_winograd_in(const float *plane, inv_winograd_tile t, float *v,
                             size_t apart);
/* And back: 4x4 results with their bias [8], on or into the plane. */
typedef void inv_winograd_out(const float *m, size_t apart, const float *bias, bool add,
                              bool relu, inv_winograd_tile t, float *plane);

inv_winograd_in inv_winograd_in_avx2;
inv_winograd_out inv_winograd_out_avx2;

#endif
