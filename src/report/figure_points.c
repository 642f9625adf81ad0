/* SPDX-License-Identifier: Apache-2.0 */
/*
 * figure_points.c - a scatter: one panel per column, F first.
 *
 * Points that have a class take its colour, points that have a mark its shape, so that an
 * embedding shows which copies left their class. Points without either are drawn as a
 * density of squares, as thousands of pairs of distances cannot be told apart. Lines that
 * the points come with (a fit, y = x) lie above them. An axis without a title has no
 * numbers: those of an embedding mean nothing.
 */
#include "report/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/axis.h"

enum {
	PANEL = 340,
	GAP = 24,
	AXIS_GAP = 92, /* left of a panel, for its numbers */
	TITLE = 26,    /* of a panel */
	BOTTOM = 62,
	MAX_ACROSS = 3,
	BINS = 56,
	MAX_CLASSES = 24 /* in the legend */
};

typedef struct panel {
	const inv_svg *svg;
	const invar_scatter *scatter;
	const invar_points *points;
	const char *title;
	size_t colour; /* of the column, where points have no class */
	double left, top;
	inv_scale x, y;
} panel;

static bool find_scatter(const invar_results *r, size_t i, inv_figure *out)
{
	const invar_scatter *s = invar_results_scatter(r, i);

	if (!s)
		return false;
	snprintf(out->id, sizeof out->id, "%s", s->id);
	out->title = s->title;
	out->index = i;
	return true;
}

static bool has_numbers(const invar_scatter *s)
{
	return *s->x->title || *s->y->title;
}

static bool is_density(const invar_scatter *s)
{
	return !s->class_count && !s->mark_count;
}

/* ---- Points -------------------------------------------------------------------------- */

/* Grey is for points without a class; each round of colours has its own outline. */
static size_t class_colour(size_t label)
{
	return 1 + label % (INV_COLOURS - 1) + label / (INV_COLOURS - 1) * INV_COLOURS;
}

static void put_points(const panel *p)
{
	const invar_points *v = p->points;
	double radius = v->count > 4000 ? 1.6 : v->count > 1000 ? 2.2 : 3.2;

	fputs("<g opacity=\"0.75\">\n", p->svg->out);
	for (size_t i = 0; i < v->count; i++) {
		size_t colour =
			v->label && v->label[i] >= 0 ? class_colour((size_t)v->label[i]) : 0;
		int mark = v->mark && v->mark[i] >= 0 ? v->mark[i] : 0;

		inv_figure_mark(p->svg, inv_scale_at(&p->x, v->x[i]), inv_scale_at(&p->y, v->y[i]),
		                mark ? radius * 1.25 : radius, colour, mark ? mark + 1 : 0);
	}
	fputs("</g>\n", p->svg->out);
}

/* ---- Density ------------------------------------------------------------------------- */

static size_t bin_of(const inv_scale *s, double value)
{
	double place = (value - s->low) / (s->high - s->low) * BINS;

	return place < 0 ? 0 : place >= BINS ? BINS - 1 : (size_t)place;
}

/* Squares, the darker the more points they have; by the root, so that few still show. */
static void put_density(const panel *p)
{
	unsigned count[BINS][BINS] = {{0}}, most = 1;
	const double side = (double)PANEL / BINS;
	const invar_points *v = p->points;

	for (size_t i = 0; i < v->count; i++) {
		unsigned *bin = &count[bin_of(&p->y, v->y[i])][bin_of(&p->x, v->x[i])];

		*bin += 1;
		most = *bin > most ? *bin : most;
	}
	for (size_t y = 0; y < BINS; y++)
		for (size_t x = 0; x < BINS; x++)
			if (count[y][x])
				fprintf(p->svg->out,
				        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
				        "class=\"iv-c%zu\" opacity=\"%.2f\"/>\n",
				        p->left + (double)x * side, p->top + PANEL - (double)(y + 1) * side,
				        side, side, p->colour % INV_COLOURS,
				        0.12 + 0.88 * sqrt((double)count[y][x] / most));
}

/* ---- Lines --------------------------------------------------------------------------- */

/* Where y = slope * x + offset crosses the panel; its ends are cut off by the clip. */
static void put_line(const panel *p, const invar_line *line, size_t i)
{
	double x0 = p->x.low, x1 = p->x.high;

	fprintf(p->svg->out,
	        "<path clip-path=\"url(#iv-clip-%.0f-%.0f)\" d=\"M%.1f %.1fL%.1f %.1f\" "
	        "class=\"iv-ink-stroke\" stroke-width=\"2\" stroke-dasharray=\"%s\"/>\n",
	        p->left, p->top, inv_scale_at(&p->x, x0),
	        inv_scale_at(&p->y, line->slope * x0 + line->offset), inv_scale_at(&p->x, x1),
	        inv_scale_at(&p->y, line->slope * x1 + line->offset), i ? "7 6" : "none");
}

static void put_lines(const panel *p)
{
	const invar_points *v = p->points;

	if (v->line_count)
		fprintf(p->svg->out,
		        "<clipPath id=\"iv-clip-%.0f-%.0f\"><rect x=\"%.1f\" y=\"%.1f\" "
		        "width=\"%d\" height=\"%d\"/></clipPath>\n",
		        p->left, p->top, p->left, p->top, PANEL, PANEL);
	for (size_t i = 0; i < v->line_count; i++) {
		put_line(p, &v->lines[i], i);
		fprintf(p->svg->out,
		        "<path d=\"M%.1f %.1fh28\" class=\"iv-ink-stroke\" stroke-width=\"2\" "
		        "stroke-dasharray=\"%s\"/>\n",
		        p->left + 12, p->top + 20 + 22 * (double)i, i ? "7 6" : "none");
		inv_svg_text(p->svg, p->left + 48, p->top + 25 + 22 * (double)i, INV_TICK_SIZE,
		             INV_START, "ink", PANEL - 56, v->lines[i].title);
	}
}

/* ---- Panels -------------------------------------------------------------------------- */

/* Panels with numbers share their scale, so that they can be compared. */
static void fit_panel(panel *p, const invar_results *r)
{
	inv_scale_begin(&p->x, p->scatter->x);
	inv_scale_begin(&p->y, p->scatter->y);
	for (size_t k = 0; k < invar_results_columns(r); k++) {
		const invar_points *v =
			invar_results_points(r, p->scatter->id, invar_results_column(r, k)->id);

		if (!v || (!has_numbers(p->scatter) && v != p->points))
			continue;
		for (size_t i = 0; i < v->count; i++) {
			inv_scale_add(&p->x, v->x[i]);
			inv_scale_add(&p->y, v->y[i]);
		}
	}
}

/* Both axes of a density have one unit, so they have one range, and y = x is a diagonal. */
static void share_range(panel *p)
{
	double low = p->x.low < p->y.low ? p->x.low : p->y.low;
	double high = p->x.high > p->y.high ? p->x.high : p->y.high;

	p->x.low = p->y.low = low;
	p->x.high = p->y.high = high;
}

/* Distances in an embedding are the same in both directions. */
static void square_up(panel *p)
{
	double x = (p->x.low + p->x.high) / 2, y = (p->y.low + p->y.high) / 2;
	double width = p->x.high - p->x.low, height = p->y.high - p->y.low;
	double half = (width > height ? width : height) / 2;

	p->x.low = x - half;
	p->x.high = x + half;
	p->y.low = y - half;
	p->y.high = y + half;
}

static void place_panel(panel *p)
{
	if (is_density(p->scatter))
		share_range(p);
	if (has_numbers(p->scatter)) {
		inv_scale_place(&p->x, p->left, PANEL, false);
		inv_scale_place(&p->y, p->top + PANEL, -PANEL, false);
		inv_figure_axes(p->svg, &p->x, &p->y);
	} else {
		square_up(p);
		inv_scale_place_bare(&p->x, p->left, PANEL, 0.03);
		inv_scale_place_bare(&p->y, p->top + PANEL, -PANEL, 0.03);
		fprintf(p->svg->out,
		        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" "
		        "class=\"iv-line-stroke\"/>\n",
		        p->left, p->top, PANEL, PANEL);
	}
}

static void draw_panel(panel *p, const invar_results *r)
{
	fit_panel(p, r);
	place_panel(p);
	inv_svg_text(p->svg, p->left, p->top - 9, INV_TEXT_SIZE, INV_START, "ink", PANEL,
	             p->title);
	if (is_density(p->scatter))
		put_density(p);
	else
		put_points(p);
	put_lines(p);
}

/* ---- The figure ---------------------------------------------------------------------- */

/* Names of marks in grey, then those of classes in their colours. */
static size_t list_names(const invar_scatter *s, inv_legend_entry *entry)
{
	size_t count = 0, classes = s->class_count < MAX_CLASSES ? s->class_count : MAX_CLASSES;

	for (size_t i = 0; i < s->mark_count; i++)
		entry[count++] = (inv_legend_entry){s->marks[i], 0, i ? (int)i + 1 : 0};
	for (size_t i = 0; i < classes; i++)
		entry[count++] = (inv_legend_entry){s->classes[i], class_colour(i), 0};
	if (s->class_count > classes)
		entry[count++] = (inv_legend_entry){"and others", 0, 0};
	return count;
}

static size_t count_panels(const invar_results *r, const invar_scatter *s)
{
	size_t count = 0;

	for (size_t k = 0; k < invar_results_columns(r); k++)
		count += invar_results_points(r, s->id, invar_results_column(r, k)->id) != NULL;
	return count;
}

/* Four stand as two by two. */
static size_t panels_across(size_t panels)
{
	return panels == 4 ? 2 : panels < MAX_ACROSS ? panels : MAX_ACROSS;
}

static void draw_panels(const invar_results *r, const invar_scatter *s, const inv_svg *svg,
                        double top, double before, double below)
{
	size_t at = 0, across = panels_across(count_panels(r, s));

	for (size_t k = 0; k < invar_results_columns(r); k++) {
		const invar_column *c = invar_results_column(r, k);
		panel p = {.svg = svg, .scatter = s, .title = c->title, .colour = k};

		if (!(p.points = invar_results_points(r, s->id, c->id)))
			continue;
		p.left =
			INV_FIGURE_MARGIN + before + (double)(at % across) * (PANEL + before + GAP);
		p.top = top + TITLE + (double)(at / across) * (TITLE + PANEL + below);
		draw_panel(&p, r);
		at++;
	}
}

static bool draw_scatter(const invar_results *r, const inv_figure *f, inv_svg_theme theme,
                         inv_svg *out)
{
	const invar_scatter *s = invar_results_scatter(r, f->index);
	size_t panels = count_panels(r, s), across = panels_across(panels);
	double before = has_numbers(s) ? AXIS_GAP - INV_FIGURE_MARGIN : 0;
	double below = has_numbers(s) ? BOTTOM : GAP;
	double width = 2 * INV_FIGURE_MARGIN + (double)across * (PANEL + before + GAP) - GAP;
	inv_legend_entry *entry = calloc(s->mark_count + MAX_CLASSES + 1, sizeof *entry);
	double inner, top, legend;
	size_t entries;
	bool begun;

	if (!entry)
		return false;
	width = width < 480 ? 480 : width;
	inner = width - 2 * INV_FIGURE_MARGIN;
	entries = list_names(s, entry);
	legend = inv_legend_height(entry, entries, inner);
	top = inv_figure_head_height() + legend + 6;
	begun = inv_svg_begin(
		out, width,
		top + (double)((panels + across - 1) / across) * (TITLE + PANEL + below) + 8,
		theme);
	if (begun) {
		inv_figure_head(out, r, s->title);
		inv_legend_draw(out, entry, entries, INV_FIGURE_MARGIN, inv_figure_head_height(),
		                inner);
		draw_panels(r, s, out, top, before, below);
	}
	free(entry);
	return begun && inv_svg_end(out);
}

const inv_figure_kind inv_figure_points = {find_scatter, draw_scatter};
