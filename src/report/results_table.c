/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results_table.c - results as a table, from the descriptions of their metrics.
 *
 * Metrics that follow each other and have the same row title share a row. A metric that a
 * column was not measured for shows as a dash, a row that no column was measured for does
 * not show, nor does a metric that is a detail. Means over runs have a row ± below them,
 * with their deviations. What could not be measured, and why, stands in notes below the
 * table, one per reason.
 */
#include "report/results_table.h"
#include "base/text.h"
#include "run/results.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 64, MAX_DIGITS = 15 };

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
	const invar_metric *m = invar_results_metric(line->results, line->first + i);
	const invar_value *v =
		invar_results_value(line->results, m->id, column_id(line->results, column));

	return v && !v->reason ? v : NULL;
}

/* ---- Pieces of cells ----------------------------------------------------------------- */

/* Fixed digits, or a power of ten where these would show too little or too much. */
static void spell_number(char text[PIECE], const invar_metric *m, double value)
{
	int digits = m->digits < MAX_DIGITS ? (int)m->digits : MAX_DIGITS;
	double size = fabs(value);

	if (isnan(value))
		snprintf(text, PIECE, "–");
	else if (m->unit == INVAR_UNIT_COUNT)
		snprintf(text, PIECE, "%.0f", value);
	else if (m->unit == INVAR_UNIT_SHARE)
		snprintf(text, PIECE, "%.*f", digits, 100 * value);
	else if (size == 0 || (size >= pow(10, 1 - digits) && size < 1e6))
		snprintf(text, PIECE, "%.*f", digits, value);
	else
		snprintf(text, PIECE, "%.*e", digits > 0 ? digits - 1 : 0, value);
}

/* A value with digits of its own is shown with these, whatever its size: as published. */
static void spell_value(char text[PIECE], const invar_metric *m, const invar_value *v)
{
	int digits = v && v->digits < MAX_DIGITS ? (int)v->digits : MAX_DIGITS;

	if (v && v->digits && isfinite(v->value) && fabs(v->value) < 1e6)
		snprintf(text, PIECE, "%.*f", digits,
		         m->unit == INVAR_UNIT_SHARE ? 100 * v->value : v->value);
	else
		spell_number(text, m, v ? v->value : NAN);
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
	spell_number(low, m, v->low);
	spell_number(high, m, v->high);
	snprintf(text, PIECE, "%.24s–%.24s", low, high);
}

static void spell_deviation(char text[PIECE], const invar_metric *m, const invar_value *v)
{
	spell_number(text, m, v && v->runs ? v->deviation : NAN);
}

typedef void piece_fn(char text[PIECE], const invar_metric *m, const invar_value *v);

/* ---- Rows ---------------------------------------------------------------------------- */

static bool has_value(const row *line, size_t column)
{
	for (size_t i = 0; i < line->count; i++)
		if (value_at(line, i, column))
			return true;
	return false;
}

static void write_cell(inv_table *t, const row *line, size_t column, piece_fn *spell)
{
	char *text = NULL;
	size_t bytes;
	FILE *f;

	if (!has_value(line, column) || !(f = open_memstream(&text, &bytes))) {
		inv_table_cell(t, "–");
		return;
	}
	for (size_t i = 0; i < line->count; i++) {
		char piece[PIECE];

		spell(piece, invar_results_metric(line->results, line->first + i),
		      value_at(line, i, column));
		fprintf(f, "%s%s", i ? " | " : "", piece);
	}
	fclose(f);
	inv_table_cell(t, "%s", text ? text : "–");
	free(text);
}

static void write_row(inv_table *t, const row *line, const char *title, piece_fn *spell)
{
	inv_table_cell(t, "%s", title);
	for (size_t c = 0; c < invar_results_columns(line->results); c++)
		write_cell(t, line, c, spell);
}

static bool is_shown(const row *line)
{
	for (size_t c = 0; c < invar_results_columns(line->results); c++)
		if (has_value(line, c))
			return true;
	return false;
}

/* Is there an interval, or a reason why one is missing? */
static bool has_intervals(const row *line)
{
	for (size_t c = 0; c < invar_results_columns(line->results); c++)
		for (size_t i = 0; i < line->count; i++) {
			const invar_value *v = value_at(line, i, c);

			if (v && (isfinite(v->low) || v->no_interval))
				return true;
		}
	return false;
}

static bool has_deviations(const row *line)
{
	for (size_t c = 0; c < invar_results_columns(line->results); c++)
		for (size_t i = 0; i < line->count; i++) {
			const invar_value *v = value_at(line, i, c);

			if (v && v->runs)
				return true;
		}
	return false;
}

static void write_rows(inv_table *t, const row *line, bool intervals)
{
	const invar_metric *m = invar_results_metric(line->results, line->first);
	char title[200];

	if (m->detail || !is_shown(line))
		return;
	snprintf(title, sizeof title, "%s%s", m->row, m->unit == INVAR_UNIT_SHARE ? ", %" : "");
	write_row(t, line, title, spell_value);
	if (has_deviations(line))
		write_row(t, line, "  ±", spell_deviation);
	if (intervals && has_intervals(line))
		write_row(t, line, "  95 %", spell_interval);
}

/* How many metrics from `first` on share its row. */
static size_t count_parts(const invar_results *r, size_t first)
{
	const invar_metric *m = invar_results_metric(r, first), *next;
	size_t count = 1;

	while ((next = invar_results_metric(r, first + count)) &&
	       strcmp(next->row, m->row) == 0 && strcmp(next->measurement, m->measurement) == 0)
		count++;
	return count;
}

/* ---- Notes about intervals ------------------------------------------------------- */

static void note_intervals(inv_table *t, const invar_results *r)
{
	const row all = {r, 0, invar_results_metrics(r)};
	json_t *reasons = json_object(), *unused;
	const char *reason;

	for (size_t m = 0; m < all.count; m++)
		for (size_t c = 0; c < invar_results_columns(r); c++) {
			const invar_value *v = value_at(&all, m, c);

			if (v && v->no_interval)
				json_object_set_new(reasons, v->no_interval, json_true());
			else if (v && is_without_width(v))
				json_object_set_new(reasons, "no interval (–) where all images agree",
				                    json_true());
		}
	json_object_foreach (reasons, reason, unused)
		inv_table_note(t, reason);
	json_decref(reasons);
}

/* Of means: how many runs they are over, the same number for most values. */
static void note_runs(inv_table *t, const invar_results *r)
{
	const row all = {r, 0, invar_results_metrics(r)};
	uint64_t least = UINT64_MAX, most = 0;
	char note[160];

	for (size_t m = 0; m < all.count; m++)
		for (size_t c = 0; c < invar_results_columns(r); c++) {
			const invar_value *v = value_at(&all, m, c);

			if (v && v->runs) {
				least = v->runs < least ? v->runs : least;
				most = v->runs > most ? v->runs : most;
			}
		}
	if (!most)
		return;
	if (least == most)
		snprintf(note, sizeof note, "means over %llu runs; ± is their standard deviation",
		         (unsigned long long)most);
	else
		snprintf(note, sizeof note,
		         "means over %llu to %llu runs; ± is their standard deviation",
		         (unsigned long long)least, (unsigned long long)most);
	inv_table_note(t, note);
}

/* ---- Notes about what was skipped ------------------------------------------------ */

/* {reason: ["LC", "kNN of run", …]}, in the order in which reasons appear. */
static void add_reason(json_t *reasons, const char *reason, json_t *who)
{
	json_t *list = json_object_get(reasons, reason);

	if (!list) {
		list = json_array();
		json_object_set_new(reasons, reason, list);
	}
	json_array_append_new(list, who);
}

static bool is_measured(const invar_results *r, const char *measurement, size_t column)
{
	const row all = {r, 0, invar_results_metrics(r)};

	for (size_t m = 0; m < all.count; m++)
		if (strcmp(invar_results_metric(r, m)->measurement, measurement) == 0 &&
		    value_at(&all, m, column))
			return true;
	return false;
}

/* Why no column has it, if the reason is the same for all columns; or NULL. */
static const char *common_reason(const invar_results *r, const char *measurement)
{
	const char *common = inv_results_skipped(r, measurement, NULL);

	for (size_t c = 0; c < invar_results_columns(r) && !common; c++)
		common = inv_results_skipped(r, measurement, column_id(r, c));
	for (size_t c = 0; c < invar_results_columns(r) && common; c++) {
		const char *reason = inv_results_skipped(r, measurement, column_id(r, c));

		if (is_measured(r, measurement, c) || (reason && strcmp(common, reason) != 0))
			return NULL;
	}
	return common;
}

static void collect_reasons(const invar_results *r, const char *measurement,
                            const char *title, json_t *reasons)
{
	const char *common = common_reason(r, measurement);

	if (common)
		add_reason(reasons, common, json_string(title));
	for (size_t c = 0; c < invar_results_columns(r) && !common; c++) {
		const char *reason = inv_results_skipped(r, measurement, column_id(r, c));

		if (reason)
			add_reason(reasons, reason,
			           json_sprintf("%s of %s", title, invar_results_column(r, c)->title));
	}
}

/* "LC, NC and kNN were not measured: test has no labels.npy" */
static void note_reason(inv_table *t, const char *reason, const json_t *who)
{
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
		fprintf(f, "%s: %s", count == 1 ? " was not measured" : " were not measured",
		        reason);
		fclose(f);
	}
	inv_table_note(t, text ? text : reason);
	free(text);
}

static void note_skipped(inv_table *t, const invar_results *r)
{
	json_t *reasons = json_object(), *who;
	const char *reason, *id, *title;

	for (size_t i = 0; (id = inv_results_measurement(r, i, &title)); i++)
		collect_reasons(r, id, title, reasons);
	json_object_foreach (reasons, reason, who)
		note_reason(t, reason, who);
	json_decref(reasons);
}

/* ---- The whole ---------------------------------------------------------------------- */

static inv_table *make_table(const invar_results *r, bool intervals)
{
	inv_table *t = inv_table_new(1 + invar_results_columns(r));
	const char *note;

	if (!t)
		return NULL;
	inv_table_cell(t, "%s", "");
	for (size_t c = 0; c < invar_results_columns(r); c++)
		inv_table_cell(t, "%s", invar_results_column(r, c)->title);
	for (size_t m = 0; m < invar_results_metrics(r);) {
		row line = {r, m, count_parts(r, m)};

		write_rows(t, &line, intervals);
		m += line.count;
	}
	note_runs(t, r);
	if (intervals)
		note_intervals(t, r);
	for (size_t i = 0; (note = inv_results_note_at(r, i)); i++)
		inv_table_note(t, note);
	note_skipped(t, r);
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
