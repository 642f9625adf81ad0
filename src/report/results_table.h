/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results_table.h - any results as a table.
 *
 * Rows are metrics, columns are F and the adapters; the metrics of a row stand side by side
 * in its cells, `clean | augmented`, shares in percent, with their 95 % intervals in the
 * row below. Everything is read from the descriptions of the metrics: no measurement is
 * known by name here.
 */
#ifndef INV_RESULTS_TABLE_H
#define INV_RESULTS_TABLE_H

#include "invar.h"
#include "report/table.h"

/* NULL if there is no memory; free with inv_table_free. */
inv_table *inv_results_table(const invar_results *r);
/* The same without intervals. */
inv_table *inv_results_table_short(const invar_results *r);

/*
 * For headings: how the bank was made, "resnet18, rotation: ", as far as it is known; and
 * what was measured, "20 points of the split test, 5 copies, width 384; clean | augmented".
 * Both return out.
 */
enum { INV_HEADING = 2048 };
const char *inv_results_origin(const invar_results *r, char out[INV_HEADING]);
const char *inv_results_measured(const invar_results *r, char out[INV_HEADING]);

#endif
