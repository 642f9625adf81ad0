/* SPDX-License-Identifier: Apache-2.0 */
/*
 * invariance.h - how far copies lie from their clean features, on arrays.
 *
 * The displacement of a copy is |z - F(x)|, with z = F(t(x)) before and E(F(t(x))) after
 * an adapter. The share that is removed is 1 - sum |after|² / sum |before|²: 1 if E maps
 * every copy to its clean feature, 0 if it does nothing, negative if it moves copies away.
 * The spread of rows is the root mean square of their distances to their mean; a regression
 * shrinks toward the mean, so the spread of adapted copies over that of clean features
 * shows how much.
 */
#ifndef INV_INVARIANCE_H
#define INV_INVARIANCE_H

#include <stddef.h>

#include "base/context.h"

/*
 * The share of the displacement that is removed, for copies [n, w], their codes adapted
 * [n, w] and their clean features [n, w]; NaN if no copy was displaced.
 */
double inv_displacement_gone(const invar_context *ctx, const float *clean,
                             const float *copies, const float *adapted, uint64_t n,
                             size_t w);

/* The spread of rows that come in blocks: start from zeros and an origin near the mean. */
typedef struct inv_spread {
	size_t w;
	const double *origin; /* [w] */
	double *sum;          /* [w]: of row - origin */
	double square;        /* sum of |row - origin|² */
	uint64_t rows;
} inv_spread;

void inv_spread_add(inv_spread *s, const float *rows, uint64_t count);
double inv_spread_value(const inv_spread *s);

#endif
