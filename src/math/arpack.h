/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arpack.h - a few eigenpairs of a large symmetric operator, by ARPACK.
 *
 * ARPACK sees the operator only through products (implicitly restarted Lanczos, mode 1).
 * Like OpenBLAS, which it calls, it is not linked but loaded by the first call that needs
 * it. It keeps state between calls, so one call runs at a time in a process.
 */
#ifndef INV_ARPACK_H
#define INV_ARPACK_H

#include <stddef.h>

#include "base/context.h"

/* y = A x for vectors [n]; a failure ends the computation. */
typedef invar_status inv_product_fn(void *user, const double *x, double *y);

typedef struct inv_largest_spec {
	size_t n, want;      /* 0 < want, want + 2 <= n < 2^31 */
	double tolerance;    /* relative to the eigenvalue: of the residual */
	const double *start; /* [n], where Lanczos starts; not 0 */
	inv_product_fn *multiply;
	void *user;
} inv_largest_spec;

/*
 * The largest eigenvalues [want], descending, and orthonormal eigenvectors [want, n].
 * Of equal eigenvalues it may find too few: a second call on what is left tells.
 */
invar_status inv_largest_eigenpairs(const inv_largest_spec *s, double *values,
                                    double *vectors);

#endif
