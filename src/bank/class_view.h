/* SPDX-License-Identifier: Apache-2.0 */
/*
 * class_view.h - a bank of which only some classes are seen.
 *
 * The files stay as they are: a view holds 4 bytes per row that it keeps, and each row is
 * read from where it is. Rows of other classes and rows without a label are left out, the
 * others keep their order; labels are numbered by the order of the list. A split without
 * labels has no classes to leave out and stays as it is; one that keeps no row is left out.
 *
 * A class is named in the list as in bank.json, or by its label. The classes of bank.json
 * become those of the list, so that names follow the new numbers; a class without a name is
 * called by the label that it has in the files.
 */
#ifndef INV_CLASS_VIEW_H
#define INV_CLASS_VIEW_H

#include "bank/bank.h"
#include "base/options.h"

/* Turns a bank that was just opened into a view of the classes that the file lists. */
invar_status inv_class_view_apply(invar_bank *b, const char *list);
void inv_class_view_clear(inv_class_view *v);

/* The label of the view for a label of the files; -1 if the view does not have it. */
int64_t inv_class_view_label(const inv_class_view *v, int64_t label);

/* The names of its classes, in order; NULL if the bank is not a view. Views. */
json_t *inv_bank_view_classes(const invar_bank *b);

/*
 * Fails if the option classes of o is set but the bank was opened without it: opening a
 * bank is what applies the option (invar_bank_open).
 */
invar_status inv_class_view_check(const invar_bank *b, const invar_options *o);

/* The option classes, as a list of its own. */
invar_status inv_bank_declare(invar_options *o);

#endif
