/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - see options.h for what is held and what is promised. */
#include "base/options.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/words.h"

enum { DEFAULTS = 64, PARTS = 24, NAMES = 2048, BOUND = 40 };

/* The largest count that a double, and so JSON and Python, represents exactly. */
static const double max_count = 0x1p53;

typedef struct part {
	const char *selector, *value; /* "loss", "simclr" */
} part;

typedef struct entry {
	invar_option row; /* a copy; row.choices is ours where `choices` is set */
	const char
		*base; /* the default where no rule applies; row.initial: where none is set */
	part part[PARTS]; /* that the option belongs to; none: to the command itself */
	size_t parts;
	part idle; /* where it changes nothing; without a selector: nowhere */
	char *choices;
	char *help;  /* row.help with what the choices mean; NULL: as it is */
	char *texts; /* of a row that a caller has added; NULL: of the command's own */
	bool set;
	bool flag;
	uint64_t count;
	double number;
	char *text;
	char **list; /* ended by NULL */
	size_t listed;
} entry;

struct invar_options {
	const char *command;
	entry *entry;
	size_t count, allocated;
	inv_option_default rule[DEFAULTS]; /* in the order they were added */
	size_t rules;
};

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

static void clear_list(entry *e)
{
	for (size_t i = 0; i < e->listed; i++)
		inv_free(e->list[i]);
	inv_free(e->list);
	e->list = NULL;
	e->listed = 0;
}

void invar_options_free(invar_options *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->count; i++) {
		clear_list(&o->entry[i]);
		inv_free(o->entry[i].text);
		inv_free(o->entry[i].choices);
		inv_free(o->entry[i].help);
		inv_free(o->entry[i].texts);
	}
	inv_free(o->entry);
	inv_free(o);
}

static entry *find_entry(const invar_options *o, const char *name)
{
	for (size_t i = 0; i < o->count; i++)
		if (strcmp(o->entry[i].row.name, name) == 0)
			return &o->entry[i];
	return NULL;
}

/* Reading a value of ours: a name that does not exist is a mistake in the program. */
static const entry *known(const invar_options *o, const char *name, invar_option_type type)
{
	const entry *e = find_entry(o, name);

	assert(e && e->row.type == type);
	(void)type;
	return e;
}

static invar_status make_space(invar_options *o)
{
	size_t more = o->allocated ? 2 * o->allocated : 32;
	entry *larger;

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
static invar_status spell_choices(entry *e)
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
static invar_status spell_help(entry *e)
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

static invar_status store(entry *e, const char *text);

static bool is_of_part(const entry *e, const char *selector, const char *value)
{
	for (size_t i = 0; i < e->parts; i++)
		if (strcmp(e->part[i].selector, selector) == 0 &&
		    (value && e->part[i].value ? strcmp(e->part[i].value, value) == 0
		                               : value == e->part[i].value))
			return true;
	return false;
}

static void add_part(entry *e, const char *selector, const char *value)
{
	if (!selector || is_of_part(e, selector, value))
		return;
	assert(e->parts < PARTS);
	e->part[e->parts++] = (part){selector, value};
}

/* Copies the strings of a row, which may not outlive the call, into one block. */
static invar_status keep_texts(entry *e)
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
	entry *e;
	invar_status st;

	if (find_entry(o, row->name))
		return INVAR_OK;
	if ((st = make_space(o)) != INVAR_OK)
		return st;
	e = &o->entry[o->count++];
	*e = (entry){.row = *row};
	if ((keep && (st = keep_texts(e)) != INVAR_OK) || (st = spell_choices(e)) != INVAR_OK ||
	    (st = spell_help(e)) != INVAR_OK)
		return st;
	e->base = e->row.initial;
	return row->initial ? store(e, row->initial) : INVAR_OK;
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
			add_part(find_entry(o, rows->name), selector, value);
	return st;
}

/* A caller's row may be shorter or longer than ours: it was compiled elsewhere. */
invar_status invar_options_add(invar_options *o, const invar_option *row, size_t size)
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
		entry *e = find_entry(o, name);

		assert(e && !e->idle.selector);
		e->idle = (part){selector, value};
	}
	return INVAR_OK;
}

invar_status inv_options_share(invar_options *o, const char *selector, const char *value,
                               const char *names)
{
	char name[INV_WORD];

	while (inv_next_word(&names, '|', name)) {
		entry *e = find_entry(o, name);

		assert(e);
		add_part(e, selector, value);
	}
	return INVAR_OK;
}

/* ---- Values from text --------------------------------------------------------------- */

/* Whole bounds with all their digits, others as short as they were written. */
static const char *spell_bound(double bound, char out[BOUND])
{
	snprintf(out, BOUND, bound == floor(bound) && fabs(bound) < 1e17 ? "%.0f" : "%.15g",
	         bound);
	return out;
}

/* The default maximum of a count is where doubles stop being exact. */
static double max_of(const invar_option *row)
{
	if (row->max != 0)
		return row->max;
	return row->type == INVAR_OPTION_COUNT ? max_count : INFINITY;
}

static bool is_within(const invar_option *row, double value)
{
	return value >= row->min && value <= max_of(row) &&
	       !(row->flags & INVAR_OPTION_ABOVE && value == row->min);
}

static invar_status refuse_bounds(const invar_option *row, const char *text)
{
	const char *above = row->flags & INVAR_OPTION_ABOVE ? "above" : "at least";
	double upper = max_of(row);
	char min[BOUND], max[BOUND];

	spell_bound(row->min, min);
	if (upper == INFINITY || upper == max_count)
		return inv_fail(INVAR_E_USE, "@%s must be %s %s, not %s", row->name, above, min,
		                text);
	return inv_fail(INVAR_E_USE, "@%s must be %s %s and at most %s, not %s", row->name,
	                above, min, spell_bound(upper, max), text);
}

static invar_status read_count(const invar_option *row, const char *text, uint64_t *out)
{
	bool negative = *text == '-';
	const char *digits = text + negative;
	unsigned long long value;

	if (!*digits || digits[strspn(digits, "0123456789")])
		return inv_fail(INVAR_E_USE, "@%s needs a whole number, not '%s'", row->name, text);
	errno = 0;
	value = strtoull(digits, NULL, 10);
	if (errno || (negative && value) || !is_within(row, (double)value))
		return refuse_bounds(row, text);
	*out = value;
	return INVAR_OK;
}

/* Strict: no spaces, no hexadecimal, no inf, nothing after the number. */
static invar_status read_number(const invar_option *row, const char *text, double *out)
{
	char rounded[BOUND], *end = NULL;
	double value = 0;

	if (*text && !text[strspn(text, "0123456789.eE+-")])
		value = strtod(text, &end);
	if (!end || end == text || *end)
		return inv_fail(INVAR_E_USE, "@%s needs a number, not '%s'", row->name, text);
	if (!isfinite(value) || !is_within(row, value))
		return refuse_bounds(row, text);
	snprintf(rounded, sizeof rounded, "%.15g", value);
	*out = strtod(rounded, NULL);
	return INVAR_OK;
}

static invar_status read_flag(const invar_option *row, const char *text, bool *out)
{
	*out = strcmp(text, "1") == 0 || strcmp(text, "true") == 0;
	if (*out || strcmp(text, "0") == 0 || strcmp(text, "false") == 0)
		return INVAR_OK;
	return inv_fail(INVAR_E_USE, "@%s must be true or false, not '%s'", row->name, text);
}

static invar_status check_word(const invar_option *row, const char *text)
{
	char what[INV_WORD + 2];

	if (!row->choices)
		return *text
		           ? INVAR_OK
		           : inv_fail(INVAR_E_USE, "the value of @%s must not be empty", row->name);
	snprintf(what, sizeof what, "@%s", row->name);
	return inv_require_word(what, row->choices, text);
}

static invar_status read_text(entry *e, const char *text)
{
	invar_status st = check_word(&e->row, text);
	char *copy;

	if (st != INVAR_OK)
		return st;
	if (!(copy = inv_strdup(text)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for the value of %s",
		                e->row.name);
	inv_free(e->text);
	e->text = copy;
	return INVAR_OK;
}

static invar_status append_text(entry *e, const char *text)
{
	invar_status st = check_word(&e->row, text);
	char **longer;

	if (st != INVAR_OK)
		return st;
	longer = inv_calloc(e->listed + 2, sizeof *longer);
	if (!longer || !(longer[e->listed] = inv_strdup(text))) {
		inv_free(longer);
		return inv_fail(INVAR_E_NOMEM, "not enough memory for the values of %s",
		                e->row.name);
	}
	if (e->listed)
		memcpy(longer, e->list, e->listed * sizeof *longer);
	inv_free(e->list);
	e->list = longer;
	e->listed++;
	return INVAR_OK;
}

static invar_status store(entry *e, const char *text)
{
	switch (e->row.type) {
	case INVAR_OPTION_FLAG:
		return read_flag(&e->row, text, &e->flag);
	case INVAR_OPTION_COUNT:
		return read_count(&e->row, text, &e->count);
	case INVAR_OPTION_NUMBER:
		return read_number(&e->row, text, &e->number);
	case INVAR_OPTION_TEXT:
		return read_text(e, text);
	case INVAR_OPTION_LIST:
		return append_text(e, text);
	}
	return INVAR_OK;
}

/* ---- Setting by name ---------------------------------------------------------------- */

static invar_status refuse_name(const invar_options *o, const char *name)
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

static invar_status find_option(invar_options *o, const char *name, entry **out)
{
	*out = name ? find_entry(o, name) : NULL;
	return *out ? INVAR_OK : refuse_name(o, name ? name : "");
}

static invar_status reset(entry *e, const char *initial)
{
	e->flag = false;
	e->count = 0;
	e->number = 0;
	inv_free(e->text);
	e->text = NULL;
	clear_list(e);
	return initial ? store(e, initial) : INVAR_OK;
}

static bool is_chosen(const invar_options *o, const char *selector, const char *value);

static const char *default_of(const invar_options *o, const entry *e)
{
	const char *initial = e->base;

	for (size_t i = 0; i < o->rules; i++) {
		const inv_option_default *rule = &o->rule[i];

		if (strcmp(rule->name, e->row.name) != 0)
			continue;
		if (rule->choose)
			initial = rule->choose(o);
		else if (is_chosen(o, rule->selector, rule->value))
			initial = rule->initial;
	}
	return initial;
}

/* A rule may change the selector of a later one, so they apply in their order. */
static invar_status apply_defaults(invar_options *o)
{
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < o->rules && st == INVAR_OK; i++) {
		entry *e = find_entry(o, o->rule[i].name);

		if (!e->set)
			st = reset(e, default_of(o, e));
	}
	return st;
}

invar_status inv_options_add_default(invar_options *o, const inv_option_default *rule)
{
	entry *e = find_entry(o, rule->name);

	assert(o->rules < DEFAULTS && e);
	o->rule[o->rules++] = *rule;
	e->row.initial = default_of(o, e);
	return apply_defaults(o);
}

invar_status invar_options_set(invar_options *o, const char *name, const char *text)
{
	entry *e;
	invar_status st = find_option(o, name, &e);

	if (st == INVAR_OK && !text)
		return inv_fail(INVAR_E_USE, "@%s needs a value", name);
	if (st == INVAR_OK && e->row.type == INVAR_OPTION_LIST && !e->set)
		clear_list(e); /* a set value replaces the default */
	if (st == INVAR_OK)
		st = store(e, text);
	if (st != INVAR_OK)
		return st;
	e->set = true;
	return apply_defaults(o);
}

/* By way of text, so that a number means the same however it was set. */
invar_status invar_options_set_number(invar_options *o, const char *name, double value)
{
	entry *e;
	invar_status st = find_option(o, name, &e);
	char text[BOUND];

	if (st != INVAR_OK)
		return st;
	if (!isfinite(value))
		return inv_fail(INVAR_E_USE, "@%s needs a finite number", name);
	spell_bound(value, text);
	return invar_options_set(o, name, text);
}

invar_status invar_options_unset(invar_options *o, const char *name)
{
	entry *e;
	invar_status st = find_option(o, name, &e);

	if (st != INVAR_OK)
		return st;
	e->set = false;
	st = reset(e, default_of(o, e));
	return st == INVAR_OK ? apply_defaults(o) : st;
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

const invar_option *invar_options_find(const invar_options *o, const char *name)
{
	const entry *e = find_entry(o, name);

	return e ? &e->row : NULL;
}

const char *invar_options_part(const invar_options *o, const char *name, size_t i)
{
	const entry *e = find_entry(o, name);

	return e && i < e->parts ? e->part[i].value : NULL;
}

int invar_options_is_set(const invar_options *o, const char *name)
{
	const entry *e = find_entry(o, name);

	return e && e->set;
}

double invar_options_number(const invar_options *o, const char *name)
{
	const entry *e = find_entry(o, name);

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

const char *invar_options_text(const invar_options *o, const char *name, size_t i)
{
	const entry *e = find_entry(o, name);

	if (e && e->row.type == INVAR_OPTION_LIST)
		return i < e->listed ? e->list[i] : NULL;
	return e && i == 0 ? e->text : NULL;
}

bool inv_option_is_set(const invar_options *o, const char *name)
{
	const entry *e = find_entry(o, name);

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

/* ---- Parts -------------------------------------------------------------------------- */

bool inv_options_uses(const invar_options *o, const char *selector, const char *value,
                      const char *name)
{
	const entry *e = find_entry(o, name);

	return e && is_of_part(e, selector, value);
}

/* The value of an option that chooses a part, as text; "" if it has none. */
static const char *chosen(const invar_options *o, const char *selector)
{
	const entry *e = find_entry(o, selector);

	if (e && e->row.type == INVAR_OPTION_FLAG)
		return e->flag ? "true" : "false";
	return e && e->text ? e->text : "";
}

/* NULL means any value. */
static bool is_chosen(const invar_options *o, const char *selector, const char *value)
{
	const char *now = chosen(o, selector);
	const entry *e = find_entry(o, selector);

	if (value && e && e->row.type == INVAR_OPTION_NUMBER)
		return e->number == strtod(value, NULL);
	return value ? strcmp(now, value) == 0 : *now != '\0';
}

bool inv_option_has_value(const invar_options *o, const char *name, const char *value)
{
	return is_chosen(o, name, value);
}

static bool has_chosen_part(const invar_options *o, const entry *e)
{
	for (size_t i = 0; i < e->parts; i++)
		if (is_chosen(o, e->part[i].selector, e->part[i].value))
			return true;
	return e->parts == 0;
}

static bool takes_part(const invar_options *o, const entry *e)
{
	bool is_absent = e->row.type == INVAR_OPTION_TEXT && !e->text;
	bool is_idle = e->idle.selector && is_chosen(o, e->idle.selector, e->idle.value);

	return has_chosen_part(o, e) && !is_idle && !is_absent;
}

/* The values of e's parts with one selector, " a, b or c"; "" if it is a flag.
 */
static const char *list_values(const entry *e, const char *selector,
                               char out[PARTS * INV_WORD])
{
	char names[PARTS * INV_WORD] = "";
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
		inv_list_words(names, out + 1, PARTS * INV_WORD - 1);
	return fill ? out : "";
}

/* Names the first selector of its parts and, if there are several, the last. */
static invar_status refuse_part(const invar_options *o, const entry *e)
{
	const char *first = e->part[0].selector, *last = e->part[e->parts - 1].selector;
	char list[PARTS * INV_WORD], other[PARTS * INV_WORD];
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
		if (o->entry[i].set && !has_chosen_part(o, &o->entry[i]))
			return refuse_part(o, &o->entry[i]);
	return INVAR_OK;
}

/* ---- JSON --------------------------------------------------------------------------- */

static json_t *entry_json(const entry *e)
{
	json_t *array;

	switch (e->row.type) {
	case INVAR_OPTION_FLAG:
		return json_boolean(e->flag);
	case INVAR_OPTION_COUNT:
		return json_integer((json_int_t)e->count);
	case INVAR_OPTION_NUMBER:
		return json_real(e->number);
	case INVAR_OPTION_TEXT:
		return e->text ? inv_json_path(e->text) : json_null();
	case INVAR_OPTION_LIST:
		array = json_array();
		for (size_t i = 0; i < e->listed; i++)
			json_array_append_new(array, inv_json_path(e->list[i]));
		return array;
	}
	return NULL;
}

static json_t *list_json(const invar_options *o, unsigned flags, bool only_used)
{
	json_t *object = json_object();

	for (size_t i = 0; i < o->count; i++) {
		const entry *e = &o->entry[i];

		if ((e->row.flags & flags) == flags && (!only_used || takes_part(o, e)))
			json_object_set_new(object, e->row.name, entry_json(e));
	}
	return object;
}

json_t *inv_options_json(const invar_options *o, unsigned flags)
{
	return list_json(o, flags, false);
}

json_t *inv_options_used_json(const invar_options *o, unsigned flags)
{
	return list_json(o, flags, true);
}

invar_status invar_options_json(const invar_options *o, char **json)
{
	json_t *object = inv_options_json(o, 0);

	*json = object ? inv_json_text(object, 1) : NULL;
	json_decref(object);
	return *json ? INVAR_OK : inv_fail(INVAR_E_NOMEM, "not enough memory for options");
}

static bool is_list_of_texts(const json_t *value)
{
	const json_t *text;
	size_t i;

	json_array_foreach (value, i, text)
		if (!json_is_string(text))
			return false;
	return json_is_array(value);
}

static bool matches_type(const invar_option *row, const json_t *value)
{
	switch (row->type) {
	case INVAR_OPTION_FLAG:
		return json_is_boolean(value);
	case INVAR_OPTION_COUNT:
		return json_is_integer(value) && json_integer_value(value) >= 0;
	case INVAR_OPTION_NUMBER:
		return json_is_number(value);
	case INVAR_OPTION_TEXT:
		return json_is_string(value) || (json_is_null(value) && !row->initial);
	case INVAR_OPTION_LIST:
		return is_list_of_texts(value);
	}
	return false;
}

static invar_status take_list(entry *e, const json_t *value)
{
	invar_status st = INVAR_OK;

	clear_list(e);
	for (size_t i = 0; i < json_array_size(value) && st == INVAR_OK; i++)
		st = append_text(e, json_string_value(json_array_get(value, i)));
	return st;
}

/* A value from a document meets the same checks as one that is typed. */
static invar_status take(entry *e, const json_t *value, const char *where)
{
	char text[BOUND];
	invar_status st;

	if (!matches_type(&e->row, value))
		return inv_fail(INVAR_E_FORMAT, "%s: the value of \"%s\" is not valid", where,
		                e->row.name);
	if (json_is_null(value)) {
		inv_free(e->text);
		e->text = NULL;
		return INVAR_OK;
	}
	if (e->row.type == INVAR_OPTION_LIST)
		return take_list(e, value);
	if (json_is_integer(value))
		snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
	else if (json_is_real(value))
		snprintf(text, sizeof text, "%.17g", json_real_value(value));
	else if (json_is_boolean(value))
		snprintf(text, sizeof text, "%d", json_is_true(value));
	st = store(e, json_is_string(value) ? json_string_value(value) : text);
	return st == INVAR_E_USE ? inv_context(INVAR_E_FORMAT, "%s", where) : st;
}

static invar_status compare(const entry *e, const json_t *saved, const char *where)
{
	json_t *mine = entry_json(e);
	char a[INV_SPELLED], b[INV_SPELLED];
	bool same = json_is_number(saved) ? json_number_value(saved) == json_number_value(mine)
	                                  : json_equal(saved, mine);
	invar_status st =
		same ? INVAR_OK
			 : inv_fail(INVAR_E_MISMATCH,
	                    "%s: was started with @%s %s, so it cannot be resumed with %s",
	                    where, e->row.name, inv_json_spell(saved, a),
	                    inv_json_spell(mine, b));

	json_decref(mine);
	return st;
}

/* The value that it has unless it is set; gives, NULL if there is no memory. */
static json_t *default_json(const entry *e, const char *initial)
{
	entry unset = {.row = e->row};
	json_t *value = reset(&unset, initial) == INVAR_OK ? entry_json(&unset) : NULL;

	inv_free(unset.text);
	clear_list(&unset);
	return value;
}

bool inv_option_is_default(const invar_options *o, const char *name)
{
	const entry *e = find_entry(o, name);
	json_t *now = entry_json(e), *initial = default_json(e, e->base);
	bool same = json_equal(now, initial);

	json_decref(now);
	json_decref(initial);
	return same;
}

/* Is it left out of a record if it has its default? Otherwise an older file lacks it. */
static bool has_silent_default(const entry *e)
{
	bool is_own_selector = e->idle.selector && strcmp(e->idle.selector, e->row.name) == 0;

	return is_own_selector || (e->row.type == INVAR_OPTION_TEXT && !e->base);
}

static invar_status compare_default(const invar_options *o, const entry *e,
                                    const char *where)
{
	json_t *value = default_json(e, default_of(o, e));
	invar_status st =
		value ? INVAR_OK : inv_fail(INVAR_E_NOMEM, "not enough memory for options");

	if (st == INVAR_OK && has_silent_default(e) && has_chosen_part(o, e))
		st = compare(e, value, where);
	json_decref(value);
	return st;
}

static invar_status compare_set(const invar_options *o, const json_t *saved,
                                const char *where)
{
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < o->count && st == INVAR_OK; i++) {
		const entry *e = &o->entry[i];
		const json_t *value = json_object_get(saved, e->row.name);

		if (e->set && e->row.flags & INVAR_OPTION_RESULT)
			st = value ? compare(e, value, where) : compare_default(o, e, where);
	}
	return st;
}

invar_status inv_options_resume(invar_options *o, const json_t *saved, const char *where,
                                bool lenient)
{
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < o->count && st == INVAR_OK; i++) {
		entry *e = &o->entry[i];
		const json_t *value = json_object_get(saved, e->row.name);

		if (value && !e->set)
			st = take(e, value, where);
	}
	return st == INVAR_OK && !lenient ? compare_set(o, saved, where) : st;
}

static invar_status refuse_unknown(const invar_options *o, const json_t *document)
{
	const char *name;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)document, name, value)
		if (!find_entry(o, name))
			return refuse_name(o, name);
	return INVAR_OK;
}

invar_status invar_options_set_json(invar_options *o, const char *json)
{
	json_error_t error;
	json_t *document = json_loads(json, JSON_REJECT_DUPLICATES, &error), *value;
	invar_status st;
	const char *name;

	if (!json_is_object(document)) {
		json_decref(document);
		return inv_fail(INVAR_E_FORMAT, "options: expected a JSON object%s%s",
		                document ? "" : ": ", document ? "" : error.text);
	}
	st = refuse_unknown(o, document);
	json_object_foreach (document, name, value) {
		entry *e = find_entry(o, name);

		if (st != INVAR_OK)
			break;
		if ((st = take(e, value, "options")) == INVAR_OK)
			e->set = !json_is_null(value);
	}
	json_decref(document);
	return st == INVAR_OK ? apply_defaults(o) : st;
}

/* ---- Copies ------------------------------------------------------------------------- */

static invar_status copy_entry(const entry *from, entry *to)
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
		if (append_text(to, from->list[i]) != INVAR_OK)
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
	*out = copy;
	return INVAR_OK;
}

/* As if it had been typed, so that it meets the bounds and choices of its new row. */
static invar_status take_value(const entry *from, entry *to)
{
	char text[BOUND];
	invar_status st = INVAR_OK;

	to->set = from->set;
	switch (from->row.type) {
	case INVAR_OPTION_FLAG:
		to->flag = from->flag;
		return INVAR_OK;
	case INVAR_OPTION_COUNT:
		snprintf(text, sizeof text, "%llu", (unsigned long long)from->count);
		return store(to, text);
	case INVAR_OPTION_NUMBER:
		snprintf(text, sizeof text, "%.15g", from->number);
		return store(to, text);
	case INVAR_OPTION_TEXT:
		return from->text ? store(to, from->text) : INVAR_OK;
	case INVAR_OPTION_LIST:
		clear_list(to);
		for (size_t i = 0; i < from->listed && st == INVAR_OK; i++)
			st = append_text(to, from->list[i]);
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
		const entry *from = find_entry(o, mine->entry[i].row.name);

		if (from && from->row.type == mine->entry[i].row.type)
			st = take_value(from, &mine->entry[i]);
	}
	if (st != INVAR_OK) {
		invar_options_free(mine);
		return st;
	}
	*out = mine;
	return INVAR_OK;
}
