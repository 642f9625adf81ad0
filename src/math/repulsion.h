/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repulsion.h - sums over all pairs of points in the plane, for t-SNE.
 *
 * With K(r) = 1 / (1 + |r|^2), every point needs F_i = sum_j K(y_i - y_j)^2 (y_i - y_j)
 * and all of them together Z = sum over i != j of K(y_i - y_j). repulsion.c finds them
 * in O(n + g log g) by a convolution on a grid of g nodes; for a few points, pair by pair.
 */
#ifndef INV_REPULSION_H
#define INV_REPULSION_H

#include <stddef.h>

#include "base/context.h"

typedef struct inv_repulsion inv_repulsion;

/* For n points, 0 < n < 2^32. Belongs to one thread at a time. */
invar_status inv_repulsion_new(const invar_context *ctx, size_t n, inv_repulsion **out);
void inv_repulsion_free(inv_repulsion *p);

/*
 * For points y [n, 2]: forces F [n, 2], and *z. Their bits do not depend on the number
 * of threads. A grid that grows needs memory. INVAR_E_NUMERIC if a point is not finite, or
 * if two are more than 10,000 apart.
 */
invar_status inv_repulsion_find(inv_repulsion *p, const float *y, double *force, double *z);

/* All pairs, in double: what inv_repulsion_find approximates. */
void inv_repulsion_ref(const float *y, size_t n, double *force, double *z);

#endif
