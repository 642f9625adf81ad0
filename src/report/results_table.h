/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results_table.h - any results as a table.
 *
 * Rows are metrics, columns are F and the adapters; the metrics of a row stand side by side
 * in its cells, `clean | augmented`, fractions in percent, with their 95 % intervals in the
 * row below. Everything is read from the descriptions of the metrics: no measurement is
 * known by name here.
 */
#ifndef INV_RESULTS_TABLE_H
#define INV_RESULTS_TABLE_H

#include "invar.h"
#include "report/table.h"

/* NULL if there is no memory; free with inv_table_free. */
inv_table *inv_results_table(const invar_results *r, bool intervals);

/*
 * For headings: how the bank was made, "resnet18, rotation: ", as far as it is known; and
 * what was measured, "20 points of the split test, 5 copies, width 384; clean | augmented".
 * Both return out.
 */
enum { INV_HEADING = 2048 };
const char *inv_results_origin(const invar_results *r, char out[INV_HEADING]);
const char *inv_results_measured(const invar_results *r, char out[INV_HEADING]);

/*
 * For HTML: a line per metric, those of a row as a group; the best of several columns is
 * marked, intervals are small. NULL also if nothing was measured.
 */
inv_table *inv_results_lines(const invar_results *r);
/* Only the metrics that people compare first, with titles in words; NULL: none of them. */
inv_table *inv_results_first_lines(const invar_results *r);

enum { INV_SPELLED_NUMBER = 64 };

/* A number of a metric, a fraction in percent without its sign; a dash for NaN. */
const char *inv_spell_number(char text[INV_SPELLED_NUMBER], const invar_metric *m,
                             double value);

#endif
