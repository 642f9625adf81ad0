/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clean_profile.h - what clean features look like, in a few thousand numbers, and how far
 * others are from it.
 *
 * Each dimension is divided by its deviation in the old rows, mixed with that of all, so
 * that no single one decides.
 * Along INV_PROFILE_DIRECTIONS random directions, which are drawn and not stored, a profile
 * has the quantiles of the old rows; one more row of quantiles is that of their norms. The
 * shift of new rows is the sliced Wasserstein distance of order 2 between both, computed
 * from the quantiles, in units of the old rows' spread.
 *
 * Samples of the same distribution also have a distance. How large it is by chance is
 * measured on the old rows: INV_PROFILE_HALVES pairs of halves, drawn at random, are
 * compared with each other. Squared distances shrink with the number of rows: for n new and
 * m old ones, those of halves are multiplied by (1/n + 1/m) / (4/m). A shift is what
 * remains,
 *
 *     sqrt(SW² - typical²),
 *
 * so that it does not depend on how many rows are compared; the spread of chance is
 * sqrt(largest² - typical²).
 */
#ifndef INV_CLEAN_PROFILE_H
#define INV_CLEAN_PROFILE_H

#include "base/context.h"
#include "base/json.h"

enum {
	INV_PROFILE_DIRECTIONS = 64,
	INV_PROFILE_CURVES = INV_PROFILE_DIRECTIONS + 1, /* the last one is of norms */
	INV_PROFILE_QUANTILES = 32,
	INV_PROFILE_HALVES = 50,
	INV_PROFILE_MIN_ROWS = 20,   /* rows */
	INV_PROFILE_MAX_ROWS = 10000 /* rows that are used, spread evenly */
};

typedef struct inv_clean_profile {
	size_t d;
	uint64_t rows; /* that were used */
	double *scale; /* [d] */
	double quantile[INV_PROFILE_CURVES][INV_PROFILE_QUANTILES];
	/* Of the features and of the norms: deviation; root mean square and largest distance of
	 * halves. */
	double spread[2], typical[2], largest[2];
} inv_clean_profile;

/* x is [rows, d]. Free with clear, also after a failure. */
invar_status inv_clean_profile_make(const invar_context *ctx, const float *x, uint64_t rows,
                                    size_t d, inv_clean_profile *out);
void inv_clean_profile_clear(inv_clean_profile *p);

/* As an object, gives; and back. Numbers are kept with 6 digits. */
json_t *inv_clean_profile_json(const inv_clean_profile *p);
invar_status inv_clean_profile_read(const json_t *from, const char *where,
                                    inv_clean_profile *out);

/* In units of the old spread: of the features, then of the norms. */
typedef struct inv_shift {
	uint64_t rows;
	double shift[2];  /* beyond what is typical by chance */
	double chance[2]; /* the spread of chance */
	double norm;      /* median norm of the new rows over that of the old ones */
} inv_shift;

invar_status inv_clean_profile_compare(const invar_context *ctx, const inv_clean_profile *p,
                                       const float *x, uint64_t rows, inv_shift *out);

#endif
