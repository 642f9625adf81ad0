/*
 * help.c - help on a terminal: examples first, then arguments, then options by
 * group with the defaults that are in force.
 */
#include "cli/help.h"

#include <stdlib.h>
#include <string.h>

#include "report/table.h"

enum { INDENT = 2, MOST_LABEL = 28, SOME = 512 };

void inv_describe(inv_described *d, const inv_command *c)
{
	*d = (inv_described){.command = c};
	d->options = inv_options(c, d->option);
	d->values = calloc(1, c->values);
	if (d->values && c->defaults)
		c->defaults(d->values);
	for (size_t i = 0; i < d->options; i++) {
		size_t g = 0;

		while (g < d->groups && strcmp(d->group[g], d->option[i].group) != 0)
			g++;
		if (g == d->groups)
			d->group[d->groups++] = d->option[i].group;
	}
	/* The seed is an early member of many structs, yet the common group ends the list. */
	for (size_t g = 0; g + 1 < d->groups; g++)
		if (strcmp(d->group[g], "Common") == 0) {
			const char *common = d->group[g];

			memmove(&d->group[g], &d->group[g + 1], (d->groups - g - 1) * sizeof *d->group);
			d->group[d->groups - 1] = common;
			break;
		}
}

void inv_described_clear(inv_described *d)
{
	free(d->values);
	d->values = NULL;
}

void inv_spell_option(const inv_option *o, char *out, size_t room)
{
	const char *meta = o->field->meta ? o->field->meta : "VALUE";
	char letter[8] = "";

	if (o->letter)
		snprintf(letter, sizeof letter, "-%c, ", o->letter);
	if (o->field->type == INVAR_FIELD_FLAG)
		snprintf(out, room, "%s--%s", letter, o->field->name);
	else
		snprintf(out, room, "%s--%s %s", letter, o->field->name, meta);
}

static void spell_value(const inv_described *d, const inv_option *o, char *out, size_t room)
{
	const char *at = (const char *)d->values + o->offset;
	const char *text;

	*out = '\0';
	switch (o->field->type) {
	case INVAR_FIELD_FLAG:
		return;
	case INVAR_FIELD_COUNT:
		snprintf(out, room, "%llu",
		         (unsigned long long)*(const uint64_t *)(const void *)at);
		return;
	case INVAR_FIELD_NUMBER:
		snprintf(out, room, "%g", *(const double *)(const void *)at);
		return;
	case INVAR_FIELD_TEXT:
		text = *(const char *const *)(const void *)at;
		snprintf(out, room, "%s", text ? text : "");
		return;
	case INVAR_FIELD_LIST: /* lists begin empty */
		return;
	}
}

void inv_spell_default(const inv_described *d, const inv_option *o, char *out, size_t room)
{
	char value[SOME] = "", words[SOME] = "";
	size_t fill = 0;

	if (d->values)
		spell_value(d, o, value, sizeof value);
	for (const char *c = o->field->choices; c && *c && fill + 3 < sizeof words; c++) {
		if (*c == '|')
			words[fill++] = ',';
		words[fill++] = *c == '|' ? ' ' : *c;
	}
	if (o->field->choices && strchr(o->field->choices, '|'))
		snprintf(out, room, "one of %s%s%s", words, *value ? "; default " : "", value);
	else if (o->field->type == INVAR_FIELD_LIST)
		snprintf(out, room, "may be repeated");
	else
		snprintf(out, room, "%s%s", *value ? "default " : "", value);
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

/* "  LABEL   text text", the text in a column of its own. */
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

	return length > width && length <= MOST_LABEL ? length : width;
}

static void put_examples(const inv_command *c, FILE *out, size_t columns)
{
	fputs("\nExamples:\n", out);
	for (const inv_example *e = c->examples; e && e->line; e++) {
		fprintf(out, "%*s%s\n%*s", INDENT, "", e->line, INDENT + 4, "");
		wrap(out, e->does, INDENT + 4, columns, INDENT + 4);
	}
}

static void put_arguments(const inv_command *c, FILE *out, size_t columns)
{
	size_t width = 0;

	if (!c->arguments || !c->arguments->name)
		return;
	fputs("\nArguments:\n", out);
	for (const inv_argument *a = c->arguments; a->name; a++)
		width = wider(width, a->name);
	for (const inv_argument *a = c->arguments; a->name; a++)
		put_entry(out, a->name, width, a->help, columns);
}

static void put_option(const inv_described *d, const inv_option *o, size_t width, FILE *out,
                       size_t columns)
{
	char label[SOME], note[SOME], text[2 * SOME];

	inv_spell_option(o, label, sizeof label);
	inv_spell_default(d, o, note, sizeof note);
	snprintf(text, sizeof text, *note ? "%s (%s)" : "%s%s", o->field->help, note);
	put_entry(out, label, width, text, columns);
}

static void put_options(const inv_described *d, FILE *out, size_t columns)
{
	char label[SOME];
	size_t width = 0;

	for (size_t i = 0; i < d->options; i++) {
		inv_spell_option(&d->option[i], label, sizeof label);
		width = wider(width, label);
	}
	for (size_t g = 0; g < d->groups; g++) {
		fprintf(out, "\n%s:\n", d->group[g]);
		for (size_t i = 0; i < d->options; i++)
			if (strcmp(d->option[i].group, d->group[g]) == 0)
				put_option(d, &d->option[i], width, out, columns);
	}
}

void inv_help_command(const inv_command *c, FILE *out, size_t columns)
{
	inv_described d;

	inv_describe(&d, c);
	fprintf(out, "invar %s: %s\n\nUsage: invar %s %s\n", c->name, c->purpose, c->name,
	        c->usage);
	put_examples(c, out, columns);
	if (c->about) {
		putc('\n', out);
		wrap(out, c->about, 0, columns, 0);
	}
	put_arguments(c, out, columns);
	put_options(&d, out, columns);
	inv_described_clear(&d);
}

void inv_help_overview(FILE *out, size_t columns)
{
	size_t width = 0;

	fputs("invar makes a frozen vision encoder invariant to augmentations.\n\n"
	      "Usage: invar COMMAND [arguments] [options]\n\nCommands:\n",
	      out);
	for (const inv_command *const *c = inv_commands(); *c; c++)
		width = wider(width, (*c)->name);
	for (const inv_command *const *c = inv_commands(); *c; c++)
		put_entry(out, (*c)->name, width, (*c)->purpose, columns);
	fputs("\n'invar demo' shows the method; 'invar COMMAND --help' explains a command.\n",
	      out);
}

invar_status inv_help_unknown(inv_session *s, const char *name)
{
	const char *kind = name[0] == '-' ? "option" : "command";
	inv_nearest n;

	inv_nearest_start(&n, name);
	for (const inv_command *const *c = inv_commands(); *c; c++)
		inv_nearest_try(&n, (*c)->name);
	if (name[0] == '-') {
		inv_nearest_try(&n, "--help");
		inv_nearest_try(&n, "--version");
	}
	if (n.best)
		return inv_fault(s, INVAR_E_USE, "there is no %s '%s'; did you mean '%s'?", kind,
		                 name, n.best);
	return inv_fault(s, INVAR_E_USE, "there is no %s '%s'; 'invar help' lists the commands",
	                 kind, name);
}
