/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder.h - folders that contain our files and possibly files of others.
 *
 * The owner of a folder decides for every entry, by its path relative to the folder,
 * whether it belongs to it. Everything else is foreign, including a link or a device with
 * one of the owner's names. Nothing foreign is ever removed or replaced.
 */
#ifndef INV_FOLDER_H
#define INV_FOLDER_H

#include <dirent.h>

#include "base/file.h"

typedef enum inv_ownership { INV_FOREIGN, INV_OWN_FILE, INV_OWN_FOLDER } inv_ownership;

typedef struct inv_owner {
	inv_ownership (*claim)(const void *user, const char *entry); /* "a/b", any kind */
	const void *user;
} inv_owner;

/*
 * Calls `each` with every entry of the folder, hidden ones left out, in no certain order;
 * the first that fails ends it.
 */
invar_status inv_folder_each(const char *path,
                             invar_status (*each)(void *user, const char *path,
                                                  const struct dirent *entry),
                             void *user);

/* Whether the name is `own` or the name of its part file. */
bool inv_is_own_name(const char *name, const char *own);

/* The first foreign entry in byte order, "a/b"; NULL if there is none. Gives; inv_free. */
invar_status inv_folder_find_foreign(const char *path, inv_owner owner, char **out);

/*
 * Removes the owner's entries, `last` after all others; folders that are not empty stay,
 * and so does the folder itself.
 */
invar_status inv_folder_remove_own(const char *path, inv_owner owner, const char *last);

/* Moves foreign entries to the same places below another folder, unless they are taken. */
invar_status inv_folder_move_foreign(const char *from, const char *to, inv_owner owner);

/*
 * Locks a folder for this program and gives the descriptor of the lock; close it. `busy` is
 * the message if another program has the lock. Some file systems have no locks.
 */
invar_status inv_folder_lock(const char *path, const char *busy, int *fd);

/* The folder that is meant: without final slashes, links followed. Gives; inv_free. */
char *inv_folder_place(const char *path);
/* Names beside a folder that is to be replaced: FOLDER.part for the new one, and
 * FOLDER.old.part for the moment between two renames. Give; inv_free. */
char *inv_folder_name_part(const char *place);
char *inv_folder_name_aside(const char *place);

/*
 * Two folders change their names, at once where the system can, else by way of a third
 * name that does not exist.
 */
invar_status inv_folder_exchange(const char *a, const char *b, const char *aside);

/* Whether a file contains the text or, if it was truncated, a prefix of it. */
bool inv_file_begins(const char *path, const char *text);

#endif
