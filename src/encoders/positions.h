/* SPDX-License-Identifier: Apache-2.0 */
/*
 * positions.h - a ViT's table of positions, fitted to another grid of patches.
 *
 * A table was trained for grid x grid patches. For other images it is treated as an image
 * of that size and resized by bicubic interpolation, in one of three ways:
 *
 * dino   source index (i + 1/2) grid / (n + 0.1) - 1/2, four taps of the cubic a = -0.75,
 *        indices clamped. The 0.1 was meant to counter rounding and applies to both axes.
 * hf     the same with grid / n.
 * timm   antialiased: the cubic a = -0.5, widened where the table shrinks, taps outside
 *        left out and the rest normalised to sum 1. Also used by DINOv2 with registers.
 */
#ifndef INV_POSITIONS_H
#define INV_POSITIONS_H

#include <stdbool.h>

#include "base/context.h"

typedef enum inv_pos { INV_POS_DINO, INV_POS_HF, INV_POS_TIMM } inv_pos;

/* Does an image of h x w pixels, in rows x cols patches, need other positions? */
bool inv_positions_differ(inv_pos way, size_t grid, size_t rows, size_t cols, size_t h,
                          size_t w);
/* table [grid, grid, width] -> out [rows, cols, width]; sums in double. */
invar_status inv_positions_fit(inv_pos way, const float *table, size_t grid, size_t width,
                               size_t rows, size_t cols, float *out);

/*
 * Rotary positions, as DINOv3 has them: a patch's centre (y, x) is in [-1, 1], and of
 * `half` angles the first half is 2 pi y / base^(2 j / half), the second the same of x.
 * cosines and sines are [rows, cols, half].
 */
void inv_positions_rotary(double base, size_t half, size_t rows, size_t cols,
                          float *cosines, float *sines);

#endif
