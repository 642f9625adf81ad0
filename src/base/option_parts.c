/* SPDX-License-Identifier: Apache-2.0 */
/* option_parts.c - options that belong to a loss, an encoder or another part. */
#include "base/option_entry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"

enum { NAMES = 2048 };

bool inv_entry_is_of_part(const inv_entry *e, const char *selector, const char *value)
{
	for (size_t i = 0; i < e->parts; i++)
		if (strcmp(e->part[i].selector, selector) == 0 &&
		    (value && e->part[i].value ? strcmp(e->part[i].value, value) == 0
		                               : value == e->part[i].value))
			return true;
	return false;
}

bool inv_options_uses(const invar_options *o, const char *selector, const char *value,
                      const char *name)
{
	const inv_entry *e = inv_entry_find(o, name);

	return e && inv_entry_is_of_part(e, selector, value);
}

/* The value of an option that chooses a part, as text; "" if it has none. */
static const char *chosen(const invar_options *o, const char *selector)
{
	const inv_entry *e = inv_entry_find(o, selector);

	if (e && e->row.type == INVAR_OPTION_FLAG)
		return e->flag ? "true" : "false";
	return e && e->text ? e->text : "";
}

/* NULL means any value. */
bool inv_options_chosen(const invar_options *o, const char *selector, const char *value)
{
	const char *now = chosen(o, selector);
	const inv_entry *e = inv_entry_find(o, selector);

	if (value && e && e->row.type == INVAR_OPTION_NUMBER)
		return e->number == strtod(value, NULL);
	return value ? strcmp(now, value) == 0 : *now != '\0';
}

bool inv_option_has_value(const invar_options *o, const char *name, const char *value)
{
	return inv_options_chosen(o, name, value);
}

bool inv_entry_has_chosen_part(const invar_options *o, const inv_entry *e)
{
	for (size_t i = 0; i < e->parts; i++)
		if (inv_options_chosen(o, e->part[i].selector, e->part[i].value))
			return true;
	return e->parts == 0;
}

bool inv_entry_takes_part(const invar_options *o, const inv_entry *e)
{
	bool is_absent = e->row.type == INVAR_OPTION_TEXT && !e->text;
	bool is_idle =
		e->idle.selector && inv_options_chosen(o, e->idle.selector, e->idle.value);

	return inv_entry_has_chosen_part(o, e) && !is_idle && !is_absent;
}

/* The values of e's parts with one selector, " a, b or c"; "" if it is a flag.
 */
static const char *list_values(const inv_entry *e, const char *selector,
                               char out[INV_MAX_PARTS * INV_WORD])
{
	char names[INV_MAX_PARTS * INV_WORD] = "";
	size_t fill = 0;

	for (size_t i = 0; i < e->parts && fill < sizeof names; i++) {
		const char *value = e->part[i].value;

		if (strcmp(e->part[i].selector, selector) == 0 && value &&
		    strcmp(value, "true") != 0)
			fill += (size_t)snprintf(names + fill, sizeof names - fill, "%s%s",
			                         fill ? "|" : "", value);
	}
	out[0] = ' ';
	if (fill)
		inv_list_words(names, out + 1, INV_MAX_PARTS * INV_WORD - 1);
	return fill ? out : "";
}

/* Names the first selector of its parts and, if there are several, the last. */
static invar_status refuse_part(const invar_options *o, const inv_entry *e)
{
	const char *first = e->part[0].selector, *last = e->part[e->parts - 1].selector;
	char list[INV_MAX_PARTS * INV_WORD], other[INV_MAX_PARTS * INV_WORD];
	const char *values = list_values(e, first, list);

	if (strcmp(first, last) != 0)
		return inv_fail(INVAR_E_USE, "@%s needs @%s%s or @%s%s, and neither is set",
		                e->row.name, first, values, last, list_values(e, last, other));
	if (!*values)
		return inv_fail(INVAR_E_USE, "@%s needs @%s, which is not set", e->row.name, first);
	return inv_fail(INVAR_E_USE, "@%s needs @%s%s, but @%s is %s", e->row.name, first,
	                values, first, chosen(o, first));
}

invar_status inv_options_check_parts(const invar_options *o)
{
	for (size_t i = 0; i < o->count; i++)
		if (o->entry[i].set && !inv_entry_has_chosen_part(o, &o->entry[i]))
			return refuse_part(o, &o->entry[i]);
	return INVAR_OK;
}
