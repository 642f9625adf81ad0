/* SPDX-License-Identifier: Apache-2.0 */
/* pixels.c - memory for images, how much of it a file may claim, and their orientation. */
#include "formats/pixels.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"

enum { FREE_PIXELS = 1 << 26, USUAL_PER_BYTE = 64 };

invar_status inv_image_shape(inv_image *image, uint32_t width, uint32_t height,
                             const char *name)
{
	uint64_t bytes;

	if (inv_mul_overflow((uint64_t)width * height, INV_RGB, &bytes) || bytes > SIZE_MAX)
		return inv_fail(INVAR_E_FORMAT, "%s: %" PRIu32 " x %" PRIu32 " pixels are too many",
		                name, width, height);
	if (bytes > image->capacity) {
		inv_image_clear(image);
		INV_TRY(inv_new_array(&image->pixels, bytes));
		image->capacity = bytes;
	}
	image->width = width;
	image->height = height;
	image->channels = INV_RGB;
	return INVAR_OK;
}

void inv_image_clear(inv_image *image)
{
	inv_free(image->pixels);
	*image = (inv_image){0};
}

invar_status inv_check_pixels(const char *name, uint32_t width, uint32_t height,
                              uint64_t file_bytes, uint64_t per_byte)
{
	uint64_t pixels = (uint64_t)width * height;

	if (!pixels)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: its header says %" PRIu32 " x %" PRIu32 " pixels", name, width,
		                height);
	if (pixels > FREE_PIXELS && per_byte > USUAL_PER_BYTE)
		per_byte = USUAL_PER_BYTE;
	if (pixels / per_byte <= file_bytes)
		return INVAR_OK;
	return inv_fail(INVAR_E_FORMAT,
	                "%s: its header says %" PRIu32 " x %" PRIu32
	                " pixels, more than %" PRIu64 " per byte of its %" PRIu64 " bytes",
	                name, width, height, per_byte, file_bytes);
}

invar_status inv_image_orient(inv_image *image, unsigned orientation, const char *name)
{
	bool swap = orientation >= 5;
	bool flip_columns = orientation == 2 || orientation == 3 || orientation >= 7;
	bool flip_rows =
		orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
	inv_image upright = {0};

	if (orientation < 2 || orientation > 8)
		return INVAR_OK;
	INV_TRY(inv_image_shape(&upright, swap ? image->height : image->width,
	                        swap ? image->width : image->height, name));
	for (uint32_t y = 0; y < upright.height; y++)
		for (uint32_t x = 0; x < upright.width; x++) {
			uint32_t column = swap ? y : x, row = swap ? x : y;

			column = flip_columns ? image->width - 1 - column : column;
			row = flip_rows ? image->height - 1 - row : row;
			memcpy(upright.pixels + ((size_t)y * upright.width + x) * INV_RGB,
			       image->pixels + ((size_t)row * image->width + column) * INV_RGB,
			       INV_RGB);
		}
	inv_image_clear(image);
	*image = upright;
	return INVAR_OK;
}

void inv_cmyk_to_rgb(const uint8_t ink[4], uint8_t rgb[INV_RGB])
{
	unsigned white = 255u - ink[3];

	for (size_t k = 0; k < INV_RGB; k++) {
		unsigned t = ink[k] * white + 128; /* over 255, rounded, as Pillow computes it */

		rgb[k] = (uint8_t)(white - (((t >> 8) + t) >> 8));
	}
}

/* ---- EXIF ------------------------------------------------------------------------- */

/*
 * Tag 0x0112 in the first directory of a TIFF block. Layout: "II" or "MM" (byte order), 42,
 * offset of the directory; there a count and entries of 12 bytes: tag, type, count, value.
 * Every offset is checked against the size of the block; a damaged block means "not
 * rotated", because the image itself may be fine.
 */
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
