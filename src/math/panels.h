/* SPDX-License-Identifier: Apache-2.0 */
/*
 * panels.h - C (+)= A W for a W that is used in many products.
 *
 * W is rearranged once into panels of 16 columns, which the products then read
 * sequentially. Every number of C is summed in the same order, whatever rows and columns
 * are computed with it: no bit depends on the batch, on the rows of a thread, or on the
 * number of threads. (The libraries behind matmul.h choose other orders for other shapes.)
 *
 * Panels of bfloat16 store two rows of W in the size of one, and products round A to
 * bfloat16 as well; sums are those of floats. Their bits are the same with every
 * instruction set and in plain C.
 *
 * Panels of bytes store four rows of W. Whoever makes them has rounded W and A, and gives
 * the scales that make floats of the integer sums.
 */
#ifndef INV_PANELS_H
#define INV_PANELS_H

#include "math/kernels.h"

typedef struct inv_panels {
	size_t k, n;
	size_t first, wide; /* its first column among those of all panels */
	bool pairs, bytes;  /* of bfloat16; fours of 8 bits; see kernels.h */
	float *at; /* parts of k, each [wide / 16][part][16]; zeros past the last column */
} inv_panels;

inv_panels inv_panels_of(size_t k, size_t n, float *at);
inv_panels inv_pair_panels_of(size_t k, size_t n, float *at);
inv_panels inv_byte_panels_of(size_t k, size_t n, float *at);

/* Floats that panels of W [k, n] need; and scratch floats that a product needs. */
uint64_t inv_panels_floats(size_t k, size_t n);
uint64_t inv_pair_panels_floats(size_t k, size_t n);
size_t inv_panels_room(void);

/*
 * W [k, n] whose rows are `stride` floats apart, not of bytes; or W' [n, k], as a Linear
 * layer has it. Of bytes, x is cells of four already.
 */
void inv_panels_fill(const struct inv_kernels *kernels, const inv_panels *w, const float *x,
                     size_t stride);
void inv_panels_fill_turned(const struct inv_kernels *kernels, const inv_panels *w,
                            const float *x, size_t stride);

/* Columns [first, first + n) of W as a plain matrix [k, n]; not of pairs. */
void inv_panels_read(const inv_panels *w, size_t first, size_t n, float *out);

/* Columns [first, first + n) of W; `first` must be a multiple of INV_PANEL_COLS. */
inv_panels inv_panels_columns(const inv_panels *w, size_t first, size_t n);

/* c [rows, n] (+)= a [rows, k] W on the calling thread; the strides of rows are in floats.
 */
void inv_panels_multiply(const struct inv_kernels *kernels, const inv_panels *w,
                         size_t rows, const float *a, size_t a_stride, bool add, float *c,
                         size_t c_stride, float *scratch);

/* The same with all that a product can have; inv_panels_room() floats of scratch. */
typedef struct inv_panels_rows {
	size_t rows;
	const float *a;
	size_t a_stride;
	bool turned; /* a is stored [k, rows]; not with pairs */
	bool add;
	const float *bias; /* [n]; NULL: none */
	bool relu;
	const float *mask; /* c = 0 where this is not above 0; NULL: none */
	size_t mask_stride;
	float *column_sums; /* with a mask: [n] += the rows of c, in order */
	float *c;
	size_t c_stride;
	/* Strips of cells [cell, cell + cells) of rows from first + row on. NULL: of a. Of pairs
	 * and bytes; bytes need it. */
	void (*pack)(const void *user, size_t row, size_t cell, size_t rows, size_t cells,
	             float *strips);
	const void *user;
	size_t first;
	/* With pairs or bytes and `sums`: where results go instead of c, see kernels.h. */
	uint16_t *half;
	size_t half_stride;
	bool half_add;
	float *sums; /* [inv_panels_height(rows), n], for parts of long sums; NULL: c */
	size_t sums_stride;
	const float *row_scale, *column_scale; /* of bytes, see kernels.h */
} inv_panels_rows;

void inv_panels_multiply_rows(const struct inv_kernels *kernels, const inv_panels *w,
                              const inv_panels_rows *r, float *scratch);

/* The rows that are multiplied at once: of equal parts of `rows`, all but the last. */
enum { INV_MAX_PANEL_ROWS = 192 };
size_t inv_panels_height(size_t rows);

#endif
