/* SPDX-License-Identifier: Apache-2.0 */
/*
 * completion.c - completion for bash, zsh and fish, from the options of the commands.
 *
 * What may follow an option: its choices, a file, or a number of one's own. What a first
 * argument may be: the words of the command, else a file.
 */
#include <string.h>

#include "cli/help.h"

/* Calls put for every option of a command that is typed by name. */
static void each_option(const inv_command *c, FILE *out,
                        void (*put)(const inv_command *c, const invar_option *row,
                                    FILE *out))
{
	inv_described d;

	inv_describe(&d, c);
	for (size_t i = 0; i < d.options; i++) {
		const invar_option *row = invar_options_at(d.list, i);

		if (!inv_is_argument(c, row->name))
			put(c, row, out);
	}
	inv_described_clear(&d);
}

/* "a|b" as "a b". */
static void put_words(const char *choices, FILE *out)
{
	for (const char *at = choices; *at; at++)
		putc(*at == '|' ? ' ' : *at, out);
}

static bool has_words(const inv_command *c)
{
	return c->words || c->starts;
}

/* Those of the first argument. */
static void put_first(const inv_command *c, FILE *out)
{
	char item[INV_ITEM];

	if (c->words)
		put_words(c->words, out);
	for (size_t i = 0; c->starts && c->starts(i, item); i++)
		fprintf(out, "%s%s", i ? " " : "", item);
}

static bool takes_file(const invar_option *row)
{
	return !row->choices &&
	       (row->type == INVAR_OPTION_TEXT || row->type == INVAR_OPTION_LIST);
}

static void bash_name(const inv_command *c, const invar_option *row, FILE *out)
{
	(void)c;
	fprintf(out, " --%s", row->name);
}

static void bash_value(const inv_command *c, const invar_option *row, FILE *out)
{
	char letter = inv_letter_of(row->name);

	if (row->type == INVAR_OPTION_FLAG)
		return;
	fprintf(out, "\t%s:--%s", c->name, row->name);
	if (letter)
		fprintf(out, "|%s:-%c", c->name, letter);
	fputs(") ", out);
	if (row->choices) {
		fputs("COMPREPLY=($(compgen -W \"", out);
		put_words(row->choices, out);
		fputs("\" -- \"$current\"))", out);
	} else {
		fputs(takes_file(row) ? "mapfile -t COMPREPLY < <(compgen -f -- \"$current\")"
		                      : ":",
		      out);
	}
	fputs("; return ;;\n", out);
}

void inv_docs_bash(FILE *out)
{
	const inv_command *c;

	fputs("# bash completion for invar; made by 'invar docs bash' from the option tables.\n"
	      "_invar()\n{\n"
	      "\tlocal current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}\n"
	      "\tlocal command=${COMP_WORDS[1]} words=\n\n"
	      "\tif ((COMP_CWORD == 1)) || [[ $command == help && $COMP_CWORD -eq 2 ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W \"",
	      out);
	for (size_t k = 0; (c = inv_command_at(k)); k++)
		fprintf(out, "%s ", c->name);
	fputs("--help --version\" -- \"$current\"))\n\t\treturn\n\tfi\n"
	      "\tcase $command:$before in\n",
	      out);
	for (size_t k = 0; (c = inv_command_at(k)); k++) {
		if (has_words(c)) {
			fprintf(out, "\t%s:%s) COMPREPLY=($(compgen -W \"", c->name, c->name);
			put_first(c, out);
			fputs("\" -- \"$current\")); return ;;\n", out);
		}
		each_option(c, out, bash_value);
	}
	fputs("\tesac\n\tcase $command in\n", out);
	for (size_t k = 0; (c = inv_command_at(k)); k++) {
		fprintf(out, "\t%s) words=\"", c->name);
		each_option(c, out, bash_name);
		fputs("\" ;;\n", out);
	}
	fputs("\tesac\n"
	      "\tif [[ $current == -* ]]; then\n"
	      "\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
	      "\telse\n"
	      "\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
	      "\tfi\n}\ncomplete -o filenames -F _invar invar\n",
	      out);
}

/* Inside '…[…]': quotes, brackets and colons mean something to _arguments. */
static void zsh_text(const char *text, FILE *out)
{
	for (; *text; text++) {
		if (*text == '\'') {
			fputs("'\\''", out);
			continue;
		}
		if (strchr("[]:\\", *text))
			putc('\\', out);
		putc(*text, out);
	}
}

static void zsh_option(const inv_command *c, const invar_option *row, FILE *out)
{
	char letter = inv_letter_of(row->name);
	const char *repeated = row->type == INVAR_OPTION_LIST ? "*" : "";

	(void)c;
	if (letter)
		fprintf(out, "\t\t'%s(-%c --%s)'{-%c,--%s}'[", repeated, letter, row->name, letter,
		        row->name);
	else
		fprintf(out, "\t\t'%s--%s[", repeated, row->name);
	zsh_text(row->help, out);
	putc(']', out);
	if (row->type != INVAR_OPTION_FLAG) {
		putc(':', out);
		zsh_text(row->meta ? row->meta : "value", out);
		putc(':', out);
		if (row->choices) {
			putc('(', out);
			put_words(row->choices, out);
			putc(')', out);
		} else if (takes_file(row)) {
			fputs("_files", out);
		}
	}
	fputs("' \\\n", out);
}

void inv_docs_zsh(FILE *out)
{
	const inv_command *c;

	fputs("#compdef invar\n"
	      "# zsh completion for invar; made by 'invar docs zsh' from the option tables.\n"
	      "local -a commands=(\n",
	      out);
	for (size_t k = 0; (c = inv_command_at(k)); k++) {
		fprintf(out, "\t'%s:", c->name);
		zsh_text(c->purpose, out);
		fputs("'\n", out);
	}
	fputs(")\n"
	      "if ((CURRENT == 2)); then\n"
	      "\t_describe command commands\n"
	      "\treturn\n"
	      "fi\n"
	      "local command=$words[2]\n"
	      "shift words\n"
	      "((CURRENT--))\n"
	      "case $command in\n",
	      out);
	for (size_t k = 0; (c = inv_command_at(k)); k++) {
		fprintf(out, "\t%s)\n\t\t_arguments -s \\\n", c->name);
		each_option(c, out, zsh_option);
		if (has_words(c)) {
			fputs("\t\t'1:word:(", out);
			put_first(c, out);
			fputs(")' \\\n", out);
		}
		fputs("\t\t'*:file:_files'\n\t\t;;\n", out);
	}
	fputs("esac\n", out);
}

static void fish_text(const char *text, FILE *out)
{
	putc('\'', out);
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			putc('\\', out);
		putc(*text, out);
	}
	putc('\'', out);
}

static void fish_option(const inv_command *c, const invar_option *row, FILE *out)
{
	char letter = inv_letter_of(row->name);

	fprintf(out, "complete -c invar -n '__fish_seen_subcommand_from %s' -l %s", c->name,
	        row->name);
	if (letter)
		fprintf(out, " -s %c", letter);
	if (row->choices) {
		fputs(" -x -a '", out);
		put_words(row->choices, out);
		putc('\'', out);
	} else if (row->type != INVAR_OPTION_FLAG) {
		fputs(takes_file(row) ? " -r -F" : " -x", out);
	}
	fputs(" -d ", out);
	fish_text(row->help, out);
	putc('\n', out);
}

void inv_docs_fish(FILE *out)
{
	const inv_command *c;

	fputs(
		"# fish completion for invar; made by 'invar docs fish' from the option tables.\n",
		out);
	for (size_t k = 0; (c = inv_command_at(k)); k++) {
		fprintf(out, "complete -c invar -n __fish_use_subcommand -f -a %s -d ", c->name);
		fish_text(c->purpose, out);
		putc('\n', out);
	}
	for (size_t k = 0; (c = inv_command_at(k)); k++) {
		if (has_words(c)) {
			fprintf(out, "complete -c invar -n '__fish_seen_subcommand_from %s' -a '",
			        c->name);
			put_first(c, out);
			fputs("'\n", out);
		}
		each_option(c, out, fish_option);
	}
}
