/* SPDX-License-Identifier: Apache-2.0 */
/*
 * squares.h - squared distances between all rows of a matrix.
 *
 * |x - y|² = |x|² + |y|² - 2 x·y, with the rows relative to their mean so that little
 * cancels. Where it still would, the two rows are close and their distance is computed from
 * the differences: every entry has a relative error below 1e-3, most of 1e-6; equal rows,
 * and only these, have 0.
 *
 * A plan is made once and run many times without allocating; it belongs to one
 * thread at a time. The bits do not depend on the number of threads.
 */
#ifndef INV_SQUARES_H
#define INV_SQUARES_H

#include "base/context.h"

typedef struct inv_squares inv_squares;

invar_status inv_squares_new(const invar_context *ctx, size_t n, size_t width,
                             inv_squares **out);
/* x [n, width] -> out [n, n], symmetric to the bit. */
void inv_squares_run(inv_squares *p, const float *x, float *out);
/* The rows of the last run about their mean, [n, width]; views. */
const float *inv_squares_centred(const inv_squares *p);
size_t inv_squares_memory(const inv_squares *p);
void inv_squares_free(inv_squares *p);

#endif
