/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prefetch.h - images decoded in parallel, ahead of their consumer.
 *
 * Worker threads decode the rows of a split and pass each image to a work function, which
 * prepares what the consumer needs: a resized, augmented, normalised tensor. Results come
 * out in row order (base/queue.h), so neither the order nor a value depends on the number
 * of threads.
 *
 *     inv_prefetch_new(ctx, d, split, 0, count, to_tensor, &plan, bytes, &a);
 *     while ((st = inv_prefetch_next(a, &item)) == INVAR_OK && item)
 *         use(item->row, item->index, item->label, item->data);
 *     inv_prefetch_free(a);
 */
#ifndef INV_PREFETCH_H
#define INV_PREFETCH_H

#include "images/dataset.h"

typedef struct inv_prefetch_item {
	uint64_t row;          /* of the split */
	uint64_t index;        /* before any class list: the key of random draws */
	int32_t label;         /* or INV_NO_LABEL */
	inv_fingerprint print; /* of the bytes that were decoded */
	void *data;            /* what the work function made; NULL without one */
	inv_image image;       /* the image itself if there is no work function, else empty */
} inv_prefetch_item;

/*
 * Fills item->data (bytes_per_item, 64-byte aligned) from the image, which it may
 * change. Runs on any thread; `worker` is below inv_prefetch_workers, for scratch
 * memory of the caller. Any status but INVAR_OK ends the reading with it.
 */
typedef invar_status inv_prefetch_fn(void *user, inv_image *image,
                                     const inv_prefetch_item *item, unsigned worker);

typedef struct inv_prefetch inv_prefetch;

/* Rows first … first+count-1 of a split; work NULL gives the images themselves. */
invar_status inv_prefetch_new(const invar_context *ctx, const invar_dataset *d,
                              const inv_images *split, uint64_t first, uint64_t count,
                              inv_prefetch_fn *work, void *user, size_t bytes_per_item,
                              inv_prefetch **out);
unsigned inv_prefetch_workers(const invar_context *ctx);
size_t inv_prefetch_memory(const inv_prefetch *a); /* bytes of the items */

/*
 * The next item, or NULL past the last; it is the caller's until the next call.
 * A broken image ends the reading with its message, or with skip_broken is logged,
 * counted and skipped, so rows may be missing.
 */
invar_status inv_prefetch_next(inv_prefetch *a, const inv_prefetch_item **item);
uint64_t inv_prefetch_broken(const inv_prefetch *a); /* skipped so far */
void inv_prefetch_free(inv_prefetch *a);             /* also in the middle; accepts NULL */

#endif
