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
	const inv_loss *loss = inv_loss_at(i);

	return loss ? loss->name : NULL;
}

const char *inv_loss_kind(size_t i)
{
	return inv_loss_name_at(i);
}

invar_status inv_loss_declare(invar_options *o, const char *selector)
{
	const inv_loss *loss;
	invar_status st = INVAR_OK;

	for (size_t i = 0; (loss = inv_loss_at(i)) && st == INVAR_OK; i++)
		st = inv_options_add_part(o, selector, loss->name, loss->options);
	for (size_t i = 0; (loss = inv_loss_at(i)) && st == INVAR_OK; i++)
		st = inv_options_share(o, selector, loss->name, loss->shares);
	return st;
}

static invar_status add_defaults(invar_options *o, const char *selector,
                                 const inv_loss *loss)
{
	invar_status st = INVAR_OK;

	for (const inv_option_default *d = loss->defaults; d && d->name && st == INVAR_OK;
	     d++) {
		inv_option_default rule = *d;

		if (!rule.selector) {
			rule.selector = selector;
			rule.value = loss->name;
		}
		st = inv_options_add_default(o, &rule);
	}
	return st;
}

invar_status inv_loss_declare_defaults(invar_options *o, const char *selector)
{
	const inv_loss *loss;
	invar_status st = INVAR_OK;

	for (size_t i = 0; (loss = inv_loss_at(i)) && st == INVAR_OK; i++)
		st = add_defaults(o, selector, loss);
	return st;
}

bool inv_loss_keeps_identity(const invar_options *o)
{
	return !inv_option_flag(o, "no-identity");
}
