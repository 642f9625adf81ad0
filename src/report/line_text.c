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
	/* Hidden characters have 2 bytes or more. */
	char *out = malloc(strlen(text) * ESCAPE / 2 + 1);
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

/*
 * Is it a character of UTF-8 that can be shown? Controls and hidden ones cannot, except for
 * joiners (U+200C, U+200D), which a browser needs for some scripts and pictures.
 */
static bool can_show(const char *text, size_t *bytes)
{
	const unsigned char *s = (const unsigned char *)text;
	size_t length = *s < 0x80 ? 1 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : 4, hidden_bytes;
	uint32_t point;

	*bytes = 1;
	if ((*s >= 0x80 && *s < 0xc2) || *s > 0xf4)
		return false;
	for (size_t i = 1; i < length; i++)
		if ((s[i] & 0xc0) != 0x80)
			return false;
	if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] >= 0xa0) ||
	    (*s == 0xef && s[1] == 0xbf && s[2] >= 0xbe) || (*s == 0xf0 && s[1] < 0x90) ||
	    (*s == 0xf4 && s[1] >= 0x90))
		return false; /* overlong, a surrogate, no character, or beyond the last one */
	*bytes = length;
	point = inv_hidden_character(text, &hidden_bytes);
	return !control_bytes(text) && (!point || point == 0x200c || point == 0x200d);
}

size_t inv_count_characters(const char *text)
{
	size_t bytes, length = 0;

	for (; *text; text += bytes, length++)
		can_show(text, &bytes);
	return length;
}

void inv_xml_text(FILE *out, const char *text, size_t max)
{
	static const char special[] = "<>&\"'";
	static const char *const entity[] = {"&lt;", "&gt;", "&amp;", "&quot;", "&#39;"};
	size_t bytes, length = inv_count_characters(text);

	for (size_t i = 0; *text && i < max; text += bytes, i++) {
		const char *found = strchr(special, *text);

		if (i + 1 == max && length > max) {
			fputs("…", out);
			return;
		}
		if (!can_show(text, &bytes))
			putc('?', out);
		else if (found)
			fputs(entity[found - special], out);
		else
			fwrite(text, 1, bytes, out);
	}
}
