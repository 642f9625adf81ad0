/* SPDX-License-Identifier: Apache-2.0 */
/* test_results.c - claims about the results document. */
#include "run/results.h"

#include <math.h>
#include <string.h>

#include "support.h"

static const invar_metric described[] = {
	{.id = "lc.clean",
     .measurement = "lc",
     .row = "LC",
     .part = "clean",
     .unit = INVAR_UNIT_SHARE,
     .better = 1,
     .digits = 1},
	{.id = "lc.augmented",
     .measurement = "lc",
     .row = "LC",
     .part = "augmented",
     .unit = INVAR_UNIT_SHARE,
     .better = 1,
     .digits = 1},
	{.id = "structure.pairs",
     .measurement = "structure",
     .row = "pairs",
     .unit = INVAR_UNIT_COUNT,
     .better = 0},
};

static invar_value share(double value)
{
	return (invar_value){
		.value = value, .low = value - 0.1, .high = value + 0.1, .count = 9};
}

/* Two adapters of equal name, and one called F. */
static invar_results *make(const char *fingerprint)
{
	invar_results *r;
	invar_value v = share(0.5), none = {.reason = "one class"};

	assert_int_equal(inv_results_new(&r), INVAR_OK);
	inv_results_describe(r, "bank", json_string("bank"));
	inv_results_describe(r, "fingerprint", json_string(fingerprint));
	inv_results_describe(r, "split", json_string("test"));
	inv_results_describe(r, "points", json_integer(9));
	assert_int_equal(inv_results_add_column(r, "F", "F", NULL), INVAR_OK);
	assert_int_equal(inv_results_add_column(r, "1", "run", "a/run"), INVAR_OK);
	assert_int_equal(inv_results_add_column(r, "2", "run", "b/run"), INVAR_OK);
	assert_int_equal(inv_results_add_column(r, "3", "F", "F"), INVAR_OK);
	inv_results_add_measurement(r, "lc", "LC");
	inv_results_add_measurement(r, "nc", "NC");
	inv_results_add_measurement(r, "structure", "structure");
	inv_results_note(r, "3 rows of test have no label");
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(inv_results_add_metric(r, &described[i]), INVAR_OK);
	assert_int_equal(inv_results_put(r, "lc.clean", "F", &v), INVAR_OK);
	v = share(0.6);
	assert_int_equal(inv_results_put(r, "lc.clean", "1", &v), INVAR_OK);
	v = share(0.7);
	assert_int_equal(inv_results_put(r, "lc.clean", "2", &v), INVAR_OK);
	v = share(0.8);
	assert_int_equal(inv_results_put(r, "lc.clean", "3", &v), INVAR_OK);
	assert_int_equal(inv_results_put(r, "lc.augmented", "1", &none), INVAR_OK);
	assert_int_equal(inv_results_skip(r, "nc", NULL, "test has no labels"), INVAR_OK);
	inv_results_options(r, "lc", json_pack("{s:i}", "probe-epochs", 5));
	return r;
}

static void equal_titles_keep_a_column_each(void **state)
{
	invar_results *r = make("x");

	(void)state;
	assert_int_equal(invar_results_columns(r), 4);
	assert_string_equal(invar_results_column(r, 2)->title, "run");
	assert_string_equal(invar_results_column(r, 3)->title, "F");
	assert_null(invar_results_column(r, 4));
	assert_true(invar_results_value(r, "lc.clean", "1")->value == 0.6);
	assert_true(invar_results_value(r, "lc.clean", "2")->value == 0.7);
	assert_true(invar_results_value(r, "lc.clean", "3")->value == 0.8);
	assert_true(invar_results_value(r, "lc.clean", "F")->value == 0.5);
	assert_int_equal(inv_results_add_column(r, "2", "other", NULL), INVAR_E_USE);
	invar_results_free(r);
}

static void what_is_absent_says_why(void **state)
{
	invar_results *r = make("x");
	invar_value v = share(1);

	(void)state;
	assert_string_equal(invar_results_value(r, "lc.augmented", "1")->reason, "one class");
	assert_null(invar_results_value(r, "lc.augmented", "2"));
	assert_null(invar_results_value(r, "structure.pairs", "F"));
	assert_null(invar_results_value(r, "nothing", "F"));
	assert_string_equal(invar_results_skipped(r, "nc", "1"), "test has no labels");
	assert_null(invar_results_skipped(r, "lc", "1"));
	assert_int_equal(inv_results_put(r, "nothing", "F", &v), INVAR_E_USE);
	assert_int_equal(inv_results_put(r, "lc.clean", "9", &v), INVAR_E_USE);
	assert_string_equal(invar_results_about(r, "split"), "test");
	assert_true(invar_results_about_number(r, "points") == 9);
	assert_null(invar_results_about(r, "points"));
	invar_results_free(r);
}

static void json_goes_out_and_comes_back(void **state)
{
	invar_results *r = make("x"), *back;
	char *text, *again;
	json_t *document;

	(void)state;
	assert_int_equal(invar_results_json(r, &text), INVAR_OK);
	document = json_loads(text, 0, NULL);
	assert_int_equal(inv_results_read(document, "here", &back), INVAR_OK);
	assert_int_equal(invar_results_json(back, &again), INVAR_OK);
	{
		json_t *a = json_loads(text, 0, NULL), *b = json_loads(again, 0, NULL);

		assert_true(json_equal(a, b));
		json_decref(a);
		json_decref(b);
	}
	assert_int_equal(invar_results_metric(back, 2)->unit, INVAR_UNIT_COUNT);
	assert_int_equal(invar_results_metric(back, 0)->better, 1);
	assert_true(isnan(invar_results_value(back, "lc.augmented", "1")->low));
	json_decref(document);
	invar_free(text);
	invar_free(again);
	invar_results_free(r);
	invar_results_free(back);
}

/* Each document is refused, and says where. */
static void broken_documents_are_refused(void **state)
{
	static const char *const broken[] = {
		"{}",
		"{\"format\": \"invar-results\", \"version\": 2}",
		"{\"format\": \"invar-results\", \"version\": 1}",
		"{\"format\": \"invar-results\", \"version\": 1, \"columns\": [{\"id\": 3}]}",
		"{\"format\": \"invar-results\", \"version\": 1, \"columns\": [{\"id\": \"F\","
		"\"title\": \"F\"}, {\"id\": \"F\", \"title\": \"F\"}]}",
		"{\"format\": \"invar-results\", \"version\": 1, \"columns\": [], \"metrics\": "
		"[{\"id\": \"a\"}]}",
		"{\"format\": \"invar-results\", \"version\": 1, \"columns\": [], \"metrics\": []}",
		"{\"format\": \"invar-results\", \"version\": 1, \"columns\": [], \"metrics\": [], "
		"\"values\": {\"a\": {\"F\": {}}}}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
		json_t *document = json_loads(broken[i], 0, NULL);
		invar_results *r;

		assert_non_null(document);
		if (inv_results_read(document, "here", &r) != INVAR_E_FORMAT)
			fail_msg("%s was accepted", broken[i]);
		test_assert_error("here: is not a results document");
		assert_null(r);
		json_decref(document);
	}
}

static size_t entries(const json_t *metrics)
{
	return json_array_size(json_object_get(metrics, "measured"));
}

static void a_second_bank_adds_and_the_same_replaces(void **state)
{
	invar_results *a = make("bank-a"), *b = make("bank-b");
	json_t *metrics = NULL;
	invar_value v = share(0.9);
	const json_t *entry;

	(void)state;
	assert_int_equal(inv_results_merge(a, "1", "m", &metrics), INVAR_OK);
	assert_int_equal(entries(metrics), 2); /* lc and structure */
	assert_int_equal(inv_results_merge(b, "1", "m", &metrics), INVAR_OK);
	assert_int_equal(entries(metrics), 4);
	assert_int_equal(inv_results_put(a, "lc.clean", "1", &v), INVAR_OK);
	assert_int_equal(inv_results_merge(a, "1", "m", &metrics), INVAR_OK);
	assert_int_equal(entries(metrics), 4);
	entry = json_array_get(json_object_get(metrics, "measured"), 0);
	assert_true(json_number_value(json_object_get(
					json_object_get(json_object_get(entry, "E"), "lc.clean"), "value")) ==
	            0.9);
	inv_results_options(a, "lc", json_pack("{s:i}", "probe-epochs", 50));
	assert_int_equal(inv_results_merge(a, "1", "m", &metrics), INVAR_OK);
	assert_int_equal(entries(metrics), 5); /* other options, another entry */
	json_decref(metrics);
	metrics = json_pack("{s:s}", "format", "other data");
	assert_int_equal(inv_results_merge(a, "1", "m", &metrics), INVAR_E_FORMAT);
	json_decref(metrics);
	invar_results_free(a);
	invar_results_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_titles_keep_a_column_each),
		cmocka_unit_test(what_is_absent_says_why),
		cmocka_unit_test(json_goes_out_and_comes_back),
		cmocka_unit_test(broken_documents_are_refused),
		cmocka_unit_test(a_second_bank_adds_and_the_same_replaces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
