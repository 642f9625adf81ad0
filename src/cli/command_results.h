/* SPDX-License-Identifier: Apache-2.0 */
/* command_results.h - results documents and tables, as commands print and save them. */
#ifndef INV_COMMAND_RESULTS_H
#define INV_COMMAND_RESULTS_H

#include "cli/session.h"
#include "report/table.h"

/* Writes the table in a format of table.h; takes it. NULL fails as without memory. */
invar_status inv_put_table(inv_table *t, const char *format, FILE *out);

/* Results as a JSON document, on standard output and in a file. */
invar_status inv_print_results(const invar_results *r);
invar_status inv_save_results(inv_session *s, const char *path, const invar_results *r);

/* A trial: what was measured, F beside the adapters, and the verdict with its reason. */
invar_status inv_print_trial(const invar_results *r);

bool inv_ends_in(const char *path, const char *ending);

#endif
