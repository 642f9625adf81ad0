/* SPDX-License-Identifier: Apache-2.0 */
/*
 * zip.h - the entries of a zip archive in memory, read as if hostile.
 *
 * PyTorch stores tensors uncompressed, so that they can be used where the file is
 * mapped; libraries that read zip copy them and do not give their offset. Only what
 * weight files need is accepted.
 *
 * Invariants of what is accepted:
 *   1. One disk, no comment, the end record last in the file; the directory ends where
 *      the end records begin (ZIP64 or not), and has as many entries as they say.
 *   2. Entries are stored or deflated, not encrypted; their names are relative paths in
 *      one common top folder, without "..", backslash or control characters, each
 *      different.
 *   3. Every local header repeats what the directory says (sizes and CRC-32 may follow
 *      the data instead), and the entries fill the file up to the directory: no gap, no
 *      overlap.
 *   4. An entry inflates to at most 100 times its size, and all entries that are read to
 *      at most 16 times the size of the file.
 * The CRC-32 of an entry is checked when it is read.
 */
#ifndef INV_ZIP_H
#define INV_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct inv_zip_entry {
	const char *name; /* within the top folder; views, without a final NUL */
	size_t length;
	uint64_t header, packed, size; /* place in the file, bytes there, bytes inflated */
	const unsigned char *data;     /* views */
	uint32_t crc;
	uint16_t flags, method;
} inv_zip_entry;

typedef struct inv_zip {
	const char *path;
	const unsigned char *bytes;
	uint64_t size, inflated;
	size_t count;
	inv_zip_entry *entries; /* by name */
} inv_zip;

bool inv_zip_recognise(const unsigned char *bytes, uint64_t size);
/* Borrows all three until inv_zip_close, which accepts what a failed open left. */
invar_status inv_zip_open(const unsigned char *bytes, uint64_t size, const char *path,
                          inv_zip *out);
const inv_zip_entry *inv_zip_find(const inv_zip *z, const char *name);
/* *data views the file where *own is NULL, else *own, which is freed by inv_free. */
invar_status inv_zip_read(inv_zip *z, const inv_zip_entry *e, const unsigned char **data,
                          void **own);
void inv_zip_close(inv_zip *z);

#endif
