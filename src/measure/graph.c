/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph.c - the statistics of graph.h on a set of rows.
 *
 * Neighbours are searched once: the lists for a smaller k begin those for a larger one. The
 * eigenproblems of all k and both kinds of weights follow one after the other. A row of the
 * published graphs lists itself first and then k - 1 others; of equal rows
 * scikit-learn may list another one first.
 */
#include "measure/graph.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "math/laplacian.h"
#include "math/neighbours.h"
#include "measure/measurement.h"

enum { PAIRS = INV_GRAPH_PAIRS, TIMES = INV_GRAPH_TIMES, SIZES = INV_GRAPH_SIZES };
enum { SEARCH_BLOCK = 4096, HEAT_BLOCK = 512 };

const size_t inv_graph_k[SIZES] = {10, 20, 50};

typedef struct graph_job {
	const invar_context *ctx;
	bool published;
	const float *x;
	size_t n, w, listed; /* listed: neighbours of a row */
	inv_graph_side *side;
	uint64_t done, total; /* steps of progress: the search, then spectra */
	uint32_t *index;      /* [n, listed] */
	double *squared;      /* [n, listed] */
	double *vectors;      /* [PAIRS, n] */
} graph_job;

/* ---- A side ---------------------------------------------------------------------- */

invar_status inv_graph_side_new(uint64_t n, inv_graph_side *out)
{
	const size_t heads = SIZES * sizeof *out->spectrum / sizeof *out->heat;

	*out = (inv_graph_side){.n = n, .doubles = heads + SIZES * n * TIMES};
	out->spectrum = inv_calloc(out->doubles, sizeof *out->heat);
	INV_TRY(inv_check_memory(out->spectrum, inv_array_bytes(out->doubles, sizeof(double))));
	out->heat = (double *)out->spectrum + heads;
	return INVAR_OK;
}

void inv_graph_side_free(inv_graph_side *side)
{
	inv_free(side->spectrum);
	*side = (inv_graph_side){0};
}

static double *heat_of(const inv_graph_side *side, size_t size)
{
	return side->heat + size * side->n * TIMES;
}

/* ---- Neighbours ------------------------------------------------------------------ */

static invar_status search_neighbours(graph_job *j)
{
	inv_neighbours *p;
	invar_status st;

	INV_TRY(inv_neighbours_new(j->ctx, j->x, j->n, j->w, NULL, j->listed, &p));
	for (size_t at = 0; at < j->n; at += SEARCH_BLOCK) {
		INV_TRY_OR(end, inv_progress(j->ctx, "graph", j->done, j->total));
		inv_nearest_others(p, at, inv_min(j->n - at, SEARCH_BLOCK),
		                   j->index + at * j->listed, j->squared + at * j->listed);
	}
	j->done++;
	st = INVAR_OK;
end:
	inv_neighbours_free(p);
	return st;
}

static inv_lists lists_of(const graph_job *j, size_t size)
{
	return (inv_lists){.n = j->n,
	                   .count = inv_graph_k[size] - j->published,
	                   .stride = j->listed,
	                   .index = j->index,
	                   .squared = j->squared,
	                   .loops = j->published};
}

/* ---- Spectra --------------------------------------------------------------------- */

/* Times are geometric: 0.1 … 10. In blocks of rows, whose signatures stay in the cache. */
static void put_heat(size_t n, const double *values, const double *vectors, double *heat)
{
	double decay[PAIRS][TIMES];

	for (size_t p = 0; p < PAIRS; p++)
		for (size_t t = 0; t < TIMES; t++)
			decay[p][t] = exp(-values[p] * pow(10, -1 + 2.0 * (double)t / (TIMES - 1)));
	memset(heat, 0, n * TIMES * sizeof *heat);
	for (size_t first = 0; first < n; first += HEAT_BLOCK) {
		size_t end = first + HEAT_BLOCK < n ? first + HEAT_BLOCK : n;

		for (size_t p = 0; p < PAIRS; p++)
			for (size_t i = first; i < end; i++) {
				double square = vectors[p * n + i] * vectors[p * n + i];

				for (size_t t = 0; t < TIMES; t++)
					heat[i * TIMES + t] += decay[p][t] * square;
			}
	}
}

/* What distances say: the width of heat weights, and rows that equal another. */
static invar_status measure_widths(const graph_job *j, size_t size)
{
	inv_graph_spectrum *s = &j->side->spectrum[size];
	const inv_lists l = lists_of(j, size);
	double sum = 0;

	for (size_t i = 0; i < l.n; i++) {
		s->duplicates += l.squared[i * l.stride] == 0;
		sum += sqrt(l.squared[i * l.stride + l.count - 1]);
	}
	s->sigma = sum / (double)l.n;
	if (s->sigma > 0)
		return INVAR_OK;
	return inv_fail(INVAR_E_NUMERIC,
	                "each row equals its %zu nearest rows, so that they have no graph",
	                inv_graph_k[size]);
}

static invar_status check_graph_cancel(void *user)
{
	const graph_job *j = user;

	return inv_progress(j->ctx, "graph", j->done, j->total);
}

/*
 * One eigenproblem: the graph of a k, with weights 1 or of heat. Heat is that of weights,
 * if there are any (published), else that of the union.
 */
static invar_status measure_spectrum(graph_job *j, size_t size, bool weighted)
{
	inv_graph_spectrum *s = &j->side->spectrum[size];
	const inv_lists l = lists_of(j, size);
	inv_graph g = {0};
	const inv_laplacian_spec spec = {
		.g = &g, .want = PAIRS, .check = check_graph_cancel, .user = j};
	double heat_values[PAIRS], *values = weighted ? heat_values : s->eigenvalue;
	size_t found = 0;
	invar_status st;

	INV_TRY(weighted ? inv_graph_heat(&l, s->sigma, &g) : inv_graph_union(&l, &g));
	INV_TRY_OR(done, inv_laplacian_smallest(&spec, values, j->vectors, &found));
	if (!weighted) {
		s->edges = ((double)g.start[g.n] + (j->published ? (double)g.n : 0)) / 2;
		s->components = (double)found;
	}
	if (weighted == j->published) {
		s->heat_components = (double)found;
		put_heat(j->n, values, j->vectors, heat_of(j->side, size));
	}
	j->done++;
	st = INVAR_OK;
done:
	inv_graph_free(&g);
	return st;
}

invar_status inv_graph_measure(const invar_context *ctx, bool published, const float *x,
                               size_t w, inv_graph_side *side)
{
	graph_job j = {.ctx = ctx,
	               .published = published,
	               .x = x,
	               .n = side->n,
	               .w = w,
	               .listed = inv_graph_k[SIZES - 1] - published,
	               .side = side,
	               .total = 1 + SIZES * (published ? 2 : 1)};
	const size_t max_k = inv_graph_k[SIZES - 1];
	inv_pool scratch = {0};
	invar_status st;

	if (j.n <= max_k)
		return inv_fail(INVAR_E_USE,
		                "graphs of %zu neighbours and %d eigenvalues need at least %zu "
		                "rows, not %zu",
		                max_k, PAIRS, max_k + 1, j.n);
	for (size_t i = 0; i < j.n * w; i++)
		if (!isfinite(x[i]))
			return inv_fail(INVAR_E_NUMERIC, "row %zu is not finite", i / w);
	INV_TRY_OR(done, inv_pool_zeros(&scratch, &j.index, j.n * j.listed));
	INV_TRY_OR(done, inv_pool_zeros(&scratch, &j.squared, j.n * j.listed));
	INV_TRY_OR(done, inv_pool_zeros(&scratch, &j.vectors, PAIRS * j.n));
	INV_TRY_OR(done, search_neighbours(&j));
	for (size_t size = 0; size < SIZES; size++) {
		INV_TRY_OR(done, measure_widths(&j, size));
		for (int weighted = 0; weighted <= published; weighted++)
			INV_TRY_OR(done, measure_spectrum(&j, size, weighted));
	}
	st = INVAR_OK;
done:
	inv_pool_free(&scratch);
	return st;
}

/* ---- Figures --------------------------------------------------------------------- */

bool inv_graph_has_heat(const inv_graph_side *side, size_t size)
{
	return side->spectrum[size].heat_components <= PAIRS;
}

double inv_graph_largest_gap(const inv_graph_spectrum *s, size_t *index)
{
	double largest = 0;

	*index = 0;
	for (size_t i = 0; i + 1 < PAIRS; i++) {
		double gap = s->eigenvalue[i + 1] - s->eigenvalue[i];

		if (gap > largest) {
			largest = gap;
			*index = i;
		}
	}
	return largest;
}

/* Without loops the diagonal of L is 1. */
double inv_graph_trace(const inv_graph_side *side, bool published, size_t size)
{
	double sum = 0;

	for (size_t i = 0; i < PAIRS; i++)
		sum += side->spectrum[size].eigenvalue[i];
	return published ? sum : (double)side->n;
}

/* What a published spectrum is divided by; 1 if all 50 are 0, which nothing changes. */
static double unit_of(const inv_graph_spectrum *s, bool published)
{
	double largest = s->eigenvalue[PAIRS - 1];

	return published && largest > 0 ? largest : 1;
}

double inv_graph_spectral_distance(const inv_graph_side *a, const inv_graph_side *b,
                                   bool published, size_t size)
{
	const inv_graph_spectrum *x = &a->spectrum[size], *y = &b->spectrum[size];
	double unit_x = unit_of(x, published), unit_y = unit_of(y, published), sum = 0;

	for (size_t i = 0; i < PAIRS; i++) {
		double gap = x->eigenvalue[i] / unit_x - y->eigenvalue[i] / unit_y;

		sum += gap * gap;
	}
	return sqrt(sum);
}

static double heat_norm(const double *heat, size_t n, size_t t)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += heat[i * TIMES + t] * heat[i * TIMES + t];
	return sqrt(sum);
}

static double published_heat_distance(const double *x, const double *y, size_t n)
{
	double mean = 0;

	for (size_t t = 0; t < TIMES; t++) {
		double unit_x = heat_norm(x, n, t), unit_y = heat_norm(y, n, t), sum = 0;

		for (size_t i = 0; i < n; i++) {
			double gap = x[i * TIMES + t] / unit_x - y[i * TIMES + t] / unit_y;

			sum += gap * gap;
		}
		mean += sqrt(sum) / TIMES;
	}
	return mean;
}

static double plain_heat_distance(const double *x, const double *y, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n * TIMES; i++)
		sum += fabs(x[i] - y[i]);
	return sum / (double)(n * TIMES);
}

double inv_graph_heat_distance(const inv_graph_side *a, const inv_graph_side *b,
                               bool published, size_t size)
{
	return (published ? published_heat_distance : plain_heat_distance)(
		heat_of(a, size), heat_of(b, size), (size_t)a->n);
}
