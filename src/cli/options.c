/*
 * options.c - reading argv by a command's option tables.
 *
 * Values are checked where they are read, against the bounds and the choices
 * of their field, so that a sentence can name the option as it was typed.
 * Numbers are strict: no spaces, no hexadecimal, no inf, nothing after them.
 *
 * A kind of value is one function and one case in store_value(); a list grows
 * by a value each time its option is given.
 */
#include "cli/options.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SOME = 512 };

#define COMMON "Common"

static const invar_field common_table[] = {
	{"threads", INVAR_FIELD_COUNT, offsetof(inv_common, threads), 0, 1024, 0, NULL, "N",
     COMMON, "threads to compute with; 0 takes all cores"},
	{"seed", INVAR_FIELD_COUNT, offsetof(inv_common, seed), 0, 0x1p53, 0, NULL, "N", COMMON,
     "key of every random draw"},
	{"json", INVAR_FIELD_FLAG, offsetof(inv_common, json), 0, 1, 0, NULL, NULL, COMMON,
     "print one JSON document on standard output and nothing else there"},
	{"quiet", INVAR_FIELD_FLAG, offsetof(inv_common, quiet), 0, 1, 0, NULL, NULL, COMMON,
     "say nothing but warnings and errors"},
	{"verbose", INVAR_FIELD_FLAG, offsetof(inv_common, verbose), 0, 1, 0, NULL, NULL,
     COMMON, "say more about what is being done"},
	{"help", INVAR_FIELD_FLAG, offsetof(inv_common, help), 0, 1, 0, NULL, NULL, COMMON,
     "show this help"},
	{"version", INVAR_FIELD_FLAG, offsetof(inv_common, version), 0, 1, 0, NULL, NULL,
     COMMON, "show the version"},
};
INV_FIELDS_FUNCTION(common_fields, common_table)

/* Short names mean the same in every command, so they stand here once. */
static const struct {
	char letter;
	const char *name;
} letters[] = {{'o', "output"}, {'q', "quiet"}, {'v', "verbose"}, {'h', "help"}};

static char letter_of(const char *name)
{
	for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
		if (strcmp(letters[i].name, name) == 0)
			return letters[i].letter;
	return 0;
}

static const char *group_of(const invar_field *f)
{
	for (size_t i = 0; i < sizeof common_table / sizeof *common_table; i++)
		if (strcmp(common_table[i].name, f->name) == 0)
			return COMMON;
	return f->group;
}

static bool is_listed(const inv_option *option, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(option[i].field->name, name) == 0)
			return true;
	return false;
}

static size_t add_table(const inv_option_table *t, inv_option *out, size_t count)
{
	size_t fields;
	const invar_field *field = t->fields(&fields);

	for (size_t i = 0; i < fields && count < INV_MOST_OPTIONS; i++)
		if (!is_listed(out, count, field[i].name))
			out[count++] = (inv_option){.field = &field[i],
			                            .offset = t->offset + field[i].offset,
			                            .group = group_of(&field[i]),
			                            .letter = letter_of(field[i].name)};
	return count;
}

size_t inv_options(const inv_command *c, inv_option *out)
{
	static const inv_option_table common = {common_fields, 0};
	size_t count = 0;

	for (const inv_option_table *t = c->tables; t && t->fields; t++)
		count = add_table(t, out, count);
	return add_table(&common, out, count);
}

/* ---- Values ---------------------------------------------------------------- */

/* Whole bounds with all their digits, others as short as they were written. */
static void spell_bound(double bound, char *out, size_t room)
{
	snprintf(out, room, bound == floor(bound) && fabs(bound) < 1e17 ? "%.0f" : "%.15g",
	         bound);
}

static invar_status refuse_bounds(inv_session *s, const invar_field *f, const char *text)
{
	const char *above = f->flags & INVAR_FIELD_ABOVE ? "above" : "at least";
	char min[64], max[64];

	spell_bound(f->min, min, sizeof min);
	spell_bound(f->max, max, sizeof max);
	if (f->max == INFINITY)
		return inv_fault(s, INVAR_E_USE, "--%s is %s but must be %s %s", f->name, text,
		                 above, min);
	return inv_fault(s, INVAR_E_USE, "--%s is %s but must be %s %s and at most %s", f->name,
	                 text, above, min, max);
}

static bool within(const invar_field *f, double value)
{
	return value >= f->min && value <= f->max &&
	       !(f->flags & INVAR_FIELD_ABOVE && value == f->min);
}

static bool is_whole(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text);
}

static invar_status store_count(inv_session *s, const invar_field *f, const char *text,
                                uint64_t *out)
{
	bool negative = *text == '-';
	unsigned long long value;

	if (!is_whole(text + negative))
		return inv_fault(s, INVAR_E_USE, "--%s needs a whole number, not '%s'", f->name,
		                 text);
	errno = 0;
	value = strtoull(text + negative, NULL, 10);
	if (errno || (negative && value) || !within(f, (double)value))
		return refuse_bounds(s, f, text);
	*out = value;
	return INVAR_OK;
}

static bool is_decimal(const char *text)
{
	size_t length = strlen(text);

	return length && strspn(text, "0123456789.eE+-") == length;
}

static invar_status store_number(inv_session *s, const invar_field *f, const char *text,
                                 double *out)
{
	char *end;
	double value;

	errno = 0;
	value = strtod(text, &end);
	if (!is_decimal(text) || end == text || *end)
		return inv_fault(s, INVAR_E_USE, "--%s needs a number, not '%s'", f->name, text);
	if (!isfinite(value) || !within(f, value))
		return refuse_bounds(s, f, text);
	*out = value;
	return INVAR_OK;
}

/* The next of "a|b|c" into word; NULL after the last. */
static const char *next_choice(const char *choices, char *word, size_t room)
{
	size_t length = strcspn(choices, "|");

	snprintf(word, room, "%.*s", (int)length, choices);
	return choices[length] ? choices + length + 1 : NULL;
}

/* "a|b|c" as "a, b or c". */
static void spell_choices(const char *choices, char *out, size_t room)
{
	size_t fill = 0;

	for (const char *at = choices; *at && fill + sizeof " or " < room; at++) {
		const char *bar = strchr(at + 1, '|') ? ", " : " or ";

		if (*at == '|')
			fill += (size_t)sprintf(out + fill, "%s", bar);
		else
			out[fill++] = *at;
	}
	out[fill] = '\0';
}

static invar_status refuse_word(inv_session *s, const char *what, const char *choices,
                                const char *text)
{
	char spelled[SOME], word[SOME], best[SOME] = "";
	inv_nearest n;

	inv_nearest_start(&n, text);
	for (const char *at = choices; at;) {
		at = next_choice(at, word, sizeof word);
		n.best = NULL; /* set again only by a word that is nearer than all before */
		inv_nearest_try(&n, word);
		if (n.best)
			snprintf(best, sizeof best, "%s", word);
	}
	spell_choices(choices, spelled, sizeof spelled);
	if (!strchr(choices, '|'))
		*best = '\0'; /* the sentence names the only word already */
	return inv_fault(s, INVAR_E_USE, "%s is '%s' but must be %s%s%s%s", what, text, spelled,
	                 *best ? "; did you mean " : "", best, *best ? "?" : "");
}

invar_status inv_check_word(inv_session *s, const char *what, const char *choices,
                            const char *text)
{
	char word[SOME];

	for (const char *at = choices; at;) {
		at = next_choice(at, word, sizeof word);
		if (strcmp(word, text) == 0)
			return INVAR_OK;
	}
	return refuse_word(s, what, choices, text);
}

static invar_status store_text(inv_session *s, const invar_field *f, const char *text,
                               const char **out)
{
	char what[SOME];
	invar_status st = INVAR_OK;

	snprintf(what, sizeof what, "--%s", f->name);
	if (f->choices)
		st = inv_check_word(s, what, f->choices, text);
	else if (!*text)
		st = inv_fault(s, INVAR_E_USE, "--%s needs a value, but has an empty one", f->name);
	*out = text;
	return st;
}

/* The last place stays NULL: the list is one longer than the texts in it. */
static invar_status append_text(inv_session *s, const invar_field *f, const char *text,
                                const char ***list)
{
	const char **longer;
	size_t count = 0;

	if (!*text)
		return inv_fault(s, INVAR_E_USE, "--%s needs a value, but has an empty one",
		                 f->name);
	while (*list && (*list)[count])
		count++;
	longer = realloc(*list, (count + 2) * sizeof *longer);
	if (!longer)
		return inv_no_memory(s);
	longer[count] = text;
	longer[count + 1] = NULL;
	*list = longer;
	return INVAR_OK;
}

void inv_values_clear(const inv_command *c, void *values)
{
	inv_option option[INV_MOST_OPTIONS];
	size_t options = inv_options(c, option);

	for (size_t i = 0; i < options; i++)
		if (option[i].field->type == INVAR_FIELD_LIST)
			free(*(void **)((char *)values + option[i].offset));
}

static invar_status store_value(inv_session *s, const inv_option *o, const char *text,
                                void *values)
{
	void *at = (char *)values + o->offset;

	switch (o->field->type) {
	case INVAR_FIELD_FLAG:
		*(int *)at = 1;
		return INVAR_OK;
	case INVAR_FIELD_COUNT:
		return store_count(s, o->field, text, at);
	case INVAR_FIELD_NUMBER:
		return store_number(s, o->field, text, at);
	case INVAR_FIELD_TEXT:
		return store_text(s, o->field, text, at);
	case INVAR_FIELD_LIST:
		return append_text(s, o->field, text, at);
	}
	return INVAR_OK;
}

/* ---- Words ----------------------------------------------------------------- */

typedef struct inv_parser {
	inv_session *s;
	inv_option option[INV_MOST_OPTIONS];
	size_t options;
	char **word;
	size_t words, at; /* `at` is the word being read */
	size_t given;
	void *values;
} inv_parser;

static const inv_option *find_name(const inv_parser *p, const char *name, size_t length)
{
	for (size_t i = 0; i < p->options; i++) {
		const char *known = p->option[i].field->name;

		if (strncmp(known, name, length) == 0 && !known[length])
			return &p->option[i];
	}
	return NULL;
}

static const inv_option *find_letter(const inv_parser *p, char letter)
{
	for (size_t i = 0; letter && i < p->options; i++)
		if (p->option[i].letter == letter)
			return &p->option[i];
	return NULL;
}

static invar_status refuse_name(const inv_parser *p, const char *name, size_t length)
{
	char typed[SOME];
	inv_nearest n;

	snprintf(typed, sizeof typed, "%.*s", (int)(length < SOME ? length : SOME - 1), name);
	inv_nearest_start(&n, typed);
	for (size_t i = 0; i < p->options; i++)
		inv_nearest_try(&n, p->option[i].field->name);
	if (n.best)
		return inv_fault(p->s, INVAR_E_USE, "there is no option --%s; did you mean --%s?",
		                 typed, n.best);
	return inv_fault(p->s, INVAR_E_USE,
	                 "there is no option --%s; 'invar %s --help' lists the options", typed,
	                 p->s->command->name);
}

static bool looks_like_option(const char *word)
{
	return word[0] == '-' && word[1] && !isdigit((unsigned char)word[1]) && word[1] != '.';
}

/* The option as people know it: -o where it has a letter, else --name. */
static void spell_name(const inv_option *o, char *out, size_t room)
{
	if (o->letter)
		snprintf(out, room, "-%c", o->letter);
	else
		snprintf(out, room, "--%s", o->field->name);
}

/* The word after the option, unless it is an option itself or there is none. */
static invar_status take_next(inv_parser *p, const inv_option *o, const char **value)
{
	const char *meta = o->field->meta ? o->field->meta : "VALUE";
	char name[SOME];

	spell_name(o, name, sizeof name);
	if (p->at + 1 >= p->words)
		return inv_fault(p->s, INVAR_E_USE, "%s needs a value: %s %s", name, name, meta);
	*value = p->word[p->at + 1];
	if (looks_like_option(*value))
		return inv_fault(p->s, INVAR_E_USE,
		                 "%s needs a value, but '%s' follows; write --%s=%s if that is it",
		                 name, *value, o->field->name, *value);
	p->at++;
	return INVAR_OK;
}

static invar_status set_option(inv_parser *p, const inv_option *o, const char *value)
{
	invar_status st;

	if (o->field->type == INVAR_FIELD_FLAG && value)
		return inv_fault(p->s, INVAR_E_USE, "--%s takes no value, but has '%s'",
		                 o->field->name, value);
	if (o->field->type != INVAR_FIELD_FLAG && !value &&
	    (st = take_next(p, o, &value)) != INVAR_OK)
		return st;
	p->s->given[p->given++] = o->field->name;
	return store_value(p->s, o, value, p->values);
}

static invar_status read_long(inv_parser *p, const char *name)
{
	size_t length = strcspn(name, "=");
	const inv_option *o = find_name(p, name, length);

	if (!o)
		return refuse_name(p, name, length);
	return set_option(p, o, name[length] ? name + length + 1 : NULL);
}

/* -q, -qv, -o FILE, -oFILE */
static invar_status read_short(inv_parser *p, const char *letter)
{
	invar_status st = INVAR_OK;

	for (; *letter && st == INVAR_OK; letter++) {
		const inv_option *o = find_letter(p, *letter);

		if (!o)
			return inv_fault(p->s, INVAR_E_USE,
			                 "there is no option -%c; 'invar %s --help' lists the options",
			                 *letter, p->s->command->name);
		if (o->field->type != INVAR_FIELD_FLAG)
			return set_option(p, o, letter[1] ? letter + 1 : NULL);
		st = set_option(p, o, NULL);
	}
	return st;
}

invar_status inv_parse(inv_session *s, char **word, size_t words, void *values)
{
	inv_parser p = {.s = s, .word = word, .words = words, .values = values};
	invar_status st = INVAR_OK;
	bool ended = false;

	/* A word of short options gives at most as many names as it has letters. */
	size_t most = words + 1;
	for (size_t i = 0; i < words; i++)
		most += strlen(word[i]);
	s->given = calloc(most, sizeof *s->given);
	s->argument = calloc(words + 1, sizeof *s->argument);
	if (!s->given || !s->argument)
		return inv_no_memory(s);
	p.options = inv_options(s->command, p.option);
	for (; p.at < words && st == INVAR_OK; p.at++) {
		char *w = word[p.at];

		if (ended || w[0] != '-' || !w[1])
			s->argument[s->arguments++] = w;
		else if (strcmp(w, "--") == 0)
			ended = true;
		else
			st = w[1] == '-' ? read_long(&p, w + 2) : read_short(&p, w + 1);
	}
	return st;
}

invar_status inv_check_arguments(inv_session *s)
{
	size_t left = s->arguments;

	for (const inv_argument *a = s->command->arguments; a && a->name; a++) {
		if (left < a->least)
			return inv_fault(s, INVAR_E_USE, "%s is missing; the usage is: invar %s %s",
			                 a->name, s->command->name, s->command->usage);
		left -= left < a->most ? left : a->most;
	}
	if (left)
		return inv_fault(
			s, INVAR_E_USE, "'%s' is an argument too many; the usage is: invar %s %s",
			s->argument[s->arguments - left], s->command->name, s->command->usage);
	return INVAR_OK;
}

invar_status inv_need(inv_session *s, const char *value, const char *sentence)
{
	return value ? INVAR_OK : inv_fault(s, INVAR_E_USE, "%s", sentence);
}
