/* SPDX-License-Identifier: Apache-2.0 */
/*
 * principal.h - the first principal components of many rows, without a d by d matrix.
 *
 * Subspace iteration: eight directions pass through (X - mean)^T (X - mean) and are made
 * orthogonal, until the first of them rest. Every pass reads the rows once, in blocks whose
 * sums are added in order.
 */
#ifndef INV_PRINCIPAL_H
#define INV_PRINCIPAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/context.h"

/*
 * scores [n, count <= 4] of rows [n, d]: coordinates along the directions of largest
 * variance, about the mean. A direction's largest loading is positive. Directions without
 * variance score 0. The seed only starts the search.
 */
invar_status inv_principal(const invar_context *ctx, const float *rows, size_t n, size_t d,
                           size_t count, uint64_t seed, double *scores);

#endif
