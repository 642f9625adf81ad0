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
#include <string.h>

/* CELL: bytes of more characters than a cell shows. */
enum { PIECE = INV_SPELLED_NUMBER, CELL = 1024, MAX_DIGITS = 15 };

/* Metrics first … first + count - 1. */
typedef struct row {
	const invar_results *results;
	size_t first, count;
} row;

/* The value of metric i of a row; NULL if there is none, or only a reason. */
static const invar_value *row_value(const row *line, size_t i, size_t column)
{
	return inv_results_at(line->results, line->first + i, column);
}

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

/*
 * Where all images agree, resampling them gives an interval without width, which says
 * nothing about other images.
 */
static bool has_width(const invar_value *v)
{
	return v && isfinite(v->low) && v->low != v->high;
}

typedef enum piece_kind { VALUE, DEVIATION, INTERVAL } piece_kind;

/* Has any value of the row such a piece, or a reason why an interval is missing? */
static bool has_piece(const row *line, piece_kind kind)
{
	for (size_t c = 0; c < invar_results_columns(line->results); c++)
		for (size_t i = 0; i < line->count; i++) {
			const invar_value *v = row_value(line, i, c);

			if (v && (kind == DEVIATION ? v->runs > 0 : isfinite(v->low) || v->no_interval))
				return true;
		}
	return false;
}

/* A value with digits of its own is shown with these, whatever its size: as published. */
static void write_results_row(inv_table *t, const row *line, const char *title,
                              piece_kind kind)
{
	char text[CELL], piece[PIECE], low[PIECE], high[PIECE];

	inv_table_cell(t, "%s", title);
	for (size_t c = 0; c < invar_results_columns(line->results); c++) {
		size_t values = 0, used = 0;

		for (size_t i = 0; i < line->count && used < sizeof text; i++) {
			const invar_metric *m = invar_results_metric(line->results, line->first + i);
			const invar_value *v = row_value(line, i, c);

			values += v != NULL;
			if (kind == DEVIATION)
				inv_spell_number(piece, m, v && v->runs ? v->deviation : NAN);
			else if (kind == INTERVAL && has_width(v))
				snprintf(piece, PIECE, "%.24s–%.24s", inv_spell_number(low, m, v->low),
				         inv_spell_number(high, m, v->high));
			else if (kind == VALUE && v && v->digits && isfinite(v->value) &&
			         fabs(v->value) < 1e6)
				snprintf(piece, PIECE, "%.*f",
				         v->digits < MAX_DIGITS ? (int)v->digits : MAX_DIGITS,
				         m->unit == INVAR_UNIT_SHARE ? 100 * v->value : v->value);
			else
				inv_spell_number(piece, m, kind == VALUE && v ? v->value : NAN);
			used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
			                         i ? " | " : "", piece);
		}
		inv_table_cell(t, "%s", values ? text : "–");
	}
}

/* One metric: the best of several columns is marked, intervals are small. */
static void write_metric_line(inv_table *t, const invar_results *r, size_t metric,
                              const char *title, unsigned look)
{
	const invar_metric *m = invar_results_metric(r, metric);
	char best[PIECE] = "", text[PIECE], low[PIECE], high[PIECE], interval[2 * PIECE + 8];
	double most = NAN;
	size_t count = 0;

	for (size_t c = 0; c < invar_results_columns(r) && m->better; c++) {
		const invar_value *v = inv_results_at(r, metric, c);

		if (!v || !isfinite(v->value))
			continue;
		count++;
		if (isnan(most) || (v->value - most) * m->better > 0)
			most = v->value;
	}
	if (count > 1)
		inv_spell_number(best, m, most);
	inv_table_cell(t, "%s", title);
	inv_table_look(t, look, NULL);
	for (size_t c = 0; c < invar_results_columns(r); c++) {
		const invar_value *v = inv_results_at(r, metric, c);
		bool wide = has_width(v) && v->high > v->low;

		inv_table_cell(t, "%s", inv_spell_number(text, m, v ? v->value : NAN));
		if (wide) /* "-2–-1" is hard to read */
			snprintf(interval, sizeof interval, "%s%s%s", inv_spell_number(low, m, v->low),
			         v->low < 0 ? " to " : "–", inv_spell_number(high, m, v->high));
		inv_table_look(t, v && strcmp(text, best) == 0 ? INV_LOOK_BEST : 0,
		               wide ? interval : NULL);
	}
}

/*
 * Of means, how many runs they are over, the same number for most values; and with
 * `intervals` why these are missing, each reason once.
 */
static void note_values(inv_table *t, const row *all, bool intervals)
{
	uint64_t least = UINT64_MAX, most = 0;
	json_t *reasons = json_object(), *unused;
	char note[160], range[48] = "";
	const char *reason;

	for (size_t m = 0; m < all->count; m++)
		for (size_t c = 0; c < invar_results_columns(all->results); c++) {
			const invar_value *v = row_value(all, m, c);

			if (v && v->runs) {
				least = v->runs < least ? v->runs : least;
				most = v->runs > most ? v->runs : most;
			}
			if (v && (v->no_interval || (isfinite(v->low) && !has_width(v))))
				json_object_set_new(reasons,
				                    v->no_interval
				                        ? v->no_interval
				                        : "no interval (–) where all images agree",
				                    json_true());
		}
	if (least != most)
		snprintf(range, sizeof range, "%llu to ", (unsigned long long)least);
	snprintf(note, sizeof note, "means over %s%llu runs; ± is their standard deviation",
	         range, (unsigned long long)most);
	if (most)
		inv_table_note(t, note);
	if (intervals)
		json_object_foreach (reasons, reason, unused)
			inv_table_note(t, reason);
	json_decref(reasons);
}

/* {reason: ["LC", "kNN of run", …]}, in the order in which reasons appear. */
static void add_skip_reason(json_t *reasons, const char *reason, json_t *who)
{
	if (!json_object_get(reasons, reason))
		json_object_set_new(reasons, reason, json_array());
	json_array_append_new(json_object_get(reasons, reason), who);
}

/* "LC, NC and kNN were not measured: test has no labels.npy" */
static void note_skipped(inv_table *t, const row *all)
{
	const invar_results *r = all->results;
	size_t columns = invar_results_columns(r);
	json_t *reasons = json_object(), *who;
	const char *reason, *id, *title;

	for (size_t i = 0; (id = inv_results_measurement(r, i, &title)); i++) {
		const char *common = inv_results_skipped(r, id, NULL);
		bool measured = false;

		/* Columns are named unless none was measured, for the same reason. */
		for (size_t c = 0; c < columns; c++) {
			reason = inv_results_skipped(r, id, invar_results_column(r, c)->id);
			common = common ? common : reason;
			measured = measured || (reason && strcmp(common, reason) != 0);
			for (size_t m = 0; m < all->count && !measured; m++)
				measured = strcmp(invar_results_metric(r, m)->measurement, id) == 0 &&
				           row_value(all, m, c);
		}
		if (common && !measured)
			add_skip_reason(reasons, common, json_string(title));
		for (size_t c = 0; c < columns && measured; c++) {
			const invar_column *column = invar_results_column(r, c);

			if ((reason = inv_results_skipped(r, id, column->id)))
				add_skip_reason(reasons, reason,
				                json_sprintf("%s of %s", title, column->title));
		}
	}
	json_object_foreach (reasons, reason, who) {
		size_t count = json_array_size(who);
		json_t *text = json_string("");

		for (size_t i = 0; i < count; i++) {
			json_t *longer = json_sprintf("%s%s%s", json_string_value(text),
			                              i == 0          ? ""
			                              : i + 1 < count ? ", "
			                                              : " and ",
			                              json_string_value(json_array_get(who, i)));

			json_decref(text);
			text = longer;
		}
		who = json_sprintf("%s %s not measured: %s", json_string_value(text),
		                   count == 1 ? "was" : "were", reason);
		inv_table_note(t, who ? json_string_value(who) : reason);
		json_decref(text);
		json_decref(who);
	}
	json_decref(reasons);
}

/* A table with its heading; NULL: no memory. */
static inv_table *begin_table(const invar_results *r)
{
	inv_table *t = inv_table_new(1 + invar_results_columns(r));

	if (!t)
		return NULL;
	inv_table_cell(t, "%s", "");
	for (size_t c = 0; c < invar_results_columns(r); c++) {
		const invar_column *column = invar_results_column(r, c);
		bool is_f = strcmp(column->id, "F") == 0;

		inv_table_cell(t, "%s", column->title);
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

inv_table *inv_results_table(const invar_results *r, bool intervals)
{
	const row all = {r, 0, invar_results_metrics(r)};
	inv_table *t = begin_table(r);
	const char *note;
	char title[200];
	row line;

	if (!t)
		return NULL;
	for (size_t i = 0; next_row(r, &i, &line); i += line.count) {
		const invar_metric *m = invar_results_metric(r, line.first);

		snprintf(title, sizeof title, "%s%s", m->row,
		         m->unit == INVAR_UNIT_SHARE ? ", %" : "");
		write_results_row(t, &line, title, VALUE);
		if (has_piece(&line, DEVIATION))
			write_results_row(t, &line, "  ±", DEVIATION);
		if (intervals && has_piece(&line, INTERVAL))
			write_results_row(t, &line, "  95 %", INTERVAL);
	}
	note_values(t, &all, intervals);
	for (size_t i = 0; (note = inv_results_note_at(r, i)); i++)
		inv_table_note(t, note);
	note_skipped(t, &all);
	return t;
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
	char title[200];

	for (size_t k = 0; t && next_row(r, &k, &line); k += line.count) {
		const invar_metric *m = invar_results_metric(r, line.first);

		snprintf(title, sizeof title, "%.180s%s", m->row,
		         m->unit == INVAR_UNIT_SHARE ? ", %" : "");
		if (line.count == 1) {
			write_metric_line(t, r, line.first, title, INV_LOOK_BEGINS);
			continue;
		}
		inv_table_cell(t, "%s", title);
		inv_table_look(t, INV_LOOK_HEADS, NULL);
		for (size_t c = 0; c < invar_results_columns(r); c++)
			inv_table_cell(t, "%s", "");
		for (size_t i = line.first; i < line.first + line.count; i++) {
			m = invar_results_metric(r, i);
			if (inv_results_has_any(r, i))
				write_metric_line(t, r, i, m->part ? m->part : m->row, 0);
		}
	}
	for (size_t i = 0; t && (note = inv_results_note_at(r, i)); i++)
		inv_table_note(t, note);
	return t;
}

inv_table *inv_results_first_lines(const invar_results *r)
{
	static const struct {
		const char *metric, *title;
	} lines[] = {
		{"kept.augmented", "class, classifier of F, augmented, %"},
		{"kept.clean", "class, classifier of F, clean, %"},
		{"lc.augmented", "class, classifier of the codes, augmented, %"},
		{"lc.clean", "class, classifier of the codes, clean, %"},
		{"knn.augmented", "class, nearest neighbours, augmented, %"},
		{"knn.clean", "class, nearest neighbours, clean, %"},
		{"same-image.old.l2.augmented.recall_at_1", "same image first, augmented, %"},
		{"same-image.old.l2.clean.recall_at_1", "same image first, clean, %"},
		{"collision.raw", "an image of another class is nearer, %"},
		{"structure.R2", "distances between clean images kept, R²"},
		{"invariance.gone", "squared displacement removed, %"},
	};
	inv_table *t = NULL;

	for (size_t k = 0; k < sizeof lines / sizeof *lines; k++)
		for (size_t i = 0; i < invar_results_metrics(r); i++)
			if (strcmp(invar_results_metric(r, i)->id, lines[k].metric) == 0 &&
			    inv_results_has_any(r, i) && (t || (t = begin_table(r))))
				write_metric_line(t, r, i, lines[k].title, 0);
	return t;
}
