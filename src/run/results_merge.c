/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results_merge.c - the metrics.json of a run: the figures of its adapter, measured at any
 * time, on any bank.
 *
 * One entry per bank (by its fingerprint), split, measurement and the options that matter
 * for it, and the rest of its gallery where the fingerprint does not cover that. Measuring
 * the same again replaces the entry; a second bank adds one. An entry holds figures, of the
 * run and of F beside it, each also with four views per query where there are any, or the
 * reason why there are none.
 *
 * Several programs may add to the file at once. The part file for the new text is also the
 * lock: its holder reads the file, adds to it and replaces it. A killed program leaves a
 * part file that the next one takes over.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "run/results_object.h"
#include "run/run.h"

/* The parts of an entry that say what was measured; equal keys replace each other. */
static const char *const entry_keys[] = {"fingerprint", "split",   "points",
                                         "measurement", "options", "gallery"};

static bool is_same_measured(const json_t *a, const json_t *b)
{
	for (size_t i = 0; i < sizeof entry_keys / sizeof *entry_keys; i++) {
		const json_t *x = json_object_get(a, entry_keys[i]),
					 *y = json_object_get(b, entry_keys[i]);

		if (x != y &&
		    (!x || !y || !json_equal((json_t *)(uintptr_t)x, (json_t *)(uintptr_t)y)))
			return false;
	}
	return true;
}

/* { metric: value } of one measurement and column; NULL where it has none. */
static json_t *figures(const json_t *document, const char *measurement, const char *column)
{
	const json_t *values = json_object_get(document, "values"), *metric;
	json_t *all = json_object();
	size_t i;

	json_array_foreach (json_object_get(document, "metrics"), i, metric) {
		const char *id = inv_text_of(metric, "id");
		json_t *value = json_object_get(json_object_get(values, id), column);

		if (strcmp(inv_text_of(metric, "measurement"), measurement) == 0 && value)
			json_object_set(all, id, value);
	}
	if (json_object_size(all))
		return all;
	json_decref(all);
	return NULL;
}

/* { "F.views", "E.views": figures } of queries with four views; NULL without. */
static json_t *with_views(const json_t *document, const char *measurement,
                          const char *column)
{
	json_t *all = json_object(), *of_f = figures(document, measurement, "F.views"), *own;
	char id[64];

	snprintf(id, sizeof id, "%.50s.views", column);
	own = figures(document, measurement, id);
	if (of_f)
		json_object_set_new(all, "F.views", of_f);
	if (own)
		json_object_set_new(all, "E.views", own);
	if (json_object_size(all))
		return all;
	json_decref(all);
	return NULL;
}

/*
 * { metric: title of its row }: a title may name options of a measurement, so it
 * belongs to the entry and not to the metric.
 */
static json_t *row_titles(const json_t *document, const char *measurement)
{
	const json_t *metric;
	json_t *all = json_object();
	size_t i;

	json_array_foreach (json_object_get(document, "metrics"), i, metric)
		if (strcmp(inv_text_of(metric, "measurement"), measurement) == 0)
			json_object_set(all, inv_text_of(metric, "id"), json_object_get(metric, "row"));
	return all;
}

/* One series or scatter with what F and the column have; NULL where that is nothing. */
static json_t *plot_of(const json_t *plot, const char *column)
{
	const json_t *columns = json_object_get(plot, "columns");
	json_t *of_f = json_object_get(columns, "F"), *own = json_object_get(columns, column);
	json_t *copy = of_f || own ? json_copy((json_t *)(uintptr_t)plot) : NULL;

	json_object_del(copy, "columns");
	if (of_f)
		json_object_set(copy, "F", of_f);
	if (own)
		json_object_set(copy, "E", own);
	return copy;
}

/* The series or the scatters of one measurement; NULL where it has none. */
static json_t *plots(const json_t *document, const char *kind, const char *measurement,
                     const char *column)
{
	json_t *all = json_array(), *one;
	const json_t *plot;
	size_t i;

	json_array_foreach (json_object_get(document, kind), i, plot)
		if (strcmp(inv_text_of(plot, "measurement"), measurement) == 0 &&
		    (one = plot_of(plot, column)))
			json_array_append_new(all, one);
	if (json_array_size(all))
		return all;
	json_decref(all);
	return NULL;
}

static const json_t *of_measurement(const json_t *document, const char *part,
                                    const char *measurement)
{
	return json_object_get(json_object_get(document, part), measurement);
}

/* Why the column has no figures: a reason of its own, or of all columns. */
static const json_t *reason_of(const json_t *document, const char *measurement,
                               const char *column)
{
	const json_t *reasons = of_measurement(document, "skipped", measurement);
	const json_t *own = json_object_get(reasons, column);

	return own ? own : json_object_get(reasons, "");
}

static json_t *new_entry(const json_t *document, const char *measurement,
                         const char *column)
{
	const json_t *options = of_measurement(document, "options", measurement);
	json_t *of_f = figures(document, measurement, "F");
	json_t *own = figures(document, measurement, column);

	return json_pack(
		"{s:O*, s:O*, s:O*, s:O*, s:O*, s:O*, s:O*, s:O*, s:O*, s:s, s:o, s:o, s:o*, "
		"s:o*, s:o*, s:o*, s:o*, s:O*, s:O*}",
		"bank", json_object_get(document, "bank"), "fingerprint",
		json_object_get(document, "fingerprint"), "gallery",
		of_measurement(document, "galleries", measurement), "encoder",
		json_object_get(document, "encoder"), "augment",
		json_object_get(document, "augment"), "split", json_object_get(document, "split"),
		"points", json_object_get(document, "points"), "copies",
		json_object_get(document, "copies"), "dim", json_object_get(document, "dim"),
		"measurement", measurement, "options",
		options ? json_deep_copy(options) : json_object(), "rows",
		row_titles(document, measurement), "F", of_f, "baselines",
		with_views(document, measurement, column), "E", own, "series",
		plots(document, "series", measurement, column), "scatters",
		plots(document, "scatters", measurement, column), "details",
		json_object_get(of_measurement(document, "details", measurement), column),
		"skipped", own ? NULL : reason_of(document, measurement, column));
}

/* Values, a curve or points of a column, "F" or "E". */
static bool has_any(const json_t *entry, const char *column)
{
	static const char *const kinds[] = {"series", "scatters"};
	const json_t *plot;
	size_t i;

	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
		json_array_foreach (json_object_get(entry, kinds[k]), i, plot)
			if (json_object_get(plot, column))
				return true;
	return json_object_get(entry, column);
}

/* Figures of its own, or of F where that is all there is to measure. */
static bool has_figures(const json_t *entry)
{
	return has_any(entry, "E") ||
	       (has_any(entry, "F") && !json_object_get(entry, "skipped"));
}

/* Takes entry. */
static int replace_entry(json_t *list, json_t *entry)
{
	const json_t *old;
	size_t i;

	json_array_foreach (list, i, old) {
		if (!is_same_measured(old, entry))
			continue;
		if (has_figures(entry) || !has_figures(old))
			return json_array_set_new(list, i, entry);
		json_decref(entry);
		return 0;
	}
	return json_array_append_new(list, entry);
}

/* How each metric is shown, { id: { part, unit … } }. */
static void describe_metrics(const json_t *document, json_t *into)
{
	const json_t *metric;
	size_t i;

	json_array_foreach (json_object_get(document, "metrics"), i, metric) {
		json_t *shown = json_copy((json_t *)(uintptr_t)metric);

		json_object_del(shown, "id");
		json_object_del(shown, "row");
		json_object_set_new(into, inv_text_of(metric, "id"), shown);
	}
}

/* The next entry that the results have for a column; NULL past the last. Gives. */
static json_t *next_entry(const json_t *document, const char *column, size_t *i)
{
	const json_t *list = json_object_get(document, "measurements"), *measurement;
	bool incomplete = json_is_true(json_object_get(document, "incomplete"));

	while ((measurement = json_array_get(list, (*i)++))) {
		json_t *entry = new_entry(document, inv_text_of(measurement, "id"), column);

		/* Interrupted results do not show that a column has no figures. */
		if (!entry ||
		    (incomplete ? has_any(entry, "E")
		                : has_figures(entry) || json_object_get(entry, "skipped")))
			return entry;
		json_decref(entry);
	}
	return NULL;
}

bool inv_results_has_own(const invar_results *r, const char *column)
{
	json_t *document = inv_results_document(r), *entry;
	size_t i = 0;
	bool any;

	entry = next_entry(document, column, &i);
	any = entry;
	json_decref(entry);
	json_decref(document);
	return any;
}

/* Are there figures for what `asked` describes, or a reason why there are none? */
static bool has_measured(const json_t *metrics, const json_t *asked)
{
	const json_t *old;
	size_t i;

	json_array_foreach (json_object_get(metrics, "measured"), i, old)
		if (is_same_measured(old, asked) &&
		    (has_figures(old) || json_object_get(old, "skipped")))
			return true;
	return false;
}

invar_status inv_results_missing(const invar_results *r, const json_t *metrics, char **out)
{
	json_t *document = inv_results_document(r);
	const json_t *measurement;
	char *ids = inv_calloc(1, 1);
	size_t i, length = 0;

	json_array_foreach (json_object_get(document, "measurements"), i, measurement) {
		const char *id = inv_text_of(measurement, "id");
		json_t *asked = new_entry(document, id, "E");
		char *longer =
			ids && asked ? inv_alloc(length + strlen(id) + 2) : NULL; /* comma, end */

		if (longer && has_measured(metrics, asked))
			memcpy(longer, ids, length + 1);
		else if (longer)
			length = (size_t)sprintf(longer, "%s%s%s", ids, length ? "," : "", id);
		inv_free(ids);
		ids = longer;
		json_decref(asked);
	}
	json_decref(document);
	*out = ids;
	return document && ids ? INVAR_OK : inv_no_memory();
}

invar_status inv_results_check_metrics(const json_t *metrics, const char *where)
{
	const char *format = inv_text_of(metrics, "format");

	if (format && strcmp(format, "invar-metrics") == 0 &&
	    json_integer_value(json_object_get(metrics, "version")) == 1 &&
	    json_is_object(json_object_get(metrics, "metrics")) &&
	    json_is_array(json_object_get(metrics, "measured")))
		return INVAR_OK;
	return inv_fail(
		INVAR_E_FORMAT,
		"%s: is not a metrics.json of version 1; move it away to measure this run", where);
}

invar_status inv_results_merge(const invar_results *r, const char *column,
                               const char *where, json_t **metrics)
{
	json_t *document, *entry;
	size_t i = 0;
	invar_status st = INVAR_OK;

	if (*metrics)
		INV_TRY(inv_results_check_metrics(*metrics, where));
	else if (!(*metrics = json_pack("{s:s, s:i, s:{}, s:[]}", "format", "invar-metrics",
	                                "version", 1, "metrics", "measured")))
		return inv_no_memory();
	if (!(document = inv_results_document(r)))
		return inv_no_memory();
	describe_metrics(document, json_object_get(*metrics, "metrics"));
	while ((entry = next_entry(document, column, &i)))
		if (replace_entry(json_object_get(*metrics, "measured"), entry) != 0) {
			st = inv_no_memory();
			break;
		}
	json_decref(document);
	return st;
}

invar_status inv_run_load_metrics(const char *run, json_t **out)
{
	char *path = inv_join(run, INV_RUN_METRICS);
	invar_status st = path ? INVAR_OK : inv_no_memory();

	*out = NULL;
	if (path && inv_exists(path)) {
		INV_TRY_OR(end, inv_json_load(path, out));
		st = inv_results_check_metrics(*out, path);
	}
end:
	inv_free(path);
	return st;
}

static invar_status write_merged(inv_writer *w, const char *run, const char *path,
                                 const invar_results *r, const char *column)
{
	json_t *all;

	char *text = NULL;
	invar_status st;

	INV_TRY_OR(end, inv_run_load_metrics(run, &all));
	INV_TRY_OR(end, inv_results_merge(r, column, path, &all));
	INV_TRY_OR(end, (text = inv_json_text(all, 2)) ? INVAR_OK : inv_no_memory());
	st = strlen(text) <= INV_JSON_MAX
	         ? inv_writer_put(w, text, strlen(text))
	         : inv_fail(INVAR_E_USE,
	                    "%s: would exceed 16 MB, the maximum size; move it away to start a "
	                    "new one",
	                    path);
end:
	inv_free(text);
	json_decref(all);
	return st;
}

invar_status invar_run_keep_results(invar_context *ctx, const char *run,
                                    const invar_results *r, const char *column)
{
	char *path;
	json_t *there = NULL;
	inv_writer *w;
	invar_status st = INVAR_OK;

	if (!r) { /* only the check */
		st = inv_run_load_metrics(run, &there);
		json_decref(there);
		return st;
	}
	if (!inv_results_has_own(r, column))
		return INVAR_OK;
	if (!(path = inv_join(run, INV_RUN_METRICS)))
		return inv_no_memory();
	INV_TRY_OR(end, inv_writer_open_in_turn(ctx, path, &w));
	if ((st = write_merged(w, run, path, r, column)) == INVAR_OK)
		st = inv_writer_commit(w);
	else
		inv_writer_abort(w);
end:
	inv_free(path);
	return st;
}
