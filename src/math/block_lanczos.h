/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_lanczos.h - the largest eigenpairs of N = D^-1/2 A D^-1/2 of a sparse graph A,
 * D its row sums, beside the eigenvectors of 1, which are known.
 */
#ifndef INV_BLOCK_LANCZOS_H
#define INV_BLOCK_LANCZOS_H

#include <stdbool.h>

#include "base/context.h"
#include "math/neighbour_graph.h"

/* Between steps; a failure ends the computation. */
typedef invar_status inv_check_fn(void *user);

typedef struct inv_walk {
	const inv_graph *g;
	const double *degree;      /* [n]: row sums, > 0 */
	const double *null;        /* [n]: entries of the vectors of eigenvalue 1 */
	const uint32_t *component; /* [n]: the vector that an entry belongs to */
	size_t components;
	double tolerance; /* of residuals |N v - lambda v| */
	inv_check_fn *check;
	void *user;
} inv_walk;

/*
 * Eigenvalues [want] below 1, descending, and orthonormal eigenvectors [want, n],
 * orthogonal to the known ones. `found` is false if they have not converged within the
 * memory that is planned for them, or if one was missed, as may happen to eigenvalues that
 * occur more than eight times. Runs on the calling thread; inv_openblas_need_for(ctx)
 * first.
 */
invar_status inv_block_lanczos(const invar_context *ctx, const inv_walk *w, size_t want,
                               double *values, double *vectors, bool *found);

#endif
