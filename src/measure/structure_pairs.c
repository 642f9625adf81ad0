/* SPDX-License-Identifier: Apache-2.0 */
/*
 * structure_pairs.c - the paper's picture of structure: distances after E over distances
 * before it, of pairs spread evenly over all, with the fitted line and y = x.
 */
#include <math.h>
#include <stdio.h>

#include "measure/measurement.h"
#include "measure/structure.h"
#include "run/results.h"

static const inv_scatter pairs_scatter = {
	.id = "structure.distances",
	.measurement = "structure",
	.title = "Distances between clean features, before and after the adapter",
	.x = &(const inv_axis){.title = "distance before"},
	.y = &(const inv_axis){.title = "distance after"},
};

/* Pairs in the order (0, 1), (0, 2), … (1, 2) …; which one is number k of n rows? */
static void pair_at(uint64_t k, uint64_t n, uint64_t *i, uint64_t *j)
{
	uint64_t row = 0, left = k;

	while (left >= n - 1 - row) {
		left -= n - 1 - row;
		row++;
	}
	*i = row;
	*j = row + 1 + left;
}

static double distance(const float *a, const float *b, uint32_t d)
{
	double sum = 0;

	for (uint32_t k = 0; k < d; k++) {
		double difference = (double)a[k] - b[k];

		sum += difference * difference;
	}
	return sqrt(sum);
}

static invar_status put_pairs(invar_results *r, const char *column, inv_points *points,
                              const inv_structure *s)
{
	char fit[80];
	inv_line lines[2];
	invar_status st;

	snprintf(fit, sizeof fit, "fit: %.2f x %c %.2g, R² %.3f", s->m, s->b < 0 ? '-' : '+',
	         fabs(s->b), s->r2);
	if (isfinite(s->m) && isfinite(s->b))
		lines[points->line_count++] = (inv_line){fit, s->m, s->b};
	lines[points->line_count++] = (inv_line){"y = x", 1, 0};
	points->lines = lines;
	st = inv_results_add_scatter(r, &pairs_scatter);
	if (st == INVAR_OK)
		st = inv_results_put_points(r, pairs_scatter.id, column, points);
	return st;
}

invar_status inv_structure_show(invar_results *r, const char *column, const float *x,
                                uint32_t d, const float *e, uint32_t w, uint64_t n,
                                const inv_structure *s)
{
	uint64_t all = n * (n - 1) / 2,
			 shown = all < INV_STRUCTURE_SHOWN ? all : INV_STRUCTURE_SHOWN;
	double *before = inv_calloc(shown + 1, sizeof *before);
	double *after = inv_calloc(shown + 1, sizeof *after);
	inv_points points = {.count = shown, .total = all, .x = before, .y = after};
	invar_status st =
		before && after
			? INVAR_OK
			: inv_fail(INVAR_E_NOMEM, "not enough memory for pairs of distances");

	for (uint64_t k = 0; k < shown && st == INVAR_OK; k++) {
		uint64_t i, j;

		pair_at(k * all / shown, n, &i, &j);
		before[k] = distance(x + i * d, x + j * d, d);
		after[k] = distance(e + i * w, e + j * w, w);
	}
	if (st == INVAR_OK)
		st = put_pairs(r, column, &points, s);
	inv_free(before);
	inv_free(after);
	return st;
}
