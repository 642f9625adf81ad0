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
	INV_TRY(inv_new(out));
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
		return inv_no_memory();
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

/* ---- Parts: options that belong to a loss, an encoder … ------------------------------ */

static bool is_of_part(const inv_entry *e, const char *selector, const char *value)
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

	return e && is_of_part(e, selector, value);
}

/* The value of an option that selects a part, as text; "" if it has none. */
static const char *selected(const invar_options *o, const char *selector)
{
	const inv_entry *e = inv_entry_find(o, selector);

	if (e && e->row.type == INVAR_OPTION_FLAG)
		return e->flag ? "true" : "false";
	return e && e->text ? e->text : "";
}

bool inv_option_has_value(const invar_options *o, const char *selector, const char *value)
{
	const char *now = selected(o, selector);
	const inv_entry *e = inv_entry_find(o, selector);

	if (value && e && e->row.type == INVAR_OPTION_NUMBER)
		return e->number == strtod(value, NULL);
	return value ? strcmp(now, value) == 0 : *now != '\0';
}

bool inv_entry_has_chosen_part(const invar_options *o, const inv_entry *e)
{
	for (size_t i = 0; i < e->parts; i++)
		if (inv_option_has_value(o, e->part[i].selector, e->part[i].value))
			return true;
	return e->parts == 0;
}

bool inv_entry_takes_part(const invar_options *o, const inv_entry *e)
{
	bool is_absent = e->row.type == INVAR_OPTION_TEXT && !e->text;
	bool is_idle =
		e->idle.selector && inv_option_has_value(o, e->idle.selector, e->idle.value);

	return inv_entry_has_chosen_part(o, e) && !is_idle && !is_absent;
}

/* The values of e's parts with one selector, " a, b or c"; "" if it is a flag. */
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

invar_status inv_options_check_parts(const invar_options *o)
{
	char list[INV_MAX_PARTS * INV_WORD], other[INV_MAX_PARTS * INV_WORD];
	const char *first, *last, *values;
	const inv_entry *e = o->entry, *end = e + o->count;

	while (e < end && !(e->set && !inv_entry_has_chosen_part(o, e)))
		e++;
	if (e == end)
		return INVAR_OK;
	/* The message names the first selector of its parts and, if there are several, the
	 * last. */
	first = e->part[0].selector;
	last = e->part[e->parts - 1].selector;
	values = list_values(e, first, list);
	if (strcmp(first, last) != 0)
		return inv_fail(INVAR_E_USE, "@%s needs @%s%s or @%s%s, and neither is set",
		                e->row.name, first, values, last, list_values(e, last, other));
	if (!*values)
		return inv_fail(INVAR_E_USE, "@%s needs @%s, which is not set", e->row.name, first);
	return inv_fail(INVAR_E_USE, "@%s needs @%s%s, but @%s is %s", e->row.name, first,
	                values, first, selected(o, first));
}

const char *inv_options_needs(const invar_options *o, const char *name)
{
	const inv_entry *e = inv_entry_find(o, name);

	return inv_entry_has_chosen_part(o, e) ? NULL : e->part[0].selector;
}

const char *inv_options_phrase(const invar_options *o, const char *name)
{
	return inv_entry_find(o, name)->phrase;
}

/* ---- Declaring ---------------------------------------------------------------------- */

/*
 * Of the words that the row's function lists: the choices "a|b|c", and the help "what it
 * is: a, one thing; b, another".
 */
static invar_status spell_choices(inv_entry *e)
{
	char names[NAMES] = "", help[NAMES];
	size_t fill = 0, helped = (size_t)snprintf(help, sizeof help, "%s", e->row.help);
	const char *word;

	e->phrase = e->row.help;
	if (!e->row.choice)
		return INVAR_OK;
	for (size_t i = 0; (word = e->row.choice(i)) && fill < NAMES && helped < NAMES; i++) {
		fill += (size_t)snprintf(names + fill, NAMES - fill, "%s%s", i ? "|" : "", word);
		if (e->row.choice_help)
			helped += (size_t)snprintf(help + helped, NAMES - helped, "%s %s, %s",
			                           i ? ";" : ":", word, e->row.choice_help(i));
	}
	assert(fill < NAMES && helped < NAMES);
	INV_TRY(inv_new_text(&e->choices, names));
	e->row.choices = e->choices;
	if (e->row.choice_help) {
		INV_TRY(inv_new_text(&e->help, help));
		e->row.help = e->help;
	}
	return INVAR_OK;
}

static void add_part(inv_entry *e, const char *selector, const char *value)
{
	if (!selector || is_of_part(e, selector, value))
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
	INV_TRY(inv_new_array(&e->texts, bytes));
	at = e->texts;
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
	size_t more = o->allocated ? 2 * o->allocated : 32;
	inv_entry *e;

	if (inv_entry_find(o, row->name))
		return INVAR_OK;
	if (o->count == o->allocated) {
		INV_TRY(inv_new_zeros(&e, more));
		if (o->count)
			memcpy(e, o->entry, o->count * sizeof *e);
		inv_free(o->entry);
		o->entry = e;
		o->allocated = more;
	}
	e = &o->entry[o->count++];
	*e = (inv_entry){.row = *row};
	if (keep)
		INV_TRY(keep_texts(e));
	INV_TRY(spell_choices(e));
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
	for (; rows && rows->name; rows++) {
		INV_TRY(add_row(o, rows, false));
		add_part(inv_entry_find(o, rows->name), selector, value);
	}
	return INVAR_OK;
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

static invar_status find_option(invar_options *o, const char *name, inv_entry **out)
{
	inv_closest n;

	if ((*out = name ? inv_entry_find(o, name) : NULL))
		return INVAR_OK;
	name = name ? name : "";
	inv_closest_start(&n, name);
	for (size_t i = 0; i < o->count; i++)
		inv_closest_try(&n, o->entry[i].row.name);
	if (n.best)
		return inv_fail(INVAR_E_USE, "there is no option @%.64s; did you mean @%s?", name,
		                n.best);
	return inv_fail(INVAR_E_USE, "there is no option @%.64s of %s", name, o->command);
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
		else if (inv_option_has_value(o, rule->selector, rule->value))
			initial = rule->initial;
	}
	return initial;
}

/* A rule may change the selector of a later one, so they apply in their order. */
invar_status inv_options_apply_defaults(invar_options *o)
{
	for (size_t i = 0; i < o->rules; i++) {
		inv_entry *e = inv_entry_find(o, o->rule[i].name);

		if (!e->set)
			INV_TRY(inv_entry_reset(e, inv_entry_default(o, e)));
	}
	return INVAR_OK;
}

const char *inv_options_selectors(const invar_options *o, const char *name,
                                  char out[INV_SELECTORS])
{
	size_t fill = 0;

	*out = '\0';
	for (size_t i = 0; i < o->rules && fill < INV_SELECTORS; i++) {
		const char *selector = o->rule[i].selector;

		if (strcmp(o->rule[i].name, name) == 0 && selector &&
		    !inv_has_word(out, '|', selector))
			fill += (size_t)snprintf(out + fill, INV_SELECTORS - fill, "%s%s",
			                         fill ? "|" : "", selector);
	}
	return out;
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

	INV_TRY(find_option(o, name, &e));
	if (!text)
		return inv_fail(INVAR_E_USE, "@%s needs a value", name);
	if (e->row.type == INVAR_OPTION_LIST && !e->set)
		inv_entry_clear_list(e); /* a set value replaces the default */
	INV_TRY(inv_entry_store(e, text));
	e->set = true;
	return inv_options_apply_defaults(o);
}

/* By way of text, so that a number means the same however it was set. */
invar_status invar_options_set_number(invar_options *o, const char *name, double value)
{
	inv_entry *e;
	char text[INV_BOUND];

	INV_TRY(find_option(o, name, &e));
	if (!isfinite(value))
		return inv_fail(INVAR_E_USE, "@%s needs a finite number", name);
	inv_spell_bound(value, text);
	return invar_options_set(o, name, text);
}

invar_status inv_options_unset(invar_options *o, const char *name)
{
	inv_entry *e;

	INV_TRY(find_option(o, name, &e));
	e->set = false;
	INV_TRY(inv_entry_reset(e, inv_entry_default(o, e)));
	return inv_options_apply_defaults(o);
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
	if (from->text)
		INV_TRY(inv_new_text(&to->text, from->text));
	if (from->choices) {
		INV_TRY(inv_new_text(&to->choices, from->choices));
		to->row.choices = to->choices;
	}
	if (from->help) {
		INV_TRY(inv_new_text(&to->help, from->help));
		to->row.help = to->help;
	}
	for (size_t i = 0; i < from->listed; i++)
		INV_TRY(inv_entry_append(to, from->list[i]));
	return INVAR_OK;
}

invar_status inv_options_copy(const invar_options *o, invar_options **out)
{
	invar_options *copy;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_options_begin(o->command, &copy));
	INV_TRY_OR(fail, inv_new_zeros(&copy->entry, o->count + 1));
	for (size_t i = 0; i < o->count; i++)
		if (!o->entry[i].texts)
			INV_TRY_OR(fail, copy_entry(&o->entry[i], &copy->entry[copy->count++]));
	copy->allocated = o->count + 1;
	memcpy(copy->rule, o->rule, sizeof copy->rule);
	copy->rules = o->rules;
	copy->record = json_incref(o->record);
	*out = copy;
	return INVAR_OK;
fail:
	invar_options_free(copy);
	return st;
}

/* As if it had been typed, so that it meets the bounds and choices of its new row. */
static invar_status take_value(const inv_entry *from, inv_entry *to)
{
	char text[INV_BOUND];

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
		for (size_t i = 0; i < from->listed; i++)
			INV_TRY(inv_entry_append(to, from->list[i]));
		return INVAR_OK;
	}
	return INVAR_OK;
}

invar_status inv_options_pick(const invar_options *o,
                              invar_status (*declare)(invar_options *o),
                              invar_options **out)
{
	invar_options *mine;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_options_begin(o ? o->command : "this list", &mine));
	INV_TRY_OR(fail, declare(mine));
	for (size_t i = 0; o && i < mine->count; i++) {
		const inv_entry *from = inv_entry_find(o, mine->entry[i].row.name);

		if (from && from->row.type == mine->entry[i].row.type)
			INV_TRY_OR(fail, take_value(from, &mine->entry[i]));
	}
	mine->record = o ? json_incref(o->record) : NULL;
	*out = mine;
	return INVAR_OK;
fail:
	invar_options_free(mine);
	return st;
}
