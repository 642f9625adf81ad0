/* SPDX-License-Identifier: Apache-2.0 */
/* image.h - the image that data sets return and the rest of this folder uses. */
#ifndef INV_IMAGE_H
#define INV_IMAGE_H

#include <stdbool.h>

#include "formats/pixels.h" /* inv_image: 8-bit RGB, and how it is made and freed */

/* Formats that are read, for messages; the table is in image.c. */
#define INV_IMAGE_FORMATS "JPEG, PNG, TIFF or WebP"

/* Whether the name ends as one of them does: ".jpg", ".TIF", … */
bool inv_is_image_name(const char *name);

/* A file of one of them, recognised by its first bytes, whatever its name. */
invar_status inv_image_load(const char *path, inv_image *out);
/* The size that it would have, from its header alone. */
invar_status inv_image_measure(const char *path, uint32_t *width, uint32_t *height);

/* The same for the bytes of such a file; `name` is for messages. */
invar_status inv_image_decode(const void *bytes, uint64_t size, const char *name,
                              inv_image *out);
invar_status inv_image_size(const void *bytes, uint64_t size, const char *name,
                            uint32_t *width, uint32_t *height);

/* The first image of a tensor with one or three channels as RGB; gives, free with
 * invar_free. */
invar_status inv_tensor_to_image(invar_context *ctx, const float *tensor,
                                 const uint64_t shape[4], const char *normalize,
                                 uint8_t **rgb);

#endif
