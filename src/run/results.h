/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results.h - what was measured: columns, metrics, values, series, scatters.
 *
 * A measurement describes its metrics once (invar_metric: id, row and part of the table,
 * unit, direction, digits) and puts values; tables, pages and programs read descriptions
 * and values and know no measurement by name. docs/reference/RESULTS-FORMAT.md has the
 * JSON.
 *
 * Invariants:
 *   1. The id of a column or a metric is unique; titles need not be.
 *   2. A value belongs to a metric and a column of the document, and there is at most one.
 *   3. A value is a number, or says why there is none.
 *   4. Equal documents give equal text.
 *   5. Curves and points belong to a series or scatter and to a column, and there is at
 * most one of each. Their arrays have one length, at most INV_MAX_PLOTTED. x is finite; of
 * a curve, y, low and high may be NaN (null in JSON), where a bin is empty; of points, y is
 * finite, and classes and marks are in range.
 *
 * results_object.h is the form in memory; results_json.c has the one writer and the one
 * reader. Whatever takes a const invar_results changes nothing and may be called by several
 * threads at once.
 */
#ifndef INV_RESULTS_H
#define INV_RESULTS_H

#include <stdbool.h>

#include "base/json.h"

typedef struct inv_axis {
	const char *title; /* "angle" */
	invar_unit unit;
	const char *symbol; /* written after a number: "°"; or NULL */
} inv_axis;

typedef struct inv_series {
	const char *id;          /* unique among series: "invariance.angle" */
	const char *measurement; /* "invariance" */
	const char *title;       /* of a plot: "accuracy over angle" */
	const inv_axis *x, *y;
} inv_series;

/* One column of a series: arrays [count]. */
typedef struct inv_curve {
	size_t count;
	const double *x, *y;      /* y is NaN if nothing was measured: an empty bin */
	const double *low, *high; /* 95 % intervals, NaN: none at this x; both may be NULL */
	const uint64_t *counts;   /* number of images behind each y; or NULL */
} inv_curve;

typedef struct inv_scatter {
	const char *id;          /* unique among scatters: "tsne" */
	const char *measurement; /* "tsne" */
	const char *title;
	const inv_axis *x, *y;
	const char *const *classes; /* [class_count], their names */
	size_t class_count;
	const char *const *marks; /* [mark_count]: "clean", "augmented" */
	size_t mark_count;
} inv_scatter;

/* y = slope * x + offset: a fit, or what the points would be if nothing had changed. */
typedef struct inv_line {
	const char *title;
	double slope, offset;
} inv_line;

/* One column of a scatter: arrays [count]. */
typedef struct inv_points {
	size_t count;   /* at most INV_MAX_PLOTTED */
	uint64_t total; /* number of points these were sampled from, evenly; >= count */
	const double *x, *y;
	const int32_t *label;  /* index of a class, -1: none; or NULL */
	const int32_t *mark;   /* index of a mark, -1: none; or NULL */
	const inv_line *lines; /* [line_count], at most INV_MAX_LINES */
	size_t line_count;
	const uint64_t *rows; /* the row of the split that each point is; or NULL */
} inv_points;

/*
 * More cannot be distinguished in a plot, and a document stays far below the limits of the
 * JSON reader. A program with more points samples them evenly; `total` is their number.
 */
enum { INV_MAX_PLOTTED = 10000, INV_MAX_LINES = 8 };

/* Below every table that has columns with four views. */
#define INV_NOTE_VIEWS                                                                    \
	"4 views: the query is encoded at 0, 90, 180 and 270 degrees and the nearest of the " \
	"four counts; 4 encodings per query"

invar_status inv_results_new(invar_results **out);

/* What the figures were taken on: "bank", "split", "encoder" … takes value. */
invar_status inv_results_describe(invar_results *r, const char *key, json_t *value);

/* path is the adapter's file, or NULL for F itself. */
invar_status inv_results_add_column(invar_results *r, const char *id, const char *title,
                                    const char *path);
/* What was asked for, in the order of the table: "lc", "LC". An id that exists is skipped.
 */
invar_status inv_results_add_measurement(invar_results *r, const char *id,
                                         const char *title);
/* A metric whose id is there already is skipped. */
invar_status inv_results_add_metric(invar_results *r, const invar_metric *m);
/* Replaces a value that is there. */
invar_status inv_results_put(invar_results *r, const char *metric, const char *column,
                             const invar_value *value);
/*
 * A series or a scatter whose id exists is skipped; the texts are copied. Curves and points
 * replace those of the column. What breaks invariant 5 is E_USE.
 */
invar_status inv_results_add_series(invar_results *r, const inv_series *s);
invar_status inv_results_put_curve(invar_results *r, const char *series, const char *column,
                                   const inv_curve *curve);
invar_status inv_results_add_scatter(invar_results *r, const inv_scatter *s);
invar_status inv_results_put_points(invar_results *r, const char *scatter,
                                    const char *column, const inv_points *points);

/* Why a measurement has no values; column NULL: for none of them. */
invar_status inv_results_skip(invar_results *r, const char *measurement, const char *column,
                              const char *reason);
/* A note that belongs below every table: "8 rows of test have no label". */
invar_status inv_results_note(invar_results *r, const char *sentence);
/* What else a measurement tells, for programs; takes details. */
invar_status inv_results_detail(invar_results *r, const char *measurement,
                                const char *column, json_t *details);
/* The options that matter for a measurement, { "k": 20 }; takes options. */
invar_status inv_results_options(invar_results *r, const char *measurement,
                                 json_t *options);

json_t *inv_results_document(const invar_results *r); /* gives */
/* Refuses a document that is not of version 1 or breaks an invariant; names `where`. */
invar_status inv_results_read(const json_t *document, const char *where,
                              invar_results **out);

/* The same results with the columns F and `second` first; without `others`, of these alone.
 */
invar_status inv_results_reorder(const invar_results *r, const char *second, bool others,
                                 invar_results **out);

/* metrics.json of a run; *out is NULL if there is none. Gives. */
invar_status inv_run_load_metrics(const char *run, json_t **out);
/* Refuses what is not the metrics.json of a run; names `where`. */
invar_status inv_results_check_metrics(const json_t *metrics, const char *where);
/*
 * The ids of the measurements of r, which need no values, that *metrics (NULL: an empty
 * one) has neither figures nor a reason for, "a,b"; gives.
 */
invar_status inv_results_missing(const invar_results *r, const json_t *metrics, char **out);
/* Would a merge add anything? Of results that are incomplete, only own figures are kept. */
bool inv_results_has_own(const invar_results *r, const char *column);
/*
 * Adds the figures of one column (and of F beside it) to the document of a run: one entry
 * per bank, split, measurement and options that matter. An equal one is replaced, but
 * figures are not replaced by a reason why there are none. *metrics is NULL or what the
 * file held; gives.
 */
invar_status inv_results_merge(const invar_results *r, const char *column,
                               const char *where, json_t **metrics);

/*
 * Document i of what metrics.json of several runs have together: one document per bank and
 * split with the columns "F" and "1", "2" …, the numbers of the runs that were measured on
 * it. A column has only what its run was measured for. If runs were measured with different
 * options, a note says so. *out is NULL past the last.
 */
invar_status inv_runs_results(invar_context *ctx, const char *const *runs, size_t count,
                              size_t i, invar_results **out);
/* The id of a requested measurement, "lc", and its title, "LC"; NULL past the last. */
const char *inv_results_measurement(const invar_results *r, size_t i, const char **title);
/* By places instead of ids: the value of a metric, NULL if there is none or only a reason.
 */
const invar_value *inv_results_at(const invar_results *r, size_t metric, size_t column);
bool inv_results_has_any(const invar_results *r, size_t metric); /* of any column */
/* How many metrics from `first` on stand side by side in one row of a table. */
size_t inv_results_row_size(const invar_results *r, size_t first);
/* Descriptions, NULL past the last; and the data of a column, NULL if it has none. */
const inv_series *inv_results_series(const invar_results *r, size_t i);
const inv_curve *inv_results_curve(const invar_results *r, const char *series,
                                   const char *column);
const inv_scatter *inv_results_scatter(const invar_results *r, size_t i);
const inv_points *inv_results_points(const invar_results *r, const char *scatter,
                                     const char *column);
/* Why a measurement has no values; NULL if it has some or was not requested. */
const char *inv_results_skipped(const invar_results *r, const char *measurement,
                                const char *column);
/*
 * As they were put or read: { measurement: { column or "": reason } },
 * { measurement: options }, { measurement: { column: details } }. View.
 */
const json_t *inv_results_all_skipped(const invar_results *r);
const json_t *inv_results_all_options(const invar_results *r);
const json_t *inv_results_all_details(const invar_results *r);
/* Notes about missing values, to print below a table; NULL past the last. */
const char *inv_results_note_at(const invar_results *r, size_t i);
/* "points", "copies", "dim"; NaN if absent. */
double inv_results_about_number(const invar_results *r, const char *key);
/* 0 if the measurement was interrupted, so values may be missing without a reason. */
int inv_results_is_complete(const invar_results *r);

#endif
