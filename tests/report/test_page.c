/* SPDX-License-Identifier: Apache-2.0 */
/* test_page.c - pages of results that nobody has heard of, with hostile names. */
#include "report/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/results.h"
#include "support.h"

/* As class names of results, which are UTF-8, and as any other text, which need not be. */
static const char *const hostile[] = {
	"<script>alert(1)</script>",
	"</script><script>alert(1)</script>",
	"\"><img src=x onerror=alert(1)>",
	"' onmouseover='alert(1)",
	"</title></style><b>",
	"<!--",
	"-->",
	"]]>",
	"&lt;&amp;&#60;",
	"a\nb\r\tc",
	"\x1b[31m\x07",
	"\xe2\x80\xae"
	"gnp.exe",                   /* U+202E */
	"\xe2\x81\xa6x\xe2\x81\xa9", /* U+2066, U+2069 */
	"\xe2\x80\xa8x\xe2\x80\xa9", /* U+2028, U+2029 */
	"\xc2\x85\xc2\x9b"
	"31m",          /* U+0085, U+009B */
	"\xef\xbb\xbf", /* U+FEFF */
	"${7*7}{{7*7}}`",
	"\\u003cscript\\u003e",
	"javascript:alert(1)",
	"\xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d", /* right to left, and harmless */
};
enum { HOSTILE = sizeof hostile / sizeof *hostile, LONG = 4000 };

static const char not_utf8[] = "\xff\xfe\xc3(\xed\xa0\x80<b>";

/* ---- A document ------------------------------------------------------------------------
 */

static const double numbers[] = {0, 1, 2};
static const uint64_t rows[] = {4, 5, 6};
static const int32_t labels[] = {0, 1, -1};

static void add_class(invar_results *r, const char *name, double value)
{
	char id[LONG + 64], row[LONG + 64];
	const invar_metric m = {.id = id,
	                        .measurement = "zip",
	                        .row = row,
	                        .unit = INVAR_UNIT_SHARE,
	                        .better = 1,
	                        .digits = 1,
	                        .detail = 1};
	const invar_value v = {.value = value, .low = NAN, .high = NAN, .count = 3};

	snprintf(id, sizeof id, "class.zip.%s", name);
	snprintf(row, sizeof row, "Zip, %s", name);
	assert_int_equal(inv_results_add_metric(r, &m), INVAR_OK);
	assert_int_equal(inv_results_put(r, id, "F", &v), INVAR_OK);
	assert_int_equal(inv_results_put(r, id, "1", &v), INVAR_OK);
}

static void add_plots(invar_results *r, const char *column, const char *const *classes)
{
	const inv_axis none = {.title = ""}, size = {.title = hostile[2]};
	const inv_series series = {"zip.size", "zip", hostile[0], &size, &size};
	const char *marks[] = {"clean", hostile[1]};
	const inv_scatter map = {"map\"<", "zip",       hostile[3], &none, &none,
	                         classes,  HOSTILE + 1, marks,      2};
	const inv_curve curve = {3, numbers, numbers, NULL, NULL, NULL};
	const inv_points points = {.count = 3,
	                           .total = 3,
	                           .x = numbers,
	                           .y = numbers,
	                           .label = labels,
	                           .mark = labels,
	                           .rows = rows};

	inv_results_add_series(r, &series);
	inv_results_add_scatter(r, &map);
	assert_int_equal(inv_results_put_curve(r, "zip.size", column, &curve), INVAR_OK);
	assert_int_equal(inv_results_put_points(r, "map\"<", column, &points), INVAR_OK);
}

static json_t *worst_list(void)
{
	json_t *list = json_array();

	for (size_t i = 0; i < 10; i++)
		json_array_append_new(list,
		                      json_pack("{s:i, s:s, s:s, s:f}", "row", (int)i, "name",
		                                hostile[i], "class", hostile[i + 10], "off", 1.5));
	return json_pack("{s:o}", "</script>", list);
}

/* before and after are accuracies, of augmented and of clean images. */
static invar_results *make_results(double before, double after, double clean_after)
{
	static const invar_metric metrics[] = {
		{.id = "kept.clean",
	     .measurement = "kept",
	     .row = "LC-kept",
	     .part = "clean",
	     .unit = INVAR_UNIT_SHARE,
	     .better = 1,
	     .digits = 1},
		{.id = "kept.augmented",
	     .measurement = "kept",
	     .row = "LC-kept",
	     .part = "augmented",
	     .unit = INVAR_UNIT_SHARE,
	     .better = 1,
	     .digits = 1},
	};
	const double value[2][2] = {{0.8, before}, {clean_after, after}};
	static char long_name[LONG + 1];
	const char *classes[HOSTILE + 1];
	invar_results *r;

	memset(long_name, '<', LONG);
	memcpy(classes, hostile, sizeof hostile);
	classes[HOSTILE] = long_name;
	assert_int_equal(inv_results_new(&r), INVAR_OK);
	inv_results_describe(r, "encoder", json_string(hostile[0]));
	inv_results_describe(r, "augment", json_string(hostile[1]));
	inv_results_describe(r, "split", json_string(hostile[2]));
	inv_results_add_column(r, "F", "F", NULL);
	inv_results_add_column(r, "1", not_utf8, "run");
	for (size_t m = 0; m < 2; m++) {
		inv_results_add_metric(r, &metrics[m]);
		for (size_t c = 0; c < 2; c++) {
			double v = value[c][m];
			const invar_value one = {.value = v, .low = v - 0.01, .high = v + 0.01};

			inv_results_put(r, metrics[m].id, c ? "1" : "F", &one);
		}
	}
	for (size_t i = 0; i <= HOSTILE; i++)
		add_class(r, classes[i], 0.01 * (double)i);
	add_plots(r, "F", classes);
	add_plots(r, "1", classes);
	inv_results_detail(r, "zip", "1", worst_list());
	inv_results_note(r, not_utf8);
	inv_results_skip(r, "zap", NULL, hostile[2]);
	return r;
}

static char *make_page(const invar_results *r, const inv_page_pictures *pictures)
{
	json_t *json = json_pack("{s:s, s:{s:s, s:s}}", "bank", hostile[0], "options",
	                         hostile[1], hostile[2], "loss", "</td>");
	const inv_page_run run = {.path = "a\"\\\n<b>",
	                          .title = not_utf8,
	                          .json = json,
	                          .d = 8,
	                          .hidden = 16,
	                          .w = 8,
	                          .residual = 1};
	inv_page_gaps gaps = {.count = 0};
	const inv_page page = {.document = &r,
	                       .document_count = r != NULL,
	                       .run = &run,
	                       .run_count = 1,
	                       .pictures = pictures,
	                       .gaps = &gaps};
	size_t size;
	char *text;

	inv_page_leave_out(&gaps, hostile[0], hostile[1]);
	text = inv_page_text(&page, &size);
	assert_non_null(text);
	assert_int_equal(strlen(text), size);
	json_decref(json);
	return text;
}

static size_t count(const char *text, const char *word)
{
	size_t found = 0;

	for (; (text = strstr(text, word)); text += strlen(word))
		found++;
	return found;
}

/* ---- Claims --------------------------------------------------------------------------
 */

/* Every '<' begins a tag that the page itself writes. */
static void assert_only_own_tags(const char *text)
{
	static const char *const own[] = {
		"!doctype", "!--",     "html", "head",   "meta",       "title",    "style",
		"body",     "header",  "h1",   "h2",     "h3",         "h4",       "p",
		"b",        "bdi",     "br",   "small",  "div",        "dl",       "dt",
		"dd",       "nav",     "a",    "main",   "section",    "table",    "thead",
		"tbody",    "tr",      "th",   "td",     "ul",         "ol",       "li",
		"i",        "figure",  "img",  "script", "figcaption", "svg",      "g",
		"path",     "rect",    "text", "code",   "pre",        "clipPath", "span",
		"details",  "summary",
	};
	const char *style = strstr(text, "<style>"), *script = strstr(text, "<script>\n");

	assert_non_null(style);
	assert_non_null(script);
	for (const char *at = text; (at = strchr(at, '<')); at++) {
		const char *name = at + 1 + (at[1] == '/');
		size_t length = strcspn(name, " >\n/");
		bool known = at > script && at < strstr(script, "</script>"); /* a comparison */

		for (size_t i = 0; i < sizeof own / sizeof *own; i++)
			known =
				known || (strlen(own[i]) == length && strncmp(name, own[i], length) == 0);
		if (!known)
			print_error("not a tag of ours: %.60s\n", at);
		assert_true(known);
	}
}

static void assert_no_controls(const char *text)
{
	static const char *const bytes[] = {"\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9",
	                                    "\xc2\x85",     "\xc2\x9b",     "\x1b",
	                                    "\x07",         "\xff"};
	const char *json = strstr(text, "<script type");
	size_t body = (size_t)(json - text);

	for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
		assert_null(memmem(text, body, bytes[i], strlen(bytes[i])));
}

static void names_stay_text(void **state)
{
	invar_results *r = make_results(0.5, 0.7, 0.79);
	char *text = make_page(r, NULL);

	(void)state;
	assert_only_own_tags(text);
	assert_no_controls(text);
	assert_int_equal(count(text, "<script"), 2); /* the documents and ours */
	assert_int_equal(count(text, "</script"), 2);
	assert_int_equal(count(text, "onerror=alert(1)>"), 0);
	assert_null(strstr(text, "<b>\n"));
	assert_non_null(strstr(text, "&lt;script&gt;alert(1)&lt;/script&gt;"));
	assert_non_null(strstr(text, "Content-Security-Policy"));
	free(text);
	invar_results_free(r);
}

/* Attributes of hostile names are in double quotes, which names cannot end. */
static void names_stay_in_attributes(void **state)
{
	invar_results *r = make_results(0.5, 0.7, 0.79);
	char *text = make_page(r, NULL);

	(void)state;
	*strstr(text, "<script type") = '\0'; /* JSON may hold what it likes */
	assert_non_null(strstr(text, "data-scatter=\"map&quot;&lt;\""));
	assert_null(strstr(text, "\" onmouseover="));
	assert_null(strstr(text, "' onmouseover="));
	free(text);
	invar_results_free(r);
}

static void long_names_are_cut(void **state)
{
	invar_results *r = make_results(0.5, 0.7, 0.79);
	char *text = make_page(r, NULL), *json = strstr(text, "<script type");
	char many[4 * 100 + 1] = "";

	(void)state;
	for (size_t i = 0; i < 100; i++)
		memcpy(many + 4 * i, "&lt;", 5);
	*json = '\0';
	assert_null(strstr(text, many)); /* shown with fewer than 100 characters */
	assert_non_null(strstr(text, "&lt;&lt;&lt;…"));
	free(text);
	invar_results_free(r);
}

/* What programs read has every name in full. */
static void json_has_the_names(void **state)
{
	invar_results *r = make_results(0.5, 0.7, 0.79);
	char *text = make_page(r, NULL), *begin = strstr(text, "id=\"invar-results\">"), *end;
	json_t *all;
	const char *name;

	(void)state;
	assert_non_null(begin);
	begin = strchr(begin, '>') + 1;
	end = strstr(begin, "</script>");
	*end = '\0';
	assert_null(strpbrk(begin, "<>&"));
	assert_non_null(all = json_loads(begin, 0, NULL));
	name = json_string_value(json_array_get(
		json_object_get(
			json_array_get(json_object_get(json_array_get(all, 0), "scatters"), 0),
			"classes"),
		1));
	assert_string_equal(name, hostile[1]);
	json_decref(all);
	free(text);
	invar_results_free(r);
}

static void assert_headline(double before, double after, double clean, const char *words)
{
	invar_results *r = make_results(before, after, clean);
	char *text = make_page(r, NULL);

	if (!strstr(text, words))
		print_error("%.600s\n", strstr(text, "class=\"headline\""));
	assert_non_null(strstr(text, words));
	free(text);
	invar_results_free(r);
}

static void a_loss_is_called_a_loss(void **state)
{
	(void)state;
	assert_headline(0.5, 0.7, 0.75,
	                "recognises <b>70.0&nbsp;%</b> of augmented images instead of "
	                "<b>50.0&nbsp;%</b> (better), and <b>75.0&nbsp;%</b> of clean images "
	                "instead of <b>80.0&nbsp;%</b> (worse)");
	assert_headline(0.5, 0.4, 0.85,
	                "<b>40.0&nbsp;%</b> of augmented images instead of <b>50.0&nbsp;%</b> "
	                "(worse), and <b>85.0&nbsp;%</b> of clean images instead of "
	                "<b>80.0&nbsp;%</b> (better)");
	assert_headline(0.5, 0.505, 0.8,
	                "<b>50.5&nbsp;%</b> of augmented images instead of <b>50.0&nbsp;%</b> "
	                "(same), and <b>80.0&nbsp;%</b> of clean images, as without it");
	assert_headline(0.5, 0.7, 0.75, "<div class=\"good\">better <small");
	assert_headline(0.5, 0.7, 0.75, ">69.0–71.0</small>");
	assert_headline(0.5, 0.7, 0.75, "<div class=\"bad\">worse <small");
	assert_headline(0.5, 0.505, 0.8, "<div class=\"same\">same <small");
}

static void the_best_is_marked(void **state)
{
	invar_results *r = make_results(0.5, 0.7, 0.75);
	char *text = make_page(r, NULL);

	(void)state;
	assert_non_null(strstr(text, "<td class=\"best\" title=\"best\"><b>80.0</b>"));
	assert_non_null(strstr(text, "<td class=\"best\" title=\"best\"><b>70.0</b>"));
	assert_null(strstr(text, "<b>50.0</b>"));
	assert_non_null(strstr(text, "<small>69.0–71.0</small>"));
	free(text);
	invar_results_free(r);
}

/* Of two adapters the best is shown alone, or the one that a trial named; far curves are
 * left out, by name. */
static void the_recommended_adapter_comes_first(void **state)
{
	static const double far[] = {1000, 1001, 1002};
	const inv_curve curve = {3, numbers, far, NULL, NULL, NULL};
	invar_results *r = make_results(0.5, 0.7, 0.75);
	const inv_page_run runs[] = {{.path = "one", .title = "one", .d = 8},
	                             {.path = "two", .title = "second", .d = 9}};
	inv_page page = {.document = (const invar_results *const[]){r},
	                 .document_count = 1,
	                 .run = runs,
	                 .run_count = 2};
	size_t size;
	char *text;

	(void)state;
	inv_results_add_column(r, "2", "second", "two");
	inv_results_put(r, "kept.clean", "2",
	                &(invar_value){.value = 0.6, .low = NAN, .high = NAN});
	inv_results_put(r, "kept.augmented", "2",
	                &(invar_value){.value = 0.6, .low = NAN, .high = NAN});
	assert_int_equal(inv_results_put_curve(r, "zip.size", "2", &curve), INVAR_OK);
	assert_non_null(text = inv_page_text(&page, &size));
	assert_non_null(strstr(text, "(the best of 2 here)"));
	assert_non_null(strstr(text, "off the chart: second"));
	assert_non_null(strstr(text, "torch.nn.Linear(8,"));
	assert_true(strstr(text, "torch.nn.Linear(8,") < strstr(text, "torch.nn.Linear(9,"));
	assert_true(strstr(text, "<details>") < strstr(text, "off the chart: second"));
	free(text);

	page.recommended = "second";
	assert_non_null(text = inv_page_text(&page, &size));
	assert_non_null(strstr(text, "<bdi>second</bdi>, recommended by the trial,"));
	assert_true(strstr(text, "torch.nn.Linear(9,") < strstr(text, "torch.nn.Linear(8,"));
	free(text);
	invar_results_free(r);
}

/* Bars of every measurement have the sentence about it, not only the first of a section. */
static void every_measurement_is_explained(void **state)
{
	static const char *const ids[] = {"collision", "same-class"};
	invar_results *r = make_results(0.5, 0.7, 0.75);
	char *text;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		char id[32], row[32];
		const invar_metric m = {
			.id = id, .measurement = ids[i / 2], .row = row, .unit = INVAR_UNIT_SHARE};
		const invar_value v = {.value = 0.5, .low = NAN, .high = NAN};

		snprintf(id, sizeof id, "%s.%zu", ids[i / 2], i);
		snprintf(row, sizeof row, "row %zu", i);
		inv_results_add_metric(r, &m);
		inv_results_put(r, id, "F", &v);
	}
	text = make_page(r, NULL);
	assert_int_equal(count(text, "<p class=\"about\">"), 2);
	free(text);
	invar_results_free(r);
}

static void nothing_measured_is_a_page(void **state)
{
	char *text = make_page(NULL, NULL);

	(void)state;
	assert_only_own_tags(text);
	assert_non_null(strstr(text, "Nothing was measured"));
	assert_non_null(strstr(text, "torch.nn.Linear(8, 16)"));
	assert_non_null(strstr(text, "features + E(features)"));
	assert_non_null(strstr(text, "(\"a\\&quot;\\\\\\x0a&lt;b&gt;"));
	free(text);
}

static void pictures_stand_in_the_page(void **state)
{
	static const char jpeg[] = "\xff\xd8\xff";
	invar_results *r = make_results(0.5, 0.7, 0.75);
	inv_page_picture one = {.bytes = (void *)(uintptr_t)jpeg,
	                        .size = 3,
	                        .width = 8,
	                        .height = 8,
	                        .caption = (char *)(uintptr_t)hostile[2],
	                        .right = 0};
	uint64_t row = 3;
	inv_page_query query = {
		.clean = one, .augmented = one, .by_f = &one, .by_e = &one, .nearest = 1};
	const inv_page_pictures pictures = {.sheet = &one,
	                                    .sheet_count = 1,
	                                    .per_image = 1,
	                                    .query = &query,
	                                    .query_count = 1,
	                                    .row = &one,
	                                    .row_number = &row,
	                                    .row_count = 1,
	                                    .query_title = (char *)(uintptr_t)not_utf8};
	char *text = make_page(r, &pictures);

	(void)state;
	assert_only_own_tags(text);
	assert_int_equal(count(text, "src=\"data:image/jpeg;base64,/9j/\""), 6);
	assert_int_equal(count(text, "alt=\"&quot;&gt;&lt;img src=x"), 6);
	free(text);
	invar_results_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_stay_text),
		cmocka_unit_test(names_stay_in_attributes),
		cmocka_unit_test(long_names_are_cut),
		cmocka_unit_test(json_has_the_names),
		cmocka_unit_test(a_loss_is_called_a_loss),
		cmocka_unit_test(the_best_is_marked),
		cmocka_unit_test(the_recommended_adapter_comes_first),
		cmocka_unit_test(every_measurement_is_explained),
		cmocka_unit_test(nothing_measured_is_a_page),
		cmocka_unit_test(pictures_stand_in_the_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
