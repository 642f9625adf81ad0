/* SPDX-License-Identifier: Apache-2.0 */
/*
 * encoding.h - how the images of a data set become features: the options, resolved.
 */
#ifndef INV_ENCODING_H
#define INV_ENCODING_H

#include <sys/stat.h>

#include "base/json.h"
#include "encode/encode_options.h"
#include "encoders/encoder.h"
#include "formats/dtype.h"
#include "images/augment/augment.h"
#include "images/dataset.h"

typedef struct inv_encoding {
	const invar_context *ctx;
	invar_context alone; /* the same on one thread, for augmenting in groups */
	const invar_encoder *encoder;
	const invar_dataset *dataset;
	inv_encode_settings opts; /* texts are borrowed */
	/* For images as they are, and for copies, which may have another shape. */
	inv_encoder_plan *plan, *copy_plan; /* the same plan if the shapes are equal */
	invar_augment *augment;             /* on one thread; NULL: no copies */
	inv_preparation preparation;
	bool pixel_space;          /* augment first, normalise afterwards */
	inv_normalisation pending; /* in pixel space: what is left to be done */
	inv_extent shape;          /* of a prepared image */
	inv_extent clean;          /* of the visible centre; smaller with inside=1 */
	inv_extent augmented;
	uint64_t width;
	size_t columns; /* of parameters */
	bool views;     /* some split gets views: rotated images are encoded as well */
	inv_dtype dtype;
	struct stat weights; /* of the weight file, when its hash was computed */
} inv_encoding;

/* Borrows all its arguments. The address of *out must not change; call close in any case.
 */
invar_status inv_encoding_open(invar_encoder *e, const invar_dataset *d,
                               const inv_encode_settings *o, inv_encoding *out);
void inv_encoding_close(inv_encoding *of);

/* Fails if the weight file has changed since. */
invar_status inv_encoding_check_weights(inv_encoding *of);

/*
 * The indices of the images of a split except those in a list, in order; gives `index`,
 * inv_free. kept is their number.
 */
invar_status inv_images_without(const inv_images *s, const json_t *left_out,
                                uint32_t **index, uint64_t *kept);

/*
 * What bank.json says about it. No times, no paths: the same call elsewhere gives the same
 * bytes. Gives; NULL if there is no memory.
 */
json_t *inv_encoding_json(const inv_encoding *of);

/* Would invar_encode accept these options? *width becomes the number of features. Images
 * are not read. */
invar_status inv_encode_check(invar_encoder *e, const invar_dataset *d,
                              const invar_options *o, uint32_t *width);

#endif
