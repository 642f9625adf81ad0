/* SPDX-License-Identifier: Apache-2.0 */
/* test_status.c - claims about errors: one line, one thread, never NULL. */
#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "base/status.h"
#include "support.h"

static void the_first_sentence_is_empty(void **state)
{
	(void)state;
	assert_string_equal(invar_last_error(), "");
}

static void failing_returns_the_code_and_keeps_the_sentence(void **state)
{
	(void)state;
	assert_int_equal(inv_fail(INVAR_E_FORMAT, "%s: has %d", "a.npy", 3), INVAR_E_FORMAT);
	assert_string_equal(invar_last_error(), "a.npy: has 3");
}

static void a_sentence_may_quote_the_one_before(void **state)
{
	(void)state;
	inv_fail(INVAR_E_IO, "inner");
	assert_int_equal(inv_fail(INVAR_E_USE, "outer: %s", invar_last_error()), INVAR_E_USE);
	assert_string_equal(invar_last_error(), "outer: inner");
	assert_int_equal(inv_context(INVAR_E_IO, "bank %d", 2), INVAR_E_IO);
	assert_string_equal(invar_last_error(), "bank 2: outer: inner");
}

static void strange_file_names_stay_on_one_line(void **state)
{
	(void)state;
	inv_fail(INVAR_E_IO, "a\nb\x1b[31m\x7f: cannot open");
	assert_string_equal(invar_last_error(), "a?b?[31m?: cannot open");
}

static void a_long_sentence_is_cut_not_overrun(void **state)
{
	char name[5000];

	(void)state;
	memset(name, 'x', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	inv_fail(INVAR_E_IO, "%s", name);
	assert_int_equal(strlen(invar_last_error()), 1023);
	inv_context(INVAR_E_IO, "%s", name);
	assert_true(strlen(invar_last_error()) < 1024);
}

static void errno_gives_its_reason_and_its_code(void **state)
{
	(void)state;
	errno = ENOENT;
	assert_int_equal(inv_fail_errno("x", "cannot open"), INVAR_E_IO);
	assert_string_equal(invar_last_error(), "x: cannot open: No such file or directory");
	errno = ENOMEM;
	assert_int_equal(inv_fail_errno("x", "cannot map"), INVAR_E_NOMEM);
}

static void *fail_elsewhere(void *user)
{
	(void)user;
	if (*invar_last_error())
		return (void *)1;
	inv_fail(INVAR_E_IO, "theirs");
	return NULL;
}

static void threads_do_not_see_each_other(void **state)
{
	pthread_t thread;
	void *result;

	(void)state;
	inv_fail(INVAR_E_IO, "mine");
	assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
	assert_int_equal(pthread_join(thread, &result), 0);
	assert_null(result);
	assert_string_equal(invar_last_error(), "mine");
}

static void the_version_linked_is_the_version_compiled(void **state)
{
	(void)state;
	assert_string_equal(invar_version(), INVAR_VERSION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_sentence_is_empty),
		cmocka_unit_test(failing_returns_the_code_and_keeps_the_sentence),
		cmocka_unit_test(a_sentence_may_quote_the_one_before),
		cmocka_unit_test(strange_file_names_stay_on_one_line),
		cmocka_unit_test(a_long_sentence_is_cut_not_overrun),
		cmocka_unit_test(errno_gives_its_reason_and_its_code),
		cmocka_unit_test(threads_do_not_see_each_other),
		cmocka_unit_test(the_version_linked_is_the_version_compiled),
	};

	return cmocka_run_group_tests_name("status", tests, NULL, NULL);
}
