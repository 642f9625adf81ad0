/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_options.c - parses argv with the options of a command.
 *
 * The library checks values when they are set; this file handles dashes, short names and
 * where a value is. Messages of the library are shown with "--" before option names (see
 * main.c).
 */
#include "cli/command_options.h"
#include "base/options.h"
#include "base/words.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SOME = 512, NAMES = 4096 };

static const invar_option common_rows[] = {
	{.name = "threads",
     .type = INVAR_OPTION_COUNT,
     .initial = "0",
     .max = 1024,
     .meta = "N",
     .group = INV_COMMON_GROUP,
     .help = "number of threads; 0: all cores"},
	{.name = "seed",
     .type = INVAR_OPTION_COUNT,
     .initial = "0",
     .meta = "N",
     .group = INV_COMMON_GROUP,
     .help = "seed of all random draws"},
	{.name = "json",
     .type = INVAR_OPTION_FLAG,
     .group = INV_COMMON_GROUP,
     .help = "print the result as one JSON document on standard output"},
	{.name = "quiet",
     .type = INVAR_OPTION_FLAG,
     .group = INV_COMMON_GROUP,
     .help = "print only warnings and errors"},
	{.name = "verbose",
     .type = INVAR_OPTION_FLAG,
     .group = INV_COMMON_GROUP,
     .help = "print more details"},
	{.name = "help",
     .type = INVAR_OPTION_FLAG,
     .group = INV_COMMON_GROUP,
     .help = "show this help"},
	{.name = "version",
     .type = INVAR_OPTION_FLAG,
     .group = INV_COMMON_GROUP,
     .help = "show the version"},
	{0},
};

/* Short names mean the same in every command, so they are listed once. */
static const struct {
	char letter;
	const char *name;
} letters[] = {{'o', "output"}, {'k', "count"},   {'n', "dry-run"},
               {'q', "quiet"},  {'v', "verbose"}, {'h', "help"}};

char inv_letter_of(const char *name)
{
	for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
		if (strcmp(letters[i].name, name) == 0)
			return letters[i].letter;
	return 0;
}

static const char *name_of(char letter)
{
	for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
		if (letters[i].letter == letter)
			return letters[i].name;
	return NULL;
}

const char *inv_group_of(const invar_option *row)
{
	for (const invar_option *common = common_rows; common->name; common++)
		if (strcmp(common->name, row->name) == 0)
			return INV_COMMON_GROUP;
	return row->group;
}

bool inv_is_argument(const inv_command *c, const char *name)
{
	return c->hidden && strcmp(c->hidden, name) == 0;
}

static invar_status add_rows(invar_options *o, const invar_option *rows)
{
	invar_status st = INVAR_OK;

	for (; rows && rows->name && st == INVAR_OK; rows++)
		st = inv_options_add(o, rows, sizeof *rows);
	return st;
}

/* A command offers only those that change what it does. */
static invar_status add_common(const inv_command *c, invar_options *o)
{
	invar_status st = INVAR_OK;

	for (const invar_option *row = common_rows; row->name && st == INVAR_OK; row++)
		if (!inv_has_word(c->without, '|', row->name))
			st = inv_options_add(o, row, sizeof *row);
	return st;
}

/* Rows are copied; what they point to is the library's for good. */
static invar_status add_second(const inv_command *c, invar_options *o)
{
	invar_options *list = NULL;
	const invar_option *row;
	invar_status st = c->second ? invar_options_new(c->second, &list) : INVAR_OK;

	for (size_t i = 0; list && st == INVAR_OK && (row = invar_options_at(list, i)); i++)
		if (!inv_has_word(c->second_without, '|', row->name))
			st = inv_options_add(o, row, sizeof *row);
	invar_options_free(list);
	return st;
}

invar_status inv_second_options(const inv_session *s, invar_options **out)
{
	const inv_command *c = s->command;
	invar_status st = invar_options_new(c->second, out);
	const invar_option *row;

	for (size_t i = 0; st == INVAR_OK && (row = invar_options_at(*out, i)); i++)
		if (!inv_has_word(c->second_without, '|', row->name) &&
		    inv_options_is_set(s->options, row->name))
			st = row->type == INVAR_OPTION_TEXT || row->type == INVAR_OPTION_LIST
			         ? invar_options_set(*out, row->name, inv_text(s, row->name))
			         : invar_options_set_number(*out, row->name, inv_number(s, row->name));
	return st;
}

const char *inv_second_option(const inv_session *s)
{
	const char *set = NULL;
	const invar_option *row;
	invar_options *list = NULL;

	if (invar_options_new(s->command->second, &list) != INVAR_OK)
		return NULL;
	for (size_t i = 0; !set && (row = invar_options_at(list, i)); i++)
		if (!inv_has_word(s->command->second_without, '|', row->name) &&
		    inv_options_is_set(s->options, row->name))
			set = inv_options_find(s->options, row->name)->name;
	invar_options_free(list);
	return set;
}

invar_status inv_command_options(const inv_command *c, invar_options **out)
{
	invar_status st = invar_options_new(c->options, out);

	if (st == INVAR_OK)
		st = add_rows(*out, c->own);
	if (st == INVAR_OK)
		st = add_second(c, *out);
	if (st == INVAR_OK)
		st = add_common(c, *out);
	if (st != INVAR_OK) {
		invar_options_free(*out);
		*out = NULL;
	}
	return st;
}

/* ---- Values ---------------------------------------------------------------- */

bool inv_flag(const inv_session *s, const char *name)
{
	return inv_options_number(s->options, name) > 0;
}

double inv_number(const inv_session *s, const char *name)
{
	return inv_options_number(s->options, name);
}

const char *inv_text(const inv_session *s, const char *name)
{
	return inv_options_text(s->options, name, 0);
}

/* ---- Parsing ---------------------------------------------------------------- */

typedef struct inv_parser {
	inv_session *s;
	char **word;
	size_t words, at; /* `at` is the word being read */
} inv_parser;

static bool looks_like_option(const char *word)
{
	return word[0] == '-' && word[1] && !isdigit((unsigned char)word[1]) && word[1] != '.';
}

/* The option as users type it: -o if it has a letter, else --name. */
static void spell_name(const invar_option *row, char *out, size_t size)
{
	char letter = inv_letter_of(row->name);

	if (letter)
		snprintf(out, size, "-%c", letter);
	else
		snprintf(out, size, "--%s", row->name);
}

/* The word after the option, unless it is an option itself or there is none. */
static invar_status take_next(inv_parser *p, const invar_option *row, const char **value)
{
	const char *meta = row->meta ? row->meta : "VALUE";
	char name[SOME];

	spell_name(row, name, sizeof name);
	if (p->at + 1 >= p->words)
		return inv_fail(INVAR_E_USE, "%s needs a value: %s %s", name, name, meta);
	*value = p->word[p->at + 1];
	if (looks_like_option(*value))
		return inv_fail(
			INVAR_E_USE,
			"%s needs a value, but '%s' follows; if that is the value, write --%s=%s", name,
			*value, row->name, *value);
	p->at++;
	return INVAR_OK;
}

static invar_status set_option(inv_parser *p, const invar_option *row, const char *value)
{
	invar_status st;

	/* --scaled=false, so that what a preset has switched on can be switched off. */
	if (row->type == INVAR_OPTION_FLAG)
		value = value ? value : "true";
	else if (!value && (st = take_next(p, row, &value)) != INVAR_OK)
		return st;
	return invar_options_set(p->s->options, row->name, value);
}

/* With the nearest of those that can be typed. */
static invar_status refuse_option(inv_parser *p, const char *name)
{
	const invar_option *row;
	char names[NAMES] = "", near[64];
	size_t fill = 0;

	for (size_t i = 0; (row = invar_options_at(p->s->options, i)) && fill < NAMES; i++)
		if (!inv_is_argument(p->s->command, row->name))
			fill += (size_t)snprintf(names + fill, NAMES - fill, "%s%s", fill ? "|" : "",
			                         row->name);
	inv_nearest_word(name, names, near);
	if (*near)
		return inv_fail(INVAR_E_USE, "there is no option --%s; did you mean --%s?", name,
		                near);
	return inv_fail(INVAR_E_USE,
	                "there is no option --%s; 'invar %s --help' lists the options", name,
	                p->s->command->name);
}

static invar_status read_long(inv_parser *p, const char *text)
{
	size_t length = strcspn(text, "=");
	char *name = strndup(text, length);
	const invar_option *row = name ? inv_options_find(p->s->options, name) : NULL;
	invar_status st;

	if (!name)
		return inv_no_memory();
	if (row && inv_is_argument(p->s->command, name))
		st = inv_fail(INVAR_E_USE, "%s is an argument, not an option; usage: invar %s %s",
		              name, p->s->command->name, p->s->command->usage);
	else if (row)
		st = set_option(p, row, text[length] ? text + length + 1 : NULL);
	else
		st = refuse_option(p, name);
	free(name);
	return st;
}

/* -q, -qv, -o FILE, -oFILE */
static invar_status read_short(inv_parser *p, const char *letter)
{
	invar_status st = INVAR_OK;

	for (; *letter && st == INVAR_OK; letter++) {
		const char *name = name_of(*letter);
		const invar_option *row = name ? inv_options_find(p->s->options, name) : NULL;

		if (!row)
			return inv_fail(INVAR_E_USE,
			                "there is no option -%c; 'invar %s --help' lists the options",
			                *letter, p->s->command->name);
		if (row->type != INVAR_OPTION_FLAG)
			return set_option(p, row, letter[1] ? letter + 1 : NULL);
		st = set_option(p, row, NULL);
	}
	return st;
}

invar_status inv_parse(inv_session *s, char **word, size_t words)
{
	inv_parser p = {.s = s, .word = word, .words = words};
	invar_status st = INVAR_OK;
	bool ended = false;

	s->argument = calloc(words + 1, sizeof *s->argument);
	if (!s->argument)
		return inv_no_memory();
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
		if (left < a->min)
			return inv_fail(INVAR_E_USE, "%s is missing; usage: invar %s %s", a->name,
			                s->command->name, s->command->usage);
		left -= left < a->max ? left : a->max;
	}
	if (left)
		return inv_fail(INVAR_E_USE, "unexpected argument '%s'; usage: invar %s %s",
		                s->argument[s->arguments - left], s->command->name,
		                s->command->usage);
	return INVAR_OK;
}

invar_status inv_need(const char *value, const char *sentence)
{
	return value ? INVAR_OK : inv_fail(INVAR_E_USE, "%s", sentence);
}
