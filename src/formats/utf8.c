/* SPDX-License-Identifier: Apache-2.0 */
/* utf8.c - see utf8.h. */
#include "formats/utf8.h"

#include <stdint.h>

bool inv_is_utf8(const char *text, size_t bytes)
{
	static const uint32_t least[] = {0, 0x80, 0x800, 0x10000};
	const unsigned char *p = (const unsigned char *)text, *end = p + bytes;

	while (p < end) {
		unsigned more = *p < 0x80 ? 0 : *p < 0xe0 ? 1 : *p < 0xf0 ? 2 : 3;
		uint32_t code = more ? *p & (0x3fu >> more) : *p;

		if ((*p >= 0x80 && *p < 0xc2) || *p > 0xf4 || more >= (size_t)(end - p))
			return false;
		p++;
		for (unsigned i = 0; i < more; i++, p++) {
			if ((*p & 0xc0) != 0x80)
				return false;
			code = code << 6 | (*p & 0x3f);
		}
		if (code < least[more] || (code >= 0xd800 && code < 0xe000) || code > 0x10ffff)
			return false;
	}
	return true;
}
