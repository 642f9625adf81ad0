/* SPDX-License-Identifier: Apache-2.0 */
/* exif.h - the orientation in an EXIF block. */
#ifndef INV_EXIF_H
#define INV_EXIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The orientation, 1 to 8, from a block that starts with its TIFF header ("II*" or "MM"); 1
 * if it is absent or the block is damaged.
 */
unsigned inv_exif_orientation(const uint8_t *tiff, size_t size);

/* A number of up to 8 bytes in either byte order, as TIFF files have them. */
uint64_t inv_tiff_number(const uint8_t *from, unsigned bytes, bool big);

#endif
