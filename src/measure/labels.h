/* SPDX-License-Identifier: Apache-2.0 */
/*
 * labels.h - which rows of a split have a label, and which classes exist.
 *
 * A negative label stands for none. Labels may be any numbers: classes are numbered from 0
 * in the order of their labels, so that arrays have one entry per class that exists, and
 * labels 0 … k-1 keep their numbers.
 */
#ifndef INV_LABELS_H
#define INV_LABELS_H

#include "bank/bank.h"

#define INV_NO_CLASS UINT32_MAX

typedef struct inv_labels {
	uint64_t rows;        /* that have a label */
	uint64_t *row;        /* [rows]: where they are in the split; NULL: all have one */
	int64_t *label;       /* [rows] */
	int64_t *class_label; /* [classes], ascending */
	uint32_t classes;
} inv_labels;

/* Start from {0}; clear accepts that. */
invar_status inv_labels_read(const invar_bank *bank, const inv_split *s, inv_labels *out);
/* The same from an array of labels, none of them negative. */
invar_status inv_labels_take(const int64_t *labels, uint64_t rows, inv_labels *out);
void inv_labels_clear(inv_labels *l);

/* The number of a label among the classes of l; INV_NO_CLASS if it is none of them. */
uint32_t inv_labels_class(const inv_labels *l, int64_t label);

/*
 * A class in results, where names are repeated: its name, or its label if name is NULL. Of
 * a name of more than INV_CLASS_NAME bytes the beginning and the label. Returns out.
 */
enum { INV_CLASS_NAME = 100, INV_CLASS_TEXT = INV_CLASS_NAME + 1 };
const char *inv_class_text(const char *name, int64_t label, char out[INV_CLASS_TEXT]);

/* How many rows of `of` are of classes that `known` does not have. */
uint64_t inv_labels_unknown(const inv_labels *of, const inv_labels *known);

#endif
