/* SPDX-License-Identifier: Apache-2.0 */
/* study_items.c - lists of items of a recipe: single texts or mappings, with names. */
#include "study/study_items.h"
#include "base/memory.h"
#include "run/run.h"

#include <stdlib.h>
#include <string.h>

const inv_node *inv_items_at(const inv_items *all, size_t i)
{
	return all->section->kind == INV_NODE_LIST ? all->section->child[i] : all->section;
}

invar_status inv_items_open(const inv_node *tree, const char *key, inv_items *out)
{
	const inv_node *section = inv_node_find(tree, key);

	*out = (inv_items){0};
	if (inv_node_is_null(section))
		return INVAR_OK;
	out->section = section;
	out->count = section->kind == INV_NODE_LIST ? section->count : 1;
	if (!out->count)
		return inv_node_fail(section, "the list %s is empty", key);
	for (size_t i = 0; i < out->count; i++) {
		const inv_node *item = inv_items_at(out, i);

		if (item->kind == INV_NODE_LIST || inv_node_is_null(item))
			return inv_node_fail(item, "an item of %s is a text or a mapping", key);
	}
	return INVAR_OK;
}

invar_status inv_item_text(const inv_node *item, const char *key, const char *main,
                           const char **out)
{
	const inv_node *entry;

	*out = NULL;
	if (item->kind == INV_NODE_TEXT) {
		*out = strcmp(key, main) == 0 ? item->text : NULL;
		return INVAR_OK;
	}
	entry = inv_node_find(item, key);
	if (inv_node_is_null(entry))
		return INVAR_OK;
	if (entry->kind != INV_NODE_TEXT)
		return inv_node_fail(entry, "%s takes a single value", key);
	*out = entry->text;
	return INVAR_OK;
}

/* ---- Names --------------------------------------------------------------------------- */

void inv_item_names_free(inv_item_name *names, size_t count)
{
	for (size_t i = 0; names && i < count; i++) {
		free(names[i].title);
		free(names[i].folder);
	}
	free(names);
}

static const inv_node *place_of_name(const inv_node *item)
{
	const inv_node *named = inv_node_find(item, "name");

	return named ? named : item;
}

/* Folders of items are beside our files, and "NAME.part" is a run that replaces another. */
static bool is_reserved(const char *folder)
{
	static const char *const files[] = {"stages.json", INV_RUN_REPORT, "diagnose.json"};
	const char *end = strrchr(folder, '.');

	for (size_t i = 0; i < sizeof files / sizeof *files; i++)
		if (strcmp(folder, files[i]) == 0)
			return true;
	return strncmp(folder, "table.", 6) == 0 || (end && strcmp(end, ".part") == 0);
}

invar_status inv_item_name_set(const inv_node *item, const char *title,
                               inv_item_name *names, size_t count)
{
	inv_item_name *n = &names[count];

	n->node = item;
	n->title = strdup(title);
	n->folder = inv_folder_name(title);
	if (!n->title || !n->folder)
		return inv_no_memory();
	if (!*n->folder)
		return inv_node_fail(place_of_name(item),
		                     "the name '%.60s' has no letter or digit; a folder is named "
		                     "after it",
		                     title);
	if (is_reserved(n->folder))
		return inv_node_fail(place_of_name(item),
		                     "the name '%.60s' is the name of a file of the study; choose "
		                     "another name",
		                     title);
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i].folder, n->folder) == 0)
			return inv_node_fail(place_of_name(item),
			                     "two items are named '%.60s'; give one of them another "
			                     "name",
			                     title);
	return INVAR_OK;
}

invar_status inv_item_name_read(const inv_node *item, char *initial, inv_item_name *names,
                                size_t count)
{
	const char *title;
	invar_status st = inv_item_text(item, "name", "", &title);

	if (st == INVAR_OK && !title && !initial)
		st = inv_no_memory();
	if (st == INVAR_OK)
		st = inv_item_name_set(item, title ? title : initial, names, count);
	free(initial);
	return st;
}
