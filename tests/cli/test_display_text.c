/* SPDX-License-Identifier: Apache-2.0 */
/* test_display_text.c - counts, times and foreign text as a person reads them. */
#include "cli/display_text.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void test_one_has_its_own_noun(void **state)
{
	(void)state;
	assert_string_equal(inv_noun(0, "copy", "copies"), "copies");
	assert_string_equal(inv_noun(1, "copy", "copies"), "copy");
	assert_string_equal(inv_noun(2, "copy", "copies"), "copies");
}

static void test_sizes_have_a_unit_that_suits_them(void **state)
{
	static const struct {
		double bytes;
		const char *text;
	} cases[] = {{0, "0.00 MB"},     {254000, "0.25 MB"},  {4e7, "40 MB"},
	             {9.9e9, "9900 MB"}, {1.25e10, "12.5 GB"}, {NAN, "?"}};
	char out[INV_SPELLED_TIME];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_string_equal(inv_size_text(cases[i].bytes, out), cases[i].text);
}

static void test_slow_rates_are_not_0(void **state)
{
	static const struct {
		double rate;
		const char *text;
	} cases[] = {{2.5e6, "2.5M/s"}, {12500, "12.5k/s"}, {340, "340/s"},  {2.53, "2.5/s"},
	             {0.5, "30/min"},   {0.07, "4.2/min"},  {0.001, "3.6/h"}};
	char out[INV_SPELLED_TIME];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_string_equal(inv_rate_text(cases[i].rate, out), cases[i].text);
}

static void test_long_durations_have_minutes_and_hours(void **state)
{
	static const struct {
		double seconds;
		const char *text;
	} cases[] = {{0.04, "0.0 s"},     {59.94, "59.9 s"},     {59.96, "1 min 0 s"},
	             {725, "12 min 5 s"}, {3599.6, "1 h 0 min"}, {9000, "2 h 30 min"}};
	char out[INV_SPELLED_TIME];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_string_equal(inv_duration_text(cases[i].seconds, out), cases[i].text);
}

static void test_foreign_text_cannot_command_a_terminal(void **state)
{
	char out[40];

	(void)state;
	assert_string_equal(inv_shown("a\nb\tc\\d", out, sizeof out), "a\\nb\\tc\\\\d");
	assert_string_equal(inv_shown("\033[31mred\x7f", out, sizeof out), "\\x1b[31mred\\x7f");
	assert_string_equal(inv_shown("\xc2\x9b", out, sizeof out), "\\u009b");
	assert_string_equal(inv_shown("na\xc3\xafve", out, sizeof out), "na\xc3\xafve");
	assert_string_equal(inv_shown("a\u202eb", out, sizeof out), "a\\u202eb");
	assert_string_equal(inv_shown("\U000e0041", out, sizeof out), "\\U000e0041");
	assert_string_equal(inv_shown("\xff\xc3", out, sizeof out), "\\xff\\xc3");
}

/* Whatever the size, the result fits, and no character is cut in two. */
static void test_long_text_is_cut_between_characters(void **state)
{
	static const char text[] = "\xc3\xbc\xc3\xbc\n\xe2\x82\xac\xc3\xbc";
	char out[32];

	(void)state;
	for (size_t size = 4; size <= sizeof out; size++) {
		memset(out, 'x', sizeof out);
		inv_shown(text, out, size);
		assert_true(strlen(out) < size);
		if (strlen(out) < 11)
			assert_memory_equal(out + strlen(out) - 3, "\xe2\x80\xa6", 3);
	}
	assert_string_equal(out, "\xc3\xbc\xc3\xbc\\n\xe2\x82\xac\xc3\xbc");
	assert_string_equal(inv_shown("abcdefgh", out, 8), "abcd\xe2\x80\xa6");
}

static void test_words_are_quoted_for_the_shell(void **state)
{
	static const struct {
		const char *text, *word;
	} cases[] = {{"bank", "bank"},         {"a/b.npy", "a/b.npy"},
	             {"my bank", "'my bank'"}, {"it's", "'it'\\''s'"},
	             {"$(date)", "'$(date)'"}, {"", "''"},
	             {"a;b", "'a;b'"},         {"\xc3\xa9t\xc3\xa9", "\xc3\xa9t\xc3\xa9"}};
	char out[64], small[8];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_string_equal(inv_shell_word(cases[i].text, out, sizeof out), cases[i].word);
	assert_true(strlen(inv_shell_word("a long name", small, sizeof small)) < sizeof small);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words_are_quoted_for_the_shell),
		cmocka_unit_test(test_one_has_its_own_noun),
		cmocka_unit_test(test_sizes_have_a_unit_that_suits_them),
		cmocka_unit_test(test_slow_rates_are_not_0),
		cmocka_unit_test(test_long_durations_have_minutes_and_hours),
		cmocka_unit_test(test_foreign_text_cannot_command_a_terminal),
		cmocka_unit_test(test_long_text_is_cut_between_characters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
