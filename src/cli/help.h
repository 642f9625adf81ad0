/*
 * help.h - the same tables as text for a terminal, Markdown, roff and bash.
 */
#ifndef INV_HELP_H
#define INV_HELP_H

#include <stdio.h>

#include "cli/command.h"
#include "cli/options.h"

/* A command with its options and their defaults, ready to be described. */
typedef struct inv_described {
	const inv_command *command;
	inv_option option[INV_MOST_OPTIONS];
	size_t options;
	const char *group[INV_MOST_OPTIONS]; /* headings in order, the common ones last */
	size_t groups;
	void *values; /* the defaults; NULL if there was no memory */
} inv_described;

void inv_describe(inv_described *d, const inv_command *c);
void inv_described_clear(inv_described *d);
/* "-o, --output FILE" with the given words around names and values. */
void inv_spell_option(const inv_option *o, char *out, size_t room);
/* "default 100", "one of a, b; default a", or "" where there is nothing to add. */
void inv_spell_default(const inv_described *d, const inv_option *o, char *out, size_t room);

void inv_help_overview(FILE *out, size_t columns);
void inv_help_command(const inv_command *c, FILE *out, size_t columns);
invar_status inv_help_unknown(inv_session *s, const char *name);

void inv_docs_markdown(FILE *out);
void inv_docs_man(const inv_command *c, FILE *out); /* NULL: the page of invar itself */
void inv_docs_bash(FILE *out);
void inv_models_markdown(FILE *out); /* the known encoders; models_list.c */

#endif
