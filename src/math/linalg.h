/* SPDX-License-Identifier: Apache-2.0 */
/*
 * linalg.h - small dense algebra in double: products, SVD, eigenvalues, Cholesky.
 *
 * Work that fits and measurements do once per run, on d by d matrices. It is computed by
 * OpenBLAS and the LAPACK inside it (openblas.h); each call runs on one thread, and work
 * worth several threads is cut into tiles by its shape alone, so no result depends on the
 * threads. All matrices are row-major.
 */
#ifndef INV_LINALG_H
#define INV_LINALG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/context.h"

enum { INV_LINALG_WIDEST = 16384 }; /* max sides of a matrix passed to LAPACK */

/* C = op(A) op(B), dense: C [m, n], op(A) [m, k], op(B) [k, n]. */
typedef struct inv_dgemm_spec {
	size_t m, n, k;
	bool transpose_a; /* A is stored [k, m] */
	bool transpose_b; /* B is stored [n, k] */
	bool add;         /* C += instead of C = */
	bool lower;       /* C is symmetric: at least its lower triangle is computed */
} inv_dgemm_spec;

/*
 * On the calling thread only; safe from as many threads at once as the context has. Call
 * inv_openblas_need_for(ctx) first, as products report no failures.
 */
void inv_dgemm(const invar_context *ctx, const inv_dgemm_spec *s, const double *a,
               const double *b, double *c);
/* On the context's threads, in tiles of rows of C; same bits on any number of them. */
void inv_dgemm_tiled(const invar_context *ctx, const inv_dgemm_spec *s, const double *a,
                     const double *b, double *c);
/* The triple loop; what runs under INVAR_CPU=ref. */
void inv_dgemm_ref(const inv_dgemm_spec *s, const double *a, const double *b, double *c);

/*
 * A = U diag(sigma) Vt with k = min(m, n): U [m, k], sigma [k] descending, Vt [k, n]. A [m,
 * n] is overwritten. If singular values repeat or vanish, U and Vt are one choice among
 * several.
 */
invar_status inv_svd(size_t m, size_t n, double *a, double *u, double *sigma, double *vt);

/*
 * A = V^T diag(values) V of a symmetric A [n, n], whose lower triangle is read: values [n]
 * ascend, and A becomes V, one eigenvector per row.
 */
invar_status inv_eigen_symmetric(size_t n, double *a, double *values);

/*
 * The orthogonal R [d, d] nearest to A^T B, for A and B [n, d] with n <= d: the
 * least |A R - B|. A and B are overwritten. It takes two QR and an SVD of n by n, whereas U
 * V^T of A^T B itself would need an SVD of d by d. Both are the same map on the span of A's
 * rows; outside it, any orthogonal map is equally good.
 */
invar_status inv_procrustes_thin(const invar_context *ctx, size_t n, size_t d, double *a,
                                 double *b, double *R);

/*
 * Solves G X = C for a symmetric positive definite G [n, n], whose lower triangle is read;
 * C [n, r] becomes X, G its factor. INVAR_E_NUMERIC if G is not positive definite to double
 * precision.
 */
invar_status inv_cholesky_solve(const invar_context *ctx, size_t n, size_t r, double *g,
                                double *c);

#endif
