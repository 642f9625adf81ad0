/* SPDX-License-Identifier: Apache-2.0 */
/*
 * warp.h - pictures seen through an affine map, as Kornia computes them.
 *
 * M maps source to destination pixels; the result at (u, v) is the source at
 * M^-1 (u, v). With align_corners=false Kornia normalises M by size - 1 but the
 * grid by size, so that in effect
 *
 *     x = ((M^-1 p).x W / (W - 1)) - 1/2,  p = ((u + 1/2)(W' - 1) / W', …)
 *
 * with W' the width of the result: a translation is stretched by W / (W - 1),
 * and on pictures that are not square a rotation is slightly sheared.
 * corners=exact drops that, as Kornia does since 0.9: x = M^-1 (u, v) whatever
 * align_corners is.
 */
#ifndef INV_WARP_H
#define INV_WARP_H

#include "images/augment/augment_kernels.h"
#include "images/augment/op.h"

/* Indices of words in the keys that warps share. */
enum { INV_CORNERS_FALSE, INV_CORNERS_TRUE };
enum { INV_CORNERS_KORNIA, INV_CORNERS_EXACT };
enum { INV_FILL_ZEROS, INV_FILL_EDGE, INV_FILL_REFLECT, INV_FILL_MEAN };
enum { INV_MODE_SLICE, INV_MODE_RESAMPLE };

#define INV_WORDS_BOOLEAN "false|true"
#define INV_WORDS_CORNERS "kornia|exact"
#define INV_WORDS_FILL "zeros|edge|reflect|mean"

typedef struct inv_warp {
	double m[9]; /* source to destination pixels, last row 0 0 1 */
	bool
		align_corners; /* also where reflect mirrors: at pixel centres, or at their edges */
	bool exact;
	int fill;    /* INV_FILL_* */
	bool circle; /* leave only the inscribed circle */
	bool inside; /* the result is the centre of the warped picture */
} inv_warp;

/* By align_corners, corners, fill, circle and inside, which follow each other. */
inv_warp inv_warp_of(const inv_value *v);

/* m maps to pixels of the warped picture; becomes the map to its centre, cut out. */
void inv_warp_cut(double m[9], inv_extent in, inv_extent out);

/* Whether no pixel of the result shows anything outside the picture. */
bool inv_warp_stays_inside(const inv_warp *w, inv_extent in, inv_extent out);

/* The map that sampling follows. M must be invertible. */
inv_pixel_map inv_warp_pixel_map(const inv_warp *w, inv_extent in, inv_extent out);

/* in and out have the same number of channels. */
void inv_warp_apply(const struct inv_augment_kernels *k, const inv_warp *w, const float *in,
                    inv_extent shape, inv_extent result, float *out);

#endif
