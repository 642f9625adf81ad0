/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_term.c - progress if standard error is a file: one line per minute. The linker
 * replaces the system's clock by ours.
 */
#include "cli/term.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "support.h"

static double clock_shows = 1000;

int __wrap_clock_gettime(clockid_t id, struct timespec *out);

int __wrap_clock_gettime(clockid_t id, struct timespec *out)
{
	(void)id;
	out->tv_sec = (time_t)clock_shows;
	out->tv_nsec = 0;
	return 0;
}

/* Two stages of 90 s each, reported every second; returns the file, free() it. */
static char *write_progress(bool quiet)
{
	const char *path = test_path("log");
	int kept = dup(STDERR_FILENO);
	invar_hooks hooks;
	inv_term t;

	assert_non_null(freopen(path, "w", stderr));
	inv_term_start(&t, quiet, false);
	hooks = inv_term_hooks(&t);
	for (uint64_t i = 0; i < 180; i++, clock_shows++)
		assert_int_equal(
			hooks.progress(hooks.user, i < 90 ? "encode test" : "train", i % 90, 90), 0);
	fflush(stderr);
	dup2(kept, STDERR_FILENO);
	close(kept);
	return test_read(test_path("log"), NULL);
}

static void a_file_gets_one_line_per_minute(void **state)
{
	char *log = write_progress(false), *second;

	(void)state;
	second = strchr(log, '\n');
	assert_non_null(second);
	assert_non_null(strstr(log, "encode test   66 %"));
	assert_non_null(strstr(second, "train   33 %"));
	assert_null(strchr(strchr(second + 1, '\n') + 1, '\n')); /* two lines, no more */
	assert_null(strchr(log, '\r'));
	assert_null(strchr(log, '\033'));
	free(log);
}

static void stages_that_take_turns_are_not_silent(void **state)
{
	const char *path = test_path("turns");
	int kept = dup(STDERR_FILENO), lines = 0;
	invar_hooks hooks;
	inv_term t;
	char *log;

	(void)state;
	assert_non_null(freopen(path, "w", stderr));
	inv_term_start(&t, false, false);
	hooks = inv_term_hooks(&t);
	for (uint64_t i = 0; i < 190; i++, clock_shows++)
		hooks.progress(hooks.user, i % 2 ? "decode" : "encode", i, 190);
	fflush(stderr);
	dup2(kept, STDERR_FILENO);
	close(kept);
	log = test_read(test_path("turns"), NULL);
	for (const char *at = log; (at = strchr(at, '\n')); at++)
		lines++;
	assert_int_equal(lines, 3);
	assert_non_null(strstr(log, "encode   31 %"));
	assert_null(strstr(log, "nan"));
	free(log);
}

static void quiet_writes_nothing(void **state)
{
	char *log = write_progress(true);

	(void)state;
	assert_string_equal(log, "");
	free(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_gets_one_line_per_minute),
		cmocka_unit_test(stages_that_take_turns_are_not_silent),
		cmocka_unit_test(quiet_writes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
