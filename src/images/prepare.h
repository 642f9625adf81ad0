/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prepare.h - from an 8-bit image to the input tensor of an encoder.
 *
 * As torchvision does it on Pillow images: the shorter side, or both, to `resize` (8 bits,
 * rounded as Pillow rounds), of that the centre of `side` x `side`, byte / 255, minus mean,
 * by std. Without a side the image stays as large as it is.
 */
#ifndef INV_PREPARE_H
#define INV_PREPARE_H

#include "images/image.h"
#include "images/normalise.h"
#include "images/resize.h"

enum { INV_MAX_SIDE = 8192 };

typedef struct inv_preparation {
	size_t resize; /* the shorter side becomes this; 0: as side */
	size_t side;   /* the centre of that; 0: native */
	bool stretch;  /* both sides become `resize` */
	inv_filter filter;
	size_t channels; /* 3, or 1 for images whose three channels are equal */
	inv_normalisation normalisation;
} inv_preparation;

/* "native" is 0. */
invar_status inv_side_parse(const char *text, size_t *side);

/* The height and width of the tensor; `name` is for the message. */
invar_status inv_prepared_size(const inv_preparation *p, uint32_t height, uint32_t width,
                               const char *name, size_t *h, size_t *w);

/* What one thread needs; keeps its memory from image to image. */
typedef struct inv_preparer inv_preparer;

invar_status inv_preparer_new(unsigned cpu, const inv_preparation *p, inv_preparer **out);
/* out is [channels, h, w] of inv_prepared_size. */
invar_status inv_prepare(inv_preparer *r, const inv_image *image, const char *name,
                         float *out);
void inv_preparer_free(inv_preparer *r); /* accepts NULL */

/* The options of invar_image_to_tensor. */
invar_status inv_tensor_declare(invar_options *o);

/*
 * [planes, side, side] rotated counter-clockwise by 90 `quarters` degrees, as
 * numpy.rot90 and torch.rot90 do over the last two dimensions. `out` is another array.
 */
void inv_rot90(const float *in, size_t planes, size_t side, unsigned quarters, float *out);

#endif
