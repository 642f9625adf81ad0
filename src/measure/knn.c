/* SPDX-License-Identifier: Apache-2.0 */
/* knn.c - accuracy of a vote among the k nearest training rows (knn.h). */
#include "measure/knn.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "math/neighbours.h"
#include "math/unit_rows.h"

enum { BLOCK = 2048, MAX_FOUND = 1 << 22 }; /* queries, neighbours per block */

/*
 * By cosine, rows are unit vectors with two more values, which are 0: |a - b|² is then
 * 2 (1 - cos). A stored row of zeros gets 1 as the first of them and a query of zeros as
 * the second, so that they are at right angles to everything.
 */
enum { STORED, QUERY, MORE };

struct inv_voters {
	size_t k, w, block;
	bool cosine;
	inv_neighbours *gallery;
	uint32_t *classes; /* [rows] */
	float *unit;       /* [block, w + MORE]: queries by cosine */
	uint32_t *index;   /* [block, k] */
	double *squared;   /* [block, k] */
	uint32_t *votes;   /* [k] */
};

static uint64_t count_voters(const inv_measure_input *in)
{
	return inv_min(inv_option_count(in->options, "k"), in->train_labels.rows);
}

void inv_voters_title(const inv_measure_input *in, bool old_index, char *out, size_t size)
{
	snprintf(out, size, "%" PRIu64 "-NN%s%s", count_voters(in),
	         old_index ? ", old index" : "",
	         inv_option_is(in->options, "metric", "cosine") ? ", cosine" : "");
}

static void make_unit(const float *rows, uint64_t count, size_t w, int which, float *out)
{
	for (uint64_t i = 0; i < count; i++, rows += w, out += w + MORE) {
		inv_unit_rows(rows, 1, w, out);
		out[w + STORED] = out[w + QUERY] = 0;
		if (inv_row_norm(rows, w) == 0)
			out[w + (size_t)which] = 1;
	}
}

invar_status inv_voters_new(const inv_measure_input *in, bool old_index, inv_voters **out)
{
	const inv_selection from = inv_select_labelled(in->train, &in->train_labels);
	inv_voters *v;
	float *rows, *stored;
	size_t width;

	*out = NULL;
	if (old_index)
		INV_TRY(inv_measure_same_width(in, INV_MARKED
		                               "index old compares codes with features"));
	INV_TRY(inv_pool_zeros(in->scratch, &v, 1));
	*v = (inv_voters){.k = (size_t)count_voters(in),
	                  .w = in->w,
	                  .cosine = inv_option_is(in->options, "metric", "cosine")};
	v->block = MAX_FOUND / v->k < 1 ? 1 : (size_t)inv_min(BLOCK, MAX_FOUND / v->k);
	width = v->w + (v->cosine ? MORE : 0);
	INV_TRY(inv_pool_zeros(in->scratch, &rows, from.points * v->w));
	INV_TRY(inv_pool_zeros(in->scratch, &v->classes, from.points));
	INV_TRY(inv_pool_zeros(in->scratch, &v->index, v->block * v->k));
	INV_TRY(inv_pool_zeros(in->scratch, &v->squared, v->block * v->k));
	INV_TRY(inv_pool_zeros(in->scratch, &v->votes, v->k));

	INV_TRY(inv_measure_rows(in, &from, INVAR_CLEAN, old_index, 0, from.points, rows));
	inv_measure_classes(&from, &in->train_labels, v->classes);
	stored = rows;
	if (v->cosine) {
		INV_TRY(inv_pool_zeros(in->scratch, &v->unit, v->block * width));
		INV_TRY(inv_pool_zeros(in->scratch, &stored, from.points * width));
		make_unit(rows, from.points, v->w, STORED, stored);
	}
	INV_TRY(
		inv_neighbours_new(in->ctx, stored, from.points, width, NULL, v->k, &v->gallery));
	*out = v;
	return INVAR_OK;
}

void inv_voters_free(inv_voters *v)
{
	if (v)
		inv_neighbours_free(v->gallery);
}

static int by_class(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Votes are sorted: of equally long runs the first has the smallest label. */
static uint32_t find_winner(uint32_t *votes, size_t k)
{
	uint32_t best = votes[0];
	size_t longest = 0;

	qsort(votes, k, sizeof *votes, by_class);
	for (size_t i = 0, run = 0; i < k; i++) {
		run = i && votes[i] == votes[i - 1] ? run + 1 : 1;
		if (run > longest) {
			longest = run;
			best = votes[i];
		}
	}
	return best;
}

void inv_voters_ask(inv_voters *v, const float *queries, uint64_t count, uint32_t *classes)
{
	for (uint64_t first = 0; first < count; first += v->block) {
		uint64_t now = inv_min(count - first, v->block);
		const float *rows = queries + first * v->w;

		if (v->cosine)
			make_unit(rows, now, v->w, QUERY, v->unit);
		inv_nearest(v->gallery, v->cosine ? v->unit : rows, now, v->index, v->squared);
		for (uint64_t i = 0; i < now; i++) {
			for (size_t k = 0; k < v->k; k++)
				v->votes[k] = v->classes[v->index[i * v->k + k]];
			classes[first + i] = find_winner(v->votes, v->k);
		}
	}
}

/* The clean rows, or all copies; the fraction of an image is over its copies. */
static invar_status measure_set(const inv_measure_input *in, inv_voters *voters, bool clean,
                                inv_interval *out)
{
	const inv_selection asked = inv_select_labelled(in->split, &in->labels);
	uint64_t rows = asked.points, total = (1 + (uint64_t)in->split->copies) * rows;
	uint32_t copies = clean ? 1 : in->split->copies;
	uint32_t *labels, answers[BLOCK];
	float *queries;
	double *fraction; /* [rows] */

	INV_TRY(inv_pool_zeros(in->scratch, &labels, rows));
	INV_TRY(inv_pool_zeros(in->scratch, &queries, BLOCK * in->w));
	INV_TRY(inv_pool_zeros(in->scratch, &fraction, rows));
	inv_measure_classes(&asked, &in->train_labels, labels);
	for (uint32_t c = 0; c < copies; c++)
		for (uint64_t first = 0; first < rows; first += BLOCK) {
			uint64_t now = inv_min(rows - first, BLOCK);

			INV_TRY(inv_progress(in->ctx, "knn",
			                     (clean ? 0 : 1 + (uint64_t)c) * rows + first, total));
			INV_TRY(inv_measure_rows(in, &asked, clean ? INVAR_CLEAN : (int32_t)c, false,
			                         first, now, queries));
			inv_voters_ask(voters, queries, now, answers);
			for (uint64_t i = 0; i < now; i++)
				fraction[first + i] += answers[i] == labels[first + i];
		}
	for (uint64_t i = 0; i < rows; i++)
		fraction[i] /= copies;
	return inv_bootstrap(in->ctx, fraction, rows, 1, in->seed, out);
}

static bool wants_old_index(const inv_measure_input *in)
{
	return inv_option_is(in->options, "index", "old");
}

static invar_status measure_knn(const inv_measure_input *in)
{
	inv_interval clean, augmented;
	inv_voters *voters;
	invar_status st;

	INV_TRY(inv_voters_new(in, wants_old_index(in), &voters));
	INV_TRY_OR(end, measure_set(in, voters, true, &clean));
	if (in->split->copies)
		INV_TRY_OR(end, measure_set(in, voters, false, &augmented));
	INV_TRY_OR(end, inv_put_interval(in->results, "knn.clean", in->column, &clean));
	if (in->split->copies)
		st = inv_put_interval(in->results, "knn.augmented", in->column, &augmented);
end:
	inv_voters_free(voters);
	return st;
}

static const invar_option options[] = {
	{"k", INVAR_OPTION_COUNT, "20", .min = 1, .max = 4e9, .flags = INVAR_OPTION_EXPERT,
     .meta = "N", .group = "Measurements", .help = "knn: number of neighbours that vote"},
	{"index", INVAR_OPTION_TEXT, "new", .choices = "new|old", .meta = "WORD",
     .group = "Measurements",
     .help = "knn: search in a new index, whose stored features pass through E, or in the "
             "old one, whose stored features stay F(x)"},
	{"metric", INVAR_OPTION_TEXT, "l2", .choices = "l2|cosine", .meta = "WORD",
     .group = "Measurements",
     .help = "knn: metric of the search; same-image and same-class measure both"},
	{0},
};

static const invar_metric metrics[] = {
	INV_SHARE_METRIC("knn", "knn.clean", "kNN", "clean", 1),
	INV_SHARE_METRIC("knn", "knn.augmented", "kNN", "augmented", 1),
	{0},
};

static void title_knn(const inv_measure_input *in, char *out, size_t size)
{
	inv_voters_title(in, wants_old_index(in), out, size);
}

const inv_measurement inv_measurement_knn = {
	.name = "knn",
	.title = "kNN",
	.about = "the class of the nearest neighbours in train",
	.group = "probe",
	.needs = INV_NEEDS_LABELS | INV_NEEDS_TRAIN,
	.options = options,
	.shares = "train-split|seed",
	.metrics = metrics,
	.title_row = title_knn,
	.measure = measure_knn};
