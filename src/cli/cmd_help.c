/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_help.c - invar help [COMMAND [ACTION]]. */
#include "base/words.h"
#include "cli/help.h"
#include "cli/term.h"

static const inv_example examples[] = {
	{"invar help", "lists the commands that everybody needs"},
	{"invar help --all", "lists all commands"},
	{"invar help train", "the same as invar train --help"},
	{"invar help models pull", "the same as invar models pull --help"},
	{0},
};

static const inv_argument arguments[] = {
	{"COMMAND", "the command to explain", 0, 1, INV_READS_NOTHING},
	{"ACTION", "one of its actions, for commands that have some; the page is the command's",
     0, 1, INV_READS_NOTHING},
	{0},
};

static const invar_option own[] = {
	{INV_FLAG_ROW("all", "Result", "list all commands, or all options of the command")},
	{0},
};

static invar_status run_help(inv_session *s)
{
	const inv_command *c;

	if (!s->arguments) {
		inv_help_overview(inv_flag(s, "all"), stdout, inv_term_columns());
		return INVAR_OK;
	}
	c = inv_command_find(s->argument[0]);
	if (!c)
		return inv_help_unknown(s->argument[0]);
	if (s->arguments > 1 && !c->words)
		return inv_fail(INVAR_E_USE, "%s has no actions; use invar help %s", c->name,
		                c->name);
	if (s->arguments > 1)
		INV_TRY(inv_require_word("ACTION", c->words, s->argument[1]));
	inv_help_command(c, inv_flag(s, "all"), stdout, inv_term_columns());
	return INVAR_OK;
}

const inv_command inv_cmd_help = {
	.name = "help",
	.purpose = "explains a command",
	.usage = "[COMMAND [ACTION]] [--all]",
	.examples = examples,
	.arguments = arguments,
	.own = own,
	.without = "threads|seed|json|quiet|verbose",
	.run = run_help,
};
