/* SPDX-License-Identifier: Apache-2.0 */
/*
 * figure.h - pictures of a results document.
 *
 * A figure is made from what the document describes: rows of metrics that are shares
 * (bars), series (curves) and scatters (points of classes, or a density where there are
 * none). No measurement is known by name. A kind of figure is one file and one line in
 * figure.c.
 */
#ifndef INV_FIGURE_H
#define INV_FIGURE_H

#include "report/svg.h"

enum { INV_FIGURE_ID = 96 };

typedef struct inv_figure {
	const struct inv_figure_kind *kind;
	char id[INV_FIGURE_ID]; /* unique in the document: "accuracy", "invariance.angle" */
	const char *title;      /* a view */
	size_t index;           /* of its series or scatter */
} inv_figure;

typedef struct inv_figure_kind {
	/* Figure i of this kind; false past the last. */
	bool (*find)(const invar_results *r, size_t i, inv_figure *out);
	bool (*draw)(const invar_results *r, const inv_figure *f, inv_svg_theme theme,
	             inv_svg *out);
} inv_figure_kind;

extern const inv_figure_kind inv_figure_bars, inv_figure_curves, inv_figure_points;

/* Figure i of all kinds; false past the last. */
bool inv_figure_find(const invar_results *r, size_t i, inv_figure *out);
/* false if there is no memory; free the picture with inv_svg_free in any case. */
bool inv_figure_draw(const invar_results *r, const inv_figure *f, inv_svg_theme theme,
                     inv_svg *out);

/* ---- What the kinds share ------------------------------------------------------------ */

enum {
	INV_FIGURE_WIDTH = 760,
	INV_FIGURE_MARGIN = 28,
	INV_TITLE_SIZE = 20,
	INV_TEXT_SIZE = 15,
	INV_TICK_SIZE = 14,
	INV_LEGEND_HEIGHT = 24
};

/* Title and what it was measured on; gives the y below them. */
double inv_figure_head(const inv_svg *s, const invar_results *r, const char *title);
double inv_figure_head_height(void);

typedef struct inv_legend_entry {
	const char *text;
	size_t colour; /* of a column or class */
	int shape;     /* as inv_figure_mark, or one of those below */
} inv_legend_entry;

enum { INV_LEGEND_BAR = -1, INV_LEGEND_PALE_BAR = -2, INV_LEGEND_LINE = -3 };

/* Entries side by side, in as many lines as they need; gives their height. */
double inv_legend_height(const inv_legend_entry *e, size_t count, double width);
void inv_legend_draw(const inv_svg *s, const inv_legend_entry *e, size_t count, double x,
                     double y, double width);

/*
 * A circle, square, triangle, diamond … of this colour; shapes repeat after six. Colours
 * repeat after INV_COLOURS, every second round with an outline.
 */
void inv_figure_mark(const inv_svg *s, double x, double y, double radius, size_t colour,
                     int shape);

struct inv_scale;
/* Grid lines, numbers and titles of both axes around a rectangle. */
void inv_figure_axes(const inv_svg *s, const struct inv_scale *x,
                     const struct inv_scale *y);

#endif
