/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command_options.h - the options of a command as one list, and reading argv by it.
 */
#ifndef INV_COMMAND_OPTIONS_H
#define INV_COMMAND_OPTIONS_H

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
 * Parses the words after the command's name into s->options and s->argument. INVAR_E_USE
 * with a message if they are not valid.
 */
invar_status inv_parse(inv_session *s, char **word, size_t words);

/* Values of s->options. */
bool inv_flag(const inv_session *s, const char *name);
double inv_number(const inv_session *s, const char *name);
const char *inv_text(const inv_session *s, const char *name); /* NULL if not given */

/* Those that choose images of --data, without --split, which is the bank's. Gives. */
invar_status inv_data_options(const inv_session *s, invar_options **out);

/* Fails if arguments are missing or superfluous. */
invar_status inv_check_arguments(inv_session *s);

#endif
