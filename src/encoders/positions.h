/* SPDX-License-Identifier: Apache-2.0 */
/*
 * positions.h - a ViT's table of positions, fitted to another grid of patches.
 *
 * A table was trained for grid x grid patches. For other images it is seen as a picture
 * of that size and resized by bicubic interpolation, of which there are three ways:
 *
 * dino   source index (i + 1/2) grid / (n + 0.1) - 1/2, four taps of the cubic a = -0.75,
 *        indices clamped. The 0.1 was meant against rounding and is there on both axes.
 * hf     the same with grid / n.
 * timm   antialiased: the cubic a = -0.5, widened where the table shrinks, taps outside
 *        left out and the rest made to sum to 1. Also DINOv2's with registers.
 */
#ifndef INV_POSITIONS_H
#define INV_POSITIONS_H

#include <stdbool.h>

#include "base/context.h"

typedef enum inv_pos { INV_POS_DINO, INV_POS_HF, INV_POS_TIMM } inv_pos;

inv_pos inv_pos_of(const char *word); /* "dino", "hf", "timm" */
const char *inv_pos_name(inv_pos way);

/* Does an image of h x w pixels, in rows x cols patches, need other positions? */
bool inv_positions_differ(inv_pos way, size_t grid, size_t rows, size_t cols, size_t h,
                          size_t w);
/* table [grid, grid, width] -> out [rows, cols, width]; sums in double. */
invar_status inv_positions_fit(inv_pos way, const float *table, size_t grid, size_t width,
                               size_t rows, size_t cols, float *out);

#endif
