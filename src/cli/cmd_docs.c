/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_docs.c - invar docs: the generated pages, from the same tables as --help. */
#include <string.h>

#include "base/words.h"
#include "cli/help.h"
#include "cli/study_command.h"

static const inv_example examples[] = {
	{"invar docs markdown > docs/reference/CLI.md", "the reference of all commands"},
	{"invar docs man train > invar-train.1", "the man page of one command"},
	{"invar docs bash > /etc/bash_completion.d/invar", "completion for bash"},
	{"invar docs fish > ~/.config/fish/completions/invar.fish", "completion for fish"},
	{0},
};

static const inv_argument arguments[] = {
	{"KIND",
     "markdown, man, bash, zsh, fish, models (table of known encoders), augmentations "
     "(table of operations), recipe-schema (JSON Schema of recipes) or commands (list of "
     "names)",
     1, 1, INV_READS_NOTHING},
	{"COMMAND", "the command of the man page; default: the page of invar itself", 0, 1,
     INV_READS_NOTHING},
	{0},
};

static invar_status run_docs(inv_session *s)
{
	static const struct {
		const char *kind;
		void (*print)(FILE *out);
	} pages[] = {{"markdown", inv_docs_markdown},
	             {"bash", inv_docs_bash},
	             {"zsh", inv_docs_zsh},
	             {"fish", inv_docs_fish},
	             {"models", inv_models_markdown}};
	const char *kind = s->argument[0];
	const bool man = strcmp(kind, "man") == 0;
	const inv_command *c = NULL;

	INV_TRY(inv_require_word("KIND", s->command->words, kind));
	if (s->arguments > 1 && !man)
		return inv_fail(INVAR_E_USE, "unexpected argument '%s': only man takes a COMMAND",
		                s->argument[1]);
	if (s->arguments > 1 && !(c = inv_command_find(s->argument[1])))
		return inv_help_unknown(s->argument[1]);
	if (man)
		inv_docs_man(c, stdout);
	for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
		if (strcmp(kind, pages[i].kind) == 0)
			pages[i].print(stdout);
	if (strcmp(kind, "augmentations") == 0)
		return inv_augmentations_markdown(s, stdout);
	if (strcmp(kind, "recipe-schema") == 0)
		return inv_print_recipe_schema(stdout);
	for (size_t k = 0; strcmp(kind, "commands") == 0 && (c = inv_command_at(k)); k++)
		puts(c->name);
	return INVAR_OK;
}

const inv_command inv_cmd_docs = {
	.name = "docs",
	.purpose = "prints the reference, man pages or shell completions",
	.usage = "KIND [COMMAND]",
	.examples = examples,
	.arguments = arguments,
	.words = "markdown|man|bash|zsh|fish|models|augmentations|recipe-schema|commands",
	.without = "threads|seed|json|quiet|verbose",
	.run = run_docs,
};
