/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clean_statistics.c - mean and spread of clean rows.
 *
 * Two passes: the mean first, then the squares of centred values. One pass over sums and
 * sums of squares would lose precision for features far from the origin.
 */
#include "bank/clean_statistics.h"

#include <math.h>

#include "base/memory.h"

invar_status inv_clean_statistics_of(const invar_bank *b, const inv_split *s,
                                     const uint32_t *images, uint32_t count,
                                     inv_clean_statistics *out)
{
	size_t d = b->dim;
	double squares = 0;
	float *row;
	invar_status st;

	*out = (inv_clean_statistics){0};
	INV_TRY(inv_new_array(&row, d));
	INV_TRY_OR(fail, inv_new_zeros(&out->mean, d));

	for (uint32_t i = 0; i < count; i++) {
		INV_TRY_OR(fail, inv_bank_row(b, s, INVAR_CLEAN, images[i], row));
		for (size_t l = 0; l < d; l++)
			out->mean[l] += row[l];
	}
	for (size_t l = 0; l < d; l++)
		out->mean[l] /= (double)count;

	for (uint32_t i = 0; i < count; i++) {
		double sum = 0; /* of one row, so that long sums keep their digits */

		INV_TRY_OR(fail, inv_bank_row(b, s, INVAR_CLEAN, images[i], row));
		for (size_t l = 0; l < d; l++)
			sum += (row[l] - out->mean[l]) * (row[l] - out->mean[l]);
		squares += sum;
	}
	out->sigma = sqrt(squares / ((double)count * (double)d));
	out->distance = 2 * squares / ((double)count - 1);
	if (!(out->sigma > 0))
		INV_TRY_OR(fail, inv_fail(INVAR_E_NUMERIC,
		                          "%s: the clean features of all images in %s are equal, "
		                          "so they have no scale",
		                          b->path, s->name));
	inv_free(row);
	return INVAR_OK;
fail:
	inv_free(row);
	inv_clean_statistics_clear(out);
	return st;
}

void inv_clean_statistics_clear(inv_clean_statistics *c)
{
	inv_free(c->mean);
	*c = (inv_clean_statistics){0};
}
