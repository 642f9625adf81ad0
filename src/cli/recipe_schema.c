/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recipe_schema.c - recipes described to editors, as JSON Schema (draft 7).
 *
 * Made from the tables of options and keys. Options are definitions, "encode/size", to
 * which the keys that take them refer.
 */
#include <string.h>

#include "base/words.h"
#include "cli/study_command.h"

static const char *const commands[] = {"encode", "diagnose", "train", "eval"};

/* The type of a single value. */
static json_t *type_of(const invar_option *row)
{
	bool above = row->flags & INVAR_OPTION_ABOVE, count = row->type == INVAR_OPTION_COUNT;
	const char *at = row->choice ? NULL : row->choices, *name;
	char word[INV_WORD];
	json_t *type, *all;

	if (row->type == INVAR_OPTION_FLAG)
		return json_pack("{s:s}", "type", "boolean");
	if (row->type == INVAR_OPTION_TEXT && (row->choices || row->choice)) {
		all = json_array();
		for (size_t i = 0; row->choice && (name = row->choice(i)); i++)
			json_array_append_new(all, json_string(name));
		while (inv_next_word(&at, '|', word))
			json_array_append_new(all, json_string(word));
		return json_pack("{s:o}", "enum", all);
	}
	if (row->type == INVAR_OPTION_TEXT || row->type == INVAR_OPTION_LIST)
		return json_pack("{s:[s, s]}", "type", "string", "number");
	type = json_pack("{s:s}", "type", count ? "integer" : "number");
	if (row->min != 0 || above || count)
		json_object_set_new(type, above ? "exclusiveMinimum" : "minimum",
		                    json_real(row->min));
	if (row->max != 0)
		json_object_set_new(type, "maximum", json_real(row->max));
	return type;
}

static json_t *list_of(json_t *type)
{
	return json_pack("{s:s, s:O, s:i}", "type", "array", "items", type, "minItems", 1);
}

/* A value, or a list where one is taken; in adapters also a multiple of d. */
static json_t *option_schema(const char *command, const invar_option *row)
{
	bool expands = strcmp(command, "train") == 0;
	bool joins = !row->choices && !row->choice &&
	             (row->type == INVAR_OPTION_TEXT || row->type == INVAR_OPTION_LIST);
	json_t *schema = type_of(row), *one;

	if (expands && row->type == INVAR_OPTION_COUNT)
		schema = json_pack("{s:[o, {s:s, s:s}]}", "anyOf", schema, "type", "string",
		                   "pattern", "^([1-9][0-9]*)?d(/[1-9][0-9]*)?$");
	if (expands || joins) {
		one = schema;
		schema = json_pack("{s:[O, o]}", "anyOf", one, list_of(one));
		json_decref(one);
	}
	json_object_set_new(schema, "description", json_string(row->help));
	if (row->initial && row->type == INVAR_OPTION_TEXT)
		json_object_set_new(schema, "default", json_string(row->initial));
	else if (row->initial && row->type != INVAR_OPTION_FLAG)
		json_object_set_new(schema, "default",
		                    json_loads(row->initial, JSON_DECODE_ANY, NULL));
	return schema;
}

static invar_status add_definitions(json_t *all, const char *command)
{
	json_t *own = json_object();
	invar_options *o;

	INV_TRY(invar_options_new(command, &o));
	for (size_t i = 0; i < invar_options_count(o); i++) {
		const invar_option *row = invar_options_at(o, i);

		if (inv_recipe_has_option(command, row))
			json_object_set_new(own, row->name, option_schema(command, row));
	}
	invar_options_free(o);
	json_object_set_new(all, command, own);
	return INVAR_OK;
}

/* A mapping with the options of the key's command and the keys of its items. */
static json_t *mapping_of(const inv_recipe_key *k, const json_t *definitions)
{
	json_t *properties = json_object(), *unused;
	const char *name, *at = k->items;
	char reference[160], word[INV_WORD];

	while (inv_next_word(&at, '|', word))
		json_object_set_new(properties, word, json_pack("{s:s}", "type", "string"));
	if (k->command)
		json_object_foreach (json_object_get(definitions, k->command), name, unused) {
			if (inv_has_word(k->without, '|', name))
				continue;
			snprintf(reference, sizeof reference, "#/definitions/%s/%s", k->command, name);
			json_object_set_new(properties, name, json_pack("{s:s}", "$ref", reference));
		}
	return json_pack("{s:[s, s], s:o, s:b}", "type", "object", "null", "properties",
	                 properties, "additionalProperties", 0);
}

static json_t *key_schema(const inv_recipe_key *k, const json_t *definitions)
{
	json_t *schema, *item;

	if (k->items) {
		item = json_pack("{s:[{s:s}, o]}", "anyOf", "type", "string",
		                 mapping_of(k, definitions));
		schema = json_pack("{s:[O, o]}", "anyOf", item, list_of(item));
		json_decref(item);
	} else if (k->command && k->initial)
		schema = json_pack("{s:[{s:s}, o]}", "anyOf", "type", "boolean",
		                   mapping_of(k, definitions));
	else if (k->command)
		schema = mapping_of(k, definitions);
	else if (k->initial && strcmp(k->initial, "true") == 0)
		schema = json_pack("{s:s}", "type", "boolean");
	else if (k->initial)
		schema = json_pack("{s:[{s:s, s:i}, {s:s, s:{s:s, s:i}, s:i}]}", "anyOf", "type",
		                   "integer", "minimum", 0, "type", "array", "items", "type",
		                   "integer", "minimum", 0, "minItems", 1);
	else
		schema = json_pack("{s:s}", "type", "string");
	json_object_set_new(schema, "description", json_string(k->about));
	return schema;
}

invar_status inv_print_recipe_schema(FILE *out)
{
	json_t *definitions = json_object(), *properties = json_object();
	json_t *schema =
		json_pack("{s:s, s:s, s:s, s:b, s:o, s:o}", "$schema",
	              "http://json-schema.org/draft-07/schema#", "title",
	              "a recipe of invar run", "type", "object", "additionalProperties", 0,
	              "properties", properties, "definitions", definitions);
	const inv_recipe_key *k;
	invar_status st;

	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		INV_TRY_OR(end, add_definitions(definitions, commands[i]));
	for (size_t i = 0; (k = inv_recipe_key_at(i)); i++)
		json_object_set_new(properties, k->name, key_schema(k, definitions));
	if (json_dumpf(schema, out, JSON_INDENT(1)) == 0)
		fputc('\n', out);
end:
	json_decref(schema);
	return st;
}
