/* SPDX-License-Identifier: Apache-2.0 */
/* transport.h - the optimal transport map between two Gaussians. */
#ifndef INV_TRANSPORT_H
#define INV_TRANSPORT_H

#include "math/linalg.h"

/*
 * T = A^-1/2 (A^1/2 B A^1/2)^1/2 A^-1/2 [d, d], the symmetric map with T A T = B, for
 * covariances A and B [d, d] that are positive definite; only their lower triangles are
 * read.
 */
invar_status inv_gaussian_transport(const invar_context *ctx, size_t d, const double *a,
                                    const double *b, double *T);

#endif
