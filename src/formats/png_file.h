/* SPDX-License-Identifier: Apache-2.0 */
/*
 * png_file.h - PNG files to 8-bit RGB and back, on libspng.
 *
 * Invariants of what is accepted:
 *   1. The size of the header passes inv_check_pixels before any pixel exists.
 *   2. Every critical chunk has its right CRC, and all rows are there.
 *   3. Palette entries that are used exist.
 * Grey becomes three equal channels, alpha is dropped, of 16 bits the upper 8
 * stay, and an orientation in an eXIf chunk is honoured.
 */
#ifndef INV_PNG_FILE_H
#define INV_PNG_FILE_H

#include "formats/pixels.h"

/* `name` is for messages. */
invar_status inv_png_decode(const void *bytes, uint64_t size, const char *name,
                            inv_image *out);
/* The size it would have, from its header alone. */
invar_status inv_png_size(const void *bytes, uint64_t size, const char *name,
                          uint32_t *width, uint32_t *height);
/* A whole PNG file in memory. Gives; inv_free. */
invar_status inv_png_encode(const uint8_t *rgb, uint32_t width, uint32_t height,
                            void **bytes, size_t *size);

#endif
