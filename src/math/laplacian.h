/* SPDX-License-Identifier: Apache-2.0 */
/*
 * laplacian.h - the smallest eigenpairs of the normalised Laplacian of a graph.
 *
 * L = I - N with N = D^-1/2 A D^-1/2 and D the row sums of A; loops count in D. Its
 * eigenvalues lie in [0, 2], and 0 occurs once per connected component.
 */
#ifndef INV_LAPLACIAN_H
#define INV_LAPLACIAN_H

#include "math/neighbour_graph.h"

/* Between products; a failure ends the computation. */
typedef invar_status inv_check_fn(void *user);

typedef struct inv_laplacian_spec {
	const inv_graph *g;  /* every row sum must be > 0 */
	size_t want;         /* <= n */
	inv_check_fn *check;
	void *user;
} inv_laplacian_spec;

/*
 * Eigenvalues [want], ascending, and orthonormal eigenvectors [want, n]. The zeros are
 * exact, their number is that of the components, and their vectors are constant on a
 * component times D^1/2. If components >= want, they are those of the first components.
 * Runs on the calling thread.
 */
invar_status inv_laplacian_smallest(const inv_laplacian_spec *s, double *values,
                                    double *vectors, size_t *components);

/* The same by a dense matrix and LAPACK, without any use of components; for tests. */
invar_status inv_laplacian_smallest_ref(const inv_graph *g, size_t want, double *values,
                                        double *vectors);

#endif
