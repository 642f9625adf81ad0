/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results_json.c - results as the JSON document of docs/reference/RESULTS-FORMAT.md, and
 * back.
 *
 * The reader builds with the calls that a program builds with (results.h), so both pass the
 * same checks. The arrays of curves and points are rows of two tables.
 */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/memory.h"
#include "run/results_object.h"

enum { UNITS = sizeof inv_unit_names / sizeof *inv_unit_names };

/* ---- Arrays of curves and points ----------------------------------------------------- */

typedef enum array_type { NUMBERS, COUNTS, INDICES } array_type;

typedef struct array_field {
	const char *key;
	array_type type;
	size_t at; /* of the pointer in inv_plotted */
	bool optional;
} array_field;

enum { FIELDS = 5 };

static const array_field fields[2][FIELDS] = {
	{{"x", NUMBERS, offsetof(inv_plotted, curve.x), false},
     {"y", NUMBERS, offsetof(inv_plotted, curve.y), false},
     {"low", NUMBERS, offsetof(inv_plotted, curve.low), true},
     {"high", NUMBERS, offsetof(inv_plotted, curve.high), true},
     {"count", COUNTS, offsetof(inv_plotted, curve.counts), true}},
	{{"x", NUMBERS, offsetof(inv_plotted, points.x), false},
     {"y", NUMBERS, offsetof(inv_plotted, points.y), false},
     {"class", INDICES, offsetof(inv_plotted, points.label), true},
     {"mark", INDICES, offsetof(inv_plotted, points.mark), true},
     {"row", COUNTS, offsetof(inv_plotted, points.rows), true}},
};

/* NULL: the array is absent. */
static json_t *plotted_array_json(const array_field *f, const inv_plotted *p, size_t count)
{
	const void *array;
	json_t *list;

	memcpy(&array, (const char *)p + f->at, sizeof array);
	if (!array)
		return NULL;
	list = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(
			list, f->type == NUMBERS ? inv_json_number(((const double *)array)[i])
				  : f->type == COUNTS
					  ? json_integer((json_int_t)((const uint64_t *)array)[i])
					  : json_integer(((const int32_t *)array)[i]));
	return list;
}

static const char *read_array_entry(const json_t *one, array_type type, void *array,
                                    size_t i)
{
	json_int_t number = json_integer_value(one);

	if (type == NUMBERS && !json_is_number(one) && !json_is_null(one))
		return "a coordinate is not a number";
	if (type == COUNTS && (!json_is_integer(one) || number < 0))
		return "a count or a row is not a whole number of at least 0";
	if (type == INDICES && (!json_is_integer(one) || number < -1 || number > INT32_MAX))
		return "a class or mark of a point has no name";
	if (type == NUMBERS)
		((double *)array)[i] = json_is_null(one) ? NAN : json_number_value(one);
	else if (type == COUNTS)
		((uint64_t *)array)[i] = (uint64_t)number;
	else
		((int32_t *)array)[i] = (int32_t)number;
	return NULL;
}

static invar_status read_plotted_array(invar_results *r, const array_field *f,
                                       const json_t *json, size_t count, inv_plotted *p,
                                       const char **why)
{
	const json_t *list = json_object_get(json, f->key);
	double *array;

	if (!list && f->optional)
		return INVAR_OK;
	*why = "a curve or a set of points has an array missing";
	if (!json_is_array(list))
		return INVAR_E_FORMAT;
	*why = "the arrays of a curve or a set of points differ in length";
	if (json_array_size(list) != count)
		return INVAR_E_FORMAT;
	INV_TRY(inv_pool_zeros(&r->pool, &array, count)); /* the largest type */
	for (size_t i = 0; i < count; i++)
		if ((*why = read_array_entry(json_array_get(list, i), f->type, array, i)))
			return INVAR_E_FORMAT;
	memcpy((char *)p + f->at, &array, sizeof array);
	return INVAR_OK;
}

/* ---- Out ----------------------------------------------------------------------------- */

static json_t *cell_json(const invar_value *v, invar_unit unit)
{
	bool whole = unit == INVAR_UNIT_COUNT && fabs(v->value) < 0x1p62;
	json_t *json;

	if (v->reason)
		return json_pack("{s:s}", "reason", v->reason);
	json =
		json_pack("{s:o}", "value",
	              whole ? json_integer((json_int_t)v->value) : inv_json_number(v->value));
	if (isfinite(v->low)) {
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

static json_t *axis_json(const inv_axis *a)
{
	return json_pack("{s:s, s:s, s:s*}", "title", a->title, "unit", inv_unit_names[a->unit],
	                 "symbol", a->symbol);
}

static json_t *names_json(const char *const *names, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_string(names[i]));
	return list;
}

static json_t *plotted_json(const inv_plot *plot, const inv_plotted *p)
{
	size_t count = plot->is_scatter ? p->points.count : p->curve.count;
	json_t *json = json_object(), *lines = json_array();

	if (plot->is_scatter)
		json_object_set_new(json, "total", json_integer((json_int_t)p->points.total));
	for (size_t i = 0; i < FIELDS; i++) {
		json_t *list = plotted_array_json(&fields[plot->is_scatter][i], p, count);

		if (list)
			json_object_set_new(json, fields[plot->is_scatter][i].key, list);
	}
	for (size_t i = 0; i < p->points.line_count; i++)
		json_array_append_new(lines, json_pack("{s:s, s:f, s:f}", "title",
		                                       p->points.lines[i].title, "slope",
		                                       p->points.lines[i].slope, "offset",
		                                       p->points.lines[i].offset));
	if (json_array_size(lines))
		json_object_set(json, "lines", lines);
	json_decref(lines);
	return json;
}

/* A document without series or scatters does not mention them. */
static void put_plots(const inv_plots *all, const char *key, json_t *document)
{
	json_t *list = json_array();

	for (size_t i = 0; i < all->count; i++) {
		const inv_plot *plot = all->plot[i];
		const inv_scatter *s = &plot->scatter;
		json_t *columns = json_object(), *json;

		for (const inv_plotted *p = plot->plotted; p; p = p->next)
			json_object_set_new(columns, p->column, plotted_json(plot, p));
		json = json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "id", s->id, "measurement",
		                 s->measurement, "title", s->title, "x", axis_json(s->x), "y",
		                 axis_json(s->y), "columns", columns);
		if (plot->is_scatter) {
			json_object_set_new(json, "classes", names_json(s->classes, s->class_count));
			json_object_set_new(json, "marks", names_json(s->marks, s->mark_count));
		}
		json_array_append_new(list, json);
	}
	if (all->count)
		json_object_set(document, key, list);
	json_decref(list);
}

json_t *inv_results_document(const invar_results *r)
{
	json_t *document = json_pack("{s:s, s:i}", "format", "invar-results", "version", 1);
	json_t *columns = json_array(), *measurements = json_array();
	json_t *metrics, *values;

	json_object_update(document, r->about);
	for (size_t i = 0; i < r->column_count; i++)
		json_array_append_new(columns,
		                      json_pack("{s:s, s:s, s:s*}", "id", r->column[i].id, "title",
		                                r->column[i].title, "adapter", r->column[i].path));
	for (size_t i = 0; i < r->measurement_count; i++)
		json_array_append_new(measurements,
		                      json_pack("{s:s, s:s}", "id", r->measurement[i].id, "title",
		                                r->measurement[i].title));
	json_object_set_new(document, "columns", columns);
	json_object_set_new(document, "measurements", measurements);
	metrics = json_array();
	values = json_object();
	for (size_t i = 0; i < r->row_count; i++) {
		const invar_metric *m = &r->row[i].metric;
		json_t *of = r->row[i].cells ? json_object() : NULL;

		json_array_append_new(
			metrics,
			json_pack("{s:s, s:s, s:s, s:s*, s:s, s:s, s:i, s:o*}", "id", m->id,
		              "measurement", m->measurement, "row", m->row, "part", m->part, "unit",
		              inv_unit_names[m->unit], "better", inv_direction_names[m->better + 1],
		              "digits", (int)m->digits, "detail", m->detail ? json_true() : NULL));
		for (const inv_cell *cell = r->row[i].cells; cell; cell = cell->next)
			json_object_set_new(of, cell->column, cell_json(&cell->value, m->unit));
		if (of)
			json_object_set_new(values, m->id, of);
	}
	json_object_set_new(document, "metrics", metrics);
	json_object_set_new(document, "values", values);
	put_plots(&r->series, "series", document);
	put_plots(&r->scatters, "scatters", document);
	json_object_set(document, "skipped", r->skipped);
	json_object_set(document, "options", r->options);
	json_object_set(document, "details", r->details);
	json_object_set_new(document, "notes",
	                    names_json((const char *const *)r->note, r->note_count));
	return document;
}

invar_status invar_results_json(const invar_results *r, char **json)
{
	json_t *document = inv_results_document(r);

	*json = document ? inv_json_text(document, 2) : NULL;
	json_decref(document);
	return *json ? INVAR_OK : inv_no_memory();
}

/* ---- In ------------------------------------------------------------------------------ */

static invar_status refuse(const char *where, const char *what)
{
	return inv_fail(INVAR_E_FORMAT, "%s: is not a results document of version 1: %s", where,
	                what);
}

static int index_of(const char *const *words, int count, const char *word)
{
	for (int i = 0; word && i < count; i++)
		if (strcmp(words[i], word) == 0)
			return i;
	return -1;
}

static double number_or_nan(const json_t *of, const char *key)
{
	const json_t *value = json_object_get(of, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

static json_int_t whole(const json_t *of, const char *key)
{
	return json_integer_value(json_object_get(of, key));
}

static invar_status read_cells(const json_t *values, const char *where, invar_results *r)
{
	const char *metric, *column;
	json_t *by_column, *value;

	if (!json_is_object(values))
		return refuse(where, "values are missing");
	json_object_foreach ((json_t *)(uintptr_t)values, metric, by_column)
		json_object_foreach (by_column, column, value) {
			const invar_value v = {.value = number_or_nan(value, "value"),
			                       .low = number_or_nan(value, "low"),
			                       .high = number_or_nan(value, "high"),
			                       .count = (uint64_t)whole(value, "count"),
			                       .reason = inv_text_of(value, "reason"),
			                       .no_interval = inv_text_of(value, "no_interval"),
			                       .deviation = number_or_nan(value, "deviation"),
			                       .runs = (uint64_t)whole(value, "runs"),
			                       .digits = (unsigned)whole(value, "digits")};
			invar_status st = json_is_object(value) ? inv_results_put(r, metric, column, &v)
			                                        : INVAR_E_USE;

			if (st != INVAR_OK)
				return st == INVAR_E_USE
				           ? refuse(where, "a value belongs to no metric or column")
				           : st;
		}
	return INVAR_OK;
}

static bool read_axis(const json_t *json, inv_axis *out)
{
	int unit = index_of(inv_unit_names, UNITS, inv_text_of(json, "unit"));

	*out = (inv_axis){.title = inv_text_of(json, "title"),
	                  .unit = unit < 0 ? INVAR_UNIT_NUMBER : (invar_unit)unit,
	                  .symbol = inv_text_of(json, "symbol")};
	return out->title && unit >= 0;
}

/* An absent list is empty. */
static invar_status read_scatter_names(invar_results *r, const json_t *list,
                                       const char *const **out, size_t *count,
                                       const char **why)
{
	const char **names = NULL;

	*why = "the names of a scatter are not a list";
	if (list && !json_is_array(list))
		return INVAR_E_FORMAT;
	*count = json_array_size(list);
	INV_TRY(inv_pool_zeros(&r->pool, &names, *count));
	*why = "a name of a scatter is not a text";
	for (size_t i = 0; i < *count; i++)
		if (!(names[i] = json_string_value(json_array_get(list, i))))
			return INVAR_E_FORMAT;
	*out = names;
	return INVAR_OK;
}

static invar_status read_lines(invar_results *r, const json_t *list, inv_points *p,
                               const char **why)
{
	inv_line *lines = NULL;
	const json_t *one;
	size_t i;

	*why = "the lines of a set of points are not a list";
	if (list && !json_is_array(list))
		return INVAR_E_FORMAT;
	p->line_count = json_array_size(list);
	INV_TRY(inv_pool_zeros(&r->pool, &lines, p->line_count));
	json_array_foreach (list, i, one)
		lines[i] = (inv_line){inv_text_of(one, "title"), number_or_nan(one, "slope"),
		                      number_or_nan(one, "offset")};
	p->lines = lines;
	return INVAR_OK;
}

static invar_status read_plotted(invar_results *r, inv_plot *plot, const char *column,
                                 const json_t *json, const char **why)
{
	size_t count = json_array_size(json_object_get(json, "x"));
	json_int_t total = whole(json, "total");
	inv_plotted p = {.curve = {.count = count},
	                 .points = {.count = count, .total = total < 0 ? 0 : (uint64_t)total}};

	*why = "a curve or a set of points has no column";
	if (!inv_results_has_column(r, column))
		return INVAR_E_FORMAT;
	*why = "a curve or a set of points has more than 10000 points";
	if (count > INV_MAX_PLOTTED)
		return INVAR_E_FORMAT;
	for (size_t i = 0; i < FIELDS; i++)
		INV_TRY(read_plotted_array(r, &fields[plot->is_scatter][i], json, count, &p, why));
	if (!plot->is_scatter)
		return inv_results_set_plotted(r, plot, column, &p, why);
	*why = "a set of points has more points than its total";
	if (!json_is_integer(json_object_get(json, "total")))
		return INVAR_E_FORMAT;
	INV_TRY(read_lines(r, json_object_get(json, "lines"), &p.points, why));
	return inv_results_set_plotted(r, plot, column, &p, why);
}

static invar_status read_plot(invar_results *r, const json_t *entry, bool is_scatter,
                              const char **why)
{
	json_t *columns = json_object_get(entry, "columns"), *json;
	inv_axis x, y;
	inv_scatter s = {.id = inv_text_of(entry, "id"),
	                 .measurement = inv_text_of(entry, "measurement"),
	                 .title = inv_text_of(entry, "title"),
	                 .x = &x,
	                 .y = &y};
	const char *column;
	inv_plot *plot = NULL;

	*why = "a series or scatter has no columns";
	if (!json_is_object(entry) || !json_is_object(columns))
		return INVAR_E_FORMAT;
	*why = "a series or scatter is not described";
	if (!s.id || !s.title || !s.measurement ||
	    !read_axis(json_object_get(entry, "x"), &x) ||
	    !read_axis(json_object_get(entry, "y"), &y))
		return INVAR_E_FORMAT;
	*why = "two series or scatters have the same id";
	if (inv_plots_find(is_scatter ? &r->scatters : &r->series, s.id))
		return INVAR_E_FORMAT;
	if (is_scatter) {
		INV_TRY(read_scatter_names(r, json_object_get(entry, "classes"), &s.classes,
		                           &s.class_count, why));
		INV_TRY(read_scatter_names(r, json_object_get(entry, "marks"), &s.marks,
		                           &s.mark_count, why));
	}
	INV_TRY(inv_results_add_plot(r, &s, is_scatter, &plot));
	json_object_foreach (columns, column, json)
		INV_TRY(read_plotted(r, plot, column, json, why));
	return INVAR_OK;
}

static invar_status read_plots(const json_t *document, const char *where, invar_results *r)
{
	static const char *const keys[] = {"series", "scatters"};

	for (int k = 0; k < 2; k++) {
		const json_t *list = json_object_get(document, keys[k]), *entry;
		size_t i;

		if (list && !json_is_array(list))
			return refuse(where, "series or scatters are not a list");
		json_array_foreach (list, i, entry) {
			const char *why = "";
			invar_status st = read_plot(r, entry, k == 1, &why);

			if (st != INVAR_OK)
				return st == INVAR_E_FORMAT ? refuse(where, why) : st;
		}
	}
	return INVAR_OK;
}

static invar_status read_measurements(const json_t *document, const char *where,
                                      invar_results *r)
{
	const json_t *entry;
	size_t i;

	json_array_foreach (json_object_get(document, "measurements"), i, entry) {
		if (!inv_text_of(entry, "id") || !inv_text_of(entry, "title"))
			return refuse(where, "a measurement has no id or title");
		INV_TRY(inv_results_add_measurement(r, inv_text_of(entry, "id"),
		                                    inv_text_of(entry, "title")));
	}
	json_array_foreach (json_object_get(document, "notes"), i, entry) {
		if (!json_is_string(entry))
			return refuse(where, "a note is not a text");
		INV_TRY(inv_results_note(r, json_string_value(entry)));
	}
	return INVAR_OK;
}

invar_status inv_results_read(const json_t *document, const char *where,
                              invar_results **out)
{
	const char *format = inv_text_of(document, "format");
	invar_status st;
	const json_t *entry;
	size_t i;
	static const char *const known[] = {"format",  "version", "columns", "measurements",
	                                    "metrics", "values",  "skipped", "options",
	                                    "details", "notes",   "series",  "scatters"};
	const char *key;
	json_t *value;

	*out = NULL;
	if (!format || strcmp(format, "invar-results") != 0 ||
	    json_integer_value(json_object_get(document, "version")) != 1)
		return refuse(where, "its format or version differs");
	INV_TRY(inv_results_new(out));
	if (!json_is_array(json_object_get(document, "columns")))
		INV_TRY_OR(fail, refuse(where, "columns are missing"));
	json_array_foreach (json_object_get(document, "columns"), i, entry) {
		if (!inv_text_of(entry, "id") || !inv_text_of(entry, "title"))
			INV_TRY_OR(fail, refuse(where, "a column has no id or title"));
		if (inv_results_has_column(*out, inv_text_of(entry, "id")))
			INV_TRY_OR(fail, refuse(where, "two columns have one id"));
		INV_TRY_OR(fail, inv_results_add_column(*out, inv_text_of(entry, "id"),
		                                        inv_text_of(entry, "title"),
		                                        inv_text_of(entry, "adapter")));
	}
	if (!json_is_array(json_object_get(document, "metrics")))
		INV_TRY_OR(fail, refuse(where, "metrics are missing"));
	json_array_foreach (json_object_get(document, "metrics"), i, entry) {
		int unit = index_of(inv_unit_names, UNITS, inv_text_of(entry, "unit"));
		int better = index_of(inv_direction_names, 3, inv_text_of(entry, "better"));
		json_int_t digits = json_integer_value(json_object_get(entry, "digits"));
		const invar_metric m = {.id = inv_text_of(entry, "id"),
		                        .measurement = inv_text_of(entry, "measurement"),
		                        .row = inv_text_of(entry, "row"),
		                        .part = inv_text_of(entry, "part"),
		                        .unit = unit < 0 ? INVAR_UNIT_NUMBER : (invar_unit)unit,
		                        .better = better < 0 ? 0 : better - 1,
		                        .digits = digits < 0 || digits > 15 ? 4 : (unsigned)digits,
		                        .detail = json_is_true(json_object_get(entry, "detail"))};

		if (!m.id || !m.measurement || !m.row || unit < 0 || better < 0)
			INV_TRY_OR(fail, refuse(where, "a metric is not described"));
		INV_TRY_OR(fail, inv_results_add_metric(*out, &m));
	}
	INV_TRY_OR(fail, read_cells(json_object_get(document, "values"), where, *out));
	INV_TRY_OR(fail, read_plots(document, where, *out));
	INV_TRY_OR(fail, read_measurements(document, where, *out));

	/* What is passed through as it is. */
	json_object_update((*out)->skipped, json_object_get(document, "skipped"));
	json_object_update((*out)->options, json_object_get(document, "options"));
	json_object_update((*out)->details, json_object_get(document, "details"));
	json_object_foreach ((json_t *)(uintptr_t)document, key, value)
		if (index_of(known, sizeof known / sizeof *known, key) < 0)
			json_object_set((*out)->about, key, value);
	return INVAR_OK;
fail:
	invar_results_free(*out);
	*out = NULL;
	return st;
}

/* Of an object by columns, those that are in `kept`. */
static void keep_columns(json_t *by_column, const json_t *kept)
{
	const char *id;
	json_t *value;
	void *next;

	json_object_foreach_safe (by_column, next, id, value)
		if (!json_object_get(kept, id))
			json_object_del(by_column, id);
}

invar_status inv_results_reorder(const invar_results *r, const char *second, bool others,
                                 invar_results **out)
{
	static const char *const plots[] = {"series", "scatters"};
	json_t *document = inv_results_document(r), *columns = json_array(), *entry;
	json_t *kept = json_object();
	const char *metric;
	invar_status st;
	size_t i;

	for (int pass = 0; pass < 2 + others; pass++)
		json_array_foreach (json_object_get(document, "columns"), i, entry) {
			const char *id = inv_text_of(entry, "id");

			if (pass != (strcmp(id, "F") == 0 ? 0 : strcmp(id, second) == 0 ? 1 : 2))
				continue;
			json_array_append(columns, entry);
			json_object_set_new(kept, id, json_true());
		}
	json_object_set_new(document, "columns", columns);
	json_object_foreach (json_object_get(document, "values"), metric, entry)
		keep_columns(entry, kept);
	for (size_t k = 0; k < 2; k++)
		json_array_foreach (json_object_get(document, plots[k]), i, entry)
			keep_columns(json_object_get(entry, "columns"), kept);
	st = inv_results_read(document, "results", out);
	json_decref(kept);
	json_decref(document);
	return st;
}

invar_status invar_results_open(invar_context *ctx, const char *path, invar_results **out)
{
	json_t *document;
	invar_status st;

	(void)ctx;
	*out = NULL;
	INV_TRY(inv_json_load(path, &document));
	st = inv_results_read(document, path, out);
	json_decref(document);
	return st;
}
