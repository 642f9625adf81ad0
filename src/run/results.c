/* SPDX-License-Identifier: Apache-2.0 */
/* results.c - the results document: building it, asking it, JSON out and in. */
#include "run/results.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "run/results_plots.h"

/*
 * The document itself is kept as JSON, so that what is written is what was put; columns
 * and metrics are also kept as structs, for callers that read by pointer.
 */
struct invar_results {
	json_t *about;             /* { key: value } */
	json_t *values;            /* { metric: { column: { value, low, high, count } } } */
	json_t *skipped;           /* { measurement: { column or "": reason } } */
	json_t *details;           /* { measurement: { column: … } } */
	json_t *options;           /* { measurement: { name: value } } */
	json_t *columns, *metrics; /* arrays, in the order of the table */
	json_t *measurements;      /* [{ id, title }], in the same order */
	json_t *notes;             /* [sentence] */
	inv_plots series, scatters;
	invar_column *column;
	invar_metric *metric;
	invar_value **found; /* values handed out, kept until the document is freed */
	size_t column_count, metric_count;
};

static invar_status no_memory(void)
{
	return inv_fail(INVAR_E_NOMEM, "not enough memory for the results");
}

/* ---- Building --------------------------------------------------------------------- */

invar_status inv_results_new(invar_results **out)
{
	invar_results *r = *out = inv_calloc(1, sizeof *r);

	if (!r)
		return no_memory();
	r->about = json_object();
	r->values = json_object();
	r->skipped = json_object();
	r->details = json_object();
	r->options = json_object();
	r->columns = json_array();
	r->metrics = json_array();
	r->measurements = json_array();
	r->notes = json_array();
	if (r->about && r->values && r->skipped && r->details && r->options && r->columns &&
	    r->metrics && r->measurements && r->notes)
		return INVAR_OK;
	invar_results_free(r);
	*out = NULL;
	return no_memory();
}

void invar_results_free(invar_results *r)
{
	if (!r)
		return;
	json_decref(r->about);
	json_decref(r->values);
	json_decref(r->skipped);
	json_decref(r->details);
	json_decref(r->options);
	json_decref(r->columns);
	json_decref(r->metrics);
	json_decref(r->measurements);
	json_decref(r->notes);
	inv_plots_clear(&r->series);
	inv_plots_clear(&r->scatters);
	for (size_t i = 0; r->found && i < r->metric_count * r->column_count; i++)
		inv_free(r->found[i]);
	inv_free(r->found);
	inv_free(r->column);
	inv_free(r->metric);
	inv_free(r);
}

invar_status inv_results_describe(invar_results *r, const char *key, json_t *value)
{
	return json_object_set_new(r->about, key, value) == 0 ? INVAR_OK : no_memory();
}

static const char *text(const json_t *of, const char *key)
{
	return json_string_value(json_object_get(of, key));
}

static bool has_id(const json_t *list, const char *id)
{
	const json_t *entry;
	size_t i;

	json_array_foreach (list, i, entry)
		if (strcmp(text(entry, "id"), id) == 0)
			return true;
	return false;
}

/* An array that is one longer, with the old entries; the old one is freed. */
static void *longer(void *old, size_t count, size_t bytes)
{
	char *grown = inv_calloc(count + 1, bytes);

	if (grown && count)
		memcpy(grown, old, count * bytes);
	if (grown)
		inv_free(old);
	return grown;
}

/* The structs borrow their texts from the entry, which the array keeps. */
static invar_status append(json_t *list, json_t *entry, void **array, size_t *count,
                           size_t bytes)
{
	void *grown;

	if (!entry || json_array_append_new(list, entry) != 0 ||
	    !(grown = longer(*array, *count, bytes)))
		return no_memory();
	*array = grown;
	++*count;
	return INVAR_OK;
}

static void drop_found(invar_results *r)
{
	for (size_t i = 0; r->found && i < r->metric_count * r->column_count; i++)
		inv_free(r->found[i]);
	inv_free(r->found);
	r->found = NULL;
}

invar_status inv_results_add_column(invar_results *r, const char *id, const char *title,
                                    const char *path)
{
	json_t *entry;
	invar_status st;

	if (has_id(r->columns, id))
		return inv_fail(INVAR_E_USE, "there are two columns '%s'", id);
	drop_found(r);
	entry = json_pack("{s:s, s:o, s:o*}", "id", id, "title", inv_json_path(title),
	                  "adapter", path ? inv_json_path(path) : NULL);
	st =
		append(r->columns, entry, (void **)&r->column, &r->column_count, sizeof *r->column);
	if (st == INVAR_OK)
		r->column[r->column_count - 1] =
			(invar_column){text(entry, "id"), text(entry, "title"), text(entry, "adapter")};
	return st;
}

invar_status inv_results_add_measurement(invar_results *r, const char *id,
                                         const char *title)
{
	json_t *entry;

	if (has_id(r->measurements, id))
		return INVAR_OK;
	entry = json_pack("{s:s, s:s}", "id", id, "title", title);
	return json_array_append_new(r->measurements, entry) == 0 ? INVAR_OK : no_memory();
}

invar_status inv_results_note(invar_results *r, const char *sentence)
{
	return json_array_append_new(r->notes, inv_json_path(sentence)) == 0 ? INVAR_OK
	                                                                     : no_memory();
}

static const char *const units[] = {"number", "share", "count"};
static const char *const directions[] = {"lower", "neither", "higher"};

static int index_of(const char *const *words, int count, const char *word)
{
	for (int i = 0; word && i < count; i++)
		if (strcmp(words[i], word) == 0)
			return i;
	return -1;
}

const char *inv_unit_name(invar_unit unit)
{
	return units[unit];
}

int inv_unit_find(const char *name)
{
	return index_of(units, sizeof units / sizeof *units, name);
}

invar_status inv_results_add_metric(invar_results *r, const invar_metric *m)
{
	json_t *entry;
	invar_status st;

	if (has_id(r->metrics, m->id))
		return INVAR_OK;
	drop_found(r);
	entry =
		json_pack("{s:s, s:s, s:s, s:s*, s:s, s:s, s:i}", "id", m->id, "measurement",
	              m->measurement, "row", m->row, "part", m->part, "unit", units[m->unit],
	              "better", directions[m->better + 1], "digits", (int)m->digits);
	if (m->detail && json_object_set_new(entry, "detail", json_true()) != 0) {
		json_decref(entry);
		return no_memory();
	}
	st =
		append(r->metrics, entry, (void **)&r->metric, &r->metric_count, sizeof *r->metric);
	if (st == INVAR_OK)
		r->metric[r->metric_count - 1] =
			(invar_metric){.id = text(entry, "id"),
		                   .measurement = text(entry, "measurement"),
		                   .row = text(entry, "row"),
		                   .part = text(entry, "part"),
		                   .unit = m->unit,
		                   .better = m->better,
		                   .digits = m->digits,
		                   .detail = m->detail};
	return st;
}

/* { first: { second: value } }; takes value. */
static invar_status set_in(json_t *object, const char *first, const char *second,
                           json_t *value)
{
	json_t *inner = json_object_get(object, first);

	if (!inner) {
		inner = json_object();
		if (!inner || json_object_set_new(object, first, inner) != 0) {
			json_decref(value);
			return no_memory();
		}
	}
	return json_object_set_new(inner, second, value) == 0 ? INVAR_OK : no_memory();
}

static invar_unit unit_of(const invar_results *r, const char *metric)
{
	for (size_t i = 0; i < r->metric_count; i++)
		if (strcmp(r->metric[i].id, metric) == 0)
			return r->metric[i].unit;
	return INVAR_UNIT_NUMBER;
}

static json_t *value_json(const invar_value *v, invar_unit unit)
{
	json_t *json = json_object();

	if (v->reason) {
		json_object_set_new(json, "reason", inv_json_path(v->reason));
		return json;
	}
	json_object_set_new(json, "value",
	                    unit == INVAR_UNIT_COUNT ? json_integer((json_int_t)v->value)
	                                             : inv_json_number(v->value));
	if (isfinite(v->low) && isfinite(v->high)) {
		json_object_set_new(json, "low", json_real(v->low));
		json_object_set_new(json, "high", json_real(v->high));
	}
	if (v->no_interval)
		json_object_set_new(json, "no_interval", json_string(v->no_interval));
	if (v->runs) {
		json_object_set_new(json, "deviation", inv_json_number(v->deviation));
		json_object_set_new(json, "runs", json_integer((json_int_t)v->runs));
	}
	if (v->digits)
		json_object_set_new(json, "digits", json_integer(v->digits));
	if (v->count)
		json_object_set_new(json, "count", json_integer((json_int_t)v->count));
	return json;
}

invar_status inv_results_put(invar_results *r, const char *metric, const char *column,
                             const invar_value *value)
{
	if (!has_id(r->metrics, metric) || !has_id(r->columns, column))
		return inv_fail(INVAR_E_USE, "the results have no metric %s of a column %s", metric,
		                column);
	drop_found(r);
	return set_in(r->values, metric, column, value_json(value, unit_of(r, metric)));
}

invar_status inv_results_skip(invar_results *r, const char *measurement, const char *column,
                              const char *reason)
{
	return set_in(r->skipped, measurement, column ? column : "", inv_json_path(reason));
}

invar_status inv_results_detail(invar_results *r, const char *measurement,
                                const char *column, json_t *details)
{
	return set_in(r->details, measurement, column, details);
}

invar_status inv_results_options(invar_results *r, const char *measurement, json_t *options)
{
	return json_object_set_new(r->options, measurement, options) == 0 ? INVAR_OK
	                                                                  : no_memory();
}

/* ---- What is drawn ------------------------------------------------------------------ */

invar_status inv_results_add_series(invar_results *r, const inv_series *s)
{
	return inv_plots_add_series(&r->series, s);
}

invar_status inv_results_add_scatter(invar_results *r, const inv_scatter *s)
{
	return inv_plots_add_scatter(&r->scatters, s);
}

/* NULL, with the error set, where there is no such plot or column. */
static inv_plot *need_plot(const invar_results *r, const inv_plots *all, const char *id,
                           const char *column)
{
	inv_plot *p = inv_plots_find(all, id);

	if (p && has_id(r->columns, column))
		return p;
	inv_fail(INVAR_E_USE, "the results have no plot %s of a column %s", id, column);
	return NULL;
}

invar_status inv_results_put_curve(invar_results *r, const char *series, const char *column,
                                   const inv_curve *curve)
{
	inv_plot *p = need_plot(r, &r->series, series, column);

	return p ? inv_plot_put_curve(p, column, curve) : INVAR_E_USE;
}

invar_status inv_results_put_points(invar_results *r, const char *scatter,
                                    const char *column, const inv_points *points)
{
	inv_plot *p = need_plot(r, &r->scatters, scatter, column);

	return p ? inv_plot_put_points(p, column, points) : INVAR_E_USE;
}

const inv_series *inv_results_series(const invar_results *r, size_t i)
{
	return inv_plots_series(&r->series, i);
}

const inv_scatter *inv_results_scatter(const invar_results *r, size_t i)
{
	return inv_plots_scatter(&r->scatters, i);
}

const inv_curve *inv_results_curve(const invar_results *r, const char *series,
                                   const char *column)
{
	return inv_plot_curve(inv_plots_find(&r->series, series), column);
}

const inv_points *inv_results_points(const invar_results *r, const char *scatter,
                                     const char *column)
{
	return inv_plot_points(inv_plots_find(&r->scatters, scatter), column);
}

/* ---- Asking ------------------------------------------------------------------------- */

size_t invar_results_columns(const invar_results *r)
{
	return r->column_count;
}

const invar_column *invar_results_column(const invar_results *r, size_t i)
{
	return i < r->column_count ? &r->column[i] : NULL;
}

size_t invar_results_metrics(const invar_results *r)
{
	return r->metric_count;
}

const invar_metric *invar_results_metric(const invar_results *r, size_t i)
{
	return i < r->metric_count ? &r->metric[i] : NULL;
}

static double number(const json_t *of, const char *key)
{
	const json_t *value = json_object_get(of, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

static bool find_place(const invar_results *r, const char *metric, const char *column,
                       size_t *place)
{
	for (size_t m = 0; m < r->metric_count; m++)
		for (size_t c = 0; c < r->column_count; c++)
			if (strcmp(r->metric[m].id, metric) == 0 &&
			    strcmp(r->column[c].id, column) == 0) {
				*place = m * r->column_count + c;
				return true;
			}
	return false;
}

const invar_value *invar_results_value(const invar_results *results, const char *metric,
                                       const char *column)
{
	/* What was found is remembered; the document stays as it is. */
	invar_results *r = (invar_results *)(uintptr_t)results;
	const json_t *json = json_object_get(json_object_get(r->values, metric), column);
	size_t place;

	if (!json || !find_place(r, metric, column, &place))
		return NULL;
	if (!r->found &&
	    !(r->found = inv_calloc(r->metric_count * r->column_count, sizeof *r->found)))
		return NULL;
	if (!r->found[place] && (r->found[place] = inv_calloc(1, sizeof **r->found)))
		*r->found[place] = (invar_value){
			.value = number(json, "value"),
			.low = number(json, "low"),
			.high = number(json, "high"),
			.count = (uint64_t)json_integer_value(json_object_get(json, "count")),
			.reason = text(json, "reason"),
			.no_interval = text(json, "no_interval"),
			.deviation = number(json, "deviation"),
			.runs = (uint64_t)json_integer_value(json_object_get(json, "runs")),
			.digits = (unsigned)json_integer_value(json_object_get(json, "digits"))};
	return r->found[place];
}

const char *inv_results_measurement(const invar_results *r, size_t i, const char **title)
{
	const json_t *entry = json_array_get(r->measurements, i);

	if (title)
		*title = text(entry, "title");
	return text(entry, "id");
}

const char *inv_results_note_at(const invar_results *r, size_t i)
{
	return json_string_value(json_array_get(r->notes, i));
}

const char *inv_results_skipped(const invar_results *r, const char *measurement,
                                const char *column)
{
	const json_t *reasons = json_object_get(r->skipped, measurement);
	const char *reason = column ? text(reasons, column) : NULL;

	return reason ? reason : text(reasons, "");
}

const char *invar_results_about(const invar_results *r, const char *key)
{
	return text(r->about, key);
}

double inv_results_about_number(const invar_results *r, const char *key)
{
	return number(r->about, key);
}

int inv_results_is_complete(const invar_results *r)
{
	return !json_is_true(json_object_get(r->about, "incomplete"));
}

/* ---- JSON --------------------------------------------------------------------------- */

/* A document without series or scatters does not mention them. */
static void set_plots(json_t *document, const char *key, const inv_plots *all)
{
	if (all->count)
		json_object_set_new(document, key, inv_plots_json(all));
}

json_t *inv_results_document(const invar_results *r)
{
	json_t *document = json_pack("{s:s, s:i}", "format", "invar-results", "version", 1);

	json_object_update(document, r->about);
	json_object_set(document, "columns", r->columns);
	json_object_set(document, "measurements", r->measurements);
	json_object_set(document, "metrics", r->metrics);
	json_object_set(document, "values", r->values);
	set_plots(document, "series", &r->series);
	set_plots(document, "scatters", &r->scatters);
	json_object_set(document, "skipped", r->skipped);
	json_object_set(document, "options", r->options);
	json_object_set(document, "details", r->details);
	json_object_set(document, "notes", r->notes);
	return document;
}

invar_status invar_results_json(const invar_results *r, char **json)
{
	json_t *document = inv_results_document(r);

	*json = document ? inv_json_text(document, 2) : NULL;
	json_decref(document);
	return *json ? INVAR_OK : no_memory();
}

static invar_status refuse(const char *where, const char *what)
{
	return inv_fail(INVAR_E_FORMAT, "%s: is not a results document of version 1: %s", where,
	                what);
}

static invar_status read_columns(const json_t *list, const char *where, invar_results *r)
{
	const json_t *entry;
	invar_status st = INVAR_OK;
	size_t i;

	json_array_foreach (list, i, entry) {
		if (!text(entry, "id") || !text(entry, "title"))
			return refuse(where, "a column has no id or title");
		st = inv_results_add_column(r, text(entry, "id"), text(entry, "title"),
		                            text(entry, "adapter"));
		if (st != INVAR_OK)
			return st == INVAR_E_USE ? refuse(where, "two columns have one id") : st;
	}
	return json_is_array(list) ? st : refuse(where, "columns are missing");
}

static invar_status read_metrics(const json_t *list, const char *where, invar_results *r)
{
	const json_t *entry;
	invar_status st = INVAR_OK;
	size_t i;

	json_array_foreach (list, i, entry) {
		int unit = index_of(units, 3, text(entry, "unit"));
		int better = index_of(directions, 3, text(entry, "better"));
		json_int_t digits = json_integer_value(json_object_get(entry, "digits"));
		const invar_metric m = {.id = text(entry, "id"),
		                        .measurement = text(entry, "measurement"),
		                        .row = text(entry, "row"),
		                        .part = text(entry, "part"),
		                        .unit = unit < 0 ? INVAR_UNIT_NUMBER : (invar_unit)unit,
		                        .better = better < 0 ? 0 : better - 1,
		                        .digits = digits < 0 || digits > 15 ? 4 : (unsigned)digits,
		                        .detail = json_is_true(json_object_get(entry, "detail"))};

		if (!m.id || !m.measurement || !m.row || unit < 0 || better < 0)
			return refuse(where, "a metric is not described");
		if ((st = inv_results_add_metric(r, &m)) != INVAR_OK)
			return st;
	}
	return json_is_array(list) ? st : refuse(where, "metrics are missing");
}

static invar_status read_values(const json_t *values, const char *where, invar_results *r)
{
	const char *metric, *column;
	json_t *by_column, *value;

	json_object_foreach ((json_t *)(uintptr_t)values, metric, by_column)
		json_object_foreach (by_column, column, value) {
			if (!has_id(r->metrics, metric) || !has_id(r->columns, column) ||
			    !json_is_object(value))
				return refuse(where, "a value belongs to no metric or column");
			if (set_in(r->values, metric, column, json_incref(value)) != INVAR_OK)
				return INVAR_E_NOMEM;
		}
	return json_is_object(values) ? INVAR_OK : refuse(where, "values are missing");
}

static int is_column(const void *results, const char *id)
{
	return has_id(((const invar_results *)results)->columns, id);
}

static invar_status read_plots(const json_t *document, const char *where, invar_results *r)
{
	const json_t *series = json_object_get(document, "series");
	const json_t *scatters = json_object_get(document, "scatters"), *entry;
	invar_status st = INVAR_OK;
	const char *why = "";
	size_t i;

	if ((series && !json_is_array(series)) || (scatters && !json_is_array(scatters)))
		return refuse(where, "series or scatters are not a list");
	json_array_foreach (series, i, entry)
		if (st == INVAR_OK)
			st = inv_plots_read_series(&r->series, entry, is_column, r, &why);
	json_array_foreach (scatters, i, entry)
		if (st == INVAR_OK)
			st = inv_plots_read_scatter(&r->scatters, entry, is_column, r, &why);
	return st == INVAR_E_FORMAT ? refuse(where, why) : st;
}

static invar_status read_measurements(const json_t *document, const char *where,
                                      invar_results *r)
{
	const json_t *list = json_object_get(document, "measurements"), *entry;
	const json_t *notes = json_object_get(document, "notes");
	invar_status st = INVAR_OK;
	size_t i;

	json_array_foreach (list, i, entry) {
		if (!text(entry, "id") || !text(entry, "title"))
			return refuse(where, "a measurement has no id or title");
		st = inv_results_add_measurement(r, text(entry, "id"), text(entry, "title"));
		if (st != INVAR_OK)
			return st;
	}
	json_array_foreach (notes, i, entry) {
		if (!json_is_string(entry))
			return refuse(where, "a note is not a text");
		if ((st = inv_results_note(r, json_string_value(entry))) != INVAR_OK)
			return st;
	}
	return st;
}

static void read_rest(const json_t *document, invar_results *r)
{
	static const char *const known[] = {"format",  "version", "columns", "measurements",
	                                    "metrics", "values",  "skipped", "options",
	                                    "details", "notes",   "series",  "scatters"};
	const char *key;
	json_t *value;

	json_object_update(r->skipped, json_object_get(document, "skipped"));
	json_object_update(r->options, json_object_get(document, "options"));
	json_object_update(r->details, json_object_get(document, "details"));
	json_object_foreach ((json_t *)(uintptr_t)document, key, value)
		if (index_of(known, sizeof known / sizeof *known, key) < 0)
			json_object_set(r->about, key, value);
}

invar_status inv_results_read(const json_t *document, const char *where,
                              invar_results **out)
{
	const char *format = text(document, "format");
	invar_status st;

	*out = NULL;
	if (!format || strcmp(format, "invar-results") != 0 ||
	    json_integer_value(json_object_get(document, "version")) != 1)
		return refuse(where, "its format or version differs");
	if ((st = inv_results_new(out)) != INVAR_OK)
		return st;
	st = read_columns(json_object_get(document, "columns"), where, *out);
	if (st == INVAR_OK)
		st = read_metrics(json_object_get(document, "metrics"), where, *out);
	if (st == INVAR_OK)
		st = read_values(json_object_get(document, "values"), where, *out);
	if (st == INVAR_OK)
		st = read_plots(document, where, *out);
	if (st == INVAR_OK)
		st = read_measurements(document, where, *out);
	if (st == INVAR_OK)
		read_rest(document, *out);
	if (st != INVAR_OK) {
		invar_results_free(*out);
		*out = NULL;
	}
	return st;
}

invar_status invar_results_open(invar_context *ctx, const char *path, invar_results **out)
{
	json_t *document;
	invar_status st = inv_json_load(path, &document);

	(void)ctx;
	*out = NULL;
	if (st == INVAR_OK)
		st = inv_results_read(document, path, out);
	json_decref(document);
	return st;
}
