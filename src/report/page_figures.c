/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_figures.c - the figures of a document in a page: their panels side by side, with a
 * legend and a sentence about what was measured.
 *
 * Embeddings and other scatters come first, then curves, then bars. Bars of a measurement
 * that has curves, points or numbers by class of its own would repeat these.
 */
#include <stdlib.h>
#include <string.h>

#include "measure/measurement.h"
#include "report/figure.h"
#include "report/html.h"
#include "run/results.h"

enum { WIDTH = 520 };

/* ---- Legend -------------------------------------------------------------------------- */

static void put_swatch(inv_html *h, const inv_legend_entry *e)
{
	inv_svg svg = {.serial = h->serial++};

	if (inv_svg_begin(&svg, INV_SWATCH - 6, 18, INV_SVG_EMBEDDED)) {
		inv_legend_swatch(&svg, e, 1, 9);
		if (inv_svg_end(&svg))
			fputs(svg.text, h->out);
	}
	inv_svg_free(&svg);
}

static void put_legend(inv_html *h, const invar_results *r, const inv_figure *f)
{
	inv_legend_entry *entry = calloc(inv_figure_legend_size(r), sizeof *entry);
	size_t count = entry ? f->kind->legend(r, f, entry) : 0;

	if (count)
		fputs("<ul class=\"legend\">", h->out);
	for (size_t i = 0; i < count; i++) {
		fputs("<li>", h->out);
		put_swatch(h, &entry[i]);
		inv_html_name(h, entry[i].text);
		fputs("</li>", h->out);
	}
	if (count)
		fputs("</ul>\n", h->out);
	free(entry);
}

/* ---- Panels -------------------------------------------------------------------------- */

static void put_panel(inv_html *h, const invar_results *r, const inv_figure *f, size_t i)
{
	const inv_figure_form form = {
		.theme = INV_SVG_EMBEDDED, .panel = i, .width = WIDTH, .serial = h->serial++};
	const invar_column *c = inv_figure_panel_column(r, f, i);
	inv_svg svg;

	fputs("<div class=\"panel\"", h->out);
	if (c) {
		fprintf(h->out, " data-document=\"%zu\" data-scatter=\"", h->document);
		inv_html_text(h, f->id, SIZE_MAX);
		fputs("\" data-column=\"", h->out);
		inv_html_text(h, c->id, SIZE_MAX);
		fputs("\"><h4>", h->out);
		inv_html_column(h, c);
		fputs("</h4>", h->out);
	} else {
		fputs(">", h->out);
	}
	if (inv_figure_embed(r, f, &form, &svg))
		fputs(svg.text, h->out);
	inv_svg_free(&svg);
	fputs("</div>\n", h->out);
}

/* "About" phrases of measurements begin in lower case and have no full stop. */
static void put_about(const inv_html *h, const char *measurement)
{
	const char *title, *about, *name;

	for (size_t i = 0; (name = inv_measurement_about(i, &title, &about)); i++)
		if (strcmp(name, measurement) == 0) {
			fputs("<p class=\"about\">", h->out);
			inv_html_sentence(h, about, 400);
			fputs(".</p>\n", h->out);
		}
}

static void put_figure(inv_html *h, const invar_results *r, const inv_figure *f,
                       const char *measurement)
{
	size_t panels = inv_figure_panels(r, f);

	fprintf(h->out, "<figure class=\"plot%s\"><figcaption>", panels > 1 ? " wide" : "");
	fputs("<h3>", h->out);
	inv_html_sentence(h, inv_html_measurement(f->title), 2 * INV_NAME);
	fputs("</h3>\n", h->out);
	if (measurement)
		put_about(h, measurement);
	put_legend(h, r, f);
	fputs("</figcaption>\n<div class=\"panels\">", h->out);
	for (size_t i = 0; i < panels; i++)
		put_panel(h, r, f, i);
	fputs("</div></figure>\n", h->out);
}

/* ---- Which figures ------------------------------------------------------------------- */

static const char *measurement_of(const invar_results *r, const inv_figure *f)
{
	if (f->kind == &inv_figure_points)
		return inv_results_scatter(r, f->index)->measurement;
	if (f->kind == &inv_figure_curves)
		return inv_results_series(r, f->index)->measurement;
	return f->id;
}

static bool has_own_figure(const invar_results *r, const char *measurement)
{
	const inv_series *series;
	const inv_scatter *scatter;

	for (size_t i = 0; (series = inv_results_series(r, i)); i++)
		if (strcmp(series->measurement, measurement) == 0)
			return true;
	for (size_t i = 0; (scatter = inv_results_scatter(r, i)); i++)
		if (strcmp(scatter->measurement, measurement) == 0)
			return true;
	for (size_t i = 0; i < invar_results_metrics(r); i++)
		if (inv_html_member(invar_results_metric(r, i)) &&
		    strcmp(invar_results_metric(r, i)->measurement, measurement) == 0)
			return true;
	return false;
}

/* How many rows of bars a measurement has: a single one says no more than the table. */
static size_t count_bars(const invar_results *r, const char *measurement)
{
	size_t count = 0;

	for (size_t i = 0; i < invar_results_metrics(r); i++) {
		const invar_metric *m = invar_results_metric(r, i);

		count += m->unit == INVAR_UNIT_SHARE && !m->detail &&
		         strcmp(m->measurement, measurement) == 0;
	}
	return count;
}

typedef bool is_shown_fn(const invar_results *r, const inv_figure *f);

static bool is_map(const invar_results *r, const inv_figure *f)
{
	return f->kind == &inv_figure_points &&
	       inv_results_scatter(r, f->index)->class_count +
	               inv_results_scatter(r, f->index)->mark_count >
	           0;
}

static bool is_curve(const invar_results *r, const inv_figure *f)
{
	(void)r;
	return f->kind == &inv_figure_curves;
}

/* "accuracy" is made of several measurements. */
static bool is_comparison(const invar_results *r, const inv_figure *f)
{
	if (f->kind == &inv_figure_points)
		return !is_map(r, f);
	return f->kind == &inv_figure_bars && !has_own_figure(r, f->id) &&
	       (strcmp(f->id, "accuracy") == 0 || count_bars(r, f->id) > 1);
}

static size_t put_kind(inv_html *h, is_shown_fn *is_shown, const char *id,
                       const char *title, const char *text)
{
	const invar_results *r = inv_html_results(h);
	const char *last = "";
	inv_figure f;
	size_t count = 0;

	for (size_t i = 0; inv_figure_find(r, i, &f); i++) {
		const char *measurement = measurement_of(r, &f);

		if (!is_shown(r, &f))
			continue;
		if (!count++) {
			inv_html_begin(h, id, title);
			fprintf(h->out, "<p>%s</p>\n<div class=\"figures\">\n", text);
		}
		put_figure(h, r, &f, strcmp(measurement, last) == 0 ? NULL : measurement);
		last = measurement;
	}
	if (count) {
		fputs("</div>\n", h->out);
		inv_html_end(h);
	}
	return count;
}

void inv_page_figures(inv_html *h)
{
	if (!put_kind(h, is_comparison, "comparison", "Before and after",
	              "One bar per column, the encoder alone (F) first; lines are 95&nbsp;% "
	              "intervals."))
		inv_html_leave_out(h, "bars and distances", "they were not measured");
	if (!put_kind(
			h, is_map, "maps", "Maps of the features",
			"One panel per column, the encoder alone first. Where an augmentation does "
			"not matter, augmented points lie among clean ones of their class."))
		inv_html_leave_out(h, "embeddings", "they were not measured");
	if (!put_kind(h, is_curve, "curves", "Over the augmentation",
	              "Means over bins of a parameter; bands are 95&nbsp;% intervals."))
		inv_html_leave_out(h, "curves over the parameters of the augmentation",
		                   "the bank has no parameters, or they were not measured");
}

void inv_page_training(inv_html *h)
{
	bool any = false;
	inv_figure f;

	for (size_t i = 0; i < h->page->run_count; i++) {
		const invar_results *r = h->page->run[i].training;

		if (!r || !inv_figure_find(r, 0, &f))
			continue;
		if (!any) {
			inv_html_begin(h, "training", "Training");
			fputs("<div class=\"figures\">\n", h->out);
		}
		any = true;
		for (size_t k = 0; inv_figure_find(r, k, &f); k++)
			put_figure(h, r, &f, NULL);
	}
	if (any) {
		fputs("</div>\n", h->out);
		inv_html_end(h);
	} else {
		inv_html_leave_out(h, "loss curves", "no run was trained in epochs");
	}
}
