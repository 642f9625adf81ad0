/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pixels.h - a decoded image, the formats that it is read from, and how much memory a file
 * may claim. What a decoder accepts is listed at the top of its file.
 *
 * Images are 8-bit, interleaved and row-major: RGB, whatever the file held.
 */
#ifndef INV_PIXELS_H
#define INV_PIXELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { INV_RGB = 3 };

typedef struct inv_image {
	uint8_t *pixels; /* [height, width, channels] */
	uint32_t width, height;
	uint32_t channels; /* INV_RGB */
	size_t capacity;   /* bytes allocated; images are reused from read to read */
} inv_image;

/* Allocates an RGB image; the pixels are not cleared. Start from {0}. */
invar_status inv_image_shape(inv_image *image, uint32_t width, uint32_t height,
                             const char *name);
void inv_image_clear(inv_image *image); /* frees the pixels; accepts {0} */

/* ---- Formats ---------------------------------------------------------------------- */

/* An image file in memory; `name` is for messages. */
typedef invar_status inv_image_decoder(const void *bytes, uint64_t size, const char *name,
                                       inv_image *out);
/* The size it would have, from its header alone. */
typedef invar_status inv_image_sizer(const void *bytes, uint64_t size, const char *name,
                                     uint32_t *width, uint32_t *height);

inv_image_decoder inv_jpeg_decode, inv_png_decode, inv_tiff_decode, inv_webp_decode;
inv_image_sizer inv_jpeg_size, inv_png_size, inv_tiff_size, inv_webp_size;

/* A complete file in memory, quality 1 to 100. Gives; inv_free. */
invar_status inv_jpeg_encode(const uint8_t *rgb, uint32_t width, uint32_t height,
                             unsigned quality, void **bytes, size_t *size);
invar_status inv_png_encode(const uint8_t *rgb, uint32_t width, uint32_t height,
                            void **bytes, size_t *size);

/* ---- For decoders ----------------------------------------------------------------- */

/*
 * Rejects a size that the bytes of a file cannot contain, before anything is allocated: at
 * most 2^26 pixels, more only with one byte per 64 pixels, and never more than per_byte of
 * the format per byte.
 */
invar_status inv_check_pixels(const char *name, uint32_t width, uint32_t height,
                              uint64_t file_bytes, uint64_t per_byte);

/* Rotates and flips an image upright by its EXIF orientation, 1 (upright) to 8; other
 * values change nothing. */
invar_status inv_image_orient(inv_image *image, unsigned orientation, const char *name);

/* C, M, Y, K, 255 being full ink, to RGB as Pillow converts them: R = (255 - C)(255 - K) /
 * 255. */
void inv_cmyk_to_rgb(const uint8_t ink[4], uint8_t rgb[INV_RGB]);

/*
 * The orientation, 1 to 8, from a block that starts with its TIFF header ("II*" or "MM"); 1
 * if it is absent or the block is damaged.
 */
unsigned inv_exif_orientation(const uint8_t *tiff, size_t size);

/* A number of up to 8 bytes in either byte order, as TIFF files have them. */
uint64_t inv_tiff_number(const uint8_t *from, unsigned bytes, bool big);

#endif
