/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outputs.h - what a command may write, held against what it reads.
 *
 * A command names all that it reads, then checks every output, before any work and
 * before anything is written:
 *   1. What is read is never replaced, by whatever name it is called (links of both
 *      kinds, standard input), not even with --force; nor is a file that is read taken
 *      for the leftover part file of an output.
 *   2. In a bank or in folders of images that are read, a new file is made with --force
 *      alone, as it would be found among the data; a bank or a run is never made there.
 *   3. A file that exists is replaced if it is empty or of the kind that is written; if
 *      it is of another kind, or write-protected, with --force alone.
 *   4. A folder, a pipe or a device is not replaced. "-" is standard output where the
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
/* "A.npy,B.npy", or one file with a comma in its name. */
void inv_reads_arrays(inv_session *s, const char *pair);
void inv_reads_clear(inv_session *s);

typedef enum inv_output_kind {
	INV_OUTPUT_NPY,
	INV_OUTPUT_SAFETENSORS,
	INV_OUTPUT_ONNX,
	INV_OUTPUT_CARD, /* a model card of invar export */
	INV_OUTPUT_PNG,
	INV_OUTPUT_SVG,
	INV_OUTPUT_RESULTS, /* JSON of invar eval */
	INV_OUTPUT_TABLE,   /* of invar eval, as Markdown, CSV or LaTeX */
	INV_OUTPUT_PARAMS,  /* JSON of invar augment */
	INV_OUTPUT_HTML,    /* page of invar report */
	INV_OUTPUT_NEW      /* replaces nothing, and that is checked elsewhere */
} inv_output_kind;

/* Rows that commands which write a NumPy file share. */
#define INV_DTYPE_ROW                                                 \
	.name = "dtype", .type = INVAR_OPTION_TEXT, .initial = "float32", \
	.choices = "float32|float16", .meta = "WORD", .group = "Result",  \
	.help = "number type of the output"
/* Of commands that write a file: what it is. */
#define INV_OUTPUT_ROW(meta_, help_)                                               \
	.name = "output", .type = INVAR_OPTION_TEXT, .meta = meta_, .group = "Result", \
	.help = help_
/* Of commands that measure a bank. */
#define INV_FORCE_IN_BANK_ROW                                                           \
	.name = "force", .type = INVAR_OPTION_FLAG, .group = "Result",                      \
	.help = "let the output replace a file of another kind or be created in the bank; " \
			"never an input file"
#define INV_FORCE_ROW                                              \
	.name = "force", .type = INVAR_OPTION_FLAG, .group = "Result", \
	.help = "replace a file of another kind or a write-protected one; never an input file"

typedef struct inv_output {
	const char *option; /* "-o"; NULL if it is an argument */
	const char *path;   /* NULL: there is no such output */
	inv_output_kind kind;
	bool force;  /* --force was given */
	bool stream; /* "-" is standard output */
} inv_output;

invar_status inv_check_output(inv_session *s, const inv_output *o);
/* Of the options output and force. */
invar_status inv_check_output_option(inv_session *s, inv_output_kind kind);
/* PNG, or SVG where the name says so. */
inv_output_kind inv_sheet_kind(const char *path);
/* For a folder that the command fills: a bank, a run. */
invar_status inv_check_output_folder(inv_session *s, const char *option, const char *path);

#endif
