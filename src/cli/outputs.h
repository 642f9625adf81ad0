/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outputs.h - what a command may write, compared with what it reads.
 *
 * Before any work:
 *   1. What is read is never replaced, by whatever name it is called (links of both kinds,
 *      standard input), not even with --force. Nothing is created in a bank or in folders
 * of images that are read, as it would be found among the data.
 *   2. An existing file is replaced if its name ends like what is written, or if it is
 *      empty; others, and write-protected ones, with --force only.
 *   3. A folder, a pipe or a device is not replaced. "-" is standard output where the
 *      command says so, and not a file name elsewhere.
 */
#ifndef INV_OUTPUTS_H
#define INV_OUTPUTS_H

#include "cli/session.h"

typedef enum inv_reading {
	INV_READS_NOTHING,
	INV_READS_FILE, /* or a run, or a folder of weights: files in it with our names */
	INV_READS_DATA  /* a bank or a data set: everything in it */
} inv_reading;

/*
 * Remembers that the command reads a file or folder. Of a text that is not the name of one,
 * those after its colon and between its commas are meant: "npy:A.npy,B.npy". NULL: nothing.
 */
invar_status inv_reads(inv_session *s, const char *text, inv_reading reading);
void inv_reads_clear(inv_session *s);

typedef struct inv_output {
	const char *option;  /* "-o"; NULL if it is an argument */
	const char *path;    /* NULL: there is no such output */
	const char *endings; /* of names that may be replaced, ".npy|.json"; NULL: none */
	bool force;          /* any existing file may be replaced */
	bool stream;         /* "-" is standard output */
	bool folder;         /* a bank or a run, which others check for what it has */
} inv_output;

invar_status inv_check_output(inv_session *s, const inv_output *o);
/* Whether a file can be created or replaced in its folder. */
invar_status inv_check_writable(const char *path);

/*
 * Remembers what the arguments and options of the command read, and checks -o as the
 * command declares it.
 */
invar_status inv_check_files(inv_session *s);

#endif
