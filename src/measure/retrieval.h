/* SPDX-License-Identifier: Apache-2.0 */
/*
 * retrieval.h - how often a query finds the same image or its class.
 *
 * Relevant is the same image (one row of the gallery) or any row of its class. Recall@K is
 * the fraction of queries with at least one relevant row among the K nearest; average
 * precision is the mean, over all relevant rows, of the precision at their places, which is
 * 1 / place for the same image. math/places.h defines the ranking.
 */
#ifndef INV_RETRIEVAL_H
#define INV_RETRIEVAL_H

#include "math/places.h"

typedef enum inv_sought { INV_SAME_IMAGE, INV_SAME_CLASS } inv_sought;

/* The figures of a query, in order: hit or miss @1, @5, @10, then average precision. */
enum { INV_AT_1, INV_AT_5, INV_AT_10, INV_PRECISION, INV_FIGURES };

/* False if the gallery has no relevant row. */
bool inv_retrieval_figures(inv_sought sought, const inv_place *rank,
                           double figures[INV_FIGURES]);

#endif
