/* SPDX-License-Identifier: Apache-2.0 */
/* status.h - status codes and the error message of each thread. */
#ifndef INV_STATUS_H
#define INV_STATUS_H

#include <stdarg.h>

#include "invar.h"

/*
 * Sets this thread's error message and returns the code, so that the place that
 * detects an error can `return inv_fail(...)`. An @ in the format marks the name of an
 * option, "@epochs must be at least 1", so that a program can print it as its users
 * type it.
 */
invar_status inv_fail(invar_status code, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Puts "where: " before this thread's message; for callers that know more. */
invar_status inv_context(invar_status code, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Sets the topic of this thread's message, see inv_last_error_topic; valid until the next
 * error. Returns the code.
 */
invar_status inv_topic(invar_status code, const char *topic);

/*
 * Forwarding an error, the only control flow in macros. INV_TRY returns the status of a
 * call that fails. INV_TRY_OR sets st, a variable of the function, and jumps to a label if
 * the call fails.
 */
#define INV_TRY(call)               \
	do {                            \
		invar_status try_ = (call); \
		if (try_ != INVAR_OK)       \
			return try_;            \
	} while (0)

#define INV_TRY_OR(label, call)        \
	do {                               \
		if ((st = (call)) != INVAR_OK) \
			goto label;                \
	} while (0)

/* "/a/b: No such file or directory", from errno. */
invar_status inv_fail_errno(const char *path, const char *what);

/* The text of a message, with `prefix` before each option that the format marks. */
void inv_spell(const char *prefix, const char *format, va_list args, char *out, size_t size)
	__attribute__((format(printf, 2, 0)));

/*
 * Use as the prefix of inv_last_error_spelled to get the message with its marks, which
 * can be passed to inv_fail as an argument later.
 */
#define INV_MARKED "\001"

/*
 * The same with `prefix` before the name of every option in the message, for programs
 * whose users spell options differently, such as "--" on a command line. Writes at most
 * `size` bytes including the final 0 and returns out.
 */
const char *inv_last_error_spelled(const char *prefix, char *out, size_t size);
/*
 * The topic of the last error, for programs that can point to more information: "encoders"
 * (the list of names), "weights" (the contents of a file), "no-adapter" (a trial has found
 * that the adapter does harm or does not help). "" for most errors.
 */
const char *inv_last_error_topic(void);

#endif
