/* SPDX-License-Identifier: Apache-2.0 */
/* test_figure.c - figures of results that nobody has heard of, and of hostile ones. */
#include "report/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/axis.h"
#include "run/results.h"
#include "support.h"

/* ---- Axes ---------------------------------------------------------------------------- */

static const inv_axis number = {.title = "size"};
static const inv_axis share = {.title = "part", .unit = INVAR_UNIT_SHARE};
static const inv_axis angle = {.title = "angle", .symbol = "°"};

static inv_scale scale_of(const inv_axis *axis, double a, double b)
{
	inv_scale s;

	inv_scale_begin(&s, axis);
	inv_scale_add(&s, a);
	inv_scale_add(&s, b);
	inv_scale_place(&s, 100, 200, false);
	return s;
}

static void assert_labels(const inv_axis *axis, double a, double b, const char *expected)
{
	inv_scale s = scale_of(axis, a, b);
	double tick[INV_MAX_TICKS];
	size_t count = inv_scale_ticks(&s, tick);
	char all[400] = "", label[INV_TICK_TEXT];

	for (size_t i = 0; i < count; i++) {
		inv_scale_label(&s, tick[i], label);
		strcat(all, i ? "," : "");
		strcat(all, label);
	}
	assert_string_equal(all, expected);
	assert_true(inv_scale_at(&s, tick[0]) >= 100 - 1e-6);
	assert_true(inv_scale_at(&s, tick[count - 1]) <= 300 + 1e-6);
}

static void ticks_are_round_numbers(void **state)
{
	(void)state;
	assert_labels(&number, 0, 1, "0.0,0.2,0.4,0.6,0.8,1.0");
	assert_labels(&share, 0.51, 0.83, "50 %,55 %,60 %,65 %,70 %,75 %,80 %,85 %");
	assert_labels(&share, 0.1, 0.97, "0 %,20 %,40 %,60 %,80 %,100 %");
	assert_labels(&angle, -180, 180, "-180°,-135°,-90°,-45°,0°,45°,90°,135°,180°");
	assert_labels(&angle, -29, 31, "-30°,-15°,0°,15°,30°,45°");
	assert_labels(&angle, 0, 170, "0°,30°,60°,90°,120°,150°,180°");
	assert_labels(&number, 7, 7, "6.2,6.4,6.6,6.8,7.0,7.2,7.4,7.6,7.8");
	assert_labels(&number, 1e-4, 30, "0.0001,0.001,0.01,0.1,1,10,100");
	assert_labels(&number, NAN, INFINITY, "0.0,0.2,0.4,0.6,0.8,1.0");
	assert_labels(&number, -1e300, 2e9,
	              "1.8e+09,1.85e+09,1.9e+09,1.95e+09,2e+09,2.05e+09,"
	              "2.1e+09,2.15e+09,2.2e+09");
}

/* ---- Documents ------------------------------------------------------------------------
 */

static const invar_metric metrics[] = {
	{.id = "zip.clean",
     .measurement = "zip",
     .row = "Zip",
     .part = "clean",
     .unit = INVAR_UNIT_SHARE},
	{.id = "zip.augmented",
     .measurement = "zip",
     .row = "Zip",
     .part = "augmented",
     .unit = INVAR_UNIT_SHARE},
	{.id = "zap.rate", .measurement = "zap", .row = "Zap", .unit = INVAR_UNIT_SHARE},
	{.id = "zap.number", .measurement = "zap", .row = "number"},
};

static const double numbers[] = {0, 1, 2};
static const int32_t labels[] = {0, 1, -1};

static const char *hostile = "<script>\"&'\n\xff\xfe]]>";

static void add_plots(invar_results *r, const char *column, double scale)
{
	const char *classes[] = {hostile, "b"}, *marks[] = {"clean", "augmented"};
	const inv_axis none = {.title = ""}, size = {.title = "size"};
	const inv_series series = {"zip.size", "zip", "<script>\"&'\n]]>", &size, &share};
	const inv_scatter map = {"map", "zip", "a map", &none, &none, classes, 2, marks, 2};
	const inv_scatter pairs = {
		.id = "pairs", .measurement = "zip", .title = "pairs", .x = &size, .y = &size};
	const double y[] = {0.2 * scale, NAN, 0.4 * scale}, low[] = {0.1 * scale, NAN, NAN};
	const double high[] = {0.3 * scale, NAN, NAN}, large[] = {-scale, 0, scale};
	const inv_line line = {"fit", scale, -scale};
	const inv_curve curve = {3, numbers, y, low, high, NULL};
	const inv_points points = {
		.count = 3, .total = 9, .x = large, .y = numbers, .label = labels, .mark = labels};
	const inv_points bare = {
		.count = 3, .total = 3, .x = large, .y = large, .lines = &line, .line_count = 1};

	inv_results_add_series(r, &series);
	inv_results_add_scatter(r, &map);
	inv_results_add_scatter(r, &pairs);
	assert_int_equal(inv_results_put_curve(r, "zip.size", column, &curve), INVAR_OK);
	assert_int_equal(inv_results_put_points(r, "map", column, &points), INVAR_OK);
	assert_int_equal(inv_results_put_points(r, "pairs", column, &bare), INVAR_OK);
}

static invar_results *make(double scale)
{
	const invar_value v = {.value = 0.5 * scale, .low = 0.4 * scale, .high = 0.6 * scale};
	invar_results *r;

	assert_int_equal(inv_results_new(&r), INVAR_OK);
	inv_results_add_column(r, "F", "F", NULL);
	inv_results_add_column(r, "1", hostile, "run");
	inv_results_add_measurement(r, "zip", "Zip");
	inv_results_add_measurement(r, "zap", "zap title");
	for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
		inv_results_add_metric(r, &metrics[i]);
		inv_results_put(r, metrics[i].id, "F", &v);
		if (i != 1)
			inv_results_put(r, metrics[i].id, "1", &v);
	}
	add_plots(r, "F", scale);
	add_plots(r, "1", scale);
	return r;
}

static void documents_say_what_can_be_drawn(void **state)
{
	static const char *const ids[] = {"accuracy", "zap", "zip.size", "map", "pairs"};
	invar_results *r = make(1);
	inv_figure f;
	size_t count = 0;

	(void)state;
	for (; inv_figure_find(r, count, &f); count++)
		assert_string_equal(f.id, ids[count]);
	assert_int_equal(count, 5);
	invar_results_free(r);
}

/* librsvg is a strict reader of XML; without it, only the text is looked at. */
static void assert_is_drawn(const inv_svg *svg)
{
	char reason[256] = "";
	uint8_t *rgb;

	assert_null(strstr(svg->text, "<script>"));
	assert_null(strstr(svg->text, "nan"));
	assert_null(strstr(svg->text, "inf"));
	if (!inv_can_draw())
		return;
	rgb = inv_draw_svg(svg->text, svg->size, (uint32_t)svg->width, (uint32_t)svg->height,
	                   reason, sizeof reason);
	assert_string_equal(reason, "");
	assert_non_null(rgb);
	free(rgb);
}

static void draw_all(double scale, inv_svg_theme theme)
{
	invar_results *r = make(scale);
	inv_figure f;

	for (size_t i = 0; inv_figure_find(r, i, &f); i++) {
		inv_svg svg;

		assert_true(inv_figure_draw(r, &f, &(inv_figure_form){.theme = theme}, &svg));
		assert_is_drawn(&svg);
		inv_svg_free(&svg);
	}
	invar_results_free(r);
}

static void all_figures_are_drawn(void **state)
{
	(void)state;
	draw_all(1, INV_SVG_LIGHT);
	draw_all(1, INV_SVG_DARK);
}

static void any_numbers_are_drawn(void **state)
{
	(void)state;
	draw_all(0, INV_SVG_LIGHT);
	draw_all(-3, INV_SVG_LIGHT);
	draw_all(1e-300, INV_SVG_LIGHT);
	draw_all(1e300, INV_SVG_LIGHT);
}

/* A share below 0, such as that of a displacement which has grown, is a bar to the left. */
static void negative_shares_are_bars_to_the_left(void **state)
{
	invar_results *r = make(-0.5);
	inv_figure f;
	inv_svg svg;

	(void)state;
	assert_true(inv_figure_find(r, 1, &f));
	assert_string_equal(f.id, "zap");
	assert_true(inv_figure_draw(r, &f, &(inv_figure_form){.theme = INV_SVG_LIGHT}, &svg));
	assert_null(strstr(svg.text, "width=\"-"));
	assert_non_null(strstr(svg.text, ">-30 %<")); /* a tick: the bars end at -25 % */
	assert_null(strstr(svg.text, "iv-paper-stroke\" stroke-width"));
	inv_svg_free(&svg);
	invar_results_free(r);
	r = make(-5); /* -250 %: cut off */
	assert_true(inv_figure_find(r, 1, &f));
	assert_true(inv_figure_draw(r, &f, &(inv_figure_form){.theme = INV_SVG_LIGHT}, &svg));
	assert_null(strstr(svg.text, "width=\"-"));
	assert_null(strstr(svg.text, ">-120 %<"));
	assert_non_null(strstr(svg.text, ">-100 %<"));
	assert_non_null(strstr(svg.text, "iv-paper-stroke\" stroke-width"));
	inv_svg_free(&svg);
	invar_results_free(r);
}

static void classes_differ_in_colour_and_shape(void **state)
{
	enum { CLASSES = 66 };
	const char *classes[CLASSES], *marks[] = {"clean", "augmented"};
	const inv_axis none = {.title = ""};
	const inv_scatter map = {"map",   "zip",   "a map", &none, &none,
	                         classes, CLASSES, marks,   2};
	inv_legend_entry entry[200];
	invar_results *r;
	inv_figure f;
	size_t count;

	(void)state;
	for (size_t i = 0; i < CLASSES; i++)
		classes[i] = "a class";
	assert_int_equal(inv_results_new(&r), INVAR_OK);
	inv_results_add_column(r, "F", "F", NULL);
	inv_results_add_measurement(r, "zip", "Zip");
	assert_int_equal(inv_results_add_scatter(r, &map), INVAR_OK);
	assert_true(inv_figure_find(r, 0, &f));
	assert_true(inv_figure_legend_size(r) <= 200);
	count = f.kind->legend(r, &f, entry);
	assert_int_equal(count, 2 + CLASSES); /* none is one of "others" */
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			assert_true(entry[i].colour != entry[j].colour ||
			            entry[i].shape != entry[j].shape);
	for (size_t i = 3; i < count; i++) /* neighbours differ in both */
		assert_true(entry[i].colour != entry[i - 1].colour &&
		            entry[i].shape != entry[i - 1].shape);
	invar_results_free(r);
}

static void assert_text(const char *text, size_t max, const char *expected)
{
	char *made = NULL;
	size_t size;
	FILE *out = open_memstream(&made, &size);

	assert_non_null(out);
	inv_xml_text(out, text, max);
	fclose(out);
	assert_string_equal(made, expected);
	free(made);
}

static void text_stays_text(void **state)
{
	(void)state;
	assert_text("<b a='1' c=\"2\">&amp;", 99,
	            "&lt;b a=&#39;1&#39; c=&quot;2&quot;&gt;&amp;amp;");
	assert_text("a\nb\tc\x1b[1m\x7f", 99, "a?b?c?[1m?");
	assert_text("\xff\xc3(\xed\xa0\x80\xc0\xaf", 99,
	            "?"
	            "?(?????");
	assert_text("x\xe2\x80\xaey\xe2\x81\xa6z\xe2\x80\xa8", 99, "x?y?z?"); /* U+202E … */
	assert_text("\xc2\x9b"
	            "31m\xc2\xa0\xef\xbb\xbf",
	            99, "?31m\xc2\xa0?");
	assert_text("\xd7\xa9\xe2\x80\x8d\xf0\x9f\x98\x80", 99,
	            "\xd7\xa9\xe2\x80\x8d\xf0\x9f\x98\x80"); /* letters, a joiner, a face */
	assert_text("abcdef", 4, "abc…");
	assert_text("<<<<<<", 4, "&lt;&lt;&lt;…");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ticks_are_round_numbers),
		cmocka_unit_test(documents_say_what_can_be_drawn),
		cmocka_unit_test(all_figures_are_drawn),
		cmocka_unit_test(any_numbers_are_drawn),
		cmocka_unit_test(negative_shares_are_bars_to_the_left),
		cmocka_unit_test(classes_differ_in_colour_and_shape),
		cmocka_unit_test(text_stays_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
