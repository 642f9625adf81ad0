/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results_plots.h - what a results document has to draw: series and scatters.
 *
 * Both are descriptions (id, measurement, title, two axes) with arrays of numbers per
 * column: a curve for a series, points for a scatter. They are kept as JSON, which is what
 * is written, and as structs, which is what callers read; both ways in, a call and a
 * document, pass the same checks.
 *
 * Invariants:
 *   1. The id of a series is unique among series, that of a scatter among scatters.
 *   2. A column has at most one curve of a series and one set of points of a scatter.
 *   3. The arrays of one curve or set have one length, at most INV_MAX_PLOTTED.
 *   4. x is finite; of a curve, y, low and high may be NaN (null in JSON), where a bin is
 *      empty; of points, y is finite, and classes and marks are in range.
 */
#ifndef INV_RESULTS_PLOTS_H
#define INV_RESULTS_PLOTS_H

#include "base/json.h"
#include "run/results.h"

/*
 * More cannot be distinguished in a plot, and a document stays far below the limits of the
 * JSON reader. A program with more points samples them evenly; `total` is their number.
 */
enum { INV_MAX_PLOTTED = 10000 };

typedef struct inv_plot inv_plot;

typedef struct inv_plots {
	inv_plot **plot;
	size_t count;
} inv_plots;

/* NULL: of a plot that has no such id. */
inv_plot *inv_plots_find(const inv_plots *all, const char *id);
void inv_plots_clear(inv_plots *all);
/* [{ id, …, columns: { column: arrays } }]; gives. NULL: no memory. */
json_t *inv_plots_json(const inv_plots *all);

/* An id that exists is skipped. */
invar_status inv_plots_add_series(inv_plots *all, const inv_series *s);
invar_status inv_plots_add_scatter(inv_plots *all, const inv_scatter *s);
/* Replaces what the column has. E_USE if it breaks an invariant. */
invar_status inv_plot_put_curve(inv_plot *p, const char *column, const inv_curve *c);
invar_status inv_plot_put_points(inv_plot *p, const char *column, const inv_points *c);

/* NULL past the last, or if the column has none. */
const inv_series *inv_plots_series(const inv_plots *all, size_t i);
const inv_scatter *inv_plots_scatter(const inv_plots *all, size_t i);
const inv_curve *inv_plot_curve(const inv_plot *p, const char *column);
const inv_points *inv_plot_points(const inv_plot *p, const char *column);

/*
 * Entry by entry what inv_plots_json gave; is_column says which columns exist. E_FORMAT,
 * with the reason in *why, for anything else.
 */
typedef int inv_is_column(const void *user, const char *id);
invar_status inv_plots_read_series(inv_plots *all, const json_t *entry,
                                   inv_is_column *is_column, const void *user,
                                   const char **why);
invar_status inv_plots_read_scatter(inv_plots *all, const json_t *entry,
                                    inv_is_column *is_column, const void *user,
                                    const char **why);

#endif
