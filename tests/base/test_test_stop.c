/* SPDX-License-Identifier: Apache-2.0 */
/* test_test_stop.c - claims about the points at which a test stops the program. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/test_stop.h"
#include "support.h"

static volatile sig_atomic_t heard;
static int reached; /* points of a child that were passed when `heard` was set */

static void hear(int number)
{
	(void)number;
	heard++;
}

/* Steps 1 to 12; the exit code is the step after which SIGTERM was heard. */
static void pass_points(void)
{
	for (int i = 1; i <= 12; i++) {
		inv_test_stop("step %d", i);
		if (heard && !reached)
			reached = i;
	}
	_exit(heard > 1 ? 99 : reached);
}

/* In a process of its own, as a wish is granted once. */
static pid_t start(const char *wish)
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (child)
		return child;
	signal(SIGTERM, hear);
	signal(SIGINT, hear);
	if (wish)
		setenv("INVAR_TEST_STOP", wish, 1);
	else
		unsetenv("INVAR_TEST_STOP");
	if (inv_test_stop_is_set() != (wish != NULL))
		_exit(98);
	pass_points();
	return 0;
}

static int status_of(pid_t child)
{
	int status;

	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void a_point_is_meant_by_name_beginning_or_number(void **state)
{
	(void)state;
	assert_int_equal(status_of(start(NULL)), 0);
	assert_int_equal(status_of(start("step 3=term")), 3);
	assert_int_equal(status_of(start("step 1*=int")), 1); /* and at 10 no more */
	assert_int_equal(status_of(start("step 12=term")), 12);
	assert_int_equal(status_of(start("5=term")), 5);
	assert_int_equal(status_of(start("step=term")), 0);
	assert_int_equal(status_of(start("13=term")), 0);
	assert_int_equal(status_of(start("step 3")), 0);
}

static void a_point_kills(void **state)
{
	(void)state;
	assert_int_equal(status_of(start("step 2=kill")), -SIGKILL);
	assert_int_equal(status_of(start("step 2=term,kill")), -SIGKILL);
	assert_int_equal(status_of(start("step 2=term,int")), 99);
}

static void stopping_is_visible_to_the_parent(void **state)
{
	pid_t child = start("step 2=stop");
	int status;

	(void)state;
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	assert_true(WIFSTOPPED(status));
	assert_int_equal(kill(child, SIGCONT), 0);
	assert_int_equal(status_of(child), 0);
}

static void a_pause_lasts_until_its_file_is_removed(void **state)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	char wish[2048];
	pid_t child;

	(void)state;
	snprintf(wish, sizeof wish, "step 4=pause:%s,term", test_path("paused"));
	child = start(wish);
	while (!test_exists(test_path("paused"))) {
		assert_int_equal(waitpid(child, NULL, WNOHANG), 0); /* it has not ended */
		nanosleep(&pause, NULL);
	}
	assert_int_equal(waitpid(child, NULL, WNOHANG), 0);
	assert_int_equal(unlink(test_path("paused")), 0);
	assert_int_equal(status_of(child), 4);
}

static void a_list_names_all_points(void **state)
{
	int before = dup(STDERR_FILENO),
		file = open(test_path("list"), O_CREAT | O_TRUNC | O_WRONLY, 0666);
	pid_t child;
	char *text;
	size_t size;

	(void)state;
	dup2(file, STDERR_FILENO);
	child = start("step 9=term,list");
	dup2(before, STDERR_FILENO);
	close(before);
	close(file);
	assert_int_equal(status_of(child), 9);
	text = test_read(test_path("list"), &size);
	assert_int_equal(strncmp(text, "step 1\nstep 2\n", 14), 0);
	assert_non_null(strstr(text, "step 12\n"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_point_is_meant_by_name_beginning_or_number),
		cmocka_unit_test(a_point_kills),
		cmocka_unit_test(stopping_is_visible_to_the_parent),
		cmocka_unit_test(a_pause_lasts_until_its_file_is_removed),
		cmocka_unit_test(a_list_names_all_points),
	};

	return cmocka_run_group_tests_name("test_stop", tests, NULL, NULL);
}
