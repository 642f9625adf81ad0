/* SPDX-License-Identifier: Apache-2.0 */
/*
 * term.h - what the person at the terminal sees and may press.
 */
#ifndef INV_TERM_H
#define INV_TERM_H

#include <stdbool.h>
#include <stddef.h>

#include "invar.h"

typedef struct inv_term {
	bool live;     /* standard error is a terminal */
	bool progress; /* show it: on a terminal as it goes, in a file once a minute */
	bool drawn;    /* a progress line is on the screen */
	int level;     /* most detailed log level that is shown */
	double began;
	char title[64];
	uint64_t first; /* how much was done when the title was first shown */
	double title_began, shown;
	const invar_context *ctx; /* whose processes count for inv_term_close; or NULL */
} inv_term;

void inv_term_start(inv_term *t, bool quiet, bool verbose);
/* The hooks borrow t. */
invar_hooks inv_term_hooks(inv_term *t);
/* A line on standard error, past the progress line; silent with -q. */
void inv_term_say(inv_term *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void inv_term_clear(inv_term *t);
/* Wall time, CPU time of all processes and the largest peak memory of any. */
void inv_term_close(inv_term *t);

/*
 * Holds SIGINT, SIGTERM and SIGHUP back until inv_signals_catch(): called first, as those
 * that come while the program begins again (restart.h) would end it without
 * a message. Signals that come before main(), while libraries are loaded, still do.
 */
void inv_signals_hold(void);
/*
 * SIGINT and SIGTERM ask the library to stop; a second SIGINT kills at once. After 1.5 s
 * the program is ended with a message and exit code 130; a training that is writing its
 * checkpoint gets 10 s. SIGBUS, a mapped file that was truncated, is a message and exit
 * code 1.
 */
void inv_signals_catch(void);
/*
 * Under a launcher: rank 0 gets 10 s, as it waits for the others to save their work; those
 * leave signals to rank 0, and end after 12 s if it is gone.
 */
void inv_signals_lead(void);
void inv_signals_follow(void);
void inv_signals_done(void); /* the command has ended: it is too late to stop it */
bool inv_interrupted(void);
bool inv_pipe_closed(void); /* the reader of our output has gone */

/* Columns to wrap text at: the terminal's, between 40 and 100; 80 elsewhere. */
size_t inv_term_columns(void);

#endif
