/*
 * ahead.h - images decoded in parallel, ahead of the one who takes them.
 *
 * Threads of their own decode the rows of a split and hand each image to a work
 * function, which makes of it what the taker wants: a resized, augmented, normalised
 * tensor. Results wait in a ring of fixed size and come out in the order of the
 * rows, so neither the order nor a value depends on the number of threads.
 *
 *     inv_ahead_new(ctx, d, split, 0, count, to_tensor, &plan, bytes, &a);
 *     while ((st = inv_ahead_next(a, &item)) == INVAR_OK && item)
 *         use(item->row, item->index, item->label, item->data);
 *     inv_ahead_free(a);
 */
#ifndef INV_AHEAD_H
#define INV_AHEAD_H

#include "images/dataset.h"

typedef struct inv_ahead_item {
	uint64_t row;          /* of the split */
	uint64_t index;        /* before any class list: the key of random draws */
	int32_t label;         /* or INV_NO_LABEL */
	inv_fingerprint print; /* of the bytes that were decoded */
	void *data;            /* what the work function made; NULL without one */
	inv_image image; /* the image itself where there is no work function, else empty */
} inv_ahead_item;

/*
 * Fills item->data (bytes_per_item, 64-byte aligned) from the image, which it may
 * change. Runs on any thread; `worker` is below inv_ahead_workers, for scratch
 * memory of the caller's. What it returns ends the reading, unless it is
 * INVAR_OK.
 */
typedef invar_status inv_ahead_fn(void *user, inv_image *image, const inv_ahead_item *item,
                                  unsigned worker);

typedef struct inv_ahead inv_ahead;

/* Rows first … first+count-1 of a split; work NULL gives the images themselves. */
invar_status inv_ahead_new(const invar_context *ctx, const invar_dataset *d,
                           const inv_images *split, uint64_t first, uint64_t count,
                           inv_ahead_fn *work, void *user, size_t bytes_per_item,
                           inv_ahead **out);
unsigned inv_ahead_workers(const invar_context *ctx);
size_t inv_ahead_memory(const inv_ahead *a); /* bytes of the ring */

/*
 * The next item, or NULL behind the last; it is the caller's until the next call.
 * A broken image ends the reading with its sentence, or with skip_broken is logged,
 * counted and passed over, so rows may be missing.
 */
invar_status inv_ahead_next(inv_ahead *a, const inv_ahead_item **item);
uint64_t inv_ahead_broken(const inv_ahead *a); /* passed over so far */
void inv_ahead_free(inv_ahead *a);             /* also in the middle; accepts NULL */

#endif
