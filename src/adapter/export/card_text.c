/* SPDX-License-Identifier: Apache-2.0 */
/* card_text.c - see card_text.h. */
#include "adapter/export/card_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { LONGEST = 300 }; /* characters that are shown */

/* The next character of UTF-8 text and how many bytes it has; '?' for one broken byte. */
static uint32_t next_character(const unsigned char *s, size_t *bytes)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t n = *s < 0x80 ? 1 : *s >> 5 == 6 ? 2 : *s >> 4 == 14 ? 3 : *s >> 3 == 30 ? 4 : 0;
	uint32_t c = n < 2 ? *s : *s & (0xffu >> (n + 1));

	*bytes = n ? n : 1;
	for (size_t i = 1; i < n; i++) {
		if (s[i] >> 6 != 2) {
			*bytes = 1;
			return '?';
		}
		c = c << 6 | (s[i] & 0x3f);
	}
	return !n || (n > 1 && c < least[n]) || c > 0x10ffff ? '?' : c;
}

static void write_text(FILE *out, const char *text, const char *escaped)
{
	const unsigned char *s = (const unsigned char *)(text ? text : "");
	size_t bytes, shown = 0;

	for (; *s; s += bytes) {
		uint32_t c = next_character(s, &bytes);

		if (shown++ == LONGEST) {
			fputs("…", out);
			return;
		}
		/* What has no shape of its own, or changes the lines or directions around it. */
		if (c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) ||
		    (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff ||
		    (c >= 0xd800 && c <= 0xdfff) || (c & 0xfffe) == 0xfffe || c == '?') {
			fputc('?', out);
			continue;
		}
		if (c < 0x80 && strchr(escaped, (int)c))
			fputc('\\', out);
		fwrite(s, 1, bytes, out);
	}
}

void inv_card_yaml(FILE *out, const char *text)
{
	fputc('"', out);
	write_text(out, text, "\"\\");
	fputc('"', out);
}

/* Any ASCII punctuation may be escaped in Markdown, so what might matter is. */
void inv_card_markdown(FILE *out, const char *text)
{
	write_text(out, text, "\\`*_[]<>()#+-.!|&~:$@");
}
