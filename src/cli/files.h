/* SPDX-License-Identifier: Apache-2.0 */
/* files.h - names and folders, as the commands need them. */
#ifndef INV_FILES_H
#define INV_FILES_H

#include <jansson.h>
#include <stdbool.h>

#include "cli/session.h"

/* "folder/name"; gives, free() it. NULL if there is no memory. */
char *inv_path(const char *folder, const char *name);
bool inv_path_is_folder(const char *path);
invar_status inv_folder_make(inv_session *s, const char *path); /* fine if it is there */

/* Finds out before the work, not after it, that a result could not be written. */
invar_status inv_check_writable(inv_session *s, const char *path);

/* NULL in *out where the file does not exist; gives, json_decref() it. */
invar_status inv_load_json(inv_session *s, const char *path, json_t **out);
invar_status inv_save_json(inv_session *s, const char *path, const json_t *document);

/* Names may hold any bytes, JSON only UTF-8: others become '?'. Gives. */
json_t *inv_name_json(const char *text);

/* The last line of a file of JSON lines; NULL if it has none. Gives. */
json_t *inv_last_json_line(const char *path);

#endif
