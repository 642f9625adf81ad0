/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html.h - common to the sections of a page: text, numbers, pictures.
 */
#ifndef INV_HTML_H
#define INV_HTML_H

#include <stdbool.h>
#include <stdio.h>

#include "report/figure.h"
#include "report/page.h"
#include "report/table.h"

enum { INV_HTML_SECTIONS = 64 };

typedef struct inv_html {
	FILE *out; /* of the section, while it is written */
	const inv_page *page;
	const invar_results *r; /* the document that is being written; NULL: none */
	const invar_results *few,
		*all;        /* F and the recommended adapter; these and the others */
	bool folded;     /* r is `all`, in a section that showed `few` */
	bool cut;        /* a section left something for its fold */
	size_t document; /* its number */
	size_t best_run; /* the recommended one */
	unsigned serial; /* of embedded pictures */
	struct {
		char id[40];
		const char *title;
	} section[INV_HTML_SECTIONS];
	size_t sections;
	inv_page_gaps gaps;
} inv_html;

/*
 * A section of a page is a heading and what it names: a paragraph, figures, and what `put`
 * writes with the calls below. All of it shows F and the recommended adapter;
 * with `others` it follows once more for all adapters, folded. The sections are listed in
 * meson.build, in the order of the page.
 */
typedef struct inv_section {
	const char *id, *title;
	const char *text;         /* a paragraph below the title, as HTML; or NULL */
	bool once;                /* about the runs, not about each document */
	const char *others;       /* what is folded: "all adapters"; or NULL */
	inv_figure_place figures; /* those that say that they belong here */
	void (*put)(inv_html *h);
	const char *what, *why; /* if all of this is nothing, the page says so; or NULL */
} inv_section;

/* Writes it and adds it to the list at the top of the page. */
void inv_html_section(inv_html *h, const inv_section *s);

/*
 * fprintf for text from outside: %s is escaped, for text and for attributes in double
 * quotes, and %.60s are at most 60 characters. Takes %s, %d, %u, %zu, %lld, %f, %g.
 */
void inv_html_put(const inv_html *h, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* A name from outside, shortened, with a text direction of its own. */
#define INV_HTML_NAME "<bdi>%.60s</bdi>"
/* Text with a capital letter; returns out. */
const char *inv_sentence(const char *text, char out[400]);

/* Around what is folded, with inv_html_put: the summary, and the end. */
#define INV_HTML_FOLD "<details><summary>%.120s</summary>\n"
#define INV_HTML_UNFOLD "</details>\n"

/* The figures of a document that belong to a section. */
void inv_html_figures(inv_html *h, inv_figure_place place);
/* Takes the table, which may be NULL; its class is in page.css. */
void inv_html_table(const inv_html *h, inv_table *t, const char *class);

/* The title of a measurement; its id if it is not known. */
const char *inv_html_measurement(const char *id);

void inv_html_picture(const inv_html *h, const inv_page_picture *p, unsigned box);
/* A picture with its caption below. */
void inv_html_captioned(const inv_html *h, const inv_page_picture *p, unsigned box);

/* A JSON document that no text in it can end. */
void inv_html_json(const inv_html *h, const char *id, const json_t *json);

/* ---- What is no section of its own --------------------------------------------------- */

void inv_page_headline(inv_html *h);
/* The title of the adapter that a trial named for a document; or NULL. */
const char *inv_page_recommended(const inv_page *p, size_t document);
/* The first few searches. */
void inv_page_few_searches(const inv_html *h, const inv_page_pictures *p);

extern const char inv_page_style[], inv_page_script[];

#endif
