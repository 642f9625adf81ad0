/* SPDX-License-Identifier: Apache-2.0 */
/* commands.c - the commands that meson.build lists. */
#include <string.h>

#include "cli/command.h"

#include "cli/command_list.h"

enum { COMMANDS = sizeof parts / sizeof *parts };

const inv_command *inv_command_at(size_t i)
{
	return i < COMMANDS ? parts[i] : NULL;
}

const inv_command *inv_command_find(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(parts[i]->name, name) == 0)
			return parts[i];
	return NULL;
}
