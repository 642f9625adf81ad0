/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.h - what a command is: words for people, option tables, one function.
 *
 * Parsing, --help, docs/reference/CLI.md, the man pages and the bash completion are all
 * made from the structs below; nothing about a command is written down twice.
 * A new command is one file cmd_NAME.c and its name in the list of meson.build.
 */
#ifndef INV_COMMAND_H
#define INV_COMMAND_H

#include <stdio.h>

#include "cli/outputs.h"
#include "cli/session.h"
#include "invar.h"

enum { INV_MANY = 1 << 20 }; /* arguments without a limit of our own */

/* Item i of a list from a table of the library, "stl10:DIR"; NULL past the last. */
enum { INV_ITEM = 1024 };
typedef const char *inv_item(size_t i, char out[INV_ITEM]);

typedef struct inv_argument {
	const char *name; /* BANK */
	const char *help; /* a phrase without a full stop */
	size_t min, max;
	inv_reading reads; /* what it names, see outputs.h */
} inv_argument;

typedef struct inv_example {
	const char *line; /* as typed */
	const char *does; /* a phrase without a full stop */
} inv_example;

/* An option of a command; in its braces, other fields may follow. */
#define INV_ROW(type_, name_, meta_, group_, help_)                              \
	.name = name_, .type = INVAR_OPTION_##type_, .meta = meta_, .group = group_, \
	.help = help_
#define INV_FLAG_ROW(name_, group_, help_) INV_ROW(FLAG, name_, NULL, group_, help_)
/* Of commands that write a file or a folder: what it is, and of NumPy files. */
#define INV_OUTPUT_ROW(meta_, help_) INV_ROW(TEXT, "output", meta_, "Result", help_)
#define INV_FORCE_ROW \
	INV_FLAG_ROW("force", "Result", "replace any existing file; never one that is read")
#define INV_DTYPE_ROW                                                      \
	INV_ROW(TEXT, "dtype", "WORD", "Result", "number type of the output"), \
		.initial = "float32", .choices = "float32|float16"

/* What -o names; see inv_check_files. */
typedef enum inv_output_form {
	INV_OUTPUT_NONE, /* nothing, or the command checks it */
	INV_OUTPUT_FILE,
	INV_OUTPUT_STREAM, /* a file, or "-" for standard output */
	INV_OUTPUT_FOLDER
} inv_output_form;

typedef struct inv_command {
	const char *name;
	const char *purpose;           /* one line for the list of commands */
	const char *usage;             /* what follows "invar NAME" */
	const char *about;             /* a paragraph for --help and the man page */
	const char *details;           /* continues it except in --help; or NULL */
	inv_item *items;               /* sentences that end the paragraph; or NULL */
	const inv_example *examples;   /* ended by a NULL line */
	size_t first_examples;         /* how many of them --help shows; 0: all */
	const inv_argument *arguments; /* ended by a NULL name */
	inv_item *places;              /* end the help of the first, "…, a or b"; or NULL */
	const char *words;             /* of the first argument, "a|b"; NULL: it is any text */
	inv_item *starts;              /* words that such a text may start with; or NULL */
	const char *options;           /* of the library: invar_options_new; NULL: none */
	const char *second;            /* another list of the library, or NULL */
	const char *hidden;            /* the option that an argument replaces, or NULL */
	const invar_option *own;       /* of the command itself, ended by a NULL name */
	const char *without;           /* common options it does not use, "a|b" */
	const char *reads;             /* options that name what it reads, "a|b" */
	inv_output_form output;        /* of -o, */
	const char *endings;           /* of existing files that it may replace, ".npy|.json" */
	bool needs_output;             /* without -o it is wrong use */
	bool is_basic;                 /* shown by 'invar help'; others by 'invar help --all' */
	bool is_timed;                 /* see inv_session, which the command may change */
	bool by_all_ranks;             /* else rank 0 runs it alone; base/processes.h */
	invar_status (*run)(inv_session *s);
} inv_command;

/* In the order of the list a user sees; NULL past the last. */
const inv_command *inv_command_at(size_t i);
const inv_command *inv_command_find(const char *name); /* NULL if there is none */

#endif
