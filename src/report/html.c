/* SPDX-License-Identifier: Apache-2.0 */
/* html.c - text, tables, pictures and JSON of a page. */
#include "report/html.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "measure/measurement.h"
#include "report/svg.h"

void inv_html_put(const inv_html *h, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	for (const char *at = format + strcspn(format, "%"); true;) {
		size_t length = strcspn(at + (*at != '\0'), "%sdufg") + 2;
		char one[16] = "", type;

		fwrite(format, 1, (size_t)(at - format), h->out);
		if (!*at)
			break;
		snprintf(one, sizeof one, "%.*s", (int)length, at);
		type = at[length - 1];
		if (type == '%')
			putc('%', h->out);
		else if (type == 's')
			inv_xml_text(h->out, va_arg(args, const char *),
			             one[1] == '.' ? strtoul(one + 2, NULL, 10) : SIZE_MAX);
		else if (type == 'f' || type == 'g')
			fprintf(h->out, one, va_arg(args, double));
		else if (strstr(one, "ll"))
			fprintf(h->out, one, va_arg(args, long long));
		else if (strchr(one, 'z'))
			fprintf(h->out, one, va_arg(args, size_t));
		else
			fprintf(h->out, one, va_arg(args, int));
		format = at + length;
		at = format + strcspn(format, "%");
	}
	va_end(args);
}

const char *inv_sentence(const char *text, char out[400])
{
	/* Not kNN. */
	bool small = *text >= 'a' && *text <= 'z' && !(text[1] >= 'A' && text[1] <= 'Z');

	snprintf(out, 400, "%s", text);
	if (small)
		*out = (char)(*out - 'a' + 'A');
	return out;
}

void inv_html_table(const inv_html *h, inv_table *t, const char *class)
{
	if (t)
		inv_table_write_html(t, class, h->out);
	inv_table_free(t);
}

const char *inv_html_measurement(const char *id)
{
	const char *title, *about, *name;

	for (size_t i = 0; (name = inv_measurement_about(i, &title, &about)); i++)
		if (strcmp(name, id) == 0)
			return title;
	return id;
}

static const char *const verdicts[] = {"", " wrong", " right"}; /* by right + 1 */

void inv_html_picture(const inv_html *h, const inv_page_picture *p, unsigned box)
{
	double side = p->width > p->height ? p->width : p->height, scale = box / side;
	bool jpeg = p->size > 1 && *(const unsigned char *)p->bytes == 0xff;

	inv_html_put(h,
	             "<img width=\"%.0f\" height=\"%.0f\" class=\"pic%s\" alt=\"%.60s\" "
	             "src=\"data:image/%s;base64,",
	             p->width * scale, p->height * scale,
	             p->same ? " own" : verdicts[p->right + 1], p->caption ? p->caption : "",
	             jpeg ? "jpeg" : "png");
	inv_base64(h->out, p->bytes, p->size);
	fputs("\">", h->out);
}

void inv_html_captioned(const inv_html *h, const inv_page_picture *p, unsigned box)
{
	static const char *const signs[] = {"", "<b class=\"wrong\">✗</b> ",
	                                    "<b class=\"right\">✓</b> "};
	const char *caption = p->caption ? p->caption : "";

	if (!p->bytes)
		return;
	fputs("<figure class=\"thumb\">", h->out);
	inv_html_picture(h, p, box);
	inv_html_put(h, "<figcaption title=\"%.200s\">", caption);
	fputs(p->same ? "<b class=\"right\">★<span class=\"words\"> same image</span></b>"
	              : signs[p->right + 1],
	      h->out);
	if (!p->same)
		inv_html_put(h, INV_HTML_NAME, caption);
	fputs("</figcaption></figure>\n", h->out);
}

/* '<', '>' and '&' stand only in strings, where JSON can spell them otherwise. */
static int put_json_escaped(const char *text, size_t size, void *user)
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
	json_dump_callback(json, put_json_escaped, h->out,
	                   JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
	fputs("</script>\n", h->out);
}
