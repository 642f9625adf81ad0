/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.h - the options of a command as one list, and reading argv by it.
 */
#ifndef INV_OPTIONS_H
#define INV_OPTIONS_H

#include "cli/command.h"

/* The common options end the help whatever table they come from first. */
#define INV_COMMON_GROUP "Common"

/*
 * All options of a command: those of the library, its own, the common ones. Gives;
 * invar_options_free.
 */
invar_status inv_command_options(const inv_command *c, invar_options **out);

/* The short name of an option, the same in every command; 0 if it has none. */
char inv_letter_of(const char *name);
const char *inv_group_of(const invar_option *row);
/* Is the option set by an argument of the command, so that it is not typed by name? */
bool inv_is_argument(const inv_command *c, const char *name);

/*
 * Reads the words that follow the command's name into s->options and s->argument. A
 * fault is INVAR_E_USE with one sentence.
 */
invar_status inv_parse(inv_session *s, char **word, size_t words);

/* Values of s->options. */
bool inv_flag(const inv_session *s, const char *name);
double inv_number(const inv_session *s, const char *name);
const char *inv_text(const inv_session *s, const char *name); /* NULL where not given */

/* Refuses missing and superfluous arguments. */
invar_status inv_check_arguments(inv_session *s);

/* Refuses a missing option that the command cannot do without. */
invar_status inv_need(inv_session *s, const char *value, const char *sentence);

/* Refuses a word that is not among "a|b|c", naming the nearest one that is. */
invar_status inv_check_word(inv_session *s, const char *what, const char *choices,
                            const char *text);

#endif
