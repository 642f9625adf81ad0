/* SPDX-License-Identifier: Apache-2.0 */
/*
 * figure_bars.c - fractions as bars: a group per row of the table, a bar per column.
 *
 * Rows of the metrics clean and augmented belong together whatever measured them, as the
 * figure "accuracy"; other fractions make one figure per measurement. Of a row with two
 * metrics the first is a pale wide bar and the second a narrow one on top of it, so that
 * the distance between them shows; the numbers stand at the end.
 *
 * Bars begin at 0 and go left where a fraction is negative, as that of a displacement which
 * has grown. Such a fraction has no lower bound, so bars end at -100 %, with a mark if they
 * would go on.
 */
#include "report/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/axis.h"
#include "run/results.h"

enum {
	NAME = 24, /* the title of a row, above its bars */
	NUMBERS = 118,
	BAR = 20,
	BAR_GAP = 5,
	GROUP_GAP = 12
};

#define ACCURACY "accuracy"

static const double least_shown = -1;

typedef struct chart {
	const invar_results *results;
	const inv_svg *svg;
	const char *id; /* ACCURACY, or a measurement */
	inv_scale x;
} chart;

/* How many metrics from `first` on are one group: 2, 1, or 0 if it is not drawn. */
static size_t group_at(const invar_results *r, size_t first)
{
	const invar_metric *m = invar_results_metric(r, first);

	if (m->unit != INVAR_UNIT_SHARE || m->detail || !inv_results_has_any(r, first))
		return 0;
	return inv_results_row_size(r, first) > 1 ? 2 : 1;
}

/* The figure that metric `first` begins a group of. */
static const char *figure_of(const invar_results *r, size_t first)
{
	const invar_metric *m = invar_results_metric(r, first),
					   *next = invar_results_metric(r, first + 1);

	return m->part && strcmp(m->part, "clean") == 0 && next && next->part &&
	               strcmp(next->part, "augmented") == 0
	           ? ACCURACY
	           : m->measurement;
}

/* The next group of a figure at or after metric `first`; its size in *bars. */
static bool next_group(const invar_results *r, const char *id, size_t *first, size_t *bars)
{
	for (; *first < invar_results_metrics(r); *first += *bars ? *bars : 1) {
		*bars = group_at(r, *first);
		if (*bars && strcmp(figure_of(r, *first), id) == 0)
			return true;
	}
	return false;
}

/*
 * Bars of a measurement that has curves, points or numbers by class of its own would repeat
 * these, and a single row says no more than the table. Accuracy is of several measurements.
 */
static bool is_in_page(const invar_results *r, const char *id)
{
	const inv_series *series;
	const inv_scatter *scatter;
	size_t rows = 0;

	for (size_t i = 0; (series = inv_results_series(r, i)); i++)
		if (strcmp(series->measurement, id) == 0)
			return false;
	for (size_t i = 0; (scatter = inv_results_scatter(r, i)); i++)
		if (strcmp(scatter->measurement, id) == 0)
			return false;
	for (size_t i = 0; i < invar_results_metrics(r); i++) {
		const invar_metric *m = invar_results_metric(r, i);
		bool own = strcmp(m->measurement, id) == 0;

		if (own && inv_metric_class(m))
			return false;
		rows += own && m->unit == INVAR_UNIT_SHARE && !m->detail;
	}
	return rows > 1 || strcmp(id, ACCURACY) == 0;
}

/* Figure i is the i-th name that has groups, in the order of the table. */
static bool find_bars(const invar_results *r, size_t i, inv_figure *out)
{
	for (size_t first = 0; first < invar_results_metrics(r); first++) {
		const char *id = group_at(r, first) ? figure_of(r, first) : NULL, *own, *title;
		size_t begin = 0, bars = 0;

		if (!id || !next_group(r, id, &begin, &bars) || begin != first || i-- > 0)
			continue;
		snprintf(out->id, sizeof out->id, "%s", id);
		out->measurement = id;
		out->title = strcmp(id, ACCURACY) == 0 ? "Accuracy, clean and augmented" : id;
		for (size_t k = 0; (own = inv_results_measurement(r, k, &title)); k++)
			if (strcmp(own, id) == 0)
				out->title = title;
		out->place = is_in_page(r, id) ? INV_IN_COMPARISON : INV_IN_NO_SECTION;
		return true;
	}
	return false;
}

static const invar_value *fraction_of(const chart *c, size_t metric, size_t column)
{
	const invar_value *v = inv_results_at(c->results, metric, column);

	return v && isfinite(v->value) ? v : NULL;
}

static double bar_place(const chart *c, double value)
{
	return inv_scale_at(&c->x, value > least_shown ? value : least_shown);
}

/* With the number of a metric, and what it is, for the mouse. */
static void put_bar(const chart *c, size_t metric, double value, double y, double height,
                    size_t column, bool pale)
{
	const invar_metric *m = invar_results_metric(c->results, metric);
	double zero = bar_place(c, 0), end = bar_place(c, value);

	fprintf(c->svg->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" ",
	        fmin(zero, end), y + (BAR - height) / 2, fabs(end - zero), height);
	inv_figure_bar_look(c->svg, column, pale);
	fputs("><title>", c->svg->out);
	inv_xml_text(c->svg->out, invar_results_column(c->results, column)->title, 60);
	fputs(m->part ? ", " : "", c->svg->out);
	inv_xml_text(c->svg->out, m->part ? m->part : "", 60);
	fprintf(c->svg->out, ": %.1f %%</title></rect>\n", 100 * value);
	if (value < least_shown) /* two angles in a bar that goes on */
		fprintf(c->svg->out,
		        "<path d=\"M%.1f %.1fl-6 6l6 6m7-12l-6 6l6 6\" class=\"iv-paper-stroke\" "
		        "stroke-width=\"2.5\"/>\n",
		        end + 10, y + BAR / 2.0 - 6);
}

/* The bars of a column, the interval of the last, and their numbers. */
static void put_row(const chart *c, size_t first, size_t bars, size_t column, double y)
{
	const invar_value *v = fraction_of(c, first, column);
	const invar_value *last = bars == 2 ? fraction_of(c, first + 1, column) : v;
	double middle = y + BAR / 2.0;
	char text[48] = "";

	if (v && bars == 2)
		put_bar(c, first, v->value, y, BAR, column, true);
	if (last)
		put_bar(c, first + bars - 1, last->value, y, bars == 2 ? BAR * 0.5 : BAR, column,
		        false);
	if (last && isfinite(last->low) && last->high > last->low && last->high > least_shown)
		fprintf(c->svg->out,
		        "<path d=\"M%.1f %.1fH%.1fm0-4v8M%.1f %.1fv8\" class=\"iv-ink-stroke\" "
		        "stroke-width=\"1.5\"/>\n",
		        bar_place(c, last->low), middle, bar_place(c, last->high),
		        bar_place(c, last->low), middle - 4);
	if (v && last && v != last)
		snprintf(text, sizeof text, "%.1f | %.1f", 100 * v->value, 100 * last->value);
	else if (last || v)
		snprintf(text, sizeof text, "%.1f", 100 * (last ? last : v)->value);
	inv_svg_text(c->svg, c->svg->width - INV_FIGURE_MARGIN, y + BAR - 5, INV_TICK_SIZE,
	             INV_END, "ink", 0, text);
}

/*
 * Groups, each with the bars of the columns that it was measured for. Draws where c->svg is
 * not NULL; gives the y below the last group.
 */
static double lay_groups(const chart *c, double y)
{
	size_t bars = 0;

	for (size_t first = 0; next_group(c->results, c->id, &first, &bars); first += bars) {
		if (c->svg)
			inv_svg_text(c->svg, INV_FIGURE_MARGIN, y + NAME - 8, INV_TEXT_SIZE, INV_START,
			             "ink", c->svg->width - 2 * INV_FIGURE_MARGIN,
			             invar_results_metric(c->results, first)->row);
		y += NAME;
		for (size_t k = 0; k < invar_results_columns(c->results); k++) {
			if (!fraction_of(c, first, k) && !fraction_of(c, first + bars - 1, k))
				continue;
			if (c->svg)
				put_row(c, first, bars, k, y);
			y += BAR + BAR_GAP;
		}
		y += GROUP_GAP - BAR_GAP;
	}
	return y - GROUP_GAP;
}

/* Columns by colour, then what wide and narrow bars are. */
static size_t list_bars(const invar_results *r, const inv_figure *f,
                        inv_legend_entry *entry)
{
	size_t count = 0, first = 0, bars = 0;

	for (size_t k = 0; k < invar_results_columns(r); k++)
		entry[count++] =
			(inv_legend_entry){invar_results_column(r, k)->title, k, INV_LEGEND_BAR};
	if (!next_group(r, f->id, &first, &bars) || bars < 2)
		return count;
	entry[count++] =
		(inv_legend_entry){invar_results_metric(r, first)->part, 0, INV_LEGEND_PALE_BAR};
	entry[count++] =
		(inv_legend_entry){invar_results_metric(r, first + 1)->part, 0, INV_LEGEND_BAR};
	return count;
}

static bool draw_bars(const invar_results *r, const inv_figure *f,
                      const inv_figure_form *form, inv_svg *out)
{
	static const inv_axis fraction = {.title = "", .unit = INVAR_UNIT_SHARE};
	chart c = {.results = r, .id = f->id};
	double top = inv_figure_top(form, form->width) + (inv_is_embedded(form) ? 2 : 14);
	double bottom = lay_groups(&c, top + 8) + 8, tick[INV_MAX_TICKS];
	size_t bars = 0, count, every;
	char label[INV_TICK_TEXT];

	if (!inv_figure_begin(out, r, f, form, form->width, bottom + 36))
		return false;
	c.svg = out;

	/* One scale for all bars, with 0 in it, and its grid. */
	inv_scale_begin(&c.x, &fraction);
	for (size_t first = 0; next_group(r, c.id, &first, &bars); first += bars)
		for (size_t k = 0; k < invar_results_columns(r) * bars; k++) {
			const invar_value *v = fraction_of(&c, first + k % bars, k / bars);

			inv_scale_add(&c.x, v ? fmax(v->value, least_shown) : NAN);
			inv_scale_add(&c.x, v ? fmax(v->high, least_shown) : NAN);
		}
	inv_scale_add(&c.x, 0);
	inv_scale_place(&c.x, INV_FIGURE_MARGIN, out->width - 2 * INV_FIGURE_MARGIN - NUMBERS,
	                true);
	count = inv_scale_ticks(&c.x, tick);
	every = count > 1 && inv_scale_at(&c.x, tick[1]) - c.x.start < 52 ? 2 : 1;
	for (size_t i = 0; i < count; i++) {
		double at = inv_scale_at(&c.x, tick[i]);

		fprintf(out->out,
		        "<path d=\"M%.1f %.1fV%.1f\" class=\"iv-%s-stroke\" stroke-width=\"1\"/>\n",
		        at, top, bottom, c.x.low < 0 && tick[i] == 0 ? "quiet" : "line");
		if (i % every)
			continue;
		inv_scale_label(&c.x, tick[i], label);
		inv_svg_text(out, at, bottom + 20, INV_TICK_SIZE, INV_MIDDLE, "quiet", 0, label);
	}
	lay_groups(&c, top + 8);
	return true;
}

const inv_figure_kind inv_figure_bars = {find_bars, draw_bars, NULL, list_bars};
