/* SPDX-License-Identifier: Apache-2.0 */
/*
 * neighbours.h - exact nearest neighbours of many rows in a gallery.
 *
 * Every result equals the direct computation: squared distances in double, from
 * differences. A cheaper product with a proven error bound only excludes gallery rows
 * (neighbours.c). No matrix of distances is kept, and nothing depends on the number of
 * threads. Queries may be the gallery's own rows: inv_nearest_others is the graph of the k
 * nearest neighbours, without loops.
 */
#ifndef INV_NEIGHBOURS_H
#define INV_NEIGHBOURS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/context.h"

typedef struct inv_neighbours inv_neighbours;

/*
 * Borrows rows [n, w] and their classes [n] (NULL if not needed) for its lifetime; 0 < n <
 * 2^32. inv_nearest finds k <= n rows. Needs 2 bytes per value besides the rows. Belongs to
 * one thread at a time.
 */
invar_status inv_neighbours_new(const invar_context *ctx, const float *rows, uint64_t n,
                                size_t w, const uint32_t *classes, size_t k,
                                inv_neighbours **out);
void inv_neighbours_free(inv_neighbours *p);

/*
 * For each of m queries [m, w] the squared distance to the nearest gallery row
 * of its own class and of any other (Eq. 19); INFINITY if there is none. leave_out[i], if
 * given, is a gallery row that does not count for query i.
 */
void inv_nearest_by_class(inv_neighbours *p, const float *q, const uint32_t *classes,
                          const uint32_t *leave_out, uint64_t m, double *own,
                          double *other);

/* The k nearest gallery rows, nearest first, equal ones by row: [m, k] each. */
void inv_nearest(inv_neighbours *p, const float *q, uint64_t m, uint32_t *index,
                 double *squared);

/*
 * The same for rows first … first + m - 1 of the gallery itself, each of which is left out
 * of its own list; k < n.
 */
void inv_nearest_others(inv_neighbours *p, uint64_t first, uint64_t m, uint32_t *index,
                        double *squared);

/*
 * A gallery for inv_tell_apart alone; of rows or, for cosine, of their directions, between
 * which |a - b|² is 2 (1 - cos). A row of zeros is at right angles to everything.
 */
invar_status inv_neighbours_new_split(const invar_context *ctx, const float *rows,
                                      uint64_t n, size_t w, bool cosine,
                                      inv_neighbours **out);

/* Called for a gallery row that may be on either side, by the thread of query i. */
typedef void inv_undecided_fn(void *user, uint64_t i, uint32_t row);

/*
 * Tells gallery rows apart by their distance to query i: counts[i] is the number of rows
 * certainly nearer than near[i]; `visit` gets those that are not, unless they are certainly
 * farther than far[i]; near[i] <= far[i]. Not without kernels, under INVAR_CPU=ref.
 */
void inv_tell_apart(inv_neighbours *p, const float *q, uint64_t m, const double *near,
                    const double *far, inv_undecided_fn *visit, void *user,
                    uint32_t *counts);

/* Plain loops; what runs under INVAR_CPU=ref. */
void inv_nearest_by_class_ref(const float *rows, const uint32_t *row_classes, uint64_t n,
                              size_t w, const float *q, const uint32_t *classes,
                              const uint32_t *leave_out, uint64_t m, double *own,
                              double *other);
void inv_nearest_ref(const float *rows, uint64_t n, size_t w, const float *q, uint64_t m,
                     size_t k, uint32_t *index, double *squared);
void inv_nearest_others_ref(const float *rows, uint64_t n, size_t w, uint64_t first,
                            uint64_t m, size_t k, uint32_t *index, double *squared);

#endif
