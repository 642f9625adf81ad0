/* SPDX-License-Identifier: Apache-2.0 */
/* node.c - the tree of a recipe: building, finding, changing, pointing into the file. */
#include "study/node.h"
#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Adds an entry to a mapping; takes text, NULL: no memory. NULL if there is no memory. */
static inv_node *add_map_entry(inv_node *map, const char *key, char *text)
{
	inv_node *entry = inv_node_new(INV_NODE_TEXT, map, NULL);

	if (!entry || !text || !(entry->key = strdup(key))) {
		inv_node_free(entry);
		free(text);
		return NULL;
	}
	entry->text = text;
	return inv_node_append(map, entry) ? entry : NULL;
}

/*
 * A mapping is what a key needs: an empty value becomes one, and so does a short text,
 * "keep" as {preset: keep}, which keeps its place.
 */
static invar_status become_map(inv_node *n, const char *section, const char *path,
                               inv_short_for *short_for)
{
	char *text = n->text;
	const char *key;
	inv_node *entry;

	if (n->kind == INV_NODE_MAP)
		return INVAR_OK;
	key =
		n->kind == INV_NODE_TEXT && !inv_node_is_null(n) ? short_for(section, text) : NULL;
	if (!key && !inv_node_is_null(n))
		return inv_node_fail(n,
		                     "--set %.200s goes through a %s here; name a position or a "
		                     "key that exists",
		                     path, n->kind == INV_NODE_LIST ? "list" : "single value");
	n->kind = INV_NODE_MAP;
	n->text = NULL;
	if (!key) {
		free(text);
		return INVAR_OK;
	}
	if (!(entry = add_map_entry(n, key, text)))
		return inv_no_memory();
	entry->line = entry->key_line = n->line;
	entry->column = entry->key_column = n->column;
	entry->quoted = n->quoted;
	return INVAR_OK;
}

/* One word of a path: *slot is where n is, and then what the word names below n. */
static invar_status step_down(inv_node *n, const char *section, const char *word,
                              const char *path, inv_short_for *short_for, inv_node ***slot)
{
	bool is_item = n->key && strcmp(n->key, section) == 0 && short_for(section, "");
	char *end;
	unsigned long at;

	/* A single item is a list of one; the slot stays where it is. */
	if (is_item && n->kind != INV_NODE_LIST && strcmp(word, "0") == 0)
		return INVAR_OK;
	if (n->kind == INV_NODE_LIST) {
		at = strtoul(word, &end, 10);
		if (*word < '0' || *word > '9' || *end || at >= n->count)
			return inv_fail(INVAR_E_USE,
			                "--set %.200s: '%.60s' is not a position of this list, which "
			                "has %zu, counted from 0",
			                path, word, n->count);
		*slot = &n->child[at];
		return INVAR_OK;
	}
	INV_TRY(become_map(n, section, path, short_for));
	for (at = 0; at < n->count && strcmp(n->child[at]->key, word) != 0;)
		at++;
	if (at == n->count && !add_map_entry(n, word, strdup("")))
		return inv_no_memory();
	*slot = &n->child[at];
	return INVAR_OK;
}

invar_status inv_node_set(inv_node *root, const char *path, inv_node *value,
                          inv_short_for *short_for)
{
	char *copy, *rest, *word;
	inv_node *at = root, **slot = NULL;
	invar_status st;

	INV_TRY_OR(done, inv_new_text(&copy, path));
	rest = copy;
	while ((word = strsep(&rest, "."))) {
		if (!*word)
			INV_TRY_OR(done, inv_fail(INVAR_E_USE, "--set %.200s: a key is empty", path));
		INV_TRY_OR(done, step_down(at, copy, word, path, short_for, &slot));
		at = *slot;
	}
	free(value->key);
	value->key = at->key;
	at->key = NULL;
	inv_node_free(at);
	*slot = value;
	value = NULL;
done:
	inv_node_free(value);
	inv_free(copy);
	return st;
}
