/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prefetch.c - the ring between decoding threads and the consumer.
 *
 * A ticket is the number of a row, counted from the first. A thread draws the next
 * ticket as soon as its place in the ring, ticket modulo slots, is free; the consumer waits
 * for the tickets in order. So at most `slots` results exist, and a slow image delays only
 * the consumer.
 */
#include "images/prefetch.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

#include "base/memory.h"

enum { RING_BYTES = 64 << 20, MAX_SLOTS = 256, SLOTS_A_THREAD = 4, SENTENCE = 1024 };

typedef struct slot {
	bool ready;
	invar_status status;
	char sentence[SENTENCE];
	inv_prefetch_item item;
} slot;

typedef struct worker {
	inv_prefetch *ahead;
	unsigned number;
	pthread_t thread;
} worker;

struct inv_prefetch {
	const invar_dataset *dataset;
	const inv_images *split;
	uint64_t first, count;
	inv_prefetch_fn *work;
	void *user;
	size_t bytes;
	slot *slots;
	size_t slot_count;
	char *data; /* [slot_count, bytes] */
	worker *workers;
	unsigned worker_count, running;
	pthread_mutex_t lock;
	pthread_cond_t emptied, filled;
	uint64_t drawn, taken; /* tickets */
	bool holding, stop;
	uint64_t broken;
};

/* ---- The threads that decode ------------------------------------------------------ */

static bool draw_ticket(inv_prefetch *a, uint64_t *ticket)
{
	bool go;

	pthread_mutex_lock(&a->lock);
	while (!a->stop && a->drawn < a->count && a->drawn - a->taken >= a->slot_count)
		pthread_cond_wait(&a->emptied, &a->lock);
	go = !a->stop && a->drawn < a->count;
	if (go)
		*ticket = a->drawn++;
	pthread_mutex_unlock(&a->lock);
	return go;
}

static void decode(inv_prefetch *a, unsigned number, uint64_t ticket, slot *s,
                   inv_image *scratch)
{
	inv_prefetch_item *item = &s->item;
	inv_image *image = a->work ? scratch : &item->image;

	item->row = a->first + ticket;
	item->index = inv_images_index(a->split, item->row);
	item->label = inv_images_label(a->dataset, a->split, item->row);
	s->status =
		inv_images_read_printed(a->dataset, a->split, item->row, image, &item->print);
	if (s->status == INVAR_OK && a->work)
		s->status = a->work(a->user, image, item, number);
	if (s->status != INVAR_OK)
		snprintf(s->sentence, sizeof s->sentence, "%s", invar_last_error());
}

static void *decode_rows(void *user)
{
	worker *w = user;
	inv_prefetch *a = w->ahead;
	inv_image scratch = {0};
	uint64_t ticket;

	while (draw_ticket(a, &ticket)) {
		slot *s = &a->slots[ticket % a->slot_count];

		decode(a, w->number, ticket, s, &scratch);
		pthread_mutex_lock(&a->lock);
		s->ready = true;
		pthread_cond_signal(&a->filled);
		pthread_mutex_unlock(&a->lock);
	}
	inv_image_clear(&scratch);
	return NULL;
}

/* ---- The consumer ---------------------------------------------------------------------
 */

static void give_back(inv_prefetch *a)
{
	if (!a->holding)
		return;
	a->slots[a->taken % a->slot_count].ready = false;
	a->taken++;
	a->holding = false;
	pthread_cond_signal(&a->emptied);
}

static slot *wait_for_next(inv_prefetch *a)
{
	slot *s = NULL;

	pthread_mutex_lock(&a->lock);
	give_back(a);
	if (a->taken < a->count) {
		s = &a->slots[a->taken % a->slot_count];
		while (!s->ready)
			pthread_cond_wait(&a->filled, &a->lock);
		a->holding = true;
	}
	pthread_mutex_unlock(&a->lock);
	return s;
}

invar_status inv_prefetch_next(inv_prefetch *a, const inv_prefetch_item **item)
{
	slot *s;

	*item = NULL;
	while ((s = wait_for_next(a))) {
		if (s->status == INVAR_OK) {
			*item = &s->item;
			return INVAR_OK;
		}
		if (!inv_is_broken(s->status) || !a->dataset->opts.skip_broken)
			return inv_refuse_broken(a->dataset, s->status, s->sentence);
		inv_log(a->dataset->ctx, INVAR_LOG_WARNING, "skipped: %s", s->sentence);
		a->broken++;
	}
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

/* Enough for every thread to work ahead, within RING_BYTES if an item allows it. */
static size_t choose_slots(unsigned threads, uint64_t count, size_t bytes)
{
	size_t slots = bytes ? RING_BYTES / bytes : SLOTS_A_THREAD * (size_t)threads;

	slots = slots < 2 * (size_t)threads ? 2 * (size_t)threads : slots;
	slots = slots > MAX_SLOTS ? MAX_SLOTS : slots;
	return slots > count && count ? (size_t)count : slots;
}

static bool allocate_ring(inv_prefetch *a)
{
	size_t padded = (a->bytes + INV_ALIGN - 1) / INV_ALIGN * INV_ALIGN;
	uint64_t bytes;

	a->slots = inv_calloc(a->slot_count, sizeof *a->slots);
	a->workers = inv_calloc(a->worker_count, sizeof *a->workers);
	if (!a->slots || !a->workers || inv_mul_overflow(a->slot_count, padded, &bytes))
		return false;
	if (a->bytes && !(a->data = inv_alloc(bytes)))
		return false;
	for (size_t i = 0; a->data && i < a->slot_count; i++)
		a->slots[i].item.data = a->data + i * padded;
	return true;
}

static invar_status start(inv_prefetch *a)
{
	for (unsigned i = 0; i < a->worker_count; i++) {
		a->workers[i] = (worker){.ahead = a, .number = i};
		if (pthread_create(&a->workers[i].thread, NULL, decode_rows, &a->workers[i]) != 0)
			break;
		a->running++;
	}
	if (a->running)
		return INVAR_OK; /* fewer threads are slower, not wrong */
	return inv_fail(INVAR_E_NOMEM, "cannot start a thread to read images");
}

invar_status inv_prefetch_new(const invar_context *ctx, const invar_dataset *d,
                              const inv_images *split, uint64_t first, uint64_t count,
                              inv_prefetch_fn *work, void *user, size_t bytes_per_item,
                              inv_prefetch **out)
{
	inv_prefetch *a;
	invar_status st;

	*out = NULL;
	if (first > split->count || count > split->count - first)
		return inv_fail(INVAR_E_USE,
		                "%s: %" PRIu64 " images from number %" PRIu64
		                " on were requested, but the split %s has %" PRIu64,
		                d->text, count, first, split->name, split->count);
	if (!(a = inv_calloc(1, sizeof *a)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory to prefetch images");
	*a = (inv_prefetch){.dataset = d,
	                    .split = split,
	                    .first = first,
	                    .count = count,
	                    .work = work,
	                    .user = user,
	                    .bytes = work ? bytes_per_item : 0,
	                    .worker_count = inv_prefetch_workers(ctx)};
	a->slot_count = choose_slots(a->worker_count, count, a->bytes);
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->emptied, NULL);
	pthread_cond_init(&a->filled, NULL);
	st = allocate_ring(a)
	         ? start(a)
	         : inv_fail(INVAR_E_NOMEM, "not enough memory to prefetch %zu images",
	                    a->slot_count);
	if (st != INVAR_OK) {
		inv_prefetch_free(a);
		return st;
	}
	*out = a;
	return INVAR_OK;
}

size_t inv_prefetch_memory(const inv_prefetch *a)
{
	return a->slot_count * (a->bytes + sizeof(slot));
}

void inv_prefetch_free(inv_prefetch *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_broadcast(&a->emptied);
	pthread_mutex_unlock(&a->lock);
	for (unsigned i = 0; i < a->running; i++)
		pthread_join(a->workers[i].thread, NULL);
	for (size_t i = 0; a->slots && i < a->slot_count; i++)
		inv_image_clear(&a->slots[i].item.image);
	pthread_cond_destroy(&a->filled);
	pthread_cond_destroy(&a->emptied);
	pthread_mutex_destroy(&a->lock);
	inv_free(a->slots);
	inv_free(a->workers);
	inv_free(a->data);
	inv_free(a);
}
