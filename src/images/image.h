/* SPDX-License-Identifier: Apache-2.0 */
/* image.h - the image that data sets return and the rest of this room uses. */
#ifndef INV_IMAGE_H
#define INV_IMAGE_H

#include "formats/pixels.h" /* inv_image: 8-bit RGB, and how it is made and freed */

/* A JPEG or PNG file, recognised by its first bytes, whatever its name. */
invar_status inv_image_load(const char *path, inv_image *out);
/* The size that it would have, from its header alone. */
invar_status inv_image_measure(const char *path, uint32_t *width, uint32_t *height);

#endif
