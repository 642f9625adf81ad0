/* SPDX-License-Identifier: Apache-2.0 */
/* settings.c - options of commands by their names, from entries of mappings. */
#include <stdio.h>
#include <string.h>

#include "base/options.h"
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

invar_status inv_settings_add(inv_study *s, inv_settings *to, const char *name,
                              const char *text, const inv_node *node)
{
	inv_setting *at = find_setting(to, name);

	if (!at) {
		INV_TRY(inv_pool_more(&s->pool, &to->list, to->count));
		at = &to->list[to->count++];
	}
	*at = (inv_setting){name, text, node};
	return INVAR_OK;
}

invar_status inv_settings_options(const inv_settings *s, const char *command,
                                  invar_options **out)
{
	invar_status st;

	INV_TRY(invar_options_new(command, out));
	for (size_t i = 0; i < s->count; i++)
		INV_TRY_OR(
			fail, inv_node_context(s->list[i].node, invar_options_set(*out, s->list[i].name,
		                                                              s->list[i].text)));
	return INVAR_OK;
fail:
	invar_options_free(*out);
	*out = NULL;
	return st;
}

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
	return !inv_has_word("resume|force|data|seed", '|', row->name) && !is_of_images(row);
}

static bool key_offers(const inv_recipe_key *k, const invar_option *row)
{
	return !inv_has_word(k->without, '|', row->name) &&
	       inv_recipe_has_option(k->command, row);
}

static invar_status read_entry(inv_study *s, const inv_recipe_key *k,
                               const invar_options *o, const inv_node *entry, bool lists,
                               inv_settings *out)
{
	const invar_option *row = inv_options_find(o, entry->key);
	bool list = entry->kind == INV_NODE_LIST;
	char *text = entry->text;

	if (inv_has_word(k->items, '|', entry->key))
		return INVAR_OK;
	if (!row) {
		char names[NAMES] = "", nearest[64];
		size_t used = 0;

		if (k->items)
			used += (size_t)snprintf(names, sizeof names, "%s", k->items);
		for (size_t i = 0; i < invar_options_count(o) && used < sizeof names; i++)
			if (key_offers(k, invar_options_at(o, i)))
				used += (size_t)snprintf(names + used, sizeof names - used, "|%s",
				                         invar_options_at(o, i)->name);
		inv_nearest_word(entry->key, names, nearest);
		return inv_node_key_fail(entry,
		                         "unknown key '%.60s'%s%s%s; the options of 'invar %s'%s%s "
		                         "can stand here",
		                         entry->key, *nearest ? ", did you mean " : "", nearest,
		                         *nearest ? "?" : "", k->command, k->items ? " and " : "",
		                         k->items ? k->items : "");
	}
	if (!key_offers(k, row))
		return inv_node_key_fail(
			entry, "%s cannot be set here; see docs/RECIPES.md for its place", entry->key);
	if (inv_node_is_null(entry) || (lists && list))
		return INVAR_OK;

	if (entry->kind == INV_NODE_MAP ||
	    (list && row->type != INVAR_OPTION_TEXT && row->type != INVAR_OPTION_LIST))
		return inv_node_fail(entry, "%s takes a single value, not a %s", row->name,
		                     list ? "list" : "mapping");
	if (list) {
		/* "a,b" of a list of texts. */
		INV_TRY(inv_pool_print(&s->pool, &text, "%s", ""));
		for (size_t i = 0; i < entry->count; i++) {
			if (entry->child[i]->kind != INV_NODE_TEXT)
				return inv_node_fail(entry, "%s takes single values, not lists of lists",
				                     row->name);
			INV_TRY(inv_pool_print(&s->pool, &text, "%s%s%s", text, i ? "," : "",
			                       entry->child[i]->text));
		}
	}
	/* The tables call a path FILE; an empty folder is the current one. */
	if (row->type == INVAR_OPTION_TEXT && row->meta && *text &&
	    strcmp(row->meta, "FILE") == 0)
		INV_TRY(inv_study_beside(s, text, &text));
	return inv_settings_add(s, out, entry->key, text, entry);
}

invar_status inv_settings_read(inv_study *s, const inv_recipe_key *k, const inv_node *map,
                               bool lists, inv_settings *out)
{
	invar_options *o;
	invar_status st = INVAR_OK;

	if (inv_node_is_null(map))
		return INVAR_OK;
	if (map->kind != INV_NODE_MAP)
		return inv_node_fail(
			map, "options of 'invar %s' are expected here, such as {seed: 1}", k->command);
	INV_TRY(invar_options_new(k->command, &o));
	for (size_t i = 0; i < map->count; i++)
		INV_TRY_OR(done, read_entry(s, k, o, map->child[i], lists, out));
done:
	invar_options_free(o);
	return st;
}
