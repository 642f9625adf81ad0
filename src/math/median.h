/* SPDX-License-Identifier: Apache-2.0 */
/*
 * median.h - the median of many values, found without sorting.
 *
 * A float that is not negative sorts like the integer of its bits. Values are counted by
 * their upper bits, which gives the median's upper bits; values that share these are
 * counted by their lower bits, which gives the rest: two passes, exact, and integer sums
 * are the same on any number of threads.
 */
#ifndef INV_MEDIAN_H
#define INV_MEDIAN_H

#include "base/context.h"

/* The two middle values; equal if the count is odd. */
typedef struct inv_middle {
	float low, high;
} inv_middle;

typedef struct inv_median inv_median;

invar_status inv_median_new(const invar_context *ctx, inv_median **out);
/*
 * Of the entries above the diagonal of x [n, n], 1 < n < 92682, none of them negative; NaN
 * counts as greater than all others.
 */
inv_middle inv_median_above(inv_median *p, const float *x, size_t n);
void inv_median_free(inv_median *p);

#endif
