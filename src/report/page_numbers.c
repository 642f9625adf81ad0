/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_numbers.c - all numbers of a document, and those that belong to classes.
 *
 * Metrics that tables leave out are single classes: they are drawn as dots on a line from 0
 * to 100 %, weakest first.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/html.h"
#include "report/results_table.h"
#include "run/results.h"

/* Of a list, before its fold and in it. */
enum { FIRST_CLASSES = 8, MAX_CLASSES = 60 };

/* Bytes of "class.knn." in "class.knn.beach"; 0 if the metric is not of a class. */
static size_t prefix_of(const invar_results *r, size_t metric)
{
	const invar_metric *m = invar_results_metric(r, metric);
	const char *name = inv_results_has_any(r, metric) ? inv_metric_class(m) : NULL;

	return name ? (size_t)(name - m->id) : 0;
}

/* Do their ids begin alike, "class.knn."? Then they are of one family: one list. */
static bool are_related(const invar_results *r, size_t a, size_t b)
{
	size_t prefix = prefix_of(r, a);

	return prefix && prefix == prefix_of(r, b) &&
	       strncmp(invar_results_metric(r, a)->id, invar_results_metric(r, b)->id,
	               prefix) == 0;
}

/* The value of the recommended adapter, which stands behind F; else of another. */
static double first_value(const invar_results *r, size_t metric)
{
	const invar_value *v = NULL;

	for (size_t c = 1; c < invar_results_columns(r) && !v; c++)
		v = inv_results_at(r, metric, c);
	v = v ? v : inv_results_at(r, metric, 0);
	return v ? v->value : NAN;
}

/* Dots of all columns on a line, with a bar from the least to the greatest; gives. */
static char *draw_dots(const invar_results *r, size_t metric)
{
	double low = 1, high = 0;
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (size_t c = 0; c < invar_results_columns(r); c++) {
		const invar_value *v = inv_results_at(r, metric, c);

		low = v && v->value < low ? v->value : low;
		high = v && v->value > high ? v->value : high;
	}
	if (!out)
		return NULL;
	fputs("<div>", out);
	if (high > low)
		fprintf(out, "<i class=\"span\" style=\"left:%.1f%%;width:%.1f%%\"></i>", 100 * low,
		        100 * (high - low));
	for (size_t c = 0; c < invar_results_columns(r); c++) {
		const invar_value *v = inv_results_at(r, metric, c);

		if (v && isfinite(v->value))
			fprintf(out, "<i class=\"dot b%zu\" style=\"left:%.1f%%\"></i>",
			        c % INV_COLOURS, 100 * v->value);
	}
	fputs("</div>", out);
	fclose(out);
	return text;
}

/* prefix: bytes of the ids that the members [count] share. */
static inv_table *make_family_table(const invar_results *r, size_t prefix,
                                    const size_t *member, size_t count)
{
	inv_table *t = inv_table_new(2 + invar_results_columns(r));
	char text[INV_SPELLED_NUMBER], *dot;

	if (!t)
		return NULL;
	inv_table_cell(t, "%s", "");
	inv_table_cell(t, "%s", "");
	inv_table_markup(t, "track", strdup(""));
	for (size_t c = 0; c < invar_results_columns(r); c++) {
		inv_table_cell(t, "%s", c ? invar_results_column(r, c)->title : "F");
		inv_table_look(t, INV_LOOK_NAME, NULL);
		if (asprintf(&dot, "<i class=\"dot b%zu\"></i>", c % INV_COLOURS) < 0)
			dot = NULL;
		inv_table_markup(t, NULL, dot);
	}
	for (size_t i = 0; i < count; i++) {
		const invar_metric *m = invar_results_metric(r, member[i]);

		inv_table_cell(t, "%s", m->id + prefix);
		inv_table_look(t, INV_LOOK_NAME, NULL);
		inv_table_cell(t, "%s", "");
		inv_table_markup(t, "track", draw_dots(r, member[i]));
		for (size_t c = 0; c < invar_results_columns(r); c++) {
			const invar_value *v = inv_results_at(r, member[i], c);

			inv_table_cell(t, "%s", inv_spell_number(text, m, v ? v->value : NAN));
		}
	}
	return t;
}

static void put_classes(inv_html *h)
{
	const invar_results *r = h->r;
	size_t all = invar_results_metrics(r), families = 0;
	size_t most = h->folded ? MAX_CLASSES : FIRST_CLASSES;
	size_t *member = calloc(all + 1, sizeof *member); /* of a family, the weakest first */

	for (size_t i = 0; member && i < all; i++) {
		size_t prefix = prefix_of(r, i), count = 0, k = 0, length, tail;
		const invar_metric *m;
		char title[200];

		while (k < i && !are_related(r, i, k))
			k++;
		if (!prefix || k < i)
			continue; /* another metric was the first of its family */
		for (; k < all; k++)
			if (are_related(r, i, k)) {
				size_t at = count++;

				for (; at && first_value(r, member[at - 1]) > first_value(r, k); at--)
					member[at] = member[at - 1];
				member[at] = k;
			}
		/* The title of the family is that of a row without the name of the class. */
		m = invar_results_metric(r, member[0]);
		length = strlen(m->row);
		tail = strlen(m->id + prefix) + 2;
		length = length > tail ? length - tail : length;
		fputs(families++ ? "" : "<div class=\"pair\">\n", h->out);
		snprintf(title, sizeof title, "%.*s", (int)(length < 190 ? length : 190), m->row);
		inv_html_put(h, "<div><h3>%.60s, copies recognised, %%</h3>\n", title);
		inv_html_table(h, make_family_table(r, prefix, member, count < most ? count : most),
		               "dots");
		h->cut = h->cut || count > most;
		if (count > most)
			inv_html_put(h, "<p class=\"note\">The %zu weakest of %zu classes%s.</p>\n",
			             most, count, h->folded ? "; the JSON below has all" : "");
		fputs("</div>\n", h->out);
	}
	if (families)
		fputs("</div>\n", h->out);
	free(member);
}

const inv_section inv_section_classes = {
	.id = "classes",
	.title = "Accuracy by class",
	.text = "Augmented images of each class, those first that are weakest with the "
			"recommended adapter. Grey is the encoder alone.",
	.others = "All classes and adapters",
	.put = put_classes,
	.what = "accuracy by class",
	.why = "it was not measured"};

/* Those that people compare first; in the fold all of them. */
static void put_numbers(inv_html *h)
{
	inv_table *first = h->folded ? NULL : inv_results_first_lines(h->r);

	h->cut = h->cut || first;
	inv_html_table(h, first ? first : inv_results_lines(h->r), "results");
}

const inv_section inv_section_numbers = {
	.id = "numbers",
	.title = "Numbers",
	.text = "The best of each line is <b class=\"best\">marked</b>; 95&nbsp;% intervals, "
			"where there are any, are small.",
	.others = "All numbers",
	.put = put_numbers,
	.what = "the table of all numbers",
	.why = "nothing was measured"};
