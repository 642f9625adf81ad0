/* SPDX-License-Identifier: Apache-2.0 */
/*
 * comparison.h - results of several runs as one results document: adapters side by side.
 *
 * A file of results has the column F and one adapter, "1", or F alone if no adapter helps.
 * In the comparison F comes first, then every adapter; figures are means over the files of
 * an adapter, which differ in their seeds. With several files a value has its deviation and
 * the number of runs instead of an interval. Curves and points are those of the first file
 * of each adapter.
 */
#ifndef INV_COMPARISON_H
#define INV_COMPARISON_H

#include <jansson.h>

#include "study/node.h"

typedef struct inv_compared {
	const char *title;
	const char **file; /* [files], results of invar eval on one adapter */
	size_t files;
} inv_compared;

typedef struct inv_comparison {
	const inv_compared *adapter; /* [adapters], at least one, each with a file */
	size_t adapters;
	const char *study, *title; /* for readers */
	const json_t *notes;       /* texts for readers that are in no file; or NULL */
} inv_comparison;

/* Gives a document as docs/reference/RESULTS-FORMAT.md describes it. */
invar_status inv_compare(const inv_comparison *c, json_t **out);

#endif
