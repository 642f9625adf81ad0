/* SPDX-License-Identifier: Apache-2.0 */
/*
 * results.c - one function per kind of measurement, one line in a list for each.
 *
 * A column that a measurement was not taken for (EC belongs to F alone) and a
 * number that is not there (no copies, no augmented figure) show as a dash. What
 * could not be measured, and why, stands in notes below the table, one per reason.
 */
#include "report/results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct measured {
	const json_t *names;  /* titles of the columns */
	const json_t *values; /* {column: …} of one measurement */
	const char *title;
} measured;

static const json_t *column(const measured *m, size_t i)
{
	return json_object_get(m->values, json_string_value(json_array_get(m->names, i)));
}

/* The first column that was measured, or NULL. */
static const json_t *first_measured(const measured *m)
{
	for (size_t i = 0; i < json_array_size(m->names); i++)
		if (column(m, i) && !json_object_get(column(m, i), "skipped"))
			return column(m, i);
	return NULL;
}

static bool has_number(const json_t *of, const char *key)
{
	return json_is_number(json_object_get(of, key));
}

static double number(const json_t *of, const char *key)
{
	return has_number(of, key) ? json_number_value(json_object_get(of, key)) : NAN;
}

/* ---- Shares in percent, with intervals -------------------------------------------- */

enum { PIECE = 32 };

static void put_percent(char text[PIECE], const json_t *share)
{
	if (has_number(share, "value"))
		snprintf(text, PIECE, "%.1f", 100 * number(share, "value"));
	else
		snprintf(text, PIECE, "–");
}

/*
 * Why a share has no interval to show, or NULL. Where all images agree, resampling them
 * gives an interval without width, which says nothing about other images.
 */
static const char *missing_interval(const json_t *share)
{
	const char *reason = json_string_value(json_object_get(share, "no_interval"));

	if (!reason && has_number(share, "low") &&
	    number(share, "low") == number(share, "high"))
		return "no interval (–) where all images agree";
	return reason;
}

/* Adds the reasons of all shares below `value` to the keys of an object. */
static void collect_missing(json_t *value, json_t *reasons)
{
	const char *reason = missing_interval(value), *key;
	json_t *part;

	if (reason)
		json_object_set_new(reasons, reason, json_true());
	json_object_foreach (value, key, part)
		if (json_is_object(part))
			collect_missing(part, reasons);
}

static void put_interval(char text[PIECE], const json_t *share)
{
	if (has_number(share, "low") && !missing_interval(share))
		snprintf(text, PIECE, "%.1f–%.1f", 100 * number(share, "low"),
		         100 * number(share, "high"));
	else
		snprintf(text, PIECE, "–");
}

typedef void piece_fn(char text[PIECE], const json_t *share);

static void clean_and_augmented(inv_table *t, const measured *m, piece_fn *piece)
{
	for (size_t i = 0; i < json_array_size(m->names); i++) {
		char clean[PIECE], augmented[PIECE];

		if (!json_object_get(column(m, i), "clean")) {
			inv_table_cell(t, "–");
			continue;
		}
		piece(clean, json_object_get(column(m, i), "clean"));
		piece(augmented, json_object_get(column(m, i), "augmented"));
		inv_table_cell(t, "%s | %s", clean, augmented);
	}
}

static void accuracy_rows(inv_table *t, const measured *m)
{
	inv_table_cell(t, "%s, %%", m->title);
	clean_and_augmented(t, m, put_percent);
	inv_table_cell(t, "  95 %%");
	clean_and_augmented(t, m, put_interval);
}

/* Its title says how many neighbours voted, and in which gallery. */
static void knn_rows(inv_table *t, const measured *m)
{
	const json_t *first = first_measured(m);
	const char *index = json_string_value(json_object_get(first, "index"));
	char title[64];
	measured named = *m;

	snprintf(title, sizeof title, "%.0f-NN%s", number(first, "k"),
	         index && strcmp(index, "clean") == 0 ? ", old index" : "");
	named.title = title;
	accuracy_rows(t, &named);
}

static void collision_row(inv_table *t, const measured *m, const char *key,
                          const char *title, piece_fn *piece)
{
	inv_table_cell(t, "%s", title);
	for (size_t i = 0; i < json_array_size(m->names); i++) {
		char text[PIECE];

		piece(text, json_object_get(column(m, i), key));
		inv_table_cell(t, "%s", text);
	}
}

static void collision_rows(inv_table *t, const measured *m)
{
	static const char *const kinds[][2] = {{"raw", "collision raw, %"},
	                                       {"aligned", "collision aligned, %"},
	                                       {"held_out", "collision held out, %"}};

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		collision_row(t, m, kinds[i][0], kinds[i][1], put_percent);
		collision_row(t, m, kinds[i][0], "  95 %", put_interval);
	}
}

/* ---- Structure ---------------------------------------------------------------------- */

static void number_cell(inv_table *t, const json_t *value)
{
	if (json_is_integer(value))
		inv_table_count(t, (unsigned long long)json_integer_value(value));
	else if (json_is_number(value))
		inv_table_number(t, json_number_value(value));
	else
		inv_table_cell(t, "–");
}

static void structure_row(inv_table *t, const measured *m, const char *key,
                          const char *title)
{
	inv_table_cell(t, "%s", title);
	for (size_t i = 0; i < json_array_size(m->names); i++)
		number_cell(t, json_object_get(column(m, i), key));
}

static void ratios_row(inv_table *t, const measured *m)
{
	inv_table_cell(t, "L1 | L2");
	for (size_t i = 0; i < json_array_size(m->names); i++)
		if (has_number(column(m, i), "L1"))
			inv_table_cell(t, "%.3f | %.3f", number(column(m, i), "L1"),
			               number(column(m, i), "L2"));
		else
			inv_table_cell(t, "–");
}

static void structure_rows(inv_table *t, const measured *m)
{
	static const char *const rows[][2] = {{"m", "m"},         {"b", "b"},
	                                      {"R2", "R²"},       {"RMSD", "RMSD"},
	                                      {"NRMSD", "NRMSD"}, {"CVRMSD", "CVRMSD"}};

	ratios_row(t, m);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		structure_row(t, m, rows[i][0], rows[i][1]);
	if (number(first_measured(m), "zero_pairs") > 0)
		structure_row(t, m, "zero_pairs", "pairs at distance 0");
}

/* ---- The table ----------------------------------------------------------- */

static const struct kind {
	const char *name, *title;
	void (*rows)(inv_table *t, const measured *m);
} kinds[] = {
	{"lc", "LC", accuracy_rows},
	{"nc", "NC", accuracy_rows},
	{"ec", "EC", accuracy_rows},
	{"kept", "LC-kept", accuracy_rows},
	{"knn", "kNN", knn_rows},
	{"structure", "structure", structure_rows},
	{"collision", "collision", collision_rows},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* ---- Notes -------------------------------------------------------------------------- */

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

static const char *reason_of(const json_t *cell)
{
	return json_string_value(json_object_get(cell, "skipped"));
}

/* Why no column has it, where that is the same for all that were tried; or NULL. */
static const char *common_reason(const measured *m)
{
	const char *common = NULL;

	for (size_t i = 0; i < json_array_size(m->names); i++) {
		const char *reason = reason_of(column(m, i));

		if (!column(m, i))
			continue;
		if (!reason || (common && strcmp(common, reason) != 0))
			return NULL;
		common = reason;
	}
	return common;
}

static void collect_reasons(const measured *m, json_t *reasons)
{
	const char *common = common_reason(m);

	if (common)
		add_reason(reasons, common, json_string(m->title));
	for (size_t i = 0; i < json_array_size(m->names) && !common; i++)
		if (reason_of(column(m, i)))
			add_reason(reasons, reason_of(column(m, i)),
			           json_sprintf("%s of %s", m->title,
			                        json_string_value(json_array_get(m->names, i))));
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

static void note_skipped(inv_table *t, const json_t *document)
{
	const json_t *names = json_object_get(document, "columns"), *who;
	const json_t *all = json_object_get(document, "measurements");
	const json_t *lacks = json_object_get(document, "skipped");
	json_t *reasons = json_object();
	const char *reason;

	for (size_t i = 0; i < KINDS; i++) {
		measured m = {names, json_object_get(all, kinds[i].name), kinds[i].title};
		const char *lack = json_string_value(json_object_get(lacks, kinds[i].name));

		if (lack)
			add_reason(reasons, lack, json_string(m.title));
		else
			collect_reasons(&m, reasons);
	}
	json_object_foreach (reasons, reason, who)
		note_reason(t, reason, who);
	json_decref(reasons);
}

static void note_unlabelled(inv_table *t, const json_t *document)
{
	const json_t *count;
	const char *split;

	json_object_foreach (json_object_get(document, "unlabelled"), split, count) {
		char text[300];
		long long rows = json_integer_value(count);

		snprintf(text, sizeof text,
		         "%lld row%s of %s %s no label; what needs labels leaves %s out", rows,
		         rows == 1 ? "" : "s", split, rows == 1 ? "has" : "have",
		         rows == 1 ? "it" : "them");
		inv_table_note(t, text);
	}
}

static void note_intervals(inv_table *t, const json_t *document)
{
	json_t *reasons = json_object(), *unused;
	const char *reason;

	collect_missing(json_object_get(document, "measurements"), reasons);
	json_object_foreach (reasons, reason, unused)
		inv_table_note(t, reason);
	json_decref(reasons);
}

/* ---- The whole ---------------------------------------------------------------------- */

inv_table *inv_results_table(const json_t *document)
{
	const json_t *names = json_object_get(document, "columns");
	const json_t *all = json_object_get(document, "measurements");
	inv_table *t = inv_table_new(1 + json_array_size(names));

	if (!t)
		return NULL;
	inv_table_cell(t, "%s", "");
	for (size_t i = 0; i < json_array_size(names); i++)
		inv_table_cell(t, "%s", json_string_value(json_array_get(names, i)));
	for (size_t i = 0; i < KINDS; i++) {
		measured m = {names, json_object_get(all, kinds[i].name), kinds[i].title};

		if (first_measured(&m))
			kinds[i].rows(t, &m);
	}
	note_intervals(t, document);
	note_unlabelled(t, document);
	note_skipped(t, document);
	return t;
}
