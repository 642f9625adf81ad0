/* SPDX-License-Identifier: Apache-2.0 */
/*
 * figure_curves.c - a series: one curve per column, with a band for its intervals.
 *
 * Columns differ in colour and in the shape of their marks. Marks stand on a curve of few
 * numbers, each of which was measured; a curve of many is a line alone. A single number is
 * a mark, such as one adapter beside a frontier of others. A column that is far off the
 * others is not drawn, and a line at the top names it.
 */
#include "report/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/axis.h"
#include "run/results.h"

enum { HEIGHT = 330, LEFT = 96, BOTTOM = 66, MAX_MARKS = 40 };

typedef struct chart {
	const inv_svg *svg;
	inv_scale x, y;
	inv_scale first; /* y of F and the first adapter alone */
} chart;

static const inv_curve *curve_of(const invar_results *r, const inv_figure *f, size_t column)
{
	/* f->id may be shorter than that of the series */
	return inv_results_curve(r, inv_results_series(r, f->index)->id,
	                         invar_results_column(r, column)->id);
}

static bool find_series(const invar_results *r, size_t i, inv_figure *out)
{
	const inv_series *s = inv_results_series(r, i);

	if (!s)
		return false;
	snprintf(out->id, sizeof out->id, "%s", s->id);
	out->title = s->title;
	out->measurement = s->measurement;
	out->place = INV_IN_CURVES;
	out->index = i;
	return true;
}

/* A band wherever two or more numbers in a row have intervals. */
static void draw_bands(const chart *c, const inv_curve *v, size_t colour)
{
	FILE *out = c->svg->out;
	size_t end;

	for (size_t i = 0; v->low && i < v->count; i = end + 1) {
		end = i;
		while (end < v->count && isfinite(v->y[end]) && isfinite(v->low[end]) &&
		       isfinite(v->high[end]))
			end++;
		if (end <= i + 1)
			continue;
		fputs("<path d=\"", out);
		for (size_t k = i; k < end; k++)
			fprintf(out, "%c%.1f %.1f", k == i ? 'M' : 'L', inv_scale_at(&c->x, v->x[k]),
			        inv_scale_at(&c->y, v->high[k]));
		for (size_t k = end; k-- > i;)
			fprintf(out, "L%.1f %.1f", inv_scale_at(&c->x, v->x[k]),
			        inv_scale_at(&c->y, v->low[k]));
		fprintf(out, "Z\" class=\"iv-c%zu\" opacity=\"0.18\"/>\n", colour % INV_COLOURS);
	}
}

/* Each mark has its numbers for the mouse. */
static void draw_curve(const chart *c, const inv_curve *v, size_t colour, const char *title)
{
	bool pen_down = false;
	char x[INV_TICK_TEXT], y[32];

	fputs("<path d=\"", c->svg->out);
	for (size_t i = 0; i < v->count; i++) {
		if (isfinite(v->y[i]))
			fprintf(c->svg->out, "%c%.1f %.1f", pen_down ? 'L' : 'M',
			        inv_scale_at(&c->x, v->x[i]), inv_scale_at(&c->y, v->y[i]));
		pen_down = isfinite(v->y[i]);
	}
	fputs("\" ", c->svg->out);
	inv_figure_line_look(c->svg, colour, 2.5);
	fputs(" stroke-linejoin=\"round\"><title>", c->svg->out);
	inv_xml_text(c->svg->out, title, 60);
	fputs("</title></path>\n", c->svg->out);
	for (size_t i = 0; i < v->count && v->count <= MAX_MARKS; i++) {
		if (!isfinite(v->y[i]))
			continue;
		inv_scale_label(&c->x, v->x[i], x);
		if (c->y.axis->unit == INVAR_UNIT_SHARE)
			snprintf(y, sizeof y, "%.1f %%", 100 * v->y[i]);
		else
			snprintf(y, sizeof y, "%.4g", v->y[i]);
		fputs("<g><title>", c->svg->out);
		inv_xml_text(c->svg->out, title, 60);
		fputs(" at ", c->svg->out);
		inv_xml_text(c->svg->out, x, INV_TICK_TEXT);
		fprintf(c->svg->out, ": %s</title>", y);
		inv_figure_mark(c->svg, inv_scale_at(&c->x, v->x[i]), inv_scale_at(&c->y, v->y[i]),
		                v->count == 1 ? 7 : 4.5, colour, inv_figure_column_shape(colour));
		fputs("</g>\n", c->svg->out);
	}
}

static size_t list_curves(const invar_results *r, const inv_figure *f,
                          inv_legend_entry *entry)
{
	size_t count = 0;

	for (size_t k = 0; k < invar_results_columns(r); k++) {
		const inv_curve *v = curve_of(r, f, k);

		if (v)
			entry[count++] = (inv_legend_entry){
				invar_results_column(r, k)->title, k,
				v->count > MAX_MARKS ? INV_LEGEND_LINE : inv_figure_column_shape(k)};
	}
	return count;
}

static bool draw_series(const invar_results *r, const inv_figure *f,
                        const inv_figure_form *form, inv_svg *out)
{
	const inv_series *s = inv_results_series(r, f->index);
	double top = inv_figure_top(form, form->width) + 12;
	char off[200] = "";
	chart c = {.svg = out};

	if (!inv_figure_begin(out, r, f, form, form->width, top + HEIGHT + BOTTOM))
		return false;
	inv_scale_begin(&c.x, s->x);
	inv_scale_begin(&c.y, s->y);
	for (size_t k = 0; k < invar_results_columns(r); k++) {
		const inv_curve *v = curve_of(r, f, k);
		size_t length = strlen(off);

		if (k == 2)
			c.first = c.y;
		if (k > 1 && v && inv_is_off_chart(&c.first, v->y, v->count)) {
			snprintf(off + length, sizeof off - length, "%s%.40s",
			         length ? ", " : "off the chart: ", invar_results_column(r, k)->title);
			continue;
		}
		for (size_t i = 0; v && i < v->count; i++) {
			inv_scale_add(&c.x, isfinite(v->y[i]) ? v->x[i] : NAN);
			inv_scale_add(&c.y, v->y[i]);
			inv_scale_add(&c.y, v->low && isfinite(v->y[i]) ? v->low[i] : NAN);
			inv_scale_add(&c.y, v->high && isfinite(v->y[i]) ? v->high[i] : NAN);
		}
	}
	inv_scale_place(&c.x, LEFT, form->width - LEFT - INV_FIGURE_MARGIN, false);
	inv_scale_place(&c.y, top + HEIGHT, -HEIGHT, false);
	inv_figure_axes(out, &c.x, &c.y);
	/* All bands first, so that none of them covers a line. */
	for (int lines = 0; lines < 2; lines++)
		for (size_t k = 0; k < invar_results_columns(r); k++) {
			const inv_curve *v = curve_of(r, f, k);

			if (!v || (k > 1 && inv_is_off_chart(&c.first, v->y, v->count)))
				continue;
			if (lines)
				draw_curve(&c, v, k, invar_results_column(r, k)->title);
			else
				draw_bands(&c, v, k);
		}
	if (*off)
		inv_svg_text(out, form->width - INV_FIGURE_MARGIN, top - 2, INV_TICK_SIZE, INV_END,
		             "quiet", form->width - LEFT, off);
	return true;
}

const inv_figure_kind inv_figure_curves = {find_series, draw_series, NULL, list_curves};
