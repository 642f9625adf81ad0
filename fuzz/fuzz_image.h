/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_image.h - any bytes as an image file: its size by the header, then its pixels.
 *
 * The header may be valid while the data is not, but never the reverse.
 */
#ifndef INV_FUZZ_IMAGE_H
#define INV_FUZZ_IMAGE_H

#include "formats/pixels.h"
#include "fuzz.h"

enum { MAX_PIXELS = 1 << 20 }; /* larger pictures only cost time */

typedef invar_status size_fn(const void *data, uint64_t size, const char *name,
                             uint32_t *width, uint32_t *height);
typedef invar_status decode_fn(const void *data, uint64_t size, const char *name,
                               inv_image *out);

static inline void fuzz_image(const uint8_t *data, size_t size, size_fn *size_of,
                              decode_fn *decode)
{
	inv_image image = {0};
	uint32_t width = 0, height = 0;
	bool sized = size_of(data, size, "fuzz", &width, &height) == INVAR_OK;
	unsigned sum = 0;

	if (sized && (uint64_t)width * height > MAX_PIXELS)
		return;
	if (decode(data, size, "fuzz", &image) == INVAR_OK) {
		require(sized && image.width == width && image.height == height);
		for (size_t i = 0; i < (size_t)width * height * INV_RGB; i++)
			sum += image.pixels[i];
		require(sum <= 255u * INV_RGB * MAX_PIXELS);
	}
	inv_image_clear(&image);
}

#endif
