/* SPDX-License-Identifier: Apache-2.0 */
/*
 * figure_points.c - a scatter: one panel per column, F first.
 *
 * Points that have a class take its colour and shape. As their numbers have no common
 * divisor, classes that follow each other differ in both, and all of 66 differ in one.
 * Marks (clean, augmented) are filled and hollow, so that an embedding shows which copies
 * left their class; more than two marks are shapes. Points without
 * either are drawn as a density of squares, as thousands of pairs of distances cannot be
 * distinguished. Lines that the points come with (a fit, y = x) lie above them. An axis
 * without a title has no numbers: those of an embedding mean nothing.
 */
#include "report/figure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/axis.h"
#include "run/results.h"

enum {
	PANEL = 340,
	GAP = 24,
	AXIS_GAP = 92, /* left of a panel, for its numbers */
	TITLE = 26,    /* of a panel */
	BOTTOM = 62,
	MAX_ACROSS = 3,
	BINS = 56,
	SHADES = 16 /* of a density */
};

typedef struct panel {
	const inv_svg *svg;
	const inv_scatter *scatter;
	const inv_points *points;
	size_t colour; /* of the column, where points have no class */
	bool numbers;  /* on its axes */
	double left, top;
	inv_scale x, y;
} panel;

static bool find_scatter(const invar_results *r, size_t i, inv_figure *out)
{
	const inv_scatter *s = inv_results_scatter(r, i);

	if (!s)
		return false;
	snprintf(out->id, sizeof out->id, "%s", s->id);
	out->title = s->title;
	out->measurement = s->measurement;
	out->place = s->class_count + s->mark_count ? INV_IN_MAPS : INV_IN_COMPARISON;
	out->index = i;
	return true;
}

static bool is_density(const inv_scatter *s)
{
	return !s->class_count && !s->mark_count;
}

/* Grey is for points without a class; without classes, marks have colours. */
static size_t colour_of(const inv_scatter *s, int mark, int label)
{
	if (!s->class_count)
		return (size_t)mark;
	return label < 0 ? 0 : 1 + (size_t)label % (INV_COLOURS - 1);
}

static int shape_of(const inv_scatter *s, int mark, int label)
{
	if (s->mark_count > 2)
		return mark % INV_SHAPES;
	return (label < 0 ? 0 : label % INV_SHAPES) + (mark ? INV_HOLLOW : 0);
}

/* Mark by mark and class by class, -1 for points without. */
static bool draw_points(const panel *p)
{
	const inv_points *v = p->points;
	double *places = malloc((2 * v->count + 1) * sizeof *places); /* [points, 2] */
	double radius = v->count > 4000 ? 1.6 : v->count > 1000 ? 2.2 : 3.2;
	int marks = p->scatter->mark_count ? (int)p->scatter->mark_count : 1;
	char id[64];

	if (!places)
		return false;
	fputs("<g opacity=\"0.75\">\n", p->svg->out);
	for (int mark = 0; mark < marks; mark++)
		for (int label = -1; label < (int)p->scatter->class_count; label++) {
			size_t count = 0;

			for (size_t i = 0; i < v->count; i++) {
				int own_mark = v->mark && v->mark[i] >= 0 ? v->mark[i] : 0;

				if (own_mark != mark || (v->label ? v->label[i] : -1) != label)
					continue;
				places[2 * count] = inv_scale_at(&p->x, v->x[i]);
				places[2 * count + 1] = inv_scale_at(&p->y, v->y[i]);
				count++;
			}
			snprintf(id, sizeof id, "iv-m-%u-%.0f-%.0f-%d-%d", p->svg->serial, p->left,
			         p->top, mark, label + 1);
			inv_figure_marks(p->svg, places, count, radius,
			                 colour_of(p->scatter, mark, label),
			                 shape_of(p->scatter, mark, label), id);
		}
	fputs("</g>\n", p->svg->out);
	free(places);
	return true;
}

static size_t bin_of(const inv_scale *s, double value)
{
	return (size_t)fmin(fmax((value - s->low) / (s->high - s->low) * BINS, 0), BINS - 1);
}

/* Squares, the darker the more points they have; by the root, so that few still show. */
static void draw_density(const panel *p)
{
	const double side = (double)PANEL / BINS;
	unsigned count[BINS][BINS] = {{0}}, most = 1;
	const inv_points *v = p->points;
	FILE *out = p->svg->out;

	for (size_t i = 0; i < v->count; i++) {
		unsigned *bin = &count[bin_of(&p->y, v->y[i])][bin_of(&p->x, v->x[i])];

		*bin += 1;
		most = *bin > most ? *bin : most;
	}
	for (unsigned shade = 1; shade <= SHADES; shade++) {
		bool any = false;

		for (size_t i = 0; i < BINS * BINS; i++) {
			unsigned points = count[i / BINS][i % BINS];

			if (!points ||
			    1 + (unsigned)((SHADES - 1) * sqrt((double)points / most)) != shade)
				continue;
			fprintf(out, "%sM%.1f %.1fh%.1fv%.1fh-%.1fz", any ? "" : "<path d=\"",
			        p->left + (double)(i % BINS) * side,
			        p->top + PANEL - (double)(i / BINS + 1) * side, side, side, side);
			any = true;
		}
		if (any)
			fprintf(out, "\" class=\"iv-c%zu\" opacity=\"%.2f\"/>\n",
			        p->colour % INV_COLOURS, 0.12 + 0.88 * shade / SHADES);
	}
}

/*
 * Panels with numbers have one scale, so that they can be compared, but one that is far off
 * F and the first adapter has its own. Where numbers mean nothing there is only a frame.
 */
static void place_panel(panel *p, const invar_results *r)
{
	bool alone = !p->numbers;
	inv_scale *x = &p->x, *y = &p->y, first;

	inv_scale_begin(&first, p->scatter->y);
	for (size_t k = 0; k < 2 && k < invar_results_columns(r); k++) {
		const inv_points *v =
			inv_results_points(r, p->scatter->id, invar_results_column(r, k)->id);

		for (size_t i = 0; v && i < v->count; i++)
			inv_scale_add(&first, v->y[i]);
	}
	alone = alone || inv_is_off_chart(&first, p->points->y, p->points->count);
	inv_scale_begin(x, p->scatter->x);
	inv_scale_begin(y, p->scatter->y);
	for (size_t k = 0; k < invar_results_columns(r); k++) {
		const inv_points *v =
			inv_results_points(r, p->scatter->id, invar_results_column(r, k)->id);
		bool common = v && !alone && !inv_is_off_chart(&first, v->y, v->count);

		for (size_t i = 0; v && (common || v == p->points) && i < v->count; i++) {
			inv_scale_add(x, v->x[i]);
			inv_scale_add(y, v->y[i]);
		}
	}
	if (is_density(p->scatter)) { /* one unit, so one range: y = x is a diagonal */
		x->low = y->low = x->low < y->low ? x->low : y->low;
		x->high = y->high = x->high > y->high ? x->high : y->high;
	}
	if (p->numbers) {
		inv_scale_place(x, p->left, PANEL, false);
		inv_scale_place(y, p->top + PANEL, -PANEL, false);
		inv_figure_axes(p->svg, x, y);
		if (alone)
			inv_svg_text(p->svg, p->left + PANEL - 6, p->top + PANEL - 8, INV_TICK_SIZE,
			             INV_END, "ink", PANEL, "off the chart: a scale of its own");
	} else { /* distances in an embedding are the same in both directions */
		double half = fmax(x->high - x->low, y->high - y->low) / 2;
		double middle_x = (x->low + x->high) / 2, middle_y = (y->low + y->high) / 2;

		x->low = middle_x - half;
		x->high = middle_x + half;
		y->low = middle_y - half;
		y->high = middle_y + half;
		inv_scale_place_bare(x, p->left, PANEL, 0.03);
		inv_scale_place_bare(y, p->top + PANEL, -PANEL, 0.03);
		fprintf(p->svg->out,
		        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%d\" height=\"%d\" "
		        "class=\"iv-line-stroke\"/>\n",
		        p->left, p->top, PANEL, PANEL);
	}
}

/* Without a title for a page, whose heading has it. */
static bool draw_panel(panel *p, const invar_results *r, const char *title)
{
	const inv_points *v = p->points;
	FILE *out = p->svg->out;

	place_panel(p, r);
	if (title) {
		inv_svg_text(p->svg, p->left, p->top - 9, INV_TEXT_SIZE, INV_START, "ink", PANEL,
		             title);
	} else if (v->rows && !p->x.log && !p->y.log) {
		/* Where a script finds points by their numbers: pixels = number * scale + start. */
		double x = p->x.size / (p->x.high - p->x.low);
		double y = p->y.size / (p->y.high - p->y.low);

		fprintf(out, "<g data-frame=\"%.9g %.9g %.9g %.9g\"></g>\n", x,
		        p->x.start - x * p->x.low, y, p->y.start - y * p->y.low);
	}
	if (is_density(p->scatter))
		draw_density(p);
	else if (!draw_points(p))
		return false;

	/* Lines y = slope * x + offset, cut off at the panel, with their titles at the top. */
	if (v->line_count)
		fprintf(out,
		        "<clipPath id=\"iv-clip-%u-%.0f-%.0f\"><rect x=\"%.1f\" y=\"%.1f\" "
		        "width=\"%d\" height=\"%d\"/></clipPath>\n",
		        p->svg->serial, p->left, p->top, p->left, p->top, PANEL, PANEL);
	for (size_t i = 0; i < v->line_count; i++) {
		const inv_line *line = &v->lines[i];
		double x0 = p->x.low, x1 = p->x.high, y = p->top + 20 + 22 * (double)i;
		const char *dashes = i ? "7 6" : "none";

		fprintf(out,
		        "<path clip-path=\"url(#iv-clip-%u-%.0f-%.0f)\" d=\"M%.1f %.1fL%.1f %.1f\" "
		        "class=\"iv-ink-stroke\" stroke-width=\"2\" stroke-dasharray=\"%s\"/>\n"
		        "<path d=\"M%.1f %.1fh28\" class=\"iv-ink-stroke\" stroke-width=\"2\" "
		        "stroke-dasharray=\"%s\"/>\n",
		        p->svg->serial, p->left, p->top, inv_scale_at(&p->x, x0),
		        inv_scale_at(&p->y, line->slope * x0 + line->offset),
		        inv_scale_at(&p->x, x1),
		        inv_scale_at(&p->y, line->slope * x1 + line->offset), dashes, p->left + 12,
		        y, dashes);
		inv_svg_text(p->svg, p->left + 48, y + 5, INV_TICK_SIZE, INV_START, "ink",
		             PANEL - 56, line->title);
	}
	return true;
}

/* Names of marks in grey, then those of classes in their colours. */
static size_t list_points(const invar_results *r, const inv_figure *f,
                          inv_legend_entry *entry)
{
	const inv_scatter *s = inv_results_scatter(r, f->index);
	size_t count = 0, classes = s->class_count < INV_LEGEND_CLASSES ? s->class_count
	                                                                : INV_LEGEND_CLASSES;

	for (size_t i = 0; i < s->mark_count; i++)
		entry[count++] = (inv_legend_entry){s->marks[i], colour_of(s, (int)i, -1),
		                                    shape_of(s, (int)i, -1)};
	for (size_t i = 0; i < classes; i++)
		entry[count++] = (inv_legend_entry){s->classes[i], colour_of(s, 0, (int)i),
		                                    shape_of(s, 0, (int)i)};
	if (s->class_count > classes)
		entry[count++] = (inv_legend_entry){"and others", 0, 0};
	return count;
}

static const invar_column *panel_column(const invar_results *r, const inv_figure *f,
                                        size_t i)
{
	const inv_scatter *s = inv_results_scatter(r, f->index);

	for (size_t k = 0; k < invar_results_columns(r); k++) {
		const invar_column *c = invar_results_column(r, k);

		if (inv_results_points(r, s->id, c->id) && i-- == 0)
			return c;
	}
	return NULL;
}

/* All panels, four of them as two by two; or one, for a page. */
static bool draw_scatter(const invar_results *r, const inv_figure *f,
                         const inv_figure_form *form, inv_svg *out)
{
	const inv_scatter *s = inv_results_scatter(r, f->index);
	bool numbers = *s->x->title || *s->y->title, alone = inv_is_embedded(form);
	/* Distances left of and below each panel, for numbers. */
	double before = numbers ? AXIS_GAP - INV_FIGURE_MARGIN : 0;
	double below = numbers ? BOTTOM : GAP, width, height, top;
	size_t panels = 0, across, rows;

	while (panel_column(r, f, panels))
		panels++;
	across = panels == 4 ? 2 : panels < MAX_ACROSS ? panels : MAX_ACROSS;
	rows = (panels + across - 1) / (across ? across : 1);
	width = 2 * INV_FIGURE_MARGIN + (double)across * (PANEL + before + GAP) - GAP;
	width = width < 480 ? 480 : width;
	top = inv_figure_top(form, width) + 6;
	height = top + (double)rows * (TITLE + PANEL + below) + 8;
	if (alone) {
		width = numbers ? AXIS_GAP + PANEL + GAP : PANEL + 2;
		height = numbers ? 12 + PANEL + BOTTOM : PANEL + 2;
	}
	if (!inv_figure_begin(out, r, f, form, width, height))
		return false;
	for (size_t i = alone ? form->panel : 0; i < (alone ? form->panel + 1 : panels); i++) {
		const invar_column *c = panel_column(r, f, i);
		panel p = {.svg = out,
		           .scatter = s,
		           .points = inv_results_points(r, s->id, c->id),
		           .numbers = numbers,
		           .left = numbers ? AXIS_GAP : 1,
		           .top = numbers ? 12 : 1};

		while (invar_results_column(r, p.colour) != c)
			p.colour++;
		if (!alone) {
			p.left =
				INV_FIGURE_MARGIN + before + (double)(i % across) * (PANEL + before + GAP);
			p.top = top + TITLE + (double)(i / across) * (TITLE + PANEL + below);
		}
		if (!draw_panel(&p, r, alone ? NULL : c->title))
			return false;
	}
	return true;
}

const inv_figure_kind inv_figure_points = {find_scatter, draw_scatter, panel_column,
                                           list_points};
