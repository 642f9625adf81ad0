/* SPDX-License-Identifier: Apache-2.0 */
/*
 * class_list.h - a file that lists classes: the option classes of data sets and banks.
 *
 * One name or index per line, without blanks around it; empty lines are skipped. The order
 * of the lines is the new numbering. Both kinds of readers share the option's row, the
 * parser and the messages, so that one list means the same everywhere.
 */
#ifndef INV_CLASS_LIST_H
#define INV_CLASS_LIST_H

#include "base/options.h"
#include "images/names.h"

/* The option classes; ended by a row without a name. */
extern const invar_option inv_class_list_rows[];

/* The lines of the file; out starts from {0}. A file that lists nothing is an error. */
invar_status inv_class_list_load(const char *path, inv_names *out);

/* The index that a line holds, if it is one: digits and nothing else. */
bool inv_class_list_index(const char *text, uint64_t *index);

/* INVAR_E_USE; `where` is the data set or bank. */
invar_status inv_class_list_unknown(const char *path, const char *text, const char *where);
invar_status inv_class_list_twice(const char *path, const char *name);
invar_status inv_class_list_no_classes(const char *path, const char *where);
/* No image of any split has one of the classes. */
invar_status inv_class_list_no_rows(const char *path, const char *where);

#endif
