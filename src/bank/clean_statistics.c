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

typedef struct clean_rows {
	const invar_bank *b;
	const inv_split *s;
	const uint32_t *images;
	size_t count, d;
	float *row; /* [d] */
} clean_rows;

static invar_status read_row(const clean_rows *c, size_t i, const float **out)
{
	*out = c->row;
	return inv_bank_row(c->b, c->s, INVAR_CLEAN, c->images[i], c->row);
}

static invar_status add_rows(const clean_rows *c, double *sum)
{
	const float *row;

	for (size_t i = 0; i < c->count; i++) {
		invar_status st = read_row(c, i, &row);

		if (st != INVAR_OK)
			return st;
		for (size_t l = 0; l < c->d; l++)
			sum[l] += row[l];
	}
	return INVAR_OK;
}

static invar_status add_squares(const clean_rows *c, const double *mean, double *squares)
{
	const float *row;

	for (size_t i = 0; i < c->count; i++) {
		invar_status st = read_row(c, i, &row);
		double sum = 0; /* of one row, so that long sums keep their digits */

		if (st != INVAR_OK)
			return st;
		for (size_t l = 0; l < c->d; l++)
			sum += (row[l] - mean[l]) * (row[l] - mean[l]);
		*squares += sum;
	}
	return INVAR_OK;
}

static invar_status refuse_equal_rows(const clean_rows *c)
{
	return inv_fail(INVAR_E_NUMERIC,
	                "%s: the clean features of all images in %s are equal, so they "
	                "have no scale",
	                c->b->path, c->s->name);
}

static invar_status measure_rows(const clean_rows *c, inv_clean_statistics *out)
{
	double squares = 0;
	invar_status st = add_rows(c, out->mean);

	if (st != INVAR_OK)
		return st;
	for (size_t l = 0; l < c->d; l++)
		out->mean[l] /= (double)c->count;
	if ((st = add_squares(c, out->mean, &squares)) != INVAR_OK)
		return st;
	out->sigma = sqrt(squares / ((double)c->count * (double)c->d));
	out->distance = 2 * squares / ((double)c->count - 1);
	return out->sigma > 0 ? INVAR_OK : refuse_equal_rows(c);
}

static invar_status measure_spread(const clean_rows *c, inv_clean_statistics *out)
{
	invar_status st;

	*out = (inv_clean_statistics){.mean = inv_calloc(c->d, sizeof *out->mean)};
	if (!out->mean)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for the mean of %zu features",
		                c->d);
	if ((st = measure_rows(c, out)) != INVAR_OK)
		inv_clean_statistics_clear(out);
	return st;
}

invar_status inv_clean_statistics_of(const invar_bank *b, const inv_split *s,
                                     const uint32_t *images, uint32_t count,
                                     inv_clean_statistics *out)
{
	clean_rows c = {.b = b, .s = s, .images = images, .count = count, .d = b->dim};
	invar_status st;

	*out = (inv_clean_statistics){0};
	if (!(c.row = inv_alloc(c.d * sizeof *c.row)))
		return inv_bank_no_memory(b->path);
	st = measure_spread(&c, out);
	inv_free(c.row);
	return st;
}

void inv_clean_statistics_clear(inv_clean_statistics *c)
{
	inv_free(c->mean);
	*c = (inv_clean_statistics){0};
}
