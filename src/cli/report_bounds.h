/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_bounds.h - what a page measures unless options say more: on how many rows, and
 * what not at all. It depends on the sizes of the bank alone, so what was measured for a
 * page is found again.
 */
#ifndef INV_REPORT_BOUNDS_H
#define INV_REPORT_BOUNDS_H

#include "invar.h"

enum { INV_REPORT_WORDS = 400 }; /* bytes of a list of measurements */

/*
 * Words of metrics, "a,b", that take all rows and have too many of them move to `left_out`
 * (both [INV_REPORT_WORDS]); *points is 0 for all rows of the split, or how many of them
 * the rest is measured on.
 */
invar_status inv_report_bound(const invar_bank *bank, const char *split, size_t adapters,
                              char *metrics, char *left_out, double *points);

#endif
