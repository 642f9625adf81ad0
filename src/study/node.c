/* SPDX-License-Identifier: Apache-2.0 */
/* node.c - the tree of a recipe: building, finding, changing, pointing into the file. */
#include "study/node.h"
#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Building ----------------------------------------------------------------------- */

inv_node *inv_node_new(inv_node_kind kind, const inv_node *parent, const char *where)
{
	inv_node *n = calloc(1, sizeof *n);

	if (!n)
		return NULL;
	n->kind = kind;
	if (parent)
		n->where = parent->where;
	else if (!(n->where = n->owner = strdup(where ? where : ""))) {
		free(n);
		return NULL;
	}
	return n;
}

void inv_node_free(inv_node *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->count; i++)
		inv_node_free(n->child[i]);
	free(n->child);
	free(n->owner);
	free(n->key);
	free(n->text);
	free(n);
}

bool inv_node_append(inv_node *parent, inv_node *child)
{
	if (parent->count == parent->allocated) {
		size_t wanted = parent->allocated ? 2 * parent->allocated : 4;
		inv_node **grown = realloc(parent->child, wanted * sizeof *grown);

		if (!grown) {
			inv_node_free(child);
			return false;
		}
		parent->child = grown;
		parent->allocated = wanted;
	}
	parent->child[parent->count++] = child;
	return true;
}

/* ---- Finding ------------------------------------------------------------------------- */

inv_node *inv_node_find(const inv_node *n, const char *key)
{
	for (size_t i = 0; n && n->kind == INV_NODE_MAP && i < n->count; i++)
		if (strcmp(n->child[i]->key, key) == 0)
			return n->child[i];
	return NULL;
}

bool inv_node_is_null(const inv_node *n)
{
	static const char *const nulls[] = {"", "~", "null", "Null", "NULL"};

	if (!n)
		return true;
	for (size_t i = 0;
	     n->kind == INV_NODE_TEXT && !n->quoted && i < sizeof nulls / sizeof *nulls; i++)
		if (strcmp(n->text, nulls[i]) == 0)
			return true;
	return false;
}

/* ---- Messages ------------------------------------------------------------------------ */

static invar_status point_to(const inv_node *n, unsigned line, unsigned column,
                             const char *format, va_list args)
{
	char sentence[INV_MESSAGE];

	vsnprintf(sentence, sizeof sentence, format, args);
	return line
	           ? inv_fail(INVAR_E_USE, "%.400s:%u:%u: %s", n->where, line, column, sentence)
	           : inv_fail(INVAR_E_USE, "%.400s: %s", n->where, sentence);
}

invar_status inv_node_fail(const inv_node *n, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	point_to(n, n->line, n->column, format, args);
	va_end(args);
	return INVAR_E_USE;
}

invar_status inv_node_key_fail(const inv_node *n, const char *format, ...)
{
	bool has_key = n->key && n->key_line;
	va_list args;

	va_start(args, format);
	point_to(n, has_key ? n->key_line : n->line, has_key ? n->key_column : n->column,
	         format, args);
	va_end(args);
	return INVAR_E_USE;
}

invar_status inv_node_context(const inv_node *n, invar_status st)
{
	char sentence[INV_MESSAGE];

	if (st != INVAR_OK)
		inv_node_fail(n, "%s", inv_last_error_spelled("", sentence, sizeof sentence));
	return st;
}

/* ---- Changing ------------------------------------------------------------------------ */

/* "keep" becomes {preset: keep}; the node keeps its place. */
static bool expand_text(inv_node *n, const char *key)
{
	inv_node *entry = inv_node_new(INV_NODE_TEXT, n, NULL);

	if (!entry || !(entry->key = strdup(key))) {
		inv_node_free(entry);
		return false;
	}
	entry->line = entry->key_line = n->line;
	entry->column = entry->key_column = n->column;
	entry->quoted = n->quoted;
	entry->text = n->text;
	n->text = NULL;
	n->kind = INV_NODE_MAP;
	return inv_node_append(n, entry);
}

/* A mapping is what a key needs: an empty value or a short text becomes one. */
static invar_status become_map(inv_node *n, const char *section, const char *path,
                               inv_short_for *short_for)
{
	const char *key;

	if (n->kind == INV_NODE_MAP)
		return INVAR_OK;
	if (inv_node_is_null(n)) {
		free(n->text);
		n->text = NULL;
		n->kind = INV_NODE_MAP;
		return INVAR_OK;
	}
	key = n->kind == INV_NODE_TEXT ? short_for(section, n->text) : NULL;
	if (!key)
		return inv_node_fail(n,
		                     "--set %.200s goes through a %s here; name a position or a "
		                     "key that exists",
		                     path, n->kind == INV_NODE_LIST ? "list" : "single value");
	return expand_text(n, key) ? INVAR_OK : inv_no_memory();
}

static inv_node **slot_of_list(inv_node *list, const char *word)
{
	char *end;
	unsigned long at = strtoul(word, &end, 10);

	return *word >= '0' && *word <= '9' && !*end && at < list->count ? &list->child[at]
	                                                                 : NULL;
}

/* The place of an entry; a new one is empty. NULL if there is no memory. */
static inv_node **slot_of_map(inv_node *map, const char *word)
{
	inv_node *entry;

	for (size_t i = 0; i < map->count; i++)
		if (strcmp(map->child[i]->key, word) == 0)
			return &map->child[i];
	if (!(entry = inv_node_new(INV_NODE_TEXT, map, NULL)))
		return NULL;
	if (!(entry->key = strdup(word)) || !(entry->text = strdup(""))) {
		inv_node_free(entry);
		return NULL;
	}
	return inv_node_append(map, entry) ? &map->child[map->count - 1] : NULL;
}

/* Replaces what is at the slot; the new node has the key of the old one. */
static void replace(inv_node **slot, inv_node *value)
{
	free(value->key);
	value->key = (*slot)->key;
	(*slot)->key = NULL;
	inv_node_free(*slot);
	*slot = value;
}

/* One word of a path: *slot is where n is, and then what the word names below n. */
static invar_status step_down(inv_node *n, const char *section, const char *word,
                              const char *path, inv_short_for *short_for, inv_node ***slot)
{
	bool is_item = n->key && strcmp(n->key, section) == 0 && short_for(section, "");
	invar_status st;

	/* A single item is a list of one; the slot stays where it is. */
	if (is_item && n->kind != INV_NODE_LIST && strcmp(word, "0") == 0)
		return INVAR_OK;
	if (n->kind == INV_NODE_LIST) {
		if ((*slot = slot_of_list(n, word)))
			return INVAR_OK;
		return inv_fail(INVAR_E_USE,
		                "--set %.200s: '%.60s' is not a position of this list, which has "
		                "%zu, counted from 0",
		                path, word, n->count);
	}
	if ((st = become_map(n, section, path, short_for)) != INVAR_OK)
		return st;
	return (*slot = slot_of_map(n, word)) ? INVAR_OK : inv_no_memory();
}

invar_status inv_node_set(inv_node *root, const char *path, inv_node *value,
                          inv_short_for *short_for)
{
	char *copy = strdup(path), *rest = copy, *word, *section = copy;
	inv_node *at = root, **slot = NULL;
	invar_status st = copy ? INVAR_OK : inv_no_memory();

	while (st == INVAR_OK && (word = strsep(&rest, "."))) {
		if (!*word)
			st = inv_fail(INVAR_E_USE, "--set %.200s: a key is empty", path);
		else
			st = step_down(at, section, word, path, short_for, &slot);
		if (st == INVAR_OK)
			at = *slot;
	}
	if (st == INVAR_OK)
		replace(slot, value);
	else
		inv_node_free(value);
	free(copy);
	return st;
}
