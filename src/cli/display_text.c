/* SPDX-License-Identifier: Apache-2.0 */
/* display_text.c - see display_text.h. */
#include "cli/display_text.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "report/line_text.h"

enum { ESCAPE = 16 }; /* room for one character, escaped or not */

static const char ellipsis[] = "…";

const char *inv_rate_text(double per_second, char out[INV_SPELLED_TIME])
{
	static const struct {
		double least, times;
		const char *unit;
	} units[] = {{1e6, 1e-6, "M/s"},
	             {1e4, 1e-3, "k/s"},
	             {1, 1, "/s"},
	             {1. / 60, 60, "/min"},
	             {0, 3600, "/h"}};
	size_t i = 0;
	double rate;

	while (per_second < units[i].least)
		i++;
	rate = per_second * units[i].times;
	snprintf(out, INV_SPELLED_TIME, "%.*f%s", rate < 10 || i < 2 ? 1 : 0, rate,
	         units[i].unit);
	return out;
}

const char *inv_duration_text(double seconds, char out[INV_SPELLED_TIME])
{
	unsigned long long whole = (unsigned long long)(seconds + 0.5);

	if (seconds < 59.95)
		snprintf(out, INV_SPELLED_TIME, "%.1f s", seconds);
	else if (whole < 3600)
		snprintf(out, INV_SPELLED_TIME, "%llu min %llu s", whole / 60, whole % 60);
	else
		snprintf(out, INV_SPELLED_TIME, "%llu h %llu min", whole / 3600, whole / 60 % 60);
	return out;
}

const char *inv_size_text(double bytes, char out[INV_SPELLED_TIME])
{
	if (isnan(bytes))
		snprintf(out, INV_SPELLED_TIME, "?");
	else if (bytes < 1e7)
		snprintf(out, INV_SPELLED_TIME, "%.2f MB", bytes / 1e6);
	else if (bytes < 1e10)
		snprintf(out, INV_SPELLED_TIME, "%.0f MB", bytes / 1e6);
	else
		snprintf(out, INV_SPELLED_TIME, "%.1f GB", bytes / 1e9);
	return out;
}

/* The character at text, escaped or not; returns its bytes. */
static size_t spell_character(const char *text, char out[ESCAPE])
{
	static const char named[] = "\n\r\t\\", letters[] = "nrt\\";
	const unsigned char *c = (const unsigned char *)text;
	const char *at = strchr(named, *text);
	size_t bytes = *c < 0x80 ? 1 : *c >= 0xf0 ? 4 : *c >= 0xe0 ? 3 : 2, hidden_bytes;
	uint32_t hidden = inv_hidden_character(text, &hidden_bytes);
	bool utf8 = *c < 0x80 || (*c >= 0xc2 && *c <= 0xf4);

	for (size_t i = 1; utf8 && i < bytes; i++)
		utf8 = (c[i] & 0xc0) == 0x80;
	bytes = utf8 ? bytes : 1;
	if (hidden) {
		snprintf(out, ESCAPE, hidden > 0xffff ? "\\U%08x" : "\\u%04x", hidden);
		return hidden_bytes;
	}
	if (at)
		snprintf(out, ESCAPE, "\\%c", letters[at - named]);
	else if (!utf8 || *c < 0x20 || *c == 0x7f)
		snprintf(out, ESCAPE, "\\x%02x", *c);
	else if (*c == 0xc2 && c[1] < 0xa0) /* second controls */
		snprintf(out, ESCAPE, "\\u00%02x", c[1]);
	else
		snprintf(out, ESCAPE, "%.*s", (int)bytes, text);
	return bytes;
}

const char *inv_shown(const char *text, char *out, size_t size)
{
	size_t used = 0, fits = 0; /* fits: as much as leaves room for the ellipsis */

	while (*text) {
		char character[ESCAPE];
		size_t taken = spell_character(text, character), length = strlen(character);

		if (used + length >= size) {
			memcpy(out + fits, ellipsis, sizeof ellipsis);
			return out;
		}
		memcpy(out + used, character, length);
		used += length;
		text += taken;
		if (used + sizeof ellipsis <= size)
			fits = used;
	}
	out[used] = '\0';
	return out;
}

const char *inv_shell_word(const char *text, char *out, size_t size)
{
	bool plain = *text; /* letters that no shell gives a meaning to, and bytes of UTF-8 */
	size_t fill;

	for (const char *at = text; *at; at++)
		plain = plain && ((unsigned char)*at >= 0x80 || isalnum((unsigned char)*at) ||
		                  strchr("-_./:,=+@%", *at));
	fill = (size_t)snprintf(out, size, plain ? "%s" : "'", text);
	if (plain)
		return out;
	for (; *text && fill + 6 < size; text++)
		fill += (size_t)snprintf(out + fill, size - fill, *text == '\'' ? "'\\''" : "%c",
		                         *text);
	snprintf(out + fill, size - fill, "'");
	return out;
}
