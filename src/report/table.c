/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c - filling a table and writing it in several formats.
 *
 * Cells are kept row-major as strings. Widths count terminal columns, not
 * bytes, because a column is often titled with the name of a folder and
 * folders may be called anything.
 */
#include "report/table.h"

#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "base/pool.h"
#include "report/line_text.h"

typedef struct cell {
	char *text, *small, *markup; /* the last two may be NULL */
	const char *class;           /* of the markup */
	unsigned look;
} cell;

struct inv_table {
	inv_pool pool;
	size_t columns;
	cell *cell;
	size_t count;
	char **note;
	size_t notes;
	unsigned long long left; /* a bit per column */
	bool failed;             /* memory ran out */
};

enum { GAP = 2, MAX_CELL = 200 }; /* characters that are shown */

inv_table *inv_table_new(size_t columns)
{
	inv_table *t;

	if (inv_new(&t) != INVAR_OK)
		return NULL;
	t->columns = columns;
	t->left = 1;
	return t;
}

void inv_table_free(inv_table *t)
{
	if (t)
		inv_pool_free(&t->pool);
	inv_free(t);
}

void inv_table_left(inv_table *t, size_t column)
{
	t->left |= 1ull << column;
}

static bool is_left(const inv_table *t, size_t column)
{
	return column < 64 && (t->left >> column & 1);
}

static char *keep_cell_text(inv_table *t, const char *text)
{
	char *kept = NULL;

	t->failed =
		t->failed || !text || inv_pool_print(&t->pool, &kept, "%s", text) != INVAR_OK;
	return kept;
}

/* Text from outside, on one line. */
static char *keep_cell_line(inv_table *t, const char *text)
{
	char *line = text ? inv_line_text(text) : NULL, *kept = keep_cell_text(t, line);

	free(line);
	return kept;
}

void inv_table_cell(inv_table *t, const char *format, ...)
{
	static const char ellipsis[] = "…"; /* has the bytes of three characters at most */
	char *text = NULL, *line, *end;
	size_t characters = 0;
	va_list args;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	end = line = keep_cell_line(t, text);
	free(text);
	t->failed = t->failed || inv_pool_more(&t->pool, &t->cell, t->count) != INVAR_OK;
	if (t->failed)
		return;
	/* A cell of many characters would widen its whole column. */
	for (char *at = line; *at; at++)
		if (((unsigned char)*at & 0xc0) != 0x80 && ++characters == MAX_CELL - 2)
			end = at;
	if (characters > MAX_CELL)
		memcpy(end, ellipsis, sizeof ellipsis);
	t->cell[t->count++].text = line;
}

void inv_table_look(inv_table *t, unsigned look, const char *small)
{
	if (t->failed)
		return;
	t->cell[t->count - 1].look |= look;
	if (small)
		t->cell[t->count - 1].small = keep_cell_text(t, small);
}

void inv_table_markup(inv_table *t, const char *class, char *html)
{
	char *kept = keep_cell_text(t, html);

	free(html);
	if (t->failed)
		return;
	t->cell[t->count - 1].markup = kept;
	t->cell[t->count - 1].class = class;
}

void inv_table_note(inv_table *t, const char *text)
{
	char *line = keep_cell_line(t, text);

	t->failed = t->failed || inv_pool_more(&t->pool, &t->note, t->notes) != INVAR_OK;
	if (!t->failed)
		t->note[t->notes++] = line;
}

void inv_table_number(inv_table *t, double value)
{
	double size = fabs(value);

	if (isnan(value))
		inv_table_cell(t, "-");
	else if (size == 0 || (size >= 0.001 && size < 1e6))
		inv_table_cell(t, "%.4f", value);
	else
		inv_table_cell(t, "%.3e", value);
}

void inv_table_count(inv_table *t, unsigned long long value)
{
	inv_table_cell(t, "%llu", value);
}

/* In a UTF-8 locale; else, and from bytes on that are not UTF-8, a column per character. */
static size_t text_width(const char *text, bool utf8)
{
	const char *end = text + strlen(text);
	mbstate_t state = {0};
	size_t width = 0, bytes;
	wchar_t c;

	for (; text < end && utf8; text += bytes) {
		bytes = mbrtowc(&c, text, (size_t)(end - text), &state);
		if (bytes == 0 || bytes > (size_t)(end - text))
			break;
		width += wcwidth(c) > 0 ? (size_t)wcwidth(c) : 0;
	}
	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

/* Setting a locale takes far longer than measuring a cell, so all are measured in one. */
static void measure_widths(const cell *cells, size_t count, size_t *width)
{
	locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
	locale_t before = utf8 ? uselocale(utf8) : (locale_t)0;

	for (size_t i = 0; i < count; i++)
		width[i] = text_width(cells[i].text, utf8 != (locale_t)0);
	if (utf8) {
		uselocale(before);
		freelocale(utf8);
	}
}

size_t inv_text_width(const char *text)
{
	const cell one = {.text = (char *)(uintptr_t)text};
	size_t width;

	measure_widths(&one, 1, &width);
	return width;
}

static size_t row_count(const inv_table *t)
{
	return t->count / t->columns;
}

static const char *cell_at(const inv_table *t, size_t row, size_t column)
{
	return t->cell[row * t->columns + column].text;
}

static bool write_plain(const inv_table *t, FILE *out)
{
	size_t *width, *column; /* of each cell, and of each column */

	if (inv_new_zeros(&width, t->count + t->columns) != INVAR_OK)
		return false;
	column = width + t->count;
	measure_widths(t->cell, t->count, width);
	for (size_t i = 0; i < t->count; i++) {
		size_t *widest = &column[i % t->columns];

		*widest = width[i] > *widest ? width[i] : *widest;
	}
	for (size_t row = 0; row < row_count(t); row++) {
		for (size_t k = 0; k < t->columns; k++) {
			int space = (int)(column[k] - width[row * t->columns + k]);
			int before = (k ? GAP : 0) + (is_left(t, k) ? 0 : space);
			int after = is_left(t, k) && k + 1 < t->columns ? space : 0;

			fprintf(out, "%*s%s%*s", before, "", cell_at(t, row, k), after, "");
		}
		putc('\n', out);
	}
	for (size_t i = 0; i < t->notes; i++)
		fprintf(out, "%s%s\n", i ? "" : "\n", t->note[i]);
	inv_free(width);
	return true;
}

/* Text is neither a tag nor an entity, and ends no cell. */
void inv_markdown_text(const char *text, FILE *out)
{
	for (; *text; text++)
		if (*text == '<' || *text == '>')
			fputs(*text == '<' ? "&lt;" : "&gt;", out);
		else if (*text == '&')
			fputs("&amp;", out);
		else
			fprintf(out, "%s%c", strchr("|\\`[", *text) ? "\\" : "", *text);
}

static void put_with_escapes(const char *text, const char *special, const char *before,
                             FILE *out)
{
	for (; *text; text++) {
		if (strchr(special, *text))
			fputs(before, out);
		putc(*text, out);
	}
}

/*
 * A spreadsheet takes a text that begins like a formula for one, which may send data or
 * start programs; a leading apostrophe makes it text, and is usual for that. Numbers begin
 * with a sign too, and so do our pairs, "-1.5 | -2". Quotes follow RFC 4180.
 */
void inv_csv_text(const char *text, FILE *out)
{
	bool sign = *text == '+' || *text == '-';
	bool formula = sign ? text[1] && text[strspn(text, "0123456789.eEinfa+-|% –")]
	                    : *text && strchr("=@\t\r", *text);
	bool quoted = formula || strpbrk(text, ",\"");

	fprintf(out, "%s%s", quoted ? "\"" : "", formula ? "'" : "");
	put_with_escapes(text, "\"", "\"", out);
	fputs(quoted ? "\"" : "", out);
}

static void put_latex(const char *text, FILE *out)
{
	for (; *text; text++)
		if (*text == '\\')
			fputs("\\textbackslash{}", out);
		else if (*text == '~' || *text == '^')
			fprintf(out, "\\%c{}", *text);
		else
			fprintf(out, "%s%c", strchr("#$%&_{}", *text) ? "\\" : "", *text);
}

/* A wide table scrolls; tabindex lets keys do it. */
void inv_table_write_html(const inv_table *t, const char *class, FILE *out)
{
	if (t->failed)
		return;
	fprintf(out, "<div class=\"scroll\" tabindex=\"0\"><table class=\"%s\">\n<thead>",
	        class);
	for (size_t row = 0; row < row_count(t); row++) {
		const cell *first = &t->cell[row * t->columns];
		bool heads = first->look & INV_LOOK_HEADS;

		if (row > 1 && (heads || first->look & INV_LOOK_BEGINS))
			fputs("</tbody>\n<tbody>", out);
		fputs(heads                            ? "<tr class=\"group\">"
		      : first->look & INV_LOOK_DIFFERS ? "<tr class=\"differs\">"
		                                       : "<tr>",
		      out);
		for (const cell *c = first; c < first + (heads ? 1 : t->columns); c++) {
			bool th = !row || c == first, name = c->look & INV_LOOK_NAME;
			bool best = c->look & INV_LOOK_BEST;

			fputs(th ? "<th" : "<td", out);
			if (c->look & INV_LOOK_HEADS)
				fprintf(out, " scope=\"rowgroup\" colspan=\"%zu\"", t->columns);
			else if (th && (*c->text || c->markup))
				fprintf(out, " scope=\"%s\"", row ? "row" : "col");
			if (c->class)
				fprintf(out, " class=\"%s\"", c->class);
			fprintf(out, "%s>%s%s%s",
			        best                      ? " class=\"best\" title=\"best\""
			        : c->look & INV_LOOK_HASH ? " class=\"hash\""
			                                  : "",
			        best ? "<b>" : "", c->markup ? c->markup : "", name ? "<bdi>" : "");
			inv_xml_text(out, c->text, name ? 60 : th ? 120 : 200);
			fputs(name ? "</bdi>" : best ? "</b>" : "", out);
			if (c->small) {
				fputs(" <small>", out);
				inv_xml_text(out, c->small, 200);
				fputs("</small>", out);
			}
			fputs(th ? "</th>" : "</td>", out);
		}
		fputs(row ? "</tr>\n" : "</tr></thead>\n<tbody>", out);
	}
	fputs("</tbody></table></div>\n", out);
	for (size_t i = 0; i < t->notes; i++) {
		fputs("<p class=\"note\">", out);
		inv_xml_text(out, t->note[i], 400);
		fputs("</p>\n", out);
	}
}

bool inv_table_write(const inv_table *t, const char *format, FILE *out)
{
	bool markdown = strcmp(format, "markdown") == 0, csv = strcmp(format, "csv") == 0;
	bool latex = !markdown && !csv;
	void (*put)(const char *, FILE *) = markdown ? inv_markdown_text
	                                    : csv    ? inv_csv_text
	                                             : put_latex;

	if (t->failed)
		return false;
	if (strcmp(format, "text") == 0)
		return write_plain(t, out);
	fputs(latex ? "\\begin{tabular}{" : "", out);
	for (size_t k = 0; latex && k < t->columns; k++)
		putc(is_left(t, k) ? 'l' : 'r', out);
	fputs(latex ? "}\n\\hline\n" : "", out);
	for (size_t row = 0; row < row_count(t); row++) {
		fputs(markdown ? "| " : "", out);
		for (size_t k = 0; k < t->columns; k++) {
			fputs(!k ? "" : markdown ? " | " : csv ? "," : " & ", out);
			put(cell_at(t, row, k), out);
		}
		fputs(markdown ? " |\n" : csv ? "\r\n" : " \\\\\n", out);
		fputs(latex && !row ? "\\hline\n" : "", out);
		for (size_t k = 0; markdown && !row && k < t->columns; k++)
			fprintf(out, "|---%s%s", is_left(t, k) ? "" : ":",
			        k + 1 < t->columns ? "" : "|\n");
	}
	fputs(latex ? "\\hline\n\\end{tabular}\n" : "", out);
	for (size_t i = 0; i < t->notes; i++) {
		fputs(markdown ? "\n" : latex ? "\\par " : "", out); /* a paragraph each */
		if (markdown)
			put_with_escapes(t->note[i], "*_<`\\", "\\", out);
		else
			put(t->note[i], out);
		for (size_t k = 1; csv && k < t->columns; k++)
			putc(',', out);
		fputs(csv ? "\r\n" : "\n", out);
	}
	return true;
}
