/* SPDX-License-Identifier: Apache-2.0 */
/*
 * labelled_rows.h - images that are listed one by one, each with a name, the text of its
 * label and the name of its split; for kinds that consist of such lists.
 *
 * Classes are the different labels, in byte order, or by their value if all are numbers.
 * An empty label means none. The splits train, val, test and unlabeled come first, others
 * in the order in which they appear; without splits all images are train, and --holdout may
 * cut them.
 */
#ifndef INV_LABELLED_ROWS_H
#define INV_LABELLED_ROWS_H

#include "images/dataset.h"

typedef struct inv_labelled_rows {
	inv_names names, labels, splits; /* one of each per image */
	int32_t *classes;                /* [names.count] once published; NULL without labels */
} inv_labelled_rows;

/* The splits that folders may have; NULL past the last. */
const char *inv_standard_split(size_t i);
bool inv_is_standard_split(const char *name, size_t length);

/* Start from {0}. Copies the texts. */
invar_status inv_labelled_rows_add(inv_labelled_rows *r, const char *name,
                                   const char *label, const char *split);
/* Adds the classes and splits to the data set; the store of each split is `store`. */
invar_status inv_labelled_rows_publish(inv_labelled_rows *r, invar_dataset *d,
                                       const void *store);
void inv_labelled_rows_clear(inv_labelled_rows *r);

#endif
