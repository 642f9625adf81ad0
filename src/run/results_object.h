/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results_object.h - what a results document is in memory; only src/run sees it.
 *
 * Structs hold everything that has a fixed shape, JSON what is passed through as it is
 * (about, skipped, options, details). Calls that ask change nothing, so any number of
 * threads may ask the same results at once while no thread adds to them.
 *
 * All memory of the structs comes from `pool` and is freed with the results.
 */
#ifndef INV_RESULTS_OBJECT_H
#define INV_RESULTS_OBJECT_H

#include "base/pool.h"
#include "run/results.h"

/* The value of a metric for one column. */
typedef struct inv_cell {
	const char *column;
	invar_value value;
	struct inv_cell *next;
} inv_cell;

typedef struct inv_results_row {
	invar_metric metric;
	inv_cell *cells; /* in the order in which they were put */
} inv_results_row;

/* One column of a series (curve) or of a scatter (points). */
typedef struct inv_plotted {
	const char *column;
	inv_curve curve;
	inv_points points;
	struct inv_plotted *next;
} inv_plotted;

typedef struct inv_plot {
	bool is_scatter;
	inv_axis x, y;
	inv_series series;
	inv_scatter scatter; /* the same description, with the names of a scatter */
	inv_plotted *plotted;
} inv_plot;

typedef struct inv_plots {
	inv_plot **plot;
	size_t count;
} inv_plots;

typedef struct inv_requested {
	const char *id, *title;
} inv_requested;

struct invar_results {
	inv_pool pool;
	json_t *about;   /* { key: value } */
	json_t *skipped; /* { measurement: { column or "": reason } } */
	json_t *details; /* { measurement: { column: … } } */
	json_t *options; /* { measurement: { name: value } } */
	invar_column *column;
	inv_results_row *row;
	inv_requested *measurement;
	const char **note;
	size_t column_count, row_count, measurement_count, note_count;
	inv_plots series, scatters;
};

/* A plot with this description, whose id no other has; *out views the results. */
invar_status inv_results_add_plot(invar_results *r, const inv_scatter *description,
                                  bool is_scatter, inv_plot **out);
/*
 * Checks the curve or the points of p, whose arrays live as long as the results, and puts
 * them in the place of what the column has. E_FORMAT, with the reason in *why, if they
 * break an invariant.
 */
invar_status inv_results_set_plotted(invar_results *r, inv_plot *plot, const char *column,
                                     const inv_plotted *p, const char **why);

const inv_plot *inv_plots_find(const inv_plots *all, const char *id);
bool inv_results_has_column(const invar_results *r, const char *id);

/* The text of a key; NULL if it is absent or not a text. */
static inline const char *inv_text_of(const json_t *of, const char *key)
{
	return json_string_value(json_object_get(of, key));
}

/* "number", "share", "count"; "lower", "neither", "higher". */
extern const char *const inv_unit_names[3], *const inv_direction_names[3];

#endif
