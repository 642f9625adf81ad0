/* SPDX-License-Identifier: Apache-2.0 */
/* unit_rows.c - see unit_rows.h. */
#include "math/unit_rows.h"

#include <math.h>

enum { SUMS = 8 }; /* independent ones, so that additions need not wait for each other */

double inv_row_norm(const float *x, size_t d)
{
	double sum[SUMS] = {0}, all = 0;
	size_t i = 0;

	for (; i + SUMS <= d; i += SUMS)
		for (size_t k = 0; k < SUMS; k++)
			sum[k] += (double)x[i + k] * x[i + k];
	for (size_t k = 0; i < d; i++, k++)
		sum[k] += (double)x[i] * x[i];
	for (size_t k = 0; k < SUMS; k++)
		all += sum[k];
	return sqrt(all);
}

void inv_unit_rows(const float *x, size_t rows, size_t d, float *out)
{
	for (size_t r = 0; r < rows; r++, x += d, out += d) {
		double norm = inv_row_norm(x, d), by = norm > 0 ? 1 / norm : 0;

		for (size_t i = 0; i < d; i++)
			out[i] = (float)(x[i] * by);
	}
}
