/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsne_column.c - t-SNE as a measurement: clean rows and their first copies, embedded
 * together for each column, so that F and F then E can be looked at side by side.
 */
#include <inttypes.h>
#include <math.h>

#include "bank/bank.h"
#include "measure/measurement.h"
#include "run/results.h"

enum { MAX_EMBEDDED = 2500 }; /* images: more points than twice these hide each other */

static const invar_metric metrics[] = {
	{.id = "tsne.kl",
     .measurement = "tsne",
     .row = "KL divergence of the embedding",
     .better = -1,
     .digits = 4},
	{0},
};

typedef struct embedding {
	const inv_measure_input *in;
	inv_choice rows;
	uint64_t images;
	float *codes;    /* [2 images, w]: clean, then copies */
	int64_t *labels; /* [2 images]; NULL: the split has none */
	const char **classes;
	float *points; /* [2 images, 2] */
	uint64_t *row; /* [2 images]: of the split */
} embedding;

/* Names of the labels 0, 1 … as far as the bank knows them. */
static invar_status name_classes(embedding *e)
{
	const invar_bank *bank = e->in->bank;
	size_t count = 0;

	while (inv_bank_class(bank, (int64_t)count))
		count++;
	if (!(e->classes = inv_calloc(count + 1, sizeof *e->classes)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for the names of classes");
	for (size_t i = 0; i < count; i++)
		e->classes[i] = inv_bank_class(bank, (int64_t)i);
	return INVAR_OK;
}

static invar_status read_labels(embedding *e)
{
	const char *split = e->in->split->name;
	uint64_t rows = invar_bank_rows(e->in->bank, split);
	int64_t *all = inv_calloc(rows, sizeof *all);
	invar_status st;

	e->labels = inv_calloc(2 * e->images, sizeof *e->labels);
	st = all && e->labels ? invar_bank_labels(e->in->bank, split, all)
	                      : inv_fail(INVAR_E_NOMEM, "not enough memory for labels");
	for (uint64_t i = 0; i < e->images && st == INVAR_OK; i++)
		e->labels[i] = e->labels[e->images + i] = all[inv_choice_row(&e->rows, i)];
	inv_free(all);
	return st == INVAR_OK ? name_classes(e) : st;
}

static invar_status read_rows(embedding *e)
{
	uint64_t n = e->images;
	size_t w = e->in->w;
	invar_status st;

	e->codes = inv_calloc(2 * n * w, sizeof *e->codes);
	e->points = inv_calloc(4 * n, sizeof *e->points);
	e->row = inv_calloc(2 * n, sizeof *e->row);
	if (!e->codes || !e->points || !e->row)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for %" PRIu64 " rows", 2 * n);
	for (uint64_t i = 0; i < 2 * n; i++)
		e->row[i] = inv_choice_row(&e->rows, i % n);
	st = inv_measure_rows(e->in, &e->rows, INVAR_CLEAN, false, 0, n, e->codes);
	if (st == INVAR_OK)
		st = inv_measure_rows(e->in, &e->rows, 0, false, 0, n, e->codes + n * w);
	if (st == INVAR_OK && invar_bank_has_labels(e->in->bank, e->in->split->name))
		st = read_labels(e);
	return st;
}

/* The column's own panel of one scatter. */
static invar_status put_embedding(const embedding *e, const invar_results *r)
{
	const char *column = e->in->column;
	inv_points points = *inv_results_points(r, "tsne", "tsne");
	invar_status st = inv_results_put(e->in->results, "tsne.kl", column,
	                                  invar_results_value(r, "tsne.kl", "tsne"));

	if (st == INVAR_OK)
		st = inv_results_add_scatter(e->in->results, inv_results_scatter(r, 0));
	if (points.count == 2 * e->images)
		points.rows = e->row;
	return st == INVAR_OK ? inv_results_put_points(e->in->results, "tsne", column, &points)
	                      : st;
}

static invar_status embed(embedding *e)
{
	static const char *const titles[] = {"clean", "augmented"};
	const uint64_t parts[] = {e->images, e->images};
	const invar_tsne_rows rows = {.size = sizeof rows,
	                              .rows = e->codes,
	                              .count = 2 * e->images,
	                              .dim = e->in->w,
	                              .labels = e->labels,
	                              .classes = e->classes,
	                              .parts = 2,
	                              .part_rows = parts,
	                              .part_titles = titles};
	invar_options *o = NULL;
	invar_results *r = NULL;
	invar_status st = invar_options_new("tsne", &o);

	if (st == INVAR_OK)
		st = invar_options_set_number(o, "seed", (double)e->in->seed);
	if (st == INVAR_OK)
		st = invar_tsne((invar_context *)(uintptr_t)e->in->ctx, &rows, o, e->points, &r);
	if (st == INVAR_OK)
		st = put_embedding(e, r);
	invar_results_free(r);
	invar_options_free(o);
	return st;
}

static invar_status measure_tsne(const inv_measure_input *in)
{
	embedding e = {.in = in, .rows = inv_choose_points(in, inv_choose_all(in->split))};
	invar_status st;

	e.rows.points = e.rows.points < MAX_EMBEDDED ? e.rows.points : MAX_EMBEDDED;
	e.images = e.rows.points;
	if ((st = read_rows(&e)) == INVAR_OK)
		st = embed(&e);
	inv_free(e.codes);
	inv_free(e.points);
	inv_free(e.labels);
	inv_free(e.row);
	inv_free(e.classes);
	return st;
}

const inv_measurement inv_measurement_tsne = {
	.name = "tsne",
	.title = "t-SNE",
	.about = "clean rows and their first copies embedded in the plane; at most 2500 images",
	.needs = INV_NEEDS_COPIES,
	.on_request = true,
	.shares = "points",
	.metrics = metrics,
	.measure = measure_tsne};
