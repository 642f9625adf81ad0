/* SPDX-License-Identifier: Apache-2.0 */
/*
 * html.h - what the parts of a page share: text, numbers, sections.
 */
#ifndef INV_HTML_H
#define INV_HTML_H

#include <stdbool.h>
#include <stdio.h>

#include "report/page.h"

enum {
	INV_HTML_SECTIONS = 64,
	INV_HTML_GAPS = 64,
	INV_NAME = 60, /* characters of a name that are shown */
	INV_NUMBER = 64
};

typedef struct inv_html {
	FILE *out; /* of the body, while it is written */
	const inv_page *page;
	json_t **json;   /* [document_count]: the documents, for details and options */
	size_t document; /* that is being written */
	unsigned serial; /* of embedded pictures */
	struct {
		char id[40];
		const char *title;
	} section[INV_HTML_SECTIONS];
	size_t sections;
	struct {
		char what[200], why[400];
	} gap[INV_HTML_GAPS];
	size_t gaps;
} inv_html;

/* Escaped for text and for attributes in double quotes, at most `max` characters. */
void inv_html_text(const inv_html *h, const char *text, size_t max);
/* The same with a capital letter. */
void inv_html_sentence(const inv_html *h, const char *text, size_t max);
/* A name from outside, kept apart from the direction of the text around it. */
void inv_html_name(const inv_html *h, const char *name);
/* The title of a column; F is explained. */
void inv_html_column(const inv_html *h, const invar_column *c);

/* "80.6 %", "0.86", "12"; the number alone without a sign of its unit. */
void inv_html_number(char text[INV_NUMBER], const invar_metric *m, double value);
void inv_html_measure(char text[INV_NUMBER], const invar_metric *m, double value);

/* The document that is being written, and a value of it; NULL: none, or only a reason. */
const invar_results *inv_html_results(const inv_html *h);
const invar_metric *inv_html_metric(const invar_results *r, const char *id);
const invar_value *inv_html_value(const invar_results *r, const char *metric,
                                  const char *column);

/* The name of a metric of one class, "beach" of "class.knn.beach"; NULL if it is none. */
const char *inv_html_member(const invar_metric *m);

/* The title of a measurement; its id if it is not known. */
const char *inv_html_measurement(const char *id);

/* <section> with a heading, listed at the top of the page; ends with inv_html_end. */
void inv_html_begin(inv_html *h, const char *id, const char *title);
void inv_html_end(const inv_html *h);
/* One line per reason in the end. */
void inv_html_leave_out(inv_html *h, const char *what, const char *why);

void inv_html_picture(const inv_html *h, const inv_page_picture *p, unsigned box);
/* A picture with its caption below. */
void inv_html_captioned(const inv_html *h, const inv_page_picture *p, unsigned box);

/* A JSON document that no text in it can end. */
void inv_html_json(const inv_html *h, const char *id, const json_t *json);

/* ---- The parts, each in its own file ------------------------------------------------- */

void inv_page_headline(inv_html *h);
void inv_page_overview(inv_html *h);
void inv_page_figures(inv_html *h);
void inv_page_training(inv_html *h);
void inv_page_table(inv_html *h);
/* A table of these metrics alone, as far as they were measured; NULL past the last. */
void inv_page_short_table(const inv_html *h, const char *const *metric);
void inv_page_classes(inv_html *h);
void inv_page_augmentation(inv_html *h);
void inv_page_search(inv_html *h);
/* The first few searches, without a section of their own. */
void inv_page_few_searches(const inv_html *h, const inv_page_pictures *p);
void inv_page_worst(inv_html *h);
void inv_page_use(inv_html *h);
void inv_page_configuration(inv_html *h);

extern const char inv_page_style[], inv_page_script[];

#endif
