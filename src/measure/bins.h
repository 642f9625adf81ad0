/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bins.h - values of a parameter in bins, for curves over it.
 *
 * Few different values have a bin each. Of angles, bins have equal width: over the whole
 * circle if the values leave less than one bin of it free, with one bin about 0 (and one
 * about ±180 if their number is even); else from the smallest to the largest. Of other
 * numbers, bins have equal counts as far as equal values allow it, and x is the mean.
 */
#ifndef INV_BINS_H
#define INV_BINS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

#define INV_NO_BIN UINT32_MAX

typedef struct inv_bins {
	size_t count;
	double *x;     /* [count], ascending */
	uint32_t *bin; /* [n]: of each value; INV_NO_BIN: it is not finite */
	bool circle;   /* x[0] is -180, the same as 180 */
} inv_bins;

/* Start from {0}; clear in any case. At most `wanted` bins; 1 if all values are equal. */
invar_status inv_bins_make(const float *values, uint64_t n, size_t wanted, bool angles,
                           inv_bins *out);
void inv_bins_clear(inv_bins *b);

#endif
