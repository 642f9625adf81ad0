/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h - one call of the program: its words, its options, its terminal.
 */
#ifndef INV_SESSION_H
#define INV_SESSION_H

#include <jansson.h>
#include <stdbool.h>

#include "base/memory.h"
#include "base/processes.h"
#include "base/status.h"
#include "invar.h"

struct inv_command;

typedef struct inv_session {
	const struct inv_command *command;
	char **argument; /* what is left of argv once the options are taken; views */
	size_t arguments;
	invar_options *options; /* with the values that were typed, also those below */
	bool json, quiet, verbose;
	unsigned threads;
	uint64_t seed;
	struct inv_input *inputs; /* what the command reads, see outputs.h */
	size_t input_count;
	invar_context *ctx;       /* leads to the terminal */
	inv_processes *processes; /* NULL: this one alone */
	struct inv_term *term;
	bool is_timed; /* the program ends with a line that says how long it took */
	int result;    /* exit code of a command that has not failed */
} inv_session;

/* The library writes its numbers with 15 digits too, so they come out as they went in. */
enum { INV_JSON_STYLE = JSON_INDENT(2) | JSON_REAL_PRECISION(15) };

/* One document on standard output; takes `document`. */
invar_status inv_print_json(json_t *document);

#endif
