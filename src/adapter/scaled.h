/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scaled.h - the scale-free residual, E(z) = z + sigma MLP((z - mu) / sigma).
 *
 * mu is the mean of the clean features used for training and sigma the root mean square of
 * their centred values over all dimensions (bank/clean_statistics.h). A training sees rows
 * u = (z - mu) / sigma (encode/batches.h) and the plain residual u + MLP(u), so that one
 * learning rate serves every encoder; squared errors are those of the features divided by
 * sigma^2. The written adapter takes the features as they are:
 *
 *     W0 / sigma     b0 - W0 mu / sigma     sigma W2     sigma b2
 *
 * so to every reader an adapter is a plain residual MLP. A decoder is not residual, and
 * D(E(z)) is a feature: its b2 becomes sigma b2 + mu.
 */
#ifndef INV_SCALED_H
#define INV_SCALED_H

#include "adapter/closed_forms/closed_form.h"
#include "bank/clean_statistics.h"

/* Rewrites an MLP of rows u in place for rows z, computed in double. */
void inv_scaled_fold(const inv_clean_statistics *c, inv_mlp_shape s, bool residual,
                     float *params);

/*
 * Rewrites a closed form z M + t + relu(z W^T + b) V of rows z as one of rows u: t becomes
 * (mu M + t - mu) / sigma, and hidden units sigma W, b + W mu and V / sigma.
 */
void inv_scaled_closed_form(const inv_clean_statistics *c, inv_closed_form *form);

#endif
