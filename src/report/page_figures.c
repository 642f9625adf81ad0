/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_figures.c - figures in a page: their panels side by side, with a legend and a
 * sentence about what was measured. A figure says which section shows it.
 */
#include <stdlib.h>
#include <string.h>

#include "measure/measurement.h"
#include "report/html.h"
#include "run/results.h"

/* FIRST_FIGURES: of a section, before its fold. */
enum { WIDTH = 520, FIRST_FIGURES = 2 };

/* c is the column that it shows; NULL: all of them. */
static void put_panel(inv_html *h, const invar_results *r, const inv_figure *f, size_t i,
                      const invar_column *c)
{
	const inv_figure_form form = {
		.theme = INV_SVG_EMBEDDED, .panel = i, .width = WIDTH, .serial = h->serial++};
	inv_svg svg;

	fputs("<div class=\"panel\"", h->out);
	if (c)
		inv_html_put(h, " data-document=\"%zu\" data-scatter=\"%s\" data-column=\"%s\"",
		             h->document, f->id, c->id);
	fputs(">", h->out);
	if (c && strcmp(c->id, "F") == 0)
		fputs("<h4>F <small>encoder alone</small></h4>", h->out);
	else if (c)
		inv_html_put(h, "<h4>" INV_HTML_NAME "</h4>", c->title);
	if (inv_figure_draw(r, f, &form, &svg))
		fputs(svg.text, h->out);
	inv_svg_free(&svg);
	fputs("</div>\n", h->out);
}

/* `others`: without the panels of F and the recommended adapter, the first two columns. */
static void put_page_figure(inv_html *h, const invar_results *r, const inv_figure *f,
                            bool about, bool others)
{
	inv_legend_entry *entry = calloc(inv_figure_legend_size(r), sizeof *entry);
	size_t count = entry ? f->kind->legend(r, f, entry) : 0;
	const char *name, *unused, *phrase;
	const invar_column *c;
	char text[400];

	inv_html_put(h, "<figure class=\"plot%s\"><figcaption><h3>%.120s</h3>\n",
	             f->kind->panel && f->kind->panel(r, f, 1) ? " wide" : "",
	             inv_sentence(inv_html_measurement(f->title), text));
	/* Phrases about measurements begin in lower case and have no full stop. */
	for (size_t i = 0; about && (name = inv_measurement_about(i, &unused, &phrase)); i++)
		if (strcmp(name, f->measurement) == 0)
			inv_html_put(h, "<p class=\"about\">%s.</p>\n", inv_sentence(phrase, text));
	if (count)
		fputs("<ul class=\"legend\">", h->out);
	for (size_t i = 0; i < count; i++) {
		inv_svg svg = {.serial = h->serial++};

		fputs("<li>", h->out);
		if (inv_svg_begin(&svg, INV_SWATCH - 6, 18, INV_SVG_EMBEDDED)) {
			inv_legend_swatch(&svg, &entry[i], 1, 9);
			if (inv_svg_end(&svg))
				fputs(svg.text, h->out);
		}
		inv_svg_free(&svg);
		inv_html_put(h, INV_HTML_NAME "</li>", entry[i].text);
	}
	if (count)
		fputs("</ul>\n", h->out);
	free(entry);
	fputs("</figcaption>\n<div class=\"panels\">", h->out);
	if (!f->kind->panel)
		put_panel(h, r, f, 0, NULL);
	for (size_t i = 0; f->kind->panel && (c = f->kind->panel(r, f, i)); i++)
		if (!others || (c != invar_results_column(r, 0) && c != invar_results_column(r, 1)))
			put_panel(h, r, f, i, c);
	fputs("</div></figure>\n", h->out);
}

/*
 * The sentence about a measurement stands with its first figure. The fold has all figures
 * of all adapters, but no panel and no figure twice.
 */
void inv_html_figures(inv_html *h, inv_figure_place place)
{
	const char *last = NULL;
	size_t number = 0;
	inv_figure f;

	for (size_t i = 0; inv_figure_find(h->r, i, &f); i++) {
		bool first = f.place == place && number++ < FIRST_FIGURES;

		h->cut = h->cut || (f.place == place && !first);
		if (f.place != place || (h->folded ? first && h->all == h->few : !first))
			continue;
		fputs(last ? "" : "<div class=\"figures\">\n", h->out);
		put_page_figure(h, h->r, &f, !last || strcmp(f.measurement, last) != 0,
		                h->folded && first);
		last = f.measurement;
	}
	fputs(last ? "</div>\n" : "", h->out);
}

static void put_training(inv_html *h)
{
	bool any = false;
	inv_figure f;

	for (size_t i = 0; i < h->page->run_count; i++) {
		const invar_results *r = h->page->run[i].training;

		for (size_t k = 0; r && inv_figure_find(r, k, &f); k++) {
			if (!any) {
				inv_html_put(h, INV_HTML_FOLD, "The loss and its terms over the epochs");
				fputs("<div class=\"figures\">\n", h->out);
			}
			put_page_figure(h, r, &f, false, false);
			any = true;
		}
	}
	if (any) {
		fputs("</div>\n", h->out);
		inv_html_put(h, INV_HTML_UNFOLD);
	}
}

const inv_section inv_section_comparison = {
	.id = "comparison",
	.title = "Before and after",
	.text = "One bar per column, the encoder alone (F) first; lines are 95&nbsp;% "
			"intervals.",
	.figures = INV_IN_COMPARISON,
	.others = "All figures and adapters",
	.what = "bars and distances",
	.why = "they were not measured"};

const inv_section inv_section_maps = {
	.id = "maps",
	.title = "Maps of the features",
	.text = "One panel per column, the encoder alone first. Where an augmentation does not "
			"matter, augmented points lie among clean ones of their class.",
	.figures = INV_IN_MAPS,
	.others = "Maps of the other adapters",
	.what = "embeddings",
	.why = "they were not measured"};

const inv_section inv_section_curves = {
	.id = "curves",
	.title = "Over the augmentation",
	.text = "Means over bins of a parameter; bands are 95&nbsp;% intervals.",
	.figures = INV_IN_CURVES,
	.others = "All curves and adapters",
	.what = "curves over the parameters of the augmentation",
	.why = "the bank has no parameters, or they were not measured"};

const inv_section inv_section_training = {.id = "training",
                                          .title = "Training",
                                          .once = true,
                                          .put = put_training,
                                          .what = "loss curves",
                                          .why = "no run was trained in epochs"};
