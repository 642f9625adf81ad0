/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_members.h - the files that a tar file would give if it was extracted.
 *
 * 1. A path is relative, without "." and empty parts. A leading / is dropped, as tar does;
 * a path with ".." leads outside, and is no member.
 * 2. Of several members of one path the last counts.
 * 3. A hard link is the member that had its target's path before it. A symbolic link is
 *    followed at the end, within the archive; parts of its way may be links themselves.
 */
#ifndef INV_TAR_MEMBERS_H
#define INV_TAR_MEMBERS_H

#include "formats/tar.h"
#include "images/names.h"

/* A link is INV_TAR_FILE if it leads to a file, and else keeps its type. */
typedef struct inv_tar_member {
	uint64_t offset, bytes; /* of a file's data */
	size_t target;          /* of a link, in `targets` */
	inv_tar_type type;
	bool replaced; /* by a later member of the same path */
} inv_tar_member;

typedef struct inv_tar_members {
	inv_names paths; /* [count] */
	inv_names targets;
	inv_tar_member *at; /* [count], in the order of the archive */
	size_t count, capacity;
	size_t *order;                      /* [count], members by path, then by number */
	uint64_t replaced, rooted, outside; /* how many */
	char *first_rooted, *first_outside; /* paths as they are stored; NULL */
} inv_tar_members;

/* Start from {0}; clear it in any case. Borrows the bytes for the call. */
invar_status inv_tar_members_read(inv_tar_members *m, const void *data, uint64_t size,
                                  const char *name);
void inv_tar_members_clear(inv_tar_members *m);

#endif
