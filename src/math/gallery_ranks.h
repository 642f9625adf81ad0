/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gallery_ranks.h - searches of a gallery whose queries are dealt out to several processes.
 *
 * Every rank gets the whole gallery once, by its first search, and a share of the queries
 * of each. Results are exact and belong to one query each (neighbours.h, ranks.h), so they
 * do not depend on the number of ranks. Small searches are not worth an exchange and stay
 * on rank 0; so does a search that the other ranks have no memory for.
 *
 * Volume: the gallery once to every rank; of each search, its queries out and its results
 * in.
 */
#ifndef INV_GALLERY_RANKS_H
#define INV_GALLERY_RANKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/processes.h"

enum { INV_GALLERY_OUTPUTS = 2 };

/* Queries of one rank: of rank 0 the first ones, and all arrays are whole there. */
typedef struct inv_gallery_queries {
	const float *rows;       /* [count, views, w]; NULL: gallery rows from `first` on */
	const uint32_t *classes; /* [count]; NULL: none */
	const uint32_t *own;     /* [count] gallery rows that belong to them; NULL: none */
	uint64_t count, first;
	bool flag;                      /* the kind's own */
	void *out[INV_GALLERY_OUTPUTS]; /* NULL: none */
} inv_gallery_queries;

typedef struct inv_gallery_shape {
	uint64_t n, w;
	uint64_t views; /* rows of a query */
	uint64_t k;
	int32_t distance; /* the kind's own */
} inv_gallery_shape;

/* A kind of search: neighbours.c and ranks.c have one each. */
typedef struct inv_gallery_kind {
	/* Borrows the arrays. */
	invar_status (*open)(const invar_context *ctx, const inv_gallery_shape *s,
	                     const float *rows, const uint32_t *classes, void **out);
	void (*run)(void *object, const inv_gallery_queries *q); /* on this rank alone */
	void (*close)(void *object);
} inv_gallery_kind;

extern const inv_gallery_kind inv_gallery_neighbours, inv_gallery_rankings;

typedef struct inv_gallery_search {
	const inv_gallery_kind *kind;
	void *object; /* of rank 0 */
	uint64_t *id; /* its name on the other ranks; 0 before the first search */
	inv_gallery_shape shape;
	const float *rows; /* the gallery's */
	const uint32_t *classes;
	inv_gallery_queries q;
	size_t out_bytes[INV_GALLERY_OUTPUTS]; /* of one query */
} inv_gallery_search;

/* By all ranks if that pays, else by this one. */
void inv_gallery_search_run(const invar_context *ctx, const inv_gallery_search *s);
/* The other ranks free it. */
void inv_gallery_forget(const invar_context *ctx, uint64_t id);

extern const inv_service inv_gallery_service;

#endif
