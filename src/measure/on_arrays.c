/* SPDX-License-Identifier: Apache-2.0 */
/*
 * on_arrays.c - neighbours, ranks, collisions and a linear probe on the caller's arrays.
 *
 * What invar_eval computes for a bank, for programs that have no bank: the same searches
 * and the same classifier. Rows that are not finite are an error here, as they are when a
 * bank is read.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/context.h"
#include "base/memory.h"
#include "base/words.h"
#include "math/kernels.h"
#include "math/neighbours.h"
#include "math/ranks.h"
#include "measure/labels.h"
#include "nn/classifier.h"

enum { BLOCK = 2048 }; /* queries between two calls of the hooks */

typedef struct rows {
	const char *name; /* for messages */
	const float *x;   /* [count, dim] */
	uint64_t count;
	uint32_t dim;
} rows;

static invar_status check_rows(const invar_context *ctx, const rows *r)
{
	struct inv_kernels kernels;

	if (!r->count || !r->dim)
		return inv_fail(INVAR_E_USE, "%s must not be empty", r->name);
	if (r->count >= UINT32_MAX)
		return inv_fail(INVAR_E_USE, "%s: %" PRIu64 " rows are more than %" PRIu32, r->name,
		                r->count, UINT32_MAX - 1);
	inv_kernels_init(&kernels, ctx->cpu);
	for (uint64_t i = 0; i < r->count; i++)
		if (!kernels.all_finite(r->x + i * r->dim, r->dim))
			return inv_fail(INVAR_E_NUMERIC, "%s: row %" PRIu64 " is not finite", r->name,
			                i);
	return INVAR_OK;
}

static invar_status check_labels(const char *name, const int64_t *labels, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		if (labels[i] < 0)
			return inv_fail(INVAR_E_USE,
			                "%s: row %" PRIu64 " has the label %" PRId64
			                "; remove rows without a label",
			                name, i, labels[i]);
	return INVAR_OK;
}

static uint64_t block_at(const rows *r, uint64_t first)
{
	return r->count - first < BLOCK ? r->count - first : BLOCK;
}

/* ---- Neighbours ------------------------------------------------------------------ */

static invar_status find_all(const invar_context *ctx, inv_neighbours *p,
                             const rows *queries, uint32_t k, uint32_t *index,
                             double *distance)
{
	for (uint64_t first = 0; first < queries->count; first += BLOCK) {
		uint64_t now = block_at(queries, first);
		invar_status st = inv_progress(ctx, "neighbours", first, queries->count);

		if (st != INVAR_OK)
			return st;
		inv_nearest(p, queries->x + first * queries->dim, now, index + first * k,
		            distance + first * k);
	}
	for (uint64_t i = 0; i < queries->count * k; i++)
		distance[i] = sqrt(distance[i]);
	return INVAR_OK;
}

invar_status invar_neighbours(invar_context *ctx, const float *gallery, uint64_t n,
                              const float *queries, uint64_t m, uint32_t dim, uint32_t k,
                              uint32_t *index, double *distance)
{
	const rows in = {"gallery", gallery, n, dim}, asked = {"queries", queries, m, dim};
	inv_neighbours *p = NULL;
	invar_status st;

	if ((st = check_rows(ctx, &in)) != INVAR_OK ||
	    (st = check_rows(ctx, &asked)) != INVAR_OK)
		return st;
	if (!k || k > n)
		return inv_fail(INVAR_E_USE, "k must be 1 to %" PRIu64 ", the rows of the gallery",
		                n);
	if ((st = inv_neighbours_new(ctx, gallery, n, dim, NULL, k, &p)) == INVAR_OK)
		st = find_all(ctx, p, &asked, k, index, distance);
	inv_neighbours_free(p);
	return st;
}

/* ---- Ranks ------------------------------------------------------------------------ */

typedef struct rankings {
	const invar_context *ctx;
	inv_distance distance;
	rows in, asked;
	const int64_t *labels, *query_labels; /* NULL: no ranking by class */
	const uint32_t *made_of;
	bool leave_out;
	uint32_t *classes, *query_classes; /* [in.count], [asked.count] */
	inv_rank ranks[BLOCK];
} rankings;

static invar_status check_sources(const uint32_t *made_of, uint64_t m, uint64_t n)
{
	for (uint64_t i = 0; i < m && made_of; i++)
		if (made_of[i] >= n)
			return inv_fail(INVAR_E_USE,
			                "query %" PRIu64 " refers to row %" PRIu32
			                ", but there are %" PRIu64 " rows",
			                i, made_of[i], n);
	return INVAR_OK;
}

static invar_status check_rankings(const rankings *r)
{
	invar_status st = check_rows(r->ctx, &r->in);

	if (st == INVAR_OK)
		st = check_rows(r->ctx, &r->asked);
	if (st == INVAR_OK)
		st = check_sources(r->made_of, r->asked.count, r->in.count);
	if (st == INVAR_OK && !r->labels != !r->query_labels)
		st =
			inv_fail(INVAR_E_USE, "a ranking by class needs labels of gallery and queries");
	if (st == INVAR_OK && r->leave_out && !r->made_of)
		st = inv_fail(INVAR_E_USE,
		              "to leave out rows, give the rows that the queries were made from");
	return st;
}

/* Classes are numbered by the labels of the gallery; other labels match no row of it. */
static invar_status number_classes(rankings *r)
{
	uint64_t n = r->in.count, m = r->asked.count, labelled = 0;
	int64_t *known = inv_calloc(n, sizeof *known);
	inv_labels all = {0};
	invar_status st = INVAR_OK;

	r->classes = inv_calloc(n, sizeof *r->classes);
	r->query_classes = inv_calloc(m, sizeof *r->query_classes);
	if (!known || !r->classes || !r->query_classes)
		st = inv_fail(INVAR_E_NOMEM, "not enough memory for %" PRIu64 " labels", n + m);
	for (uint64_t i = 0; i < n && st == INVAR_OK; i++)
		if (r->labels[i] >= 0)
			known[labelled++] = r->labels[i];
	if (st == INVAR_OK)
		st = inv_labels_take(known, labelled, &all);
	for (uint64_t i = 0; i < n && st == INVAR_OK; i++)
		r->classes[i] = inv_labels_class(&all, r->labels[i]);
	for (uint64_t i = 0; i < m && st == INVAR_OK; i++)
		r->query_classes[i] = inv_labels_class(&all, r->query_labels[i]);
	inv_labels_clear(&all);
	inv_free(known);
	return st;
}

static void give_ranks(const rankings *r, uint64_t first, uint64_t now, uint32_t *own_rank,
                       uint32_t *class_rank, double *precision)
{
	for (uint64_t i = 0; i < now; i++) {
		if (r->made_of && own_rank)
			own_rank[first + i] = r->ranks[i].own;
		if (r->labels && class_rank)
			class_rank[first + i] = r->ranks[i].first;
		if (r->labels && precision)
			precision[first + i] = r->ranks[i].precision;
	}
}

static invar_status find_ranks(rankings *r, uint32_t *own_rank, uint32_t *class_rank,
                               double *precision)
{
	const inv_gallery g = {r->in.x, r->in.count, r->in.dim, r->classes};
	inv_ranks *p;
	invar_status st = inv_ranks_new(r->ctx, &g, r->distance, &p);

	for (uint64_t first = 0; first < r->asked.count && st == INVAR_OK; first += BLOCK) {
		uint64_t now = block_at(&r->asked, first);
		const inv_rank_queries q = {.rows = r->asked.x + first * r->asked.dim,
		                            .count = now,
		                            .own = r->made_of ? r->made_of + first : NULL,
		                            .classes =
		                                r->query_classes ? r->query_classes + first : NULL,
		                            .leave_own_out = r->leave_out};

		if ((st = inv_progress(r->ctx, "ranks", first, r->asked.count)) != INVAR_OK)
			break;
		inv_ranks_find(p, &q, r->ranks);
		give_ranks(r, first, now, own_rank, class_rank, precision);
	}
	inv_ranks_free(p);
	return st;
}

invar_status invar_ranks(invar_context *ctx, const char *distance, const float *gallery,
                         const int64_t *labels, uint64_t n, const float *queries,
                         const int64_t *query_labels, uint64_t m, uint32_t dim,
                         const uint32_t *made_of, int leave_out, uint32_t *own_rank,
                         uint32_t *class_rank, double *precision)
{
	invar_status st = inv_require_word("distance", "l2|cosine", distance);
	rankings *r = st == INVAR_OK ? inv_calloc(1, sizeof *r) : NULL;

	if (st != INVAR_OK)
		return st;
	if (!r)
		return inv_fail(INVAR_E_NOMEM, "not enough memory to rank a gallery");
	*r = (rankings){.ctx = ctx,
	                .distance = strcmp(distance, "l2") == 0 ? INV_L2 : INV_COSINE,
	                .in = {"gallery", gallery, n, dim},
	                .asked = {"queries", queries, m, dim},
	                .labels = labels,
	                .query_labels = query_labels,
	                .made_of = made_of,
	                .leave_out = leave_out};
	if ((st = check_rankings(r)) == INVAR_OK && labels)
		st = number_classes(r);
	if (st == INVAR_OK)
		st = find_ranks(r, own_rank, class_rank, precision);
	inv_free(r->classes);
	inv_free(r->query_classes);
	inv_free(r);
	return st;
}

/* ---- Collisions ------------------------------------------------------------------ */

typedef struct collisions {
	const invar_context *ctx;
	rows clean, queries;
	const int64_t *query_labels;
	const uint32_t *made_of;
	inv_labels labels;
	uint32_t *classes; /* [clean.count] */
	inv_neighbours *gallery;
	uint32_t asked[BLOCK];
	double own[BLOCK], other[BLOCK];
} collisions;

static invar_status prepare_collisions(collisions *c, const int64_t *labels)
{
	uint64_t n = c->clean.count;
	invar_status st;

	if ((st = check_rows(c->ctx, &c->clean)) != INVAR_OK ||
	    (st = check_rows(c->ctx, &c->queries)) != INVAR_OK ||
	    (st = check_labels("labels", labels, n)) != INVAR_OK ||
	    (st = check_labels("query labels", c->query_labels, c->queries.count)) !=
	        INVAR_OK ||
	    (st = check_sources(c->made_of, c->queries.count, n)) != INVAR_OK ||
	    (st = inv_labels_take(labels, n, &c->labels)) != INVAR_OK)
		return st;
	if (!(c->classes = inv_calloc(n, sizeof *c->classes)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for %" PRIu64 " labels", n);
	for (uint64_t i = 0; i < n; i++)
		c->classes[i] = inv_labels_class(&c->labels, labels[i]);
	return inv_neighbours_new(c->ctx, c->clean.x, n, c->clean.dim, c->classes, 1,
	                          &c->gallery);
}

static uint64_t count_collisions(collisions *c, uint64_t first, uint64_t now)
{
	uint64_t hits = 0;

	for (uint64_t i = 0; i < now; i++)
		c->asked[i] = inv_labels_class(&c->labels, c->query_labels[first + i]);
	inv_nearest_by_class(c->gallery, c->queries.x + first * c->queries.dim, c->asked,
	                     c->made_of ? c->made_of + first : NULL, now, c->own, c->other);
	for (uint64_t i = 0; i < now; i++)
		hits += c->other[i] < c->own[i]; /* a tie is not a collision */
	return hits;
}

static invar_status measure_collisions(collisions *c, double *rate)
{
	uint64_t hits = 0, m = c->queries.count;

	for (uint64_t first = 0; first < m; first += BLOCK) {
		invar_status st = inv_progress(c->ctx, "collision", first, m);

		if (st != INVAR_OK)
			return st;
		hits += count_collisions(c, first, block_at(&c->queries, first));
	}
	*rate = (double)hits / (double)m;
	return INVAR_OK;
}

invar_status invar_collision_rate(invar_context *ctx, const float *clean,
                                  const int64_t *labels, uint64_t n, const float *queries,
                                  const int64_t *query_labels, uint64_t m, uint32_t dim,
                                  const uint32_t *made_of, double *rate)
{
	collisions *c = inv_calloc(1, sizeof *c);
	invar_status st;

	*rate = NAN;
	if (!c)
		return inv_fail(INVAR_E_NOMEM, "not enough memory to count collisions");
	c->ctx = ctx;
	c->clean = (rows){"clean rows", clean, n, dim};
	c->queries = (rows){"queries", queries, m, dim};
	c->query_labels = query_labels;
	c->made_of = made_of;
	if ((st = prepare_collisions(c, labels)) == INVAR_OK)
		st = measure_collisions(c, rate);
	inv_neighbours_free(c->gallery);
	inv_labels_clear(&c->labels);
	inv_free(c->classes);
	inv_free(c);
	return st;
}

/* ---- A linear probe ---------------------------------------------------------------- */

static invar_status predict_labels(const invar_context *ctx,
                                   const inv_classifier_spec *spec, const float *params,
                                   const rows *queries, const inv_labels *labels,
                                   int64_t *predicted)
{
	uint32_t classes[BLOCK];

	for (uint64_t first = 0; first < queries->count; first += BLOCK) {
		uint64_t now = block_at(queries, first);
		invar_status st = inv_classifier_predict(
			ctx, spec, params, queries->x + first * queries->dim, now, classes);

		if (st != INVAR_OK)
			return st;
		for (uint64_t i = 0; i < now; i++)
			predicted[first + i] = labels->class_label[classes[i]];
	}
	return INVAR_OK;
}

static invar_status learn_and_ask(const invar_context *ctx, const rows *learned,
                                  const rows *queries, const inv_labels *labels,
                                  uint64_t epochs, uint64_t seed, int64_t *predicted)
{
	inv_classifier_spec spec = {.inputs = learned->dim,
	                            .classes = labels->classes,
	                            .epochs = epochs,
	                            .seed = seed,
	                            .stage = "linear probe",
	                            .standardise = true};
	float *params = inv_calloc(inv_classifier_floats(&spec), sizeof *params);
	uint32_t *classes = inv_calloc(learned->count, sizeof *classes);
	invar_status st = INVAR_OK;

	if (!params || !classes)
		st = inv_fail(INVAR_E_NOMEM, "not enough memory for a linear probe");
	for (uint64_t i = 0; i < learned->count && st == INVAR_OK; i++)
		classes[i] = inv_labels_class(labels, labels->label[i]);
	if (st == INVAR_OK)
		st = inv_classifier_train(ctx, &spec, learned->x, classes, (uint32_t)learned->count,
		                          params);
	if (st == INVAR_OK)
		st = predict_labels(ctx, &spec, params, queries, labels, predicted);
	inv_free(params);
	inv_free(classes);
	return st;
}

invar_status invar_linear_probe(invar_context *ctx, const float *x, const int64_t *labels,
                                uint64_t n, const float *queries, uint64_t m, uint32_t dim,
                                uint64_t epochs, uint64_t seed, int64_t *predicted)
{
	const rows learned = {"rows", x, n, dim}, asked = {"queries", queries, m, dim};
	inv_labels known;
	invar_status st;

	if ((st = check_rows(ctx, &learned)) != INVAR_OK ||
	    (st = check_rows(ctx, &asked)) != INVAR_OK ||
	    (st = check_labels("labels", labels, n)) != INVAR_OK)
		return st;
	if (!epochs)
		return inv_fail(INVAR_E_USE, "a linear probe needs at least one epoch");
	if ((st = inv_labels_take(labels, n, &known)) != INVAR_OK)
		return st;
	if (known.classes < 2)
		st = inv_fail(INVAR_E_MISMATCH,
		              "all rows have the label %" PRId64
		              ", but a classifier needs at least two classes",
		              known.class_label[0]);
	else
		st = learn_and_ask(ctx, &learned, &asked, &known, epochs, seed, predicted);
	inv_labels_clear(&known);
	return st;
}
