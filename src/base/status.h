/* SPDX-License-Identifier: Apache-2.0 */
/* status.h - a code, a sentence, one way out. */
#ifndef INV_STATUS_H
#define INV_STATUS_H

#include "invar.h"

/*
 * Writes this thread's sentence and returns the code, so that the place that
 * discovers a fault says `return inv_fail(...)`. An @ in the format stands before
 * the name of an option, "@epochs must be at least 1", so that a program can spell
 * it as its users do.
 */
invar_status inv_fail(invar_status code, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Puts "where: " before this thread's sentence; for callers that know more. */
invar_status inv_context(invar_status code, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * What a reader of this thread's sentence may look up, see invar_last_error_topic; until
 * the next failure. Returns the code.
 */
invar_status inv_topic(invar_status code, const char *topic);

/* "/a/b: No such file or directory", from errno. */
invar_status inv_fail_errno(const char *path, const char *what);

/*
 * As the prefix of invar_last_error_spelled: the sentence with its marks, to be kept and
 * handed to inv_fail as a text later.
 */
#define INV_MARKED "\001"

#endif
