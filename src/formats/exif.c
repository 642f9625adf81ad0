/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exif.c - finds tag 0x0112 in the first directory of a TIFF block.
 *
 * Layout: "II" or "MM" (byte order), 42, offset of the directory; there a count
 * and entries of 12 bytes: tag, type, count, value. Every offset is checked against the
 * size of the block; a damaged block means "not rotated", because the image itself may be
 * fine.
 */
#include "formats/exif.h"

#include <string.h>

enum { HEADER = 8, ENTRY = 12, TAG_ORIENTATION = 0x0112, TYPE_SHORT = 3, UPRIGHT = 1 };

uint64_t inv_tiff_number(const uint8_t *from, unsigned bytes, bool big)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value = value << 8 | from[big ? i : bytes - 1 - i];
	return value;
}

unsigned inv_exif_orientation(const uint8_t *tiff, size_t size)
{
	bool big;
	size_t at, count;

	if (size < HEADER || (memcmp(tiff, "II", 2) != 0 && memcmp(tiff, "MM", 2) != 0))
		return UPRIGHT;
	big = tiff[0] == 'M';
	at = (size_t)inv_tiff_number(tiff + 4, 4, big);
	if (inv_tiff_number(tiff + 2, 2, big) != 42 || at > size - 2)
		return UPRIGHT;
	count = (size_t)inv_tiff_number(tiff + at, 2, big);
	for (at += 2; count-- && at <= size && size - at >= ENTRY; at += ENTRY) {
		unsigned value = (unsigned)inv_tiff_number(tiff + at + 8, 2, big);

		if (inv_tiff_number(tiff + at, 2, big) == TAG_ORIENTATION &&
		    inv_tiff_number(tiff + at + 2, 2, big) == TYPE_SHORT)
			return value >= 1 && value <= 8 ? value : UPRIGHT;
	}
	return UPRIGHT;
}
