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
#include "cli/study_command.h"

enum { COLUMN = 30 }; /* where the meaning of an option begins */

/* Lines such as "# epochs: 60        # passes over the images". */
static invar_status print_options(const inv_recipe_key *k, const char *indent, FILE *out)
{
	invar_options *o;
	char extra[512];

	INV_TRY(invar_options_new(k->command, &o));
	for (size_t i = 0; i < invar_options_count(o); i++) {
		const invar_option *row = invar_options_at(o, i);
		const char *value = row->initial, *part;
		int used;

		if (!inv_recipe_has_option(k->command, row) ||
		    inv_has_word(k->without, '|', row->name) ||
		    (k->shorthand && strcmp(row->name, k->shorthand) == 0))
			continue;
		if (row->type == INVAR_OPTION_FLAG)
			value = value && (strcmp(value, "true") == 0 || strcmp(value, "1") == 0)
			            ? "true"
			            : "false";
		used = fprintf(out, "%s# %s:%s%s", indent, row->name, value ? " " : "",
		               value ? value : "");
		fprintf(out, "%*s# %s", used < COLUMN ? COLUMN - used : 1, "", row->help);
		if (row->choices || row->choice) {
			inv_spell_default(NULL, row, extra, sizeof extra);
			fprintf(out, "; %s", extra);
		}
		for (size_t n = 0; (part = inv_options_part(o, row->name, n)); n++)
			fprintf(out, "%s%s%s", n ? ", " : " (", part,
			        inv_options_part(o, row->name, n + 1) ? "" : ")");
		fputc('\n', out);
	}
	invar_options_free(o);
	return INVAR_OK;
}

invar_status inv_print_recipe(FILE *out)
{
	const inv_recipe_key *k;

	fputs(
		"# A recipe for 'invar run'; docs/RECIPES.md describes recipes. Options stand in\n"
		"# comments with their defaults: remove the first # to set one.\n",
		out);
	for (size_t i = 0; (k = inv_recipe_key_at(i)); i++) {
		/* What a recipe must say has an example. */
		const char *value = k->initial                         ? k->initial
		                    : strcmp(k->name, "data") == 0     ? "folder:images"
		                    : strcmp(k->name, "encoders") == 0 ? "resnet18.safetensors"
		                                                       : NULL;
		/* The options of encoding are shown once, where they are for all banks. */
		bool shows_options = k->command && (strcmp(k->command, "encode") != 0 || !k->items);
		bool is_list = k->items && value;

		fprintf(out, "\n# %s\n", k->about);
		if (is_list)
			fprintf(out, "%s:\n  - %s: %s\n", k->name, k->shorthand, value);
		else if (shows_options)
			fprintf(out, "%s:\n", k->name);
		else
			fprintf(out, "%s%s:%s%s\n", value ? "" : "# ", k->name, value ? " " : "",
			        value ? value : "");
		if (shows_options)
			INV_TRY(print_options(k, is_list ? "    " : "  ", out));
	}
	return INVAR_OK;
}
