/* SPDX-License-Identifier: Apache-2.0 */
/*
 * affinity.h - t-SNE's joint distribution P over pairs of points, as a sparse matrix.
 *
 * p_{j|i} = exp(-beta_i d_ij^2) over the neighbours j of i, divided by its sum, with beta_i
 * such that the entropy is log(perplexity); P_ij = (p_{j|i} + p_{i|j}) / 2n. Nothing here
 * depends on the number of threads.
 */
#ifndef INV_AFFINITY_H
#define INV_AFFINITY_H

#include <stddef.h>
#include <stdint.h>

#include "base/context.h"

/* Rows of edges, each padded with edges of weight 0 to a multiple of INV_EDGES. */
typedef struct inv_affinity {
	size_t n;
	size_t *row;     /* [n + 1]: the edges of point i are row[i] … row[i + 1] - 1 */
	uint32_t *index; /* ascending within a row; of padding, the point itself */
	float *weight;   /* P_ij */
} inv_affinity;

/*
 * p [n, k] from the squared distances [n, k] to the k neighbours of each point, nearest
 * first; perplexity < k. betas [n] may be NULL. reached[i] is false for a point whose
 * perplexity cannot be reached, as more than that many neighbours are equally near: these
 * get the same p.
 */
void inv_conditional(const invar_context *ctx, const double *squared, size_t n, size_t k,
                     double perplexity, float *p, double *betas, bool *reached);

/* P from p and the neighbours [n, k]. Free it with inv_affinity_clear. */
invar_status inv_affinity_join(size_t n, size_t k, const uint32_t *index, const float *p,
                               inv_affinity *out);
void inv_affinity_clear(inv_affinity *a);

/* force_i = sum_j P_ij (y_i - y_j) / (1 + |y_i - y_j|^2) for points y [n, 2]. */
void inv_affinity_attract(const invar_context *ctx, const inv_affinity *a, const float *y,
                          float *force);
/* KL(P || Q) with Q_ij = 1 / (1 + |y_i - y_j|^2) / z; fails if there is no memory. */
invar_status inv_affinity_divergence(const invar_context *ctx, const inv_affinity *a,
                                     const float *y, double z, double *kl);

#endif
