/*
 * results.c - one function per kind of measurement, one line in a list for each.
 *
 * A column that a measurement was not taken for (EC belongs to F alone) and a
 * number that is not there (no copies, no augmented figure) show as a dash.
 */
#include "report/results.h"

#include <math.h>
#include <stdio.h>
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

static void put_interval(char text[PIECE], const json_t *share)
{
	if (has_number(share, "low"))
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
	const char *index = json_string_value(json_object_get(column(m, 0), "index"));
	char title[64];
	measured named = *m;

	snprintf(title, sizeof title, "%.0f-NN%s", number(column(m, 0), "k"),
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

static void structure_row(inv_table *t, const measured *m, const char *key,
                          const char *title)
{
	inv_table_cell(t, "%s", title);
	for (size_t i = 0; i < json_array_size(m->names); i++)
		inv_table_number(t, number(column(m, i), key));
}

static void structure_rows(inv_table *t, const measured *m)
{
	static const char *const rows[][2] = {{"m", "m"},         {"b", "b"},
	                                      {"R2", "R²"},       {"RMSD", "RMSD"},
	                                      {"NRMSD", "NRMSD"}, {"CVRMSD", "CVRMSD"}};

	inv_table_cell(t, "L1 | L2");
	for (size_t i = 0; i < json_array_size(m->names); i++)
		inv_table_cell(t, "%.3f | %.3f", number(column(m, i), "L1"),
		               number(column(m, i), "L2"));
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		structure_row(t, m, rows[i][0], rows[i][1]);
	if (number(column(m, 0), "zero_pairs") > 0)
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
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		measured m = {names, json_object_get(all, kinds[i].name), kinds[i].title};

		if (m.values)
			kinds[i].rows(t, &m);
	}
	return t;
}
