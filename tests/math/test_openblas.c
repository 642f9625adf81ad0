/* SPDX-License-Identifier: Apache-2.0 */
/* test_openblas.c - OpenBLAS starts no threads, and a lack of memory is reported. */
#include "support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "math/openblas.h"

/* The sanitizers reserve terabytes of addresses, so no limit on them can be set. */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#define SANITIZED __has_feature(address_sanitizer)
#else
#define SANITIZED 0
#endif

static int count_threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	int count = 0;

	if (!tasks)
		return -1;
	for (struct dirent *e; (e = readdir(tasks));)
		count += *e->d_name != '.';
	closedir(tasks);
	return count;
}

/* In a separate process, as a library cannot be unloaded nor a limit lifted. */
static int run_apart(int (*work)(void))
{
	int code = -1;
	pid_t child = fork();

	if (child == 0)
		_exit(work());
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &code, 0), child);
	return WIFEXITED(code) ? WEXITSTATUS(code) : -1;
}

static int openblas_under_a_limit(void)
{
	const struct rlimit little = {128 << 20, 128 << 20};

	alarm(120); /* OpenBLAS used to retry for ever */
	if (setrlimit(RLIMIT_AS, &little) != 0)
		return 3;
	if (inv_openblas_need(2) != INVAR_E_NOMEM)
		return 4;
	return strstr(invar_last_error(), "not enough memory") ? 0 : 5;
}

static void a_lack_of_memory_is_reported(void **state)
{
	(void)state;
	if (SANITIZED || test_is_emulated())
		skip(); /* QEMU accepts a limit, but does not enforce it */
	assert_int_equal(run_apart(openblas_under_a_limit), 0);
}

static void it_starts_no_threads(void **state)
{
	const float a = 3, b = 5;
	float c = 0;
	int before = count_threads();

	(void)state;
	if (before < 0)
		skip();
	if (!test_is_emulated()) /* an emulator has some of its own */
		assert_int_equal(before, 1);
	assert_int_equal(inv_openblas_need(3), INVAR_OK);
	inv_openblas_get()->sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 1, 1, 1, 1, &a, 1,
	                          &b, 1, 0, &c, 1);
	assert_true(c == 15);
	assert_int_equal(inv_openblas_get()->get_threads(), 1);
	assert_int_equal(count_threads(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lack_of_memory_is_reported),
		cmocka_unit_test(it_starts_no_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
