/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gram_sum.h - sums of X^T X and X^T Y over blocks of rows, for least squares.
 *
 * Products are float32 within 512 rows, which bounds how many roundings add up; these are
 * summed in double, first within an addition, then over all of them. X is given as parts,
 * its columns side by side ([u, relu(...)]), so that they need not be copied into one
 * matrix. Sums are cut into tiles by their shape alone, one thread per tile: their bits do
 * not depend on the number of threads.
 */
#ifndef INV_GRAM_SUM_H
#define INV_GRAM_SUM_H

#include "math/matmul.h"

enum { INV_GRAM_SUM_PARTS = 2 };

/* Columns of X: [rows, cols], dense. */
typedef struct inv_gram_part {
	const float *x;
	size_t cols;
} inv_gram_part;

typedef struct inv_gram_sum inv_gram_sum;

/* p is the total of the parts' columns; scratch memory for one sum at a time. */
invar_status inv_gram_sum_new(const invar_context *ctx, inv_gram_sum **out);
void inv_gram_sum_free(inv_gram_sum *s);

/* gram [p, p] += X^T X, of which at least the lower triangle is kept up to date. */
void inv_gram_sum_add(inv_gram_sum *s, const inv_gram_part *parts, size_t count,
                      size_t rows, double *gram);
/* cross [p, r] += X^T Y for Y [rows, r]. */
void inv_gram_sum_add_cross(inv_gram_sum *s, const inv_gram_part *parts, size_t count,
                            size_t rows, const float *y, size_t r, double *cross);
/* sums [cols] += the sums of the columns of x [rows, cols], in double. */
void inv_column_sums_add(const float *x, size_t rows, size_t cols, double *sums);

/* The plain loops in double: what the first two approximate. */
void inv_gram_sum_ref(const inv_gram_part *parts, size_t count, size_t rows, double *gram);
void inv_gram_sum_cross_ref(const inv_gram_part *parts, size_t count, size_t rows,
                            const float *y, size_t r, double *cross);

#endif
