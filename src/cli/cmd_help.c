/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_help.c - invar help [COMMAND]. */
#include "cli/help.h"
#include "cli/term.h"

static const inv_example examples[] = {
	{"invar help", "lists the commands"},
	{"invar help train", "the same as invar train --help"},
	{0},
};

static const inv_argument arguments[] = {
	{"COMMAND", "the command to explain", 0, 1},
	{0},
};

static invar_status run_help(inv_session *s)
{
	const inv_command *c;

	if (!s->arguments) {
		inv_help_overview(stdout, inv_term_columns());
		return INVAR_OK;
	}
	c = inv_command_find(s->argument[0]);
	if (!c)
		return inv_help_unknown(s, s->argument[0]);
	inv_help_command(c, stdout, inv_term_columns());
	return INVAR_OK;
}

const inv_command inv_cmd_help = {
	.name = "help",
	.purpose = "explains a command",
	.usage = "[COMMAND]",
	.examples = examples,
	.arguments = arguments,
	.without = "threads|seed|json|quiet|verbose",
	.run = run_help,
};
