/* SPDX-License-Identifier: Apache-2.0 */
/*
 * published.h - figures of a paper, to be printed beside our own.
 *
 * The file is JSON that people can read, one object per table of the paper:
 *
 *     {"format": "invar-published", "version": 1, "paper": TITLE, "digits": 2,
 *      "datasets": {ID: TITLE}, "encoders": {ID: TITLE}, "augmentations": {ID: TITLE},
 *      "columns": {ID: TITLE},
 *      "metrics": {ID: {"unit": "percent" or "number", "column": ID}},
 *      "tables": [{"label", "number", "caption", "dataset", "encoder",
 *                  "rows": [{"augment", "column", "width", "values": {METRIC: number}}]}]}
 *
 * Invariants, checked on opening:
 *   1. The file has at most 1 MB, no object has a key twice, a list has at most 100 names
 *      of at most 200 bytes, and no two of its entries share one.
 *   2. Data sets, encoders, augmentations, columns and metrics of tables are ids from the
 *      lists, so a misspelt one is an error.
 *   3. Numbers are finite and as printed: percent where the metric's unit says so.
 *   4. A metric with "column" belongs to that column whatever column it was printed in: the
 *      end-to-end classifier has no adapter, but the paper prints it beside each.
 *   5. Tables that give a figure twice agree on it.
 * Other keys (settings, notes) are ignored.
 *
 * A question names things as a recipe does, by id or by title, in any case: "stl10" or
 * "STL10", "dino_vits8" or "DINO", "waco-reduced" or "WaCo reduced". Metrics have their
 * ids.
 */
#ifndef INV_PUBLISHED_H
#define INV_PUBLISHED_H

#include <stdbool.h>
#include <stddef.h>

typedef struct inv_published inv_published;

typedef struct inv_published_key {
	const char *dataset; /* "stl10" */
	const char *encoder; /* an id is a name from the model zoo: "dino_vits8" */
	const char *augment; /* "rotation" */
	const char *column;  /* "F" or an adapter: "mawa" */
	const char *metric;  /* of a results document: "lc.clean" */
} inv_published_key;

typedef struct inv_published_value {
	double value;      /* in the unit of results documents: shares are 0 to 1 */
	unsigned digits;   /* decimals as printed; of percent for a share */
	unsigned width;    /* of the adapter's codes; 0 if the table does not say */
	unsigned number;   /* of the table in the paper */
	const char *label; /* of the table in its source; views the file's text */
} inv_published_value;

/* NULL with an error message that names the file. */
inv_published *inv_published_open(const char *path);
void inv_published_close(inv_published *p);

/* NULL if the paper does not have this figure, or the key lacks a name. Views. */
const inv_published_value *inv_published_find(const inv_published *p,
                                              const inv_published_key *key);

/* All figures, each once, by ids; NULL past the last. *key views, if not NULL. */
const inv_published_value *inv_published_at(const inv_published *p, size_t i,
                                            inv_published_key *key);

const char *inv_published_paper(const inv_published *p);
/* A title from "datasets", "encoders", "augmentations" or "columns", by id or title; or
 * NULL.
 */
const char *inv_published_title(const inv_published *p, const char *list, const char *name);

#endif
