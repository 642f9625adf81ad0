/* SPDX-License-Identifier: Apache-2.0 */
/*
 * webp_file.h - WebP files to 8-bit RGB, on libwebp.
 *
 * Invariants of what is accepted:
 *   1. The size of the header passes inv_check_pixels before any pixel exists. (A file of
 *      one colour needs no bits for its pixels, so only the absolute bound is left.)
 *   2. The data is complete.
 *   3. The first frame of an animation is within its image.
 * Lossy and lossless; pixels are those of libwebp's defaults (smooth upsampling of
 * chroma, no dithering). An animation gives its first frame. Alpha is dropped, and
 * the EXIF orientation is honoured.
 */
#ifndef INV_WEBP_FILE_H
#define INV_WEBP_FILE_H

#include "formats/pixels.h"

/* `name` is for messages. */
invar_status inv_webp_decode(const void *bytes, uint64_t size, const char *name,
                             inv_image *out);
/* The size it would have, from its header alone. */
invar_status inv_webp_size(const void *bytes, uint64_t size, const char *name,
                           uint32_t *width, uint32_t *height);

#endif
