/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_file.h - JPEG files to 8-bit RGB, on libjpeg-turbo.
 *
 * Invariants of what is accepted:
 *   1. The size of the frame header passes inv_check_pixels before any pixel
 *      exists; 8 bits per sample; 1, 3 or 4 components; Huffman codes.
 *   2. The data is complete: a decoder warning is an error, except for stray bytes
 *      between segments, which change no pixel.
 *   3. At most 500 scans, so that a small progressive file cannot take hours.
 * Pixels are those of libjpeg-turbo's defaults (slow integer DCT, smooth
 * upsampling of chroma). Grey becomes three equal channels, CMYK and YCCK are
 * taken as Adobe writes them (inverted) and converted as Pillow does, and the
 * EXIF orientation is honoured.
 */
#ifndef INV_JPEG_FILE_H
#define INV_JPEG_FILE_H

#include "formats/pixels.h"

/* `name` is for messages. */
invar_status inv_jpeg_decode(const void *bytes, uint64_t size, const char *name,
                             inv_image *out);
/* The size it would have, from its header alone. */
invar_status inv_jpeg_size(const void *bytes, uint64_t size, const char *name,
                           uint32_t *width, uint32_t *height);

/* A complete file in memory, quality 1 to 100. Gives; inv_free. */
invar_status inv_jpeg_encode(const uint8_t *rgb, uint32_t width, uint32_t height,
                             unsigned quality, void **bytes, size_t *size);

#endif
