/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dual_ridge.h - weighted ridge regression with an intercept, from the products of rows.
 *
 * With n rows x, weights w, S = diag(sqrt w) and both sides centred by their weighted
 * means, X_c = S (X - 1 m^T), Y_c = S (Y - 1 m_y^T),
 *
 *     B = (X_c^T X_c + P I)^-1 X_c^T Y_c = X_c^T (X_c X_c^T + P I)^-1 Y_c.
 *
 * The left one needs a factor of p by p, the right one of n by n. P is lambda times the
 * mean diagonal of X_c^T X_c.
 */
#ifndef INV_DUAL_RIDGE_H
#define INV_DUAL_RIDGE_H

#include "base/context.h"

typedef struct inv_dual_rows {
	size_t n, p, d;
	const double *x, *y, *weight; /* [n, p], [n, d], [n] */
	const double *products;       /* [n, n] x x^T, both triangles */
} inv_dual_rows;

/* products [n, n] of x [n, p]. */
invar_status inv_dual_products(const invar_context *ctx, size_t n, size_t p,
                               const double *x, double *products);

/*
 * Fills mean [p], mean_y [d] and B [p, r] for the r targets 0, step, 2 step …; on any
 * number of threads the same bits. INVAR_E_NUMERIC if P is lost in rounding.
 */
invar_status inv_dual_ridge(const invar_context *ctx, const inv_dual_rows *rows,
                            double lambda, size_t step, double *mean, double *mean_y,
                            double *B);

#endif
