/* SPDX-License-Identifier: Apache-2.0 */
/*
 * csv.h - records of a CSV file in memory, as RFC 4180 has them.
 *
 * Invariants of what is accepted:
 *   1. Fields are separated by commas; a record ends with LF, CR LF or CR, the last one
 *      also with the file. Empty lines are skipped, and so is a UTF-8 byte order mark.
 *   2. A field that begins with a quote ends with one; within it commas and line ends are
 *      text, and two quotes are one. A quote anywhere else is an error.
 *   3. No NUL bytes; at most 1024 fields and 1 MB in a record.
 */
#ifndef INV_CSV_H
#define INV_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { INV_CSV_FIELDS = 1024 };

typedef struct inv_csv {
	const char *name; /* for messages */
	const uint8_t *data;
	uint64_t size, at;
	uint64_t next_line;          /* counts from 1 */
	uint64_t line;               /* where the record began */
	size_t count;                /* of its fields */
	char *field[INV_CSV_FIELDS]; /* the caller may shorten them */
	char *text;                  /* of the record */
	size_t used;
} inv_csv;

/* Borrows the bytes and the name. */
invar_status inv_csv_open(const void *data, uint64_t size, const char *name, inv_csv **out);
/* The next record into count and field, valid until the next call; *more false: none. */
invar_status inv_csv_next(inv_csv *c, bool *more);
void inv_csv_close(inv_csv *c); /* accepts NULL */

#endif
