/* SPDX-License-Identifier: Apache-2.0 */
/* test_results_table.c - any results as a table, from their descriptions. */
#include "report/results_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "run/results.h"
#include "support.h"

/* A measurement that does not exist. */
static const invar_metric metrics[] = {
	{.id = "zip.a",
     .measurement = "zip",
     .row = "Zip",
     .part = "a",
     .unit = INVAR_UNIT_SHARE,
     .digits = 1},
	{.id = "zip.b",
     .measurement = "zip",
     .row = "Zip",
     .part = "b",
     .unit = INVAR_UNIT_SHARE,
     .digits = 1},
	{.id = "zip.size", .measurement = "zip", .row = "size", .digits = 4},
	{.id = "zip.number", .measurement = "zip", .row = "number", .unit = INVAR_UNIT_COUNT},
	{.id = "zip.never", .measurement = "zip", .row = "never"},
};

static void put(invar_results *r, const char *metric, const char *column, double value,
                double low, double high)
{
	const invar_value v = {.value = value, .low = low, .high = high};

	assert_int_equal(inv_results_put(r, metric, column, &v), INVAR_OK);
}

static invar_results *make(void)
{
	const invar_value few = {
		.value = 1, .low = NAN, .high = NAN, .no_interval = "too few (n = 2)"};
	invar_results *r;

	assert_int_equal(inv_results_new(&r), INVAR_OK);
	inv_results_add_column(r, "F", "F", NULL);
	inv_results_add_column(r, "1", "a|b", "run");
	inv_results_add_measurement(r, "zip", "Zip");
	inv_results_add_measurement(r, "zap", "Zap");
	inv_results_add_measurement(r, "zop", "Zop");
	for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
		inv_results_add_metric(r, &metrics[i]);
	put(r, "zip.a", "F", 0.5, 0.25, 0.75);
	put(r, "zip.b", "F", 0, 0, 0);
	inv_results_put(r, "zip.b", "1", &few);
	put(r, "zip.size", "F", 0.00012345, NAN, NAN);
	put(r, "zip.size", "1", 12.5, NAN, NAN);
	put(r, "zip.number", "1", 7, NAN, NAN);
	inv_results_note(r, "3 rows have no label");
	inv_results_skip(r, "zap", NULL, "no labels");
	inv_results_skip(r, "zop", "1", "no labels");
	put(r, "zip.number", "F", 1e15, NAN, NAN);
	return r;
}

/* Takes r. */
static void assert_written(invar_results *r, const char *format, const char *want)
{
	inv_table *t = inv_results_table(r, true);
	char *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	assert_non_null(t);
	assert_true(inv_table_write(t, format, f));
	fclose(f);
	assert_string_equal(text, want);
	free(text);
	inv_table_free(t);
	invar_results_free(r);
}

static void assert_table(const char *format, const char *want)
{
	assert_written(make(), format, want);
}

static void rows_follow_from_descriptions(void **state)
{
	(void)state;
	assert_table("text", "                       F        a|b\n"
	                     "Zip, %        50.0 | 0.0  – | 100.0\n"
	                     "  95 %     25.0–75.0 | –      – | –\n"
	                     "size           1.234e-04    12.5000\n"
	                     "number  1000000000000000          7\n"
	                     "\n"
	                     "no interval (–) where all images agree\n"
	                     "too few (n = 2)\n"
	                     "3 rows have no label\n"
	                     "Zap and Zop were not measured: no labels\n");
}

static void bars_in_markdown_are_escaped(void **state)
{
	(void)state;
	assert_table("markdown", "|  | F | a\\|b |\n"
	                         "|---|---:|---:|\n"
	                         "| Zip, % | 50.0 \\| 0.0 | – \\| 100.0 |\n"
	                         "|   95 % | 25.0–75.0 \\| – | – \\| – |\n"
	                         "| size | 1.234e-04 | 12.5000 |\n"
	                         "| number | 1000000000000000 | 7 |\n"
	                         "\nno interval (–) where all images agree\n"
	                         "\ntoo few (n = 2)\n"
	                         "\n3 rows have no label\n"
	                         "\nZap and Zop were not measured: no labels\n");
}

/* Published figures have their own number of decimals, and no powers of ten. */
static void a_value_may_have_its_own_digits(void **state)
{
	const invar_value share = {.value = 0.9466, .low = NAN, .high = NAN, .digits = 2};
	const invar_value size = {.value = 0.01, .low = NAN, .high = NAN, .digits = 2};
	invar_results *r;

	(void)state;
	assert_int_equal(inv_results_new(&r), INVAR_OK);
	inv_results_add_column(r, "1", "E", NULL);
	inv_results_add_column(r, "1-published", "paper", NULL);
	inv_results_add_measurement(r, "zip", "Zip");
	inv_results_add_metric(r, &metrics[0]);
	inv_results_add_metric(r, &metrics[2]);
	put(r, "zip.a", "1", 0.9466, NAN, NAN);
	put(r, "zip.size", "1", 0.0001, NAN, NAN);
	inv_results_put(r, "zip.a", "1-published", &share);
	inv_results_put(r, "zip.size", "1-published", &size);
	assert_written(r, "text",
	               "                E  paper\n"
	               "Zip, %       94.7  94.66\n"
	               "size    1.000e-04   0.01\n");
}

/* Names as anybody could choose them. */
static void assert_cells(const char *format, const char *want)
{
	static const char *const cells[] = {
		"class",      "n",
		"=1+2",       "-1.5 | -2",
		"a<b>&c|d",   "-2+cmd|' /C x'!A0",
		"x\u202ecba", "e\033z\u200b\xc2\x85",
	};
	inv_table *t = inv_table_new(2);
	char *text = NULL;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	assert_non_null(t);
	for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
		inv_table_cell(t, "%s", cells[i]);
	inv_table_note(t, "\u2066note");
	assert_true(inv_table_write(t, format, f));
	fclose(f);
	assert_string_equal(text, want);
	free(text);
	inv_table_free(t);
}

static void hostile_names_stay_names(void **state)
{
	(void)state;
	assert_cells("text", "class                       n\n"
	                     "=1+2                -1.5 | -2\n"
	                     "a<b>&c|d    -2+cmd|' /C x'!A0\n"
	                     "x\\u202ecba         e?z\\u200b?\n"
	                     "\n\\u2066note\n");
	assert_cells("csv", "class,n\r\n"
	                    "\"'=1+2\",-1.5 | -2\r\n"
	                    "a<b>&c|d,\"'-2+cmd|' /C x'!A0\"\r\n"
	                    "x\\u202ecba,e?z\\u200b?\r\n"
	                    "\\u2066note,\r\n");
	assert_cells("markdown", "| class | n |\n"
	                         "|---|---:|\n"
	                         "| =1+2 | -1.5 \\| -2 |\n"
	                         "| a&lt;b&gt;&amp;c\\|d | -2+cmd\\|' /C x'!A0 |\n"
	                         "| x\\\\u202ecba | e?z\\\\u200b? |\n"
	                         "\n\\\\u2066note\n");
}

static void long_cells_are_shortened(void **state)
{
	char name[604], *text = NULL;
	inv_table *t = inv_table_new(1);
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);

	(void)state;
	assert_non_null(t);
	memset(name, 'n', sizeof name);
	for (size_t length = 199; length <= 202; length++)
		inv_table_cell(t, "%.*s", (int)length, name);
	for (size_t i = 0; i < 201; i++)
		memcpy(name + 3 * i, "€", 4);
	inv_table_cell(t, "%s", name);
	assert_true(inv_table_write(t, "text", f));
	fclose(f);
	assert_int_equal(strlen(text), 200 + 201 + 2 * (197 + 3 + 1) + 197 * 3 + 3 + 1);
	assert_non_null(strstr(text, "nn…\n"));
	assert_non_null(strstr(text, "€…\n"));
	free(text);
	inv_table_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_follow_from_descriptions),
		cmocka_unit_test(bars_in_markdown_are_escaped),
		cmocka_unit_test(a_value_may_have_its_own_digits),
		cmocka_unit_test(hostile_names_stay_names),
		cmocka_unit_test(long_cells_are_shortened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
