/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retrieval.h - how often a query finds its own image or its class, on arrays.
 *
 * Relevant is its own image (one row of the gallery) or any row of its class. Recall@K is
 * the share of queries with at least one relevant row among the K nearest; average
 * precision is the mean, over all relevant rows, of the precision at their ranks, which is
 * 1 / rank for the own image. math/ranks.h defines the ranking.
 */
#ifndef INV_RETRIEVAL_H
#define INV_RETRIEVAL_H

#include "math/ranks.h"

typedef enum inv_sought { INV_SAME_IMAGE, INV_SAME_CLASS } inv_sought;

/* The figures of a query, in order: hit or miss @1, @5, @10, then average precision. */
enum { INV_AT_1, INV_AT_5, INV_AT_10, INV_PRECISION, INV_FIGURES };

/* False if the gallery has no relevant row. */
bool inv_retrieval_figures(inv_sought sought, const inv_rank *rank,
                           double figures[INV_FIGURES]);

/* Means over the queries that have a relevant row. */
typedef struct inv_retrieval {
	double figure[INV_FIGURES]; /* NaN if there are none */
	uint64_t queries;
} inv_retrieval;

/* Of all queries at once; `own` or `classes` of gallery and queries as `sought` needs. */
invar_status inv_retrieval_measure(const invar_context *ctx, const inv_gallery *g,
                                   inv_distance distance, const inv_rank_queries *q,
                                   inv_sought sought, inv_retrieval *out);

#endif
