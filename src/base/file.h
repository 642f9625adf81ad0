/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - files that appear complete or not at all, and mapped reading.
 *
 * Invariants of a saved file:
 *   1. Everything is written to a part file in the same folder, flushed to disk,
 *      renamed to PATH, and the folder is flushed.
 *   2. A killed program leaves the old PATH or the new one, and perhaps a
 *      part file that the next save replaces.
 *   3. A failed save removes its part file and leaves PATH as it was, unless the part file
 * is to be resumed later.
 *   4. Of two programs that save the same PATH at once, the second fails, unless it asked
 * to wait.
 *   5. A part file is PATH.invar.part, a name that no other program uses; a PATH.part is
 * the user's (browsers download into such files) and is never touched. Arrays that can be
 * resumed are in PATH.part: in banks, where every name is ours.
 *   6. A part file is created (O_EXCL), after a leftover of that name is unlinked; no
 *      byte is written through a link, into a pipe, or into a file with a second name.
 *      What is not a regular file is not ours: it stays, and the save fails.
 *   7. A part that is resumed is a regular file with one name, opened without following
 *      links. Its owner may be another: people share the folder of a bank.
 *   8. A link as PATH means the file it points to. Of a file that is replaced, mode
 *      and, where the system allows it, owner and group are kept; its part has them from
 *      the first byte. A new file has the mode that the umask gives it.
 *
 * A limit on the size of files (ulimit -f) ends a program by SIGXFSZ, unless it ignores
 * that signal: then a write fails, and 3 holds. `invar` does.
 */
#ifndef INV_FILE_H
#define INV_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/context.h"

#define INV_PART ".invar.part"
#define INV_BANK_PART ".part"

typedef struct inv_writer inv_writer;

/* bytes > 0 is a promise of the size: the disk must have room for it now. */
invar_status inv_writer_open(const char *path, uint64_t bytes, inv_writer **out);
/*
 * The same for a file that is read, changed and written: waits, for half a minute at
 * most, until no other program writes it. What is read from now on until the commit is
 * what the last of them wrote.
 */
invar_status inv_writer_open_in_turn(const invar_context *ctx, const char *path,
                                     inv_writer **out);
invar_status inv_writer_put(inv_writer *w, const void *data, size_t bytes);
/* Both free the writer; commit removes the part file if it fails. */
invar_status inv_writer_commit(inv_writer *w);
void inv_writer_abort(inv_writer *w);

/*
 * A file of known size that is written at any offset, if necessary by several programs in
 * turn. With `keep` the contents of PATH.part are kept; it must then have `bytes` bytes.
 */
invar_status inv_writer_take_up(const char *path, uint64_t bytes, bool keep,
                                inv_writer **out);
/* Of such a file, from any thread. */
invar_status inv_writer_put_at(inv_writer *w, uint64_t at, const void *data, size_t bytes);
invar_status inv_writer_shorten(inv_writer *w, uint64_t bytes); /* to these */
invar_status inv_writer_sync(inv_writer *w); /* what was put is on the disk */
/*
 * Another process has taken up PATH and holds its lock; this one writes other bytes of the
 * same part file, which must have `bytes` bytes. To be ended by inv_writer_leave.
 */
invar_status inv_writer_join(const char *path, uint64_t bytes, inv_writer **out);
void inv_writer_leave(inv_writer *w); /* frees the writer; the part file stays */

invar_status inv_file_save(const char *path, const void *data, size_t bytes);
/* Removes the part file that a killed program left beside PATH, if there is one. */
invar_status inv_file_remove_part(const char *path);

/*
 * Which file it is and since when: equal on all machines that share its file system, and
 * different for a copy. Devices have other numbers on each machine, so they are left out.
 */
typedef struct inv_file_id {
	uint64_t inode, bytes;
	int64_t written, changed; /* nanoseconds */
} inv_file_id;

bool inv_file_id_of(const char *path, inv_file_id *out); /* false if there is none */

/* A whole file, mapped read-only. Empty files give data NULL, size 0. */
typedef struct inv_map {
	const unsigned char *data;
	uint64_t size;
	inv_file_id id;
} inv_map;

invar_status inv_map_open(const char *path, inv_map *out);
/* Lets the system drop pages that are no longer needed; their bytes can still be read. */
void inv_map_let_go(const inv_map *m, const void *data, uint64_t bytes);
void inv_map_close(inv_map *m);

/* A whole small file as a string; fails if it has more than `most` bytes. Gives; inv_free.
 */
invar_status inv_file_load(const char *path, size_t max, char **text, size_t *bytes);

bool inv_is_folder(const char *path);
bool inv_exists(const char *path);
invar_status inv_make_folder(const char *path); /* not an error if it exists */
invar_status inv_sync_folder(const char *path);

/* Free space of the disk that a path, which need not exist, is on; 0: unknown. */
uint64_t inv_free_bytes(const char *path);

/* "a/b", gives; inv_free. NULL if no memory. */
char *inv_join(const char *folder, const char *name);
/* As calls that fail with a status, with *out NULL then: "a/b", "a/b/c", "a.part". */
invar_status inv_new_path(char **out, const char *folder, const char *name);
invar_status inv_new_path_in(char **out, const char *folder, const char *below,
                             const char *name);
invar_status inv_new_name(char **out, const char *path, const char *suffix);

invar_status inv_file_write(invar_context *ctx, const char *path, const void *data,
                            size_t bytes);

#endif
