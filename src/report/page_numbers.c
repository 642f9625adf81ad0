/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_table.c - all numbers of a document, and those that belong to classes.
 *
 * Metrics that share a row of the text table share a heading here and have a line each. The
 * best of several columns is bold, underlined and named in the title of the cell. Metrics
 * that tables leave out are single classes: they are drawn as dots on a line from 0 to
 * 100 %, weakest first.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/html.h"
#include "report/svg.h"
#include "run/results.h"

enum { MAX_CLASSES = 60 };

static bool is_measured(const invar_results *r, const invar_metric *m)
{
	for (size_t c = 0; c < invar_results_columns(r); c++)
		if (inv_html_value(r, m->id, invar_results_column(r, c)->id))
			return true;
	return false;
}

/* ---- The best ------------------------------------------------------------------------ */

/* The best value of at least two; NaN if there is none. */
static double best_value(const invar_results *r, const invar_metric *m)
{
	double best = NAN;
	size_t count = 0;

	for (size_t c = 0; c < invar_results_columns(r) && m->better; c++) {
		const invar_value *v = inv_html_value(r, m->id, invar_results_column(r, c)->id);

		if (!v)
			continue;
		count++;
		if (isnan(best) || (v->value - best) * m->better > 0)
			best = v->value;
	}
	return count > 1 ? best : NAN;
}

/* Equal as shown. */
static bool is_best(const invar_metric *m, double value, double best)
{
	char a[INV_NUMBER], b[INV_NUMBER];

	if (isnan(best))
		return false;
	inv_html_number(a, m, value);
	inv_html_number(b, m, best);
	return strcmp(a, b) == 0;
}

/* ---- Cells and rows ------------------------------------------------------------------ */

static void put_cell(const inv_html *h, const invar_metric *m, const invar_value *v,
                     double best)
{
	char text[INV_NUMBER], low[INV_NUMBER], high[INV_NUMBER];
	bool marked = v && is_best(m, v->value, best);

	if (!v) {
		fputs("<td>–</td>", h->out);
		return;
	}
	inv_html_number(text, m, v->value);
	fprintf(h->out, marked ? "<td class=\"best\" title=\"best\"><b>%s</b>" : "<td>%s",
	        text);
	if (isfinite(v->low) && v->high > v->low) {
		inv_html_number(low, m, v->low);
		inv_html_number(high, m, v->high);
		/* "-2–-1" is hard to read */
		fprintf(h->out, "<small>%s%s%s</small>", low, *low == '-' ? " to " : "–", high);
	}
	fputs("</td>", h->out);
}

static void put_line(const inv_html *h, const invar_metric *m, const char *title)
{
	const invar_results *r = inv_html_results(h);
	double best = best_value(r, m);

	fputs("<tr><th scope=\"row\">", h->out);
	inv_html_text(h, title, 2 * INV_NAME);
	fputs("</th>", h->out);
	for (size_t c = 0; c < invar_results_columns(r); c++)
		put_cell(h, m, inv_html_value(r, m->id, invar_results_column(r, c)->id), best);
	fputs("</tr>\n", h->out);
}

static bool shares_row(const invar_metric *a, const invar_metric *b)
{
	return a && b && strcmp(a->row, b->row) == 0 &&
	       strcmp(a->measurement, b->measurement) == 0;
}

static void put_group(const inv_html *h, size_t first, size_t count)
{
	const invar_results *r = inv_html_results(h);
	const invar_metric *m = invar_results_metric(r, first);
	char title[200];

	snprintf(title, sizeof title, "%.180s%s", m->row,
	         m->unit == INVAR_UNIT_SHARE ? ", %" : "");
	fputs("<tbody>", h->out);
	if (count == 1) {
		put_line(h, m, title);
	} else {
		fprintf(h->out, "<tr class=\"group\"><th scope=\"rowgroup\" colspan=\"%zu\">",
		        invar_results_columns(r) + 1);
		inv_html_text(h, title, 2 * INV_NAME);
		fputs("</th></tr>\n", h->out);
		for (size_t i = 0; i < count; i++) {
			const invar_metric *one = invar_results_metric(r, first + i);

			if (is_measured(r, one))
				put_line(h, one, one->part ? one->part : one->id);
		}
	}
	fputs("</tbody>\n", h->out);
}

static void put_groups(const inv_html *h)
{
	const invar_results *r = inv_html_results(h);

	for (size_t i = 0, count; i < invar_results_metrics(r); i += count) {
		const invar_metric *m = invar_results_metric(r, i);

		for (count = 1; shares_row(m, invar_results_metric(r, i + count)); count++)
			;
		if (!m->detail && is_measured(r, m))
			put_group(h, i, count);
	}
}

static bool has_numbers(const invar_results *r)
{
	for (size_t i = 0; i < invar_results_metrics(r); i++)
		if (!invar_results_metric(r, i)->detail &&
		    is_measured(r, invar_results_metric(r, i)))
			return true;
	return false;
}

static void put_table_head(const inv_html *h)
{
	const invar_results *r = inv_html_results(h);

	fputs("<div class=\"scroll\" tabindex=\"0\"><table "
	      "class=\"results\">\n<thead><tr><th></th>",
	      h->out);
	for (size_t c = 0; c < invar_results_columns(r); c++) {
		fputs("<th scope=\"col\">", h->out);
		inv_html_column(h, invar_results_column(r, c));
		fputs("</th>", h->out);
	}
	fputs("</tr></thead>\n", h->out);
}

/* "LC-kept, clean, %" */
static void name_line(const invar_metric *m, char *title, size_t size)
{
	snprintf(title, size, "%.100s%s%.60s%s", m->row, m->part ? ", " : "",
	         m->part ? m->part : "", m->unit == INVAR_UNIT_SHARE ? ", %" : "");
}

void inv_page_short_table(const inv_html *h, const char *const *metric)
{
	const invar_results *r = inv_html_results(h);
	char title[200];

	put_table_head(h);
	fputs("<tbody>\n", h->out);
	for (size_t i = 0; metric[i]; i++) {
		const invar_metric *m = inv_html_metric(r, metric[i]);

		if (!m || !is_measured(r, m))
			continue;
		name_line(m, title, sizeof title);
		put_line(h, m, title);
	}
	fputs("</tbody></table></div>\n", h->out);
}

void inv_page_table(inv_html *h)
{
	const invar_results *r = inv_html_results(h);
	const char *note;

	if (!has_numbers(r)) {
		inv_html_leave_out(h, "the table of all numbers", "nothing was measured");
		return;
	}
	inv_html_begin(h, "numbers", "All numbers");
	fputs("<p>The best of each line is <b class=\"best\">marked</b>; 95&nbsp;% intervals, "
	      "where there are any, are small.</p>\n",
	      h->out);
	put_table_head(h);
	put_groups(h);
	fputs("</table></div>\n", h->out);
	for (size_t i = 0; (note = inv_results_note_at(r, i)); i++) {
		fputs("<p class=\"note\">", h->out);
		inv_html_text(h, note, 400);
		fputs("</p>\n", h->out);
	}
	inv_html_end(h);
}

/* ---- Classes ------------------------------------------------------------------------- */

/* Detail metrics whose ids begin alike, "class.knn.": one list. */
typedef struct family {
	const invar_results *r;
	const char *id;
	size_t prefix; /* bytes of id that its members share */
	const invar_metric **member;
	size_t count;
} family;

/* Bytes of "class.knn." in "class.knn.beach"; 0 if it is not of a class. */
static size_t prefix_of(const invar_metric *m)
{
	const char *name = inv_html_member(m);

	return name ? (size_t)(name - m->id) : 0;
}

static bool is_member(const family *f, const invar_metric *m)
{
	return prefix_of(m) == f->prefix && strncmp(m->id, f->id, f->prefix) == 0 &&
	       is_measured(f->r, m);
}

/* The value of the last column that has one, which is that of an adapter. */
static double last_value(const invar_results *r, const invar_metric *m)
{
	for (size_t c = invar_results_columns(r); c-- > 0;) {
		const invar_value *v = inv_html_value(r, m->id, invar_results_column(r, c)->id);

		if (v)
			return v->value;
	}
	return NAN;
}

static void sort_members(family *f)
{
	for (size_t i = 1; i < f->count; i++) {
		const invar_metric *m = f->member[i];
		double value = last_value(f->r, m);
		size_t at = i;

		for (; at > 0 && last_value(f->r, f->member[at - 1]) > value; at--)
			f->member[at] = f->member[at - 1];
		f->member[at] = m;
	}
}

static void put_dots(const inv_html *h, const family *f, const invar_metric *m)
{
	double low = 1, high = 0;
	char text[INV_NUMBER];

	fputs("<tr><th scope=\"row\">", h->out);
	inv_html_name(h, m->id + f->prefix);
	fputs("</th><td class=\"track\"><div>", h->out);
	for (size_t c = 0; c < invar_results_columns(f->r); c++) {
		const invar_value *v =
			inv_html_value(f->r, m->id, invar_results_column(f->r, c)->id);

		low = v && v->value < low ? v->value : low;
		high = v && v->value > high ? v->value : high;
	}
	if (high > low)
		fprintf(h->out, "<i class=\"span\" style=\"left:%.1f%%;width:%.1f%%\"></i>",
		        100 * low, 100 * (high - low));
	for (size_t c = 0; c < invar_results_columns(f->r); c++) {
		const invar_value *v =
			inv_html_value(f->r, m->id, invar_results_column(f->r, c)->id);

		if (v)
			fprintf(h->out, "<i class=\"dot b%zu\" style=\"left:%.1f%%\"></i>",
			        c % INV_COLOURS, 100 * v->value);
	}
	fputs("</div></td>", h->out);
	for (size_t c = 0; c < invar_results_columns(f->r); c++) {
		const invar_value *v =
			inv_html_value(f->r, m->id, invar_results_column(f->r, c)->id);

		inv_html_number(text, m, v ? v->value : NAN);
		fprintf(h->out, "<td>%s</td>", text);
	}
	fputs("</tr>\n", h->out);
}

/* The title of the row without the name of the class. */
static void put_family_title(const inv_html *h, const family *f)
{
	const char *row = f->member[0]->row, *name = f->member[0]->id + f->prefix;
	size_t length = strlen(row), tail = strlen(name);
	char title[200];

	if (length > tail + 2 && strcmp(row + length - tail, name) == 0)
		length -= tail + 2;
	snprintf(title, sizeof title, "%.*s", (int)(length < 190 ? length : 190), row);
	fputs("<h3>", h->out);
	inv_html_text(h, title, INV_NAME);
	fputs(", copies recognised, %</h3>\n", h->out);
}

static void put_family(const inv_html *h, family *f)
{
	sort_members(f);
	put_family_title(h, f);
	fputs(
		"<div class=\"scroll\" tabindex=\"0\"><table class=\"dots\">\n<thead><tr><th></th>"
		"<th class=\"track\"></th>",
		h->out);
	for (size_t c = 0; c < invar_results_columns(f->r); c++) {
		fprintf(h->out, "<th scope=\"col\"><i class=\"dot b%zu\"></i>", c % INV_COLOURS);
		if (c)
			inv_html_name(h, invar_results_column(f->r, c)->title);
		else
			fputs("F", h->out);
		fputs("</th>", h->out);
	}
	fputs("</tr></thead><tbody>\n", h->out);
	for (size_t i = 0; i < f->count && i < MAX_CLASSES; i++)
		put_dots(h, f, f->member[i]);
	fputs("</tbody></table></div>\n", h->out);
	if (f->count > MAX_CLASSES)
		fprintf(h->out,
		        "<p class=\"note\">The %d weakest of %zu classes; the JSON below has "
		        "all.</p>\n",
		        MAX_CLASSES, f->count);
}

/* Is it the first metric of its family? */
static bool begins_family(const invar_results *r, size_t i)
{
	family f = {.r = r, .id = invar_results_metric(r, i)->id};

	if (!(f.prefix = prefix_of(invar_results_metric(r, i))) ||
	    !is_member(&f, invar_results_metric(r, i)))
		return false;
	for (size_t before = 0; before < i; before++)
		if (is_member(&f, invar_results_metric(r, before)))
			return false;
	return true;
}

static void put_family_at(const inv_html *h, size_t i)
{
	const invar_results *r = inv_html_results(h);
	size_t all = invar_results_metrics(r);
	family f = {.r = r, .id = invar_results_metric(r, i)->id};

	f.prefix = prefix_of(invar_results_metric(r, i));
	if (!(f.member = calloc(all, sizeof *f.member)))
		return;
	for (size_t k = i; k < all; k++)
		if (is_member(&f, invar_results_metric(r, k)))
			f.member[f.count++] = invar_results_metric(r, k);
	put_family(h, &f);
	free(f.member);
}

void inv_page_classes(inv_html *h)
{
	const invar_results *r = inv_html_results(h);
	size_t i = 0;

	while (i < invar_results_metrics(r) && !begins_family(r, i))
		i++;
	if (i == invar_results_metrics(r)) {
		inv_html_leave_out(h, "accuracy by class", "it was not measured");
		return;
	}
	inv_html_begin(h, "classes", "Accuracy by class");
	fputs("<p>Augmented images of each class, weakest first. Grey is the encoder "
	      "alone.</p>\n<div class=\"pair\">\n",
	      h->out);
	for (; i < invar_results_metrics(r); i++)
		if (begins_family(r, i)) {
			fputs("<div>", h->out);
			put_family_at(h, i);
			fputs("</div>\n", h->out);
		}
	fputs("</div>\n", h->out);
	inv_html_end(h);
}
