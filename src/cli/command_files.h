/* SPDX-License-Identifier: Apache-2.0 */
/* command_files.h - names and folders, as the commands need them. */
#ifndef INV_COMMAND_FILES_H
#define INV_COMMAND_FILES_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/session.h"

/* "folder/name"; gives, free() it. NULL if there is no memory. */
char *inv_path(const char *folder, const char *name);
bool inv_path_is_folder(const char *path);
invar_status inv_folder_make(const char *path); /* not an error if it exists */

/* Finds out before the work, not after it, that a result could not be written. */
invar_status inv_check_writable(const char *path);

/* Results as a JSON document, in a file and on standard output. */
invar_status inv_save_results(inv_session *s, const char *path, const invar_results *r);
invar_status inv_print_results(const invar_results *r);

/* File names may contain any bytes, JSON only UTF-8: others become '?'. Gives. */
json_t *inv_name_json(const char *text);

/* The last line of a file of JSON lines; NULL if it has none. Gives. */
json_t *inv_last_json_line(const char *path);

#endif
