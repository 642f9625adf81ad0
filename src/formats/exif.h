/* SPDX-License-Identifier: Apache-2.0 */
/* exif.h - the orientation in an EXIF block. */
#ifndef INV_EXIF_H
#define INV_EXIF_H

#include <stddef.h>
#include <stdint.h>

/*
 * The orientation, 1 to 8, from a block that starts with its TIFF header ("II*" or "MM"); 1
 * if it is absent or the block is damaged.
 */
unsigned inv_exif_orientation(const uint8_t *tiff, size_t size);

#endif
