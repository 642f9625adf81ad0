/* SPDX-License-Identifier: Apache-2.0 */
/* prefetch.c - rows of a split as items of a queue (base/queue.h). */
#include "images/prefetch.h"

#include <inttypes.h>

#include "base/memory.h"
#include "base/queue.h"

enum { QUEUE_BYTES = 64 << 20, MAX_SLOTS = 256, SLOTS_PER_THREAD = 4, MESSAGE = 1024 };

struct inv_prefetch {
	const invar_dataset *dataset;
	const inv_images *split;
	uint64_t first, count;
	inv_prefetch_fn *work;
	void *user;
	size_t bytes;
	inv_prefetch_item *items; /* [slots] */
	size_t slots;
	char *data;         /* [slots, bytes] */
	inv_image *scratch; /* one per thread */
	unsigned threads;
	inv_queue *queue;
	uint64_t held; /* the number that the consumer has */
	uint64_t broken;
};

static invar_status decode_item(void *user, uint64_t number, unsigned thread)
{
	inv_prefetch *a = user;
	inv_prefetch_item *item = &a->items[number % a->slots];
	inv_image *image = a->work ? &a->scratch[thread] : &item->image;

	item->row = a->first + number;
	item->index = inv_images_index(a->split, item->row);
	item->label = inv_images_label(a->dataset, a->split, item->row);
	INV_TRY(inv_images_read_printed(a->dataset, a->split, item->row, image, &item->print));
	return a->work ? a->work(a->user, image, item, thread) : INVAR_OK;
}

invar_status inv_prefetch_next(inv_prefetch *a, const inv_prefetch_item **item)
{
	char why[MESSAGE];
	invar_status st;

	*item = NULL;
	inv_queue_release(a->queue, a->held);
	while ((st = inv_queue_next(a->queue, &a->held)) != INVAR_OK) {
		if (!inv_is_broken(st) || !a->dataset->opts.skip_broken)
			return inv_refuse_broken(a->dataset, st,
			                         inv_last_error_spelled(INV_MARKED, why, sizeof why));
		inv_log(a->dataset->ctx, INVAR_LOG_WARNING, "skipped: %s", invar_last_error());
		a->broken++;
	}
	if (a->held < a->count)
		*item = &a->items[a->held % a->slots];
	return INVAR_OK;
}

uint64_t inv_prefetch_broken(const inv_prefetch *a)
{
	return a->broken;
}

/* ---- Making and freeing -------------------------------------------------------------- */

unsigned inv_prefetch_workers(const invar_context *ctx)
{
	return ctx->threads;
}

invar_status inv_prefetch_new(const invar_context *ctx, const invar_dataset *d,
                              const inv_images *split, uint64_t first, uint64_t count,
                              inv_prefetch_fn *work, void *user, size_t bytes_per_item,
                              inv_prefetch **out)
{
	inv_queue_spec queue;
	inv_prefetch *a;
	size_t slots, padded;
	invar_status st;

	*out = NULL;
	if (first > split->count || count > split->count - first)
		return inv_fail(INVAR_E_USE,
		                "%s: %" PRIu64 " images from number %" PRIu64
		                " on were requested, but the split %s has %" PRIu64,
		                d->text, count, first, split->name, split->count);
	INV_TRY(inv_new(&a));
	*a = (inv_prefetch){.dataset = d,
	                    .split = split,
	                    .first = first,
	                    .count = count,
	                    .work = work,
	                    .user = user,
	                    .bytes = work ? bytes_per_item : 0,
	                    .threads = inv_prefetch_workers(ctx)};
	/* Enough for every thread to work ahead, within QUEUE_BYTES if an item allows it. */
	slots = a->bytes ? QUEUE_BYTES / a->bytes : SLOTS_PER_THREAD * (size_t)a->threads;
	slots = slots < 2 * (size_t)a->threads ? 2 * (size_t)a->threads : slots;
	slots = slots > MAX_SLOTS ? MAX_SLOTS : slots;
	a->slots = slots > count && count ? (size_t)count : slots;
	INV_TRY_OR(fail, inv_new_zeros(&a->items, a->slots));
	INV_TRY_OR(fail, inv_new_zeros(&a->scratch, a->threads));
	padded = (a->bytes + INV_ALIGN - 1) / INV_ALIGN * INV_ALIGN;
	if (a->bytes)
		INV_TRY_OR(fail, inv_new_array(&a->data, inv_array_bytes(a->slots, padded)));
	for (size_t i = 0; i < a->slots && a->bytes; i++)
		a->items[i].data = a->data + i * padded;
	queue = (inv_queue_spec){.end = count,
	                         .slots = a->slots,
	                         .threads = a->threads,
	                         .fill = decode_item,
	                         .user = a};
	INV_TRY_OR(fail, inv_queue_new(&queue, &a->queue));
	*out = a;
	return INVAR_OK;
fail:
	inv_prefetch_free(a);
	return st;
}

size_t inv_prefetch_memory(const inv_prefetch *a)
{
	return a->slots * (a->bytes + sizeof *a->items);
}

void inv_prefetch_free(inv_prefetch *a)
{
	if (!a)
		return;
	inv_queue_free(a->queue);
	for (size_t i = 0; a->items && i < a->slots; i++)
		inv_image_clear(&a->items[i].image);
	for (unsigned i = 0; a->scratch && i < a->threads; i++)
		inv_image_clear(&a->scratch[i]);
	inv_free(a->items);
	inv_free(a->scratch);
	inv_free(a->data);
	inv_free(a);
}
