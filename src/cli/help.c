/* SPDX-License-Identifier: Apache-2.0 */
/*
 * help.c - help on a terminal: examples first, then arguments, then options by
 * group with the defaults that are in force.
 */
#include "cli/help.h"

#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "images/dataset.h"
#include "report/table.h"

enum { INDENT = 2, MAX_LABEL = 28, SOME = 512 };

/* The common group is always last, wherever its first option is. */
static void add_group(inv_described *d, const char *group)
{
	size_t g = 0;

	while (g < d->groups && strcmp(d->group[g], group) != 0)
		g++;
	if (g == d->groups && g + 1 < INV_MAX_GROUPS && strcmp(group, INV_COMMON_GROUP) != 0)
		d->group[d->groups++] = group;
}

void inv_describe(inv_described *d, const inv_command *c)
{
	*d = (inv_described){.command = c};
	if (inv_command_options(c, &d->list) != INVAR_OK)
		return;
	d->options = invar_options_count(d->list);
	for (size_t i = 0; i < d->options; i++)
		if (!inv_is_argument(c, invar_options_at(d->list, i)->name))
			add_group(d, inv_group_of(invar_options_at(d->list, i)));
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

	if (strcmp(inv_group_of(row), group) != 0 || inv_is_argument(d->command, row->name))
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

void inv_spell_default(const invar_option *row, char *out, size_t size)
{
	const char *value = row->initial ? row->initial : "";
	char words[SOME] = "";
	size_t fill = 0;

	for (const char *c = row->choices; c && *c && fill + 3 < sizeof words; c++) {
		if (*c == '|')
			words[fill++] = ',';
		words[fill++] = *c == '|' ? ' ' : *c;
	}
	if (row->choices && strchr(row->choices, '|'))
		snprintf(out, size, "one of %s%s%s", words, *value ? "; default " : "", value);
	else if (row->type == INVAR_OPTION_LIST)
		snprintf(out, size, "may be repeated");
	else
		snprintf(out, size, "%s%s", *value ? "default " : "", value);
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

static void put_examples(const inv_command *c, FILE *out, size_t columns)
{
	fputs("\nExamples:\n", out);
	for (const inv_example *e = c->examples; e && e->line; e++) {
		fprintf(out, "%*s%s\n%*s", INDENT, "", e->line, INDENT + 4, "");
		wrap(out, e->does, INDENT + 4, columns, INDENT + 4);
	}
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
	int used = snprintf(out, INV_TEXT, "%s", c->about);

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

static void put_arguments(const inv_command *c, FILE *out, size_t columns)
{
	char help[INV_TEXT];
	size_t width = 0;

	if (!c->arguments || !c->arguments->name)
		return;
	fputs("\nArguments:\n", out);
	for (const inv_argument *a = c->arguments; a->name; a++)
		width = wider(width, a->name);
	for (const inv_argument *a = c->arguments; a->name; a++)
		put_entry(out, a->name, width, inv_argument_help(c, a, help), columns);
}

static void put_option(const invar_option *row, size_t width, FILE *out, size_t columns)
{
	char label[SOME], note[SOME], text[2 * SOME];

	inv_spell_option(row, label, sizeof label);
	inv_spell_default(row, note, sizeof note);
	snprintf(text, sizeof text, *note ? "%s (%s)" : "%s%s", row->help, note);
	put_entry(out, label, width, text, columns);
}

static void put_options(const inv_described *d, FILE *out, size_t columns)
{
	char label[SOME];
	size_t width = 0;

	for (size_t i = 0; i < d->options; i++) {
		inv_spell_option(invar_options_at(d->list, i), label, sizeof label);
		width = wider(width, label);
	}
	for (size_t g = 0; g < d->groups; g++) {
		fprintf(out, "\n%s:\n", d->group[g]);
		for (size_t i = 0; i < d->options; i++) {
			const invar_option *row = inv_described_in(d, i, d->group[g]);

			if (row)
				put_option(row, width, out, columns);
		}
	}
}

void inv_help_command(const inv_command *c, FILE *out, size_t columns)
{
	char about[INV_TEXT];
	inv_described d;

	inv_describe(&d, c);
	fprintf(out, "invar %s: %s\n\nUsage: invar %s %s\n", c->name, c->purpose, c->name,
	        c->usage);
	put_examples(c, out, columns);
	if (c->about) {
		putc('\n', out);
		wrap(out, inv_command_about(c, about), 0, columns, 0);
	}
	put_arguments(c, out, columns);
	put_options(&d, out, columns);
	inv_described_clear(&d);
}

void inv_help_overview(FILE *out, size_t columns)
{
	const inv_command *c;
	size_t width = 0;

	fputs("invar makes a frozen vision encoder invariant to augmentations.\n\n"
	      "Usage: invar COMMAND [arguments] [options]\n\nCommands:\n",
	      out);
	for (size_t k = 0; (c = inv_command_at(k)); k++)
		width = wider(width, c->name);
	for (size_t k = 0; (c = inv_command_at(k)); k++)
		put_entry(out, c->name, width, c->purpose, columns);
	fputs("\n'invar demo' shows the method; 'invar COMMAND --help' explains a command.\n",
	      out);
}

/* "demo|data|…"; options of invar itself where a dash was typed. */
static void list_names(bool dashes, char *out, size_t size)
{
	const inv_command *c;
	size_t fill = 0;

	if (dashes) {
		snprintf(out, size, "--help|--version");
		return;
	}
	for (size_t k = 0; (c = inv_command_at(k)) && fill < size; k++)
		fill += (size_t)snprintf(out + fill, size - fill, "%s%s", fill ? "|" : "", c->name);
}

invar_status inv_help_unknown(const char *name)
{
	const char *kind = name[0] == '-' ? "option" : "command";
	char names[SOME], near[64];

	list_names(name[0] == '-', names, sizeof names);
	inv_nearest_word(name, names, near);
	if (*near)
		return inv_fail(INVAR_E_USE, "there is no %s '%s'; did you mean '%s'?", kind, name,
		                near);
	return inv_fail(INVAR_E_USE, "there is no %s '%s'; 'invar help' lists the commands",
	                kind, name);
}
