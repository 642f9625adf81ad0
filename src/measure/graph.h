/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.h - spectra and heat kernel signatures of graphs of nearest neighbours.
 *
 * Published, as the authors' earlier code defines them: a row is one of its own k nearest,
 * so graphs have loops. Plain: a row is not, and there are no loops.
 *
 * Spectrum: the 50 smallest eigenvalues of the normalised Laplacian of the graph with an
 * edge i-j where i is among the k nearest of j, or j of i. The distance of two spectra is
 * the L2 norm of their difference; published divides each by its largest first.
 *
 * Heat: HKS(i, t) = sum of exp(-t lambda_j) phi_j(i)^2 over these 50 pairs, at ten times
 * from 0.1 to 10. Published takes it from the graph of weights exp(-distance^2 / (2
 * sigma^2)), sigma the mean distance to the k-th nearest, made symmetric by (W + W^T) / 2;
 * plain from the graph above. The distance of two: published divides the n values of each
 * time by their L2 norm and takes the mean over times of the L2 norm of the difference;
 * plain takes the mean of |HKS_x - HKS_y| over rows and times.
 */
#ifndef INV_MEASURE_GRAPH_H
#define INV_MEASURE_GRAPH_H

#include <stdbool.h>
#include <stddef.h>

#include "base/context.h"

enum { INV_GRAPH_PAIRS = 50, INV_GRAPH_TIMES = 10, INV_GRAPH_SIZES = 3 };
extern const size_t inv_graph_k[INV_GRAPH_SIZES]; /* 10, 20, 50 */

/* The graphs of one k. Doubles only, so that a cache can hold it. */
typedef struct inv_graph_spectrum {
	double components, edges;           /* edges: a loop counts as one */
	double duplicates;                  /* rows that equal another row */
	double sigma;                       /* mean distance to the k-th nearest */
	double heat_components;             /* of the graph of heat weights */
	double eigenvalue[INV_GRAPH_PAIRS]; /* ascending; [1] is the Fiedler value */
} inv_graph_spectrum;

/* Of one set of rows, for each k. */
typedef struct inv_graph_side {
	uint64_t n;
	size_t doubles;               /* of all that follows, in one block of memory */
	inv_graph_spectrum *spectrum; /* [INV_GRAPH_SIZES] */
	double *heat;                 /* [INV_GRAPH_SIZES, n, INV_GRAPH_TIMES] */
} inv_graph_side;

invar_status inv_graph_side_new(uint64_t n, inv_graph_side *out);
void inv_graph_side_free(inv_graph_side *side);

/* Rows x [n, w]; side comes from inv_graph_side_new. */
invar_status inv_graph_measure(const invar_context *ctx, bool published, const float *x,
                               size_t w, inv_graph_side *side);

/* The vector of heat is determined: the null space has no more vectors than pairs. */
bool inv_graph_has_heat(const inv_graph_side *side, size_t size);

/* The largest difference of neighbouring eigenvalues, after which one; and the sum of the
 * pairs (published) or of all eigenvalues (plain). */
double inv_graph_largest_gap(const inv_graph_spectrum *s, size_t *index);
double inv_graph_trace(const inv_graph_side *side, bool published, size_t size);

/* Distances of the graphs of two sets of equally many rows, for k number `size`. */
double inv_graph_spectral_distance(const inv_graph_side *a, const inv_graph_side *b,
                                   bool published, size_t size);
double inv_graph_heat_distance(const inv_graph_side *a, const inv_graph_side *b,
                               bool published, size_t size);

#endif
