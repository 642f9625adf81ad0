/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.c - puts the sections of a page together.
 *
 * The body is written first, since the list of sections stands above it. A policy in the
 * head forbids everything but the page's own style and script and pictures inside it: no
 * text could load or send anything, even if an escape were missing.
 */
#include "report/page.h"

#include <stdlib.h>
#include <string.h>

#include "report/html.h"
#include "report/results_table.h"
#include "report/section_list.h"
#include "report/svg.h"
#include "run/results.h"
#include "run/run.h"

enum { SECTIONS = sizeof parts / sizeof *parts };

/* JSON beyond MAX_JSON bytes leaves out the coordinates of points. */
enum { MAX_JSON = 1000000, MAX_STRING = 1000 };

static void put_content(inv_html *h, const inv_section *s)
{
	if (s->figures)
		inv_html_figures(h, s->figures);
	if (s->put)
		s->put(h);
}

void inv_html_section(inv_html *h, const inv_section *s)
{
	char id[sizeof h->section->id], *text = NULL;
	size_t size = 0;
	FILE *page = h->out, *section = open_memstream(&text, &size);

	if (!section)
		return;
	h->out = section;
	h->cut = h->all != h->few;
	put_content(h, s);
	if (s->others && h->cut && ftell(section) > 0) {
		inv_html_put(h, INV_HTML_FOLD, s->others);
		h->r = h->all;
		h->folded = true;
		put_content(h, s);
		h->folded = false;
		h->r = h->few;
		inv_html_put(h, INV_HTML_UNFOLD);
	}
	fclose(section);
	h->out = page;
	if (!size && s->what)
		inv_page_leave_out(&h->gaps, s->what, s->why);
	if (size) {
		snprintf(id, sizeof id, h->document ? "%.24s-%zu" : "%s", s->id, h->document + 1);
		if (h->sections < INV_HTML_SECTIONS) {
			memcpy(h->section[h->sections].id, id, sizeof id);
			h->section[h->sections++].title = s->title;
		}
		inv_html_put(h, "<section id=\"%s\">\n<h2>%.60s</h2>\n", id, s->title);
		if (s->text)
			fprintf(h->out, "<p>%s</p>\n", s->text);
		fwrite(text, 1, size, h->out);
		fputs("</section>\n", h->out);
	}
	free(text);
}

static void put_sections(inv_html *h, bool once)
{
	for (size_t i = 0; i < SECTIONS; i++)
		if (parts[i]->once == once)
			inv_html_section(h, parts[i]);
}

void inv_page_leave_out(inv_page_gaps *g, const char *what, const char *why)
{
	size_t i = 0;

	while (i < g->count && strcmp(g->gap[i].why, why) != 0)
		i++;
	if (i == INV_PAGE_GAPS)
		return;
	if (i == g->count) {
		snprintf(g->gap[i].what, sizeof g->gap[i].what, "%s", what);
		snprintf(g->gap[i].why, sizeof g->gap[i].why, "%s", why);
		g->count++;
	} else if (!strstr(g->gap[i].what, what)) {
		size_t length = strlen(g->gap[i].what);

		snprintf(g->gap[i].what + length, sizeof g->gap[i].what - length, ", %s", what);
	}
}

static void put_gaps(inv_html *h)
{
	const inv_page_gaps *own = h->page->gaps;
	char what[400];

	for (size_t i = 0; own && i < own->count; i++)
		inv_page_leave_out(&h->gaps, own->gap[i].what, own->gap[i].why);
	if (!h->gaps.count)
		return;
	fputs("<ul>\n", h->out);
	for (size_t i = 0; i < h->gaps.count; i++)
		inv_html_put(h, "<li>%.120s: %.300s.</li>\n",
		             inv_sentence(h->gaps.gap[i].what, what), h->gaps.gap[i].why);
	fputs("</ul>\n", h->out);
}

/* Names are repeated in a page; programs that need them whole read metrics.json. */
static void shorten_strings(json_t *json)
{
	json_t *value;
	size_t i, length = json_string_length(json);
	const char *key, *text = json_string_value(json);

	json_array_foreach (json, i, value)
		shorten_strings(value);
	json_object_foreach (json, key, value)
		shorten_strings(value);
	if (length > MAX_STRING) {
		char start[MAX_STRING + 8];

		for (length = MAX_STRING; length && ((unsigned char)text[length] & 0xc0) == 0x80;)
			length--;
		snprintf(start, sizeof start, "%.*s…", (int)length, text);
		json_string_set(json, start);
	}
}

/* Tables are small, so the JSON of an overview has all of them but points. */
static void put_json(inv_html *h)
{
	const inv_page_pictures *p = h->page->pictures;
	json_t *all = json_array(), *document, *copy, *rows, *names;
	bool large;
	size_t i;

	for (i = 0; i < h->page->document_count; i++) {
		document = inv_results_document(h->page->document[i]);
		copy = json_deep_copy(document);
		json_decref(document);
		shorten_strings(copy);
		json_array_append_new(all, copy);
	}
	large = json_dumpb(all, NULL, 0, JSON_COMPACT | JSON_REAL_PRECISION(9)) > MAX_JSON;
	json_array_foreach (all, i, document)
		if (large || h->page->part)
			json_object_del(document, "scatters");
	if (large && !h->page->part)
		inv_page_leave_out(&h->gaps, "coordinates of points in the JSON",
		                   "they would make the page larger than 3 MB");
	inv_html_json(h, "invar-results", all);
	json_decref(all);

	/* Which rows the thumbnails are of, for the script. */
	if (!p || !p->atlas.bytes)
		return;
	rows = json_array();
	names = p->atlas.name ? json_array() : NULL;
	for (i = 0; i < p->atlas.count; i++) {
		json_array_append_new(rows, json_integer((json_int_t)p->atlas.row[i]));
		if (names && json_array_append_new(names, json_string(p->atlas.name[i])) != 0)
			json_array_append_new(names, json_string("?")); /* not UTF-8 */
	}
	rows = json_pack("{s:I, s:I, s:I, s:o, s:o*}", "document", (json_int_t)p->document,
	                 "side", (json_int_t)p->atlas.side, "across",
	                 (json_int_t)p->atlas.across, "rows", rows, "names", names);
	inv_html_json(h, "invar-pictures", rows);
	json_decref(rows);
}

bool inv_page_is_search(const inv_page *p)
{
	bool unit = p->run_count > 0;

	for (size_t i = 0; i < p->run_count; i++)
		unit = unit && p->run[i].unit;
	return unit;
}

const char *inv_page_recommended(const inv_page *p, size_t document)
{
	return p->part ? p->part[document].recommended : p->recommended;
}

static void put_other_bank(inv_html *h)
{
	const char *bank = invar_results_about(h->r, "bank");

	if (bank)
		inv_html_put(h, "<p>" INV_HTML_NAME "</p>\n", bank);
	inv_page_headline(h);
}

/*
 * A bank of an overview has what a few searches find, its headline, its cards, the numbers
 * that people compare first, and a link to the page that has everything else. So no page
 * grows with the number of banks.
 */
static void put_bank_of_overview(inv_html *h)
{
	const inv_page_part *part = &h->page->part[h->document];

	if (part->pictures)
		inv_page_few_searches(h, part->pictures);
	inv_page_headline(h);
	inv_html_put(h, INV_HTML_FOLD, "Numbers of all adapters");
	inv_html_table(h, inv_results_first_lines(h->all), "results");
	inv_html_put(h, INV_HTML_UNFOLD);
	if (part->href)
		inv_html_put(h,
		             "<p><a class=\"more\" href=\"%s\">Figures, pictures, all numbers and "
		             "how to use these adapters</a></p>\n",
		             part->href);
}

static void put_body(inv_html *h)
{
	static const inv_section left_out = {
		.id = "left-out", .title = "Not on this page", .put = put_gaps};
	const inv_page *p = h->page;
	const char *measurement, *column;
	json_t *skipped, *reasons, *reason;

	for (; h->document < p->document_count; h->document++) {
		const invar_results *r = p->document[h->document];
		const inv_section bank = {.id = "bank",
		                          .title =
		                              p->part ? p->part[h->document].title : "Another bank",
		                          .put = p->part ? put_bank_of_overview : put_other_bank};
		const invar_column *best =
			inv_page_best(r, inv_page_recommended(p, h->document), inv_page_is_search(p));
		invar_results *few = NULL, *all = NULL;

		if (best && !h->document)
			h->best_run = strtoul(best->id, NULL, 10) - 1; /* "1" is the first run */
		if (best && invar_results_columns(r) > 2 &&
		    inv_results_reorder(r, best->id, true, &all) == INVAR_OK)
			inv_results_reorder(r, best->id, false, &few);
		h->all = few ? all : r;
		h->few = h->r = few ? few : r;
		if (p->part || h->document)
			inv_html_section(h, &bank);
		if (!p->part) {
			put_sections(h, false);
			/* Measurements that could not be made, by their reasons. */
			skipped = (json_t *)(uintptr_t)inv_results_all_skipped(h->all);
			json_object_foreach (skipped, measurement, reasons)
				json_object_foreach (reasons, column, reason)
					if (json_is_string(reason))
						inv_page_leave_out(&h->gaps, inv_html_measurement(measurement),
						                   json_string_value(reason));
		}
		invar_results_free(few);
		invar_results_free(all);
	}
	if (h->best_run >= p->run_count)
		h->best_run = 0;
	h->document = 0;
	h->all = h->few = h->r = p->document_count ? p->document[0] : NULL;
	if (!p->part)
		put_sections(h, true);
	put_json(h);
	inv_html_section(h, &left_out);
}

static void put_title(const inv_html *h)
{
	const inv_page *p = h->page;

	inv_html_put(h, "invar report: %.120s", p->title ? p->title : "");
	for (size_t i = 0; !p->title && i < p->run_count && i < 4; i++)
		inv_html_put(h, i ? ", %.60s" : "%.60s", p->run[i].title);
	fputs(!p->title && p->run_count > 4 ? " …" : "", h->out);
}

static void put_page_head(inv_html *h)
{
	const inv_page_gaps *gaps = h->page->gaps;
	const inv_page_pictures *p = h->page->pictures;

	fputs(INV_REPORT_MARK
	      "<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
	      "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src "
	      "data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; "
	      "form-action 'none'\">\n<meta name=\"viewport\" "
	      "content=\"width=device-width,initial-scale=1\">\n<meta name=\"generator\" "
	      "content=\"invar " INVAR_VERSION "\">\n<title>",
	      h->out);
	put_title(h);
	fputs("</title>\n<style>\n", h->out);
	fputs(inv_page_style, h->out);
	inv_svg_put_colours(h->out, false);
	inv_svg_put_backgrounds(h->out, false);
	fputs("@media screen and (prefers-color-scheme:dark){\n", h->out);
	inv_svg_put_colours(h->out, true);
	inv_svg_put_backgrounds(h->out, true);
	fputs("}\n", h->out);
	if (p && p->atlas.bytes) {
		fputs(".atlas{background-image:url(data:image/jpeg;base64,", h->out);
		inv_base64(h->out, p->atlas.bytes, p->atlas.size);
		fputs(")}\n", h->out);
	}
	fputs("</style>\n</head>\n<body>\n<header>\n<h1>", h->out);
	put_title(h);
	fputs("</h1>\n", h->out);
	if (h->page->part)
		inv_html_put(h,
		             "<p class=\"headline\">%zu banks, each in a few lines and with a page "
		             "of its own.</p>\n",
		             h->page->document_count);
	else if (h->r)
		inv_page_headline(h);
	else
		fputs("<p class=\"headline\">Nothing was measured on these runs yet.</p>\n",
		      h->out);
	if (!h->page->part && !h->r && gaps && gaps->count) /* the first gap says why */
		inv_html_put(h, "<p class=\"note\">Why: %.300s.</p>\n", gaps->gap[0].why);
	fputs("<nav>", h->out);
	for (size_t i = 0; i < h->sections; i++)
		inv_html_put(h, "<a href=\"#%s\">%.60s</a>", h->section[i].id, h->section[i].title);
	fputs("</nav>\n</header>\n<main>\n", h->out);
}

char *inv_page_text(const inv_page *p, size_t *size)
{
	inv_html *h = calloc(1, sizeof *h);
	char *text = NULL, *body = NULL;
	size_t body_size = 0;
	FILE *out = open_memstream(&text, size), *inner = open_memstream(&body, &body_size);
	bool written = h && out && inner;

	if (written) {
		h->page = p;
		h->out = inner;
		put_body(h);
		fflush(inner);
		h->out = out;
		put_page_head(h);
		fwrite(body, 1, body_size, out);
		fprintf(out, "</main>\n<script>\n%s</script>\n</body>\n</html>\n", inv_page_script);
		written = !ferror(inner) && !ferror(out);
	}
	if (inner)
		fclose(inner);
	if (out)
		written = fclose(out) == 0 && written;
	free(body);
	free(h);
	if (written)
		return text;
	free(text);
	return NULL;
}
