/* SPDX-License-Identifier: Apache-2.0 */
/* settings.c - options of commands by their names, from entries of mappings. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/status.h"
#include "base/words.h"
#include "study/study.h"

enum { NAMES = 4096 };

invar_status inv_study_spelled(invar_status st)
{
	char sentence[INV_MESSAGE];

	if (st == INVAR_OK)
		return st;
	inv_last_error_spelled("", sentence, sizeof sentence);
	return inv_fail(st, "%s", sentence);
}

/* ---- Lists of settings --------------------------------------------------------------- */

void inv_settings_clear(inv_settings *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->list[i].name);
		free(s->list[i].text);
	}
	free(s->list);
	*s = (inv_settings){0};
}

static inv_setting *find_setting(const inv_settings *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++)
		if (strcmp(s->list[i].name, name) == 0)
			return &s->list[i];
	return NULL;
}

const char *inv_settings_find(const inv_settings *s, const char *name)
{
	const inv_setting *found = find_setting(s, name);

	return found ? found->text : NULL;
}

invar_status inv_settings_add(inv_settings *s, const char *name, const char *text,
                              const inv_node *node)
{
	inv_setting made = {strdup(name), strdup(text), node}, *old = find_setting(s, name);
	inv_setting *grown;

	if (!made.name || !made.text)
		goto fail;
	if (old) {
		free(old->name);
		free(old->text);
		*old = made;
		return INVAR_OK;
	}
	if (!(grown = realloc(s->list, (s->count + 1) * sizeof *grown)))
		goto fail;
	s->list = grown;
	s->list[s->count++] = made;
	return INVAR_OK;
fail:
	free(made.name);
	free(made.text);
	return inv_no_memory();
}

invar_status inv_settings_copy(const inv_settings *from, inv_settings *to)
{
	for (size_t i = 0; i < from->count; i++)
		INV_TRY(inv_settings_add(to, from->list[i].name, from->list[i].text,
		                         from->list[i].node));
	return INVAR_OK;
}

invar_status inv_settings_options(const inv_settings *s, const char *command,
                                  invar_options **out)
{
	invar_status st = invar_options_new(command, out);

	for (size_t i = 0; i < s->count && st == INVAR_OK; i++)
		st = inv_node_context(s->list[i].node,
		                      invar_options_set(*out, s->list[i].name, s->list[i].text));
	if (st != INVAR_OK) {
		invar_options_free(*out);
		*out = NULL;
	}
	return st;
}

/* ---- Which options there are --------------------------------------------------------- */

/* Options of training that are about images instead of a bank are those of encoding too. */
static bool is_of_images(const invar_option *row)
{
	invar_options *encode;
	const invar_option *same;
	bool found;

	if (invar_options_new("encode", &encode) != INVAR_OK)
		return false;
	same = inv_options_find(encode, row->name);
	found = same && strcmp(same->group, row->group) == 0;
	invar_options_free(encode);
	return found;
}

bool inv_recipe_has_option(const char *command, const invar_option *row)
{
	if (strcmp(command, "train") != 0)
		return true;
	return !inv_has_word("resume|force|images|seed", '|', row->name) && !is_of_images(row);
}

static bool offers(const inv_section *s, const invar_option *row)
{
	return !inv_has_word(s->without, '|', row->name) &&
	       inv_recipe_has_option(s->command, row);
}

static invar_status unknown_key(const inv_section *s, const invar_options *o,
                                const inv_node *entry)
{
	char names[NAMES] = "", nearest[64];
	size_t used = 0;

	if (s->keys)
		used += (size_t)snprintf(names, sizeof names, "%s", s->keys);
	for (size_t i = 0; i < invar_options_count(o) && used < sizeof names; i++)
		if (offers(s, invar_options_at(o, i)))
			used += (size_t)snprintf(names + used, sizeof names - used, "|%s",
			                         invar_options_at(o, i)->name);
	inv_nearest_word(entry->key, names, nearest);
	return inv_node_key_fail(entry,
	                         "unknown key '%.60s'%s%s%s; the options of 'invar %s'%s%s "
	                         "can stand here",
	                         entry->key, *nearest ? ", did you mean " : "", nearest,
	                         *nearest ? "?" : "", s->command, s->keys ? " and " : "",
	                         s->keys ? s->keys : "");
}

/* ---- Values -------------------------------------------------------------------------- */

char *inv_section_text(const inv_section *s, const invar_option *row, const char *text)
{
	/* The tables call a path FILE; an empty folder is the current one. */
	bool is_path = row->type == INVAR_OPTION_TEXT && row->meta && *text &&
	               strcmp(row->meta, "FILE") == 0;

	return is_path ? inv_beside(s->folder, text) : strdup(text);
}

/* "a,b" of a list of texts; gives, NULL if one of them is not a text. */
static char *join_list(const inv_node *list)
{
	char *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);
	bool whole = f;

	for (size_t i = 0; f && i < list->count; i++) {
		if (list->child[i]->kind != INV_NODE_TEXT)
			whole = false;
		else
			fprintf(f, "%s%s", i ? "," : "", list->child[i]->text);
	}
	if (f)
		fclose(f);
	if (!whole) {
		free(text);
		return NULL;
	}
	return text;
}

static invar_status read_value(const inv_section *s, const invar_option *row,
                               const inv_node *entry, inv_settings *out)
{
	bool joins = row->type == INVAR_OPTION_TEXT || row->type == INVAR_OPTION_LIST;
	char *joined = NULL, *text = NULL;
	invar_status st;

	if (entry->kind == INV_NODE_MAP || (entry->kind == INV_NODE_LIST && !joins))
		return inv_node_fail(entry, "%s takes a single value, not a %s", row->name,
		                     entry->kind == INV_NODE_MAP ? "mapping" : "list");
	if (entry->kind == INV_NODE_LIST && !(joined = join_list(entry)))
		return inv_node_fail(entry, "%s takes single values, not lists of lists",
		                     row->name);
	text = inv_section_text(s, row, joined ? joined : entry->text);
	st = text ? inv_settings_add(out, row->name, text, entry) : inv_no_memory();
	free(joined);
	free(text);
	return st;
}

static invar_status read_entry(const inv_section *s, const invar_options *o,
                               const inv_node *entry, bool lists, inv_settings *out)
{
	const invar_option *row = inv_options_find(o, entry->key);

	if (inv_has_word(s->keys, '|', entry->key))
		return INVAR_OK;
	if (row && !offers(s, row))
		return inv_node_key_fail(
			entry, "%s cannot be set here; see docs/RECIPES.md for its place", entry->key);
	if (!row)
		return unknown_key(s, o, entry);
	if (inv_node_is_null(entry) || (lists && entry->kind == INV_NODE_LIST))
		return INVAR_OK;
	return read_value(s, row, entry, out);
}

invar_status inv_section_read(const inv_section *s, const inv_node *map, bool lists,
                              inv_settings *out)
{
	invar_options *o;
	invar_status st;

	if (inv_node_is_null(map))
		return INVAR_OK;
	if (map->kind != INV_NODE_MAP)
		return inv_node_fail(
			map, "options of 'invar %s' are expected here, such as {seed: 1}", s->command);
	st = invar_options_new(s->command, &o);
	for (size_t i = 0; st == INVAR_OK && i < map->count; i++)
		st = read_entry(s, o, map->child[i], lists, out);
	invar_options_free(o);
	return st;
}
