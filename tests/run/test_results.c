/* SPDX-License-Identifier: Apache-2.0 */
/* test_results.c - claims about the results document. */
#include "run/results.h"

#include <math.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>

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
	assert_string_equal(inv_results_skipped(r, "nc", "1"), "test has no labels");
	assert_null(inv_results_skipped(r, "lc", "1"));
	assert_int_equal(inv_results_put(r, "nothing", "F", &v), INVAR_E_USE);
	assert_int_equal(inv_results_put(r, "lc.clean", "9", &v), INVAR_E_USE);
	assert_string_equal(invar_results_about(r, "split"), "test");
	assert_true(inv_results_about_number(r, "points") == 9);
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

static void *ask(void *results)
{
	const invar_results *r = results;
	size_t right = 0;

	for (size_t i = 0; i < 2000; i++)
		right += invar_results_value(r, "lc.clean", "2")->value == 0.7 &&
		         strcmp(inv_results_skipped(r, "nc", "1"), "test has no labels") == 0 &&
		         !invar_results_value(r, "structure.pairs", "F");
	return right == 2000 ? results : NULL;
}

/* Run it under -fsanitize=thread to see a write. */
static void threads_ask_the_same_results(void **state)
{
	invar_results *r = make("x");
	pthread_t thread[4];
	void *right;

	(void)state;
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, ask, r), 0);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(thread[i], &right), 0);
		assert_ptr_equal(right, r);
	}
	invar_results_free(r);
}

/* Each document is rejected with the place of the fault. */
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

/* ---- Series and scatters ------------------------------------------------------------ */

static const inv_axis angle = {.title = "angle", .symbol = "°"};
static const inv_axis accuracy = {.title = "accuracy", .unit = INVAR_UNIT_SHARE};
static const inv_axis first = {.title = "first"}, second = {.title = "second"};
static const inv_series over_angle = {"lc.angle", "lc", "accuracy over angle", &angle,
                                      &accuracy};
static const char *const class_names[] = {"cat", "<dog>"};
static const char *const mark_names[] = {"clean", "augmented"};
static const inv_scatter embedding = {.id = "tsne",
                                      .measurement = "lc",
                                      .title = "t-SNE",
                                      .x = &first,
                                      .y = &second,
                                      .classes = class_names,
                                      .class_count = 2,
                                      .marks = mark_names,
                                      .mark_count = 2};

static const double three_x[] = {-90, 0, 90}, three_y[] = {0.25, NAN, 0.5};
static const double three_low[] = {0.125, NAN, 0.375}, three_high[] = {0.5, NAN, 0.625};
static const uint64_t three_counts[] = {7, 0, 9};
static const int32_t three_labels[] = {0, 1, -1}, three_marks[] = {1, 0, 0};

static inv_curve curve(void)
{
	return (inv_curve){3, three_x, three_y, three_low, three_high, three_counts};
}

static const uint64_t three_rows[] = {7, 0, 9};

static inv_points points(void)
{
	static const inv_line lines[] = {{"fit", 0.5, 1}, {"y = x", 1, 0}};

	return (inv_points){.count = 3,
	                    .total = 4000,
	                    .x = three_x,
	                    .y = three_x,
	                    .label = three_labels,
	                    .mark = three_marks,
	                    .lines = lines,
	                    .line_count = 2,
	                    .rows = three_rows};
}

static void add_plots(invar_results *r, const char *column)
{
	const inv_curve c = curve();
	const inv_points p = points();

	assert_int_equal(inv_results_add_series(r, &over_angle), INVAR_OK);
	assert_int_equal(inv_results_add_scatter(r, &embedding), INVAR_OK);
	assert_int_equal(inv_results_put_curve(r, "lc.angle", column, &c), INVAR_OK);
	assert_int_equal(inv_results_put_points(r, "tsne", column, &p), INVAR_OK);
}

static void check_plots(const invar_results *r, const char *column)
{
	const inv_series *s = inv_results_series(r, 0);
	const inv_scatter *e = inv_results_scatter(r, 0);
	const inv_curve *c = inv_results_curve(r, "lc.angle", column);
	const inv_points *p = inv_results_points(r, "tsne", column);

	assert_string_equal(s->title, "accuracy over angle");
	assert_string_equal(s->x->symbol, "°");
	assert_null(s->y->symbol);
	assert_int_equal(s->y->unit, INVAR_UNIT_SHARE);
	assert_null(inv_results_series(r, 1));
	assert_int_equal(c->count, 3);
	assert_true(c->x[2] == 90 && c->y[0] == 0.25 && isnan(c->y[1]));
	assert_true(isnan(c->low[1]) && c->high[2] == 0.625 && c->counts[2] == 9);
	assert_int_equal(e->class_count, 2);
	assert_string_equal(e->classes[1], "<dog>");
	assert_string_equal(e->marks[1], "augmented");
	assert_null(inv_results_scatter(r, 1));
	assert_int_equal(p->total, 4000);
	assert_true(p->x[0] == -90 && p->y[2] == 90 && p->label[2] == -1 && p->mark[0] == 1);
	assert_true(p->rows && p->rows[0] == 7 && p->rows[2] == 9);
	assert_int_equal(p->line_count, 2);
	assert_string_equal(p->lines[0].title, "fit");
	assert_true(p->lines[0].slope == 0.5 && p->lines[0].offset == 1);
}

static void series_and_points_go_out_and_come_back(void **state)
{
	invar_results *r = make("x"), *back;
	char *text, *again;
	json_t *document;

	(void)state;
	add_plots(r, "F");
	add_plots(r, "2"); /* the descriptions exist */
	add_plots(r, "2"); /* and so do the data, which are replaced */
	check_plots(r, "F");
	assert_null(inv_results_curve(r, "lc.angle", "1"));
	assert_null(inv_results_points(r, "nothing", "F"));
	assert_int_equal(invar_results_json(r, &text), INVAR_OK);
	document = json_loads(text, 0, NULL);
	assert_int_equal(inv_results_read(document, "here", &back), INVAR_OK);
	check_plots(back, "2");
	assert_int_equal(invar_results_json(back, &again), INVAR_OK);
	assert_string_equal(text, again);
	json_decref(document);
	invar_free(text);
	invar_free(again);
	invar_results_free(r);
	invar_results_free(back);
}

static void wrong_curves_and_points_are_refused(void **state)
{
	static double many[10001];
	const inv_curve endless = {10001, many, many, NULL, NULL, NULL};
	static const double nowhere[] = {0, NAN, 1};
	static const int32_t no_class[] = {0, 2, 0};
	invar_results *r = make("x");
	inv_curve c = curve();
	inv_points p = points();

	(void)state;
	add_plots(r, "F");
	assert_int_equal(inv_results_put_curve(r, "tsne", "F", &c), INVAR_E_USE);
	assert_int_equal(inv_results_put_curve(r, "lc.angle", "9", &c), INVAR_E_USE);
	assert_int_equal(inv_results_put_curve(r, "lc.angle", "F", &endless), INVAR_E_USE);
	test_assert_error("lc.angle, column F: a curve or a set of points has more than 10000");
	c.x = nowhere;
	assert_int_equal(inv_results_put_curve(r, "lc.angle", "F", &c), INVAR_E_USE);
	p.label = no_class;
	assert_int_equal(inv_results_put_points(r, "tsne", "F", &p), INVAR_E_USE);
	p = points();
	p.total = 2;
	assert_int_equal(inv_results_put_points(r, "tsne", "F", &p), INVAR_E_USE);
	p = points();
	p.y = nowhere;
	assert_int_equal(inv_results_put_points(r, "tsne", "F", &p), INVAR_E_USE);
	check_plots(r, "F"); /* what was there stays */
	invar_results_free(r);
}

#define AXES                                                                      \
	"\"x\": {\"title\": \"a\", \"unit\": \"number\"}, \"y\": {\"title\": \"b\", " \
	"\"unit\": \"share\"}"
#define SERIES \
	"{\"id\": \"s\", \"measurement\": \"lc\", \"title\": \"t\", " AXES ", \"columns\": "

/* Each of these as the series, or the scatters, of a document is refused. */
static void broken_plots_are_refused(void **state)
{
	static const struct {
		const char *key, *list, *why;
	} broken[] = {
		{"series", "{}", "not a list"},
		{"series", "[3]", "no columns"},
		{"series", "[{\"id\": \"s\", \"columns\": {}}]", "not described"},
		{"series", "[" SERIES "{}}, " SERIES "{}}]", "have the same id"},
		{"series", "[" SERIES "{\"9\": {\"x\": [], \"y\": []}}}]", "no column"},
		{"series", "[" SERIES "{\"F\": {\"x\": [1], \"y\": []}}}]", "differ in length"},
		{"series", "[" SERIES "{\"F\": {\"x\": [null], \"y\": [1]}}}]", "not a number"},
		{"series", "[" SERIES "{\"F\": {\"x\": [1], \"y\": [\"1\"]}}}]", "not a number"},
		{"series", "[" SERIES "{\"F\": {\"x\": [1], \"y\": [1], \"low\": [0]}}}]",
	     "one end"},
		{"series", "[" SERIES "{\"F\": {\"x\": [1], \"y\": [1], \"count\": [-1]}}}]",
	     "at least 0"},
		{"series", "[" SERIES "{\"F\": 7}}]", "array missing"},
		{"scatters", "[" SERIES "{\"F\": {\"x\": [1], \"y\": [1]}}}]", "its total"},
		{"scatters", "[" SERIES "{\"F\": {\"x\": [1], \"y\": [null], \"total\": 1}}}]",
	     "not a number"},
		{"scatters",
	     "[" SERIES "{\"F\": {\"x\": [1], \"y\": [1], \"class\": [0], \"total\": 1}}}]",
	     "no name"},
		{"scatters", "[" SERIES "{}, \"classes\": \"cat\"}]", "not a list"},
		{"scatters", "[" SERIES "{}, \"marks\": [3]}]", "not a text"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
		invar_results *whole = make("x"), *r;
		json_t *document = inv_results_document(whole);
		json_t *list = json_loads(broken[i].list, 0, NULL);

		assert_non_null(list);
		json_object_set_new(document, broken[i].key, list);
		if (inv_results_read(document, "here", &r) != INVAR_E_FORMAT)
			fail_msg("%s was accepted", broken[i].list);
		test_assert_error(broken[i].why);
		assert_null(r);
		json_decref(document);
		invar_results_free(whole);
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

static const json_t *measured(const json_t *metrics, size_t i, const char *key)
{
	const json_t *entry = json_array_get(json_object_get(metrics, "measured"), i);

	return json_object_get(entry, key);
}

static void a_run_keeps_the_series_of_its_column(void **state)
{
	invar_results *r = make("bank-a");
	const json_t *series, *scatter;
	json_t *metrics = NULL;

	(void)state;
	add_plots(r, "F");
	add_plots(r, "2");
	assert_int_equal(inv_results_merge(r, "2", "m", &metrics), INVAR_OK);
	assert_int_equal(inv_results_merge(r, "2", "m", &metrics), INVAR_OK);
	assert_int_equal(entries(metrics), 2);
	series = json_array_get(measured(metrics, 0, "series"), 0);
	scatter = json_array_get(measured(metrics, 0, "scatters"), 0);
	assert_string_equal(json_string_value(json_object_get(series, "id")), "lc.angle");
	assert_int_equal(json_array_size(json_object_get(json_object_get(series, "F"), "x")),
	                 3);
	assert_int_equal(json_array_size(json_object_get(json_object_get(series, "E"), "y")),
	                 3);
	assert_null(json_object_get(series, "columns"));
	assert_non_null(json_object_get(scatter, "E"));
	assert_null(measured(metrics, 1, "series"));
	json_decref(metrics);
	invar_results_free(r);
}

/* A row's title may contain an option: results with two values of it are both kept. */
static void each_measuring_keeps_its_own_row_titles(void **state)
{
	invar_results *r[2];
	json_t *metrics = NULL;

	(void)state;
	for (int i = 0; i < 2; i++) {
		const invar_metric m = {.id = "knn.clean",
		                        .measurement = "knn",
		                        .row = i ? "kNN, k = 5" : "kNN, k = 20"};
		const invar_value v = share(0.5);

		assert_int_equal(inv_results_new(&r[i]), INVAR_OK);
		inv_results_add_column(r[i], "F", "F", NULL);
		inv_results_add_measurement(r[i], "knn", "kNN");
		inv_results_add_metric(r[i], &m);
		inv_results_put(r[i], "knn.clean", "F", &v);
		inv_results_options(r[i], "knn", json_pack("{s:i}", "k", i ? 5 : 20));
		assert_int_equal(inv_results_merge(r[i], "F", "m", &metrics), INVAR_OK);
		invar_results_free(r[i]);
	}
	assert_int_equal(entries(metrics), 2);
	for (size_t i = 0; i < 2; i++)
		assert_string_equal(
			json_string_value(json_object_get(measured(metrics, i, "rows"), "knn.clean")),
			i ? "kNN, k = 5" : "kNN, k = 20");
	json_decref(metrics);
}

/* Of results with two values of an option the latest is shown, with the title of its row.
 */
static void a_run_alone_shows_the_latest_options(void **state)
{
	invar_results *r;

	(void)state;
	mkdir(test_path("twice"), 0777);
	for (int i = 0; i < 2; i++) {
		const invar_metric m = {
			.id = "knn.clean", .measurement = "knn", .row = i ? "5-NN" : "20-NN"};
		const invar_value v = share(i ? 0.5 : 0.7);

		assert_int_equal(inv_results_new(&r), INVAR_OK);
		inv_results_describe(r, "split", json_string("test"));
		inv_results_add_column(r, "F", "F", NULL);
		inv_results_add_column(r, "1", "twice", NULL);
		inv_results_add_measurement(r, "knn", "kNN");
		inv_results_add_metric(r, &m);
		inv_results_put(r, "knn.clean", "1", &v);
		inv_results_options(r, "knn", json_pack("{s:i}", "k", i ? 5 : 20));
		assert_int_equal(invar_run_keep_results(NULL, test_path("twice"), r, "1"),
		                 INVAR_OK);
		invar_results_free(r);
	}
	assert_int_equal(invar_run_results(NULL, test_path("twice/"), 0, &r), INVAR_OK);
	assert_int_equal(invar_results_metrics(r), 1);
	assert_string_equal(invar_results_metric(r, 0)->row, "5-NN");
	assert_true(invar_results_value(r, "knn.clean", "E")->value == 0.5);
	assert_string_equal(invar_results_column(r, 1)->title, "twice");
	invar_results_free(r);
	assert_int_equal(invar_run_results(NULL, test_path("twice"), 1, &r), INVAR_OK);
	assert_null(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_titles_keep_a_column_each),
		cmocka_unit_test(what_is_absent_says_why),
		cmocka_unit_test(json_goes_out_and_comes_back),
		cmocka_unit_test(threads_ask_the_same_results),
		cmocka_unit_test(broken_documents_are_refused),
		cmocka_unit_test(a_second_bank_adds_and_the_same_replaces),
		cmocka_unit_test(series_and_points_go_out_and_come_back),
		cmocka_unit_test(wrong_curves_and_points_are_refused),
		cmocka_unit_test(broken_plots_are_refused),
		cmocka_unit_test(a_run_keeps_the_series_of_its_column),
		cmocka_unit_test(each_measuring_keeps_its_own_row_titles),
		cmocka_unit_test(a_run_alone_shows_the_latest_options),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
