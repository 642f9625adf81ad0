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

static void pause_until_removed(const char *path)
{
	const struct timespec time = {.tv_nsec = PAUSE_MS * 1000000L};
	int file = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0666);

	if (file >= 0)
		close(file);
	for (int i = 0; i < PAUSES && access(path, F_OK) == 0; i++)
		nanosleep(&time, NULL);
}

void inv_test_stop(const char *format, ...)
{
	const char *wish = getenv("INVAR_TEST_STOP"),
			   *action = wish ? strrchr(wish, '=') : NULL;
	char point[512];
	va_list args;

	if (!action)
		return;
	va_start(args, format);
	vsnprintf(point, sizeof point, format, args);
	va_end(args);
	if (strcmp(action, "=list") == 0)
		fprintf(stderr, "%s\n", point);
	if (!fits(wish, (size_t)(action - wish), point, atomic_fetch_add(&passed, 1) + 1) ||
	    atomic_flag_test_and_set(&stopped))
		return;
	action++;
	if (strcmp(action, "kill") == 0)
		kill(getpid(), SIGKILL);
	else if (strcmp(action, "stop") == 0)
		kill(getpid(), SIGSTOP);
	else if (strcmp(action, "int") == 0)
		kill(getpid(), SIGINT);
	else if (strcmp(action, "term") == 0)
		kill(getpid(), SIGTERM);
	else if (strncmp(action, "pause:", 6) == 0)
		pause_until_removed(action + 6);
}

#else
typedef int inv_test_stop_is_not_built; /* an empty file is not C */
#endif
