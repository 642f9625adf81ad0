/* SPDX-License-Identifier: Apache-2.0 */
/*
 * knn.c - accuracy of a vote among the k nearest training rows.
 *
 * Euclidean distances, one vote each; the label with the most votes wins, on
 * a tie the smallest one, as in scikit-learn's KNeighborsClassifier. Of rows at the same
 * distance the earlier one votes.
 *
 * The gallery is E(F(train)), or with index clean F(train): an existing index, where
 * only queries pass through E.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "math/neighbours.h"
#include "measure/bootstrap.h"
#include "measure/measurement.h"

enum { BLOCK = 2048, MAX_FOUND = 1 << 22 }; /* queries, neighbours per block */

typedef struct job {
	const inv_measure_input *in;
	bool clean_index;
	inv_choice from, asked; /* rows of train, rows that are measured */
	uint64_t gallery_rows, rows;
	size_t k, block;
	inv_neighbours *gallery;
	inv_arena arena;
	float *train;           /* [gallery_rows, w] */
	uint32_t *train_labels; /* [gallery_rows] */
	uint32_t *labels;       /* [rows] */
	float *queries;         /* [block, w] */
	uint32_t *index;        /* [block, k] */
	double *squared;        /* [block, k] */
	uint32_t *votes;        /* [k] */
	double *share;          /* [rows] */
} job;

static int by_label(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Labels are sorted: of equally long runs the first has the smallest label. */
static uint32_t winner(uint32_t *votes, size_t k)
{
	uint32_t best = votes[0];
	size_t longest = 0;

	qsort(votes, k, sizeof *votes, by_label);
	for (size_t i = 0, run = 0; i < k; i++) {
		run = i && votes[i] == votes[i - 1] ? run + 1 : 1;
		if (run > longest) {
			longest = run;
			best = votes[i];
		}
	}
	return best;
}

static invar_status ask_copy(job *j, int32_t copy, uint64_t done, uint64_t total)
{
	const inv_measure_input *in = j->in;
	invar_status st = INVAR_OK;

	for (uint64_t first = 0; first < j->rows && st == INVAR_OK; first += j->block) {
		uint64_t now = j->rows - first < j->block ? j->rows - first : j->block;

		if ((st = inv_progress(in->ctx, "knn", done + first, total)) != INVAR_OK ||
		    (st = inv_measure_rows(in, &j->asked, copy, false, first, now, j->queries)) !=
		        INVAR_OK)
			break;
		inv_nearest(j->gallery, j->queries, now, j->index, j->squared);
		for (uint64_t i = 0; i < now; i++) {
			for (size_t v = 0; v < j->k; v++)
				j->votes[v] = j->train_labels[j->index[i * j->k + v]];
			j->share[first + i] += winner(j->votes, j->k) == j->labels[first + i];
		}
	}
	return st;
}

/* The clean rows, or all copies; the share of an image is over its copies. */
static invar_status ask(job *j, bool clean, inv_interval *out)
{
	uint32_t copies = clean ? 1 : j->in->split->copies;
	uint64_t total = (1 + (uint64_t)j->in->split->copies) * j->rows;
	invar_status st = INVAR_OK;

	memset(j->share, 0, j->rows * sizeof *j->share);
	for (uint32_t c = 0; c < copies && st == INVAR_OK; c++)
		st = ask_copy(j, clean ? INVAR_CLEAN : (int32_t)c,
		              (clean ? 0 : 1 + (uint64_t)c) * j->rows, total);
	for (uint64_t i = 0; i < j->rows; i++)
		j->share[i] /= copies;
	return st == INVAR_OK ? inv_bootstrap(j->in->ctx, j->share, j->rows, j->in->seed, out)
	                      : st;
}

/* ---- The column ---------------------------------------------------------- */

static invar_status allocate_knn(job *j)
{
	inv_arena *a = &j->arena;
	size_t w = j->in->w;

	for (int round = 0; round < 2; round++) {
		invar_status st;

		j->train = inv_arena_take(a, j->gallery_rows * w, sizeof *j->train);
		j->train_labels = inv_arena_take(a, j->gallery_rows, sizeof *j->train_labels);
		j->labels = inv_arena_take(a, j->rows, sizeof *j->labels);
		j->queries = inv_arena_take(a, j->block * w, sizeof *j->queries);
		j->index = inv_arena_take(a, j->block * j->k, sizeof *j->index);
		j->squared = inv_arena_take(a, j->block * j->k, sizeof *j->squared);
		j->votes = inv_arena_take(a, j->k, sizeof *j->votes);
		j->share = inv_arena_take(a, j->rows, sizeof *j->share);
		if (!round && (st = inv_arena_commit(a)) != INVAR_OK)
			return st;
	}
	return INVAR_OK;
}

static invar_status prepare(job *j)
{
	const inv_measure_input *in = j->in;
	invar_status st;

	if (j->clean_index && in->w != in->d)
		return inv_fail(INVAR_E_MISMATCH,
		                "@index clean compares codes with features, but codes are %" PRIu32
		                " wide and features %" PRIu32,
		                in->w, in->d);
	if ((st = allocate_knn(j)) != INVAR_OK ||
	    (st = inv_measure_rows(in, &j->from, INVAR_CLEAN, j->clean_index, 0,
	                           j->gallery_rows, j->train)) != INVAR_OK)
		return st;
	inv_measure_classes(&j->from, &in->train_labels, j->train_labels);
	inv_measure_classes(&j->asked, &in->train_labels, j->labels);
	return inv_neighbours_new(in->ctx, j->train, j->gallery_rows, in->w, NULL, j->k,
	                          &j->gallery);
}

static invar_status put_share(const job *j, const char *metric, const inv_interval *share)
{
	char why[INV_INTERVAL_WHY];
	invar_value value = inv_interval_value(share, why);

	return inv_results_put(j->in->results, metric, j->in->column, &value);
}

static invar_status ask_all(job *j)
{
	bool copies = j->in->split->copies;
	inv_interval clean, augmented;
	invar_status st = ask(j, true, &clean);

	if (st == INVAR_OK && copies)
		st = ask(j, false, &augmented);
	if (st == INVAR_OK)
		st = put_share(j, "knn.clean", &clean);
	return st == INVAR_OK && copies ? put_share(j, "knn.augmented", &augmented) : st;
}

/* If train has fewer than k rows, all of them vote. */
static uint64_t votes_of(const inv_measure_input *in)
{
	uint64_t n = in->train_labels.rows, k = inv_option_count(in->options, "k");

	return k < n ? k : n;
}

static invar_status measure_knn(const inv_measure_input *in)
{
	uint64_t k = votes_of(in);
	job j = {.in = in,
	         .clean_index = inv_option_is(in->options, "index", "clean"),
	         .from = inv_choose_labelled(in->train, &in->train_labels),
	         .asked = inv_choose_labelled(in->split, &in->labels),
	         .gallery_rows = in->train_labels.rows,
	         .rows = in->labels.rows,
	         .k = (size_t)k,
	         .block = BLOCK < MAX_FOUND / k ? BLOCK : (size_t)(MAX_FOUND / k)};
	invar_status st;

	if (!j.block)
		j.block = 1;
	if ((st = prepare(&j)) == INVAR_OK)
		st = ask_all(&j);
	inv_neighbours_free(j.gallery);
	inv_arena_free(&j.arena);
	return st;
}

/* ---- What it declares ---------------------------------------------------------------- */

static const invar_option options[] = {
	{.name = "k",
     .type = INVAR_OPTION_COUNT,
     .initial = "20",
     .min = 1,
     .max = 4e9,
     .meta = "N",
     .group = "Measurements",
     .help = "knn: number of neighbours that vote"},
	{.name = "index",
     .type = INVAR_OPTION_TEXT,
     .initial = "adapted",
     .choices = "adapted|clean",
     .meta = "WORD",
     .group = "Measurements",
     .help = "knn: search among adapted features E(F(train)) or the original F(train)"},
	{0},
};

static const invar_metric metrics[] = {
	{.id = "knn.clean",
     .measurement = "knn",
     .row = "kNN",
     .part = "clean",
     .unit = INVAR_UNIT_SHARE,
     .better = 1,
     .digits = 1},
	{.id = "knn.augmented",
     .measurement = "knn",
     .row = "kNN",
     .part = "augmented",
     .unit = INVAR_UNIT_SHARE,
     .better = 1,
     .digits = 1},
	{0},
};

/* How many neighbours vote, and in which gallery. */
static void title_row(const inv_measure_input *in, char *out, size_t size)
{
	snprintf(out, size, "%" PRIu64 "-NN%s", votes_of(in),
	         inv_option_is(in->options, "index", "clean") ? ", old index" : "");
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
	.title_row = title_row,
	.measure = measure_knn};
