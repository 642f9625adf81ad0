/* SPDX-License-Identifier: Apache-2.0 */
/*
 * queue.h - items made by threads ahead of their use, in order and within bounds.
 *
 * Items are numbered. A thread draws the next number as soon as its slot, number modulo
 * slots, is free, and calls `fill`; the consumer receives the numbers in order and releases
 * them in any order. So at most `slots` items exist, a slow item delays only the consumer,
 * and neither the order nor a value depends on the number of threads. The slots themselves
 * are the caller's memory.
 *
 *     const inv_queue_spec spec = {
 *         .end = 100, .slots = 8, .threads = 2, .fill = read_item};
 *
 *     inv_queue_new(&spec, &q);
 *     while ((st = inv_queue_next(q, &number)) == INVAR_OK && number < 100) {
 *         use(item[number % 8]);
 *         inv_queue_release(q, number);
 *     }
 *     inv_queue_free(q);
 */
#ifndef INV_QUEUE_H
#define INV_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct inv_queue inv_queue;

typedef struct inv_queue_spec {
	uint64_t first, end; /* numbers of the items; end: past the last */
	size_t slots;        /* > 0 */
	unsigned threads;    /* > 0 */
	/* Makes an item in its slot, on thread 0 … threads - 1. A failure takes the place of
	 * the item; the items after it are made all the same. */
	invar_status (*fill)(void *user, uint64_t number, unsigned thread);
	/* Called by inv_queue_next a few times per second while it waits; a failure ends the
	 * waiting. NULL: nothing. */
	invar_status (*wait)(void *user, uint64_t number);
	void *user;
} inv_queue_spec;

/* Starts the threads; with fewer than requested it is slower, not wrong. */
invar_status inv_queue_new(const inv_queue_spec *spec, inv_queue **out);
/*
 * The next item, whose slot is the caller's until it is released; past the last item,
 * *number is `end`. An item that failed gives its status and message, and needs no release.
 * By one thread at a time. Does not allocate.
 */
invar_status inv_queue_next(inv_queue *q, uint64_t *number);
/* By any thread; no effect on an item that was not received. */
void inv_queue_release(inv_queue *q, uint64_t number);
/* No item is begun after this call. */
void inv_queue_stop(inv_queue *q);
/* Waits for the items that were begun; also in the middle; accepts NULL. */
void inv_queue_free(inv_queue *q);

#endif
