/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_pictures.c - what can be seen: the augmentation, what a search finds, and the images
 * that a measurement lists.
 */
#include <string.h>

#include "report/html.h"

enum { BOX = 104, LISTED = 10, FEW = 3 };

static const inv_page_pictures *pictures(const inv_html *h)
{
	const inv_page_pictures *p = h->page->pictures;

	return p && p->document == h->document ? p : NULL;
}

/* ---- The augmentation ---------------------------------------------------------------- */

void inv_page_augmentation(inv_html *h)
{
	const inv_page_pictures *p = pictures(h);
	const char *spec = invar_results_about(inv_html_results(h), "augment");

	if (!p || !p->sheet_count)
		return;
	inv_html_begin(h, "augmentation", "The augmentation");
	fputs("<p>Images as the encoder sees them, and copies of each", h->out);
	if (spec) {
		fputs(" by <code>", h->out);
		inv_html_text(h, spec, 200);
		fputs("</code>", h->out);
	}
	fputs(".</p>\n<div class=\"sheet\">\n", h->out);
	for (size_t i = 0; i < p->sheet_count; i++) {
		if (i % p->per_image == 0)
			fprintf(h->out, "%s<div class=\"strip\">", i ? "</div>\n" : "");
		inv_html_captioned(h, &p->sheet[i], BOX);
	}
	fputs("</div>\n</div>\n", h->out);
	inv_html_end(h);
}

/* ---- Search -------------------------------------------------------------------------- */

static void put_found(const inv_html *h, const char *title, bool is_name,
                      const inv_page_picture *found, size_t count)
{
	fputs("<div class=\"found\"><h4>", h->out);
	if (is_name) {
		fputs("with ", h->out);
		inv_html_name(h, title);
	} else {
		fputs(title, h->out);
	}
	fputs("</h4><div class=\"strip\">", h->out);
	for (size_t i = 0; i < count; i++)
		inv_html_captioned(h, &found[i], BOX);
	fputs("</div></div>\n", h->out);
}

static void put_query(const inv_html *h, const inv_page_pictures *p,
                      const inv_page_query *q)
{
	const inv_page_picture asked[] = {q->clean, q->augmented};

	fputs("<div class=\"query\">", h->out);
	put_found(h, "image, and as looked up", false, asked, 2);
	put_found(h, "found by F alone", false, q->by_f, q->nearest);
	put_found(h, p->query_title ? p->query_title : "the adapter", true, q->by_e,
	          q->nearest);
	fputs("</div>\n", h->out);
}

static size_t count_right(const inv_page_pictures *p, bool by_e)
{
	size_t right = 0;

	for (size_t i = 0; i < p->query_count; i++) {
		const inv_page_picture *found = by_e ? p->query[i].by_e : p->query[i].by_f;

		right += found && p->query[i].nearest && found[0].right == 1;
	}
	return right;
}

void inv_page_search(inv_html *h)
{
	const inv_page_pictures *p = pictures(h);

	if (!p || !p->query_count)
		return;
	inv_html_begin(h, "search", "What a search finds");
	fputs("<p>Augmented images, looked up among the clean features of other images. The "
	      "index holds F in both cases; only the query passes through the adapter. Queries "
	      "are not chosen by how well they do.",
	      h->out);
	if (p->query[0].nearest && p->query[0].by_f && p->query[0].by_f[0].right >= 0)
		fprintf(h->out,
		        " ✓ is the class of the query: of these %zu, the nearest image is of the "
		        "right class for %zu by F alone and for %zu with the adapter.",
		        p->query_count, count_right(p, false), count_right(p, true));
	fputs("</p>\n", h->out);
	for (size_t i = 0; i < p->query_count; i++)
		put_query(h, p, &p->query[i]);
	inv_html_end(h);
}

void inv_page_few_searches(const inv_html *h, const inv_page_pictures *p)
{
	for (size_t i = 0; i < p->query_count && i < FEW; i++)
		put_query(h, p, &p->query[i]);
}

/* ---- Lists of images ----------------------------------------------------------------- */

static bool is_list_of_images(const json_t *list)
{
	return json_is_integer(json_object_get(json_array_get(list, 0), "row"));
}

static const inv_page_picture *picture_of(const inv_html *h, json_int_t row)
{
	const inv_page_pictures *p = pictures(h);

	for (size_t i = 0; p && i < p->row_count; i++)
		if (p->row_number[i] == (uint64_t)row && p->row[i].bytes)
			return &p->row[i];
	return NULL;
}

/* Whatever else a list says about an image: "displacement 57.98 · misclassified 1". */
static void put_facts(const inv_html *h, const json_t *image)
{
	const char *key;
	json_t *value;
	bool any = false;

	json_object_foreach ((json_t *)(uintptr_t)image, key, value) {
		if (!json_is_number(value) || strcmp(key, "row") == 0 || strcmp(key, "class") == 0)
			continue;
		fputs(any ? " · " : "", h->out);
		inv_html_text(h, key, INV_NAME);
		fprintf(h->out, "&nbsp;%.4g", json_number_value(value));
		any = true;
	}
}

static void put_class(const inv_html *h, const json_t *image)
{
	const json_t *class = json_object_get(image, "class");

	if (json_is_string(class))
		inv_html_name(h, json_string_value(class));
	else if (json_is_integer(class))
		fprintf(h->out, "class %lld", (long long)json_integer_value(class));
}

static void put_image(const inv_html *h, const json_t *image)
{
	json_int_t row = json_integer_value(json_object_get(image, "row"));
	const char *name = json_string_value(json_object_get(image, "name"));
	const inv_page_picture *picture = picture_of(h, row);

	fputs("<li>", h->out);
	if (picture)
		inv_html_picture(h, picture, BOX);
	fputs("<div>", h->out);
	put_class(h, image);
	fputs(json_object_get(image, "class") ? "<br><small>" : "<small>", h->out);
	if (name)
		inv_html_name(h, name);
	else
		fprintf(h->out, "row %lld", (long long)row);
	fputs("<br>", h->out);
	put_facts(h, image);
	fputs("</small></div></li>\n", h->out);
}

static void put_list(const inv_html *h, const char *column, const char *what,
                     const json_t *list)
{
	const json_t *image;
	size_t i;

	fputs("<h3>", h->out);
	inv_html_sentence(h, what, INV_NAME);
	fputs(" most, with ", h->out);
	inv_html_name(h, column);
	fputs("</h3>\n<ol class=\"images\">\n", h->out);
	json_array_foreach (list, i, image)
		if (i < LISTED)
			put_image(h, image);
	fputs("</ol>\n", h->out);
}

/* Lists that measurements keep as details, of every column; *any: the section is begun. */
static void put_lists(inv_html *h, const json_t *details, bool *any)
{
	const invar_results *r = inv_html_results(h);

	for (size_t c = 0; c < invar_results_columns(r); c++) {
		const invar_column *column = invar_results_column(r, c);
		const char *what;
		json_t *list;

		json_object_foreach (json_object_get(details, column->id), what, list) {
			if (!is_list_of_images(list))
				continue;
			if (!*any)
				inv_html_begin(h, "worst", "The worst images");
			*any = true;
			put_list(h, column->title, what, list);
		}
	}
}

void inv_page_worst(inv_html *h)
{
	const char *measurement;
	json_t *details;
	bool any = false;

	json_object_foreach (json_object_get(h->json[h->document], "details"), measurement,
	                     details)
		put_lists(h, details, &any);
	if (any)
		inv_html_end(h);
	else
		inv_html_leave_out(h, "the worst images", "they were not measured");
}
