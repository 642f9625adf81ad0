/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gram.h - C = A Aᵀ, with half of it computed and the rest mirrored.
 *
 * C is cut into square tiles; those on and above the diagonal are computed, each
 * by one thread, and copied to their mirror image while they are in the cache. C
 * is symmetric to the bit, and its bits do not depend on the number of threads.
 *
 * A plan is made once and run many times without allocating; it belongs to one
 * thread at a time.
 */
#ifndef INV_GRAM_H
#define INV_GRAM_H

#include "math/matmul.h"

typedef struct inv_gram inv_gram;

/* A [m, k], C [m, m]. */
invar_status inv_gram_new(const invar_context *ctx, size_t m, size_t k, inv_gram **out);
/* Called for a tile of C as soon as it is computed, by the thread that did it. */
typedef void inv_tile_fn(void *user, size_t row, size_t rows, size_t col, size_t cols);

/*
 * Calls `then`, which may be NULL, for a tile before it is mirrored, so that its changes
 * are mirrored too. Of a tile on the diagonal (row = col) only the part on and above the
 * diagonal is kept.
 */
void inv_gram_run(inv_gram *p, const float *a, float *c, inv_tile_fn *then, void *user);
void inv_gram_free(inv_gram *p);

#endif
