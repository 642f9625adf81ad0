/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_column.c - graphs of nearest neighbours of clean features before and after E, a
 * measurement of `invar eval`.
 *
 * The graphs of F depend on the bank alone, and every column is compared with them: they
 * are stored in the bank's cache.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "measure/cache.h"
#include "measure/graph.h"
#include "measure/measurement.h"

enum { PAIRS = INV_GRAPH_PAIRS, SIZES = INV_GRAPH_SIZES };
enum { ID = 64 };

static invar_status measure_side(const inv_measure_input *in, const inv_selection *rows,
                                 bool published, bool raw, inv_graph_side *side)
{
	const size_t w = raw ? in->d : in->w;
	float *x;
	invar_status st;

	INV_TRY(inv_new_array(&x, rows->points * w));
	INV_TRY_OR(end, inv_measure_rows(in, rows, INVAR_CLEAN, raw, 0, rows->points, x));
	st = inv_graph_measure(in->ctx, published, x, w, side);
end:
	inv_free(x);
	return st;
}

/* The graphs of F, from the cache if they are stored there: doubles as pairs of floats. */
static invar_status measure_f_once(const inv_measure_input *in, const inv_selection *rows,
                                   bool published, inv_graph_side *f)
{
	const inv_npy *const arrays[] = {in->split->clean};
	const size_t bytes = f->doubles * sizeof(double), count = bytes / sizeof(float);
	char key[INV_SHA256_HEX];
	float *floats;
	json_t *options =
		json_pack("{s:b, s:I}", "published", published, "points", (json_int_t)rows->points);

	INV_TRY(inv_cache_key(in->ctx, options, arrays, 1, key));
	INV_TRY(inv_pool_zeros(in->scratch, &floats, count));
	if (inv_cache_find(in->bank, "graph", key, floats, count)) {
		memcpy(f->spectrum, floats, bytes);
		return INVAR_OK;
	}
	INV_TRY(measure_side(in, rows, published, true, f));
	memcpy(floats, f->spectrum, bytes);
	inv_cache_keep(in->bank, "graph", key, floats, count);
	return INVAR_OK;
}

/* For k number `size`; size SIZES: of all k. */
static invar_status put_graph_figure(const inv_measure_input *in, uint64_t n,
                                     const char *figure, size_t size, double number,
                                     const char *reason)
{
	const invar_value value = {
		.value = number, .low = NAN, .high = NAN, .count = n, .reason = reason};
	char id[ID];

	if (size < SIZES)
		snprintf(id, sizeof id, "graph.%s.k%zu", figure, inv_graph_k[size]);
	else
		snprintf(id, sizeof id, "graph.%s", figure);
	return inv_results_put(in->results, id, in->column, &value);
}

static invar_status put_spectrum(const inv_measure_input *in, const inv_graph_spectrum *s,
                                 size_t k)
{
	static const inv_axis index = {.title = "number of the eigenvalue",
	                               .unit = INVAR_UNIT_COUNT},
						  value = {.title = "eigenvalue of the Laplacian"};
	char id[ID], title[ID];
	double number[PAIRS];
	const inv_series series = {
		.id = id, .measurement = "graph", .title = title, .x = &index, .y = &value};
	const inv_curve curve = {.count = PAIRS, .x = number, .y = s->eigenvalue};

	snprintf(id, sizeof id, "graph.spectrum.k%zu", k);
	snprintf(title, sizeof title, "graph spectrum, k = %zu", k);
	for (size_t i = 0; i < PAIRS; i++)
		number[i] = (double)(i + 1);
	INV_TRY(inv_results_add_series(in->results, &series));
	return inv_results_put_curve(in->results, id, in->column, &curve);
}

/* Details are for programs, as arrays over k. */
static invar_status put_graphs(const inv_measure_input *in, bool published,
                               const inv_graph_side *side)
{
	json_t *k = json_array(), *edges = json_array(), *sigma = json_array(),
		   *gap_index = json_array();
	json_t *details =
		json_pack("{s:I, s:I, s:o, s:o, s:o, s:o}", "points", (json_int_t)side->n,
	              "duplicates", (json_int_t)side->spectrum[0].duplicates, "k", k, "edges",
	              edges, "sigma", sigma, "largest_gap_index", gap_index);
	invar_status st;

	for (size_t i = 0; i < SIZES; i++) {
		const inv_graph_spectrum *s = &side->spectrum[i];
		double trace = inv_graph_trace(side, published, i), gap;
		size_t at;

		gap = inv_graph_largest_gap(s, &at);
		json_array_append_new(k, json_integer((json_int_t)inv_graph_k[i]));
		json_array_append_new(edges, json_integer((json_int_t)s->edges));
		json_array_append_new(sigma, json_real(s->sigma));
		json_array_append_new(gap_index, json_integer((json_int_t)at));
		INV_TRY_OR(end,
		           put_graph_figure(in, side->n, "fiedler", i, s->eigenvalue[1], NULL));
		INV_TRY_OR(end, put_graph_figure(in, side->n, "gap", i, gap, NULL));
		INV_TRY_OR(end, put_graph_figure(in, side->n, "trace", i, trace, NULL));
		INV_TRY_OR(end,
		           put_graph_figure(in, side->n, "components", i, s->components, NULL));
		INV_TRY_OR(end, put_spectrum(in, s, inv_graph_k[i]));
	}
	st = inv_results_detail(in->results, "graph", in->column, json_incref(details));
end:
	json_decref(details);
	return st;
}

static invar_status measure_graph(const inv_measure_input *in)
{
	const inv_selection rows = inv_select_points(in, inv_select_all(in->split));
	const bool published = inv_option_is(in->options, "graph", "published");
	inv_graph_side f, e = {0}, *side = in->adapter ? &e : &f;
	char note[300];
	invar_status st;
	double spectral = 0, heat = 0;
	const char *reason = NULL;

	INV_TRY(inv_graph_side_new(rows.points, &f));
	INV_TRY_OR(end, measure_f_once(in, &rows, published, &f));
	if (in->adapter) {
		INV_TRY_OR(end, inv_graph_side_new(rows.points, &e));
		INV_TRY_OR(end, measure_side(in, &rows, published, false, &e));
	}
	for (size_t i = 0; i < SIZES; i++) {
		const char *why =
			inv_graph_has_heat(&f, i) && inv_graph_has_heat(side, i)
				? NULL
				: "a graph of more than 50 components has no definite 50 eigenvectors";
		double s = inv_graph_spectral_distance(&f, side, published, i);
		double h = why ? NAN : inv_graph_heat_distance(&f, side, published, i);

		reason = why ? why : reason;
		spectral += s / SIZES;
		heat += h / SIZES;
		INV_TRY_OR(end, put_graph_figure(in, side->n, "spectral", i, s, NULL));
		INV_TRY_OR(end, put_graph_figure(in, side->n, "heat", i, h, why));
	}
	INV_TRY_OR(end, put_graph_figure(in, side->n, "spectral", SIZES, spectral, NULL));
	INV_TRY_OR(end, put_graph_figure(in, side->n, "heat", SIZES, heat, reason));
	INV_TRY_OR(end, put_graphs(in, published, side));
	if (side->spectrum[0].duplicates) {
		snprintf(note, sizeof note,
		         "graph, %s: %.0f of %" PRIu64 " rows equal another row; of equally near "
		         "rows the earlier ones are neighbours",
		         in->title, side->spectrum[0].duplicates, side->n);
		st = inv_results_note(in->results, note);
	}
end:
	inv_graph_side_free(&e);
	inv_graph_side_free(&f);
	return st;
}

static const invar_option options[] = {
	{"graph", INVAR_OPTION_TEXT, "published", .flags = INVAR_OPTION_EXPERT,
     .choices = "published|plain", .meta = "WORD", .group = "Measurements",
     .help = "graph: as published (loops, spectra divided by their largest value, "
             "heat weights) or plain (no loops, weights 1)"},
	{0},
};

#define OF_K(figure, k, title, unit, better, digits)                                    \
	INV_METRIC("graph", "graph." figure ".k" #k, title ", k = 10 | 20 | 50", "k = " #k, \
	           unit, better, digits)
#define OF_ALL(figure, title, unit, better, digits)    \
	OF_K(figure, 10, title, unit, better, digits),     \
		OF_K(figure, 20, title, unit, better, digits), \
		OF_K(figure, 50, title, unit, better, digits)
#define MEAN(figure, title) \
	INV_NUMBER_METRIC("graph", "graph." figure, title ", mean over k", NULL, -1, 4)

static const invar_metric metrics[] = {
	OF_ALL("spectral", "spectral distance", INVAR_UNIT_NUMBER, -1, 4),
	MEAN("spectral", "spectral distance"),
	OF_ALL("heat", "heat kernel distance", INVAR_UNIT_NUMBER, -1, 4),
	MEAN("heat", "heat kernel distance"),
	OF_ALL("fiedler", "Fiedler value", INVAR_UNIT_NUMBER, 0, 4),
	OF_ALL("gap", "largest gap", INVAR_UNIT_NUMBER, 0, 4),
	OF_ALL("trace", "trace", INVAR_UNIT_NUMBER, 0, 2),
	OF_ALL("components", "components", INVAR_UNIT_COUNT, 0, 0),
	{0},
};

const inv_measurement inv_measurement_graph = {
	.name = "graph",
	.title = "graphs",
	.about = "how E changes graphs of the 10, 20 and 50 nearest neighbours of clean "
			 "features: distances of spectra and heat kernel signatures from those of F",
	.on_request = true,
	.options = options,
	.shares = "points",
	.metrics = metrics,
	.measure = measure_graph};
