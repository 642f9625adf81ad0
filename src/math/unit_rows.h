/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unit_rows.h - rows divided by their Euclidean norms.
 *
 * unit(z) = z / |z|, and unit(0) = 0. Squares are added in double, in an order that depends
 * on the width alone, so that a row has the same bits on any number of threads. As a float
 * has a smaller range than the square root of a double's, no norm overflows or vanishes.
 */
#ifndef INV_UNIT_ROWS_H
#define INV_UNIT_ROWS_H

#include <stddef.h>

double inv_row_norm(const float *x, size_t d);
/* x and out are [rows, d]; out may be x. */
void inv_unit_rows(const float *x, size_t rows, size_t d, float *out);

#endif
