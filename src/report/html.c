/* SPDX-License-Identifier: Apache-2.0 */
/* html.c - text, numbers, sections and pictures of a page. */
#include "report/html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "measure/measurement.h"
#include "report/svg.h"

enum { MAX_DIGITS = 12 };

/* ---- Text ---------------------------------------------------------------------------- */

void inv_html_text(const inv_html *h, const char *text, size_t max)
{
	inv_xml_text(h->out, text, max);
}

void inv_html_sentence(const inv_html *h, const char *text, size_t max)
{
	/* Not kNN. */
	bool small = *text >= 'a' && *text <= 'z' && !(text[1] >= 'A' && text[1] <= 'Z');

	if (small)
		putc(*text - 'a' + 'A', h->out);
	inv_html_text(h, small ? text + 1 : text, max);
}

void inv_html_name(const inv_html *h, const char *name)
{
	fputs("<bdi>", h->out);
	inv_html_text(h, name, INV_NAME);
	fputs("</bdi>", h->out);
}

void inv_html_column(const inv_html *h, const invar_column *c)
{
	if (strcmp(c->id, "F") == 0)
		fputs("F <small>encoder alone</small>", h->out);
	else
		inv_html_name(h, c->title);
}

/* ---- Numbers ------------------------------------------------------------------------- */

void inv_html_number(char text[INV_NUMBER], const invar_metric *m, double value)
{
	int digits = m->digits < MAX_DIGITS ? (int)m->digits : MAX_DIGITS;
	double size = fabs(value);

	if (!isfinite(value))
		snprintf(text, INV_NUMBER, "–");
	else if (m->unit == INVAR_UNIT_COUNT)
		snprintf(text, INV_NUMBER, "%.0f", value);
	else if (m->unit == INVAR_UNIT_SHARE)
		snprintf(text, INV_NUMBER, "%.*f", digits, 100 * value);
	else if (size == 0 || (size >= pow(10, 1 - digits) && size < 1e6))
		snprintf(text, INV_NUMBER, "%.*f", digits, value);
	else
		snprintf(text, INV_NUMBER, "%.*e", digits > 0 ? digits - 1 : 0, value);
}

void inv_html_measure(char text[INV_NUMBER], const invar_metric *m, double value)
{
	inv_html_number(text, m, value);
	if (m->unit == INVAR_UNIT_SHARE && strlen(text) + 4 < INV_NUMBER)
		strcat(text, "\u00a0%"); /* a space that does not break */
}

/* ---- Results ------------------------------------------------------------------------- */

const invar_results *inv_html_results(const inv_html *h)
{
	return h->page->document[h->document];
}

const invar_metric *inv_html_metric(const invar_results *r, const char *id)
{
	for (size_t i = 0; i < invar_results_metrics(r); i++)
		if (strcmp(invar_results_metric(r, i)->id, id) == 0)
			return invar_results_metric(r, i);
	return NULL;
}

const invar_value *inv_html_value(const invar_results *r, const char *metric,
                                  const char *column)
{
	const invar_value *v = invar_results_value(r, metric, column);

	return v && !v->reason && isfinite(v->value) ? v : NULL;
}

/* Such a metric is a detail, and its row ends in the name. */
const char *inv_html_member(const invar_metric *m)
{
	const char *first = strchr(m->id, '.'), *second = first ? strchr(first + 1, '.') : NULL;
	size_t row = strlen(m->row), name = second ? strlen(second + 1) : 0;

	if (!m->detail || m->unit != INVAR_UNIT_SHARE || !second || row < name ||
	    strcmp(m->row + row - name, second + 1) != 0)
		return NULL;
	return second + 1;
}

const char *inv_html_measurement(const char *id)
{
	const char *title, *about, *name;

	for (size_t i = 0; (name = inv_measurement_about(i, &title, &about)); i++)
		if (strcmp(name, id) == 0)
			return title;
	return id;
}

/* ---- Sections ------------------------------------------------------------------------ */

void inv_html_begin(inv_html *h, const char *id, const char *title)
{
	char own[sizeof h->section->id];

	if (h->document)
		snprintf(own, sizeof own, "%.24s-%zu", id, h->document + 1);
	else
		snprintf(own, sizeof own, "%s", id);
	if (h->sections < INV_HTML_SECTIONS) {
		memcpy(h->section[h->sections].id, own, sizeof own);
		h->section[h->sections++].title = title;
	}
	fprintf(h->out, "<section id=\"%s\">\n<h2>", own);
	inv_html_text(h, title, INV_NAME);
	fputs("</h2>\n", h->out);
}

void inv_html_end(const inv_html *h)
{
	fputs("</section>\n", h->out);
}

/* Once, as far as there is space. */
static void append_gap(char *list, size_t size, const char *what)
{
	size_t length = strlen(list);

	if (!strstr(list, what))
		snprintf(list + length, size - length, ", %s", what);
}

void inv_html_leave_out(inv_html *h, const char *what, const char *why)
{
	size_t i = 0;

	for (size_t k = 0; k < h->gaps; k++)
		if (strcmp(h->gap[k].what, what) == 0 && strcmp(h->gap[k].why, why) == 0)
			return;
	while (i < h->gaps && strcmp(h->gap[i].why, why) != 0)
		i++;
	if (i < h->gaps) {
		append_gap(h->gap[i].what, sizeof h->gap->what, what);
		return;
	}
	if (h->gaps == INV_HTML_GAPS)
		return;
	snprintf(h->gap[h->gaps].what, sizeof h->gap->what, "%s", what);
	snprintf(h->gap[h->gaps].why, sizeof h->gap->why, "%s", why);
	h->gaps++;
}

/* ---- Pictures ------------------------------------------------------------------------ */

static const char *type_of(const inv_page_picture *p)
{
	return p->size > 1 && *(const unsigned char *)p->bytes == 0xff ? "jpeg" : "png";
}

void inv_html_picture(const inv_html *h, const inv_page_picture *p, unsigned box)
{
	double side = p->width > p->height ? p->width : p->height, scale = box / side;

	if (!p->bytes)
		return;
	fprintf(h->out, "<img width=\"%.0f\" height=\"%.0f\" class=\"pic%s\" alt=\"",
	        p->width * scale, p->height * scale,
	        p->right == 1   ? " right"
	        : p->right == 0 ? " wrong"
	                        : "");
	inv_html_text(h, p->caption ? p->caption : "", INV_NAME);
	fprintf(h->out, "\" src=\"data:image/%s;base64,", type_of(p));
	inv_base64(h->out, p->bytes, p->size);
	fputs("\">", h->out);
}

void inv_html_captioned(const inv_html *h, const inv_page_picture *p, unsigned box)
{
	if (!p->bytes)
		return;
	fputs("<figure class=\"thumb\">", h->out);
	inv_html_picture(h, p, box);
	fputs("<figcaption title=\"", h->out);
	inv_html_text(h, p->caption ? p->caption : "", 200);
	fprintf(h->out, "\">%s",
	        p->right == 1   ? "<b class=\"right\">✓</b> "
	        : p->right == 0 ? "<b class=\"wrong\">✗</b> "
	                        : "");
	inv_html_name(h, p->caption ? p->caption : "");
	fputs("</figcaption></figure>\n", h->out);
}

static void clear_picture(inv_page_picture *p)
{
	invar_free(p->bytes);
	free(p->caption);
}

static void clear_pictures(inv_page_picture *p, size_t count)
{
	for (size_t i = 0; p && i < count; i++)
		clear_picture(&p[i]);
	free(p);
}

void inv_page_pictures_clear(inv_page_pictures *p)
{
	for (size_t i = 0; i < p->query_count; i++) {
		clear_picture(&p->query[i].clean);
		clear_picture(&p->query[i].augmented);
		clear_pictures(p->query[i].by_f, p->query[i].nearest);
		clear_pictures(p->query[i].by_e, p->query[i].nearest);
	}
	free(p->query);
	free(p->query_title);
	clear_pictures(p->sheet, p->sheet_count);
	clear_pictures(p->row, p->row_count);
	free(p->row_number);
	invar_free(p->atlas.bytes);
	free(p->atlas.row);
	for (size_t i = 0; p->atlas.name && i < p->atlas.count; i++)
		free(p->atlas.name[i]);
	free(p->atlas.name);
	*p = (inv_page_pictures){0};
}

/* ---- JSON ---------------------------------------------------------------------------- */

/* '<', '>' and '&' stand only in strings, where JSON can spell them otherwise. */
static int put_escaped(const char *text, size_t size, void *user)
{
	FILE *out = user;

	for (size_t i = 0; i < size; i++)
		if (text[i] == '<' || text[i] == '>' || text[i] == '&')
			fprintf(out, "\\u%04x", (unsigned)text[i]);
		else
			putc(text[i], out);
	return 0;
}

void inv_html_json(const inv_html *h, const char *id, const json_t *json)
{
	fprintf(h->out, "<script type=\"application/json\" id=\"%s\">", id);
	json_dump_callback(json, put_escaped, h->out,
	                   JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
	fputs("</script>\n", h->out);
}
