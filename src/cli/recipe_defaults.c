/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recipe_defaults.c - a recipe to start from: every key and option with its default.
 *
 * Options are comments, so that the recipe means the defaults, also those that depend on
 * others: whoever changes the preset gets the numbers of that preset.
 */
#include <string.h>

#include "base/options.h"
#include "base/words.h"
#include "cli/help.h"
#include "cli/recipe_words.h"

enum { COLUMN = 30 }; /* where the meaning of an option begins */

/* What a recipe must say, as an example. */
static const char *example_of(const char *key)
{
	if (strcmp(key, "data") == 0)
		return "folder:images";
	return strcmp(key, "encoders") == 0 ? "resnet18.safetensors" : NULL;
}

bool inv_row_is_on(const invar_option *row)
{
	return row->initial &&
	       (strcmp(row->initial, "true") == 0 || strcmp(row->initial, "1") == 0);
}

static const char *default_of(const invar_option *row)
{
	if (row->type == INVAR_OPTION_FLAG)
		return inv_row_is_on(row) ? "true" : "false";
	return row->initial;
}

/* "# epochs: 60        # passes over the images" */
static void print_option(const invar_option *row, const invar_options *o,
                         const char *indent, FILE *out)
{
	char extra[512];
	const char *part = inv_options_part(o, row->name, 0);
	const char *value = default_of(row);
	int used = fprintf(out, "%s# %s:%s%s", indent, row->name, value ? " " : "",
	                   value ? value : "");

	fprintf(out, "%*s# %s", used < COLUMN ? COLUMN - used : 1, "", row->help);
	if (row->choices || row->choice) {
		inv_spell_default(NULL, row, extra, sizeof extra);
		fprintf(out, "; %s", extra);
	}
	if (part) {
		fprintf(out, " (");
		for (size_t i = 0; (part = inv_options_part(o, row->name, i)); i++)
			fprintf(out, "%s%s", i ? ", " : "", part);
		fputc(')', out);
	}
	fputc('\n', out);
}

static invar_status print_options(const inv_recipe_key *k, const char *indent, FILE *out)
{
	invar_options *o;

	INV_TRY(invar_options_new(k->command, &o));
	for (size_t i = 0; i < invar_options_count(o); i++) {
		const invar_option *row = invar_options_at(o, i);
		bool is_value = k->shorthand && strcmp(row->name, k->shorthand) == 0;

		if (inv_recipe_has_option(k->command, row) &&
		    !inv_has_word(k->without, '|', row->name) && !is_value)
			print_option(row, o, indent, out);
	}
	invar_options_free(o);
	return INVAR_OK;
}

/* The options of encoding are shown once, where they are for all banks. */
static bool shows_options(const inv_recipe_key *k)
{
	return k->command && (strcmp(k->command, "encode") != 0 || !k->items);
}

static invar_status print_key(const inv_recipe_key *k, FILE *out)
{
	const char *value = k->initial ? k->initial : example_of(k->name);

	fprintf(out, "\n# %s\n", k->about);
	if (k->items && value) {
		fprintf(out, "%s:\n  - %s: %s\n", k->name, k->shorthand, value);
		return shows_options(k) ? print_options(k, "    ", out) : INVAR_OK;
	}
	if (shows_options(k)) {
		fprintf(out, "%s:\n", k->name);
		return print_options(k, "  ", out);
	}
	fprintf(out, "%s%s:%s%s\n", value ? "" : "# ", k->name, value ? " " : "",
	        value ? value : "");
	return INVAR_OK;
}

invar_status inv_print_recipe(FILE *out)
{
	const inv_recipe_key *k;

	fputs(
		"# A recipe for 'invar run'; docs/RECIPES.md describes recipes. Options stand in\n"
		"# comments with their defaults: remove the first # to set one.\n",
		out);
	for (size_t i = 0; (k = inv_recipe_key_at(i)); i++)
		INV_TRY(print_key(k, out));
	return INVAR_OK;
}
