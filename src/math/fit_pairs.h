/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fit_pairs.h - sums over pairs of rows, and the maps that follow from them.
 *
 * Rows a (sources) and b (targets) are added block by block, in double, so that
 * banks larger than memory can be fitted. From the sums follow the best rigid
 * map (orthogonal, reflections allowed, plus translation: SVD of the
 * cross-covariance) and the ridge regression of b on a with intercept.
 *
 * The sums, and so the fits, are the same bits for any number of threads and any split of
 * the rows into calls. They are made chunk by chunk: the sums of a chunk are complete
 * before they are added to those of the chunks before it.
 */
#ifndef INV_FIT_PAIRS_H
#define INV_FIT_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/processes.h"

enum { INV_PAIR_CHUNK = 3584 };

typedef struct inv_pairs {
	const invar_context *ctx;
	size_t d; /* width of a and of b */
	bool ridge;
	uint64_t n;      /* pairs added */
	size_t in_chunk; /* those of the chunk under way */
	/*
	 * Of a - a_0 and b - b_0, relative to the first pair: sums of a [d] and of b [d], of
	 * a b^T [d, d], and unless only rigid maps are needed of a a^T [d, d], at least its
	 * lower triangle.
	 */
	inv_block_sums *sums; /* of the chunks before, which ranks share */
	double *total;        /* of all chunks, once a fit has settled them */
	invar_status status;  /* of exchanges so far */
	double *chunk; /* of the chunk under way; of its products, full blocks of rows only */
	double *block; /* owns what follows */
	double *origin_a, *origin_b;   /* [d]: the first pair */
	double *waiting_a, *waiting_b; /* rows, until a block of them is full */
	float *kept; /* [2, d / 2, d]: the first rows of a and of b, as they came */
} inv_pairs;

/* A map z -> z M + t for row vectors z: M is [d, d] row-major. */
typedef struct inv_map_affine {
	size_t d;
	double *M, *t;
} inv_map_affine;

invar_status inv_pairs_new(const invar_context *ctx, size_t d, bool ridge, inv_pairs **out);
void inv_pairs_add(inv_pairs *p, const float *a, const float *b, uint64_t rows);
void inv_pairs_free(inv_pairs *p);

/*
 * At least one pair; fewer pairs than features are allowed. If the pairs do not determine
 * the rotation, it is one of those with the least residual. A fit fills out, free it with
 * inv_map_clear; pairs that are added afterwards start another chunk.
 */
invar_status inv_fit_rigid(inv_pairs *p, inv_map_affine *out);
/*
 * lambda times the mean diagonal of the centred Gram matrix is added to it. If that is 0,
 * because all sources are the same row, M = 0 and t is the mean of b.
 */
invar_status inv_fit_ridge(inv_pairs *p, double lambda, inv_map_affine *out);
/*
 * out may be z itself. Products and sums are double, the result is rounded once.
 * Rows in parallel blocks, same bits on any number of threads.
 */
invar_status inv_map_rows(const invar_context *ctx, const inv_map_affine *m, const float *z,
                          uint64_t rows, float *out);
void inv_map_clear(inv_map_affine *m);

#endif
