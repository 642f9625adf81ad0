/* SPDX-License-Identifier: Apache-2.0 */
/* study.c - from the tree of a recipe to a study: the top keys, their defaults, the rest.
 */
#include "study/study.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "study/option_sets.h"

#define ELSEWHERE "augment|weights|encoder"

static const inv_recipe_key keys[] = {
	{"name", .about = "title of tables and page; default: the recipe's file name"},
	{"output",
     .about = "folder of the study; default: the recipe's file name without .yaml"},
	{"data", "images: a DATASET as in 'invar encode', or a list of items",
     .command = "encode", .items = "name|data", .without = ELSEWHERE, .shorthand = "data"},
	{"encode", "options of 'invar encode' for all banks", .command = "encode",
     .without = ELSEWHERE},
	{"encoders", "an encoder or a list: file of weights, or pixels", .command = "encode",
     .items = "name", .without = "augment", .shorthand = "weights"},
	{"augmentations", "an augmentation or a list: SPEC as in 'invar augment'",
     .initial = "rotation", .command = "encode", .items = "name",
     .without = "weights|encoder", .shorthand = "augment"},
	{"bank", "instead of data, encode, encoders and augmentations: existing banks",
     .items = "name|bank", .shorthand = "bank"},
	{"diagnose", "true, false, or options of 'invar diagnose'", .initial = "true",
     .command = "diagnose"},
	{"adapters",
     "an adapter or a list: preset of 'invar train'; a list as the value of an "
     "option makes one adapter per value",
     .initial = "keep", .command = "train", .items = "name", .shorthand = "preset"},
	{"seeds", "a number or a list; each trains every adapter once", .initial = "0"},
	{"eval", "options of 'invar eval'; seed is the seed of the run unless it is set",
     .command = "eval"},
	{"report", "true or false: write the page", .initial = "true"},
	{0},
};

const inv_recipe_key *inv_recipe_key_at(size_t i)
{
	return i < sizeof keys / sizeof *keys - 1 ? &keys[i] : NULL;
}

const inv_recipe_key *inv_recipe_key_find(const char *name)
{
	for (const inv_recipe_key *k = keys; k->name; k++)
		if (strcmp(k->name, name) == 0)
			return k;
	return NULL;
}

const char *inv_recipe_short_for(const char *section, const char *text)
{
	const inv_recipe_key *k = inv_recipe_key_find(section);

	if (k && strcmp(section, "encoders") == 0 && strcmp(text, "pixels") == 0)
		return "encoder";
	return k ? k->shorthand : NULL;
}

/* Puts the default of a key where the recipe has none. */
static invar_status set_default(inv_node *tree, const char *key)
{
	inv_node *value;

	if (!inv_node_is_null(inv_node_find(tree, key)))
		return INVAR_OK;
	value = inv_node_new(INV_NODE_TEXT, NULL, tree->where);
	if (!value || !(value->text = strdup(inv_recipe_key_find(key)->initial))) {
		inv_node_free(value);
		return inv_no_memory();
	}
	return inv_node_set(tree, key, value, inv_recipe_short_for);
}

static invar_status set_defaults(inv_node *tree)
{
	static const char *const names[] = {"diagnose", "adapters", "seeds", "report"};

	if (inv_node_is_null(inv_node_find(tree, "bank")))
		INV_TRY(set_default(tree, "augmentations"));
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		INV_TRY(set_default(tree, names[i]));
	return INVAR_OK;
}

static bool is_bool(const inv_node *n, bool *out)
{
	if (n->kind != INV_NODE_TEXT)
		return false;
	*out = strcmp(n->text, "true") == 0;
	return *out || strcmp(n->text, "false") == 0;
}

/* Options of diagnose and eval. */
static invar_status read_command(inv_study *s, const char *key, inv_settings *out)
{
	const inv_node *map = inv_node_find(s->tree, key);
	invar_options *o;
	invar_status st;

	INV_TRY(inv_settings_read(s, inv_recipe_key_find(key), map, false, out));
	INV_TRY(inv_settings_options(out, key, &o));
	st = inv_node_context(map, inv_options_check(o));
	invar_options_free(o);
	return st;
}

static invar_status read_study(inv_study *s, const char *path, const char *output)
{
	const char *name, *folder, *slash = strrchr(path, '/');
	const inv_node *diagnose, *report;
	char *title, *beside;
	char names[512] = "", nearest[64];
	size_t used = 0;
	const inv_node *n;
	size_t count;

	INV_TRY(inv_pool_print(&s->pool, &beside, "%.*s",
	                       slash ? (int)(slash == path ? 1 : slash - path) : 0, path));
	s->beside = beside; /* "" for a file of the current folder */
	for (const inv_recipe_key *k = keys; k->name; k++)
		used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", used ? "|" : "",
		                         k->name);
	for (size_t i = 0; i < s->tree->count; i++) {
		if (inv_recipe_key_find(s->tree->child[i]->key))
			continue;
		inv_nearest_word(s->tree->child[i]->key, names, nearest);
		return inv_node_key_fail(s->tree->child[i],
		                         "unknown key '%.60s'%s%s%s; 'invar run --print-defaults' "
		                         "shows all keys",
		                         s->tree->child[i]->key, *nearest ? ", did you mean " : "",
		                         nearest, *nearest ? "?" : "");
	}
	s->diagnoses_if_possible = inv_node_is_null(inv_node_find(s->tree, "diagnose"));
	INV_TRY(set_defaults(s->tree));

	INV_TRY(inv_node_text(inv_node_find(s->tree, "name"), "name", &name));
	INV_TRY(inv_node_text(inv_node_find(s->tree, "output"), "output", &folder));
	INV_TRY(inv_file_title(s, path, &title));
	s->name = name ? name : title;
	INV_TRY(inv_pool_print(&s->pool, &s->folder, "%s",
	                       output   ? output
	                       : folder ? folder
	                                : title));
	INV_TRY(inv_study_read_banks(s));
	INV_TRY(inv_study_read_adapters(s));
	n = inv_node_find(s->tree, "seeds");
	count = n->kind == INV_NODE_LIST ? n->count : 1;
	if (!count)
		return inv_node_fail(n, "the list seeds is empty");
	INV_TRY(inv_pool_zeros(&s->pool, &s->seed, count));
	for (; s->seeds < count; s->seeds++) {
		const inv_node *one = n->kind == INV_NODE_LIST ? n->child[s->seeds] : n;
		uint64_t *seed = &s->seed[s->seeds];
		char *end = NULL;

		errno = 0;
		if (one->kind == INV_NODE_TEXT && *one->text >= '0' && *one->text <= '9')
			*seed = strtoull(one->text, &end, 10);
		if (!end || *end || errno || *seed > (1ull << 53))
			return inv_node_fail(one, "a seed is a whole number from 0 to 2^53");
		for (size_t k = 0; k < s->seeds; k++)
			if (s->seed[k] == *seed)
				return inv_node_fail(one, "the seed %s appears twice", one->text);
	}

	diagnose = inv_node_find(s->tree, "diagnose");
	if (!is_bool(diagnose, &s->diagnoses)) {
		if (diagnose->kind != INV_NODE_MAP)
			return inv_node_fail(diagnose,
			                     "diagnose is true, false, or options of 'invar diagnose'");
		s->diagnoses = true;
		INV_TRY(read_command(s, "diagnose", &s->diagnose));
	}
	INV_TRY(read_command(s, "eval", &s->eval));
	report = inv_node_find(s->tree, "report");
	return is_bool(report, &s->reports) ? INVAR_OK
	                                    : inv_node_fail(report, "report is true or false");
}

void inv_study_free(inv_study *s)
{
	if (!s)
		return;
	inv_node_free(s->tree);
	inv_pool_free(&s->pool);
	inv_free(s);
}

invar_status inv_study_new(inv_node *tree, const char *path, const char *output,
                           inv_study **out)
{
	inv_study *s;
	invar_status st = inv_new(&s);

	*out = NULL;
	if (st != INVAR_OK) {
		inv_node_free(tree);
		return st;
	}
	s->tree = tree;
	if ((st = read_study(s, path, output)) == INVAR_OK)
		*out = s;
	else
		inv_study_free(s);
	return st;
}
