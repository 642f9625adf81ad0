/* SPDX-License-Identifier: Apache-2.0 */
/* study_items.h - lists of items of a recipe: single texts or mappings, with names. */
#ifndef INV_STUDY_ITEMS_H
#define INV_STUDY_ITEMS_H

#include "study/study.h"

/* What a key of the recipe lists: one item or several. */
typedef struct inv_items {
	const inv_node *section; /* NULL: the recipe does not have the key */
	size_t count;
} inv_items;

/* Checks that every item is a text or a mapping. */
invar_status inv_items_open(const inv_node *tree, const char *key, inv_items *out);
const inv_node *inv_items_at(const inv_items *all, size_t i);

/* The text of an item for this key; NULL if it has none. A text is short for `main`. */
invar_status inv_item_text(const inv_node *item, const char *key, const char *main,
                           const char **out);

/*
 * Title and folder of an item: its `name`, else `initial`, which it takes (NULL: no
 * memory). The names before it, [count], must differ.
 */
invar_status inv_item_name_read(const inv_node *item, char *initial, inv_item_name *names,
                                size_t count);
/* The same without an item: a title that was put together. */
invar_status inv_item_name_set(const inv_node *item, const char *title,
                               inv_item_name *names, size_t count);
void inv_item_names_free(inv_item_name *names, size_t count);

#endif
