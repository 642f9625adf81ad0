/* SPDX-License-Identifier: Apache-2.0 */
/*
 * help.h - the same tables as text for a terminal, Markdown, roff and shells.
 */
#ifndef INV_HELP_H
#define INV_HELP_H

#include <stdio.h>

#include "cli/command.h"
#include "cli/command_options.h"

/* A command with its options and their defaults, ready to be described. */
enum { INV_MAX_GROUPS = 32 };

typedef struct inv_described {
	const inv_command *command;
	invar_options *list; /* NULL if there was no memory */
	size_t options;
	const char *group[INV_MAX_GROUPS]; /* headings in order, those of experts and all last */
	size_t groups;
} inv_described;

void inv_describe(inv_described *d, const inv_command *c);
void inv_described_clear(inv_described *d);
/* Option i if it belongs to this heading, else NULL. */
const invar_option *inv_described_in(const inv_described *d, size_t i, const char *group);
/* "-o, --output FILE" */
void inv_spell_option(const invar_option *row, char *out, size_t size);
/*
 * "default 100", "one of a, b; default a", "default 20, set by preset", or "" if there is
 * nothing to add to the help. o has the row; NULL: no default depends on others.
 */
void inv_spell_default(const invar_options *o, const invar_option *row, char *out,
                       size_t size);

/* The help of an argument with its items, and the paragraphs about a command. */
enum { INV_TEXT = 8192 };
const char *inv_argument_help(const inv_command *c, const inv_argument *a,
                              char out[INV_TEXT]);
const char *inv_command_about(const inv_command *c, char out[INV_TEXT]);
/* The items of an argument DATASET: the kinds of data sets. */
inv_item inv_dataset_item;

/* `all`: also the commands, and the options, that few users need. */
void inv_help_overview(bool all, FILE *out, size_t columns);
void inv_help_command(const inv_command *c, bool all, FILE *out, size_t columns);
invar_status inv_help_unknown(const char *name);

void inv_docs_markdown(FILE *out);
void inv_docs_man(const inv_command *c, FILE *out); /* NULL: the page of invar itself */
void inv_docs_bash(FILE *out);                      /* completion.c, with the next two */
void inv_docs_zsh(FILE *out);
void inv_docs_fish(FILE *out);
/* The operations of a SPEC, their keys and columns. */
invar_status inv_augmentations_markdown(inv_session *s, FILE *out);
void inv_models_markdown(FILE *out); /* the known encoders; models_list.c */

#endif
