/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results_of_run.c - what a run knows about itself, as results documents: its training,
 * from log.jsonl, then one document per bank that it was measured on, from metrics.json.
 *
 * Documents are put together as JSON and read by inv_results_read, so that files which
 * someone else has changed pass the same checks as any other document.
 */
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "run/results.h"
#include "run/run.h"

static invar_status no_memory(const char *run)
{
	return inv_fail(INVAR_E_NOMEM, "%s: not enough memory for its results", run);
}

static json_t *new_document(void)
{
	return json_pack(
		"{s:s, s:i, s:[], s:[], s:[], s:{}, s:{}, s:{}, s:{}, s:[], s:[], s:[]}", "format",
		"invar-results", "version", 1, "columns", "measurements", "metrics", "values",
		"skipped", "options", "details", "notes", "series", "scatters");
}

/* Its name as text that JSON can hold; gives, NULL: no memory. */
static char *name_of(const char *run)
{
	char *title = inv_run_title(run);
	json_t *text = title ? inv_json_path(title) : NULL;
	char *name = text ? strdup(json_string_value(text)) : NULL;

	json_decref(text);
	inv_free(title);
	return name;
}

/* ---- The training ---------------------------------------------------------------------
 */

static void add_column(json_t *document, const char *id, const char *title)
{
	json_array_append_new(json_object_get(document, "columns"),
	                      json_pack("{s:s, s:s}", "id", id, "title", title));
}

/* The number of an epoch for a curve, wherever the line has it; NULL: none. */
static json_t *number_of(const json_t *line, const char *column)
{
	json_t *own = json_object_get(line, column);

	return own ? own : json_object_get(json_object_get(line, "terms"), column);
}

static void add_curve(json_t *curves, json_t *document, const json_t *lines,
                      const char *column)
{
	json_t *x = json_array(), *y = json_array();
	const json_t *line;
	size_t i, every = json_array_size(lines) / 10000 + 1;

	json_array_foreach (lines, i, line) {
		json_t *value = number_of(line, column);

		if (i % every)
			continue;
		json_array_append_new(x, json_integer((json_int_t)i + 1));
		json_array_append_new(y, json_is_number(value) ? json_incref(value) : json_null());
	}
	add_column(document, column, column);
	json_object_set_new(curves, column, json_pack("{s:o, s:o}", "x", x, "y", y));
}

/* The loss, that of held-out images, and the terms where there is more than one. */
static json_t *training_document(const json_t *lines, const char *name)
{
	json_t *document = new_document(), *curves = json_object(), *value;
	const json_t *first = json_array_get(lines, 0),
				 *terms = json_object_get(first, "terms");
	const char *term;

	add_curve(curves, document, lines, "loss");
	if (json_object_get(first, "validation"))
		add_curve(curves, document, lines, "validation");
	if (json_object_size(terms) > 1)
		json_object_foreach ((json_t *)(uintptr_t)terms, term, value)
			add_curve(curves, document, lines, term);
	json_array_append_new(json_object_get(document, "series"),
	                      json_pack("{s:s, s:s, s:o, s:{s:s, s:s}, s:{s:s, s:s}, s:o}",
	                                "id", "train.loss", "measurement", "train", "title",
	                                json_sprintf("Training of %s", name), "x", "title",
	                                "epoch", "unit", "count", "y", "title", "loss", "unit",
	                                "number", "columns", curves));
	return document;
}

/* The lines of log.jsonl that are complete; NULL: no memory. */
static json_t *parse_lines(char *text)
{
	json_t *lines = json_array();
	char *rest = text, *line;

	while ((line = strsep(&rest, "\n"))) {
		json_t *one = json_loads(line, JSON_REJECT_DUPLICATES, NULL);

		if (json_is_object(one))
			json_array_append_new(lines, one);
		else
			json_decref(one);
	}
	return lines;
}

static invar_status read_training(const char *run, invar_results **out)
{
	char *path = inv_join(run, INV_RUN_LOG), *name = name_of(run), *text = NULL;
	json_t *lines = NULL, *document = NULL;
	size_t bytes;
	invar_status st = path && name ? INVAR_OK : no_memory(run);

	*out = NULL;
	if (st == INVAR_OK && inv_exists(path))
		st = inv_file_load(path, INV_JSON_MAX, &text, &bytes);
	if (st == INVAR_OK && text && !(lines = parse_lines(text)))
		st = no_memory(run);
	if (st == INVAR_OK && json_array_size(lines)) {
		document = training_document(lines, name);
		st = inv_results_read(document, path, out);
	}
	json_decref(document);
	json_decref(lines);
	inv_free(text);
	free(name);
	inv_free(path);
	return st;
}

/* ---- Measurements ------------------------------------------------------------------- */

static const char *text(const json_t *of, const char *key)
{
	return json_string_value(json_object_get(of, key));
}

/* Were two entries measured on the same rows? */
static bool is_same_bank(const json_t *a, const json_t *b)
{
	static const char *const keys[] = {"fingerprint", "split", "points"};

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		json_t *x = json_object_get(a, keys[i]), *y = json_object_get(b, keys[i]);

		if (x != y && (!x || !y || !json_equal(x, y)))
			return false;
	}
	return true;
}

/* The first entry of bank i; NULL past the last. */
static const json_t *bank_at(const json_t *measured, size_t i)
{
	const json_t *entry;
	size_t k;

	json_array_foreach (measured, k, entry) {
		bool seen = false;

		for (size_t before = 0; before < k && !seen; before++)
			seen = is_same_bank(json_array_get(measured, before), entry);
		if (!seen && i-- == 0)
			return entry;
	}
	return NULL;
}

/* One value per metric and column; a later entry, with other options, replaces it. */
static void add_values(json_t *document, const json_t *entry, const char *from,
                       const char *column)
{
	json_t *values = json_object_get(document, "values"), *value;
	const char *metric;

	json_object_foreach (json_object_get(entry, from), metric, value) {
		json_t *of = json_object_get(values, metric);

		if (!of) {
			of = json_object();
			json_object_set_new(values, metric, of);
		}
		json_object_set(of, column, value);
	}
}

static bool has_id(const json_t *list, const char *id)
{
	const json_t *one;
	size_t i;

	json_array_foreach (list, i, one)
		if (text(one, "id") && strcmp(text(one, "id"), id) == 0)
			return true;
	return false;
}

static void add_metrics(json_t *document, const json_t *entry, const json_t *shown)
{
	json_t *list = json_object_get(document, "metrics"), *row;
	const char *id;

	json_object_foreach (json_object_get(entry, "rows"), id, row) {
		json_t *metric = json_copy(json_object_get(shown, id));

		if (!metric || has_id(list, id)) {
			json_decref(metric);
			continue;
		}
		json_object_set_new(metric, "id", json_string(id));
		json_object_set(metric, "row", row);
		json_array_append_new(list, metric);
	}
}

static void add_plots(json_t *document, const json_t *entry, const char *kind)
{
	json_t *list = json_object_get(document, kind);
	const json_t *plot;
	size_t i;

	json_array_foreach (json_object_get(entry, kind), i, plot) {
		json_t *of_f = json_object_get(plot, "F"), *own = json_object_get(plot, "E");
		json_t *copy, *columns;

		if (!text(plot, "id") || has_id(list, text(plot, "id")))
			continue;
		copy = json_copy((json_t *)(uintptr_t)plot);
		columns = json_pack("{s:O*, s:O*}", "F", of_f, "E", own);
		json_object_del(copy, "F");
		json_object_del(copy, "E");
		json_object_set_new(copy, "columns", columns);
		json_array_append_new(list, copy);
	}
}

static void describe_bank(json_t *document, const json_t *entry)
{
	static const char *const keys[] = {"bank",  "fingerprint", "encoder", "augment",
	                                   "split", "points",      "copies",  "dim"};

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		if (json_object_get(entry, keys[i]))
			json_object_set(document, keys[i], json_object_get(entry, keys[i]));
}

/* A column of queries with four views, if there is one. */
static void add_views(json_t *document, const json_t *views, const char *id,
                      const char *title)
{
	char *with_views = NULL;

	if (!json_object_get(views, id))
		return;
	if (!has_id(json_object_get(document, "columns"), id) &&
	    asprintf(&with_views, "%s, 4 views", title) >= 0)
		add_column(document, id, with_views);
	free(with_views);
	add_values(document, views, id, id);
}

static json_t *bank_document(const json_t *metrics, const json_t *bank, const char *title)
{
	const json_t *measured = json_object_get(metrics, "measured"), *entry;
	json_t *document = new_document();
	size_t i;

	describe_bank(document, bank);
	add_column(document, "F", "F");
	add_column(document, "E", title);
	json_array_foreach (measured, i, entry) {
		const char *name = text(entry, "measurement");
		json_t *list = json_object_get(document, "measurements");
		const json_t *views = json_object_get(entry, "baselines");

		if (!name || !is_same_bank(bank, entry))
			continue;
		add_views(document, views, "F.views", "F");
		add_views(document, views, "E.views", title);
		if (!has_id(list, name))
			json_array_append_new(list, json_pack("{s:s, s:s}", "id", name, "title", name));
		add_metrics(document, entry, json_object_get(metrics, "metrics"));
		add_values(document, entry, "F", "F");
		add_values(document, entry, "E", "E");
		add_plots(document, entry, "series");
		add_plots(document, entry, "scatters");
	}
	return document;
}

static invar_status read_measured(const char *run, size_t i, invar_results **out)
{
	char *path = inv_join(run, INV_RUN_METRICS), *title = name_of(run);
	json_t *metrics = NULL, *document = NULL;
	const json_t *bank = NULL;
	invar_status st = path && title ? INVAR_OK : no_memory(run);

	*out = NULL;
	if (st == INVAR_OK && inv_exists(path))
		st = inv_json_load(path, &metrics);
	if (st == INVAR_OK && metrics)
		st = inv_results_check_metrics(metrics, path);
	if (st == INVAR_OK)
		bank = bank_at(json_object_get(metrics, "measured"), i);
	if (st == INVAR_OK && bank) {
		document = bank_document(metrics, bank, title);
		st = inv_results_read(document, path, out);
	}
	json_decref(document);
	json_decref(metrics);
	free(title);
	inv_free(path);
	return st;
}

invar_status invar_run_results(invar_context *ctx, const char *run, size_t i,
                               invar_results **out)
{
	invar_status st;

	(void)ctx;
	if ((st = read_training(run, out)) != INVAR_OK || (*out && i == 0))
		return st;
	i -= *out != NULL;
	invar_results_free(*out);
	return read_measured(run, i, out);
}
