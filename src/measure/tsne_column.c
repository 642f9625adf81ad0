/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tsne_column.c - t-SNE as a measurement: clean rows and their first copies, embedded
 * together for each column, so that F and F then E can be looked at side by side.
 */
#include "bank/bank.h"
#include "measure/measurement.h"

enum { MAX_EMBEDDED = 2500 }; /* images: more points than twice these hide each other */

static const invar_metric metrics[] = {
	INV_NUMBER_METRIC("tsne", "tsne.kl", "KL divergence of the embedding", NULL, -1, 4),
	{0},
};

/* Labels [2 images] and the names of classes 0, 1 … as far as the bank knows them. */
static invar_status read_tsne_labels(const inv_measure_input *in, const inv_selection *rows,
                                     invar_tsne_rows *out)
{
	uint64_t n = rows->points;
	int64_t *all, *labels;
	const char **classes;
	size_t count = 0;

	INV_TRY(inv_pool_zeros(in->scratch, &all, in->split->rows));
	INV_TRY(inv_pool_zeros(in->scratch, &labels, 2 * n));
	INV_TRY(invar_bank_labels(in->bank, in->split->name, all));
	for (uint64_t i = 0; i < 2 * n; i++)
		labels[i] = all[inv_selected_row(rows, i % n)];
	while (inv_bank_class(in->bank, (int64_t)count))
		count++;
	INV_TRY(inv_pool_zeros(in->scratch, &classes, count + 1));
	for (size_t i = 0; i < count; i++)
		classes[i] = inv_bank_class(in->bank, (int64_t)i);
	out->labels = labels;
	out->classes = classes;
	return INVAR_OK;
}

/* The column's own panel of one scatter. */
static invar_status put_tsne_panel(const inv_measure_input *in, const inv_selection *rows,
                                   const invar_results *r)
{
	inv_points points = *inv_results_points(r, "tsne", "tsne");
	uint64_t *row, n = rows->points;

	INV_TRY(inv_results_put(in->results, "tsne.kl", in->column,
	                        invar_results_value(r, "tsne.kl", "tsne")));
	INV_TRY(inv_results_add_scatter(in->results, inv_results_scatter(r, 0)));
	if (points.count == 2 * n) {
		INV_TRY(inv_pool_zeros(in->scratch, &row, 2 * n));
		for (uint64_t i = 0; i < 2 * n; i++)
			row[i] = inv_selected_row(rows, i % n);
		points.rows = row;
	}
	return inv_results_put_points(in->results, "tsne", in->column, &points);
}

static invar_status measure_tsne(const inv_measure_input *in)
{
	static const char *const titles[] = {"clean", "augmented"};
	inv_selection rows = inv_select_points(in, inv_select_all(in->split));
	uint64_t n = rows.points = inv_min(rows.points, MAX_EMBEDDED);
	const uint64_t parts[] = {n, n};
	invar_tsne_rows input = {.size = sizeof input,
	                         .count = 2 * n,
	                         .dim = in->w,
	                         .parts = 2,
	                         .part_rows = parts,
	                         .part_titles = titles};
	invar_options *o = NULL;
	invar_results *r = NULL;
	float *codes, *points; /* [2 n, w], clean, then copies; [2 n, 2] */
	invar_status st;

	INV_TRY(inv_pool_zeros(in->scratch, &codes, 2 * n * in->w));
	INV_TRY(inv_pool_zeros(in->scratch, &points, 4 * n));
	INV_TRY(inv_measure_rows(in, &rows, INVAR_CLEAN, false, 0, n, codes));
	INV_TRY(inv_measure_rows(in, &rows, 0, false, 0, n, codes + n * in->w));
	input.rows = codes;
	if (invar_bank_has_labels(in->bank, in->split->name))
		INV_TRY(read_tsne_labels(in, &rows, &input));
	INV_TRY(invar_options_new("tsne", &o));
	INV_TRY_OR(end, invar_options_set_number(o, "seed", (double)in->seed));
	INV_TRY_OR(end, invar_tsne((invar_context *)(uintptr_t)in->ctx, &input, o, points, &r));
	st = put_tsne_panel(in, &rows, r);
end:
	invar_results_free(r);
	invar_options_free(o);
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
