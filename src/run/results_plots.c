/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results_plots.c - series and scatters: building them, asking them, JSON out and in.
 *
 * Everything is made into JSON first and read from there into structs, so a document that
 * a program builds passes the checks of one that it reads. Below: descriptions, arrays,
 * both ways in, asking.
 */
#include "run/results_plots.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "run/results.h"

/* What one column has; a series fills curve, a scatter points. */
typedef struct plotted {
	char *column;
	inv_curve curve;
	inv_points points;
	double *x, *y, *low, *high; /* the arrays that those two view */
	uint64_t *counts, *rows;
	int32_t *label, *mark;
	inv_line *lines; /* their titles are in json */
	size_t line_count;
	json_t *json;
} plotted;

struct inv_plot {
	json_t *json; /* as it is written */
	bool is_scatter;
	inv_axis x, y;
	inv_series series;
	inv_scatter scatter;
	const char **classes, **marks; /* their texts are in json */
	plotted **of;                  /* [columns] */
	size_t columns;
};

static invar_status no_memory(void)
{
	return inv_fail(INVAR_E_NOMEM, "not enough memory for the results");
}

static invar_status broken(const char **why, const char *reason)
{
	*why = reason;
	return INVAR_E_FORMAT;
}

static const char *text(const json_t *of, const char *key)
{
	return json_string_value(json_object_get(of, key));
}

/* ---- Freeing ------------------------------------------------------------------------ */

static void free_plotted(plotted *p)
{
	if (!p)
		return;
	inv_free(p->column);
	inv_free(p->x);
	inv_free(p->y);
	inv_free(p->low);
	inv_free(p->high);
	inv_free(p->counts);
	inv_free(p->rows);
	inv_free(p->label);
	inv_free(p->mark);
	inv_free(p->lines);
	json_decref(p->json);
	inv_free(p);
}

static void free_plot(inv_plot *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->columns; i++)
		free_plotted(p->of[i]);
	inv_free(p->of);
	inv_free(p->classes);
	inv_free(p->marks);
	json_decref(p->json);
	inv_free(p);
}

void inv_plots_clear(inv_plots *all)
{
	for (size_t i = 0; i < all->count; i++)
		free_plot(all->plot[i]);
	inv_free(all->plot);
	*all = (inv_plots){0};
}

/* A list of pointers that is one longer; takes `one` if it succeeds. */
static bool append_pointer(void ***list, size_t *count, void *one)
{
	void **grown = inv_calloc(*count + 1, sizeof *grown);

	if (!grown)
		return false;
	if (*count)
		memcpy(grown, *list, *count * sizeof *grown);
	grown[(*count)++] = one;
	inv_free(*list);
	*list = grown;
	return true;
}

/* ---- Descriptions -------------------------------------------------------------------- */

static json_t *axis_json(const inv_axis *a)
{
	return json_pack("{s:s, s:s, s:s*}", "title", a->title, "unit", inv_unit_name(a->unit),
	                 "symbol", a->symbol);
}

static bool read_axis(const json_t *json, inv_axis *out)
{
	int unit = inv_unit_find(text(json, "unit"));

	*out = (inv_axis){.title = text(json, "title"),
	                  .unit = unit < 0 ? INVAR_UNIT_NUMBER : (invar_unit)unit,
	                  .symbol = text(json, "symbol")};
	return out->title && unit >= 0;
}

/* Borrows the texts; an absent list is empty. */
static invar_status read_names(const json_t *list, const char ***out, size_t *count,
                               const char **why)
{
	*count = json_array_size(list);
	if (list && !json_is_array(list))
		return broken(why, "the names of a scatter are not a list");
	if (*count && !(*out = inv_calloc(*count, sizeof **out)))
		return no_memory();
	for (size_t i = 0; i < *count; i++)
		if (!((*out)[i] = json_string_value(json_array_get(list, i))))
			return broken(why, "a name of a scatter is not a text");
	return INVAR_OK;
}

static invar_status describe(inv_plot *p, const char **why)
{
	const char *id = text(p->json, "id"), *title = text(p->json, "title");
	const char *measurement = text(p->json, "measurement");
	invar_status st;

	if (!id || !title || !measurement || !read_axis(json_object_get(p->json, "x"), &p->x) ||
	    !read_axis(json_object_get(p->json, "y"), &p->y))
		return broken(why, "a series or scatter is not described");
	p->series = (inv_series){id, measurement, title, &p->x, &p->y};
	p->scatter = (inv_scatter){
		.id = id, .measurement = measurement, .title = title, .x = &p->x, .y = &p->y};
	if (!p->is_scatter)
		return INVAR_OK;
	st = read_names(json_object_get(p->json, "classes"), &p->classes,
	                &p->scatter.class_count, why);
	if (st == INVAR_OK)
		st = read_names(json_object_get(p->json, "marks"), &p->marks,
		                &p->scatter.mark_count, why);
	p->scatter.classes = p->classes;
	p->scatter.marks = p->marks;
	return st;
}

/* Takes json. */
static invar_status add_plot(inv_plots *all, json_t *json, bool is_scatter, inv_plot **out,
                             const char **why)
{
	inv_plot *p = *out = inv_calloc(1, sizeof *p);
	invar_status st;

	if (!p || !json) {
		json_decref(json);
		inv_free(p);
		return no_memory();
	}
	p->json = json;
	p->is_scatter = is_scatter;
	st = describe(p, why);
	if (st == INVAR_OK && !append_pointer((void ***)&all->plot, &all->count, p))
		st = no_memory();
	if (st != INVAR_OK)
		free_plot(p);
	return st;
}

static json_t *names_json(const char *const *names, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < count; i++)
		if (json_array_append_new(list, inv_json_path(names[i])) != 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

static json_t *description_json(const char *id, const char *measurement, const char *title,
                                const inv_axis *x, const inv_axis *y)
{
	return json_pack("{s:s, s:s, s:s, s:o, s:o, s:{}}", "id", id, "measurement",
	                 measurement, "title", title, "x", axis_json(x), "y", axis_json(y),
	                 "columns");
}

invar_status inv_plots_add_series(inv_plots *all, const inv_series *s)
{
	const char *why;
	inv_plot *p;

	if (inv_plots_find(all, s->id))
		return INVAR_OK;
	return add_plot(all, description_json(s->id, s->measurement, s->title, s->x, s->y),
	                false, &p, &why);
}

invar_status inv_plots_add_scatter(inv_plots *all, const inv_scatter *s)
{
	const char *why;
	inv_plot *p;
	json_t *json;

	if (inv_plots_find(all, s->id))
		return INVAR_OK;
	json = description_json(s->id, s->measurement, s->title, s->x, s->y);
	if (json_object_set_new(json, "classes", names_json(s->classes, s->class_count)) != 0 ||
	    json_object_set_new(json, "marks", names_json(s->marks, s->mark_count)) != 0) {
		json_decref(json);
		return no_memory();
	}
	return add_plot(all, json, true, &p, &why);
}

/* ---- Arrays -------------------------------------------------------------------------- */

enum { MUST_BE_FINITE = 1, MAY_BE_ABSENT = 2, MAX_LINES = 8 };

/* Checks that a list has `count` entries; *out is NULL where it may be absent and is. */
static invar_status check_list(const json_t *list, size_t count, unsigned rule,
                               const char **why)
{
	if (!list && (rule & MAY_BE_ABSENT))
		return INVAR_OK;
	if (!json_is_array(list))
		return broken(why, "a curve or a set of points has an array missing");
	if (json_array_size(list) != count)
		return broken(why, "the arrays of a curve or a set of points differ in length");
	return INVAR_OK;
}

static invar_status read_numbers(const json_t *of, const char *key, size_t count,
                                 unsigned rule, double **out, const char **why)
{
	const json_t *list = json_object_get(of, key);
	invar_status st = check_list(list, count, rule, why);

	if (st != INVAR_OK || !list)
		return st;
	if (!(*out = inv_calloc(count + 1, sizeof **out)))
		return no_memory();
	for (size_t i = 0; i < count; i++) {
		const json_t *one = json_array_get(list, i);

		if (!json_is_number(one) && (!json_is_null(one) || (rule & MUST_BE_FINITE)))
			return broken(why, "a coordinate is not a number");
		(*out)[i] = json_is_null(one) ? NAN : json_number_value(one);
	}
	return INVAR_OK;
}

static invar_status read_counts(const json_t *of, const char *key, size_t count,
                                uint64_t **out, const char **why)
{
	const json_t *list = json_object_get(of, key);
	invar_status st = check_list(list, count, MAY_BE_ABSENT, why);

	if (st != INVAR_OK || !list)
		return st;
	if (!(*out = inv_calloc(count + 1, sizeof **out)))
		return no_memory();
	for (size_t i = 0; i < count; i++) {
		const json_t *one = json_array_get(list, i);

		if (!json_is_integer(one) || json_integer_value(one) < 0)
			return broken(why, "a count or a row is not a whole number of at least 0");
		(*out)[i] = (uint64_t)json_integer_value(one);
	}
	return INVAR_OK;
}

/* Indices of names, -1 for none. */
static invar_status read_indices(const json_t *of, const char *key, size_t count,
                                 size_t names, int32_t **out, const char **why)
{
	const json_t *list = json_object_get(of, key);
	invar_status st = check_list(list, count, MAY_BE_ABSENT, why);

	if (st != INVAR_OK || !list)
		return st;
	if (!(*out = inv_calloc(count + 1, sizeof **out)))
		return no_memory();
	for (size_t i = 0; i < count; i++) {
		const json_t *one = json_array_get(list, i);
		json_int_t index = json_integer_value(one);

		if (!json_is_integer(one) || index < -1 || index >= (json_int_t)names ||
		    index > INT32_MAX)
			return broken(why, "a class or mark of a point has no name");
		(*out)[i] = (int32_t)index;
	}
	return INVAR_OK;
}

static invar_status read_lines(const json_t *of, plotted *p, const char **why)
{
	const json_t *list = json_object_get(of, "lines"), *one;
	size_t count = json_array_size(list), i;

	if (list && !json_is_array(list))
		return broken(why, "the lines of a set of points are not a list");
	if (count > MAX_LINES)
		return broken(why, "a set of points has more than 8 lines");
	if (count && !(p->lines = inv_calloc(count, sizeof *p->lines)))
		return no_memory();
	json_array_foreach (list, i, one) {
		const json_t *slope = json_object_get(one, "slope");
		const json_t *offset = json_object_get(one, "offset");

		p->lines[i] = (inv_line){text(one, "title"), json_number_value(slope),
		                         json_number_value(offset)};
		if (!p->lines[i].title || !json_is_number(slope) || !json_is_number(offset))
			return broken(why, "a line needs a title, a slope and an offset");
	}
	p->line_count = count;
	return INVAR_OK;
}

static invar_status read_curve(const json_t *json, size_t count, plotted *p,
                               const char **why)
{
	invar_status st = read_numbers(json, "x", count, MUST_BE_FINITE, &p->x, why);

	if (st == INVAR_OK)
		st = read_numbers(json, "y", count, 0, &p->y, why);
	if (st == INVAR_OK)
		st = read_numbers(json, "low", count, MAY_BE_ABSENT, &p->low, why);
	if (st == INVAR_OK)
		st = read_numbers(json, "high", count, MAY_BE_ABSENT, &p->high, why);
	if (st == INVAR_OK)
		st = read_counts(json, "count", count, &p->counts, why);
	if (st == INVAR_OK && !p->low != !p->high)
		return broken(why, "an interval of a curve has only one end");
	p->curve = (inv_curve){count, p->x, p->y, p->low, p->high, p->counts};
	return st;
}

static invar_status read_points(const inv_plot *of, const json_t *json, size_t count,
                                plotted *p, const char **why)
{
	const json_t *total = json_object_get(json, "total");
	invar_status st = read_numbers(json, "x", count, MUST_BE_FINITE, &p->x, why);

	if (st == INVAR_OK)
		st = read_numbers(json, "y", count, MUST_BE_FINITE, &p->y, why);
	if (st == INVAR_OK)
		st = read_indices(json, "class", count, of->scatter.class_count, &p->label, why);
	if (st == INVAR_OK)
		st = read_indices(json, "mark", count, of->scatter.mark_count, &p->mark, why);
	if (st == INVAR_OK)
		st = read_counts(json, "row", count, &p->rows, why);
	if (st == INVAR_OK)
		st = read_lines(json, p, why);
	if (st == INVAR_OK &&
	    (!json_is_integer(total) || json_integer_value(total) < (json_int_t)count))
		return broken(why, "a set of points has more points than its total");
	p->points = (inv_points){.count = count,
	                         .total = (uint64_t)json_integer_value(total),
	                         .x = p->x,
	                         .y = p->y,
	                         .label = p->label,
	                         .mark = p->mark,
	                         .lines = p->lines,
	                         .line_count = p->line_count,
	                         .rows = p->rows};
	return st;
}

/* Replaces what the column has; takes p. */
static invar_status keep_plotted(inv_plot *plot, plotted *p)
{
	for (size_t i = 0; i < plot->columns; i++)
		if (strcmp(plot->of[i]->column, p->column) == 0) {
			free_plotted(plot->of[i]);
			plot->of[i] = p;
			return INVAR_OK;
		}
	if (append_pointer((void ***)&plot->of, &plot->columns, p))
		return INVAR_OK;
	free_plotted(p);
	return no_memory();
}

static invar_status read_column(inv_plot *plot, const char *column, json_t *json,
                                const char **why)
{
	size_t count = json_array_size(json_object_get(json, "x"));
	plotted *p;
	invar_status st;

	if (count > INV_MAX_PLOTTED)
		return broken(why, "a curve or a set of points has more than 10000 points");
	if (!(p = inv_calloc(1, sizeof *p)) || !(p->column = inv_strdup(column))) {
		free_plotted(p);
		return no_memory();
	}
	p->json = json_incref(json);
	st = plot->is_scatter ? read_points(plot, json, count, p, why)
	                      : read_curve(json, count, p, why);
	if (st == INVAR_OK &&
	    json_object_set(json_object_get(plot->json, "columns"), column, json) != 0)
		st = no_memory();
	if (st == INVAR_OK)
		return keep_plotted(plot, p);
	free_plotted(p);
	return st;
}

/* ---- In, by a call --------------------------------------------------------------- */

static json_t *numbers_json(const double *numbers, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, inv_json_number(numbers[i]));
	return list;
}

/* To the seven digits that a float has: embeddings are floats, and documents large. */
static json_t *coordinates_json(const double *numbers, size_t count)
{
	json_t *list = json_array();
	char digits[32];

	for (size_t i = 0; i < count; i++) {
		snprintf(digits, sizeof digits, "%.7g", numbers[i]);
		json_array_append_new(list, inv_json_number(strtod(digits, NULL)));
	}
	return list;
}

static json_t *counts_json(const uint64_t *counts, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_integer((json_int_t)counts[i]));
	return list;
}

static json_t *indices_json(const int32_t *indices, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_integer(indices[i]));
	return list;
}

static json_t *lines_json(const inv_line *lines, size_t count)
{
	json_t *list = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, json_pack("{s:s, s:o, s:o}", "title", lines[i].title,
		                                      "slope", inv_json_number(lines[i].slope),
		                                      "offset", inv_json_number(lines[i].offset)));
	return list;
}

/* Arrays that ran out of memory are shorter than they should be, so this finds them. */
static invar_status put_column(inv_plot *p, const char *column, json_t *json)
{
	const char *why = NULL;
	invar_status st = json ? read_column(p, column, json, &why) : no_memory();

	json_decref(json);
	return st == INVAR_E_FORMAT ? inv_fail(INVAR_E_USE, "%s, column %s: %s",
	                                       text(p->json, "id"), column, why)
	                            : st;
}

invar_status inv_plot_put_curve(inv_plot *p, const char *column, const inv_curve *c)
{
	json_t *json;

	if (p->is_scatter)
		return inv_fail(INVAR_E_USE, "%s is a scatter, not a series", text(p->json, "id"));
	json = json_pack("{s:o, s:o}", "x", numbers_json(c->x, c->count), "y",
	                 numbers_json(c->y, c->count));
	if (c->low && c->high) {
		json_object_set_new(json, "low", numbers_json(c->low, c->count));
		json_object_set_new(json, "high", numbers_json(c->high, c->count));
	}
	if (c->counts)
		json_object_set_new(json, "count", counts_json(c->counts, c->count));
	return put_column(p, column, json);
}

invar_status inv_plot_put_points(inv_plot *p, const char *column, const inv_points *c)
{
	json_t *json;

	if (!p->is_scatter)
		return inv_fail(INVAR_E_USE, "%s is a series, not a scatter", text(p->json, "id"));
	json =
		json_pack("{s:I, s:o, s:o}", "total", (json_int_t)c->total, "x",
	              coordinates_json(c->x, c->count), "y", coordinates_json(c->y, c->count));
	if (c->label)
		json_object_set_new(json, "class", indices_json(c->label, c->count));
	if (c->mark)
		json_object_set_new(json, "mark", indices_json(c->mark, c->count));
	if (c->rows)
		json_object_set_new(json, "row", counts_json(c->rows, c->count));
	if (c->line_count)
		json_object_set_new(json, "lines", lines_json(c->lines, c->line_count));
	return put_column(p, column, json);
}

/* ---- In, from a document --------------------------------------------------------- */

/* The description without its columns, which come in one by one. */
static json_t *without_columns(const json_t *entry)
{
	json_t *copy = json_copy((json_t *)(uintptr_t)entry);

	if (json_object_set_new(copy, "columns", json_object()) == 0)
		return copy;
	json_decref(copy);
	return NULL;
}

static invar_status read_plot(inv_plots *all, const json_t *entry, bool is_scatter,
                              inv_is_column *is_column, const void *user, const char **why)
{
	json_t *columns = json_object_get(entry, "columns"), *json;
	const char *column, *id = text(entry, "id");
	inv_plot *p;
	invar_status st;

	if (!json_is_object(entry) || !json_is_object(columns))
		return broken(why, "a series or scatter has no columns");
	if (id && inv_plots_find(all, id))
		return broken(why, "two series or scatters have the same id");
	st = add_plot(all, without_columns(entry), is_scatter, &p, why);
	if (st != INVAR_OK)
		return st;
	json_object_foreach (columns, column, json) {
		if (!is_column(user, column))
			return broken(why, "a curve or a set of points has no column");
		if ((st = read_column(p, column, json, why)) != INVAR_OK)
			return st;
	}
	return INVAR_OK;
}

invar_status inv_plots_read_series(inv_plots *all, const json_t *entry,
                                   inv_is_column *is_column, const void *user,
                                   const char **why)
{
	return read_plot(all, entry, false, is_column, user, why);
}

invar_status inv_plots_read_scatter(inv_plots *all, const json_t *entry,
                                    inv_is_column *is_column, const void *user,
                                    const char **why)
{
	return read_plot(all, entry, true, is_column, user, why);
}

/* ---- Asking ---------------------------------------------------------------------- */

inv_plot *inv_plots_find(const inv_plots *all, const char *id)
{
	for (size_t i = 0; i < all->count; i++)
		if (strcmp(all->plot[i]->series.id, id) == 0)
			return all->plot[i];
	return NULL;
}

json_t *inv_plots_json(const inv_plots *all)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < all->count; i++)
		if (json_array_append(list, all->plot[i]->json) != 0) {
			json_decref(list);
			return NULL;
		}
	return list;
}

const inv_series *inv_plots_series(const inv_plots *all, size_t i)
{
	return i < all->count ? &all->plot[i]->series : NULL;
}

const inv_scatter *inv_plots_scatter(const inv_plots *all, size_t i)
{
	return i < all->count ? &all->plot[i]->scatter : NULL;
}

static const plotted *find_column(const inv_plot *p, const char *column)
{
	for (size_t i = 0; p && i < p->columns; i++)
		if (strcmp(p->of[i]->column, column) == 0)
			return p->of[i];
	return NULL;
}

const inv_curve *inv_plot_curve(const inv_plot *p, const char *column)
{
	const plotted *found = find_column(p, column);

	return found ? &found->curve : NULL;
}

const inv_points *inv_plot_points(const inv_plot *p, const char *column)
{
	const plotted *found = find_column(p, column);

	return found ? &found->points : NULL;
}
