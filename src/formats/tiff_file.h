/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tiff_file.h - TIFF files to 8-bit RGB, on libtiff.
 *
 * Invariants of what is accepted:
 *   1. Before libtiff sees the file, the tags of the first directory claim no more bytes
 *      than the file has, for libtiff copies even tags that it does not know.
 *   2. The size of the image, and that of a tile or strip, pass inv_check_pixels before any
 *      pixel exists. A strip decodes to at most 2^28 bytes, more only with one byte of
 *      file per 64, and no allocation of libtiff exceeds 32 MB + 2 bytes per byte of file.
 *   3. Every strip and tile is complete; a warning of the JPEG decoder is an error.
 *   4. Unsigned samples: grey and palettes of 1, 2, 4 and 8 bits, grey also of 16; RGB and
 *      CMYK of 8 and 16; YCbCr if the compression is JPEG. Uncompressed, LZW, deflate,
 *      PackBits, JPEG, CCITT, Zstandard.
 * Only the first page is read. Grey becomes three equal channels; of 16 bits the upper 8
 * stay, so v / 256, whatever the darkest and brightest value of the image; fewer than 8
 * bits are stretched to 0 ... 255. Alpha and other extra samples are dropped; colours
 * that were multiplied by alpha are divided by it first, as Pillow does. The orientation
 * is honoured. All other tags (GeoTIFF, profiles) are ignored.
 */
#ifndef INV_TIFF_FILE_H
#define INV_TIFF_FILE_H

#include "formats/pixels.h"

/* `name` is for messages. */
invar_status inv_tiff_decode(const void *bytes, uint64_t size, const char *name,
                             inv_image *out);
/* The size it would have, from its header alone. */
invar_status inv_tiff_size(const void *bytes, uint64_t size, const char *name,
                           uint32_t *width, uint32_t *height);

#endif
