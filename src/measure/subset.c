/* SPDX-License-Identifier: Apache-2.0 */
/* subset.c - inv_subset: the classes of a bank that are farthest apart, see subset.h. */
#include "measure/subset.h"

#include <inttypes.h>
#include <math.h>

#include "base/pool.h"
#include "base/text.h"
#include "measure/labels.h"

static double squared_gap_of(const double *a, const double *b, size_t d)
{
	double sum = 0;

	for (size_t i = 0; i < d; i++)
		sum += (a[i] - b[i]) * (a[i] - b[i]);
	return sum;
}

static double find_first_pair(const double *means, uint32_t n, size_t d, uint32_t pair[2])
{
	double largest = -1;

	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = i + 1; j < n; j++) {
			double now = squared_gap_of(means + i * d, means + j * d, d);

			if (now > largest) {
				largest = now;
				pair[0] = i;
				pair[1] = j;
			}
		}
	return largest;
}

/* A chosen class is at distance 0 of itself and marked, so that it is not chosen again. */
static void take_class(const double *means, uint32_t n, size_t d, uint32_t chosen,
                       double *nearest)
{
	for (uint32_t i = 0; i < n; i++)
		nearest[i] = fmin(nearest[i], squared_gap_of(means + i * d, means + chosen * d, d));
	nearest[chosen] = -1;
}

void inv_choose_apart(const double *means, uint32_t n, size_t d, uint32_t k,
                      double *nearest, uint32_t *order, double *distance)
{
	distance[0] = distance[1] = sqrt(find_first_pair(means, n, d, order));
	for (uint32_t i = 0; i < n; i++)
		nearest[i] = INFINITY;
	take_class(means, n, d, order[0], nearest);
	take_class(means, n, d, order[1], nearest);
	for (uint32_t c = 2; c < k; c++) {
		uint32_t best = 0;

		for (uint32_t i = 1; i < n; i++)
			if (nearest[i] > nearest[best])
				best = i;
		order[c] = best;
		distance[c] = sqrt(nearest[best]);
		take_class(means, n, d, best, nearest);
	}
}

/* Mean clean features [classes, d]; row [d] and rows [classes] are scratch. */
static invar_status find_means(const invar_bank *b, const inv_split *s, const inv_labels *l,
                               float *row, uint64_t *rows, double *means)
{
	const size_t d = b->dim;

	for (uint64_t i = 0; i < l->rows; i++) {
		uint32_t class = inv_labels_class(l, l->label[i]);

		INV_TRY(inv_progress(b->ctx, "class means", i, l->rows));
		INV_TRY(inv_bank_row(b, s, INVAR_CLEAN, l->row ? l->row[i] : i, row));
		for (size_t x = 0; x < d; x++)
			means[class * d + x] += row[x];
		rows[class]++;
	}
	for (uint32_t k = 0; k < l->classes; k++)
		for (size_t x = 0; x < d; x++)
			means[k * d + x] /= (double)rows[k];
	return INVAR_OK;
}

static invar_status choose_labels(const invar_bank *b, const inv_split *s,
                                  const inv_labels *l, uint32_t k, inv_pool *scratch,
                                  int64_t *labels, double *distances)
{
	double *means, *nearest;
	uint64_t *rows;
	uint32_t *order;
	float *row;

	if (k < 2)
		return inv_fail(INVAR_E_USE,
		                "@count %" PRIu32 ": distances need at least 2 classes", k);
	if (!l->rows)
		return inv_fail(INVAR_E_MISMATCH, "%s: no row of %s has a label", b->path, s->name);
	if (l->classes < k)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: %s has %" PRIu32 " %s, but @count asks for %" PRIu32, b->path,
		                s->name, l->classes, inv_noun(l->classes, "class", "classes"), k);
	INV_TRY(inv_pool_zeros(scratch, &means, (uint64_t)l->classes * b->dim));
	INV_TRY(inv_pool_zeros(scratch, &nearest, l->classes));
	INV_TRY(inv_pool_zeros(scratch, &rows, l->classes));
	INV_TRY(inv_pool_zeros(scratch, &order, k));
	INV_TRY(inv_pool_zeros(scratch, &row, b->dim));
	INV_TRY(find_means(b, s, l, row, rows, means));
	inv_choose_apart(means, l->classes, b->dim, k, nearest, order, distances);
	for (uint32_t i = 0; i < k; i++)
		labels[i] = l->class_label[order[i]];
	if (distances[0] == 0)
		return inv_fail(INVAR_E_NUMERIC,
		                "%s: all classes of %s have the same mean feature, so none is "
		                "farther apart than others",
		                b->path, s->name);
	return INVAR_OK;
}

invar_status inv_subset(const invar_bank *b, const char *split, uint32_t k, int64_t *labels,
                        double *distances)
{
	const inv_split *s = inv_bank_split(b, split);
	inv_pool scratch = {0};
	inv_labels l = {0};
	invar_status st;

	if (!s)
		return INVAR_E_MISMATCH;
	if (!s->labels)
		return inv_fail(INVAR_E_MISMATCH, "%s: %s has no labels.npy", b->path, split);
	INV_TRY(inv_labels_read(b, s, &l));
	st = choose_labels(b, s, &l, k, &scratch, labels, distances);
	inv_pool_free(&scratch);
	inv_labels_clear(&l);
	return st;
}
