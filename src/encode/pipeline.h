/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pipeline.h - a pass over images: decode, prepare, augment and encode, with all cores
 * busy.
 *
 * Images are decoded and prepared ahead of their use (images/prefetch.h) and gathered in
 * groups, ahead as well. Each thread takes the next task: to augment and encode a gathered
 * group for one of the arrays. No thread waits for a batch to be complete, and at most a few
 * groups are in memory at a time, for any number of arrays.
 * An encoder that only the calling thread may run (a callback) gets whole batches instead:
 * all threads augment a batch, then the caller encodes it, while images are decoded ahead.
 * Groups are cut by row number and draws are keyed by the image's index, so neither threads
 * nor images left out change a bit.
 */
#ifndef INV_PIPELINE_H
#define INV_PIPELINE_H

#include "encode/encoding.h"

enum { INV_WALK_ARRAYS = 32 };

typedef struct inv_pipeline_plan {
	const inv_images *images; /* all of which can be read, unless ... */
	bool passes_over;         /* ... those that cannot are skipped, and have no row */
	/* The row that a skipped image would have, before any row after it is made; NULL: not
	 * needed. From any thread, but in order. */
	invar_status (*lose)(void *user, uint64_t row);
	uint64_t first, count;         /* rows of them; first is a multiple of INV_GROUP */
	uint64_t epoch;                /* of the draws */
	int32_t copy[INV_WALK_ARRAYS]; /* of each array; INVAR_CLEAN: the image itself */
	size_t arrays;
	bool views; /* rows are views of images, [INV_ROTATED, width] each; of->views is set */
	void *user;
	/* Are the rows of this group needed? NULL: all are. From any thread. */
	bool (*wants)(void *user, size_t array, uint64_t row);
	/* Receives the fingerprints of consecutive images before any of their rows is written;
	 * a status other than INVAR_OK ends the pass. NULL: not needed. From any thread. */
	invar_status (*see)(void *user, uint64_t row, size_t rows,
	                    const inv_fingerprint *print);
	/* Receives rows of features and of parameters; from any thread. */
	invar_status (*put)(void *user, size_t array, uint64_t row, size_t rows,
	                    const float *out, const float *params);
	/* Called on the caller's thread, once before the first image and then now and then; a
	 * status other than INVAR_OK ends the pass. NULL: nothing. */
	invar_status (*tick)(void *user);
} inv_pipeline_plan;

/* The memory of passes, one at a time. */
typedef struct inv_pipeline inv_pipeline;

invar_status inv_pipeline_new(const inv_encoding *of, inv_pipeline **out);
invar_status inv_pipeline_run(inv_pipeline *k, const inv_pipeline_plan *plan);
void inv_pipeline_free(inv_pipeline *k); /* accepts NULL */

#endif
