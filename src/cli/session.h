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
struct inv_common;

typedef struct inv_session {
	const struct inv_command *command;
	const struct inv_common *common;
	char **argument; /* what is left of argv once the options are taken; views */
	size_t arguments;
	invar_options *options;   /* with the values that were typed */
	struct inv_input *inputs; /* what the command reads, see outputs.h */
	size_t input_count;
	bool inputs_missing; /* because memory is low */
	invar_context *ctx;
	inv_processes *processes; /* NULL: this one alone */
	struct inv_term *term;
	int result; /* exit code of a command that has not failed */
} inv_session;

/* Makes s->ctx, with the hooks that lead to the terminal. */
invar_status inv_session_start(inv_session *s);

/* The library writes its numbers with 15 digits too, so they come out as they went in. */
enum { INV_JSON_STYLE = JSON_INDENT(2) | JSON_REAL_PRECISION(15) };

/* One document on standard output; takes `document`. */
invar_status inv_print_json(json_t *document);

#endif
