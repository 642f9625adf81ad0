/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outputs.h - what a command may write, held against what it reads.
 *
 * A command names all that it reads, then checks every output, before any work and
 * before anything is written:
 *   1. What is read is never replaced, by whatever name it is called (links of both
 *      kinds, standard input), not even with --force; nor is a file that is read taken
 *      for the leftover part file of an output. Nothing is created in a bank or in folders
 *      of images that are read, as it would be found among the data.
 *   2. A file that exists is replaced if it is empty or begins like the kind that is
 *      written; if it does not, or is write-protected, with --force alone.
 *   3. A folder, a pipe or a device is not replaced. "-" is standard output where the
 *      command says so, and no name of a file elsewhere.
 */
#ifndef INV_OUTPUTS_H
#define INV_OUTPUTS_H

#include <stdbool.h>

#include "cli/session.h"

/*
 * Each may be called with NULL. `what` is for messages: "the adapter". A folder passed to
 * inv_reads is a run or contains weights: only files with our names in it are inputs. In a
 * folder passed to inv_reads_all, every file is.
 */
void inv_reads(inv_session *s, const char *path, const char *what);
void inv_reads_all(inv_session *s, const char *folder, const char *what);
void inv_reads_dataset(inv_session *s, const char *dataset); /* "folder:DIR" */
/* "A.npy,B.npy", or one file with commas in its name. */
void inv_reads_list(inv_session *s, const char *list, const char *what);
void inv_reads_clear(inv_session *s);

typedef struct inv_file_kind {
	const char *name;      /* "a NumPy file" */
	const char *begins[3]; /* in one of these ways, ... */
	size_t after;          /* ... after so many bytes */
} inv_file_kind;

extern const inv_file_kind inv_kind_npy, inv_kind_safetensors, inv_kind_png, inv_kind_svg;
extern const inv_file_kind inv_kind_results; /* JSON of invar eval */
extern const inv_file_kind inv_kind_table;   /* of eval, as Markdown, CSV or LaTeX */
extern const inv_file_kind inv_kind_params;  /* JSON of invar augment */
extern const inv_file_kind inv_kind_page;    /* of invar report */

/* Rows that commands which write a NumPy file share. */
#define INV_DTYPE_ROW                                                 \
	.name = "dtype", .type = INVAR_OPTION_TEXT, .initial = "float32", \
	.choices = "float32|float16", .meta = "WORD", .group = "Result",  \
	.help = "number type of the output"
/* Of commands that write a file: what it is. */
#define INV_OUTPUT_ROW(meta_, help_)                                               \
	.name = "output", .type = INVAR_OPTION_TEXT, .meta = meta_, .group = "Result", \
	.help = help_
#define INV_FORCE_ROW                                              \
	.name = "force", .type = INVAR_OPTION_FLAG, .group = "Result", \
	.help = "replace a file of another kind or a write-protected one; never an input file"

typedef struct inv_output {
	const char *option;        /* "-o"; NULL if it is an argument */
	const char *path;          /* NULL: there is no such output */
	const inv_file_kind *kind; /* NULL: replacing is checked elsewhere */
	bool force;                /* --force was given */
	bool stream;               /* "-" is standard output */
} inv_output;

invar_status inv_check_output(inv_session *s, const inv_output *o);
/* Of the options output and force. */
invar_status inv_check_output_option(inv_session *s, const inv_file_kind *kind);
/* PNG, or SVG where the name says so. */
const inv_file_kind *inv_sheet_kind(const char *path);
/* For a folder that the command fills: a bank, a run. */
invar_status inv_check_output_folder(inv_session *s, const char *option, const char *path);

#endif
