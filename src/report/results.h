/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results.h - the document of `invar eval` as a table in the paper's layout.
 *
 * Rows are measurements, columns are F and the adapters; a cell of an accuracy
 * is `clean | augmented` in percent, with its 95 % interval in the row below.
 */
#ifndef INV_RESULTS_H
#define INV_RESULTS_H

#include <jansson.h>

#include "report/table.h"

/* NULL if there is no memory; free with inv_table_free. */
inv_table *inv_results_table(const json_t *document);

#endif
