/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batches.h - the batches of a training, read ahead of their use.
 *
 * Which images a step sees, and which of their copies, is a function of (seed, split,
 * position of the source, epoch, image) alone. A separate thread gathers the rows into
 * buffers (base/queue.h) and tells the system some batches earlier what it will read, so a bank
 * larger than memory streams while the previous step is computed. A source that makes its
 * copies makes them on that thread as well.
 */
#ifndef INV_BATCHES_H
#define INV_BATCHES_H

#include "bank/clean_statistics.h"
#include "encode/source.h"

typedef struct inv_batch_plan {
	inv_source
		*source[INV_MAX_SOURCES]; /* prepared; their clean rows are the same; borrowed */
	uint32_t sources;
	const uint32_t *images; /* the rows of the split that take part; borrowed */
	uint32_t image_count;
	uint32_t N; /* images per batch; the last incomplete batch is dropped */
	uint32_t s; /* distinct copies per image, source and epoch; every source must have that
	               many */
	uint64_t seed;
	const char *purpose;               /* "train", "validation": keeps their draws apart */
	bool same_every_epoch;             /* the order and draws of epoch 0, always */
	uint32_t epochs;                   /* prefetching ends there */
	const inv_clean_statistics *scale; /* rows become (z - mean) / sigma; NULL: unchanged */
} inv_batch_plan;

typedef struct inv_batches inv_batches;

invar_status inv_batches_new(const inv_batch_plan *plan, inv_batches **out);
uint32_t inv_batches_steps(const inv_batches *b); /* batches per epoch */
size_t inv_batches_memory(const inv_batches *b);  /* bytes of the buffers */

/* Starts reading at this step. Call once before the first next. */
invar_status inv_batches_start(inv_batches *b, uint32_t epoch, uint32_t step);
/*
 * The next batch [(G s + 1) N, d] of G sources: row k N + i is sample k of image
 * i, k = 0 the clean one, k = 1 + g s + j sample j of source g. It is the caller's until
 * the next call. Does not allocate.
 */
invar_status inv_batches_next(inv_batches *b, const float **rows);
void inv_batches_free(inv_batches *b);

#endif
