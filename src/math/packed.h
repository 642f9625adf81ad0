/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed.h - a tile of C = op(A) op(B) on one thread, by the panels of panels.h.
 *
 * Both operands are rearranged on the way: some columns of op(B) to panels, then blocks of
 * rows of op(A) to strips. The order of each sum depends on k alone, so tiles may be cut in
 * any way.
 */
#ifndef INV_PACKED_H
#define INV_PACKED_H

#include "math/panels.h"

/*
 * Some rows and columns of the tile, computed; those of the same columns come in order.
 * c points to the first of them, its rows are `stride` floats apart.
 */
typedef void inv_packed_fn(void *user, const float *c, size_t stride, size_t row,
                           size_t rows, size_t col, size_t cols);

typedef struct inv_packed_tile {
	const struct inv_kernels *kernels;
	size_t m, n, k;
	const float *a, *b;
	size_t a_stride, b_stride;
	bool turned_a, turned_b; /* A is stored [k, m], B [n, k] */
	bool add;                /* c += instead of c =; c is not NULL */
	const float *bias;       /* [n]; NULL: none */
	bool relu;
	const float *mask; /* [m, n], as far apart as c; see panels.h */
	float *column_sums;
	const inv_panels *panels; /* of op(B), if they are there already; b is not read */
	float *c;                 /* NULL: its parts are only shown to `then` */
	size_t c_stride;
	inv_packed_fn *then; /* may be NULL */
	void *user;
} inv_packed_tile;

/* Scratch floats for tiles of up to m rows and n columns, without or with `panels`. */
size_t inv_packed_room(size_t m, size_t n, size_t k, bool panels);
void inv_packed_multiply(const inv_packed_tile *t, float *scratch);

#endif
