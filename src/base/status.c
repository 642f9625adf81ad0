/* SPDX-License-Identifier: Apache-2.0 */
/*
 * status.c - the last error of each thread.
 *
 * The message is in thread-local storage, so a library call can report a failed
 * allocation without allocating.
 */
#include "base/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SENTENCE = 1024, MARK = '\001' }; /* as in INV_MARKED */

static _Thread_local char last_error[SENTENCE]; /* without marks */
static _Thread_local char marked[SENTENCE];     /* with MARK before each option */

static _Thread_local const char *topic = "";

const char *invar_last_error(void)
{
	return last_error;
}

const char *inv_last_error_topic(void)
{
	return topic;
}

invar_status inv_topic(invar_status code, const char *of)
{
	topic = of;
	return code;
}

const char *invar_version(void)
{
	return INVAR_VERSION;
}

/* Copies a marked sentence with `prefix` for each mark; truncated to `size`. */
static void replace_marks(const char *sentence, const char *prefix, char *out, size_t size)
{
	size_t fill = 0, bytes = strlen(prefix);

	for (const char *at = sentence; *at && fill + 1 < size; at++) {
		if (*at != MARK)
			out[fill++] = *at;
		else if (fill + bytes < size) {
			memcpy(out + fill, prefix, bytes);
			fill += bytes;
		}
	}
	if (size)
		out[fill] = '\0';
}

const char *inv_last_error_spelled(const char *prefix, char *out, size_t size)
{
	replace_marks(marked, prefix, out, size);
	return out;
}

/*
 * Each @ in the format becomes a mark; an @ in a file name is left alone. File names may
 * contain any bytes, but a message must stay on one line.
 */
static void write_marked(const char *format, va_list args, char sentence[SENTENCE])
{
	char with_marks[SENTENCE];

	snprintf(with_marks, sizeof with_marks, "%s", format);
	for (char *at = with_marks; *at; at++)
		if (*at == '@')
			*at = MARK;
	vsnprintf(sentence, SENTENCE, with_marks, args);
	for (char *at = sentence; *at; at++)
		if (((unsigned char)*at < 0x20 && *at != MARK) || *at == 0x7f)
			*at = '?';
}

void inv_spell(const char *prefix, const char *format, va_list args, char *out, size_t size)
{
	char sentence[SENTENCE];

	write_marked(format, args, sentence);
	replace_marks(sentence, prefix, out, size);
}

invar_status inv_fail(invar_status code, const char *format, ...)
{
	char sentence[SENTENCE];
	va_list args;

	va_start(args, format);
	write_marked(format, args, sentence);
	va_end(args);
	memcpy(marked, sentence, sizeof sentence);
	replace_marks(marked, "", last_error, sizeof last_error);
	topic = "";
	return code;
}

invar_status inv_context(invar_status code, const char *format, ...)
{
	char prefix[SENTENCE];
	char before[SENTENCE];
	const char *of = topic;
	va_list args;

	va_start(args, format);
	write_marked(format, args, prefix);
	va_end(args);
	memcpy(before, marked, sizeof before);
	return inv_topic(inv_fail(code, "%.500s: %.500s", prefix, before), of);
}

invar_status inv_fail_errno(const char *path, const char *what)
{
	int error = errno;
	bool limit = error == EMFILE || error == ENFILE;

	return inv_fail(error == ENOMEM ? INVAR_E_NOMEM : INVAR_E_IO, "%s: %s: %s%s", path,
	                what, strerror(error), limit ? "; raise the limit with ulimit -n" : "");
}
