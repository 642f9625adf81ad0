/* SPDX-License-Identifier: Apache-2.0 */
/*
 * places.h - places of the rows relevant to a query in the ranking of a gallery.
 *
 * A ranking lists all gallery rows, nearest first, equally near ones by row. Distances
 * that decide an order are computed directly, in double: |q - g|² from differences, or
 * 1 - q·g / (|q| |g|), where a row of zeros has similarity 0 to everything. Products in
 * double, rounded to float, with a proven bound on their error settle the rest (places.c).
 * A query may have several rows, such as an image at four right angles: the nearest of them
 * decides how far it is from a gallery row.
 * Memory is bounded, and nothing depends on the number of threads.
 */
#ifndef INV_PLACES_H
#define INV_PLACES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/context.h"

typedef enum inv_distance { INV_L2, INV_COSINE, INV_DISTANCES } inv_distance;

/* Marks a row without a class: it is in no ranking by class. */
#define INV_PLACES_NO_CLASS UINT32_MAX

enum { INV_PLACES_VIEWS = 8 };

typedef struct inv_gallery {
	const float *rows; /* [n, w] */
	uint64_t n;        /* 0 < n < 2^32 */
	size_t w;
	const uint32_t *classes; /* [n]; NULL: no ranking by class */
} inv_gallery;

typedef struct inv_place_queries {
	const float *rows; /* [count, w], or [count, views, w] */
	uint64_t count;
	const uint32_t *own;     /* [count]: the gallery row of the same image; NULL: unknown */
	const uint32_t *classes; /* [count]; NULL: no ranking by class */
	bool leave_own_out;      /* of the ranking by class */
} inv_place_queries;

typedef struct inv_place {
	uint32_t own;     /* place of the own row among all, from 1; 0: unknown */
	uint32_t first;   /* place of the first row of the query's class; 0: none */
	double precision; /* average precision over all rows of that class; NaN: none */
} inv_place;

typedef struct inv_places inv_places;

/*
 * For queries of `views` rows, at most INV_PLACES_VIEWS. Borrows the gallery's arrays.
 * Belongs to one thread at a time.
 */
invar_status inv_places_new(const invar_context *ctx, const inv_gallery *g,
                            inv_distance distance, size_t views, inv_places **out);
void inv_places_find(inv_places *p, const inv_place_queries *q, inv_place *out);
void inv_places_free(inv_places *p);

/* Plain loops; what runs under INVAR_CPU=ref. distances is scratch memory [n]. */
void inv_places_ref(const inv_gallery *g, inv_distance distance, size_t views,
                    const inv_place_queries *q, double *distances, inv_place *out);

#endif
