/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage_stamp.h - what a file, or the files of a bank or run, were when they were recorded.
 *
 * A stamp is {files, bytes, sha256, stat}: sha256 is a hash of the names and contents, stat
 * one of what the system says about the files (size, times, inode). Files whose stat is the
 * recorded one are not read again, unless they changed in the moment in which the record
 * was written.
 */
#ifndef INV_STAGE_STAMP_H
#define INV_STAGE_STAMP_H

#include "base/context.h"
#include "base/json.h"

/* Called with the path of a file. */
typedef invar_status inv_stage_file(void *user, const char *path);

/* Calls `each` with the files of a folder, in an order that depends on their names alone.
 */
typedef invar_status inv_stage_list(invar_context *ctx, const char *folder,
                                    inv_stage_file *each, void *user);

/* All files that a bank consists of, without those that eval caches. */
inv_stage_list inv_stamp_list_bank;

/* The stamp of a folder, or with list NULL of a file; a missing file is an error. Gives. */
invar_status inv_stamp_new(invar_context *ctx, const char *path, inv_stage_list *list,
                           json_t **out);

/*
 * Are the contents those of the stamp? *fresh becomes a stamp with the present stat if this
 * had to be found out by reading, else NULL. `recorded` is the time (ns) at which the stamp
 * was saved. Fails only if memory is short or the caller cancels.
 */
invar_status inv_stamp_check(invar_context *ctx, const char *path, inv_stage_list *list,
                             const json_t *stamp, int64_t recorded, bool *same,
                             json_t **fresh);

/* The hash of the contents; NULL if it is not a stamp. Views. */
const char *inv_stamp_sha256(const json_t *stamp);

#endif
