/* SPDX-License-Identifier: Apache-2.0 */
/* image.h - the image that data sets return and the rest of this folder uses. */
#ifndef INV_IMAGE_H
#define INV_IMAGE_H

#include <stdbool.h>

#include "base/file.h"
#include "formats/pixels.h" /* inv_image: 8-bit RGB, and how it is made and freed */

/* Formats that are read, for messages; the table is in image.c. */
#define INV_IMAGE_FORMATS "JPEG, PNG, TIFF or WebP"

/* Whether the name ends as one of them does: ".jpg", ".TIF", … */
bool inv_is_image_name(const char *name);

/* A file of one of them, recognised by its first bytes, whatever its name. */
invar_status inv_image_load(const char *path, inv_image *out);
/*
 * Its bytes. Faults of the image itself are INVAR_E_FORMAT, so that it may be skipped. A
 * file that cannot be opened for other reasons (permission, too many open files, a disk
 * error) says nothing about the image and stays INVAR_E_IO.
 */
invar_status inv_image_map(const char *path, inv_map *map);

/* From the bytes of such a file, the image, or its size from the header alone; `name` is
 * for messages. */
invar_status inv_image_decode(const void *bytes, uint64_t size, const char *name,
                              inv_image *out);
invar_status inv_image_size(const void *bytes, uint64_t size, const char *name,
                            uint32_t *width, uint32_t *height);

/*
 * Identifies an image: the first 16 bytes of a SHA-256 of its file, or of its pixels (RGB,
 * row by row) where images are not files of their own. Different images have different
 * fingerprints, but for a chance of 2^-128.
 */
enum { INV_FINGERPRINT = 16 };

typedef struct inv_fingerprint {
	uint8_t byte[INV_FINGERPRINT];
} inv_fingerprint;

invar_status inv_fingerprint_bytes(const void *data, uint64_t bytes, inv_fingerprint *out);

/* The first image of a tensor with one or three channels as RGB; gives, free with
 * invar_free. */
invar_status inv_tensor_to_image(invar_context *ctx, const float *tensor,
                                 const uint64_t shape[4], const char *normalize,
                                 uint8_t **rgb);

#endif
