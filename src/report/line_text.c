/* SPDX-License-Identifier: Apache-2.0 */
/* line_text.c - see line_text.h. */
#include "report/line_text.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { ESCAPE = 10 }; /* "\U000e0001" */

/* Ranges of code points: controls of direction, of lines, of width 0, and tags. */
static const uint32_t hidden[][2] = {
	{0xad, 0xad},     {0x61c, 0x61c},   {0x180e, 0x180e},
	{0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},
	{0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};

uint32_t inv_hidden_character(const char *text, size_t *bytes)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t length = *s >> 5 == 6 ? 2 : *s >> 4 == 14 ? 3 : *s >> 3 == 30 ? 4 : 0;
	uint32_t point = *s & (0xffu >> (length + 1));

	if (!length)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		point = point << 6 | (s[i] & 0x3f);
	}
	*bytes = length;
	for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
		if (point >= hidden[i][0] && point <= hidden[i][1])
			return point;
	return 0;
}

/* Second controls, U+0080 to U+009F, are controls too. */
static size_t control_bytes(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;

	return *s < 0x20 || *s == 0x7f ? 1 : *s == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0 ? 2 : 0;
}

char *inv_line_text(const char *text)
{
	char *out =
		malloc(strlen(text) * ESCAPE / 2 + 1); /* hidden ones have 2 bytes or more */
	size_t used = 0, bytes;
	uint32_t point;

	if (!out)
		return NULL;
	while (*text) {
		if ((bytes = control_bytes(text))) {
			out[used++] = '?';
		} else if ((point = inv_hidden_character(text, &bytes))) {
			used +=
				(size_t)sprintf(out + used, point > 0xffff ? "\\U%08x" : "\\u%04x", point);
		} else {
			out[used++] = *text;
			bytes = 1;
		}
		text += bytes;
	}
	out[used] = '\0';
	return out;
}

void inv_print_line_of(FILE *out, const char *format, va_list args)
{
	char *text = NULL, *line = NULL;

	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	if (text)
		line = inv_line_text(text);
	fprintf(out, "%s\n", line ? line : "(not enough memory for this line)");
	free(line);
	free(text);
}

void inv_print_line(FILE *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	inv_print_line_of(out, format, args);
	va_end(args);
}

/* ---- XML and HTML -------------------------------------------------------------------- */

/*
 * Controls and hidden characters, except for joiners (U+200C, U+200D), which a browser
 * needs for some scripts and pictures.
 */
static bool is_control(const char *text)
{
	size_t bytes;
	uint32_t point = inv_hidden_character(text, &bytes);

	return control_bytes(text) || (point && point != 0x200c && point != 0x200d);
}

static bool is_whole_character(const char *text, size_t *bytes)
{
	unsigned char c = (unsigned char)*text;
	size_t length = c < 0x80                ? 1
	                : c >= 0xc2 && c < 0xe0 ? 2
	                : c >= 0xe0 && c < 0xf0 ? 3
	                                        : 4;

	*bytes = 1;
	if ((c >= 0x80 && c < 0xc2) || c > 0xf4)
		return false;
	for (size_t i = 1; i < length; i++)
		if (((unsigned char)text[i] & 0xc0) != 0x80)
			return false;
	if ((c == 0xe0 && (unsigned char)text[1] < 0xa0) ||
	    (c == 0xed && (unsigned char)text[1] >= 0xa0) ||
	    (c == 0xef && (unsigned char)text[1] == 0xbf && (unsigned char)text[2] >= 0xbe) ||
	    (c == 0xf0 && (unsigned char)text[1] < 0x90) ||
	    (c == 0xf4 && (unsigned char)text[1] >= 0x90))
		return false; /* overlong, a surrogate, no character, or beyond the last one */
	*bytes = length;
	return !is_control(text);
}

size_t inv_count_characters(const char *text)
{
	size_t bytes, length = 0;

	for (; *text; text += bytes, length++)
		is_whole_character(text, &bytes);
	return length;
}

static void put_character(FILE *out, const char *text, size_t bytes)
{
	if (*text == '<')
		fputs("&lt;", out);
	else if (*text == '>')
		fputs("&gt;", out);
	else if (*text == '&')
		fputs("&amp;", out);
	else if (*text == '"')
		fputs("&quot;", out);
	else if (*text == '\'')
		fputs("&#39;", out);
	else
		fwrite(text, 1, bytes, out);
}

void inv_xml_text(FILE *out, const char *text, size_t max)
{
	size_t bytes, length = inv_count_characters(text);

	for (size_t i = 0; *text && i < max; text += bytes, i++) {
		if (i + 1 == max && length > max) {
			fputs("…", out);
			return;
		}
		if (is_whole_character(text, &bytes))
			put_character(out, text, bytes);
		else
			putc('?', out);
	}
}
