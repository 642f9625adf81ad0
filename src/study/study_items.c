/* SPDX-License-Identifier: Apache-2.0 */
/*
 * study_items.c - lists of items of a recipe, single texts or mappings; the titles and
 * folders of items, and paths beside the recipe.
 */
#include <ctype.h>
#include <string.h>

#include "base/words.h"
#include "images/dataset.h"
#include "run/run.h"
#include "study/study.h"

enum { LONGEST = 100 }; /* bytes of a folder's name */

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

invar_status inv_node_text(const inv_node *n, const char *key, const char **out)
{
	*out = NULL;
	if (inv_node_is_null(n))
		return INVAR_OK;
	if (n->kind != INV_NODE_TEXT)
		return inv_node_fail(n, "%s takes a single value", key);
	*out = n->text;
	return INVAR_OK;
}

/* Bytes of the character of several bytes in UTF-8 that the text begins with; 0: none. */
static size_t wide_bytes(const char *text)
{
	unsigned char first = (unsigned char)*text;
	size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;

	if (first < 0xC2 || first > 0xF4)
		return 0;
	for (size_t i = 1; i < bytes; i++)
		if (((unsigned char)text[i] & 0xC0) != 0x80)
			return 0;
	return bytes;
}

/* Fills `name`, which is cleared and has LONGEST + 1 bytes. */
static void fold_title(const char *title, char *name)
{
	size_t used = 0;

	for (; *title && used < LONGEST; title++) {
		unsigned char c = (unsigned char)*title;
		bool plain = c < 128 && (isalnum(c) || strchr("._+", c));
		size_t wide = wide_bytes(title);

		if (wide > LONGEST - used)
			break;
		if (wide) {
			memcpy(name + used, title, wide);
			used += wide;
			title += wide - 1;
		} else if (plain && !(c == '.' && used == 0))
			name[used++] = (char)tolower(c);
		else if (used && name[used - 1] != '-')
			name[used++] = '-';
	}
	while (used && name[used - 1] == '-')
		name[--used] = '\0';
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

invar_status inv_item_name_set(inv_study *s, const inv_node *item, const char *title,
                               inv_item_name *names, size_t count)
{
	const inv_node *named = inv_node_find(item, "name"), *at = named ? named : item;
	inv_item_name *n = &names[count];

	n->title = title;
	INV_TRY(inv_pool_zeros(&s->pool, &n->folder, LONGEST + 1));
	fold_title(title, n->folder);
	if (!*n->folder)
		return inv_node_fail(
			at, "the name '%.60s' has no letter or digit; a folder is named after it",
			title);
	if (is_reserved(n->folder))
		return inv_node_fail(
			at, "the name '%.60s' is the name of a file of the study; choose another name",
			title);
	for (size_t i = 0; i < count; i++)
		if (strcmp(names[i].folder, n->folder) == 0)
			return inv_node_fail(
				at, "two items are named '%.60s'; give one of them another name", title);
	return INVAR_OK;
}

invar_status inv_item_name_read(inv_study *s, const inv_node *item, const char *initial,
                                inv_item_name *names, size_t count)
{
	const char *title;

	INV_TRY(inv_node_text(inv_node_find(item, "name"), "name", &title));
	return inv_item_name_set(s, item, title ? title : initial, names, count);
}

invar_status inv_study_beside(inv_study *s, const char *path, char **out)
{
	return *path == '/' || !*s->beside
	           ? inv_pool_print(&s->pool, out, "%s", path)
	           : inv_pool_print(&s->pool, out, "%s/%s", s->beside, path);
}

/* What follows "KIND:" of a known kind; the text itself if there is none. */
static const char *dataset_place(const char *dataset, const char **kind)
{
	for (size_t i = 0; (*kind = inv_dataset_kind_about(i, NULL, NULL)); i++) {
		size_t length = strlen(*kind);

		if (strncmp(dataset, *kind, length) == 0 && dataset[length] == ':')
			return dataset + length + 1;
	}
	return dataset;
}

invar_status inv_dataset_beside(inv_study *s, const char *dataset, char **out)
{
	const char *kind, *place = dataset_place(dataset, &kind), *comma = NULL;
	char *first, *second = NULL;

	if (!kind)
		return inv_study_beside(s, place, out);
	if (!*place) /* a data set that has a place of its own */
		return inv_pool_print(&s->pool, out, "%s", dataset);
	if (strcmp(kind, "npy") == 0) /* IMAGES[,LABELS] */
		comma = strchr(place, ',');
	INV_TRY(inv_pool_print(&s->pool, &first, "%.*s",
	                       (int)(comma ? (size_t)(comma - place) : strlen(place)), place));
	INV_TRY(inv_study_beside(s, first, &first));
	if (comma)
		INV_TRY(inv_study_beside(s, comma + 1, &second));
	return inv_pool_print(&s->pool, out, "%s:%s%s%s", kind, first, comma ? "," : "",
	                      comma ? second : "");
}

/* The last name of a path, without its ending. */
invar_status inv_file_title(inv_study *s, const char *path, char **out)
{
	size_t end = strlen(path), start, dot;

	while (end > 1 && path[end - 1] == '/')
		end--;
	for (start = end; start > 0 && path[start - 1] != '/'; start--)
		;
	for (dot = end; dot > start && path[dot - 1] != '.'; dot--)
		;
	if (dot > start + 1)
		end = dot - 1;
	return inv_pool_print(&s->pool, out, "%.*s", (int)(end - start), path + start);
}

invar_status inv_dataset_title(inv_study *s, const char *dataset, char **out)
{
	const char *kind, *place = dataset_place(dataset, &kind);

	if (!kind || strcmp(kind, "folder") == 0)
		return inv_file_title(s, place, out);
	if (!inv_has_word("csv|tar|npy", '|', kind))
		return inv_pool_print(&s->pool, out, "%s", kind);
	INV_TRY(inv_pool_print(&s->pool, out, "%.*s", (int)strcspn(place, ","), place));
	return inv_file_title(s, *out, out);
}
