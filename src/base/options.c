/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - lists of options; see options.h for what is held and what is promised. */
#include "base/option_entry.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/options.h"
#include "base/words.h"

enum { NAMES = 2048 };

/* ---- Lists ------------------------------------------------------------------------ */

invar_status inv_options_begin(const char *command, invar_options **out)
{
	*out = inv_calloc(1, sizeof **out);
	if (!*out)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for options");
	(*out)->command = command;
	return INVAR_OK;
}

const char *inv_options_command(const invar_options *o)
{
	return o->command;
}

invar_status inv_options_expect(const invar_options *o, const char *command)
{
	if (strcmp(o->command, command) == 0)
		return INVAR_OK;
	return inv_fail(INVAR_E_USE, "these options were made for %s, not for %s", o->command,
	                command);
}

void invar_options_free(invar_options *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->count; i++) {
		inv_entry_clear_list(&o->entry[i]);
		inv_free(o->entry[i].text);
		inv_free(o->entry[i].choices);
		inv_free(o->entry[i].help);
		inv_free(o->entry[i].texts);
	}
	inv_free(o->entry);
	json_decref(o->record);
	inv_free(o);
}

invar_status inv_options_set_record(invar_options *o, const char *key, json_t *value)
{
	json_t *record = o->record ? json_copy(o->record) : json_object();

	if (!record || json_object_set_new(record, key, value) != 0) {
		json_decref(record);
		return inv_fail(INVAR_E_NOMEM, "not enough memory for the record of options");
	}
	json_decref(o->record); /* a copy may have it too */
	o->record = record;
	return INVAR_OK;
}

json_t *inv_options_record(const invar_options *o, const char *key)
{
	return json_object_get(o->record, key);
}

inv_entry *inv_entry_find(const invar_options *o, const char *name)
{
	for (size_t i = 0; i < o->count; i++)
		if (strcmp(o->entry[i].row.name, name) == 0)
			return &o->entry[i];
	return NULL;
}

/* Reading a value of ours: a name that does not exist is a mistake in the program. */
static const inv_entry *known(const invar_options *o, const char *name,
                              invar_option_type type)
{
	const inv_entry *e = inv_entry_find(o, name);

	assert(e && e->row.type == type);
	(void)type;
	return e;
}

static invar_status make_space(invar_options *o)
{
	size_t more = o->allocated ? 2 * o->allocated : 32;
	inv_entry *larger;

	if (o->count < o->allocated)
		return INVAR_OK;
	if (!(larger = inv_calloc(more, sizeof *larger)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for options");
	if (o->count)
		memcpy(larger, o->entry, o->count * sizeof *larger);
	inv_free(o->entry);
	o->entry = larger;
	o->allocated = more;
	return INVAR_OK;
}

/* "a|b|c" of the words that the row's function lists. */
static invar_status spell_choices(inv_entry *e)
{
	char names[NAMES] = "";
	size_t fill = 0;
	const char *word;

	if (!e->row.choice)
		return INVAR_OK;
	for (size_t i = 0; (word = e->row.choice(i)) && fill < sizeof names; i++)
		fill +=
			(size_t)snprintf(names + fill, sizeof names - fill, "%s%s", i ? "|" : "", word);
	assert(fill < sizeof names);
	if (!(e->choices = inv_strdup(names)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for options");
	e->row.choices = e->choices;
	return INVAR_OK;
}

/* "what it is: a, one thing; b, another" */
static invar_status spell_help(inv_entry *e)
{
	char text[NAMES];
	size_t fill = (size_t)snprintf(text, sizeof text, "%s", e->row.help);
	const char *word;

	if (!e->row.choice || !e->row.choice_help)
		return INVAR_OK;
	for (size_t i = 0; (word = e->row.choice(i)) && fill < sizeof text; i++)
		fill += (size_t)snprintf(text + fill, sizeof text - fill, "%s %s, %s",
		                         i ? ";" : ":", word, e->row.choice_help(i));
	assert(fill < sizeof text);
	if (!(e->help = inv_strdup(text)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for options");
	e->row.help = e->help;
	return INVAR_OK;
}

static void add_part(inv_entry *e, const char *selector, const char *value)
{
	if (!selector || inv_entry_is_of_part(e, selector, value))
		return;
	assert(e->parts < INV_MAX_PARTS);
	e->part[e->parts++] = (inv_part){selector, value};
}

/* Copies the strings of a row, which may not outlive the call, into one block. */
static invar_status keep_texts(inv_entry *e)
{
	const char **text[] = {&e->row.name, &e->row.initial, &e->row.choices,
	                       &e->row.meta, &e->row.group,   &e->row.help};
	size_t bytes = 0, count = sizeof text / sizeof *text;
	char *at;

	for (size_t i = 0; i < count; i++)
		bytes += *text[i] ? strlen(*text[i]) + 1 : 0;
	if (!(at = e->texts = inv_alloc(bytes)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for options");
	for (size_t i = 0; i < count; i++)
		if (*text[i]) {
			size_t length = strlen(*text[i]) + 1;

			*text[i] = memcpy(at, *text[i], length);
			at += length;
		}
	return INVAR_OK;
}

static invar_status add_row(invar_options *o, const invar_option *row, bool keep)
{
	inv_entry *e;
	invar_status st;

	if (inv_entry_find(o, row->name))
		return INVAR_OK;
	if ((st = make_space(o)) != INVAR_OK)
		return st;
	e = &o->entry[o->count++];
	*e = (inv_entry){.row = *row};
	if ((keep && (st = keep_texts(e)) != INVAR_OK) || (st = spell_choices(e)) != INVAR_OK ||
	    (st = spell_help(e)) != INVAR_OK)
		return st;
	e->base = e->row.initial;
	return row->initial ? inv_entry_store(e, row->initial) : INVAR_OK;
}

invar_status inv_options_add_rows(invar_options *o, const invar_option *rows)
{
	return inv_options_add_part(o, NULL, NULL, rows);
}

invar_status inv_options_add_part(invar_options *o, const char *selector, const char *value,
                                  const invar_option *rows)
{
	invar_status st = INVAR_OK;

	for (; rows && rows->name && st == INVAR_OK; rows++)
		if ((st = add_row(o, rows, false)) == INVAR_OK)
			add_part(inv_entry_find(o, rows->name), selector, value);
	return st;
}

/* A caller's row may be shorter or longer than ours: it was compiled elsewhere. */
invar_status inv_options_add(invar_options *o, const invar_option *row, size_t size)
{
	invar_option ours = {0};

	memcpy(&ours, row, size < sizeof ours ? size : sizeof ours);
	if (!ours.name || !*ours.name)
		return inv_fail(INVAR_E_USE, "an option needs a name");
	return add_row(o, &ours, true);
}

invar_status inv_options_idle(invar_options *o, const char *selector, const char *value,
                              const char *names)
{
	char name[INV_WORD];

	while (inv_next_word(&names, '|', name)) {
		inv_entry *e = inv_entry_find(o, name);

		assert(e && !e->idle.selector);
		e->idle = (inv_part){selector, value};
	}
	return INVAR_OK;
}

invar_status inv_options_share(invar_options *o, const char *selector, const char *value,
                               const char *names)
{
	char name[INV_WORD];

	while (inv_next_word(&names, '|', name)) {
		inv_entry *e = inv_entry_find(o, name);

		assert(e);
		add_part(e, selector, value);
	}
	return INVAR_OK;
}

/* ---- Setting by name ---------------------------------------------------------------- */

invar_status inv_options_refuse_name(const invar_options *o, const char *name)
{
	inv_closest n;

	inv_closest_start(&n, name);
	for (size_t i = 0; i < o->count; i++)
		inv_closest_try(&n, o->entry[i].row.name);
	if (n.best)
		return inv_fail(INVAR_E_USE, "there is no option @%.64s; did you mean @%s?", name,
		                n.best);
	return inv_fail(INVAR_E_USE, "there is no option @%.64s of %s", name, o->command);
}

static invar_status find_option(invar_options *o, const char *name, inv_entry **out)
{
	*out = name ? inv_entry_find(o, name) : NULL;
	return *out ? INVAR_OK : inv_options_refuse_name(o, name ? name : "");
}

const char *inv_entry_default(const invar_options *o, const inv_entry *e)
{
	const char *initial = e->base;

	for (size_t i = 0; i < o->rules; i++) {
		const inv_option_default *rule = &o->rule[i];

		if (strcmp(rule->name, e->row.name) != 0)
			continue;
		if (rule->choose)
			initial = rule->choose(o);
		else if (inv_options_chosen(o, rule->selector, rule->value))
			initial = rule->initial;
	}
	return initial;
}

/* A rule may change the selector of a later one, so they apply in their order. */
invar_status inv_options_apply_defaults(invar_options *o)
{
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < o->rules && st == INVAR_OK; i++) {
		inv_entry *e = inv_entry_find(o, o->rule[i].name);

		if (!e->set)
			st = inv_entry_reset(e, inv_entry_default(o, e));
	}
	return st;
}

invar_status inv_options_add_default(invar_options *o, const inv_option_default *rule)
{
	inv_entry *e = inv_entry_find(o, rule->name);

	assert(o->rules < INV_MAX_DEFAULTS && e);
	o->rule[o->rules++] = *rule;
	e->row.initial = inv_entry_default(o, e);
	return inv_options_apply_defaults(o);
}

invar_status invar_options_set(invar_options *o, const char *name, const char *text)
{
	inv_entry *e;
	invar_status st = find_option(o, name, &e);

	if (st == INVAR_OK && !text)
		return inv_fail(INVAR_E_USE, "@%s needs a value", name);
	if (st == INVAR_OK && e->row.type == INVAR_OPTION_LIST && !e->set)
		inv_entry_clear_list(e); /* a set value replaces the default */
	if (st == INVAR_OK)
		st = inv_entry_store(e, text);
	if (st != INVAR_OK)
		return st;
	e->set = true;
	return inv_options_apply_defaults(o);
}

/* By way of text, so that a number means the same however it was set. */
invar_status invar_options_set_number(invar_options *o, const char *name, double value)
{
	inv_entry *e;
	invar_status st = find_option(o, name, &e);
	char text[INV_BOUND];

	if (st != INVAR_OK)
		return st;
	if (!isfinite(value))
		return inv_fail(INVAR_E_USE, "@%s needs a finite number", name);
	inv_spell_bound(value, text);
	return invar_options_set(o, name, text);
}

invar_status inv_options_unset(invar_options *o, const char *name)
{
	inv_entry *e;
	invar_status st = find_option(o, name, &e);

	if (st != INVAR_OK)
		return st;
	e->set = false;
	st = inv_entry_reset(e, inv_entry_default(o, e));
	return st == INVAR_OK ? inv_options_apply_defaults(o) : st;
}

/* ---- Reading ------------------------------------------------------------------------ */

size_t invar_options_count(const invar_options *o)
{
	return o->count;
}

const invar_option *invar_options_at(const invar_options *o, size_t i)
{
	return i < o->count ? &o->entry[i].row : NULL;
}

const invar_option *inv_options_find(const invar_options *o, const char *name)
{
	const inv_entry *e = inv_entry_find(o, name);

	return e ? &e->row : NULL;
}

const char *inv_options_part(const invar_options *o, const char *name, size_t i)
{
	const inv_entry *e = inv_entry_find(o, name);

	return e && i < e->parts ? e->part[i].value : NULL;
}

int inv_options_is_set(const invar_options *o, const char *name)
{
	const inv_entry *e = inv_entry_find(o, name);

	return e && e->set;
}

double inv_options_number(const invar_options *o, const char *name)
{
	const inv_entry *e = inv_entry_find(o, name);

	if (!e)
		return NAN;
	switch (e->row.type) {
	case INVAR_OPTION_FLAG:
		return e->flag;
	case INVAR_OPTION_COUNT:
		return (double)e->count;
	case INVAR_OPTION_NUMBER:
		return e->number;
	default:
		return NAN;
	}
}

const char *inv_options_text(const invar_options *o, const char *name, size_t i)
{
	const inv_entry *e = inv_entry_find(o, name);

	if (e && e->row.type == INVAR_OPTION_LIST)
		return i < e->listed ? e->list[i] : NULL;
	return e && i == 0 ? e->text : NULL;
}

bool inv_option_is_set(const invar_options *o, const char *name)
{
	const inv_entry *e = inv_entry_find(o, name);

	assert(e);
	return e->set;
}

bool inv_option_flag(const invar_options *o, const char *name)
{
	return known(o, name, INVAR_OPTION_FLAG)->flag;
}

uint64_t inv_option_count(const invar_options *o, const char *name)
{
	return known(o, name, INVAR_OPTION_COUNT)->count;
}

double inv_option_number(const invar_options *o, const char *name)
{
	return known(o, name, INVAR_OPTION_NUMBER)->number;
}

const char *inv_option_text(const invar_options *o, const char *name)
{
	return known(o, name, INVAR_OPTION_TEXT)->text;
}

const char *const *inv_option_list(const invar_options *o, const char *name)
{
	return (const char *const *)known(o, name, INVAR_OPTION_LIST)->list;
}

bool inv_option_is(const invar_options *o, const char *name, const char *word)
{
	const char *text = inv_option_text(o, name);

	return text && strcmp(text, word) == 0;
}

/* ---- Copies ------------------------------------------------------------------------- */

static invar_status copy_entry(const inv_entry *from, inv_entry *to)
{
	*to = *from;
	to->text = to->choices = to->help = NULL;
	to->list = NULL;
	to->listed = 0;
	if ((from->text && !(to->text = inv_strdup(from->text))) ||
	    (from->choices && !(to->choices = inv_strdup(from->choices))) ||
	    (from->help && !(to->help = inv_strdup(from->help))))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for options");
	if (to->choices)
		to->row.choices = to->choices;
	if (to->help)
		to->row.help = to->help;
	for (size_t i = 0; i < from->listed; i++)
		if (inv_entry_append(to, from->list[i]) != INVAR_OK)
			return INVAR_E_NOMEM;
	return INVAR_OK;
}

invar_status inv_options_copy(const invar_options *o, invar_options **out)
{
	invar_options *copy;
	invar_status st = inv_options_begin(o->command, &copy);

	*out = NULL;
	if (st == INVAR_OK && !(copy->entry = inv_calloc(o->count + 1, sizeof *copy->entry)))
		st = inv_fail(INVAR_E_NOMEM, "not enough memory for options");
	for (size_t i = 0; i < o->count && st == INVAR_OK; i++)
		if (!o->entry[i].texts)
			st = copy_entry(&o->entry[i], &copy->entry[copy->count++]);
	if (st != INVAR_OK) {
		invar_options_free(copy);
		return st;
	}
	copy->allocated = o->count + 1;
	memcpy(copy->rule, o->rule, sizeof copy->rule);
	copy->rules = o->rules;
	copy->record = json_incref(o->record);
	*out = copy;
	return INVAR_OK;
}

/* As if it had been typed, so that it meets the bounds and choices of its new row. */
static invar_status take_value(const inv_entry *from, inv_entry *to)
{
	char text[INV_BOUND];
	invar_status st = INVAR_OK;

	to->set = from->set;
	switch (from->row.type) {
	case INVAR_OPTION_FLAG:
		to->flag = from->flag;
		return INVAR_OK;
	case INVAR_OPTION_COUNT:
		snprintf(text, sizeof text, "%llu", (unsigned long long)from->count);
		return inv_entry_store(to, text);
	case INVAR_OPTION_NUMBER:
		snprintf(text, sizeof text, "%.15g", from->number);
		return inv_entry_store(to, text);
	case INVAR_OPTION_TEXT:
		return from->text ? inv_entry_store(to, from->text) : INVAR_OK;
	case INVAR_OPTION_LIST:
		inv_entry_clear_list(to);
		for (size_t i = 0; i < from->listed && st == INVAR_OK; i++)
			st = inv_entry_append(to, from->list[i]);
		return st;
	}
	return INVAR_OK;
}

invar_status inv_options_pick(const invar_options *o,
                              invar_status (*declare)(invar_options *o),
                              invar_options **out)
{
	invar_options *mine;
	invar_status st = inv_options_begin(o ? o->command : "this list", &mine);

	*out = NULL;
	if (st == INVAR_OK)
		st = declare(mine);
	for (size_t i = 0; o && st == INVAR_OK && i < mine->count; i++) {
		const inv_entry *from = inv_entry_find(o, mine->entry[i].row.name);

		if (from && from->row.type == mine->entry[i].row.type)
			st = take_value(from, &mine->entry[i]);
	}
	if (st != INVAR_OK) {
		invar_options_free(mine);
		return st;
	}
	mine->record = o ? json_incref(o->record) : NULL;
	*out = mine;
	return INVAR_OK;
}
