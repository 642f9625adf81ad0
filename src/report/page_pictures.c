/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_pictures.c - what can be seen: the augmentation, what a search finds, and the images
 * that a measurement lists.
 */
#include <string.h>

#include "report/html.h"
#include "run/results.h"

enum { BOX = 104, LISTED = 6, FEW = 3 };

static const inv_page_pictures *pictures(const inv_html *h)
{
	const inv_page_pictures *p = h->page->pictures;

	return p && p->document == h->document ? p : NULL;
}

static void put_augmentation(inv_html *h)
{
	const inv_page_pictures *p = pictures(h);
	const char *spec = invar_results_about(h->r, "augment");

	if (!p || !p->sheet_count)
		return;
	fputs("<p>Images as the encoder sees them, and copies of each", h->out);
	if (spec)
		inv_html_put(h, " by <code>%.200s</code>", spec);
	fputs(".</p>\n<div class=\"sheet\">\n", h->out);
	for (size_t i = 0; i < p->sheet_count; i++) {
		if (i % p->per_image == 0)
			fprintf(h->out, "%s<div class=\"strip\">", i ? "</div>\n" : "");
		inv_html_captioned(h, &p->sheet[i], BOX);
	}
	fputs("</div>\n</div>\n", h->out);
}

/* `title` is HTML, `name` follows it; or NULL. */
static void put_strip(const inv_html *h, const char *title, const char *name,
                      const inv_page_picture *found, size_t count)
{
	fprintf(h->out, "<div class=\"found\"><h4>%s", title);
	if (name)
		inv_html_put(h, INV_HTML_NAME, name);
	fputs("</h4><div class=\"strip\">", h->out);
	for (size_t i = 0; i < count; i++)
		inv_html_captioned(h, &found[i], BOX);
	fputs("</div></div>\n", h->out);
}

static void put_queries(const inv_html *h, const inv_page_pictures *p, size_t first,
                        size_t end)
{
	for (size_t i = first; i < end && i < p->query_count; i++) {
		const inv_page_query *q = &p->query[i];
		const inv_page_picture asked[] = {q->clean, q->augmented};

		fputs("<div class=\"query\">", h->out);
		put_strip(h, "image, and as looked up", NULL, asked, 2);
		put_strip(h, "found by F alone", NULL, q->by_f, q->nearest);
		put_strip(h, "with ", p->query_title ? p->query_title : "the adapter", q->by_e,
		          q->nearest);
		fputs("</div>\n", h->out);
	}
}

void inv_page_few_searches(const inv_html *h, const inv_page_pictures *p)
{
	put_queries(h, p, 0, FEW);
}

static void put_search(inv_html *h)
{
	const inv_page_pictures *p = pictures(h);
	size_t by_f = 0, by_e = 0, same_f = 0, same_e = 0;

	if (!p || !p->query_count)
		return;
	for (size_t i = 0; i < p->query_count; i++) {
		const inv_page_query *q = &p->query[i];

		by_f += q->by_f && q->nearest && q->by_f[0].right == 1;
		by_e += q->by_e && q->nearest && q->by_e[0].right == 1;
		same_f += q->by_f && q->nearest && q->by_f[0].same;
		same_e += q->by_e && q->nearest && q->by_e[0].same;
	}
	inv_html_put(
		h,
		"<p>Augmented images, looked up among the clean features of all images. The "
		"index holds F in both cases; only the query passes through the adapter. "
		"Queries are not chosen by how well they do. The same image (★) comes first "
		"for %zu of %zu by F alone and for %zu with the adapter",
		same_f, p->query_count, same_e);
	if (p->query[0].nearest && p->query[0].by_f && p->query[0].by_f[0].right >= 0)
		inv_html_put(h, ", one of the right class (✓) for %zu and %zu", by_f, by_e);
	fputs(".</p>\n", h->out);
	inv_page_few_searches(h, p);
	if (p->query_count <= FEW)
		return;
	inv_html_put(h, INV_HTML_FOLD, "The other queries");
	put_queries(h, p, FEW, p->query_count);
	inv_html_put(h, INV_HTML_UNFOLD);
}

/* Its class and name, then its numbers: "displacement 57.98 · misclassified 1". */
static void put_image(const inv_html *h, json_t *image)
{
	json_int_t row = json_integer_value(json_object_get(image, "row"));
	const char *name = json_string_value(json_object_get(image, "name")), *key;
	const inv_page_pictures *p = pictures(h);
	json_t *class = json_object_get(image, "class"), *value;
	bool any = false;
	size_t at = 0;

	while (p && at < p->row_count &&
	       !(p->row_number[at] == (uint64_t)row && p->row[at].bytes))
		at++;
	fputs("<li>", h->out);
	if (p && at < p->row_count)
		inv_html_picture(h, &p->row[at], BOX);
	fputs("<div>", h->out);
	if (json_is_string(class))
		inv_html_put(h, INV_HTML_NAME, json_string_value(class));
	else if (json_is_integer(class))
		inv_html_put(h, "class %lld", (long long)json_integer_value(class));
	fputs(class ? "<br><small>" : "<small>", h->out);
	if (name)
		inv_html_put(h, INV_HTML_NAME "<br>", name);
	else
		inv_html_put(h, "row %lld<br>", (long long)row);
	json_object_foreach (image, key, value) {
		if (!json_is_number(value) || strcmp(key, "row") == 0 || strcmp(key, "class") == 0)
			continue;
		fputs(any ? " · " : "", h->out);
		inv_html_put(h, "%.60s&nbsp;%.4g", key, json_number_value(value));
		any = true;
	}
	fputs("</small></div></li>\n", h->out);
}

/* Lists that measurements keep as details, of the recommended adapter. */
static void put_worst(inv_html *h)
{
	const char *measurement, *what;
	json_t *details, *list, *image;
	char title[400];
	size_t i, lists = 0;

	json_object_foreach ((json_t *)(uintptr_t)inv_results_all_details(h->r), measurement,
	                     details)
		for (size_t c = 1; c < invar_results_columns(h->r); c++) {
			const invar_column *column = invar_results_column(h->r, c);

			json_object_foreach (json_object_get(details, column->id), what, list) {
				if (!json_is_integer(json_object_get(json_array_get(list, 0), "row")))
					continue;
				if (lists++ == 1)
					inv_html_put(h, INV_HTML_FOLD, "Other lists");
				inv_html_put(h,
				             "<h3>%.60s most, with " INV_HTML_NAME
				             "</h3>\n<ol class=\"images\">\n",
				             inv_sentence(what, title), column->title);
				json_array_foreach (list, i, image)
					if (i < LISTED)
						put_image(h, image);
				fputs("</ol>\n", h->out);
			}
		}
	if (lists > 1)
		inv_html_put(h, INV_HTML_UNFOLD);
}

const inv_section inv_section_augmentation = {
	.id = "augmentation", .title = "The augmentation", .put = put_augmentation};

const inv_section inv_section_search = {
	.id = "search", .title = "What a search finds", .put = put_search};

const inv_section inv_section_worst = {.id = "worst",
                                       .title = "The worst images",
                                       .put = put_worst,
                                       .what = "the worst images",
                                       .why = "they were not measured"};
