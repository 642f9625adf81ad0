/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranks.h - ranks of the rows relevant to a query within a gallery.
 *
 * A ranking lists all gallery rows, nearest first, equally near ones by row. Distances
 * that decide an order are computed directly, in double: |q - g|² from differences, or
 * 1 - q·g / (|q| |g|), where a row of zeros has similarity 0 to everything. Products in
 * double, rounded to float, with a proven bound on their error settle the rest (ranks.c).
 * A query may have several rows, such as an image at four right angles: the nearest of them
 * decides how far it is from a gallery row.
 * Memory is bounded, and nothing depends on the number of threads.
 */
#ifndef INV_RANKS_H
#define INV_RANKS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/context.h"

typedef enum inv_distance { INV_L2, INV_COSINE, INV_DISTANCES } inv_distance;

/* Marks a row without a class: it is in no ranking by class. */
#define INV_RANKS_NO_CLASS UINT32_MAX

enum { INV_RANKS_VIEWS = 8 };

typedef struct inv_gallery {
	const float *rows; /* [n, w] */
	uint64_t n;        /* 0 < n < 2^32 */
	size_t w;
	const uint32_t *classes; /* [n]; NULL: no ranking by class */
} inv_gallery;

typedef struct inv_rank_queries {
	const float *rows; /* [count, w], or [count, views, w] */
	uint64_t count;
	const uint32_t *own;     /* [count]: the gallery row of the same image; NULL: unknown */
	const uint32_t *classes; /* [count]; NULL: no ranking by class */
	bool leave_own_out;      /* of the ranking by class */
} inv_rank_queries;

typedef struct inv_rank {
	uint32_t own;     /* rank of the own row among all, from 1; 0: unknown */
	uint32_t first;   /* rank of the first row of the query's class; 0: none */
	double precision; /* average precision over all rows of that class; NaN: none */
} inv_rank;

typedef struct inv_ranks inv_ranks;

/* Borrows the gallery's arrays. Belongs to one thread at a time. */
invar_status inv_ranks_new(const invar_context *ctx, const inv_gallery *g,
                           inv_distance distance, inv_ranks **out);
/* For queries of `views` rows, at most INV_RANKS_VIEWS. */
invar_status inv_ranks_new_views(const invar_context *ctx, const inv_gallery *g,
                                 inv_distance distance, size_t views, inv_ranks **out);
void inv_ranks_find(inv_ranks *p, const inv_rank_queries *q, inv_rank *out);
void inv_ranks_free(inv_ranks *p);

/* Plain loops; what runs under INVAR_CPU=ref. distances is scratch memory [n]. */
void inv_ranks_ref(const inv_gallery *g, inv_distance distance, size_t views,
                   const inv_rank_queries *q, double *distances, inv_rank *out);

#endif
