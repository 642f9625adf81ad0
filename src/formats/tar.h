/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar.h - the members of a tar file in memory, read in place.
 *
 * Invariants of what is accepted:
 *   1. Every header has its right checksum. Files end with a block of zeros, or where the
 *      next header would be.
 *   2. A member lies within the file, whatever its header or a pax header says.
 *   3. A path, or the target of a link, has at most 4095 bytes and no NUL; a pax header at
 *      most 1 MB.
 * Old (v7), ustar, GNU (long names and targets, large sizes) and pax (path, linkpath, size)
 * headers are read.
 * Compressed files are errors: members must be readable at any time, in any order.
 */
#ifndef INV_TAR_H
#define INV_TAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { INV_TAR_PATH = 4096 };

typedef enum inv_tar_type {
	INV_TAR_FILE,     /* stored whole */
	INV_TAR_HARD,     /* a link to an earlier member, by its path */
	INV_TAR_SYMBOLIC, /* a link to a path, relative to its own folder */
	INV_TAR_OTHER     /* a folder, a device, a sparse file, … */
} inv_tar_type;

typedef struct inv_tar {
	const char *name; /* for messages */
	const uint8_t *data;
	uint64_t size, at;
	/* Of the last member. */
	char path[INV_TAR_PATH];
	char target[INV_TAR_PATH]; /* of a link; "" otherwise */
	uint64_t offset, bytes;    /* of its data */
	inv_tar_type type;
} inv_tar;

/* Borrows the bytes and the name; nothing is to be freed. */
invar_status inv_tar_open(const void *data, uint64_t size, const char *name, inv_tar *out);
/* The next member; *more false: there is none. */
invar_status inv_tar_next(inv_tar *t, bool *more);

#endif
