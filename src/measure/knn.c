/* SPDX-License-Identifier: Apache-2.0 */
/*
 * knn.c - accuracy of a vote among the k nearest training rows (voters.h).
 *
 * The gallery is E(F(train)), or with index clean F(train): an existing index, where
 * only queries pass through E.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "measure/bootstrap.h"
#include "measure/voters.h"

enum { BLOCK = 2048 }; /* queries */

typedef struct job {
	const inv_measure_input *in;
	inv_choice asked; /* rows that are measured */
	uint64_t rows;
	inv_voters *voters;
	inv_arena arena;
	uint32_t *labels;  /* [rows] */
	float *queries;    /* [BLOCK, w] */
	uint32_t *answers; /* [BLOCK] */
	double *share;     /* [rows] */
} job;

static invar_status ask_copy(job *j, int32_t copy, uint64_t done, uint64_t total)
{
	const inv_measure_input *in = j->in;
	invar_status st = INVAR_OK;

	for (uint64_t first = 0; first < j->rows && st == INVAR_OK; first += BLOCK) {
		uint64_t now = j->rows - first < BLOCK ? j->rows - first : BLOCK;

		if ((st = inv_progress(in->ctx, "knn", done + first, total)) != INVAR_OK ||
		    (st = inv_measure_rows(in, &j->asked, copy, false, first, now, j->queries)) !=
		        INVAR_OK)
			break;
		inv_voters_ask(j->voters, j->queries, now, j->answers);
		for (uint64_t i = 0; i < now; i++)
			j->share[first + i] += j->answers[i] == j->labels[first + i];
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

	for (int round = 0; round < 2; round++) {
		invar_status st;

		j->labels = inv_arena_take(a, j->rows, sizeof *j->labels);
		j->queries = inv_arena_take(a, BLOCK * j->in->w, sizeof *j->queries);
		j->answers = inv_arena_take(a, BLOCK, sizeof *j->answers);
		j->share = inv_arena_take(a, j->rows, sizeof *j->share);
		if (!round && (st = inv_arena_commit(a)) != INVAR_OK)
			return st;
	}
	inv_measure_classes(&j->asked, &j->in->train_labels, j->labels);
	return INVAR_OK;
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

static invar_status measure_knn(const inv_measure_input *in)
{
	job j = {.in = in,
	         .asked = inv_choose_labelled(in->split, &in->labels),
	         .rows = in->labels.rows};
	invar_status st =
		inv_voters_new(in, inv_option_is(in->options, "index", "clean"), &j.voters);

	if (st == INVAR_OK)
		st = allocate_knn(&j);
	if (st == INVAR_OK)
		st = ask_all(&j);
	inv_voters_free(j.voters);
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
	snprintf(out, size, "%" PRIu64 "-NN%s", inv_voters_count(in),
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
