/* SPDX-License-Identifier: Apache-2.0 */
/* results.c - results in memory: building and asking. results_json.c writes and reads. */
#include "run/results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "run/results_object.h"

/* A copy, in which bytes that are not UTF-8 are '?'; NULL for NULL. */
static invar_status keep_text(invar_results *r, const char *text, const char **out)
{
	json_t *utf8;
	char *copy = NULL;
	invar_status st;

	*out = NULL;
	if (!text)
		return INVAR_OK;
	if (!(utf8 = inv_json_path(text)))
		return inv_no_memory();
	INV_TRY_OR(end, inv_pool_zeros(&r->pool, &copy, json_string_length(utf8) + 1));
	*out = strcpy(copy, json_string_value(utf8));
end:
	json_decref(utf8);
	return st;
}

invar_status inv_results_new(invar_results **out)
{
	invar_results *r;

	INV_TRY(inv_new(out));
	r = *out;
	r->about = json_object();
	r->skipped = json_object();
	r->details = json_object();
	r->options = json_object();
	if (r->about && r->skipped && r->details && r->options)
		return INVAR_OK;
	invar_results_free(r);
	*out = NULL;
	return inv_no_memory();
}

void invar_results_free(invar_results *r)
{
	if (!r)
		return;
	inv_pool_free(&r->pool);

	json_decref(r->about);
	json_decref(r->skipped);
	json_decref(r->details);
	json_decref(r->options);
	inv_free(r);
}

/* ---- Building ------------------------------------------------------------------------ */

const char *const inv_unit_names[3] = {"number", "share", "count"};
const char *const inv_direction_names[3] = {"lower", "neither", "higher"};

bool inv_results_has_column(const invar_results *r, const char *id)
{
	for (size_t i = 0; i < r->column_count; i++)
		if (strcmp(r->column[i].id, id) == 0)
			return true;
	return false;
}

static inv_results_row *find_row(const invar_results *r, const char *id)
{
	for (size_t i = 0; i < r->row_count; i++)
		if (strcmp(r->row[i].metric.id, id) == 0)
			return &r->row[i];
	return NULL;
}

invar_status inv_results_describe(invar_results *r, const char *key, json_t *value)
{
	return json_object_set_new(r->about, key, value) == 0 ? INVAR_OK : inv_no_memory();
}

invar_status inv_results_add_column(invar_results *r, const char *id, const char *title,
                                    const char *path)
{
	invar_column c;

	if (inv_results_has_column(r, id))
		return inv_fail(INVAR_E_USE, "there are two columns '%s'", id);
	INV_TRY(keep_text(r, id, &c.id));
	INV_TRY(keep_text(r, title, &c.title));
	INV_TRY(keep_text(r, path, &c.path));
	INV_TRY(inv_pool_more(&r->pool, &r->column, r->column_count));
	r->column[r->column_count++] = c;
	return INVAR_OK;
}

invar_status inv_results_add_measurement(invar_results *r, const char *id,
                                         const char *title)
{
	inv_requested m;

	for (size_t i = 0; i < r->measurement_count; i++)
		if (strcmp(r->measurement[i].id, id) == 0)
			return INVAR_OK;
	INV_TRY(keep_text(r, id, &m.id));
	INV_TRY(keep_text(r, title, &m.title));
	INV_TRY(inv_pool_more(&r->pool, &r->measurement, r->measurement_count));
	r->measurement[r->measurement_count++] = m;
	return INVAR_OK;
}

invar_status inv_results_note(invar_results *r, const char *sentence)
{
	const char *note;

	INV_TRY(keep_text(r, sentence, &note));
	INV_TRY(inv_pool_more(&r->pool, &r->note, r->note_count));
	r->note[r->note_count++] = note;
	return INVAR_OK;
}

invar_status inv_results_add_metric(invar_results *r, const invar_metric *m)
{
	inv_results_row row = {.metric = *m};

	if (find_row(r, m->id))
		return INVAR_OK;
	INV_TRY(keep_text(r, m->id, &row.metric.id));
	INV_TRY(keep_text(r, m->measurement, &row.metric.measurement));
	INV_TRY(keep_text(r, m->row, &row.metric.row));
	INV_TRY(keep_text(r, m->part, &row.metric.part));
	INV_TRY(inv_pool_more(&r->pool, &r->row, r->row_count));
	r->row[r->row_count++] = row;
	return INVAR_OK;
}

invar_status inv_results_put(invar_results *r, const char *metric, const char *column,
                             const invar_value *value)
{
	inv_results_row *row = find_row(r, metric);
	invar_value v = *value;
	inv_cell **at;

	if (!row || !inv_results_has_column(r, column))
		return inv_fail(INVAR_E_USE, "the results have no metric %s of a column %s", metric,
		                column);
	INV_TRY(keep_text(r, value->reason, &v.reason));
	INV_TRY(keep_text(r, value->no_interval, &v.no_interval));
	if (v.reason)
		v = (invar_value){
			.value = NAN, .low = NAN, .high = NAN, .deviation = NAN, .reason = v.reason};
	if (!isfinite(v.low) || !isfinite(v.high))
		v.low = v.high = NAN;
	v.value = isfinite(v.value) ? v.value : NAN;
	v.deviation = v.runs && isfinite(v.deviation) ? v.deviation : NAN;
	for (at = &row->cells; *at && strcmp((*at)->column, column) != 0;)
		at = &(*at)->next;
	if (!*at) {
		inv_cell *cell = NULL;

		INV_TRY(inv_pool_zeros(&r->pool, &cell, 1));
		INV_TRY(keep_text(r, column, &cell->column));
		*at = cell;
	}
	(*at)->value = v;
	return INVAR_OK;
}

/* { first: { second: value } }; takes value. */
static invar_status set_in(json_t *object, const char *first, const char *second,
                           json_t *value)
{
	json_t *inner = json_object_get(object, first);

	if (!inner) {
		inner = json_object();
		if (json_object_set_new(object, first, inner) != 0) {
			json_decref(value);
			return inv_no_memory();
		}
	}
	return json_object_set_new(inner, second, value) == 0 ? INVAR_OK : inv_no_memory();
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
	                                                                  : inv_no_memory();
}

/* ---- Building what is drawn ---------------------------------------------------------- */

const inv_plot *inv_plots_find(const inv_plots *all, const char *id)
{
	for (size_t i = 0; i < all->count; i++)
		if (strcmp(all->plot[i]->series.id, id) == 0)
			return all->plot[i];
	return NULL;
}

static invar_status keep_axis(invar_results *r, const inv_axis *from, inv_axis *to)
{
	to->unit = from->unit;
	INV_TRY(keep_text(r, from->title, &to->title));
	return keep_text(r, from->symbol, &to->symbol);
}

static invar_status keep_names(invar_results *r, const char *const *names, size_t count,
                               const char *const **out)
{
	const char **copies = NULL;

	INV_TRY(inv_pool_zeros(&r->pool, &copies, count));
	for (size_t i = 0; i < count; i++)
		INV_TRY(keep_text(r, names[i], &copies[i]));
	*out = copies;
	return INVAR_OK;
}

invar_status inv_results_add_plot(invar_results *r, const inv_scatter *description,
                                  bool is_scatter, inv_plot **out)
{
	inv_plots *all = is_scatter ? &r->scatters : &r->series;
	inv_scatter *s;
	inv_plot *p = NULL;

	INV_TRY(inv_pool_zeros(&r->pool, &p, 1));
	s = &p->scatter;
	*s = *description;
	p->is_scatter = is_scatter;
	INV_TRY(keep_text(r, s->id, &s->id));
	INV_TRY(keep_text(r, s->measurement, &s->measurement));
	INV_TRY(keep_text(r, s->title, &s->title));
	INV_TRY(keep_names(r, s->classes, s->class_count, &s->classes));
	INV_TRY(keep_names(r, s->marks, s->mark_count, &s->marks));
	INV_TRY(keep_axis(r, s->x, &p->x));
	INV_TRY(keep_axis(r, s->y, &p->y));
	s->x = &p->x;
	s->y = &p->y;
	p->series = (inv_series){s->id, s->measurement, s->title, s->x, s->y};
	INV_TRY(inv_pool_more(&r->pool, &all->plot, all->count));
	all->plot[all->count++] = *out = p;
	return INVAR_OK;
}

invar_status inv_results_add_series(invar_results *r, const inv_series *s)
{
	const inv_scatter description = {.id = s->id,
	                                 .measurement = s->measurement,
	                                 .title = s->title,
	                                 .x = s->x,
	                                 .y = s->y};
	inv_plot *p = NULL;

	return inv_plots_find(&r->series, s->id)
	           ? INVAR_OK
	           : inv_results_add_plot(r, &description, false, &p);
}

invar_status inv_results_add_scatter(invar_results *r, const inv_scatter *s)
{
	inv_plot *p = NULL;

	return inv_plots_find(&r->scatters, s->id) ? INVAR_OK
	                                           : inv_results_add_plot(r, s, true, &p);
}

static bool are_finite(const double *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!isfinite(numbers[i]))
			return false;
	return true;
}

static bool are_names(const int32_t *index, size_t count, size_t names)
{
	for (size_t i = 0; index && i < count; i++)
		if (index[i] < -1 || index[i] >= (int64_t)names)
			return false;
	return true;
}

/* The invariant that a curve or a set of points breaks; NULL: none. */
static const char *find_fault(const inv_plot *plot, const inv_plotted *p)
{
	const inv_points *v = &p->points;
	size_t count = plot->is_scatter ? v->count : p->curve.count;

	if (count > INV_MAX_PLOTTED)
		return "a curve or a set of points has more than 10000 points";
	if (!are_finite(plot->is_scatter ? v->x : p->curve.x, count) ||
	    (plot->is_scatter && !are_finite(v->y, count)))
		return "a coordinate is not a number";
	if (!plot->is_scatter)
		return !p->curve.low != !p->curve.high ? "an interval of a curve has only one end"
		                                       : NULL;
	if (!are_names(v->label, count, plot->scatter.class_count) ||
	    !are_names(v->mark, count, plot->scatter.mark_count))
		return "a class or mark of a point has no name";
	if (v->total < count)
		return "a set of points has more points than its total";
	if (v->line_count > INV_MAX_LINES)
		return "a set of points has more than 8 lines";
	for (size_t i = 0; i < v->line_count; i++)
		if (!v->lines[i].title || !isfinite(v->lines[i].slope) ||
		    !isfinite(v->lines[i].offset))
			return "a line needs a title, a slope and an offset";
	return NULL;
}

invar_status inv_results_set_plotted(invar_results *r, inv_plot *plot, const char *column,
                                     const inv_plotted *p, const char **why)
{
	inv_plotted **at = &plot->plotted, *next;

	if ((*why = find_fault(plot, p)))
		return INVAR_E_FORMAT;
	for (size_t i = 0; i < p->points.line_count; i++) {
		inv_line *line = (inv_line *)(uintptr_t)&p->points.lines[i];

		INV_TRY(keep_text(r, line->title, &line->title));
	}
	while (*at && strcmp((*at)->column, column) != 0)
		at = &(*at)->next;
	if (!*at) {
		inv_plotted *one = NULL;

		INV_TRY(inv_pool_zeros(&r->pool, &one, 1));
		INV_TRY(keep_text(r, column, &one->column));
		*at = one;
	}
	next = (*at)->next;
	column = (*at)->column;
	**at = *p;
	(*at)->column = column;
	(*at)->next = next;
	return INVAR_OK;
}

/* The same for a program's arrays, which are copied; NULL where there is no such plot. */
static invar_status put_plotted(invar_results *r, const inv_plot *plot, const char *id,
                                const char *column, const inv_plotted *p)
{
	const char *why = NULL;
	invar_status st;

	if (!plot || !inv_results_has_column(r, column))
		return inv_fail(INVAR_E_USE, "the results have no plot %s of a column %s", id,
		                column);
	st = inv_results_set_plotted(r, (inv_plot *)(uintptr_t)plot, column, p, &why);
	return st == INVAR_E_FORMAT
	           ? inv_fail(INVAR_E_USE, "%s, column %s: %s", id, column, why)
	           : st;
}

/* Points at an array: replaces it by a copy; NULL stays. */
static invar_status keep_array(invar_results *r, size_t count, size_t bytes, void *array)
{
	const void *from;
	void *copy = NULL;

	memcpy(&from, array, sizeof from);
	if (!from)
		return INVAR_OK;
	INV_TRY(inv_check_memory(copy = inv_pool_take(&r->pool, count, bytes), count * bytes));
	if (count)
		memcpy(copy, from, count * bytes);
	memcpy(array, &copy, sizeof copy);
	return INVAR_OK;
}

/* The same for numbers, in which infinity is NaN; to `digits` of them if that is not 0. */
static invar_status keep_numbers(invar_results *r, size_t count, int digits,
                                 const double **numbers)
{
	double *copy;
	char text[32];

	INV_TRY(keep_array(r, count, sizeof **numbers, numbers));
	copy = (double *)(uintptr_t)*numbers;
	for (size_t i = 0; copy && i < count; i++) {
		if (digits && isfinite(copy[i])) {
			snprintf(text, sizeof text, "%.*g", digits, copy[i]);
			copy[i] = strtod(text, NULL);
		}
		copy[i] = isfinite(copy[i]) ? copy[i] : NAN;
	}
	return INVAR_OK;
}

invar_status inv_results_put_curve(invar_results *r, const char *series, const char *column,
                                   const inv_curve *curve)
{
	inv_plotted p = {.curve = *curve};
	inv_curve *c = &p.curve;

	if (!c->low || !c->high)
		c->low = c->high = NULL;
	INV_TRY(keep_numbers(r, c->count, 0, &c->x));
	INV_TRY(keep_numbers(r, c->count, 0, &c->y));
	INV_TRY(keep_numbers(r, c->count, 0, &c->low));
	INV_TRY(keep_numbers(r, c->count, 0, &c->high));
	INV_TRY(keep_array(r, c->count, sizeof *c->counts, &c->counts));
	return put_plotted(r, inv_plots_find(&r->series, series), series, column, &p);
}

/* To the seven digits that a float has: embeddings are floats, and documents large. */
invar_status inv_results_put_points(invar_results *r, const char *scatter,
                                    const char *column, const inv_points *points)
{
	inv_plotted p = {.points = *points};
	inv_points *c = &p.points;

	INV_TRY(keep_numbers(r, c->count, 7, &c->x));
	INV_TRY(keep_numbers(r, c->count, 7, &c->y));
	INV_TRY(keep_array(r, c->count, sizeof *c->label, &c->label));
	INV_TRY(keep_array(r, c->count, sizeof *c->mark, &c->mark));
	INV_TRY(keep_array(r, c->count, sizeof *c->rows, &c->rows));
	INV_TRY(keep_array(r, c->line_count, sizeof *c->lines, &c->lines));
	return put_plotted(r, inv_plots_find(&r->scatters, scatter), scatter, column, &p);
}

/* ---- Asking -------------------------------------------------------------------------- */

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
	return r->row_count;
}

const invar_metric *invar_results_metric(const invar_results *r, size_t i)
{
	return i < r->row_count ? &r->row[i].metric : NULL;
}

static const invar_value *find_value(const inv_results_row *row, const char *column)
{
	for (const inv_cell *cell = row->cells; cell; cell = cell->next)
		if (strcmp(cell->column, column) == 0)
			return &cell->value;
	return NULL;
}

const invar_value *invar_results_value(const invar_results *r, const char *metric,
                                       const char *column)
{
	const inv_results_row *row = find_row(r, metric);

	return row ? find_value(row, column) : NULL;
}

const invar_value *inv_results_at(const invar_results *r, size_t metric, size_t column)
{
	const invar_value *v = find_value(&r->row[metric], r->column[column].id);

	return v && !v->reason ? v : NULL;
}

bool inv_results_has_any(const invar_results *r, size_t metric)
{
	for (size_t c = 0; c < r->column_count; c++)
		if (inv_results_at(r, metric, c))
			return true;
	return false;
}

size_t inv_results_row_size(const invar_results *r, size_t first)
{
	const invar_metric *m = &r->row[first].metric, *next;
	size_t count = 1;

	while ((next = invar_results_metric(r, first + count)) &&
	       strcmp(next->row, m->row) == 0 && strcmp(next->measurement, m->measurement) == 0)
		count++;
	return count;
}

const char *inv_results_measurement(const invar_results *r, size_t i, const char **title)
{
	if (i >= r->measurement_count)
		return NULL;
	if (title)
		*title = r->measurement[i].title;
	return r->measurement[i].id;
}

const char *inv_results_note_at(const invar_results *r, size_t i)
{
	return i < r->note_count ? r->note[i] : NULL;
}

const char *inv_results_skipped(const invar_results *r, const char *measurement,
                                const char *column)
{
	const json_t *reasons = json_object_get(r->skipped, measurement);
	const json_t *own = column ? json_object_get(reasons, column) : NULL;

	return json_string_value(json_is_string(own) ? own : json_object_get(reasons, ""));
}

const json_t *inv_results_all_skipped(const invar_results *r)
{
	return r->skipped;
}

const json_t *inv_results_all_options(const invar_results *r)
{
	return r->options;
}

const json_t *inv_results_all_details(const invar_results *r)
{
	return r->details;
}

const char *invar_results_about(const invar_results *r, const char *key)
{
	return json_string_value(json_object_get(r->about, key));
}

double inv_results_about_number(const invar_results *r, const char *key)
{
	const json_t *value = json_object_get(r->about, key);

	return json_is_number(value) ? json_number_value(value) : NAN;
}

int inv_results_is_complete(const invar_results *r)
{
	return !json_is_true(json_object_get(r->about, "incomplete"));
}

const inv_series *inv_results_series(const invar_results *r, size_t i)
{
	return i < r->series.count ? &r->series.plot[i]->series : NULL;
}

const inv_scatter *inv_results_scatter(const invar_results *r, size_t i)
{
	return i < r->scatters.count ? &r->scatters.plot[i]->scatter : NULL;
}

static const inv_plotted *find_plotted(const inv_plots *all, const char *id,
                                       const char *column)
{
	const inv_plot *plot = inv_plots_find(all, id);

	for (const inv_plotted *p = plot ? plot->plotted : NULL; p; p = p->next)
		if (strcmp(p->column, column) == 0)
			return p;
	return NULL;
}

const inv_curve *inv_results_curve(const invar_results *r, const char *series,
                                   const char *column)
{
	const inv_plotted *p = find_plotted(&r->series, series, column);

	return p ? &p->curve : NULL;
}

const inv_points *inv_results_points(const invar_results *r, const char *scatter,
                                     const char *column)
{
	const inv_plotted *p = find_plotted(&r->scatters, scatter, column);

	return p ? &p->points : NULL;
}
