/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page.c - puts the parts of a page together.
 *
 * The body is written first, since the list of sections stands above it. A policy in the
 * head forbids everything but the page's own style and script and pictures inside it: no
 * text could load or send anything, even if an escape were missing.
 */
#include "report/page.h"

#include <stdlib.h>
#include <string.h>

#include "report/html.h"
#include "report/svg.h"
#include "run/run.h"

/* JSON beyond MAX_JSON bytes leaves out the coordinates of points. */
enum { MAX_JSON = 1000000, MAX_STRING = 1000, MAX_WHY = 300 };

/* ---- Documents as JSON --------------------------------------------------------------- */

static json_t *parse_document(const invar_results *r)
{
	char *text = NULL;
	json_t *json = NULL;

	if (invar_results_json(r, &text) == INVAR_OK)
		json = json_loads(text, 0, NULL);
	invar_free(text);
	return json;
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

static bool parse_documents(inv_html *h)
{
	h->json = calloc(h->page->document_count + 1, sizeof *h->json);
	for (size_t i = 0; h->json && i < h->page->document_count; i++) {
		if (!(h->json[i] = parse_document(h->page->document[i])))
			return false;
		shorten_strings(h->json[i]);
	}
	return h->json;
}

static void free_documents(inv_html *h)
{
	for (size_t i = 0; h->json && i < h->page->document_count; i++)
		json_decref(h->json[i]);
	free(h->json);
}

static size_t size_of(const json_t *json)
{
	return json_dumpb(json, NULL, 0, JSON_COMPACT | JSON_REAL_PRECISION(9));
}

static void put_results(inv_html *h)
{
	json_t *all = json_array();

	for (size_t i = 0; i < h->page->document_count; i++)
		json_array_append(all, h->json[i]);
	if (size_of(all) > MAX_JSON) {
		for (size_t i = 0; i < h->page->document_count; i++)
			json_object_del(h->json[i], "scatters");
		inv_html_leave_out(h, "coordinates of points in the JSON",
		                   "they would make the page larger than 3 MB");
	}
	inv_html_json(h, "invar-results", all);
	json_decref(all);
}

static void put_atlas_json(const inv_html *h)
{
	const inv_page_pictures *p = h->page->pictures;
	json_t *rows, *names;

	if (!p || !p->atlas.bytes)
		return;
	rows = json_array();
	names = p->atlas.name ? json_array() : NULL;
	for (size_t i = 0; i < p->atlas.count; i++) {
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

/* ---- What is left out ---------------------------------------------------------------- */

/* Measurements that could not be made, by their reasons. */
static void gather_skipped(inv_html *h)
{
	const json_t *all = json_object_get(h->json[h->document], "skipped");
	const char *measurement, *column;
	json_t *reasons, *reason;

	json_object_foreach ((json_t *)(uintptr_t)all, measurement, reasons)
		json_object_foreach (reasons, column, reason)
			if (json_is_string(reason))
				inv_html_leave_out(h, inv_html_measurement(measurement),
				                   json_string_value(reason));
}

static void put_gaps(inv_html *h)
{
	for (size_t i = 0; i < h->page->gap_count; i++)
		inv_html_leave_out(h, h->page->gap[i].what, h->page->gap[i].why);
	if (!h->gaps)
		return;
	h->document = 0;
	inv_html_begin(h, "left-out", "Not on this page");
	fputs("<ul>\n", h->out);
	for (size_t i = 0; i < h->gaps; i++) {
		fputs("<li>", h->out);
		inv_html_sentence(h, h->gap[i].what, 2 * INV_NAME);
		fputs(": ", h->out);
		inv_html_text(h, h->gap[i].why, MAX_WHY);
		fputs(".</li>\n", h->out);
	}
	fputs("</ul>\n", h->out);
	inv_html_end(h);
}

/* ---- The body ------------------------------------------------------------------------ */

static void put_document(inv_html *h, size_t i)
{
	h->document = i;
	if (i) {
		const char *bank = invar_results_about(inv_html_results(h), "bank");

		inv_html_begin(h, "bank", "Another bank");
		if (bank) {
			fputs("<p>", h->out);
			inv_html_name(h, bank);
			fputs("</p>\n", h->out);
		}
		inv_page_headline(h);
		inv_html_end(h);
	}
	inv_page_augmentation(h);
	inv_page_search(h);
	inv_page_figures(h);
	inv_page_classes(h);
	inv_page_worst(h);
	inv_page_table(h);
	gather_skipped(h);
}

/* Tables are small, so the JSON of an overview has all of them but points. */
static void put_overview(inv_html *h)
{
	inv_page_overview(h);
	for (size_t i = 0; i < h->page->document_count; i++)
		json_object_del(h->json[i], "scatters");
	put_results(h);
	put_gaps(h);
}

static void put_body(inv_html *h)
{
	if (h->page->part) {
		put_overview(h);
		return;
	}
	for (size_t i = 0; i < h->page->document_count; i++)
		put_document(h, i);
	h->document = 0;
	inv_page_training(h);
	inv_page_use(h);
	inv_page_configuration(h);
	put_results(h);
	put_atlas_json(h);
	put_gaps(h);
}

/* ---- The head ------------------------------------------------------------------------ */

static void put_classes(const inv_html *h, bool dark)
{
	inv_svg_put_colours(h->out, dark);
	inv_svg_put_backgrounds(h->out, dark);
}

static void put_style(const inv_html *h)
{
	const inv_page_pictures *p = h->page->pictures;

	fputs("<style>\n", h->out);
	fputs(inv_page_style, h->out);
	put_classes(h, false);
	fputs("@media screen and (prefers-color-scheme:dark){\n", h->out);
	put_classes(h, true);
	fputs("}\n", h->out);
	if (p && p->atlas.bytes) {
		fputs(".atlas{background-image:url(data:image/jpeg;base64,", h->out);
		inv_base64(h->out, p->atlas.bytes, p->atlas.size);
		fputs(")}\n", h->out);
	}
	fputs("</style>\n", h->out);
}

static void put_titles(const inv_html *h)
{
	if (h->page->title) {
		inv_html_text(h, h->page->title, 2 * INV_NAME);
		return;
	}
	for (size_t i = 0; i < h->page->run_count && i < 4; i++) {
		fputs(i ? ", " : "", h->out);
		inv_html_text(h, h->page->run[i].title, INV_NAME);
	}
	if (h->page->run_count > 4)
		fputs(" …", h->out);
}

static void put_head(const inv_html *h)
{
	fputs(INV_REPORT_MARK
	      "<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta "
	      "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src "
	      "data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; "
	      "form-action 'none'\">\n<meta name=\"viewport\" "
	      "content=\"width=device-width,initial-scale=1\">\n<meta name=\"generator\" "
	      "content=\"invar " INVAR_VERSION "\">\n<title>invar report: ",
	      h->out);
	put_titles(h);
	fputs("</title>\n", h->out);
	put_style(h);
	fputs("</head>\n<body>\n<header>\n<h1>invar report: ", h->out);
	put_titles(h);
	fputs("</h1>\n", h->out);
}

/* The first gap says why. */
static void put_nothing(inv_html *h)
{
	fputs("<p class=\"headline\">Nothing was measured on these runs yet.</p>\n", h->out);
	if (!h->page->gap_count)
		return;
	fputs("<p class=\"note\">Why: ", h->out);
	inv_html_text(h, h->page->gap[0].why, MAX_WHY);
	fputs(".</p>\n", h->out);
}

static void put_top(inv_html *h)
{
	h->document = 0;
	if (h->page->part)
		fprintf(h->out,
		        "<p class=\"headline\">%zu banks, each in a few lines and with a page of "
		        "its own.</p>\n",
		        h->page->document_count);
	else if (h->page->document_count)
		inv_page_headline(h);
	else
		put_nothing(h);
	fputs("<nav>", h->out);
	for (size_t i = 0; i < h->sections; i++) {
		fprintf(h->out, "<a href=\"#%s\">", h->section[i].id);
		inv_html_text(h, h->section[i].title, INV_NAME);
		fputs("</a>", h->out);
	}
	fputs("</nav>\n</header>\n<main>\n", h->out);
}

/* The body, then the head around it; the text of the body is in *body. */
static bool write_page(inv_html *h, FILE *out, char **body)
{
	size_t size;

	if (!parse_documents(h) || !(h->out = open_memstream(body, &size)))
		return false;
	put_body(h);
	if (fclose(h->out) != 0)
		return false;
	h->out = out;
	put_head(h);
	put_top(h);
	fwrite(*body, 1, size, out);
	fprintf(out, "</main>\n<script>\n%s</script>\n</body>\n</html>\n", inv_page_script);
	return true;
}

char *inv_page_text(const inv_page *p, size_t *size)
{
	inv_html *h = calloc(1, sizeof *h);
	char *text = NULL, *body = NULL;
	FILE *out = h ? open_memstream(&text, size) : NULL;
	bool written = false;

	if (out) {
		h->page = p;
		written = write_page(h, out, &body);
		written = !ferror(out) && fclose(out) == 0 && written;
		free_documents(h);
	}
	free(body);
	free(h);
	if (written)
		return text;
	free(text);
	return NULL;
}
