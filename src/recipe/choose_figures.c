/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choose_figures.c - the figures of codes on held-out images.
 *
 *   classify     share of copies whose nearest row of the gallery, their own image left
 * out, has their class same-image   share of copies whose own image is among the first 10;
 * then mean 1 / rank distances    relative root mean square error of distances
 * (measure/distances.h) none         share of the squared displacement that is removed,
 * before and after at the scale that suits each best
 *
 * as `invar eval` reports them for a test split: same-class and same-image recall,
 * distances. Displacement alone rewards codes that shrink toward their mean, with which an
 * index finds less; so without a goal the scale does not count, like in R2.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "math/kernels.h"
#include "measure/distances.h"
#include "measure/retrieval.h"
#include "measure/structure.h"
#include "recipe/choose.h"

enum { COMPARED = 500 }; /* rows of the gallery whose distances are compared */

uint64_t inv_choice_clean_rows(const inv_choice_rows *r, const inv_goal *g)
{
	return g->kind != INV_GOAL_NONE && g->reindex ? r->gallery : r->held;
}

double inv_choice_score(const inv_goal *g, const inv_choice_figures *f)
{
	return g->kind == INV_GOAL_DISTANCES ? -f->value : f->value;
}

void inv_choice_figure_name(const inv_goal *g, char *out, size_t size)
{
	static const char *const what[] = {
		"share of the displacement that is gone at the best scale",
		"nearest neighbour of the same class", "own image among the first 10",
		"error of distances"};

	if (g->kind == INV_GOAL_NONE)
		snprintf(out, size, "%s", what[0]);
	else
		snprintf(out, size, "%s, %s, %s", what[g->kind],
		         g->reindex ? "re-indexed" : "old index",
		         g->metric == INV_COSINE ? "cosine" : "L2");
}

/* ---- Structure and displacement -------------------------------------------------- */

invar_status inv_choice_structure(const inv_choice_rows *r, const float *clean,
                                  const float *codes, double *r2)
{
	invar_context quiet = *r->ctx; /* too short for its own progress */
	inv_structure s;
	uint32_t d = (uint32_t)r->d;
	invar_status st;

	quiet.hooks.progress = NULL;
	st = inv_structure_measure(&quiet, clean, d, codes, d, r->held, &s);

	*r2 = st == INVAR_OK && isfinite(s.r2) ? s.r2 : 0;
	return st == INVAR_E_NUMERIC || st == INVAR_E_MISMATCH ? INVAR_OK : st;
}

static double measure_gone(const inv_choice_rows *r, const float *query)
{
	struct inv_kernels k;
	double before = 0, after = 0;

	inv_kernels_init(&k, r->ctx->cpu);
	for (uint64_t i = 0; i < r->queries; i++) {
		const float *clean = r->clean + r->own[i] * r->d;

		before += k.squared_distance(r->query + i * r->d, clean, r->d);
		after += k.squared_distance(query + i * r->d, clean, r->d);
	}
	return before > 0 ? 1 - after / before : 0;
}

/* Means of rows of copies and of their images, [2, d]; false without memory. */
static bool find_means(const inv_choice_rows *r, const float *query, double **out)
{
	double *mean = inv_calloc(2 * r->d, sizeof *mean);

	for (uint64_t i = 0; mean && i < r->queries; i++)
		for (uint64_t j = 0; j < r->d; j++) {
			mean[j] += query[i * r->d + j] / (double)r->queries;
			mean[r->d + j] += r->clean[r->own[i] * r->d + j] / (double)r->queries;
		}
	*out = mean;
	return mean;
}

/* Of rows about their means: the scale s that makes the sum of |s copy - image|^2 least. */
static double best_scale(const inv_choice_rows *r, const float *query, const double *mean)
{
	double own = 0, both = 0;

	for (uint64_t i = 0; i < r->queries; i++)
		for (uint64_t j = 0; j < r->d; j++) {
			double q = query[i * r->d + j] - mean[j];

			own += q * q;
			both += q * (r->clean[r->own[i] * r->d + j] - mean[r->d + j]);
		}
	return own > 0 && both > 0 ? both / own : 0;
}

/* Squared displacement at the best scale, added to out[image]; false without memory. */
static bool add_scaled_displacement(const inv_choice_rows *r, const float *query,
                                    double *out)
{
	double *mean, scale;

	if (!find_means(r, query, &mean))
		return false;
	scale = best_scale(r, query, mean);
	for (uint64_t i = 0; i < r->queries; i++)
		for (uint64_t j = 0; j < r->d; j++) {
			double q = query[i * r->d + j] - mean[j];
			double c = r->clean[r->own[i] * r->d + j] - mean[r->d + j];

			out[r->own[i]] += (scale * q - c) * (scale * q - c);
		}
	inv_free(mean);
	return true;
}

/* Without a goal: what is gone of the displacement that F's copies have. */
static invar_status measure_scaled(const inv_choice_rows *r, const float *query,
                                   inv_choice_shares *s)
{
	bool enough = add_scaled_displacement(r, r->query, s->whole) &&
	              add_scaled_displacement(r, query, s->part);

	for (uint64_t i = 0; i < r->held; i++)
		s->part[i] = s->whole[i] - s->part[i];
	return enough ? INVAR_OK
	              : inv_fail(INVAR_E_NOMEM, "not enough memory for a mean of codes");
}

/* ---- Retrieval ------------------------------------------------------------------- */

static void add_ranks(const inv_choice_rows *r, inv_sought sought, const inv_rank *ranks,
                      inv_choice_shares *s, double *second)
{
	int at = sought == INV_SAME_IMAGE ? INV_AT_10 : INV_AT_1;
	double sum = 0;

	for (uint64_t i = 0; i < r->queries; i++) {
		double figures[INV_FIGURES];

		if (!inv_retrieval_figures(sought, &ranks[i], figures))
			continue;
		s->part[r->own[i]] += figures[at];
		s->whole[r->own[i]] += 1;
		sum += figures[INV_PRECISION];
	}
	*second = sum / (double)r->queries;
}

/* As in eval: by class the row of the query's own image is left out. */
static invar_status measure_ranks(const inv_choice_rows *r, const inv_goal *g,
                                  const float *query, const float *gallery,
                                  inv_choice_shares *s, double *second)
{
	bool by_class = g->kind == INV_GOAL_CLASSIFY;
	const inv_gallery rows = {gallery, r->gallery, r->d, r->class};
	const inv_rank_queries q = {.rows = query,
	                            .count = r->queries,
	                            .own = r->own,
	                            .classes = r->own_class,
	                            .leave_own_out = by_class};
	inv_rank *ranks = inv_calloc(r->queries, sizeof *ranks);
	inv_ranks *p = NULL;
	invar_status st = ranks ? inv_ranks_new(r->ctx, &rows, g->metric, &p)
	                        : inv_fail(INVAR_E_NOMEM, "not enough memory for ranks");

	if (st == INVAR_OK) {
		inv_ranks_find(p, &q, ranks);
		add_ranks(r, by_class ? INV_SAME_CLASS : INV_SAME_IMAGE, ranks, s, second);
	}
	inv_ranks_free(p);
	inv_free(ranks);
	return st;
}

/* ---- Distances ------------------------------------------------------------------- */

/* COMPARED rows of [gallery, d], spread evenly. */
static void take_compared(const inv_choice_rows *r, const float *gallery, uint64_t rows,
                          float *out)
{
	for (uint64_t i = 0; i < rows; i++)
		memcpy(out + i * r->d, gallery + i * r->gallery / rows * r->d, r->d * sizeof *out);
}

/* Held-out images come first in the gallery; row i of the sample is number i G / m. */
static void find_own(const inv_choice_rows *r, uint64_t rows, uint64_t *own)
{
	for (uint64_t i = 0; i < r->held; i++)
		own[i] = rows;
	for (uint64_t i = 0; i < rows; i++)
		if (i * r->gallery / rows < r->held)
			own[i * r->gallery / rows] = i;
}

static invar_status measure_errors(const inv_choice_rows *r, const inv_goal *g,
                                   const float *query, const float *gallery,
                                   inv_choice_shares *s)
{
	uint64_t m = r->gallery < COMPARED ? r->gallery : COMPARED;
	float *rows = inv_alloc(2 * m * r->d * sizeof *rows);
	uint64_t *own = inv_calloc(r->held, sizeof *own);
	invar_status st =
		rows && own ? INVAR_OK : inv_fail(INVAR_E_NOMEM, "not enough memory for distances");

	if (st == INVAR_OK) {
		take_compared(r, r->clean, m, rows);
		take_compared(r, gallery, m, rows + m * r->d);
		find_own(r, m, own);
	}
	for (uint32_t k = 0; k < r->copies && st == INVAR_OK; k++) {
		const inv_distance_pairs p = {.query = r->clean,
		                              .gallery = rows,
		                              .after = query + (uint64_t)k * r->held * r->d,
		                              .indexed = rows + m * r->d,
		                              .own = own,
		                              .n = r->held,
		                              .m = m,
		                              .d = r->d,
		                              .w = r->d};

		st = inv_distance_errors(r->ctx, g->metric, &p, s->part, s->whole);
	}
	inv_free(rows);
	inv_free(own);
	return st;
}

/* ---- Shares ---------------------------------------------------------------------------
 */

bool inv_choice_shares_new(size_t images, inv_choice_shares *out)
{
	out->part = inv_calloc(images, sizeof *out->part);
	out->whole = inv_calloc(images, sizeof *out->whole);
	return out->part && out->whole;
}

void inv_choice_shares_clear(inv_choice_shares *s)
{
	inv_free(s->part);
	inv_free(s->whole);
	*s = (inv_choice_shares){0};
}

double inv_choice_figure(const inv_goal *g, const inv_choice_shares *s, size_t images)
{
	double part = 0, whole = 0;

	for (size_t i = 0; i < images; i++) {
		part += s->part[i];
		whole += s->whole[i];
	}
	if (!(whole > 0))
		return NAN;
	return g->kind == INV_GOAL_DISTANCES ? sqrt(part / whole) : part / whole;
}

bool inv_choice_better(const inv_goal *g, const inv_choice_figures *a,
                       const inv_choice_figures *b)
{
	double x = inv_choice_score(g, a), y = inv_choice_score(g, b);

	return x != y ? x > y : a->second > b->second;
}

/* ---- All of it ------------------------------------------------------------------------
 */

invar_status inv_choice_measure(const inv_choice_rows *r, const inv_goal *g,
                                const float *query, const float *clean,
                                inv_choice_shares *shares, inv_choice_figures *out)
{
	const float *gallery = g->reindex ? clean : r->clean;
	invar_status st = inv_choice_structure(r, r->clean, clean, &out->r2);

	memset(shares->part, 0, r->held * sizeof *shares->part);
	memset(shares->whole, 0, r->held * sizeof *shares->whole);
	out->second = 0;
	out->gone = measure_gone(r, query);
	if (st == INVAR_OK && g->kind == INV_GOAL_NONE)
		st = measure_scaled(r, query, shares);
	else if (st == INVAR_OK && g->kind == INV_GOAL_DISTANCES)
		st = measure_errors(r, g, query, gallery, shares);
	else if (st == INVAR_OK)
		st = measure_ranks(r, g, query, gallery, shares, &out->second);
	if (st != INVAR_OK)
		return st;
	out->value = inv_choice_figure(g, shares, r->held);
	if (isnan(out->value))
		return inv_fail(INVAR_E_NUMERIC, "held-out images cannot tell candidates apart: %s",
		                g->kind == INV_GOAL_CLASSIFY
		                    ? "none of them has a label"
		                    : "their copies equal the clean features");
	return INVAR_OK;
}
