/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results_table.c - results as a table, from the descriptions of their metrics.
 *
 * Metrics that follow each other and have the same row title share a row, or in a page a
 * group of lines, one each. A metric that a column was not measured for shows as a dash, a
 * row that no column was measured for does not show, nor does a metric that is a detail.
 * Means over runs have a row ± below them, with their deviations. What could not be
 * measured, and why, stands in notes below the table, one per reason; a page has a section
 * for that.
 */
#include "report/results_table.h"
#include "base/text.h"
#include "run/results.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = INV_SPELLED_NUMBER, MAX_DIGITS = 15 };

/* Metrics first … first + count - 1. */
typedef struct row {
	const invar_results *results;
	size_t first, count;
} row;

static const char *column_id(const invar_results *r, size_t column)
{
	return invar_results_column(r, column)->id;
}

/* The value of part i of a row; NULL if there is none, or only a reason. */
static const invar_value *value_at(const row *line, size_t i, size_t column)
{
	return inv_results_at(line->results, line->first + i, column);
}

/* ---- Pieces of cells ----------------------------------------------------------------- */

/* Fixed digits, or a power of ten where these would show too little or too much. */
const char *inv_spell_number(char text[INV_SPELLED_NUMBER], const invar_metric *m,
                             double value)
{
	int digits = m->digits < MAX_DIGITS ? (int)m->digits : MAX_DIGITS;
	double size = fabs(value);

	if (!isfinite(value))
		snprintf(text, PIECE, "–");
	else if (m->unit == INVAR_UNIT_COUNT)
		snprintf(text, PIECE, "%.0f", value);
	else if (m->unit == INVAR_UNIT_SHARE)
		snprintf(text, PIECE, "%.*f", digits, 100 * value);
	else if (size == 0 || (size >= pow(10, 1 - digits) && size < 1e6))
		snprintf(text, PIECE, "%.*f", digits, value);
	else
		snprintf(text, PIECE, "%.*e", digits > 0 ? digits - 1 : 0, value);
	return text;
}

/* A value with digits of its own is shown with these, whatever its size: as published. */
static void spell_value(char text[PIECE], const invar_metric *m, const invar_value *v)
{
	int digits = v && v->digits < MAX_DIGITS ? (int)v->digits : MAX_DIGITS;

	if (v && v->digits && isfinite(v->value) && fabs(v->value) < 1e6)
		snprintf(text, PIECE, "%.*f", digits,
		         m->unit == INVAR_UNIT_SHARE ? 100 * v->value : v->value);
	else
		inv_spell_number(text, m, v ? v->value : NAN);
}

/*
 * Where all images agree, resampling them gives an interval without width, which says
 * nothing about other images.
 */
static bool is_without_width(const invar_value *v)
{
	return isfinite(v->low) && v->low == v->high;
}

static void spell_interval(char text[PIECE], const invar_metric *m, const invar_value *v)
{
	char low[PIECE], high[PIECE];

	snprintf(text, PIECE, "–");
	if (!v || !isfinite(v->low) || is_without_width(v))
		return;
	inv_spell_number(low, m, v->low);
	inv_spell_number(high, m, v->high);
	snprintf(text, PIECE, "%.24s–%.24s", low, high);
}

static void spell_deviation(char text[PIECE], const invar_metric *m, const invar_value *v)
{
	inv_spell_number(text, m, v && v->runs ? v->deviation : NAN);
}

typedef void piece_fn(char text[PIECE], const invar_metric *m, const invar_value *v);

/* ---- Rows ---------------------------------------------------------------------------- */

static void write_cell(inv_table *t, const row *line, size_t column, piece_fn *spell)
{
	char *text = NULL, piece[PIECE];
	size_t bytes, values = 0;
	FILE *f = open_memstream(&text, &bytes);

	for (size_t i = 0; f && i < line->count; i++) {
		const invar_value *v = value_at(line, i, column);

		values += v != NULL;
		spell(piece, invar_results_metric(line->results, line->first + i), v);
		fprintf(f, "%s%s", i ? " | " : "", piece);
	}
	if (f)
		fclose(f);
	inv_table_cell(t, "%s", text && values ? text : "–");
	free(text);
}

static void write_row(inv_table *t, const row *line, const char *title, piece_fn *spell)
{
	inv_table_cell(t, "%s", title);
	for (size_t c = 0; c < invar_results_columns(line->results); c++)
		write_cell(t, line, c, spell);
}

/* Is there an interval, or a reason why one is missing? */
static bool has_interval(const invar_value *v)
{
	return isfinite(v->low) || v->no_interval;
}

static bool has_deviation(const invar_value *v)
{
	return v->runs;
}

/* Does any value of the row meet the condition? */
static bool has(const row *line, bool (*condition)(const invar_value *v))
{
	for (size_t c = 0; c < invar_results_columns(line->results); c++)
		for (size_t i = 0; i < line->count; i++) {
			const invar_value *v = value_at(line, i, c);

			if (v && condition(v))
				return true;
		}
	return false;
}

static void write_rows(inv_table *t, const row *line, bool intervals)
{
	const invar_metric *m = invar_results_metric(line->results, line->first);
	char title[200];

	snprintf(title, sizeof title, "%s%s", m->row, m->unit == INVAR_UNIT_SHARE ? ", %" : "");
	write_row(t, line, title, spell_value);
	if (has(line, has_deviation))
		write_row(t, line, "  ±", spell_deviation);
	if (intervals && has(line, has_interval))
		write_row(t, line, "  95 %", spell_interval);
}

/* ---- Lines of a page ----------------------------------------------------------------- */

/* The best value of at least two, as it is shown; "" if there is none. */
static void spell_best(char text[PIECE], const row *line)
{
	const invar_metric *m = invar_results_metric(line->results, line->first);
	double best = NAN;
	size_t count = 0;

	for (size_t c = 0; c < invar_results_columns(line->results) && m->better; c++) {
		const invar_value *v = value_at(line, 0, c);

		if (!v || !isfinite(v->value))
			continue;
		count++;
		if (isnan(best) || (v->value - best) * m->better > 0)
			best = v->value;
	}
	*text = '\0';
	if (count > 1)
		inv_spell_number(text, m, best);
}

/* One metric: the best of several columns is marked, intervals are small. */
static void write_line(inv_table *t, const invar_results *r, size_t metric,
                       const char *title, unsigned look)
{
	const row line = {r, metric, 1};
	const invar_metric *m = invar_results_metric(r, metric);
	char best[PIECE], text[PIECE], low[PIECE], high[PIECE], interval[2 * PIECE + 8];

	spell_best(best, &line);
	inv_table_cell(t, "%s", title);
	inv_table_look(t, look, NULL);
	for (size_t c = 0; c < invar_results_columns(r); c++) {
		const invar_value *v = value_at(&line, 0, c);
		bool has_width = v && isfinite(v->low) && v->high > v->low;

		inv_table_cell(t, "%s", inv_spell_number(text, m, v ? v->value : NAN));
		if (has_width) /* "-2–-1" is hard to read */
			snprintf(interval, sizeof interval, "%s%s%s", inv_spell_number(low, m, v->low),
			         v->low < 0 ? " to " : "–", inv_spell_number(high, m, v->high));
		inv_table_look(t, v && strcmp(text, best) == 0 ? INV_LOOK_BEST : 0,
		               has_width ? interval : NULL);
	}
}

static void write_group(inv_table *t, const row *line)
{
	const invar_results *r = line->results;
	const invar_metric *m = invar_results_metric(r, line->first);
	char title[200];

	snprintf(title, sizeof title, "%.180s%s", m->row,
	         m->unit == INVAR_UNIT_SHARE ? ", %" : "");
	if (line->count == 1) {
		write_line(t, r, line->first, title, INV_LOOK_BEGINS);
		return;
	}
	inv_table_cell(t, "%s", title);
	inv_table_look(t, INV_LOOK_HEADS, NULL);
	for (size_t c = 0; c < invar_results_columns(r); c++)
		inv_table_cell(t, "%s", "");
	for (size_t i = line->first; i < line->first + line->count; i++) {
		m = invar_results_metric(r, i);
		if (inv_results_has_any(r, i))
			write_line(t, r, i, m->part ? m->part : m->id, 0);
	}
}

/* ---- Notes --------------------------------------------------------------------------- */

/* Of means: how many runs they are over, the same number for most values. */
static void note_runs(inv_table *t, const row *all)
{
	uint64_t least = UINT64_MAX, most = 0;
	char note[160], range[48] = "";

	for (size_t m = 0; m < all->count; m++)
		for (size_t c = 0; c < invar_results_columns(all->results); c++) {
			const invar_value *v = value_at(all, m, c);

			if (v && v->runs) {
				least = v->runs < least ? v->runs : least;
				most = v->runs > most ? v->runs : most;
			}
		}
	if (!most)
		return;
	if (least != most)
		snprintf(range, sizeof range, "%llu to ", (unsigned long long)least);
	snprintf(note, sizeof note, "means over %s%llu runs; ± is their standard deviation",
	         range, (unsigned long long)most);
	inv_table_note(t, note);
}

/* Why intervals are missing, each reason once. */
static void note_intervals(inv_table *t, const row *all)
{
	json_t *reasons = json_object(), *unused;
	const char *reason;

	for (size_t m = 0; m < all->count; m++)
		for (size_t c = 0; c < invar_results_columns(all->results); c++) {
			const invar_value *v = value_at(all, m, c);

			if (v && (v->no_interval || is_without_width(v)))
				json_object_set_new(reasons,
				                    v->no_interval
				                        ? v->no_interval
				                        : "no interval (–) where all images agree",
				                    json_true());
		}
	json_object_foreach (reasons, reason, unused)
		inv_table_note(t, reason);
	json_decref(reasons);
}

static bool is_measured(const row *all, const char *measurement, size_t column)
{
	for (size_t m = 0; m < all->count; m++)
		if (strcmp(invar_results_metric(all->results, m)->measurement, measurement) == 0 &&
		    value_at(all, m, column))
			return true;
	return false;
}

/* Why no column has it, if the reason is the same for all columns; or NULL. */
static const char *common_reason(const row *all, const char *measurement)
{
	const invar_results *r = all->results;
	const char *common = inv_results_skipped(r, measurement, NULL);

	for (size_t c = 0; c < invar_results_columns(r) && !common; c++)
		common = inv_results_skipped(r, measurement, column_id(r, c));
	for (size_t c = 0; c < invar_results_columns(r) && common; c++) {
		const char *reason = inv_results_skipped(r, measurement, column_id(r, c));

		if (is_measured(all, measurement, c) || (reason && strcmp(common, reason) != 0))
			return NULL;
	}
	return common;
}

/* {reason: ["LC", "kNN of run", …]}, in the order in which reasons appear. */
static void add_reason(json_t *reasons, const char *reason, json_t *who)
{
	if (!json_object_get(reasons, reason))
		json_object_set_new(reasons, reason, json_array());
	json_array_append_new(json_object_get(reasons, reason), who);
}

/* "LC, NC and kNN were not measured: test has no labels.npy" */
static void note_skipped(inv_table *t, const row *all)
{
	const invar_results *r = all->results;
	json_t *reasons = json_object(), *who;
	const char *reason, *id, *title;

	for (size_t i = 0; (id = inv_results_measurement(r, i, &title)); i++) {
		const char *common = common_reason(all, id);

		if (common)
			add_reason(reasons, common, json_string(title));
		for (size_t c = 0; c < invar_results_columns(r) && !common; c++)
			if ((reason = inv_results_skipped(r, id, column_id(r, c))))
				add_reason(
					reasons, reason,
					json_sprintf("%s of %s", title, invar_results_column(r, c)->title));
	}
	json_object_foreach (reasons, reason, who) {
		size_t count = json_array_size(who), bytes;
		char *text = NULL;
		FILE *f = open_memstream(&text, &bytes);

		for (size_t i = 0; f && i < count; i++)
			fprintf(f, "%s%s",
			        i == 0          ? ""
			        : i + 1 < count ? ", "
			                        : " and ",
			        json_string_value(json_array_get(who, i)));
		if (f) {
			fprintf(f, " %s not measured: %s", count == 1 ? "was" : "were", reason);
			fclose(f);
		}
		inv_table_note(t, text ? text : reason);
		free(text);
	}
	json_decref(reasons);
}

/* ---- The whole ----------------------------------------------------------------------- */

/* A table with its heading; NULL: no memory. */
static inv_table *begin_table(const invar_results *r)
{
	inv_table *t = inv_table_new(1 + invar_results_columns(r));

	if (!t)
		return NULL;
	inv_table_cell(t, "%s", "");
	for (size_t c = 0; c < invar_results_columns(r); c++) {
		bool is_f = strcmp(column_id(r, c), "F") == 0;

		inv_table_cell(t, "%s", invar_results_column(r, c)->title);
		inv_table_look(t, is_f ? 0 : INV_LOOK_NAME, is_f ? "encoder alone" : NULL);
	}
	return t;
}

/* The next row that is shown, at or after metric *first; false past the last. */
static bool next_row(const invar_results *r, size_t *first, row *out)
{
	for (; *first < invar_results_metrics(r); *first += out->count) {
		*out = (row){r, *first, inv_results_row_size(r, *first)};
		for (size_t i = 0; i < out->count && !invar_results_metric(r, *first)->detail; i++)
			if (inv_results_has_any(r, *first + i))
				return true;
	}
	return false;
}

static inv_table *make_table(const invar_results *r, bool intervals)
{
	const row all = {r, 0, invar_results_metrics(r)};
	inv_table *t = begin_table(r);
	const char *note;
	row line;

	if (!t)
		return NULL;
	for (size_t m = 0; next_row(r, &m, &line); m += line.count)
		write_rows(t, &line, intervals);
	note_runs(t, &all);
	if (intervals)
		note_intervals(t, &all);
	for (size_t i = 0; (note = inv_results_note_at(r, i)); i++)
		inv_table_note(t, note);
	note_skipped(t, &all);
	return t;
}

inv_table *inv_results_table(const invar_results *r)
{
	return make_table(r, true);
}

inv_table *inv_results_table_short(const invar_results *r)
{
	return make_table(r, false);
}

const char *inv_results_origin(const invar_results *r, char out[INV_HEADING])
{
	const char *encoder = invar_results_about(r, "encoder");
	const char *augment = invar_results_about(r, "augment");

	snprintf(out, INV_HEADING, "%s%s%s%s", encoder ? encoder : "", encoder ? ", " : "",
	         augment ? augment : "", augment ? ": " : "");
	return out;
}

const char *inv_results_measured(const invar_results *r, char out[INV_HEADING])
{
	double points = inv_results_about_number(r, "points");
	double copies = inv_results_about_number(r, "copies");

	snprintf(out, INV_HEADING,
	         "%.0f %s of the split %s, %.0f %s, width %.0f; clean | augmented", points,
	         inv_noun((uint64_t)points, "point", "points"), invar_results_about(r, "split"),
	         copies, inv_noun((uint64_t)copies, "copy", "copies"),
	         inv_results_about_number(r, "dim"));
	return out;
}

inv_table *inv_results_lines(const invar_results *r)
{
	size_t first = 0;
	row line;
	inv_table *t = next_row(r, &first, &line) ? begin_table(r) : NULL;
	const char *note;

	for (size_t m = 0; t && next_row(r, &m, &line); m += line.count)
		write_group(t, &line);
	for (size_t i = 0; t && (note = inv_results_note_at(r, i)); i++)
		inv_table_note(t, note);
	return t;
}

inv_table *inv_results_lines_of(const invar_results *r, const char *const *metric)
{
	inv_table *t = begin_table(r);
	char title[200];

	for (; t && *metric; metric++)
		for (size_t i = 0; i < invar_results_metrics(r); i++) {
			const invar_metric *m = invar_results_metric(r, i);

			if (strcmp(m->id, *metric) != 0 || !inv_results_has_any(r, i))
				continue;
			snprintf(title, sizeof title, "%.100s%s%.60s%s", m->row, m->part ? ", " : "",
			         m->part ? m->part : "", m->unit == INVAR_UNIT_SHARE ? ", %" : "");
			write_line(t, r, i, title, 0);
		}
	return t;
}
