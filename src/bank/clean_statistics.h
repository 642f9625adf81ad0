/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clean_statistics.h - mean and spread of the clean features of a bank.
 *
 * These numbers make a training free of the encoder's scale: mu and sigma of the scale-free
 * residual and of random features, and the distance by which the loss keep divides.
 */
#ifndef INV_CLEAN_STATISTICS_H
#define INV_CLEAN_STATISTICS_H

#include "bank/bank.h"

/* Free with inv_clean_statistics_clear. */
typedef struct inv_clean_statistics {
	double *mean;    /* [d] */
	double sigma;    /* root mean square of the centred values, over all dimensions */
	double distance; /* mean squared distance of two different rows of n:
	                    2 d sigma^2 n / (n - 1) */
} inv_clean_statistics;

/*
 * Of the clean rows `images` of a split, in two passes: sums in double, in the order of the
 * list. Equal features have no scale, which is an error.
 */
invar_status inv_clean_statistics_of(const invar_bank *b, const inv_split *s,
                                     const uint32_t *images, uint32_t count,
                                     inv_clean_statistics *out);
void inv_clean_statistics_clear(inv_clean_statistics *c);

#endif
