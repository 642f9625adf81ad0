/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_column.c - graphs of nearest neighbours of clean features before and after E: a
 * measurement of `invar eval`, and on the caller's arrays.
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
#include "run/results.h"

enum { PAIRS = INV_GRAPH_PAIRS, SIZES = INV_GRAPH_SIZES };
enum { ID = 64, PARTS = 3 };

typedef struct job {
	const inv_measure_input *in;
	inv_choice rows;
	bool published;
	inv_graph_side f, e; /* e: of the column, unless it is F */
} job;

/* A column of results, and the graphs that it is compared with. */
typedef struct column {
	invar_results *results;
	const char *id, *title;
	bool published;
	const inv_graph_side *f, *side;
} column;

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

/*
 * The cache stores floats: a double as a sum of three, the largest first. What is rounded
 * (below 1e-45) is rounded as well if nothing comes from the cache.
 */
static void split_doubles(const double *from, size_t count, float *to)
{
	for (size_t i = 0; i < count; i++) {
		double rest = from[i];

		for (size_t part = 0; part < PARTS; part++) {
			to[i * PARTS + part] = (float)rest;
			rest -= to[i * PARTS + part];
		}
	}
}

static void join_doubles(const float *from, size_t count, double *to)
{
	for (size_t i = 0; i < count; i++) {
		const float *part = from + i * PARTS;

		to[i] = part[0] + ((double)part[1] + part[2]);
	}
}

static invar_status measure_f_into(job *j, float *parts)
{
	const inv_npy *const arrays[] = {j->in->split->clean};
	const size_t floats = j->f.doubles * PARTS;
	char key[INV_SHA256_HEX];
	json_t *options = json_pack("{s:b, s:I}", "published", j->published, "points",
	                            (json_int_t)j->rows.points);
	invar_status st = inv_cache_key(j->in->ctx, options, arrays, 1, key);

	if (st != INVAR_OK || inv_cache_find(j->in->bank, "graph", key, parts, floats))
		return st;
	if ((st = measure_side(j, true, &j->f)) != INVAR_OK)
		return st;
	split_doubles((double *)j->f.spectrum, j->f.doubles, parts);
	inv_cache_keep(j->in->bank, "graph", key, parts, floats);
	return INVAR_OK;
}

static invar_status measure_f_once(job *j)
{
	float *parts = inv_calloc(j->f.doubles * PARTS, sizeof *parts);
	invar_status st =
		parts ? measure_f_into(j, parts)
			  : inv_fail(INVAR_E_NOMEM, "not enough memory for %" PRIu64 " rows",
	                     j->rows.points);

	if (st == INVAR_OK)
		join_doubles(parts, j->f.doubles, (double *)j->f.spectrum);
	inv_free(parts);
	return st;
}

/* ---- Results --------------------------------------------------------------------- */

static invar_status put_number(const column *c, const char *figure, size_t size,
                               double number, const char *reason)
{
	const invar_value value = {
		.value = number, .low = NAN, .high = NAN, .count = c->side->n, .reason = reason};
	char id[ID];

	if (size < SIZES)
		snprintf(id, sizeof id, "graph.%s.k%zu", figure, inv_graph_k[size]);
	else
		snprintf(id, sizeof id, "graph.%s", figure);
	return inv_results_put(c->results, id, c->id, &value);
}

/* Why there is no distance of heat signatures for this k; NULL if there is one. */
static const char *no_heat(const column *c, size_t size)
{
	if (inv_graph_has_heat(c->f, size) && inv_graph_has_heat(c->side, size))
		return NULL;
	return "a graph of more than 50 components has no definite 50 eigenvectors";
}

static invar_status put_distances(const column *c)
{
	double spectral = 0, heat = 0;
	const char *reason = NULL;
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < SIZES && st == INVAR_OK; i++) {
		const char *why = no_heat(c, i);
		double s = inv_graph_spectral_distance(c->f, c->side, c->published, i);
		double h = why ? NAN : inv_graph_heat_distance(c->f, c->side, c->published, i);

		reason = why ? why : reason;
		spectral += s / SIZES;
		heat += h / SIZES;
		if ((st = put_number(c, "spectral", i, s, NULL)) == INVAR_OK)
			st = put_number(c, "heat", i, h, why);
	}
	if (st == INVAR_OK)
		st = put_number(c, "spectral", SIZES, spectral, NULL);
	return st == INVAR_OK ? put_number(c, "heat", SIZES, heat, reason) : st;
}

static invar_status put_figures(const column *c, size_t size)
{
	const inv_graph_spectrum *s = &c->side->spectrum[size];
	size_t at;
	invar_status st;

	if ((st = put_number(c, "fiedler", size, inv_graph_fiedler(s), NULL)) != INVAR_OK ||
	    (st = put_number(c, "gap", size, inv_graph_largest_gap(s, &at), NULL)) !=
	        INVAR_OK ||
	    (st = put_number(c, "trace", size, inv_graph_trace(c->side, c->published, size),
	                     NULL)) != INVAR_OK)
		return st;
	return put_number(c, "components", size, s->components, NULL);
}

static invar_status put_spectrum(const column *c, size_t size)
{
	static const inv_axis index = {.title = "number of the eigenvalue",
	                               .unit = INVAR_UNIT_COUNT},
						  value = {.title = "eigenvalue of the Laplacian"};
	char id[ID], title[ID];
	double number[PAIRS];
	const inv_series series = {
		.id = id, .measurement = "graph", .title = title, .x = &index, .y = &value};
	const inv_curve curve = {
		.count = PAIRS, .x = number, .y = c->side->spectrum[size].eigenvalue};
	invar_status st;

	snprintf(id, sizeof id, "graph.spectrum.k%zu", inv_graph_k[size]);
	snprintf(title, sizeof title, "graph spectrum, k = %zu", inv_graph_k[size]);
	for (size_t i = 0; i < PAIRS; i++)
		number[i] = (double)(i + 1);
	if ((st = inv_results_add_series(c->results, &series)) != INVAR_OK)
		return st;
	return inv_results_put_curve(c->results, id, c->id, &curve);
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

static invar_status note_duplicates(const column *c)
{
	char note[300];

	if (!c->side->spectrum[0].duplicates)
		return INVAR_OK;
	snprintf(
		note, sizeof note,
		"graph, %s: %.0f of %" PRIu64
		" rows equal another row; of equally near rows the earlier ones are neighbours",
		c->title, c->side->spectrum[0].duplicates, c->side->n);
	return inv_results_note(c->results, note);
}

static invar_status put_all(const column *c)
{
	invar_status st = put_distances(c);

	for (size_t i = 0; i < SIZES && st == INVAR_OK; i++)
		if ((st = put_figures(c, i)) == INVAR_OK)
			st = put_spectrum(c, i);
	if (st == INVAR_OK)
		st = inv_results_detail(c->results, "graph", c->id, details_of(c->side));
	return st == INVAR_OK ? note_duplicates(c) : st;
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
		st = put_all(&(column){.results = in->results,
		                       .id = in->column,
		                       .title = in->title,
		                       .published = j.published,
		                       .f = &j.f,
		                       .side = in->adapter ? &j.e : &j.f});
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

/* ---- Given arrays ---------------------------------------------------------------- */

static invar_status put_column(invar_results *r, const char *id, bool published,
                               const inv_graph_side *f, const inv_graph_side *side)
{
	const column c = {r, id, id, published, f, side};
	invar_status st = inv_results_add_column(r, id, id, NULL);

	return st == INVAR_OK ? put_all(&c) : st;
}

static invar_status put_both(invar_results *r, bool published, const inv_graph_side *x,
                             const inv_graph_side *e)
{
	invar_status st = inv_results_add_measurement(r, "graph", "graphs");

	for (const invar_metric *m = metrics; m->id && st == INVAR_OK; m++)
		st = inv_results_add_metric(r, m);
	if (st == INVAR_OK)
		st = put_column(r, "F", published, x, x);
	return st == INVAR_OK ? put_column(r, "E", published, x, e) : st;
}

invar_status inv_graph_results(invar_context *ctx, const float *x, uint32_t d,
                               const float *e, uint32_t w, uint64_t n, int plain,
                               invar_results **out)
{
	inv_graph_side before = {0}, after = {0};
	invar_status st;

	*out = NULL;
	if ((st = inv_graph_side_new(n, &before)) == INVAR_OK &&
	    (st = inv_graph_side_new(n, &after)) == INVAR_OK &&
	    (st = inv_graph_measure(ctx, !plain, x, d, &before)) == INVAR_OK &&
	    (st = inv_graph_measure(ctx, !plain, e, w, &after)) == INVAR_OK &&
	    (st = inv_results_new(out)) == INVAR_OK)
		st = put_both(*out, !plain, &before, &after);
	inv_graph_side_free(&before);
	inv_graph_side_free(&after);
	if (st != INVAR_OK) {
		invar_results_free(*out);
		*out = NULL;
	}
	return st;
}
