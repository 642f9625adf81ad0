/* text.c - see text.h. */
#include "cli/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { ESCAPE = 8 }; /* room for one character, escaped or not */

static const char ellipsis[] = "…";

const char *inv_counted(char out[INV_COUNTED], uint64_t count, const char *one,
                        const char *many)
{
	snprintf(out, INV_COUNTED, "%" PRIu64 " %s", count, count == 1 ? one : many);
	return out;
}

/* Bytes of the UTF-8 character at text; 0 if it is none. */
static size_t character_bytes(const char *text)
{
	unsigned char first = (unsigned char)*text;
	size_t bytes = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;

	if (first >= 0x80 && (first < 0xc2 || first > 0xf4))
		return 0;
	for (size_t i = 1; i < bytes; i++)
		if (((unsigned char)text[i] & 0xc0) != 0x80)
			return 0;
	return bytes;
}

static bool is_control(const char *text, size_t bytes)
{
	const unsigned char *c = (const unsigned char *)text;

	return bytes == 1 ? c[0] < 0x20 || c[0] == 0x7f : c[0] == 0xc2 && c[1] < 0xa0;
}

/* Returns the bytes that were taken from text. */
static size_t spell_character(const char *text, char out[ESCAPE])
{
	static const char named[] = "\n\r\t\\", letters[] = "nrt\\";
	const char *at = strchr(named, *text);
	size_t bytes = character_bytes(text);

	if (at)
		snprintf(out, ESCAPE, "\\%c", letters[at - named]);
	else if (!bytes || (bytes == 1 && is_control(text, bytes)))
		snprintf(out, ESCAPE, "\\x%02x", (unsigned char)*text);
	else if (is_control(text, bytes))
		snprintf(out, ESCAPE, "\\u00%02x", (unsigned char)text[1]);
	else
		snprintf(out, ESCAPE, "%.*s", (int)bytes, text);
	return bytes ? bytes : 1;
}

const char *inv_shown(const char *text, char *out, size_t room)
{
	size_t used = 0, fits = 0; /* fits: as much as leaves room for the ellipsis */

	while (*text) {
		char character[ESCAPE];
		size_t taken = spell_character(text, character), length = strlen(character);

		if (used + length >= room) {
			memcpy(out + fits, ellipsis, sizeof ellipsis);
			return out;
		}
		memcpy(out + used, character, length);
		used += length;
		text += taken;
		if (used + sizeof ellipsis <= room)
			fits = used;
	}
	out[used] = '\0';
	return out;
}
