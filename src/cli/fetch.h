/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch.h - a file from an address, through libcurl.
 *
 * Invariants:
 *   1. What comes is written to PATH.invar.part, which is locked while that happens; PATH
 *      appears by a rename, complete and with the right SHA-256, or not at all.
 *      It is a regular file with one name, opened without following links; a PATH.part is
 *      the user's.
 *   2. A transfer that was cut leaves PATH.invar.part, and the next one asks for the rest.
 *      A server that cannot send a rest sends the whole, and so does one that has
 *      nothing more to send. PATH.invar.part.version holds the strong ETag, or else the
 *      Last-Modified, of the version that the part is of, for If-Range: of a file that
 *      changed the whole is sent. Without it only a known SHA-256 makes a rest safe;
 *      otherwise the transfer starts from the beginning.
 *   3. A file whose SHA-256 is not the one expected is removed.
 *   4. http, https and file; a redirection may lead to http and https only.
 *   5. No more comes than the file may have, nor than leaves some room on the disk; a
 *      server that sends more is left, and what it sent is removed.
 */
#ifndef INV_FETCH_H
#define INV_FETCH_H

#include "cli/session.h"

typedef struct inv_fetch {
	const char *url, *path;
	const char *sha256; /* expected, possibly only its first digits; NULL: none */
	uint64_t max;       /* bytes it may have */
	const char *advice; /* for a larger file, after a semicolon */
	/* What came: */
	uint64_t bytes, resumed_from;
	char hex[65];
} inv_fetch;

invar_status inv_fetch_file(inv_session *s, inv_fetch *f);

/* The file on this machine that an address names, or NULL; gives, free() it. */
char *inv_fetch_local(const char *url);

#endif
