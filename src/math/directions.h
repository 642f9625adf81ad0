/* SPDX-License-Identifier: Apache-2.0 */
/*
 * directions.h - random directions on a sphere.
 *
 * Independent ones are normal vectors divided by their norm. Orthogonal ones come in blocks
 * of as many directions as dimensions: each block is the orthogonal factor of a normal
 * matrix, uniform among all such frames, so every single direction is still uniform on the
 * sphere, but a mean over a block varies less.
 *
 * A direction of a joint space is stored in two parts, as its halves are applied to
 * different clouds.
 */
#ifndef INV_DIRECTIONS_H
#define INV_DIRECTIONS_H

#include <stdbool.h>

#include "base/context.h"
#include "math/kernels.h"

typedef struct inv_directions {
	size_t L, first, second; /* directions, and the widths of their parts */
	float *a, *b;            /* [L, first], [L, second] */
	inv_stream stream;       /* direction l is drawn by index from + l */
	size_t from;
	bool orthogonal;
} inv_directions;

/* Bytes of scratch for each of `count` sets at once. */
size_t inv_directions_scratch(const invar_context *ctx, const inv_directions *set,
                              size_t count);
/* Fails only if LAPACK does, or cannot be loaded. */
invar_status inv_directions_fill(const invar_context *ctx, const struct inv_kernels *k,
                                 const inv_directions *set, size_t count, void *scratch);
/* The same from the caller's directions [L, first + second], unchanged. */
void inv_directions_take(const inv_directions *set, const float *given);

#endif
