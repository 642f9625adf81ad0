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

struct inv_legend_entry;

/* How a figure is drawn: for a file, or one panel of it without head and legend. */
typedef struct inv_figure_form {
	inv_svg_theme theme; /* INV_SVG_EMBEDDED: a panel for a page */
	size_t panel;        /* of an embedded figure */
	double width;        /* of an embedded figure, where it can be chosen */
	unsigned serial;     /* as in inv_svg */
} inv_figure_form;

typedef struct inv_figure_kind {
	/* Figure i of this kind; false past the last. */
	bool (*find)(const invar_results *r, size_t i, inv_figure *out);
	bool (*draw)(const invar_results *r, const inv_figure *f, const inv_figure_form *form,
	             inv_svg *out);
	/* How many panels it has, each of one column; NULL: one of all columns. */
	size_t (*panels)(const invar_results *r, const inv_figure *f);
	/* Fills entry, which has place for inv_figure_legend_size; gives their number. */
	size_t (*legend)(const invar_results *r, const inv_figure *f,
	                 struct inv_legend_entry *entry);
} inv_figure_kind;

extern const inv_figure_kind inv_figure_bars, inv_figure_curves, inv_figure_points;

/* Figure i of all kinds; false past the last. */
bool inv_figure_find(const invar_results *r, size_t i, inv_figure *out);
/* false if there is no memory; free the picture with inv_svg_free in any case. */
bool inv_figure_draw(const invar_results *r, const inv_figure *f, inv_svg_theme theme,
                     inv_svg *out);
/* The same for a page: see inv_figure_form. */
bool inv_figure_embed(const invar_results *r, const inv_figure *f,
                      const inv_figure_form *form, inv_svg *out);
size_t inv_figure_panels(const invar_results *r, const inv_figure *f);
size_t inv_figure_legend_size(const invar_results *r);
/* The column that panel i shows. */
const invar_column *inv_figure_panel_column(const invar_results *r, const inv_figure *f,
                                            size_t i);

/* ---- What the kinds share ------------------------------------------------------------ */

enum {
	INV_FIGURE_WIDTH = 760,
	INV_FIGURE_MARGIN = 28,
	INV_TITLE_SIZE = 20,
	INV_TEXT_SIZE = 15,
	INV_TICK_SIZE = 14,
	INV_LEGEND_HEIGHT = 24,
	INV_SWATCH = 26,
	INV_SHAPES = 6,
	INV_LEGEND_CLASSES = (INV_COLOURS - 1) * INV_SHAPES /* as many as look different */
};

/* Added to the number of a shape: only its outline. */
enum { INV_HOLLOW = 64 };

/* Title and what it was measured on; gives the y below them. */
double inv_figure_head(const inv_svg *s, const invar_results *r, const char *title);
double inv_figure_head_height(void);

/* Is it a panel for a page? */
static inline bool inv_is_embedded(const inv_figure_form *form)
{
	return form->theme == INV_SVG_EMBEDDED;
}

typedef struct inv_legend_entry {
	const char *text;
	size_t colour; /* of a column or class */
	int shape;     /* as in inv_figure_mark, or one of those below */
} inv_legend_entry;

enum { INV_LEGEND_BAR = -1, INV_LEGEND_PALE_BAR = -2, INV_LEGEND_LINE = -3 };

/* Entries side by side, in as many lines as they need; gives their height. */
double inv_legend_height(const inv_legend_entry *e, size_t count, double width);
void inv_legend_draw(const inv_svg *s, const inv_legend_entry *e, size_t count, double x,
                     double y, double width);

/* A circle, square, triangle, diamond … of this colour; shapes repeat after INV_SHAPES. */
void inv_figure_mark(const inv_svg *s, double x, double y, double radius, size_t colour,
                     int shape);
/* Many of one colour and shape: places [count, 2]. The id must be unique in the picture. */
void inv_figure_marks(const inv_svg *s, const double *places, size_t count, double radius,
                      size_t colour, int shape, const char *id);
/* The shape that goes with the colour of a column: pairs repeat after 72 columns. */
int inv_figure_column_shape(size_t column);
/* Attributes of a bar: columns beyond the colours get an outline, then a dashed one. */
void inv_figure_bar_look(const inv_svg *s, size_t column, bool pale);
/* The same for lines, which get longer and longer dashes. */
void inv_figure_line_look(const inv_svg *s, size_t column, double width);
/* The mark of a legend entry, as wide as INV_SWATCH, with its middle at y. */
void inv_legend_swatch(const inv_svg *s, const inv_legend_entry *e, double x, double y);

/* Head and legend of a figure for a file; nothing for a page, which has its own. */
void inv_figure_top(const inv_svg *s, const invar_results *r, const char *title,
                    const inv_figure_form *form, const inv_legend_entry *e, size_t count);

struct inv_scale;
/* Grid lines, numbers and titles of both axes around a rectangle. */
void inv_figure_axes(const inv_svg *s, const struct inv_scale *x,
                     const struct inv_scale *y);

#endif
