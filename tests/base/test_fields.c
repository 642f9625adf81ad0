/* SPDX-License-Identifier: Apache-2.0 */
/* test_fields.c - claims about options seen through their table of fields. */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/fields.h"
#include "base/memory.h"
#include "support.h"

typedef struct options {
	size_t size;
	int flag;
	uint64_t count;
	double rate;
	const char *word;
	const char *text;
	const char *const *list;
} options;

static const invar_field table[] = {
	{.name = "flag", .type = INVAR_FIELD_FLAG, .offset = offsetof(options, flag)},
	{.name = "count",
     .type = INVAR_FIELD_COUNT,
     .offset = offsetof(options, count),
     .min = 1,
     .max = 100,
     .flags = INVAR_FIELD_RESULT},
	{.name = "rate",
     .type = INVAR_FIELD_NUMBER,
     .offset = offsetof(options, rate),
     .max = INFINITY,
     .flags = INVAR_FIELD_ABOVE | INVAR_FIELD_RESULT},
	{.name = "word",
     .type = INVAR_FIELD_TEXT,
     .offset = offsetof(options, word),
     .choices = "last|best|lasting"},
	{.name = "text",
     .type = INVAR_FIELD_TEXT,
     .offset = offsetof(options, text),
     .flags = INVAR_FIELD_OPTIONAL},
	{.name = "list", .type = INVAR_FIELD_LIST, .offset = offsetof(options, list)},
};

static const inv_fields fields = {table, sizeof table / sizeof *table};

static options good(void)
{
	return (options){.size = sizeof(options), .count = 5, .rate = 0.5, .word = "last"};
}

static void values_within_their_bounds_pass(void **state)
{
	options o = good();

	(void)state;
	assert_int_equal(inv_fields_check(fields, &o), INVAR_OK);
	o.count = 100;
	o.rate = 1e300;
	o.word = "lasting";
	assert_int_equal(inv_fields_check(fields, &o), INVAR_OK);
	o.word = NULL; /* only an optional text may be missing */
	assert_int_equal(inv_fields_check(fields, &o), INVAR_E_USE);
	test_assert_error("--word has no value");
}

static void values_outside_are_refused_with_both_numbers(void **state)
{
	options o = good();

	(void)state;
	o.count = 0;
	assert_int_equal(inv_fields_check(fields, &o), INVAR_E_USE);
	test_assert_error("--count is 0 but must be at least 1 and at most 100");
	o.count = 101;
	assert_int_equal(inv_fields_check(fields, &o), INVAR_E_USE);
	o = good();
	o.rate = 0;
	assert_int_equal(inv_fields_check(fields, &o), INVAR_E_USE);
	test_assert_error("--rate is 0 but must be above 0");
	o.rate = NAN;
	assert_int_equal(inv_fields_check(fields, &o), INVAR_E_USE);
}

static void words_must_be_whole_choices(void **state)
{
	static const char *wrong[] = {"", "las", "best|", "lastin", "est", "last|best"};
	options o = good();

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		o.word = wrong[i];
		if (inv_fields_check(fields, &o) != INVAR_E_USE)
			fail_msg("'%s' was accepted", wrong[i]);
		test_assert_error("must be one of last|best|lasting");
	}
}

static void json_holds_the_fields_with_all_the_flags(void **state)
{
	options o = good();
	json_t *all = inv_fields_json(fields, &o, 0);
	json_t *result = inv_fields_json(fields, &o, INVAR_FIELD_RESULT);
	json_t *expected = json_pack("{s:b, s:i, s:f, s:s, s:n, s:[]}", "flag", 0, "count", 5,
	                             "rate", 0.5, "word", "last", "text", "list");

	(void)state;
	assert_true(json_equal(all, expected));
	assert_int_equal(json_object_size(result), 2);
	json_decref(all);
	json_decref(result);
	json_decref(expected);
}

static void resuming_takes_what_was_saved(void **state)
{
	options before = {.count = 7, .rate = 0.25, .word = "best", .flag = 1, .text = "t"};
	json_t *saved = inv_fields_json(fields, &before, 0);
	options o = good();

	(void)state;
	assert_int_equal(inv_fields_resume(fields, saved, NULL, "run.json", &o), INVAR_OK);
	assert_int_equal(o.count, 7);
	assert_true(o.rate == 0.25);
	assert_string_equal(o.word, "best");
	assert_string_equal(o.text, "t");
	assert_int_equal(o.flag, 1);
	json_decref(saved);
}

static void a_list_is_an_array_and_comes_back(void **state)
{
	static const char *const texts[] = {"a", "b c", NULL}, *const given[] = {"list", NULL};
	options o = good();
	json_t *saved;

	(void)state;
	o.list = texts;
	saved = inv_fields_json(fields, &o, 0);
	assert_int_equal(json_array_size(json_object_get(saved, "list")), 2);
	o.list = NULL;
	assert_int_equal(inv_fields_resume(fields, saved, given, "run.json", &o), INVAR_OK);
	assert_null(o.list); /* it was given, as none */
	assert_int_equal(inv_fields_resume(fields, saved, NULL, "run.json", &o), INVAR_OK);
	assert_string_equal(o.list[0], "a");
	assert_string_equal(o.list[1], "b c");
	assert_null(o.list[2]);
	inv_free((void *)(uintptr_t)o.list);
	json_decref(saved);
}

static void resuming_refuses_another_value_that_was_given(void **state)
{
	static const char *const given[] = {"count", NULL};
	json_t *saved = json_pack("{s:i, s:i}", "count", 7, "rate", 2);
	options o = good();

	(void)state;
	assert_int_equal(inv_fields_resume(fields, saved, given, "run.json", &o),
	                 INVAR_E_MISMATCH);
	test_assert_error("run.json: was begun with --count 7, so it cannot go on with 5");
	o.count = 7;
	assert_int_equal(inv_fields_resume(fields, saved, given, "run.json", &o), INVAR_OK);
	assert_true(o.rate == 2); /* an integer in the file is a number all the same */
	json_decref(saved);
}

static void recalling_leaves_what_was_given(void **state)
{
	static const char *const given[] = {"count", NULL};
	json_t *saved = json_pack("{s:i, s:i}", "count", 7, "rate", 2);
	options o = good();

	(void)state;
	assert_int_equal(inv_fields_recall(fields, saved, given, "run.json", &o), INVAR_OK);
	assert_int_equal(o.count, 5);
	assert_true(o.rate == 2);
	assert_int_equal(inv_fields_recall(fields, NULL, given, "run.json", &o), INVAR_OK);
	json_decref(saved);
}

static void saved_values_of_the_wrong_type_are_refused(void **state)
{
	json_t *wrong[] = {json_pack("{s:i}", "flag", 1),    json_pack("{s:i}", "count", -1),
	                   json_pack("{s:f}", "count", 1.0), json_pack("{s:s}", "rate", "1"),
	                   json_pack("{s:i}", "word", 1),    json_pack("{s:s}", "list", "a"),
	                   json_pack("{s:[i]}", "list", 1)};

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		options o = good();

		assert_int_equal(inv_fields_resume(fields, wrong[i], NULL, "run.json", &o),
		                 INVAR_E_FORMAT);
		test_assert_error("makes no sense");
		json_decref(wrong[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_within_their_bounds_pass),
		cmocka_unit_test(values_outside_are_refused_with_both_numbers),
		cmocka_unit_test(words_must_be_whole_choices),
		cmocka_unit_test(json_holds_the_fields_with_all_the_flags),
		cmocka_unit_test(resuming_takes_what_was_saved),
		cmocka_unit_test(a_list_is_an_array_and_comes_back),
		cmocka_unit_test(resuming_refuses_another_value_that_was_given),
		cmocka_unit_test(recalling_leaves_what_was_given),
		cmocka_unit_test(saved_values_of_the_wrong_type_are_refused),
	};

	return cmocka_run_group_tests_name("fields", tests, NULL, NULL);
}
