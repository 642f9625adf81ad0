/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feature_ridge.h - ridge regression on random features, rows are added once, solutions are
 * cheap.
 *
 *     E(z) = z + sigma (B^T x + t),   x = [u; relu(W u + b)],   u = (z - mu) / sigma
 *
 * The rows of W are normal / sqrt(d), b is uniform in +-1, both drawn from the seed. B and
 * t are the ridge regression of (clean - z) / sigma on x over clean rows, whose target is
 * 0 and whose weight is `anchor`, and over copies, whose weight is 1.
 *
 * Choices that the formula leaves open: there is an intercept t, which is not penalised,
 * and lambda is in units of the mean diagonal of the Gram matrix of the centred x, both as
 * in ridge.c. Without an intercept R2 and accuracy are the same within 0.1 points; of the
 * two units of lambda, this one is nearer to the figures of the prototype on its three
 * banks.
 *
 * The Gram matrices of clean rows and of copies are kept apart: lambda and anchor are
 * chosen after the rows were read, and another choice costs one Cholesky factor. Sums do
 * not depend on the split of the rows into calls or on the number of threads.
 */
#ifndef INV_FEATURE_RIDGE_H
#define INV_FEATURE_RIDGE_H

#include "adapter/closed_forms/closed_form.h"
#include "bank/clean_statistics.h"

typedef struct inv_feature_ridge inv_feature_ridge;

/* d + h is at most INV_LINALG_WIDEST. Copies what it needs of `scale`. */
invar_status inv_feature_ridge_new(const invar_context *ctx, size_t d, size_t h,
                                   const inv_clean_statistics *scale, uint64_t seed,
                                   inv_feature_ridge **out);
void inv_feature_ridge_free(inv_feature_ridge *f);
/* Bytes that it holds, plus those that a solution needs. */
size_t inv_feature_ridge_memory(size_t d, size_t h);

/* z [rows, d]: clean rows. */
invar_status inv_feature_ridge_add_clean(inv_feature_ridge *f, const float *z,
                                         uint64_t rows);
/* z [rows, d]: copies; clean [rows, d]: their clean rows. */
invar_status inv_feature_ridge_add_copies(inv_feature_ridge *f, const float *z,
                                          const float *clean, uint64_t rows);

/*
 * Fills map and units of `out`, which inv_closed_form_clear frees, for one choice; rows may
 * be added afterwards. INVAR_E_NUMERIC if lambda is too small for linearly
 * dependent features.
 */
invar_status inv_feature_ridge_solve(inv_feature_ridge *f, double lambda, double anchor,
                                     inv_closed_form *out);

/*
 * A trial of a choice: the same regression for a subset of the features, spread evenly, at
 * most INV_FEATURE_TRIAL; with more, most of the work is in the right-hand sides. The error
 * of the subset estimates that of all. (With half of 512 features, two choices that differ
 * by 0.3 % changed places.)
 *
 * It also takes the first `units` hidden units alone, 1 … h: half of them make an eighth of
 * the work (of few rows it takes all, which then cost little). Their part of the kernel x^T
 * x' is units / h of that of all, so they are penalised by that share: then the expected
 * kernel, and with it the meaning of lambda, is the same for any number of units.
 */
enum { INV_FEATURE_TRIAL = 512 };

typedef struct inv_feature_trial {
	size_t r, step; /* r features: 0, step, 2 step … */
	size_t units;
	float *B, *t; /* [d + units, r], [r] */
} inv_feature_trial;

/* Fills out, free with inv_feature_trial_clear. */
invar_status inv_feature_ridge_try(inv_feature_ridge *f, double lambda, double anchor,
                                   size_t units, inv_feature_trial *out);
void inv_feature_trial_clear(inv_feature_trial *t);
/* Adds to *sum the squared errors |E(z) - clean|^2 of these features, [rows, d] each. */
invar_status inv_feature_ridge_add_error(inv_feature_ridge *f, const inv_feature_trial *t,
                                         const float *z, const float *clean, uint64_t rows,
                                         double *sum);

#endif
