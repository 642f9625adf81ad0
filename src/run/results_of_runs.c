/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results_of_runs.c - what runs know about themselves, as results documents: the training
 * of a run, from log.jsonl, and what one run or several side by side were measured for,
 * from metrics.json.
 *
 * Every metrics.json has a column of its own run and one of F. Entries that were measured
 * on the same rows become one document. A measurement may have been made with several sets
 * of options: the one that most runs have is shown, of equally frequent ones the latest of
 * the first run, and a note names the columns that have another; a run alone also shows
 * metrics that only earlier ones have. Documents are put together as JSON and read by
 * inv_results_read, so files that someone has changed pass the usual checks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "run/results_object.h"
#include "run/run.h"

typedef struct collection {
	json_t **metrics; /* [count]; NULL: the run was not measured */
	char **title;     /* [count] */
	size_t count;
	bool alone; /* the column of its run is "E" instead of "1" */
	json_t *document;
} collection;

enum { COLUMN = 40 };

/* The column of a run; `views` is "" or ".views". */
static const char *name_column(const collection *c, size_t run, const char *views,
                               char out[COLUMN])
{
	if (c->alone)
		snprintf(out, COLUMN, "E%s", views);
	else
		snprintf(out, COLUMN, "%zu%s", run + 1, views);
	return out;
}

static bool is_equal(const json_t *a, const json_t *b, const char *key)
{
	json_t *x = json_object_get(a, key), *y = json_object_get(b, key);

	return x == y || (x && y && json_equal(x, y));
}

/* Were two entries measured on the same rows? */
static bool is_same_bank(const json_t *a, const json_t *b)
{
	return is_equal(a, b, "fingerprint") && is_equal(a, b, "split") &&
	       is_equal(a, b, "points");
}

static const json_t *entries_of(const collection *c, size_t run)
{
	return json_object_get(c->metrics[run], "measured");
}

/* ---- Banks --------------------------------------------------------------------------- */

/* Is the entry the first one of its bank, in the order of runs and entries? */
static bool is_first_of_bank(const collection *c, size_t run, size_t at)
{
	const json_t *entry = json_array_get(entries_of(c, run), at), *before;
	size_t i;

	for (size_t r = 0; r <= run; r++)
		json_array_foreach (entries_of(c, r), i, before) {
			if (r == run && i == at)
				return true;
			if (is_same_bank(before, entry))
				return false;
		}
	return true;
}

/* The first entry of bank i; NULL past the last. */
static const json_t *bank_at(const collection *c, size_t i)
{
	for (size_t run = 0; run < c->count; run++)
		for (size_t at = 0; at < json_array_size(entries_of(c, run)); at++)
			if (is_first_of_bank(c, run, at) && i-- == 0)
				return json_array_get(entries_of(c, run), at);
	return NULL;
}

/* ---- Entries ------------------------------------------------------------------------- */

static bool is_of(const json_t *entry, const json_t *bank, const char *measurement)
{
	const char *own = inv_text_of(entry, "measurement");

	return own && strcmp(own, measurement) == 0 && is_same_bank(entry, bank);
}

/* The last entry of a run for a measurement, with these options if any are given. */
static const json_t *last_entry(const collection *c, size_t run, const json_t *bank,
                                const char *measurement, const json_t *like)
{
	const json_t *entry, *found = NULL;
	size_t i;

	json_array_foreach (entries_of(c, run), i, entry)
		if (is_of(entry, bank, measurement) && (!like || is_equal(entry, like, "options")))
			found = entry;
	return found;
}

static size_t count_runs_like(const collection *c, const json_t *bank,
                              const char *measurement, const json_t *like)
{
	size_t count = 0;

	for (size_t run = 0; run < c->count; run++)
		count += last_entry(c, run, bank, measurement, like) != NULL;
	return count;
}

/* An entry whose options most runs have. */
static const json_t *most_frequent(const collection *c, const json_t *bank,
                                   const char *measurement)
{
	const json_t *best = NULL, *entry;
	size_t most = 0, best_run = 0, i;

	for (size_t run = 0; run < c->count; run++)
		json_array_foreach (entries_of(c, run), i, entry) {
			size_t runs = is_of(entry, bank, measurement)
			                  ? count_runs_like(c, bank, measurement, entry)
			                  : 0;

			if (runs > most || (runs && runs == most && run == best_run)) {
				most = runs;
				best_run = run;
				best = entry;
			}
		}
	return best;
}

/* ---- Parts of an entry --------------------------------------------------------------- */

static json_t *find_id(const json_t *list, const char *id)
{
	json_t *one;
	size_t i;

	json_array_foreach (list, i, one)
		if (inv_text_of(one, "id") && strcmp(inv_text_of(one, "id"), id) == 0)
			return one;
	return NULL;
}

static json_t *object_in(json_t *of, const char *key)
{
	json_t *there = json_object_get(of, key);

	if (there)
		return there;
	json_object_set_new(of, key, json_object());
	return json_object_get(of, key);
}

static void add_entry_values(const collection *c, const json_t *entry, const char *from,
                             const char *column)
{
	json_t *values = json_object_get(c->document, "values"), *value;
	const char *metric;

	json_object_foreach (json_object_get(entry, from), metric, value)
		if (!json_object_get(json_object_get(values, metric), column))
			json_object_set(object_in(values, metric), column, value);
}

/* Curves or points of one column; left out if the names that they refer to differ. */
static void add_plot(json_t *list, const json_t *plot, const char *from, const char *column)
{
	json_t *there = find_id(list, inv_text_of(plot, "id")),
		   *own = json_object_get(plot, from);

	if (!own)
		return;
	if (!there) {
		there = json_copy((json_t *)(uintptr_t)plot);
		json_object_del(there, "F");
		json_object_del(there, "E");
		json_object_set_new(there, "columns", json_object());
		json_array_append_new(list, there);
	}
	if (is_equal(there, plot, "classes") && is_equal(there, plot, "marks") &&
	    !json_object_get(json_object_get(there, "columns"), column))
		json_object_set(json_object_get(there, "columns"), column, own);
}

static void add_plots(const collection *c, const json_t *entry, const char *kind,
                      const char *from, const char *column)
{
	const json_t *plot;
	size_t i;

	json_array_foreach (json_object_get(entry, kind), i, plot)
		if (inv_text_of(plot, "id"))
			add_plot(json_object_get(c->document, kind), plot, from, column);
}

static void add_column_of(const collection *c, const json_t *entry, const char *from,
                          const char *column)
{
	add_entry_values(c, entry, from, column);
	add_plots(c, entry, "series", from, column);
	add_plots(c, entry, "scatters", from, column);
}

/* ---- A measurement ------------------------------------------------------------------- */

/* What an entry has for F, if its options are those that are shown, and for its run. */
static void add_run_entry(const collection *c, const json_t *entry, bool with_f, size_t run)
{
	const json_t *views = json_object_get(entry, "baselines");
	char column[COLUMN];
	json_t *list = json_object_get(c->document, "metrics"), *row;
	const json_t *shown = json_object_get(c->metrics[run], "metrics");
	const char *id;

	json_object_foreach (json_object_get(entry, "rows"), id, row) {
		json_t *metric = find_id(list, id) ? NULL : json_copy(json_object_get(shown, id));

		if (!metric)
			continue;
		json_object_set_new(metric, "id", json_string(id));
		json_object_set(metric, "row", row);
		json_array_append_new(list, metric);
	}
	if (with_f)
		add_column_of(c, entry, "F", "F");
	add_column_of(c, entry, "E", name_column(c, run, "", column));
	add_entry_values(c, views, "F.views", "F.views");
	add_entry_values(c, views, "E.views", name_column(c, run, ".views", column));
}

static void add_run(const collection *c, const json_t *bank, const char *measurement,
                    const json_t *chosen, size_t run)
{
	const json_t *entry = last_entry(c, run, bank, measurement, chosen), *other;
	json_t *details, *reason;
	char column[COLUMN];

	if (!entry && (entry = last_entry(c, run, bank, measurement, NULL))) {
		char *options = inv_json_text(json_object_get(entry, "options"), 0);

		if (options)
			json_array_append_new(
				json_object_get(c->document, "notes"),
				json_sprintf("%s of %s was measured with other options than in the other "
			                 "columns: %s",
			                 measurement, c->title[run], options));
		inv_free(options);
	}
	if (!entry)
		return;
	add_run_entry(c, entry, is_equal(entry, chosen, "options"), run);
	for (size_t i = json_array_size(entries_of(c, run)); c->alone && i-- > 0;)
		if (is_of((other = json_array_get(entries_of(c, run), i)), bank, measurement))
			add_run_entry(c, other, true, run);
	name_column(c, run, "", column);
	details = json_object_get(entry, "details");
	reason = json_object_get(entry, "skipped");
	if (details)
		json_object_set(object_in(json_object_get(c->document, "details"), measurement),
		                column, details);
	if (reason)
		json_object_set(object_in(json_object_get(c->document, "skipped"), measurement),
		                column, reason);
}

static void add_measurement(const collection *c, const json_t *bank,
                            const char *measurement)
{
	const json_t *chosen = most_frequent(c, bank, measurement);

	json_array_append_new(json_object_get(c->document, "measurements"),
	                      json_pack("{s:s, s:s}", "id", measurement, "title", measurement));
	if (json_object_get(chosen, "options"))
		json_object_set(json_object_get(c->document, "options"), measurement,
		                json_object_get(chosen, "options"));
	for (size_t run = 0; run < c->count; run++)
		add_run(c, bank, measurement, chosen, run);
}

/* ---- The document -------------------------------------------------------------------- */

static bool has_bank(const collection *c, size_t run, const json_t *bank)
{
	const json_t *entry;
	size_t i;

	json_array_foreach (entries_of(c, run), i, entry)
		if (is_same_bank(bank, entry))
			return true;
	return false;
}

/* Was the run measured on this bank with four views per query? */
static bool has_views(const collection *c, size_t run, const json_t *bank)
{
	const json_t *entry;
	size_t i;

	json_array_foreach (entries_of(c, run), i, entry)
		if (is_same_bank(bank, entry) &&
		    json_object_get(json_object_get(entry, "baselines"), "E.views"))
			return true;
	return false;
}

static void add_run_column(json_t *document, const char *id, json_t *title)
{
	json_array_append_new(json_object_get(document, "columns"),
	                      json_pack("{s:s, s:o}", "id", id, "title", title));
}

/* What both kinds of documents begin with. */
static json_t *new_document(void)
{
	return json_pack(
		"{s:s, s:i, s:[], s:[], s:[], s:{}, s:{}, s:{}, s:{}, s:[], s:[], s:[]}", "format",
		"invar-results", "version", 1, "columns", "measurements", "metrics", "values",
		"skipped", "options", "details", "notes", "series", "scatters");
}

static invar_status fill_document(collection *c, const json_t *bank)
{
	static const char *const keys[] = {"bank",  "fingerprint", "encoder", "augment",
	                                   "split", "points",      "copies",  "dim"};
	const json_t *entry;
	size_t i;
	bool any = false;
	char id[COLUMN];

	if (!(c->document = new_document()))
		return inv_no_memory();
	for (i = 0; i < sizeof keys / sizeof *keys; i++)
		if (json_object_get(bank, keys[i]))
			json_object_set(c->document, keys[i], json_object_get(bank, keys[i]));

	/* In this order: F, each run, and after each the column of its four views, if any. */
	for (size_t run = 0; run < c->count; run++)
		any = any || has_views(c, run, bank);
	add_run_column(c->document, "F", json_string("F"));
	if (any) {
		add_run_column(c->document, "F.views", json_string("F, 4 views"));
		json_array_append_new(json_object_get(c->document, "notes"),
		                      json_string(INV_NOTE_VIEWS));
	}
	for (size_t run = 0; run < c->count; run++) {
		json_t *title = has_bank(c, run, bank) ? inv_json_path(c->title[run]) : NULL;

		if (!title)
			continue;
		add_run_column(c->document, name_column(c, run, "", id), json_incref(title));
		if (has_views(c, run, bank))
			add_run_column(c->document, name_column(c, run, ".views", id),
			               json_sprintf("%s, 4 views", json_string_value(title)));
		json_decref(title);
	}
	for (size_t run = 0; run < c->count; run++)
		json_array_foreach (entries_of(c, run), i, entry) {
			const char *name = inv_text_of(entry, "measurement");

			if (name && is_same_bank(bank, entry) &&
			    !find_id(json_object_get(c->document, "measurements"), name))
				add_measurement(c, bank, name);
		}
	return INVAR_OK;
}

/* ---- Files --------------------------------------------------------------------------- */

static invar_status read_measured(const char *const *runs, size_t count, bool alone,
                                  size_t i, invar_results **out)
{
	collection c = {.count = count, .alone = alone};
	const json_t *bank;
	invar_status st;

	*out = NULL;
	INV_TRY_OR(end, inv_new_zeros(&c.metrics, count + 1));
	INV_TRY_OR(end, inv_new_zeros(&c.title, count + 1));
	for (size_t run = 0; run < count; run++) {
		INV_TRY_OR(end,
		           (c.title[run] = inv_run_title(runs[run])) ? INVAR_OK : inv_no_memory());
		INV_TRY_OR(end, inv_run_load_metrics(runs[run], &c.metrics[run]));
	}
	if ((bank = bank_at(&c, i))) {
		INV_TRY_OR(end, fill_document(&c, bank));
		st = inv_results_read(c.document, INV_RUN_METRICS, out);
	}
end:
	for (size_t run = 0; c.metrics && c.title && run < count; run++) {
		json_decref(c.metrics[run]);
		inv_free(c.title[run]);
	}
	inv_free(c.metrics);
	inv_free(c.title);
	json_decref(c.document);
	return st;
}

invar_status inv_runs_results(invar_context *ctx, const char *const *runs, size_t count,
                              size_t i, invar_results **out)
{
	(void)ctx;
	return read_measured(runs, count, false, i, out);
}

/* ---- The training -------------------------------------------------------------------- */

/* The number of an epoch for a curve, wherever the line has it; NULL: none. */
static json_t *number_of_epoch(const json_t *line, const char *column)
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
		json_t *value = number_of_epoch(line, column);

		if (i % every)
			continue;
		json_array_append_new(x, json_integer((json_int_t)i + 1));
		json_array_append_new(y, json_is_number(value) ? json_incref(value) : json_null());
	}
	add_run_column(document, column, json_string(column));
	json_object_set_new(curves, column, json_pack("{s:o, s:o}", "x", x, "y", y));
}

/* The loss, that of held-out images, and the terms if there are several; takes name. */
static json_t *training_document(const json_t *lines, json_t *name)
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
	                                name, "x", "title", "epoch", "unit", "count", "y",
	                                "title", "loss", "unit", "number", "columns", curves));
	return document;
}

/* The lines of log.jsonl that are complete; NULL: no memory. */
static json_t *parse_lines(char *log)
{
	json_t *lines = json_array();
	char *rest = log, *line;

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
	char *path = inv_join(run, INV_RUN_LOG), *name = inv_run_title(run), *log = NULL;
	json_t *lines = NULL, *document = NULL, *title = name ? inv_json_path(name) : NULL;
	size_t bytes;
	invar_status st;

	*out = NULL;
	INV_TRY_OR(end, path && title ? INVAR_OK : inv_no_memory());
	if (!inv_exists(path))
		goto end;
	INV_TRY_OR(end, inv_file_load(path, INV_JSON_MAX, &log, &bytes));
	INV_TRY_OR(end, (lines = parse_lines(log)) ? INVAR_OK : inv_no_memory());
	if (json_array_size(lines)) {
		document = training_document(
			lines, json_sprintf("Training of %s", json_string_value(title)));
		st = inv_results_read(document, path, out);
	}
end:
	json_decref(document);
	json_decref(title);
	json_decref(lines);
	inv_free(log);
	inv_free(name);
	inv_free(path);
	return st;
}

invar_status invar_run_results(invar_context *ctx, const char *run, size_t i,
                               invar_results **out)
{
	(void)ctx;
	INV_TRY(read_training(run, out));
	if (*out && i == 0)
		return INVAR_OK;
	i -= *out != NULL;
	invar_results_free(*out);
	return read_measured(&run, 1, true, i, out);
}
