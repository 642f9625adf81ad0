/* SPDX-License-Identifier: Apache-2.0 */
/*
 * docs.c - docs/CLI.md and the man pages.
 *
 * They hold no date and no width of a terminal, so that the same tables always
 * give the same bytes and a test can tell when a file in the tree is stale.
 */
#include <string.h>

#include "cli/help.h"

enum { SOME = 512 };

static const char exit_codes[][2][96] = {
	{"0", "done"},
	{"1", "it failed; one sentence on standard error says why"},
	{"2", "wrong use; the sentence names the nearest right name"},
	{"130", "interrupted by SIGINT or SIGTERM; what can be resumed was saved"},
};

enum { EXIT_CODES = sizeof exit_codes / sizeof *exit_codes };

/* ---- Markdown -------------------------------------------------------------- */

static void markdown_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("|<>*_\\", *text))
			putc('\\', out);
		putc(*text, out);
	}
}

static void markdown_options(const inv_described *d, const char *group, FILE *out)
{
	char label[SOME], note[SOME];

	fprintf(out, "\n**%s**\n\n| option | meaning | default |\n|---|---|---|\n", group);
	for (size_t i = 0; i < d->options; i++) {
		const invar_option *row = inv_described_in(d, i, group);

		if (!row)
			continue;
		inv_spell_option(row, label, sizeof label);
		inv_spell_default(row, note, sizeof note);
		fprintf(out, "| `%s` | ", label);
		markdown_text(out, row->help);
		fputs(" | ", out);
		markdown_text(out, strncmp(note, "default ", 8) == 0 ? note + 8 : note);
		fputs(" |\n", out);
	}
}

static void markdown_command(const inv_command *c, FILE *out)
{
	char text[INV_TEXT];
	inv_described d;

	fprintf(out, "\n## invar %s\n\n%s.\n\n```\ninvar %s %s\n```\n\nExamples:\n\n```\n",
	        c->name, c->purpose, c->name, c->usage);
	for (const inv_example *e = c->examples; e && e->line; e++)
		fprintf(out, "# %s\n%s\n", e->does, e->line);
	fputs("```\n", out);
	if (c->about) {
		putc('\n', out);
		markdown_text(out, inv_command_about(c, text));
		putc('\n', out);
	}
	if (c->arguments && c->arguments->name)
		fputs("\n| argument | meaning |\n|---|---|\n", out);
	for (const inv_argument *a = c->arguments; a && a->name; a++) {
		fprintf(out, "| `%s` | ", a->name);
		markdown_text(out, inv_argument_help(c, a, text));
		fputs(" |\n", out);
	}
	inv_describe(&d, c);
	for (size_t g = 0; g < d.groups; g++)
		markdown_options(&d, d.group[g], out);
	inv_described_clear(&d);
}

void inv_docs_markdown(FILE *out)
{
	const inv_command *c;

	fputs("# The command line of invar\n\n"
	      "Made by `invar docs markdown` from the tables that the program itself reads;\n"
	      "edit those and run `man/generate`.\n\n| command | |\n|---|---|\n",
	      out);
	for (size_t k = 0; (c = inv_command_at(k)); k++)
		fprintf(out, "| [`invar %s`](#invar-%s) | %s |\n", c->name, c->name, c->purpose);
	fputs("\nResults go to standard output, messages and progress to standard error.\n"
	      "`--name value` and `--name=value` mean the same, `--name=false` switches an "
	      "option\n"
	      "without a value off again, `--` ends the options.\n\n"
	      "| exit code | |\n|---|---|\n",
	      out);
	for (size_t i = 0; i < EXIT_CODES; i++)
		fprintf(out, "| %s | %s |\n", exit_codes[i][0], exit_codes[i][1]);
	for (size_t k = 0; (c = inv_command_at(k)); k++)
		markdown_command(c, out);
}

/* ---- Man pages -------------------------------------------------------------- */

/*
 * A dash that is typed must stay a dash, a line must not begin like a request,
 * and three dots are safer than the one sign for them.
 */
static void roff_text(FILE *out, const char *text)
{
	static const char dots[] = "…";

	if (*text == '.' || *text == '\'')
		fputs("\\&", out);
	for (; *text; text++)
		if (*text == '-')
			fputs("\\-", out);
		else if (*text == '\\')
			fputs("\\e", out);
		else if (strncmp(text, dots, strlen(dots)) == 0) {
			fputs("...", out);
			text += strlen(dots) - 1;
		} else
			putc(*text, out);
}

static void roff_option(const invar_option *row, FILE *out)
{
	char label[SOME], note[SOME];

	inv_spell_option(row, label, sizeof label);
	inv_spell_default(row, note, sizeof note);
	fputs(".TP\n.B ", out);
	roff_text(out, label);
	putc('\n', out);
	roff_text(out, row->help);
	if (*note) {
		fputs(" (", out);
		roff_text(out, note);
		putc(')', out);
	}
	fputs(".\n", out);
}

static void roff_options(const inv_command *c, FILE *out)
{
	inv_described d;

	inv_describe(&d, c);
	fputs(".SH OPTIONS\n", out);
	for (size_t g = 0; g < d.groups; g++) {
		fprintf(out, ".SS %s\n", d.group[g]);
		for (size_t i = 0; i < d.options; i++) {
			const invar_option *row = inv_described_in(&d, i, d.group[g]);

			if (row)
				roff_option(row, out);
		}
	}
	inv_described_clear(&d);
}

static void roff_exit_status(FILE *out)
{
	fputs(".SH EXIT STATUS\n", out);
	for (size_t i = 0; i < EXIT_CODES; i++)
		fprintf(out, ".TP\n.B %s\n%s.\n", exit_codes[i][0], exit_codes[i][1]);
}

static void roff_command(const inv_command *c, FILE *out)
{
	char text[INV_TEXT];

	fputs(".SH SYNOPSIS\n.B invar ", out);
	roff_text(out, c->name);
	putc('\n', out);
	roff_text(out, c->usage);
	fputs("\n.SH EXAMPLES\n", out);
	for (const inv_example *e = c->examples; e && e->line; e++) {
		fputs(".TP\n.B ", out);
		roff_text(out, e->line);
		putc('\n', out);
		roff_text(out, e->does);
		fputs(".\n", out);
	}
	fputs(".SH DESCRIPTION\n", out);
	roff_text(out, c->about ? inv_command_about(c, text) : c->purpose);
	fputs(c->about ? "\n" : ".\n", out);
	for (const inv_argument *a = c->arguments; a && a->name; a++) {
		fprintf(out, ".TP\n.I %s\n", a->name);
		roff_text(out, inv_argument_help(c, a, text));
		fputs(".\n", out);
	}
	roff_options(c, out);
}

static void roff_overview(FILE *out)
{
	const inv_command *c;

	fputs(".SH SYNOPSIS\n.B invar\n.I COMMAND\n[arguments] [options]\n"
	      ".SH DESCRIPTION\n"
	      "invar adds invariance to a vision encoder that is already trained, without\n"
	      "touching its weights: it trains a small adapter on features of clean and of\n"
	      "augmented images and measures what the adapter keeps.\n"
	      ".SH COMMANDS\n",
	      out);
	for (size_t k = 0; (c = inv_command_at(k)); k++) {
		fprintf(out, ".TP\n.BR invar\\-%s (1)\n", c->name);
		roff_text(out, c->purpose);
		fputs(".\n", out);
	}
	fputs(".SH ENVIRONMENT\n.TP\n.B INVAR_CPU\n"
	      "Caps the instruction set that is used: ref or avx2.\n"
	      ".TP\n.B TMPDIR\nWhere the demo keeps its temporary folder, and eval codes that "
	      "are too many\nfor memory.\n",
	      out);
}

void inv_docs_man(const inv_command *c, FILE *out)
{
	const inv_command *other;

	fprintf(out,
	        ".\\\" Made by 'invar docs man'; edit the option tables instead.\n"
	        ".TH INVAR%s%s 1 \"\" \"invar %s\" \"invar\"\n.SH NAME\ninvar%s%s \\- ",
	        c ? "\\-" : "", c ? c->name : "", INVAR_VERSION, c ? "\\-" : "",
	        c ? c->name : "");
	roff_text(out,
	          c ? c->purpose : "makes a frozen vision encoder invariant to augmentations");
	putc('\n', out);
	if (c)
		roff_command(c, out);
	else
		roff_overview(out);
	roff_exit_status(out);
	fputs(".SH SEE ALSO\n.BR invar (1)", out);
	for (size_t k = 0; (other = inv_command_at(k)); k++)
		if (other != c)
			fprintf(out, ",\n.BR invar\\-%s (1)", other->name);
	putc('\n', out);
}

/* ---- Augmentations ------------------------------------------------------------------ */

static void print_key(FILE *out, const char *operation, size_t k, const char *key)
{
	const char *words = invar_augment_key_words(operation, k);

	fprintf(out, "%s`%s`", k ? ", " : "", key);
	if (words && strcmp(words, "0|1") != 0 && strcmp(words, "false|true") != 0) {
		fputs(" (of ", out);
		for (; *words; words++)
			*words == '|' ? fputs(", ", out) : fputc(*words, out);
		fputc(')', out);
	}
}

static invar_status print_operation(inv_session *s, FILE *out, const char *operation)
{
	invar_augment *a;
	invar_status st = invar_augment_parse(s->ctx, operation, &a);
	char key[128];

	if (st != INVAR_OK)
		return st;
	fprintf(out, "| `%s` | %s | ", operation, invar_augment_help(operation));
	for (size_t k = 0; invar_augment_key(operation, k, key); k++)
		print_key(out, operation, k, key);
	fputs(" | ", out);
	for (size_t i = 0; i < invar_augment_columns(a); i++)
		fprintf(out, "%s`%s`", i ? ", " : "", invar_augment_column(a, i));
	fputs(" |\n", out);
	invar_augment_close(a);
	return INVAR_OK;
}

invar_status inv_augmentations_markdown(inv_session *s, FILE *out)
{
	invar_status st = inv_session_start(s);
	const char *names = invar_augment_names();

	fputs("| operation | what it does | keys and their defaults | columns |\n"
	      "|---|---|---|---|\n",
	      out);
	while (*names && st == INVAR_OK) {
		size_t length = strcspn(names, "|");
		char name[64];

		snprintf(name, sizeof name, "%.*s", (int)length, names);
		st = print_operation(s, out, name);
		names += length + (names[length] == '|');
	}
	return st;
}
