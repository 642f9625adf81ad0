/* SPDX-License-Identifier: Apache-2.0 */
/* batches.c - drawing, gathering and reading ahead; see batches.h. */
#include "encode/batches.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/queue.h"
#include "base/rng.h"

enum {
	BUFFERS = 3,         /* gathered batches */
	AHEAD = 6,           /* batches between the hint to the system and gathering */
	RESIDENT = 64 << 20, /* a smaller split (bytes) is left to the system */
	PURPOSE = 64
};

struct inv_batches {
	inv_batch_plan plan;
	uint32_t steps;
	bool advise;
	inv_stream copies_of[2][INV_MAX_SOURCES]; /* by parity of the epoch, like order */
	uint32_t *order[2];
	uint32_t order_epoch[2];
	uint32_t *drawn;  /* [s] */
	uint32_t *chosen; /* [N] images of a batch */
	float *buffer[BUFFERS];
	size_t rows, dim; /* (G s + 1) N, d */
	uint64_t first;   /* batches are numbered over all epochs */
	uint64_t held;    /* the batch that the consumer has */
	inv_queue *queue; /* NULL until it is started */
};

uint32_t inv_batches_steps(const inv_batches *b)
{
	return b->steps;
}

size_t inv_batches_memory(const inv_batches *b)
{
	return BUFFERS * b->rows * b->dim * sizeof(float);
}

/* ---- What a batch holds ------------------------------------------------------ */

/* "copies/train/SPLIT", for the second bank "copies.1/train/SPLIT". */
static inv_stream batch_stream(const inv_batch_plan *p, const char *what, uint32_t source,
                               uint32_t epoch)
{
	char name[PURPOSE], place[16] = "";

	if (source)
		snprintf(place, sizeof place, ".%u", (unsigned)source);
	snprintf(name, PURPOSE, "%s%s/%s/%s", what, place, p->purpose,
	         p->source[source]->split);
	return inv_stream_of(p->seed, name, epoch);
}

/*
 * What batch number `batch` needs from the sources; views b, until the next call. The order
 * and the draws of two consecutive epochs are kept at a time.
 */
static inv_source_batch find_batch(inv_batches *b, uint64_t batch)
{
	const inv_batch_plan *p = &b->plan;
	uint32_t epoch = (uint32_t)(batch / b->steps), step = (uint32_t)(batch % b->steps);
	uint32_t slot = epoch & 1, key = p->same_every_epoch ? 0 : epoch;

	if (b->order_epoch[slot] != epoch) {
		inv_stream stream = batch_stream(p, "order", 0, key);

		inv_permutation(&stream, 0, b->order[slot], p->image_count);
		for (uint32_t g = 0; g < p->sources; g++)
			b->copies_of[slot][g] = batch_stream(p, "copies", g, key);
		b->order_epoch[slot] = epoch;
	}
	for (uint32_t i = 0; i < p->N; i++)
		b->chosen[i] = p->images[b->order[slot][(size_t)step * p->N + i]];
	return (inv_source_batch){.rows = b->chosen,
	                          .N = p->N,
	                          .s = p->s,
	                          .epoch = key,
	                          .draws = b->copies_of[slot],
	                          .drawn = b->drawn};
}

/* ---- The reader -------------------------------------------------------------------- */

static uint64_t last_batch(const inv_batches *b)
{
	return (uint64_t)b->plan.epochs * b->steps;
}

static void advise(inv_batches *b, uint64_t batch)
{
	const inv_batch_plan *p = &b->plan;
	inv_source_batch want;

	if (!b->advise || batch >= last_batch(b))
		return;
	want = find_batch(b, batch);
	for (uint32_t i = 0; i < want.N; i++)
		inv_bank_will_need(p->source[0]->bank, p->source[0]->stored, INVAR_CLEAN,
		                   want.rows[i]);
	for (uint32_t g = 0; g < p->sources; g++, want.draws++)
		if (p->source[g]->kind->expect_copies)
			p->source[g]->kind->expect_copies(p->source[g], &want);
}

/* The clean rows, then the copies of each source. */
static invar_status fill_buffer(void *user, uint64_t batch, unsigned thread)
{
	inv_batches *b = user;
	const inv_batch_plan *p = &b->plan;
	size_t block = (size_t)p->N * b->dim;
	float *to = b->buffer[batch % BUFFERS];
	inv_source_batch want;

	(void)thread;
	for (uint64_t i = 0; i < AHEAD && batch == b->first; i++)
		advise(b, batch + i);
	advise(b, batch + AHEAD);
	want = find_batch(b, batch);
	INV_TRY(inv_source_fill_clean(p->source[0], &want, to));
	for (uint32_t g = 0; g < p->sources; g++, want.draws++)
		INV_TRY(inv_source_fill_copies(p->source[g], &want, to + (1 + g * p->s) * block));
	if (p->scale) {
		double by = 1 / p->scale->sigma;

		for (size_t i = 0; i < b->rows; i++, to += b->dim)
			for (size_t l = 0; l < b->dim; l++)
				to[l] = (float)((to[l] - p->scale->mean[l]) * by);
	}
	return INVAR_OK;
}

/* Making copies takes time, so the caller's cancel hook is checked now and then. */
static invar_status check_batches_cancel(void *user, uint64_t batch)
{
	const inv_batches *b = user;

	return inv_progress(b->plan.source[0]->ctx, b->plan.purpose, batch, last_batch(b));
}

invar_status inv_batches_start(inv_batches *b, uint32_t epoch, uint32_t step)
{
	const bool slow = b->plan.source[0]->unlimited && !b->plan.same_every_epoch;

	b->first = (uint64_t)epoch * b->steps + step;
	return inv_queue_new(&(inv_queue_spec){.first = b->first,
	                                       .end = last_batch(b),
	                                       .slots = BUFFERS,
	                                       .threads = 1,
	                                       .fill = fill_buffer,
	                                       .wait = slow ? check_batches_cancel : NULL,
	                                       .user = b},
	                     &b->queue);
}

invar_status inv_batches_next(inv_batches *b, const float **rows)
{
	inv_queue_release(b->queue, b->held);
	INV_TRY(inv_queue_next(b->queue, &b->held));
	*rows = b->buffer[b->held % BUFFERS];
	return INVAR_OK;
}

/* ---- Making and freeing -------------------------------------------------------------- */

invar_status inv_batches_new(const inv_batch_plan *plan, inv_batches **out)
{
	inv_batches *b;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&b));
	b->plan = *plan;
	b->steps = plan->image_count / plan->N;
	b->rows = ((size_t)plan->sources * plan->s + 1) * plan->N;
	b->dim = plan->source[0]->dim;
	for (uint32_t g = 0; g < plan->sources; g++)
		b->advise |= inv_split_bytes(plan->source[g]->stored) > RESIDENT;
	for (int i = 0; i < 2; i++) {
		INV_TRY_OR(fail, inv_new_zeros(&b->order[i], plan->image_count));
		b->order_epoch[i] = UINT32_MAX;
	}
	INV_TRY_OR(fail, inv_new_zeros(&b->drawn, plan->s + 1));
	INV_TRY_OR(fail, inv_new_zeros(&b->chosen, plan->N));
	for (int i = 0; i < BUFFERS; i++)
		INV_TRY_OR(fail, inv_new_zeros(&b->buffer[i], b->rows * b->dim));
	for (uint32_t g = 0; b->advise && g < plan->sources; g++)
		inv_bank_expect_random(plan->source[g]->stored);
	*out = b;
	return INVAR_OK;
fail:
	inv_batches_free(b);
	return st;
}

void inv_batches_free(inv_batches *b)
{
	if (!b)
		return;
	if (b->queue) {
		inv_queue_stop(b->queue);
		for (uint32_t g = 0; g < b->plan.sources; g++)
			inv_source_cancel(b->plan.source[g]);
		inv_queue_free(b->queue);
	}
	for (int i = 0; i < 2; i++)
		inv_free(b->order[i]);
	for (int i = 0; i < BUFFERS; i++)
		inv_free(b->buffer[i]);
	inv_free(b->drawn);
	inv_free(b->chosen);
	inv_free(b);
}
