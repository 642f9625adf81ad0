/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_page.h - makes the page of one or several runs, for `invar report` and for stages.
 *
 * What metrics.json of the runs lacks is measured first and kept there, as `invar eval`
 * does; pictures are drawn from the images that the bank was made from; then
 * report/page.h writes the page. Whatever cannot be had is left out, with a line in the
 * page that says why.
 */
#ifndef INV_REPORT_PAGE_H
#define INV_REPORT_PAGE_H

#include "cli/session.h"

struct inv_page_part;
struct inv_page_pictures;

typedef struct inv_report {
	const char *const *run; /* [runs]: folders */
	size_t runs;
	const char *bank;          /* NULL: each run's own, if it still has the same rows */
	const char *split;         /* to measure and to show */
	const char *metrics;       /* to have, "a,b"; NULL: INV_REPORT_METRICS */
	double points;             /* rows to measure; 0: all, or fewer if it would take long */
	bool as_is;                /* measure nothing */
	const char *images;        /* data set of the bank's images; NULL: no pictures */
	const invar_options *data; /* a list for "data", which chooses images; or NULL */
	const char *name;          /* title of the page; NULL: the names of the runs */
	const char *recommended;   /* name of the run that a trial chose; NULL: the best */
	const char *output;        /* the file to write */
} inv_report;

/* Everything that the page has a section for and that takes seconds to minutes. */
#define INV_REPORT_METRICS                                                          \
	"lc,kept,knn,structure,collision,invariance,same-image,same-class,tsne,curves," \
	"classes,worst"

enum { INV_REPORT_WORDS = 400 }; /* bytes of a list of measurements */

/*
 * report_bounds.c: what a page measures unless options say more. Words of metrics, "a,b",
 * that take all rows and have too many of them move to `left_out` (both
 * [INV_REPORT_WORDS]); *points is 0 for all rows of the split, or how many of them the rest
 * is measured on. It depends on the sizes of the bank alone, so what was measured for a
 * page is found again.
 */
invar_status inv_report_bound(const invar_bank *bank, const char *split, size_t adapters,
                              char *metrics, char *left_out, double *points);

invar_status inv_report_write(inv_session *s, const inv_report *r);

/* A few searches with the one run of r; nothing if its codes cannot be looked up. */
invar_status inv_overview_pictures(inv_session *s, const inv_report *r, const char *title,
                                   struct inv_page_pictures *out);

/* Several documents in a few lines each, with links to their pages; see report/page.h. */
invar_status inv_overview_write(inv_session *s, const char *title,
                                const invar_results *const *document,
                                const struct inv_page_part *part, size_t count,
                                const char *output);

#endif
