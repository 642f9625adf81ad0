/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_column.c - graphs of nearest neighbours of clean features before and after E.
 *
 * The graphs of F depend on the bank alone, and every column is compared with them: they
 * are stored in the bank's cache.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "measure/cache.h"
#include "measure/graph.h"
#include "measure/measurement.h"

enum { PAIRS = INV_GRAPH_PAIRS, SIZES = INV_GRAPH_SIZES, ID = 64 };

typedef struct job {
	const inv_measure_input *in;
	inv_choice rows;
	bool published;
	inv_graph_side f, e; /* e: of the column, unless it is F */
} job;

/* ---- Measuring ------------------------------------------------------------------- */

static invar_status measure_side(const job *j, bool raw, inv_graph_side *side)
{
	const inv_measure_input *in = j->in;
	const size_t w = raw ? in->d : in->w;
	float *x = inv_calloc(j->rows.points * w, sizeof *x);
	invar_status st =
		x ? inv_measure_rows(in, &j->rows, INVAR_CLEAN, raw, 0, j->rows.points, x)
		  : inv_fail(INVAR_E_NOMEM, "not enough memory for %" PRIu64 " rows",
	                 j->rows.points);

	if (st == INVAR_OK)
		st = inv_graph_measure(in->ctx, j->published, x, w, side);
	inv_free(x);
	return st;
}

/* The cache stores floats: the bytes of the doubles, two floats each. */
static invar_status measure_f_once(job *j)
{
	const inv_npy *const arrays[] = {j->in->split->clean};
	const size_t floats = j->f.doubles * (sizeof(double) / sizeof(float));
	float *bytes = (float *)(void *)j->f.spectrum;
	char key[INV_SHA256_HEX];
	json_t *options = json_pack("{s:b, s:I}", "published", j->published, "points",
	                            (json_int_t)j->rows.points);
	invar_status st = inv_cache_key(j->in->ctx, options, arrays, 1, key);

	if (st != INVAR_OK || inv_cache_find(j->in->bank, "graph", key, bytes, floats))
		return st;
	if ((st = measure_side(j, true, &j->f)) == INVAR_OK)
		inv_cache_keep(j->in->bank, "graph", key, bytes, floats);
	return st;
}

/* ---- Results --------------------------------------------------------------------- */

static invar_status put_number(const job *j, const char *figure, size_t size, double number,
                               const char *reason)
{
	const invar_value value = {.value = number,
	                           .low = NAN,
	                           .high = NAN,
	                           .count = j->rows.points,
	                           .reason = reason};
	char id[ID];

	if (size < SIZES)
		snprintf(id, sizeof id, "graph.%s.k%zu", figure, inv_graph_k[size]);
	else
		snprintf(id, sizeof id, "graph.%s", figure);
	return inv_results_put(j->in->results, id, j->in->column, &value);
}

/* Why there is no distance of heat signatures for this k; NULL if there is one. */
static const char *no_heat(const job *j, const inv_graph_side *side, size_t size)
{
	if (inv_graph_has_heat(&j->f, size) && inv_graph_has_heat(side, size))
		return NULL;
	return "a graph of more than 50 components has no definite 50 eigenvectors";
}

static invar_status put_distances(const job *j, const inv_graph_side *side)
{
	double spectral = 0, heat = 0;
	const char *reason = NULL;
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < SIZES && st == INVAR_OK; i++) {
		const char *why = no_heat(j, side, i);
		double s = inv_graph_spectral_distance(&j->f, side, j->published, i);
		double h = why ? NAN : inv_graph_heat_distance(&j->f, side, j->published, i);

		reason = why ? why : reason;
		spectral += s / SIZES;
		heat += h / SIZES;
		if ((st = put_number(j, "spectral", i, s, NULL)) == INVAR_OK)
			st = put_number(j, "heat", i, h, why);
	}
	if (st == INVAR_OK)
		st = put_number(j, "spectral", SIZES, spectral, NULL);
	return st == INVAR_OK ? put_number(j, "heat", SIZES, heat, reason) : st;
}

static invar_status put_figures(const job *j, const inv_graph_side *side, size_t size)
{
	const inv_graph_spectrum *s = &side->spectrum[size];
	size_t at;
	invar_status st;

	if ((st = put_number(j, "fiedler", size, inv_graph_fiedler(s), NULL)) != INVAR_OK ||
	    (st = put_number(j, "gap", size, inv_graph_largest_gap(s, &at), NULL)) !=
	        INVAR_OK ||
	    (st = put_number(j, "trace", size, inv_graph_trace(side, j->published, size),
	                     NULL)) != INVAR_OK)
		return st;
	return put_number(j, "components", size, s->components, NULL);
}

static invar_status put_spectrum(const job *j, const inv_graph_side *side, size_t size)
{
	static const invar_axis index = {.title = "number of the eigenvalue",
	                                 .unit = INVAR_UNIT_COUNT},
							value = {.title = "eigenvalue of the Laplacian"};
	char id[ID], title[ID];
	double number[PAIRS];
	const invar_series series = {
		.id = id, .measurement = "graph", .title = title, .x = &index, .y = &value};
	const invar_curve curve = {
		.count = PAIRS, .x = number, .y = side->spectrum[size].eigenvalue};
	invar_status st;

	snprintf(id, sizeof id, "graph.spectrum.k%zu", inv_graph_k[size]);
	snprintf(title, sizeof title, "graph spectrum, k = %zu", inv_graph_k[size]);
	for (size_t i = 0; i < PAIRS; i++)
		number[i] = (double)(i + 1);
	if ((st = inv_results_add_series(j->in->results, &series)) != INVAR_OK)
		return st;
	return inv_results_put_curve(j->in->results, id, j->in->column, &curve);
}

/* For programs, as arrays over k. */
static json_t *details_of(const inv_graph_side *side)
{
	json_t *k = json_array(), *edges = json_array(), *sigma = json_array(),
		   *gap_index = json_array();

	for (size_t i = 0; i < SIZES; i++) {
		size_t at;

		inv_graph_largest_gap(&side->spectrum[i], &at);
		json_array_append_new(k, json_integer((json_int_t)inv_graph_k[i]));
		json_array_append_new(edges, json_integer((json_int_t)side->spectrum[i].edges));
		json_array_append_new(sigma, json_real(side->spectrum[i].sigma));
		json_array_append_new(gap_index, json_integer((json_int_t)at));
	}
	return json_pack("{s:I, s:I, s:o, s:o, s:o, s:o}", "points", (json_int_t)side->n,
	                 "duplicates", (json_int_t)side->spectrum[0].duplicates, "k", k,
	                 "edges", edges, "sigma", sigma, "largest_gap_index", gap_index);
}

static invar_status note_duplicates(const job *j, const inv_graph_side *side)
{
	char note[300];

	if (!side->spectrum[0].duplicates)
		return INVAR_OK;
	snprintf(
		note, sizeof note,
		"graph, %s: %.0f of %" PRIu64
		" rows equal another row; of equally near rows the earlier ones are neighbours",
		j->in->title, side->spectrum[0].duplicates, side->n);
	return inv_results_note(j->in->results, note);
}

static invar_status put_all(const job *j, const inv_graph_side *side)
{
	invar_status st = put_distances(j, side);

	for (size_t i = 0; i < SIZES && st == INVAR_OK; i++)
		if ((st = put_figures(j, side, i)) == INVAR_OK)
			st = put_spectrum(j, side, i);
	if (st == INVAR_OK)
		st = inv_results_detail(j->in->results, "graph", j->in->column, details_of(side));
	return st == INVAR_OK ? note_duplicates(j, side) : st;
}

/* ---- The column ------------------------------------------------------------------ */

static invar_status measure_graph(const inv_measure_input *in)
{
	job j = {.in = in,
	         .rows = inv_choose_points(in, inv_choose_all(in->split)),
	         .published = inv_option_is(in->options, "graph", "published")};
	invar_status st = inv_graph_side_new(j.rows.points, &j.f);

	if (st == INVAR_OK)
		st = measure_f_once(&j);
	if (st == INVAR_OK && in->adapter &&
	    (st = inv_graph_side_new(j.rows.points, &j.e)) == INVAR_OK)
		st = measure_side(&j, false, &j.e);
	if (st == INVAR_OK)
		st = put_all(&j, in->adapter ? &j.e : &j.f);
	inv_graph_side_free(&j.e);
	inv_graph_side_free(&j.f);
	return st;
}

/* ---- What it declares ------------------------------------------------------------ */

static const invar_option options[] = {
	{.name = "graph",
     .type = INVAR_OPTION_TEXT,
     .initial = "published",
     .choices = "published|plain",
     .meta = "WORD",
     .group = "Measurements",
     .help = "graph: as published (loops, spectra divided by their largest value, "
             "heat weights) or plain (no loops, weights 1)"},
	{0},
};

#define OF_K(figure, k, title, unit_, better_, digits_)                      \
	{                                                                        \
		.id = "graph." figure ".k" #k, .measurement = "graph",               \
		.row = title ", k = 10 | 20 | 50", .part = "k = " #k, .unit = unit_, \
		.better = better_, .digits = digits_                                 \
	}
#define OF_ALL(figure, title, unit, better, digits)    \
	OF_K(figure, 10, title, unit, better, digits),     \
		OF_K(figure, 20, title, unit, better, digits), \
		OF_K(figure, 50, title, unit, better, digits)
#define MEAN(figure, title)                                                          \
	{                                                                                \
		.id = "graph." figure, .measurement = "graph", .row = title ", mean over k", \
		.better = -1, .digits = 4                                                    \
	}

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
