/*
 * status.c - the last error of each thread.
 *
 * The sentence lives in thread-local storage, so a library call never has to
 * allocate to report that it could not allocate.
 */
#include "base/status.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { SENTENCE = 1024 };

static _Thread_local char last_error[SENTENCE];

const char *invar_last_error(void)
{
	return last_error;
}

const char *invar_version(void)
{
	return INVAR_VERSION;
}

/* File names may hold anything; a sentence stays on one line. */
static void keep_on_one_line(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

invar_status inv_fail(invar_status code, const char *format, ...)
{
	char sentence[SENTENCE];
	va_list args;

	va_start(args, format);
	vsnprintf(sentence, sizeof sentence, format, args);
	va_end(args);
	keep_on_one_line(sentence);
	memcpy(last_error, sentence, sizeof sentence);
	return code;
}

invar_status inv_context(invar_status code, const char *format, ...)
{
	char prefix[SENTENCE];
	char before[SENTENCE];
	va_list args;

	va_start(args, format);
	vsnprintf(prefix, sizeof prefix, format, args);
	va_end(args);
	memcpy(before, last_error, sizeof before);
	return inv_fail(code, "%.500s: %.500s", prefix, before);
}

invar_status inv_fail_errno(const char *path, const char *what)
{
	int error = errno;
	bool limit = error == EMFILE || error == ENFILE;

	return inv_fail(error == ENOMEM ? INVAR_E_NOMEM : INVAR_E_IO, "%s: %s: %s%s", path,
	                what, strerror(error), limit ? "; raise the limit with ulimit -n" : "");
}
