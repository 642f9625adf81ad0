/*
 * encode_pass.h - one walk over the images of a split, which fills several arrays.
 *
 * Images are decoded and prepared ahead of their use (images/ahead.h) and gathered in
 * batches. For each batch, every group of rows of every array is a block of
 * work of its own: augment, encode. Then the rows go to their files in order. Groups
 * are cut by row number and draws follow from the image's index, so neither threads
 * nor the size of a batch change a bit.
 */
#ifndef INV_ENCODE_PASS_H
#define INV_ENCODE_PASS_H

#include "bank/write.h"
#include "encoders/encoder.h"
#include "formats/npy.h"
#include "images/augment/augment.h"
#include "images/dataset.h"

enum { INV_PASS_ARRAYS = 32 };

/* What is the same for all splits. */
typedef struct inv_encoding {
	const invar_context *ctx;
	const invar_encoder *encoder;
	/* For images as they are, and for copies, which may have another shape. */
	inv_encoder_plan *plan, *copy_plan;
	const invar_dataset *dataset;
	invar_augment *augment; /* on one thread, the blocks being parallel; NULL: no copies */
	uint64_t seed;
	inv_preparation preparation;
	bool pixel_space;          /* augment first, normalise afterwards */
	inv_normalisation pending; /* in pixel space: what is left to be done */
	inv_extent shape;          /* of a prepared image */
	inv_extent augmented;
	uint64_t width;
	size_t columns; /* of parameters */
	inv_dtype dtype;
} inv_encoding;

/* An array that the pass fills. */
typedef struct inv_pass_array {
	int32_t copy; /* or INVAR_CLEAN */
	inv_rows *rows, *params;
} inv_pass_array;

typedef struct inv_pass {
	const inv_encoding *of;
	const inv_images *images; /* the rows, all of which can be read */
	const inv_npy *known;     /* clean rows that must come out again; NULL: none yet */
	inv_pass_array array[INV_PASS_ARRAYS];
	size_t arrays;
	const char *stage;
	uint64_t done, total; /* images encoded, for the progress over all passes */
} inv_pass;

/* Puts every row, but leaves finishing the arrays to the caller. */
invar_status inv_pass_run(inv_pass *p);

#endif
