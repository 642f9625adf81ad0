/* SPDX-License-Identifier: Apache-2.0 */
/*
 * help.c - help on a terminal: examples first, then arguments, then options by
 * group with the defaults that are in force.
 */
#include "cli/help.h"

#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/text.h"
#include "base/words.h"
#include "images/dataset.h"
#include "report/table.h"

enum { INDENT = 2, MAX_LABEL = 28, SOME = 512 };

static const char experts[] = "Options for experts";

static const char *heading_of(const invar_option *row)
{
	const char *group = inv_group_of(row);

	return row->flags & INVAR_OPTION_EXPERT && strcmp(group, INV_COMMON_GROUP) != 0
	           ? experts
	           : group;
}

void inv_describe(inv_described *d, const inv_command *c)
{
	bool has_experts = false;

	*d = (inv_described){.command = c};
	if (inv_command_options(c, &d->list) != INVAR_OK)
		return;
	d->options = invar_options_count(d->list);
	for (size_t i = 0; i < d->options; i++) {
		const invar_option *row = invar_options_at(d->list, i);
		const char *group = heading_of(row);
		size_t g = 0;

		while (g < d->groups && strcmp(d->group[g], group) != 0)
			g++;
		if (group == experts)
			has_experts = true;
		else if (g == d->groups && g + 2 < INV_MAX_GROUPS &&
		         !inv_is_argument(c, row->name) && strcmp(group, INV_COMMON_GROUP) != 0)
			d->group[d->groups++] = group;
	}
	if (has_experts)
		d->group[d->groups++] = experts;
	d->group[d->groups++] = INV_COMMON_GROUP;
}

void inv_described_clear(inv_described *d)
{
	invar_options_free(d->list);
	*d = (inv_described){0};
}

const invar_option *inv_described_in(const inv_described *d, size_t i, const char *group)
{
	const invar_option *row = invar_options_at(d->list, i);

	if (strcmp(heading_of(row), group) != 0 || inv_is_argument(d->command, row->name))
		return NULL;
	return row;
}

void inv_spell_option(const invar_option *row, char *out, size_t size)
{
	const char *meta = row->meta ? row->meta : "VALUE";
	char letter[8] = "";

	if (inv_letter_of(row->name))
		snprintf(letter, sizeof letter, "-%c, ", inv_letter_of(row->name));
	if (row->type == INVAR_OPTION_FLAG)
		snprintf(out, size, "%s--%s", letter, row->name);
	else
		snprintf(out, size, "%s--%s %s", letter, row->name, meta);
}

void inv_spell_default(const invar_options *o, const invar_option *row, char *out,
                       size_t size)
{
	char selectors[INV_SELECTORS] = "", by[INV_SELECTORS] = "";
	size_t fill = 0;
	bool has_choices = row->choices && strchr(row->choices, '|');

	*out = '\0';
	for (const char *c = has_choices && !row->choice_help ? row->choices : ""; *c; c++)
		if (fill + 16 < size)
			fill +=
				(size_t)snprintf(out + fill, size - fill, "%s%.*s", fill ? "" : "one of ",
			                     *c == '|' ? 2 : 1, *c == '|' ? ", " : c);
	if (row->type == INVAR_OPTION_LIST)
		snprintf(out, size, "may be repeated");
	/* A help that explains the default says it itself. */
	if (row->type == INVAR_OPTION_LIST || !row->initial || !*row->initial ||
	    strstr(row->help, "default"))
		return;
	if (o)
		inv_options_selectors(o, row->name, selectors);
	snprintf(out + fill, size - fill, "%sdefault %s%s%s", fill ? "; " : "", row->initial,
	         *selectors ? ", set by " : "",
	         *selectors ? inv_list_words(selectors, by, sizeof by) : "");
}

/* Puts words one by one, breaking lines at `columns` and indenting by `left`. */
static void wrap(FILE *out, const char *text, size_t left, size_t columns, size_t at)
{
	while (*text) {
		size_t length = strcspn(text, " ");

		if (at > left && at + 1 + length > columns) { /* bytes are at least columns */
			fprintf(out, "\n%*s", (int)left, "");
			at = left;
		} else if (at > left) {
			putc(' ', out);
			at++;
		}
		fprintf(out, "%.*s", (int)length, text);
		at += length;
		text += length + strspn(text + length, " ");
	}
	putc('\n', out);
}

/* "  LABEL   text text", the text in its own column. */
static void put_entry(FILE *out, const char *label, size_t width, const char *text,
                      size_t columns)
{
	size_t left = INDENT + width + 2, length = inv_text_width(label);

	fprintf(out, "%*s%s", INDENT, "", label);
	if (length > width)
		fprintf(out, "\n%*s", (int)left, "");
	else
		fprintf(out, "%*s", (int)(width + 2 - length), "");
	wrap(out, text, left, columns, left);
}

static size_t wider(size_t width, const char *label)
{
	size_t length = inv_text_width(label);

	return length > width && length <= MAX_LABEL ? length : width;
}

const char *inv_argument_help(const inv_command *c, const inv_argument *a,
                              char out[INV_TEXT])
{
	inv_item *items = a == c->arguments ? c->places : NULL;
	char item[INV_ITEM], next[INV_ITEM];
	int used = snprintf(out, INV_TEXT, "%s", a->help);

	for (size_t i = 0; items && items(i, item) && used < INV_TEXT; i++)
		used += snprintf(out + used, (size_t)(INV_TEXT - used), "%s%s",
		                 items(i + 1, next) ? ", " : " or ", item);
	return out;
}

const char *inv_command_about(const inv_command *c, char out[INV_TEXT])
{
	char item[INV_ITEM];
	int used = snprintf(out, INV_TEXT, "%s%s%s", c->about, c->details ? " " : "",
	                    c->details ? c->details : "");

	for (size_t i = 0; c->items && c->items(i, item) && used < INV_TEXT; i++)
		used += snprintf(out + used, (size_t)(INV_TEXT - used), " %s", item);
	return out;
}

const char *inv_dataset_item(size_t i, char out[INV_ITEM])
{
	const char *place, *kind = inv_dataset_kind_about(i, &place, NULL);

	if (!kind)
		return NULL;
	snprintf(out, INV_ITEM, "%s:%s", kind, place);
	return out;
}

/* Of the help without --help-all: neither for experts nor for another loss or source. */
static bool is_shown(const inv_described *d, const invar_option *row)
{
	const char *needed = inv_options_needs(d->list, row->name);

	return !(row->flags & INVAR_OPTION_EXPERT) &&
	       (!needed || inv_is_argument(d->command, needed));
}

static void put_option(const inv_described *d, const invar_option *row, size_t width,
                       FILE *out, size_t columns)
{
	const size_t left = INDENT + 6; /* of choices */
	char label[SOME], note[SOME], text[4 * SOME];
	const char *word;
	size_t widest = 0;

	inv_spell_option(row, label, sizeof label);
	inv_spell_default(d->list, row, note, sizeof note);
	snprintf(text, sizeof text, *note ? "%s (%s)" : "%s%s",
	         inv_options_phrase(d->list, row->name), note);
	put_entry(out, label, width, text, columns);
	if (!row->choice || !row->choice_help)
		return;
	for (size_t i = 0; (word = row->choice(i)); i++)
		widest = wider(widest, word);
	for (size_t i = 0; (word = row->choice(i)); i++) {
		fprintf(out, "%*s%-*s  ", (int)left, "", (int)widest, word);
		wrap(out, row->choice_help(i), left + widest + 2, columns, left + widest + 2);
	}
}

/* "Common: --threads N, --seed N, --json", where they are not explained. */
static void put_common(const inv_described *d, FILE *out, size_t columns)
{
	char text[2 * SOME] = INV_COMMON_GROUP ":", label[SOME];
	size_t fill = strlen(text);
	bool first = true;

	for (size_t i = 0; i < d->options; i++) {
		const invar_option *row = inv_described_in(d, i, INV_COMMON_GROUP);

		if (!row || fill >= sizeof text)
			continue;
		inv_spell_option(row, label, sizeof label);
		fill += (size_t)snprintf(text + fill, sizeof text - fill, "%s %s", first ? "" : ";",
		                         label);
		first = false;
	}
	putc('\n', out);
	wrap(out, text, 0, columns, 0);
}

static void put_options(const inv_described *d, bool all, FILE *out, size_t columns)
{
	char label[SOME];
	size_t width = 0, left_out = 0;

	for (size_t i = 0; i < d->options; i++) {
		const invar_option *row = invar_options_at(d->list, i);

		if (inv_is_argument(d->command, row->name))
			continue;
		left_out += !is_shown(d, row);
		inv_spell_option(row, label, sizeof label);
		if (all || (is_shown(d, row) && strcmp(heading_of(row), INV_COMMON_GROUP) != 0))
			width = wider(width, label);
	}
	for (size_t g = 0; g < d->groups; g++) {
		bool headed = false;

		for (size_t i = 0; i < d->options; i++) {
			const invar_option *row = inv_described_in(d, i, d->group[g]);

			if (!row || (!all && (!is_shown(d, row) || g + 1 == d->groups)))
				continue;
			if (!headed)
				fprintf(out, "\n%s:\n", d->group[g]);
			headed = true;
			put_option(d, row, width, out, columns);
		}
	}
	if (all)
		return;
	put_common(d, out, columns);
	if (left_out)
		fprintf(out, "\n'invar %s --help-all' shows %zu more %s%s.\n", d->command->name,
		        left_out, inv_noun(left_out, "option", "options"),
		        d->command->details ? " and details" : "");
}

void inv_help_command(const inv_command *c, bool all, FILE *out, size_t columns)
{
	char text[INV_TEXT];
	inv_described d;
	size_t width = 0;

	inv_describe(&d, c);
	fprintf(out, "invar %s: %s\n\nUsage: invar %s %s\n\nExamples:\n", c->name, c->purpose,
	        c->name, c->usage);
	for (const inv_example *e = c->examples; e && e->line; e++) {
		if (!all && c->first_examples && e == c->examples + c->first_examples)
			break;
		fprintf(out, "%*s%s\n%*s", INDENT, "", e->line, INDENT + 4, "");
		wrap(out, e->does, INDENT + 4, columns, INDENT + 4);
	}
	if (c->about) {
		putc('\n', out);
		wrap(out, all || !c->details ? inv_command_about(c, text) : c->about, 0, columns,
		     0);
	}
	for (const inv_argument *a = c->arguments; a && a->name; a++) {
		if (a == c->arguments)
			fputs("\nArguments:\n", out);
		width = wider(width, a->name);
	}
	for (const inv_argument *a = c->arguments; a && a->name; a++)
		put_entry(out, a->name, width, inv_argument_help(c, a, text), columns);
	put_options(&d, all, out, columns);
	inv_described_clear(&d);
}

/* Those that everybody needs are in the order of use. */
void inv_help_overview(bool all, FILE *out, size_t columns)
{
	const inv_command *c;
	size_t width = 0;

	fputs("invar makes a frozen vision encoder invariant to augmentations.\n\n"
	      "Usage: invar COMMAND [arguments] [options]\n\nCommands, in the order of use:\n",
	      out);
	for (size_t k = 0; (c = inv_command_at(k)); k++)
		if (all || c->is_basic)
			width = wider(width, c->name);
	for (size_t k = 0; (c = inv_command_at(k)); k++) {
		if (!c->is_basic && !all)
			continue;
		if (!c->is_basic && inv_command_at(k - 1)->is_basic)
			fputs("\nMore commands:\n", out);
		put_entry(out, c->name, width, c->purpose, columns);
	}
	fputs("\n'invar COMMAND --help' explains a command", out);
	fputs(all ? ".\n" : "; 'invar help --all' lists more of them.\n", out);
}

invar_status inv_help_unknown(const char *name)
{
	const bool dash = name[0] == '-';
	const char *kind = dash ? "option" : "command";
	char names[SOME] = "--help|--version", near[64];
	const inv_command *c;
	size_t fill = 0;

	for (size_t k = 0; !dash && (c = inv_command_at(k)) && fill < SOME; k++)
		fill += (size_t)snprintf(names + fill, SOME - fill, "%s%s", k ? "|" : "", c->name);
	inv_nearest_word(name, names, near);
	if (*near)
		return inv_fail(INVAR_E_USE, "there is no %s '%s'; did you mean '%s'?", kind, name,
		                near);
	return inv_fail(INVAR_E_USE, "there is no %s '%s'; 'invar help' lists the commands",
	                kind, name);
}
