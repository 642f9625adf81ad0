/* SPDX-License-Identifier: Apache-2.0 */
/* figure.c - the list of kinds, and the head, legend and axes of all of them. */
#include "report/figure.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/axis.h"
#include "report/figure_list.h"
#include "run/results.h"

bool inv_figure_find(const invar_results *r, size_t i, inv_figure *out)
{
	for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
		for (size_t j = 0;; j++) {
			*out = (inv_figure){.kind = parts[k]};
			if (!parts[k]->find(r, j, out))
				break;
			if (i-- == 0)
				return true;
		}
	return false;
}

bool inv_figure_draw(const invar_results *r, const inv_figure *f,
                     const inv_figure_form *form, inv_svg *out)
{
	inv_legend_entry *entry = calloc(inv_figure_legend_size(r), sizeof *entry);
	inv_figure_form own = *form;
	bool drawn = false;

	*out = (inv_svg){.serial = form->serial};
	own.width = form->width > 0 ? form->width : INV_FIGURE_WIDTH;
	own.entry = entry;
	if (entry) {
		own.entries = f->kind->legend(r, f, entry);
		drawn = f->kind->draw(r, f, &own, out) && inv_svg_end(out);
	}
	free(entry);
	return drawn;
}

/* Such a metric is a detail, and its row ends in the name. */
const char *inv_metric_class(const invar_metric *m)
{
	const char *first = strchr(m->id, '.'), *second = first ? strchr(first + 1, '.') : NULL;
	size_t row = strlen(m->row), name = second ? strlen(second + 1) : 0;

	if (!m->detail || m->unit != INVAR_UNIT_SHARE || !second || row < name ||
	    strcmp(m->row + row - name, second + 1) != 0)
		return NULL;
	return second + 1;
}

/* ---- Marks --------------------------------------------------------------------------- */

/* Corners around the middle, for a radius of 1; a circle has none. */
static const struct {
	size_t count;
	double corner[12][2];
} shapes[INV_SHAPES] = {
	{0, {{0}}},
	{4, {{-.9, -.9}, {.9, -.9}, {.9, .9}, {-.9, .9}}},
	{3, {{0, -1.15}, {1.1, .85}, {-1.1, .85}}},
	{4, {{0, -1.25}, {1.25, 0}, {0, 1.25}, {-1.25, 0}}},
	{3, {{0, 1.15}, {1.1, -.85}, {-1.1, -.85}}},
	{12,
     {{-.4, -1.2},
      {.4, -1.2},
      {.4, -.4},
      {1.2, -.4},
      {1.2, .4},
      {.4, .4},
      {.4, 1.2},
      {-.4, 1.2},
      {-.4, .4},
      {-1.2, .4},
      {-1.2, -.4},
      {-.4, -.4}}},
};

/* Around (x, y), in steps from corner to corner or as two arcs. */
void inv_figure_mark(const inv_svg *s, double x, double y, double radius, size_t colour,
                     int shape)
{
	const bool hollow = shape & INV_HOLLOW;
	const size_t kind = (size_t)(shape & ~INV_HOLLOW) % INV_SHAPES;
	const double size = hollow ? 0.85 * radius : radius;

	fputs("<path d=\"", s->out);
	if (!shapes[kind].count)
		fprintf(s->out, "M%.2f %.2fa%.2f %.2f 0 1 0 %.2f 0a%.2f %.2f 0 1 0 -%.2f 0",
		        x - size, y, size, size, 2 * size, size, size, 2 * size);
	for (size_t i = 0; i < shapes[kind].count; i++)
		fprintf(s->out, "%c%.2f %.2f", i ? 'L' : 'M', x + size * shapes[kind].corner[i][0],
		        y + size * shapes[kind].corner[i][1]);
	fprintf(s->out, "z\" class=\"iv-c%zu%s\"", colour % INV_COLOURS,
	        hollow ? "-stroke" : "");
	if (hollow)
		fprintf(s->out, " stroke-width=\"%.2f\"", 0.3 * radius + 0.2);
	fputs("/>\n", s->out);
}

/* As text a point is two numbers: the mark is written once, and stands at every corner. */
void inv_figure_marks(const inv_svg *s, const double *places, size_t count, double radius,
                      size_t colour, int shape, const char *id)
{
	if (count < 2) { /* a line of one corner may not be drawn at all */
		if (count)
			inv_figure_mark(s, places[0], places[1], radius, colour, shape);
		return;
	}
	fprintf(s->out,
	        "<marker id=\"%s\" markerUnits=\"userSpaceOnUse\" overflow=\"visible\">", id);
	inv_figure_mark(s, 0, 0, radius, colour, shape);
	fputs("</marker>\n<polyline fill=\"none\" points=\"", s->out);
	for (size_t i = 0; i < count; i++)
		fprintf(s->out, "%s%.1f %.1f", i ? " " : "", places[2 * i], places[2 * i + 1]);
	fprintf(s->out,
	        "\" marker-start=\"url(#%s)\" marker-mid=\"url(#%s)\" "
	        "marker-end=\"url(#%s)\"/>\n",
	        id, id, id);
}

/* ---- Columns ------------------------------------------------------------------------- */

int inv_figure_column_shape(size_t column)
{
	return (int)((column + column / INV_COLOURS) % INV_SHAPES);
}

void inv_figure_bar_look(const inv_svg *s, size_t column, bool pale)
{
	size_t round = column / INV_COLOURS;

	fprintf(s->out, "class=\"iv-c%zu%s\" opacity=\"%s\"", column % INV_COLOURS,
	        round ? " iv-outline" : "", pale ? "0.35" : "1");
	if (round)
		fprintf(s->out, " stroke-width=\"1.5\" stroke-dasharray=\"%s\"",
		        round % 2 ? "none" : "4 3");
}

void inv_figure_line_look(const inv_svg *s, size_t column, double width)
{
	size_t round = column / INV_COLOURS;

	fprintf(s->out, "class=\"iv-c%zu-stroke\" stroke-width=\"%.1f\"", column % INV_COLOURS,
	        width);
	if (round)
		fprintf(s->out, " stroke-dasharray=\"%zu 4\"", 4 * round);
}

/* ---- Head and legend ----------------------------------------------------------------- */

enum { HEAD_TOP = 40, HEAD_SECOND = 22, HEAD_GAP = 14, ENTRY_GAP = 22, MAX_ENTRY = 330 };

void inv_legend_swatch(const inv_svg *s, const inv_legend_entry *e, double x, double y)
{
	bool pale = e->shape == INV_LEGEND_PALE_BAR;

	if (e->shape >= 0) {
		inv_figure_mark(s, x + INV_SWATCH / 2 - 4, y, 6, e->colour, e->shape);
		return;
	}
	if (e->shape == INV_LEGEND_LINE) {
		fprintf(s->out, "<path d=\"M%.1f %.1fh18\" ", x, y);
		inv_figure_line_look(s, e->colour, 3);
	} else {
		fprintf(s->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"16\" height=\"%d\" ", x,
		        y - (pale ? 7 : 4), pale ? 14 : 8);
		inv_figure_bar_look(s, e->colour, pale);
	}
	fputs("/>\n", s->out);
}

/* Draws where s is not NULL; gives the height in both cases. */
static double lay_legend(const inv_svg *s, const inv_legend_entry *e, size_t count,
                         double left, double top, double width)
{
	double x = 0, y = 0;

	for (size_t i = 0; i < count; i++) {
		double own = INV_SWATCH + ENTRY_GAP +
		             fmin(inv_svg_text_width(e[i].text, INV_TEXT_SIZE), MAX_ENTRY);

		if (x > 0 && x + own - ENTRY_GAP > width) {
			x = 0;
			y += INV_LEGEND_HEIGHT;
		}
		if (s) {
			inv_legend_swatch(s, &e[i], left + x, top + y + INV_LEGEND_HEIGHT / 2);
			inv_svg_text(s, left + x + INV_SWATCH, top + y + INV_LEGEND_HEIGHT / 2 + 5,
			             INV_TEXT_SIZE, INV_START, "ink", MAX_ENTRY, e[i].text);
		}
		x += own;
	}
	return count ? y + INV_LEGEND_HEIGHT : 0;
}

double inv_figure_top(const inv_figure_form *form, double width)
{
	return inv_is_embedded(form) ? 0
	                             : HEAD_TOP + HEAD_SECOND + HEAD_GAP +
	                                   lay_legend(NULL, form->entry, form->entries, 0, 0,
	                                              width - 2 * INV_FIGURE_MARGIN);
}

bool inv_figure_begin(inv_svg *s, const invar_results *r, const inv_figure *f,
                      const inv_figure_form *form, double width, double height)
{
	double room;
	double points = inv_results_about_number(r, "points");
	const char *split = invar_results_about(r, "split");
	char count[64] = "", text[400];
	const char *pieces[] = {invar_results_about(r, "encoder"),
	                        invar_results_about(r, "augment"), count};

	if (!inv_svg_begin(s, width, height, form->theme))
		return false;
	if (inv_is_embedded(form))
		return true;
	room = s->width - 2 * INV_FIGURE_MARGIN;
	/* The title, and below it "encoder · augmentation · 100 points of test". */
	snprintf(text, sizeof text, "%s", f->title);
	*text = (char)toupper((unsigned char)*text); /* names of measurements are lower case */
	inv_svg_text(s, INV_FIGURE_MARGIN, HEAD_TOP, INV_TITLE_SIZE, INV_START, "ink", room,
	             text);
	if (isfinite(points))
		snprintf(count, sizeof count, "%.0f points%s%.32s", points, split ? " of " : "",
		         split ? split : "");
	*text = '\0';
	for (size_t i = 0; i < 3; i++) {
		size_t length = strlen(text);

		if (pieces[i] && *pieces[i])
			snprintf(text + length, sizeof text - length, "%s%s", length ? " · " : "",
			         pieces[i]);
	}
	inv_svg_text(s, INV_FIGURE_MARGIN, HEAD_TOP + HEAD_SECOND, INV_TICK_SIZE, INV_START,
	             "quiet", room, text);
	lay_legend(s, form->entry, form->entries, INV_FIGURE_MARGIN,
	           HEAD_TOP + HEAD_SECOND + HEAD_GAP, room);
	return true;
}

/* Columns, the two kinds of bars, marks and classes. */
size_t inv_figure_legend_size(const invar_results *r)
{
	const inv_scatter *s;
	size_t most = 2;

	for (size_t i = 0; (s = inv_results_scatter(r, i)); i++)
		most = s->mark_count + 2 > most ? s->mark_count + 2 : most;
	return invar_results_columns(r) + most + INV_LEGEND_CLASSES;
}

/* ---- Axes ---------------------------------------------------------------------------- */

static void put_grid_line(const inv_svg *s, double x1, double y1, double x2, double y2)
{
	fprintf(
		s->out,
		"<path d=\"M%.1f %.1fL%.1f %.1f\" class=\"iv-line-stroke\" stroke-width=\"1\"/>\n",
		x1, y1, x2, y2);
}

void inv_figure_axes(const inv_svg *s, const inv_scale *x, const inv_scale *y)
{
	double tick[INV_MAX_TICKS], left = x->start, bottom = y->start, widest = 0;
	size_t count = inv_scale_ticks(x, tick);
	char label[INV_TICK_TEXT];

	for (size_t i = 0; i < count; i++) {
		double at = inv_scale_at(x, tick[i]);

		put_grid_line(s, at, bottom, at, bottom + y->size);
		inv_scale_label(x, tick[i], label);
		inv_svg_text(s, at, bottom + 20, INV_TICK_SIZE, INV_MIDDLE, "quiet", 0, label);
	}
	inv_svg_text(s, left + x->size / 2, bottom + 44, INV_TEXT_SIZE, INV_MIDDLE, "ink",
	             x->size, x->axis->title);

	count = inv_scale_ticks(y, tick);
	for (size_t i = 0; i < count; i++) {
		double at = inv_scale_at(y, tick[i]);

		put_grid_line(s, left, at, left + x->size, at);
		inv_scale_label(y, tick[i], label);
		inv_svg_text(s, left - 8, at + 5, INV_TICK_SIZE, INV_END, "quiet", 0, label);
		widest = fmax(widest, inv_svg_text_width(label, INV_TICK_SIZE));
	}
	inv_svg_upward_text(s, left - widest - 18, bottom + y->size / 2, INV_TEXT_SIZE,
	                    -y->size, y->axis->title);
}
