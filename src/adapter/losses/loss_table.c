/* SPDX-License-Identifier: Apache-2.0 */
/* loss_table.c - the losses that meson.build lists. */
#include <string.h>

#include "adapter/losses/loss.h"

#include "adapter/loss_list.h"

enum { LOSSES = sizeof parts / sizeof *parts };

const inv_loss *inv_loss_at(size_t i)
{
	return i < LOSSES ? parts[i] : NULL;
}

const inv_loss *inv_loss_find(const char *name)
{
	for (size_t i = 0; i < LOSSES; i++)
		if (strcmp(parts[i]->name, name) == 0)
			return parts[i];
	return NULL;
}

const char *inv_loss_name_at(size_t i)
{
	return i < LOSSES ? parts[i]->name : NULL;
}

invar_status inv_loss_declare(invar_options *o, const char *selector)
{
	for (size_t i = 0; i < LOSSES; i++)
		INV_TRY(inv_options_add_part(o, selector, parts[i]->name, parts[i]->options));
	for (size_t i = 0; i < LOSSES; i++)
		INV_TRY(inv_options_share(o, selector, parts[i]->name, parts[i]->shares));
	return INVAR_OK;
}

bool inv_loss_keeps_identity(const invar_options *o)
{
	return !inv_option_flag(o, "no-identity");
}
