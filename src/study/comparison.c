/* SPDX-License-Identifier: Apache-2.0 */
/* comparison.c - results of several runs as one results document. See comparison.h. */
#include "study/comparison.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { ID = 40 };

typedef struct merging {
	const inv_comparison *of;
	json_t *out;   /* the document that is made */
	json_t ***doc; /* [adapters][files] */
} merging;

/* ---- Files --------------------------------------------------------------------------- */

static invar_status load_file(const char *path, json_t **out)
{
	json_error_t why;
	const char *format;

	*out = json_load_file(path, JSON_REJECT_DUPLICATES, &why);
	format = json_string_value(json_object_get(*out, "format"));
	if (format && strcmp(format, "invar-results") == 0)
		return INVAR_OK;
	return inv_fail(INVAR_E_FORMAT, "%.400s: is not a file of results%s%.200s", path,
	                *out ? "" : ": ", *out ? "" : why.text);
}

static void free_files(merging *m)
{
	for (size_t a = 0; m->doc && a < m->of->adapters; a++) {
		for (size_t i = 0; m->doc[a] && i < m->of->adapter[a].files; i++)
			json_decref(m->doc[a][i]);
		free(m->doc[a]);
	}
	free(m->doc);
}

static invar_status load_files(merging *m)
{
	if (!(m->doc = calloc(m->of->adapters, sizeof *m->doc)))
		return inv_no_memory();
	for (size_t a = 0; a < m->of->adapters; a++) {
		const inv_compared *one = &m->of->adapter[a];

		if (!(m->doc[a] = calloc(one->files, sizeof **m->doc)))
			return inv_no_memory();
		for (size_t i = 0; i < one->files; i++)
			INV_TRY(load_file(one->file[i], &m->doc[a][i]));
	}
	return INVAR_OK;
}

/* ---- Columns ------------------------------------------------------------------------- */

/* The columns of the one adapter of a file: codes alone, and with four views per query. */
static const char *const of_adapter[] = {"1", "1.views"};
enum { COLUMNS = sizeof of_adapter / sizeof *of_adapter };

static bool is_adapter(const char *id)
{
	return strcmp(id, of_adapter[0]) == 0 || strcmp(id, of_adapter[1]) == 0;
}

/* The same column among those of all adapters: "1.views" becomes "3.views". */
static void column_of(size_t adapter, const char *id, char out[ID])
{
	snprintf(out, ID, "%zu%s", adapter + 1, id + 1);
}

static json_t *find_by_id(const json_t *list, const char *id)
{
	json_t *entry;
	size_t i;

	json_array_foreach (list, i, entry)
		if (strcmp(json_string_value(json_object_get(entry, "id")), id) == 0)
			return entry;
	return NULL;
}

/* Takes title. */
static void add_column(merging *m, const char *id, json_t *title, json_t *adapter)
{
	json_array_append_new(
		json_object_get(m->out, "columns"),
		json_pack("{s:s, s:o, s:O*}", "id", id, "title", title, "adapter", adapter));
}

/*
 * Those without an adapter are taken from the first file; then every adapter, also one that
 * was not trained, and its column with views where it has one.
 */
static void add_columns(merging *m)
{
	json_t *column, *first = json_object_get(m->doc[0][0], "columns");
	size_t i;

	json_array_foreach (first, i, column)
		if (!is_adapter(json_string_value(json_object_get(column, "id"))))
			json_array_append(json_object_get(m->out, "columns"), column);
	for (size_t a = 0; a < m->of->adapters; a++) {
		const json_t *own = json_object_get(m->doc[a][0], "columns");
		const char *title = m->of->adapter[a].title;
		char id[ID];

		column = find_by_id(own, of_adapter[0]);
		column_of(a, of_adapter[0], id);
		add_column(m, id, json_string(title), json_object_get(column, "adapter"));
		column_of(a, of_adapter[1], id);
		if (find_by_id(own, of_adapter[1]))
			add_column(m, id, json_sprintf("%s, 4 views", title), NULL);
	}
}

/* ---- Values -------------------------------------------------------------------------- */

static json_t *value_in(const json_t *doc, const char *metric, const char *column)
{
	return json_object_get(json_object_get(json_object_get(doc, "values"), metric), column);
}

/* Mean and deviation of the values that are numbers; one alone stays as it is. Gives. */
static json_t *mean_value(json_t *const *doc, size_t files, const char *metric,
                          const char *column)
{
	double sum = 0, squares = 0, mean;
	json_t *only = NULL, *made;
	size_t count = 0;

	for (size_t i = 0; i < files; i++) {
		json_t *v = value_in(doc[i], metric, column);

		if (v && (!only || !count))
			only = v;
		if (json_is_number(json_object_get(v, "value"))) {
			only = count++ ? only : v;
			sum += json_number_value(json_object_get(v, "value"));
		}
	}
	if (files < 2 || count < 2)
		return only ? json_incref(only) : NULL;
	mean = sum / (double)count;
	for (size_t i = 0; i < files; i++) {
		const json_t *v = json_object_get(value_in(doc[i], metric, column), "value");

		if (json_is_number(v))
			squares += (json_number_value(v) - mean) * (json_number_value(v) - mean);
	}
	made = json_pack("{s:f, s:f, s:I}", "value", mean, "deviation",
	                 sqrt(squares / (double)(count - 1)), "runs", (json_int_t)count);
	if (json_object_get(only, "count"))
		json_object_set(made, "count", json_object_get(only, "count"));
	return made;
}

static void put_value(merging *m, const char *metric, const char *column, json_t *value)
{
	json_t *all = json_object_get(m->out, "values"), *row = json_object_get(all, metric);

	if (!value)
		return;
	if (!row)
		json_object_set_new(all, metric, row = json_object());
	json_object_set_new(row, column, value);
}

/* Baselines are the same for every adapter, so the first one's files count. */
static void put_metric(merging *m, const char *metric)
{
	const json_t *first = json_object_get(m->doc[0][0], "columns"), *column;
	char id[ID];
	size_t i;

	json_array_foreach (first, i, column) {
		const char *name = json_string_value(json_object_get(column, "id"));

		if (!is_adapter(name))
			put_value(m, metric, name,
			          mean_value(m->doc[0], m->of->adapter[0].files, metric, name));
	}
	for (size_t a = 0; a < m->of->adapters; a++)
		for (size_t c = 0; c < COLUMNS; c++) {
			column_of(a, of_adapter[c], id);
			put_value(
				m, metric, id,
				mean_value(m->doc[a], m->of->adapter[a].files, metric, of_adapter[c]));
		}
}

/* Metrics and measurements of all files, in the order in which they first appear. */
static void add_values(merging *m)
{
	json_t *metrics = json_object_get(m->out, "metrics"), *metric;
	size_t i;

	for (size_t a = 0; a < m->of->adapters; a++)
		for (size_t f = 0; f < m->of->adapter[a].files; f++)
			json_array_foreach (json_object_get(m->doc[a][f], "metrics"), i, metric)
				if (!find_by_id(metrics, json_string_value(json_object_get(metric, "id"))))
					json_array_append_new(metrics, json_copy(metric));
	json_array_foreach (metrics, i, metric)
		put_metric(m, json_string_value(json_object_get(metric, "id")));
}

/* ---- What is drawn, skipped and noted ------------------------------------------------ */

/* {"F": x, "1": y} of one adapter into {"F": x, "2": y}; F of the first one counts. */
static void merge_columns(json_t *into, json_t *from, size_t adapter)
{
	const char *id;
	json_t *value;
	char own[ID];

	json_object_foreach (from, id, value)
		if (is_adapter(id)) {
			column_of(adapter, id, own);
			json_object_set(into, own, value);
		} else if (!json_object_get(into, id)) {
			json_object_set(into, id, value);
		}
}

/* "series" and "scatters": lists of {id, …, columns}. */
static void merge_plots(merging *m, const char *key)
{
	json_t *all = json_array(), *plot;
	size_t i;

	for (size_t a = 0; a < m->of->adapters; a++)
		json_array_foreach (json_object_get(m->doc[a][0], key), i, plot) {
			json_t *own = find_by_id(all, json_string_value(json_object_get(plot, "id")));

			if (!own) {
				own = json_copy(plot);
				json_object_set_new(own, "columns", json_object());
				json_array_append_new(all, own);
			}
			merge_columns(json_object_get(own, "columns"), json_object_get(plot, "columns"),
			              a);
		}
	if (json_array_size(all))
		json_object_set(m->out, key, all);
	json_decref(all);
}

/* "skipped" and "details": {measurement: {column: …}}. */
static void merge_by_column(merging *m, const char *key)
{
	json_t *all = json_object(), *columns;
	const char *measurement;

	for (size_t a = 0; a < m->of->adapters; a++)
		json_object_foreach (json_object_get(m->doc[a][0], key), measurement, columns) {
			json_t *own = json_object_get(all, measurement);

			if (!own)
				json_object_set_new(all, measurement, own = json_object());
			merge_columns(own, columns, a);
		}
	json_object_set_new(m->out, key, all);
}

static void add_note(json_t *notes, json_t *note)
{
	const json_t *old;
	size_t i;

	json_array_foreach (notes, i, old)
		if (json_equal(old, note))
			return;
	json_array_append(notes, note);
}

static void merge_notes(merging *m)
{
	json_t *notes = json_array(), *note;
	size_t i;

	json_array_foreach (m->of->notes, i, note)
		add_note(notes, note);
	for (size_t a = 0; a < m->of->adapters; a++)
		for (size_t f = 0; f < m->of->adapter[a].files; f++)
			json_array_foreach (json_object_get(m->doc[a][f], "notes"), i, note)
				add_note(notes, note);
	json_object_set_new(m->out, "notes", notes);
}

/* ---- The whole ----------------------------------------------------------------------- */

static invar_status merge(merging *m)
{
	/* What was measured is the same for all files: bank, split, points, options. */
	if (!(m->out = json_copy(m->doc[0][0])))
		return inv_no_memory();
	json_object_set_new(m->out, "study", json_string(m->of->study));
	json_object_set_new(m->out, "title", json_string(m->of->title));
	json_object_set_new(m->out, "columns", json_array());
	json_object_set_new(m->out, "metrics", json_array());
	json_object_set_new(m->out, "values", json_object());
	add_columns(m);
	add_values(m);
	merge_plots(m, "series");
	merge_plots(m, "scatters");
	merge_by_column(m, "skipped");
	merge_by_column(m, "details");
	merge_notes(m);
	return INVAR_OK;
}

invar_status inv_compare(const inv_comparison *c, json_t **out)
{
	merging m = {.of = c};
	invar_status st = load_files(&m);

	if (st == INVAR_OK)
		st = merge(&m);
	free_files(&m);
	*out = st == INVAR_OK ? m.out : NULL;
	if (st != INVAR_OK)
		json_decref(m.out);
	return st;
}
