/* SPDX-License-Identifier: Apache-2.0 */
/*
 * neighbour_graph.h - sparse graphs of nearest neighbours.
 *
 * Invariants: the matrix A is symmetric; in each row columns ascend and occur once; weights
 * are >= 0. It takes memory in proportion to the edges.
 */
#ifndef INV_NEIGHBOUR_GRAPH_H
#define INV_NEIGHBOUR_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct inv_graph {
	size_t n;
	size_t *start;  /* [n + 1]: entries of row i are start[i] … start[i + 1] - 1 */
	uint32_t *to;   /* column of each entry */
	double *weight; /* of each entry; NULL: all 1 */
} inv_graph;

/* Lists of neighbours: row i has index[i * stride] …, `count` of them, never i itself. */
typedef struct inv_lists {
	size_t n, count, stride;
	const uint32_t *index;
	const double *squared; /* their squared distances */
	bool loops;            /* row i is also a neighbour of itself, at distance 0 */
} inv_lists;

/* A = 1 where i lists j or j lists i. */
invar_status inv_graph_union(const inv_lists *l, inv_graph *out);
/*
 * A = (W + W^T) / 2 with W = exp(-distance^2 / (2 sigma^2)) where i lists j, else 0.
 */
invar_status inv_graph_heat(const inv_lists *l, double sigma, inv_graph *out);
/* A = (W + W^T) / 2 with the weights [n, stride] of the lists; squared is not read. */
invar_status inv_graph_mean(const inv_lists *l, const float *weight, inv_graph *out);
void inv_graph_free(inv_graph *g);

/*
 * Numbers the connected components in the order of their first rows, component [n];
 * entries of weight 0 connect nothing. Returns how many there are.
 */
size_t inv_graph_components(const inv_graph *g, uint32_t *component);

#endif
