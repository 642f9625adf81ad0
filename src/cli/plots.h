/* SPDX-License-Identifier: Apache-2.0 */
/* plots.h - figures of results documents as files, for the commands that write them. */
#ifndef INV_CLI_PLOTS_H
#define INV_CLI_PLOTS_H

#include "cli/session.h"
#include "report/figure.h"

/* One figure among those of several documents. */
typedef struct inv_named_figure {
	const invar_results *results; /* a view */
	inv_figure figure;
	char
		name[INV_FIGURE_ID + 24]; /* unique: the id, with a number if it is there already */
} inv_named_figure;

typedef struct inv_figures {
	inv_named_figure *one;
	size_t count;
} inv_figures;

/* Adds all figures of r, which stays the caller's and must live as long. */
invar_status inv_figures_add(inv_figures *all, const invar_results *r);
void inv_figures_free(inv_figures *all);

/* Checks that a file may be written, before the work, and writes it. */
invar_status inv_figure_check(inv_session *s, const char *path, bool force);
invar_status inv_figure_save(inv_session *s, const inv_named_figure *f, const char *path,
                             bool dark);
/* All of them into a folder, which is made if it is not there: NAME.png, or NAME.svg. */
invar_status inv_figures_save(inv_session *s, const inv_figures *all, const char *folder,
                              bool force, bool dark);

#endif
