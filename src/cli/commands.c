/* SPDX-License-Identifier: Apache-2.0 */
/* commands.c - the list of commands: one line each. */
#include <string.h>

#include "cli/command.h"

extern const inv_command inv_cmd_augment, inv_cmd_data, inv_cmd_demo, inv_cmd_encode,
	inv_cmd_train, inv_cmd_apply, inv_cmd_eval, inv_cmd_features, inv_cmd_dependence,
	inv_cmd_loss, inv_cmd_models, inv_cmd_help, inv_cmd_docs;

static const inv_command *const commands[] = {
	&inv_cmd_demo,       /* the whole method in a minute */
	&inv_cmd_data,       /* what is in a data set */
	&inv_cmd_augment,    /* pictures, augmented */
	&inv_cmd_models,     /* known encoders, weight files */
	&inv_cmd_encode,     /* images -> bank */
	&inv_cmd_features,   /* tensors -> features */
	&inv_cmd_train,      /* bank -> adapter */
	&inv_cmd_apply,      /* adapter on features */
	&inv_cmd_eval,       /* the table */
	&inv_cmd_dependence, /* how much two arrays tell about each other */
	&inv_cmd_loss,       /* value and gradients on given arrays */
	&inv_cmd_help,       &inv_cmd_docs, NULL,
};

const inv_command *const *inv_commands(void)
{
	return commands;
}

const inv_command *inv_command_find(const char *name)
{
	for (size_t i = 0; commands[i]; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}
