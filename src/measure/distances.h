/* SPDX-License-Identifier: Apache-2.0 */
/*
 * distances.h - how well distances to a gallery are preserved, on arrays.
 *
 * For query i and gallery row j, of two different images, d is their distance before
 * (clean query, gallery unchanged) and d' after (a copy through E; the gallery unchanged,
 * or through E too). The error of an image is sum_j (d' - d)^2, its whole sum_j d^2; the
 * relative error of all is sqrt(sum error / sum whole). It is 0 if distances are the same,
 * so that thresholds tuned on clean features stay valid. Distances are L2, or 1 - cosine,
 * where a row of zeros has cosine 0 to everything.
 */
#ifndef INV_DISTANCES_H
#define INV_DISTANCES_H

#include "math/places.h"

typedef struct inv_distance_pairs {
	const float *query;   /* [n, d]: clean */
	const float *gallery; /* [m, d]: clean */
	const float *after;   /* [n, w] */
	const float *indexed; /* [m, w] */
	const uint64_t *own;  /* [n]: the gallery row of the same image, >= m: none */
	uint64_t n, m;
	size_t d, w;
} inv_distance_pairs;

/* Adds to error [n] and whole [n]. */
invar_status inv_distance_errors(const invar_context *ctx, inv_distance distance,
                                 const inv_distance_pairs *p, double *error, double *whole);

#endif
