/* SPDX-License-Identifier: Apache-2.0 */
/* comparison.c - results of several runs as one results document. See comparison.h. */
#include "study/comparison.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"

enum { ID = 40 };

typedef struct merging {
	const inv_comparison *of;
	json_t *out;   /* the document that is made */
	json_t *files; /* [adapters][files]: documents */
} merging;

/* ---- Files --------------------------------------------------------------------------- */

static invar_status load_file(const char *path, json_t *to)
{
	json_error_t why;
	json_t *document = json_load_file(path, JSON_REJECT_DUPLICATES, &why);

	if (document)
		json_array_append_new(to, document);
	if (inv_json_is(document, "format", "invar-results"))
		return INVAR_OK;
	return inv_fail(INVAR_E_FORMAT, "%.400s: is not a file of results%s%.200s", path,
	                document ? "" : ": ", document ? "" : why.text);
}

static const json_t *files_of(const merging *m, size_t adapter)
{
	return json_array_get(m->files, adapter);
}

/* A member of the first file of an adapter. */
static json_t *first_of(const merging *m, size_t adapter, const char *key)
{
	return json_object_get(json_array_get(files_of(m, adapter), 0), key);
}

/* ---- Columns ------------------------------------------------------------------------- */

/* The columns of the one adapter of a file: codes alone, and with four views per query. */
static const char *const of_adapter[] = {"1", "1.views"};
enum { COLUMNS = sizeof of_adapter / sizeof *of_adapter };

static const char *entry_id(const json_t *entry)
{
	return json_string_value(json_object_get(entry, "id"));
}

static bool is_of_adapter(const char *id)
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
		if (strcmp(entry_id(entry), id) == 0)
			return entry;
	return NULL;
}

/*
 * Those without an adapter are taken from the first file; then every adapter, also one that
 * was not trained, and its column with views where it has one.
 */
static void merge_column_list(merging *m)
{
	json_t *columns = json_object_get(m->out, "columns"), *column;
	size_t i;

	json_array_foreach (first_of(m, 0, "columns"), i, column)
		if (!is_of_adapter(entry_id(column)))
			json_array_append(columns, column);
	for (size_t a = 0; a < m->of->adapters; a++) {
		const json_t *own = first_of(m, a, "columns");
		const char *title = m->of->adapter[a].title;
		char id[ID];

		column = find_by_id(own, of_adapter[0]);
		column_of(a, of_adapter[0], id);
		json_array_append_new(columns,
		                      json_pack("{s:s, s:s, s:O*}", "id", id, "title", title,
		                                "adapter", json_object_get(column, "adapter")));
		column_of(a, of_adapter[1], id);
		if (find_by_id(own, of_adapter[1]))
			json_array_append_new(columns, json_pack("{s:s, s:o}", "id", id, "title",
			                                         json_sprintf("%s, 4 views", title)));
	}
}

/* ---- Values -------------------------------------------------------------------------- */

static json_t *value_in(const json_t *doc, const char *metric, const char *column)
{
	return json_object_get(json_object_get(json_object_get(doc, "values"), metric), column);
}

/* Mean and deviation of the values that are numbers; one alone stays as it is. Gives. */
static json_t *mean_value(const json_t *files, const char *metric, const char *column)
{
	double sum = 0, squares = 0, mean;
	json_t *only = NULL, *made, *doc;
	size_t count = 0, i;

	json_array_foreach (files, i, doc) {
		json_t *v = value_in(doc, metric, column);

		if (v && (!only || !count))
			only = v;
		if (json_is_number(json_object_get(v, "value"))) {
			only = count++ ? only : v;
			sum += json_number_value(json_object_get(v, "value"));
		}
	}
	if (count < 2)
		return json_incref(only);
	mean = sum / (double)count;
	json_array_foreach (files, i, doc) {
		const json_t *v = json_object_get(value_in(doc, metric, column), "value");

		if (json_is_number(v))
			squares += (json_number_value(v) - mean) * (json_number_value(v) - mean);
	}
	made = json_pack("{s:f, s:f, s:I}", "value", mean, "deviation",
	                 sqrt(squares / (double)(count - 1)), "runs", (json_int_t)count);
	if (json_object_get(only, "count"))
		json_object_set(made, "count", json_object_get(only, "count"));
	return made;
}

/* Adds what the files of an adapter have for one of their columns. */
static void merge_value(merging *m, const char *metric, size_t adapter, const char *column,
                        const char *as)
{
	json_t *all = json_object_get(m->out, "values"), *row = json_object_get(all, metric);
	json_t *value = mean_value(files_of(m, adapter), metric, column);

	if (value && !row)
		json_object_set_new(all, metric, row = json_object());
	if (value)
		json_object_set_new(row, as, value);
}

/*
 * Metrics and measurements of all files, in the order in which they first appear. Baselines
 * are the same for every adapter, so the first one's files count.
 */
static void merge_values(merging *m)
{
	json_t *metrics = json_object_get(m->out, "metrics"), *metric, *column, *files, *doc;
	size_t i, a, f;
	char id[ID];

	json_array_foreach (m->files, a, files)
		json_array_foreach (files, f, doc)
			json_array_foreach (json_object_get(doc, "metrics"), i, metric)
				if (!find_by_id(metrics, entry_id(metric)))
					json_array_append_new(metrics, json_copy(metric));
	json_array_foreach (metrics, i, metric) {
		json_array_foreach (first_of(m, 0, "columns"), f, column)
			if (!is_of_adapter(entry_id(column)))
				merge_value(m, entry_id(metric), 0, entry_id(column), entry_id(column));
		for (a = 0; a < m->of->adapters; a++)
			for (size_t c = 0; c < COLUMNS; c++) {
				column_of(a, of_adapter[c], id);
				merge_value(m, entry_id(metric), a, of_adapter[c], id);
			}
	}
}

/* ---- What is drawn, skipped and noted ------------------------------------------------ */

/* {"F": x, "1": y} of one adapter into {"F": x, "2": y}; F of the first one counts. */
static void merge_columns(json_t *into, json_t *from, size_t adapter)
{
	const char *id;
	json_t *value;
	char own[ID];

	json_object_foreach (from, id, value)
		if (is_of_adapter(id)) {
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
		json_array_foreach (first_of(m, a, key), i, plot) {
			json_t *own = find_by_id(all, entry_id(plot));

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
		json_object_foreach (first_of(m, a, key), measurement, columns) {
			json_t *own = json_object_get(all, measurement);

			if (!own)
				json_object_set_new(all, measurement, own = json_object());
			merge_columns(own, columns, a);
		}
	json_object_set_new(m->out, key, all);
}

/* Those that are not there yet. */
static void add_notes(json_t *notes, const json_t *more)
{
	json_t *note, *old;
	size_t i, k;

	json_array_foreach (more, i, note) {
		json_array_foreach (notes, k, old)
			if (json_equal(old, note))
				break;
		if (k == json_array_size(notes))
			json_array_append(notes, note);
	}
}

invar_status inv_compare(const inv_comparison *c, json_t **out)
{
	merging m = {.of = c, .files = json_array()};
	json_t *notes, *files, *doc;
	size_t a, f;
	invar_status st = INVAR_OK;

	*out = NULL;
	for (a = 0; a < c->adapters; a++) {
		json_array_append_new(m.files, json_array());
		for (f = 0; f < c->adapter[a].files; f++)
			INV_TRY_OR(done, load_file(c->adapter[a].file[f], json_array_get(m.files, a)));
	}
	/* What was measured is the same for all files: bank, split, points, options. */
	if (!(m.out = json_copy(json_array_get(files_of(&m, 0), 0))))
		INV_TRY_OR(done, inv_no_memory());
	json_object_set_new(m.out, "study", json_string(c->study));
	json_object_set_new(m.out, "title", json_string(c->title));
	json_object_set_new(m.out, "columns", json_array());
	json_object_set_new(m.out, "metrics", json_array());
	json_object_set_new(m.out, "values", json_object());
	merge_column_list(&m);
	merge_values(&m);
	merge_plots(&m, "series");
	merge_plots(&m, "scatters");
	merge_by_column(&m, "skipped");
	merge_by_column(&m, "details");
	add_notes(notes = json_array(), c->notes);
	json_array_foreach (m.files, a, files)
		json_array_foreach (files, f, doc)
			add_notes(notes, json_object_get(doc, "notes"));
	json_object_set_new(m.out, "notes", notes);
	*out = m.out;
done:
	json_decref(m.files);
	return st;
}
