/* SPDX-License-Identifier: Apache-2.0 */
/* test_stop.c - points at which a test stops the program. See test_stop.h. */
#include "base/test_stop.h"

#ifdef INV_TEST_STOPS

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PAUSE_MS = 10, PAUSES = 10 * 60 * 1000 / PAUSE_MS };

static atomic_ulong passed; /* points so far */
static atomic_flag stopped = ATOMIC_FLAG_INIT;

static bool fits(const char *pattern, size_t length, const char *point,
                 unsigned long number)
{
	char *end;

	if (length && strspn(pattern, "0123456789") == length)
		return strtoul(pattern, &end, 10) == number;
	if (length && pattern[length - 1] == '*')
		return strncmp(pattern, point, length - 1) == 0;
	return strlen(point) == length && strncmp(pattern, point, length) == 0;
}

/* The actions of a wish are separated by commas; `one` is the text of a whole action. */
static bool has_action(const char *actions, const char *one)
{
	size_t length = strlen(one);

	for (const char *at = actions; at; at = strchr(at, ','), at = at ? at + 1 : NULL)
		if (strncmp(at, one, length) == 0 && (!at[length] || at[length] == ','))
			return true;
	return false;
}

/* raise() sends to this thread, so that a handler has run when it returns. */
static void act(char *actions)
{
	static const struct {
		const char *name;
		int number;
	} signals[] = {
		{"kill", SIGKILL}, {"stop", SIGSTOP}, {"int", SIGINT}, {"term", SIGTERM}};
	const struct timespec pause = {.tv_nsec = PAUSE_MS * 1000000L};
	char *rest = NULL;

	for (char *one = strtok_r(actions, ",", &rest); one; one = strtok_r(NULL, ",", &rest)) {
		for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
			if (strcmp(one, signals[i].name) == 0)
				raise(signals[i].number);
		if (strncmp(one, "pause:", 6) == 0) {
			const char *path = one + 6;
			int file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0666);

			if (file >= 0)
				close(file);
			for (int i = 0; i < PAUSES && access(path, F_OK) == 0; i++)
				nanosleep(&pause, NULL);
		}
	}
}

bool inv_test_stop_is_set(void)
{
	return getenv("INVAR_TEST_STOP") != NULL;
}

void inv_test_stop(const char *format, ...)
{
	const char *wish = getenv("INVAR_TEST_STOP"), *end = wish ? strrchr(wish, '=') : NULL;
	char point[512], actions[512];
	va_list args;

	if (!end)
		return;
	va_start(args, format);
	vsnprintf(point, sizeof point, format, args);
	va_end(args);
	if (has_action(end + 1, "list"))
		fprintf(stderr, "%s\n", point);
	if (!fits(wish, (size_t)(end - wish), point, atomic_fetch_add(&passed, 1) + 1) ||
	    atomic_flag_test_and_set(&stopped))
		return;
	snprintf(actions, sizeof actions, "%s", end + 1);
	act(actions);
}

#else
typedef int inv_test_stop_is_not_built; /* an empty file is not C */
#endif
