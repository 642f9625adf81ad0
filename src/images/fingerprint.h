/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fingerprint.h - identifies an image by a few bytes.
 *
 * The first 16 bytes of a SHA-256: of the file of an image, or of the pixels (RGB, row by
 * row) where images are not files of their own. Different images
 * have different fingerprints, but for a chance of 2^-128.
 */
#ifndef INV_FINGERPRINT_H
#define INV_FINGERPRINT_H

#include <stdint.h>

#include "images/image.h"

enum { INV_FINGERPRINT = 16 };

typedef struct inv_fingerprint {
	uint8_t byte[INV_FINGERPRINT];
} inv_fingerprint;

invar_status inv_fingerprint_bytes(const void *data, uint64_t bytes, inv_fingerprint *out);
invar_status inv_fingerprint_pixels(const inv_image *image, inv_fingerprint *out);
/*
 * Of a file, and the image in it, decoded from the same bytes. `image`
 * NULL: the file is not decoded.
 */
invar_status inv_fingerprint_file(const char *path, inv_image *image, inv_fingerprint *out);

#endif
