/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_options.c - the commands that meson.build lists, and argv read with their
 * options.
 *
 * The library checks values when they are set; this file handles dashes, short names and
 * where a value is. Messages of the library are shown with "--" before option names (see
 * main.c).
 */
#include "cli/command_options.h"
#include "base/options.h"
#include "base/words.h"
#include "cli/command_list.h"
#include "images/dataset.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SOME = 512, NAMES = 4096 };

static const invar_option common_rows[] = {
	{INV_ROW(COUNT, "threads", "N", INV_COMMON_GROUP, "number of threads; 0: all cores"),
     .initial = "0", .max = 1024},
	{INV_SEED_ROW},
	{INV_FLAG_ROW("json", INV_COMMON_GROUP,
                  "print the result as one JSON document on standard output")},
	{INV_FLAG_ROW("quiet", INV_COMMON_GROUP, "print only warnings and errors")},
	{INV_FLAG_ROW("verbose", INV_COMMON_GROUP, "print more details")},
	{INV_FLAG_ROW("help", INV_COMMON_GROUP, "show this help")},
	{INV_FLAG_ROW("help-all", INV_COMMON_GROUP,
                  "show all options, also those for experts")},
	{INV_FLAG_ROW("version", INV_COMMON_GROUP, "show the version")},
	{0},
};

/* Short names mean the same in every command, so they are listed once. */
static const struct {
	char letter;
	const char *name;
} letters[] = {{'o', "output"}, {'k', "count"},   {'n', "dry-run"},
               {'q', "quiet"},  {'v', "verbose"}, {'h', "help"}};

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

char inv_letter_of(const char *name)
{
	for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
		if (strcmp(letters[i].name, name) == 0)
			return letters[i].letter;
	return 0;
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
	return inv_has_word(c->hidden, '|', name);
}

/* The first table that has a name takes precedence. */
invar_status inv_command_options(const inv_command *c, invar_options **out)
{
	invar_options *second = NULL;
	const invar_option *row;
	invar_status st;

	INV_TRY(invar_options_new(c->options, out));
	for (row = c->own; row && row->name; row++)
		INV_TRY_OR(fail, inv_options_add(*out, row, sizeof *row));
	if (c->second)
		INV_TRY_OR(fail, invar_options_new(c->second, &second));
	for (size_t i = 0; second && (row = invar_options_at(second, i)); i++)
		if (!inv_is_argument(c, row->name))
			INV_TRY_OR(fail, inv_options_add(*out, row, sizeof *row));
	for (row = common_rows; row->name; row++)
		if (!inv_has_word(c->without, '|', row->name))
			INV_TRY_OR(fail, inv_options_add(*out, row, sizeof *row));
	invar_options_free(second);
	return INVAR_OK;
fail:
	invar_options_free(second);
	invar_options_free(*out);
	*out = NULL;
	return st;
}

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

invar_status inv_data_options(const inv_session *s, invar_options **out)
{
	INV_TRY(inv_options_pick(s->options, inv_dataset_declare, out));
	return inv_options_unset(*out, "split");
}

typedef struct inv_parser {
	inv_session *s;
	char **word;
	size_t words, at; /* `at` is the word being read */
} inv_parser;

/* Without a value in the same word, that of an option is the next one. */
static invar_status set_option(inv_parser *p, const invar_option *row, const char *value)
{
	char name[SOME];

	/* --scaled=false, so that what a preset has switched on can be switched off. */
	if (row->type == INVAR_OPTION_FLAG && !value)
		value = "true";
	if (!value) {
		snprintf(name, sizeof name, "--%s", row->name);
		if (inv_letter_of(row->name))
			snprintf(name, sizeof name, "-%c", inv_letter_of(row->name));
		if (p->at + 1 >= p->words)
			return inv_fail(INVAR_E_USE, "%s needs a value: %s %s", name, name,
			                row->meta ? row->meta : "VALUE");
		value = p->word[p->at + 1];
		if (value[0] == '-' && value[1] && !isdigit((unsigned char)value[1]) &&
		    value[1] != '.')
			return inv_fail(
				INVAR_E_USE,
				"%s needs a value, but '%s' follows; if that is the value, write --%s=%s",
				name, value, row->name, value);
		p->at++;
	}
	return invar_options_set(p->s->options, row->name, value);
}

/* An unknown name: with the nearest of those that can be typed, or the new name of it. */
static invar_status read_long(inv_parser *p, const char *text)
{
	static const char *const renamed[][2] = {{"from", "split"}, {"images", "data"}};
	const inv_command *c = p->s->command;
	const size_t length = strcspn(text, "=");
	const invar_option *row;
	char name[SOME], names[NAMES] = "", near[64];
	size_t fill = 0;

	snprintf(name, sizeof name, "%.*s", (int)(length < SOME ? length : SOME - 1), text);
	row = inv_options_find(p->s->options, name);
	if (row && inv_is_argument(c, name))
		return inv_fail(INVAR_E_USE, "%s is an argument, not an option; usage: invar %s %s",
		                name, c->name, c->usage);
	if (row)
		return set_option(p, row, text[length] ? text + length + 1 : NULL);
	for (size_t i = 0; (row = invar_options_at(p->s->options, i)) && fill < NAMES; i++)
		if (!inv_is_argument(c, row->name))
			fill += (size_t)snprintf(names + fill, NAMES - fill, "%s%s", fill ? "|" : "",
			                         row->name);
	inv_nearest_word(name, names, near);
	for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
		if (strcmp(name, renamed[i][0]) == 0 && inv_has_word(names, '|', renamed[i][1]))
			snprintf(near, sizeof near, "%s", renamed[i][1]);
	if (*near)
		return inv_fail(INVAR_E_USE, "there is no option --%s; did you mean --%s?", name,
		                near);
	return inv_fail(INVAR_E_USE,
	                "there is no option --%s; 'invar %s --help-all' lists the options",
	                name, c->name);
}

/* -q, -qv, -o FILE, -oFILE */
static invar_status read_short(inv_parser *p, const char *letter)
{
	for (; *letter; letter++) {
		const invar_option *row = NULL;

		for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
			if (letters[i].letter == *letter)
				row = inv_options_find(p->s->options, letters[i].name);
		if (!row)
			return inv_fail(INVAR_E_USE,
			                "there is no option -%c; 'invar %s --help' lists the options",
			                *letter, p->s->command->name);
		if (row->type != INVAR_OPTION_FLAG)
			return set_option(p, row, letter[1] ? letter + 1 : NULL);
		INV_TRY(set_option(p, row, NULL));
	}
	return INVAR_OK;
}

invar_status inv_parse(inv_session *s, char **word, size_t words)
{
	inv_parser p = {.s = s, .word = word, .words = words};
	bool ended = false;

	INV_TRY(inv_new_zeros(&s->argument, words + 1));
	for (; p.at < words; p.at++) {
		char *w = word[p.at];

		if (ended || w[0] != '-' || !w[1])
			s->argument[s->arguments++] = w;
		else if (strcmp(w, "--") == 0)
			ended = true;
		else
			INV_TRY(w[1] == '-' ? read_long(&p, w + 2) : read_short(&p, w + 1));
	}
	return INVAR_OK;
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
