/* SPDX-License-Identifier: Apache-2.0 */
/*
 * figure.h - pictures of a results document.
 *
 * A figure is made from what the document describes: rows of metrics that are fractions
 * (bars), series (curves) and scatters (points of classes, or a density where there are
 * none). No measurement is known by name. A kind of figure is a file figure_NAME.c and its
 * name in meson.build.
 */
#ifndef INV_FIGURE_H
#define INV_FIGURE_H

#include "report/svg.h"

enum { INV_FIGURE_ID = 96 };

/* The section of a page that shows a figure. */
typedef enum inv_figure_place {
	INV_IN_NO_SECTION,
	INV_IN_COMPARISON,
	INV_IN_MAPS,
	INV_IN_CURVES
} inv_figure_place;

typedef struct inv_figure {
	const struct inv_figure_kind *kind;
	char id[INV_FIGURE_ID]; /* unique in the document: "accuracy", "invariance.angle" */
	const char *title;      /* a view, as is the id of its measurement */
	const char *measurement;
	inv_figure_place place;
	size_t index; /* of its series or scatter */
} inv_figure;

struct inv_legend_entry;

/* How a figure is drawn: for a file, or one panel of it without head and legend. */
typedef struct inv_figure_form {
	inv_svg_theme theme; /* INV_SVG_EMBEDDED: a panel for a page */
	size_t panel;        /* of an embedded figure */
	double width;        /* of an embedded figure, where it can be chosen */
	unsigned serial;     /* as in inv_svg */
	const struct inv_legend_entry *entry; /* [entries]: set by inv_figure_draw */
	size_t entries;
} inv_figure_form;

typedef struct inv_figure_kind {
	/* Figure i of this kind; false past the last. */
	bool (*find)(const invar_results *r, size_t i, inv_figure *out);
	/* Begins the picture with inv_figure_begin and draws; false: no memory. */
	bool (*draw)(const invar_results *r, const inv_figure *f, const inv_figure_form *form,
	             inv_svg *out);
	/* The column of panel i, NULL past the last; no function: one panel of all columns. */
	const invar_column *(*panel)(const invar_results *r, const inv_figure *f, size_t i);
	/* Fills entry, which has place for inv_figure_legend_size; gives their number. */
	size_t (*legend)(const invar_results *r, const inv_figure *f,
	                 struct inv_legend_entry *entry);
} inv_figure_kind;

/* Figure i of all kinds; false past the last. */
bool inv_figure_find(const invar_results *r, size_t i, inv_figure *out);
/*
 * For a file; or with INV_SVG_EMBEDDED one panel for a page, with the others of the form.
 * false if there is no memory; free the picture with inv_svg_free in any case.
 */
bool inv_figure_draw(const invar_results *r, const inv_figure *f,
                     const inv_figure_form *form, inv_svg *out);
size_t inv_figure_legend_size(const invar_results *r);

/* The name of the class that a metric is of, "beach" of "class.knn.beach"; NULL: none. */
const char *inv_metric_class(const invar_metric *m);

/* ---- Common to the kinds ------------------------------------------------------------- */

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

/* The height of head and legend of a figure for a file; 0 for a page, which has its own. */
double inv_figure_top(const inv_figure_form *form, double width);
/* Begins a picture, with head and legend; false: no memory. */
bool inv_figure_begin(inv_svg *s, const invar_results *r, const inv_figure *f,
                      const inv_figure_form *form, double width, double height);

struct inv_scale;
/* Grid lines, numbers and titles of both axes around a rectangle. */
void inv_figure_axes(const inv_svg *s, const struct inv_scale *x,
                     const struct inv_scale *y);

#endif
