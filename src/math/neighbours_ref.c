/* SPDX-License-Identifier: Apache-2.0 */
/* neighbours_ref.c - the definition: every distance, in double. */
#include <math.h>

#include "math/neighbours.h"

static double squared_distance(const float *a, const float *b, size_t w)
{
	double sum = 0;

	for (size_t i = 0; i < w; i++)
		sum += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
	return sum;
}

void inv_nearest_by_class_ref(const float *rows, const uint32_t *row_classes, uint64_t n,
                              size_t w, const float *q, const uint32_t *classes,
                              const uint32_t *leave_out, uint64_t m, double *own,
                              double *other)
{
	for (uint64_t i = 0; i < m; i++) {
		own[i] = other[i] = INFINITY;
		for (uint64_t j = 0; j < n; j++) {
			double squared = squared_distance(q + i * w, rows + j * w, w);
			double *least = row_classes[j] == classes[i] ? &own[i] : &other[i];

			if (leave_out && leave_out[i] == j)
				continue;
			*least = fmin(*least, squared);
		}
	}
}

/* Rows come in order, so an equally near one goes after the earlier ones. */
static void insert(double squared, uint32_t row, size_t k, size_t *have, uint32_t *index,
                   double *best)
{
	size_t at = *have;

	while (at && best[at - 1] > squared)
		at--;
	if (at == k)
		return;
	*have += *have < k;
	for (size_t i = *have - 1; i > at; i--) {
		best[i] = best[i - 1];
		index[i] = index[i - 1];
	}
	best[at] = squared;
	index[at] = row;
}

static void find_nearest(const float *rows, uint64_t n, size_t w, const float *q,
                         uint64_t leave_out, size_t k, uint32_t *index, double *squared)
{
	size_t have = 0;

	for (uint64_t j = 0; j < n; j++)
		if (j != leave_out)
			insert(squared_distance(q, rows + j * w, w), (uint32_t)j, k, &have, index,
			       squared);
}

void inv_nearest_ref(const float *rows, uint64_t n, size_t w, const float *q, uint64_t m,
                     size_t k, uint32_t *index, double *squared)
{
	for (uint64_t i = 0; i < m; i++)
		find_nearest(rows, n, w, q + i * w, n, k, index + i * k, squared + i * k);
}

void inv_nearest_others_ref(const float *rows, uint64_t n, size_t w, uint64_t first,
                            uint64_t m, size_t k, uint32_t *index, double *squared)
{
	for (uint64_t i = 0; i < m; i++)
		find_nearest(rows, n, w, rows + (first + i) * w, first + i, k, index + i * k,
		             squared + i * k);
}
