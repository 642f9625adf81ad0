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

enum { MAX_CLASSES = 60 };

/* ---- Classes ------------------------------------------------------------------------- */

/* Detail metrics whose ids begin alike, "class.knn.": one list. */
typedef struct family {
	const invar_results *r;
	const char *id;
	size_t prefix;  /* bytes of id that its members share */
	size_t *member; /* [count]: places of metrics, the weakest first */
	size_t count;
} family;

/* Bytes of "class.knn." in "class.knn.beach"; 0 if it is not of a class. */
static size_t prefix_of(const invar_metric *m)
{
	const char *name = inv_metric_class(m);

	return name ? (size_t)(name - m->id) : 0;
}

static bool is_member(const family *f, size_t metric)
{
	const invar_metric *m = invar_results_metric(f->r, metric);

	return prefix_of(m) == f->prefix && strncmp(m->id, f->id, f->prefix) == 0 &&
	       inv_results_has_any(f->r, metric);
}

/* The value of the last column that has one, which is that of an adapter. */
static double last_value(const invar_results *r, size_t metric)
{
	const invar_value *v = NULL;

	for (size_t c = invar_results_columns(r); c-- > 0 && !v;)
		v = inv_results_at(r, metric, c);
	return v ? v->value : NAN;
}

static void add_member(family *f, size_t metric)
{
	double value = last_value(f->r, metric);
	size_t at = f->count++;

	for (; at > 0 && last_value(f->r, f->member[at - 1]) > value; at--)
		f->member[at] = f->member[at - 1];
	f->member[at] = metric;
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

static inv_table *make_table(const family *f)
{
	inv_table *t = inv_table_new(2 + invar_results_columns(f->r));
	char text[INV_SPELLED_NUMBER], *dot;

	if (!t)
		return NULL;
	inv_table_cell(t, "%s", "");
	inv_table_cell(t, "%s", "");
	inv_table_markup(t, "track", strdup(""));
	for (size_t c = 0; c < invar_results_columns(f->r); c++) {
		inv_table_cell(t, "%s", c ? invar_results_column(f->r, c)->title : "F");
		inv_table_look(t, INV_LOOK_NAME, NULL);
		if (asprintf(&dot, "<i class=\"dot b%zu\"></i>", c % INV_COLOURS) < 0)
			dot = NULL;
		inv_table_markup(t, NULL, dot);
	}
	for (size_t i = 0; i < f->count && i < MAX_CLASSES; i++) {
		const invar_metric *m = invar_results_metric(f->r, f->member[i]);

		inv_table_cell(t, "%s", m->id + f->prefix);
		inv_table_look(t, INV_LOOK_NAME, NULL);
		inv_table_cell(t, "%s", "");
		inv_table_markup(t, "track", draw_dots(f->r, f->member[i]));
		for (size_t c = 0; c < invar_results_columns(f->r); c++) {
			const invar_value *v = inv_results_at(f->r, f->member[i], c);

			inv_table_cell(t, "%s", inv_spell_number(text, m, v ? v->value : NAN));
		}
	}
	return t;
}

/* Its title is that of a row without the name of the class. */
static void put_family(const inv_html *h, const family *f)
{
	const invar_metric *m = invar_results_metric(f->r, f->member[0]);
	size_t length = strlen(m->row), tail = strlen(m->id + f->prefix);
	char title[200];

	if (length > tail + 2)
		length -= tail + 2;
	snprintf(title, sizeof title, "%.*s", (int)(length < 190 ? length : 190), m->row);
	inv_html_put(h, "<div><h3>%.60s, copies recognised, %%</h3>\n", title);
	inv_html_table(h, make_table(f), "dots");
	if (f->count > MAX_CLASSES)
		inv_html_put(h,
		             "<p class=\"note\">The %d weakest of %zu classes; the JSON below has "
		             "all.</p>\n",
		             MAX_CLASSES, f->count);
	fputs("</div>\n", h->out);
}

static void put_classes(inv_html *h)
{
	size_t all = invar_results_metrics(h->r), families = 0;
	size_t *member = calloc(all + 1, sizeof *member);

	for (size_t i = 0; member && i < all; i++) {
		const invar_metric *m = invar_results_metric(h->r, i);
		family f = {h->r, m->id, prefix_of(m), member, 0};
		bool is_first = f.prefix && is_member(&f, i);

		for (size_t k = 0; k < i && is_first; k++)
			is_first = !is_member(&f, k);
		for (size_t k = i; k < all && is_first; k++)
			if (is_member(&f, k))
				add_member(&f, k);
		if (is_first && !families++)
			fputs("<div class=\"pair\">\n", h->out);
		if (is_first)
			put_family(h, &f);
	}
	if (families)
		fputs("</div>\n", h->out);
	free(member);
}

const inv_section inv_section_classes = {
	.id = "classes",
	.title = "Accuracy by class",
	.text = "Augmented images of each class, weakest first. Grey is the encoder alone.",
	.put = put_classes,
	.what = "accuracy by class",
	.why = "it was not measured"};

const inv_section inv_section_numbers = {
	.id = "numbers",
	.title = "All numbers",
	.text = "The best of each line is <b class=\"best\">marked</b>; 95&nbsp;% intervals, "
			"where there are any, are small.",
	.table = inv_results_lines,
	.what = "the table of all numbers",
	.why = "nothing was measured"};
