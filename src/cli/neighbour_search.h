/* SPDX-License-Identifier: Apache-2.0 */
/*
 * neighbour_search.h - what an index of clean features answers for augmented images, before
 * and after an adapter.
 *
 * Queries are the first image of each class or spread evenly, never those that look best.
 * The index holds F of the gallery and of the split that queries come from, in both cases
 * as it was, so that a query can find the same image. It is read in blocks.
 */
#ifndef INV_NEIGHBOUR_SEARCH_H
#define INV_NEIGHBOUR_SEARCH_H

#include "cli/session.h"

enum { INV_MAX_QUERIES = 100, INV_MAX_NEAREST = 10 };

typedef struct inv_search {
	const invar_bank *bank;
	const char *split, *gallery; /* where queries come from, and what is searched besides */
	const invar_adapter *adapter;
	uint32_t copy;  /* of the queries */
	size_t queries; /* with labels the first of as many classes, else spread evenly */
	size_t nearest; /* per query */
} inv_search;

/* What one query finds, nearest first. */
typedef struct inv_found {
	uint64_t row[INV_MAX_NEAREST]; /* of the index: the gallery, then the split */
	double distance[INV_MAX_NEAREST];
	size_t count;
} inv_found;

typedef struct inv_query {
	uint64_t row;
	int64_t label; /* -1: none */
	inv_found by_f, by_e;
} inv_query;

typedef struct inv_answers {
	inv_query *query; /* [queries] */
	size_t queries;
	int64_t *label; /* of the rows of the index; NULL: none */
} inv_answers;

/* Fills out, which is cleared in any case. */
invar_status inv_search_run(inv_session *s, const inv_search *n, inv_answers *out);
/* The split of a row of the index, and its row there. */
const char *inv_search_split(const inv_search *n, uint64_t *row);
/* Whether a row of the index is the same image as the query. */
bool inv_search_is_same(const inv_search *n, const inv_query *q, uint64_t row);
void inv_answers_clear(inv_answers *a);

/* neighbour_sheet.c: the same as a picture. */
typedef struct inv_neighbours {
	const invar_dataset *images;
	const char *title; /* of the adapter */
	inv_search search;
} inv_neighbours;

invar_status inv_neighbours_write(inv_session *s, const inv_neighbours *n,
                                  const char *path);

#endif
