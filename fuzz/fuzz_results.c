/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_results.c - any bytes as a results document, and as the metrics.json of a run.
 *
 * If it is accepted, every value can be read, it is the same after writing and reading, and
 * a run can keep it twice without growing the second time.
 */
#include "run/results.h"

#include <math.h>

#include "base/memory.h"
#include "fuzz_file.h"

/* Every number of every curve and point can be read, and names are in range. */
static void ask_plots(const invar_results *r, const char *column)
{
	const inv_series *series;
	const inv_scatter *scatter;

	for (size_t i = 0; (series = inv_results_series(r, i)); i++) {
		const inv_curve *c = inv_results_curve(r, series->id, column);

		require(series->x->title && series->y->title);
		for (size_t k = 0; c && k < c->count; k++)
			require(isfinite(c->x[k]) && !isinf(c->y[k]) &&
			        (!c->low || !isinf(c->high[k])));
	}
	for (size_t i = 0; (scatter = inv_results_scatter(r, i)); i++) {
		const inv_points *p = inv_results_points(r, scatter->id, column);

		require(!p || p->total >= p->count);
		for (size_t k = 0; p && k < p->count; k++)
			require(isfinite(p->x[k]) && isfinite(p->y[k]) &&
			        (!p->label || p->label[k] < (int64_t)scatter->class_count) &&
			        (!p->mark || p->mark[k] < (int64_t)scatter->mark_count));
	}
}

static void ask_all(const invar_results *r)
{
	for (size_t m = 0; m < invar_results_metrics(r); m++)
		for (size_t c = 0; c < invar_results_columns(r); c++) {
			const invar_metric *metric = invar_results_metric(r, m);
			const invar_column *column = invar_results_column(r, c);

			require(metric->id && metric->measurement && metric->row);
			require(column->id && column->title);
			invar_results_value(r, metric->id, column->id);
			inv_results_skipped(r, metric->measurement, column->id);
		}
	for (size_t c = 0; c < invar_results_columns(r); c++)
		ask_plots(r, invar_results_column(r, c)->id);
	require(!invar_results_metric(r, invar_results_metrics(r)));
	for (size_t i = 0; inv_results_measurement(r, i, NULL); i++)
		;
	for (size_t i = 0; inv_results_note_at(r, i); i++)
		;
	invar_results_about(r, "bank");
	inv_results_about_number(r, "points");
}

/* Writing and reading again gives the same text. */
static void write_again(const invar_results *r)
{
	json_t *document = inv_results_document(r);
	invar_results *same;
	char *text, *again;

	require(inv_results_read(document, "again", &same) == INVAR_OK);
	require(invar_results_json(r, &text) == INVAR_OK);
	require(invar_results_json(same, &again) == INVAR_OK);
	require(strcmp(text, again) == 0);
	inv_free(text);
	inv_free(again);
	invar_results_free(same);
	json_decref(document);
}

/* Merges into the contents of a file, or into nothing; takes `there`. */
static void keep(const invar_results *r, json_t *there)
{
	const char *column = invar_results_columns(r) ? invar_results_column(r, 0)->id : "F";
	json_t *once;

	if (inv_results_merge(r, column, "metrics.json", &there) == INVAR_OK) {
		once = json_deep_copy(there);
		require(inv_results_check_metrics(there, "metrics.json") == INVAR_OK);
		require(inv_results_merge(r, column, "metrics.json", &there) == INVAR_OK);
		require(json_array_size(json_object_get(once, "measured")) ==
		        json_array_size(json_object_get(there, "measured")));
		json_decref(once);
	}
	json_decref(there);
}

/* A small document of our own, to be added to bytes that are a metrics.json. */
static invar_results *make_results(void)
{
	const invar_metric metric = {.id = "lc.clean", .measurement = "lc", .row = "LC"};
	const invar_value value = {.value = 0.5, .low = 0.4, .high = 0.6, .count = 9};
	invar_results *r;

	require(inv_results_new(&r) == INVAR_OK);
	require(inv_results_add_column(r, "F", "F", NULL) == INVAR_OK);
	require(inv_results_add_measurement(r, "lc", "LC") == INVAR_OK);
	require(inv_results_add_metric(r, &metric) == INVAR_OK);
	require(inv_results_put(r, "lc.clean", "F", &value) == INVAR_OK);
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[FUZZ_PATH];
	int fd = memory_file(data, size, path);
	invar_results *r, *own;
	json_t *document;

	if (invar_results_open(NULL, path, &r) == INVAR_OK) {
		ask_all(r);
		write_again(r);
		keep(r, NULL);
		invar_results_free(r);
	} else {
		require(!r);
	}
	if (inv_json_load(path, &document) == INVAR_OK) {
		own = make_results();
		keep(own, document);
		invar_results_free(own);
	}
	close(fd);
	return 0;
}
