/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_cost.h - what a page can afford to measure: on how many rows, and what not at all.
 *
 * By the library's estimates (inv_eval_forecast) at a fixed speed, so that a bank is
 * always thinned out alike and what was measured for a page is found again.
 */
#ifndef INV_REPORT_COST_H
#define INV_REPORT_COST_H

#include "cli/session.h"

enum { INV_REPORT_WORDS = 400 }; /* bytes of a list of measurements */

/*
 * Words of metrics, "a,b", that take too long even on the fewest rows move to `left_out`
 * (both [INV_REPORT_WORDS]), the most expensive first; *points is 0 for all rows of the
 * split, or how many of them the rest can afford.
 */
invar_status inv_report_afford(inv_session *s, const invar_bank *bank, const char *split,
                               const invar_adapter *const *adapters, size_t count,
                               char *metrics, char *left_out, double *points);

#endif
