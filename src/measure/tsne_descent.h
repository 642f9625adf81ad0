/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsne_descent.h - from a start in the plane down the gradient of KL(P || Q).
 *
 * dKL/dy_i = 4 sum_j (P_ij - Q_ij) (y_i - y_j) / (1 + |y_i - y_j|^2). Momentum, gains and
 * when to stop are scikit-learn's: P is exaggerated at first, with momentum 0.5, then a
 * second phase begins anew with momentum 0.8.
 */
#ifndef INV_TSNE_DESCENT_H
#define INV_TSNE_DESCENT_H

#include "math/affinity.h"

typedef struct inv_descent {
	double exaggeration;
	double learning_rate;
	uint64_t early, iterations; /* exaggerated ones, all of them */
} inv_descent;

/*
 * y [n, 2] is the start and becomes the embedding. *done is the number of iterations, *kl
 * the divergence of the embedding. Same bits on any number of threads.
 */
invar_status inv_tsne_descend(const invar_context *ctx, const inv_affinity *joint,
                              const inv_descent *o, float *y, uint64_t *done, double *kl);

#endif
