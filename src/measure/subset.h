/* SPDX-License-Identifier: Apache-2.0 */
/*
 * subset.h - classes that are far apart, chosen greedily.
 *
 * The two classes whose means are farthest apart come first, the smaller number before the
 * larger; then, again and again, the class whose nearest chosen one is farthest. Of equal
 * ones the smaller number wins, of equal first pairs the first in lexicographic order.
 * Squared distances are compared, in double, so that ties of exact numbers are exact.
 */
#ifndef INV_SUBSET_H
#define INV_SUBSET_H

#include "base/status.h"

/*
 * order [k], 2 <= k <= n, of means [n, d]; distance [k]: to the nearest one chosen before,
 * of the first to the second. nearest [n] is scratch.
 */
void inv_choose_apart(const double *means, uint32_t n, size_t d, uint32_t k,
                      double *nearest, uint32_t *order, double *distance);

/*
 * The k classes of a split (2 <= k) whose mean clean features are farthest apart, chosen
 * greedily: labels [k] in the order of choice, and the distance of each to the nearest one
 * chosen before it [k].
 */
invar_status inv_subset(const invar_bank *b, const char *split, uint32_t k, int64_t *labels,
                        double *distances);

#endif
