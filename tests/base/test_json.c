/* SPDX-License-Identifier: Apache-2.0 */
/* test_json.c - claims about the JSON glue. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "support.h"

static invar_status load(const char *text)
{
	json_t *value;
	invar_status st;

	test_write(test_path("x.json"), text, strlen(text));
	st = inv_json_load(test_path("x.json"), &value);
	assert_true((st == INVAR_OK) == (value != NULL));
	json_decref(value);
	return st;
}

static void only_objects_without_duplicate_keys_are_loaded(void **state)
{
	(void)state;
	assert_int_equal(load("{\"a\": 1, \"b\": {\"c\": []}}\n"), INVAR_OK);
	assert_int_equal(load("{\"a\": 1, \"a\": 2}"), INVAR_E_FORMAT);
	test_assert_error("x.json: line 1: duplicate object key");
	assert_int_equal(load("[1]"), INVAR_E_FORMAT);
	test_assert_error("is not a JSON object");
	assert_int_equal(load("{\"a\": 1} x"), INVAR_E_FORMAT);
	assert_int_equal(load("{\"a\": 1"), INVAR_E_FORMAT);
	assert_int_equal(load(""), INVAR_E_FORMAT);
	assert_int_equal(load("{\"a\": NaN}"), INVAR_E_FORMAT);
	assert_int_equal(load("{\n\n\"a\": \xff}"), INVAR_E_FORMAT);
	test_assert_error("line 3");
}

static void very_deep_and_very_large_documents_are_refused(void **state)
{
	char *text = malloc((17 << 20) + 1);
	json_t *value;

	(void)state;
	memset(text, '[', 17 << 20);
	memcpy(text, "{\"a\":", 5);
	text[100000] = '\0';
	assert_int_equal(load(text), INVAR_E_FORMAT);
	text[100000] = '[';
	test_write(test_path("large.json"), text, 17 << 20);
	assert_int_equal(inv_json_load(test_path("large.json"), &value), INVAR_E_FORMAT);
	test_assert_error("expected at most 16777216");
	free(text);
}

static void text_is_stable_and_ends_in_a_newline_when_indented(void **state)
{
	json_t *value = json_pack("{s:i, s:f, s:s}", "b", 1, "a", 0.1, "c", "x");
	char *line = inv_json_text(value, 0), *page = inv_json_text(value, 1);

	(void)state;
	assert_string_equal(line, "{\"b\": 1, \"a\": 0.1, \"c\": \"x\"}");
	assert_string_equal(page, "{\n \"b\": 1,\n \"a\": 0.1,\n \"c\": \"x\"\n}\n");
	inv_free(line);
	inv_free(page);
	json_decref(value);
}

static void what_is_saved_is_loaded(void **state)
{
	json_t *value = json_pack("{s:[i,i], s:b}", "list", 1, 2, "flag", 1), *back;

	(void)state;
	assert_int_equal(inv_json_save(test_path("y.json"), value), INVAR_OK);
	assert_int_equal(inv_json_load(test_path("y.json"), &back), INVAR_OK);
	assert_true(json_equal(value, back));
	json_decref(value);
	json_decref(back);
}

static void numbers_that_json_does_not_know_become_null(void **state)
{
	json_t *real = inv_json_number(0.5), *nan = inv_json_number(NAN),
		   *inf = inv_json_number(-INFINITY);

	(void)state;
	assert_true(json_is_real(real));
	assert_true(json_is_null(nan) && json_is_null(inf));
	json_decref(real);
	json_decref(nan);
	json_decref(inf);
}

static void values_are_shown_in_a_sentence(void **state)
{
	char out[INV_SPELLED], many[300];
	json_t *text = json_string("rotation"), *pair = json_pack("[i, i]", 8, 9), *much;

	(void)state;
	memset(many, 'a', sizeof many - 1);
	many[sizeof many - 1] = 0;
	much = json_string(many);
	assert_string_equal(inv_json_spell(text, out), "rotation");
	assert_string_equal(inv_json_spell(pair, out), "[8, 9]");
	inv_json_spell(much, out);
	assert_int_equal(strlen(out), INV_SPELLED - 1);
	assert_string_equal(out + INV_SPELLED - 1 - strlen("…"), "…");
	json_decref(text);
	json_decref(pair);
	json_decref(much);
}

static void an_absent_member_is_null(void **state)
{
	json_t *all =
		json_pack("{s:i, s:n, s:{s:n, s:s}}", "heads", 6, "stride", "of", "x", "y", "z");
	json_t *few = json_pack("{s:i, s:{s:s}}", "heads", 6, "of", "y", "z");

	(void)state;
	assert_true(inv_json_same(all, few));
	assert_true(inv_json_same(few, all));
	assert_true(inv_json_same(NULL, json_null()));
	assert_false(inv_json_same(NULL, few));
	json_object_set_new(few, "stride", json_string("3x3"));
	assert_false(inv_json_same(all, few));
	assert_false(inv_json_same(few, all));
	json_decref(all);
	json_decref(few);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_absent_member_is_null),
		cmocka_unit_test(values_are_shown_in_a_sentence),
		cmocka_unit_test(only_objects_without_duplicate_keys_are_loaded),
		cmocka_unit_test(very_deep_and_very_large_documents_are_refused),
		cmocka_unit_test(text_is_stable_and_ends_in_a_newline_when_indented),
		cmocka_unit_test(what_is_saved_is_loaded),
		cmocka_unit_test(numbers_that_json_does_not_know_become_null),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
