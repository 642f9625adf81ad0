/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_compare.h - do all ranks read the same bytes?
 *
 * Ranks that open files on their own may see other files under the same name: a copy on
 * the disk of each machine of which one is stale, or another working folder. Results would
 * be a mixture. So what is read is compared before work begins, item by item: an image, or
 * a piece of a file.
 *
 * On a shared file system this takes one call of stat per file: the same inode, size and
 * times are the same file (inv_file_id). If these differ for any item and rank, or are
 * unknown, all items are read and compared by their SHA-256.
 */
#ifndef INV_RANK_COMPARE_H
#define INV_RANK_COMPARE_H

#include "base/file.h"
#include "base/processes.h"
#include "base/sha256.h"

enum { INV_COMPARED_BYTES = 16 }; /* of a SHA-256 */

typedef struct inv_compared {
	size_t count; /* of items, in the same order on all ranks */
	void *user;
	/* The file that an item is in; false: unknown. From any thread, as is the next. */
	bool (*file)(void *user, size_t item, inv_file_id *out);
	invar_status (*print)(void *user, size_t item, unsigned thread,
	                      unsigned char out[INV_COMPARED_BYTES]);
	/* Fails with a message that names the item; item 0 if the counts differ. */
	invar_status (*differs)(void *user, size_t item);
} inv_compared;

/* All ranks; fails on all of them if one reads other bytes than rank 0. */
invar_status inv_ranks_compare(const invar_context *ctx, const inv_compared *c);

/* The same for what has been hashed anyway; `path` is for the message. */
invar_status inv_ranks_same(const invar_context *ctx, const char hex[INV_SHA256_HEX],
                            const char *path);

/* "PATH: differs on HOST from what rank 0 reads; ...", INVAR_E_MISMATCH. */
invar_status inv_fail_other_file(const char *path);

#endif
