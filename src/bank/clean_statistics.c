/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clean_statistics.c - mean and spread of clean rows.
 *
 * Two passes: the mean first, then the squares of centred values. One pass over sums and
 * sums of squares would lose the digits of features that lie far from the origin.
 */
#include "bank/clean_statistics.h"

#include <math.h>

#include "base/memory.h"

static invar_status add_rows(const invar_bank *b, const inv_split *s,
                             const uint32_t *images, uint32_t count, float *row,
                             double *sum)
{
	for (uint32_t i = 0; i < count; i++) {
		invar_status st = inv_bank_row(b, s, INVAR_CLEAN, images[i], row);

		if (st != INVAR_OK)
			return st;
		for (size_t l = 0; l < b->dim; l++)
			sum[l] += row[l];
	}
	return INVAR_OK;
}

static invar_status add_squares(const invar_bank *b, const inv_split *s,
                                const uint32_t *images, uint32_t count, const double *mean,
                                float *row, double *squares)
{
	for (uint32_t i = 0; i < count; i++) {
		invar_status st = inv_bank_row(b, s, INVAR_CLEAN, images[i], row);
		double sum = 0; /* of one row, so that long sums keep their digits */

		if (st != INVAR_OK)
			return st;
		for (size_t l = 0; l < b->dim; l++)
			sum += (row[l] - mean[l]) * (row[l] - mean[l]);
		*squares += sum;
	}
	return INVAR_OK;
}

static invar_status measure_rows(const invar_bank *b, const inv_split *s,
                                 const uint32_t *images, uint32_t count, float *row,
                                 inv_clean_statistics *out)
{
	double squares = 0;
	invar_status st = add_rows(b, s, images, count, row, out->mean);

	if (st != INVAR_OK)
		return st;
	for (size_t l = 0; l < b->dim; l++)
		out->mean[l] /= count;
	if ((st = add_squares(b, s, images, count, out->mean, row, &squares)) != INVAR_OK)
		return st;
	out->sigma = sqrt(squares / ((double)count * b->dim));
	out->distance = 2 * squares / count;
	if (!(out->sigma > 0))
		return inv_fail(INVAR_E_NUMERIC,
		                "%s: the clean features of all images in %s are equal, so they "
		                "have no scale",
		                b->path, s->name);
	return INVAR_OK;
}

invar_status inv_clean_statistics_of(const invar_bank *b, const inv_split *s,
                                     const uint32_t *images, uint32_t count,
                                     inv_clean_statistics *out)
{
	float *row = inv_alloc(b->dim * sizeof *row);
	invar_status st = INVAR_E_NOMEM;

	*out = (inv_clean_statistics){.mean = inv_calloc(b->dim, sizeof *out->mean)};
	if (row && out->mean)
		st = measure_rows(b, s, images, count, row, out);
	else
		inv_bank_no_memory(b->path);
	inv_free(row);
	if (st != INVAR_OK)
		inv_clean_statistics_clear(out);
	return st;
}

void inv_clean_statistics_clear(inv_clean_statistics *c)
{
	inv_free(c->mean);
	*c = (inv_clean_statistics){0};
}
