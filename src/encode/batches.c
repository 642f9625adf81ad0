/* SPDX-License-Identifier: Apache-2.0 */
/* batches.c - drawing, gathering and reading ahead; see batches.h. */
#include "encode/batches.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/rng.h"

enum {
	RING = 3,            /* gathered batches */
	AHEAD = 6,           /* batches between the hint to the system and gathering */
	RESIDENT = 64 << 20, /* a smaller split (bytes) is left to the system */
	PURPOSE = 64,
	MOMENT = 200 * 1000 * 1000, /* nanoseconds */
	BILLION = 1000 * 1000 * 1000
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
	float *ring[RING];
	size_t rows, dim; /* (G s + 1) N, d */

	pthread_t thread;
	bool running;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t first, filled, taken; /* batch numbers, counted over all epochs */
	bool holding;                  /* the consumer is using batch `taken` */
	bool stop;
	invar_status status; /* the reader's status, with its message */
	char sentence[1024];
};

uint32_t inv_batches_steps(const inv_batches *b)
{
	return b->steps;
}

size_t inv_batches_memory(const inv_batches *b)
{
	return RING * b->rows * b->dim * sizeof(float);
}

/* ---- What a batch holds ------------------------------------------------------ */

/* "copies/train/SPLIT", for the second bank "copies.1/train/SPLIT". */
static inv_stream stream_of(const inv_batch_plan *p, const char *what, uint32_t source,
                            uint32_t epoch)
{
	char name[PURPOSE], place[16] = "";

	if (source)
		snprintf(place, sizeof place, ".%u", (unsigned)source);
	snprintf(name, PURPOSE, "%s%s/%s/%s", what, place, p->purpose,
	         p->source[source]->split);
	return inv_stream_of(p->seed, name, epoch);
}

/* The order and the draws of two consecutive epochs are kept at a time. */
static void prepare_epoch(inv_batches *b, uint32_t epoch)
{
	unsigned slot = epoch & 1;
	uint32_t key = b->plan.same_every_epoch ? 0 : epoch;
	inv_stream stream;

	if (b->order_epoch[slot] == epoch)
		return;
	stream = stream_of(&b->plan, "order", 0, key);
	inv_permutation(&stream, 0, b->order[slot], b->plan.image_count);
	for (uint32_t g = 0; g < b->plan.sources; g++)
		b->copies_of[slot][g] = stream_of(&b->plan, "copies", g, key);
	b->order_epoch[slot] = epoch;
}

/* What batch number `batch` needs from the sources; views b, until the next call. */
static inv_source_batch find_batch(inv_batches *b, uint64_t batch)
{
	const inv_batch_plan *p = &b->plan;
	uint32_t epoch = (uint32_t)(batch / b->steps), step = (uint32_t)(batch % b->steps);

	prepare_epoch(b, epoch);
	for (uint32_t i = 0; i < p->N; i++)
		b->chosen[i] = p->images[b->order[epoch & 1][(size_t)step * p->N + i]];
	return (inv_source_batch){.rows = b->chosen,
	                          .N = p->N,
	                          .s = p->s,
	                          .epoch = p->same_every_epoch ? 0 : epoch,
	                          .draws = b->copies_of[epoch & 1],
	                          .drawn = b->drawn};
}

static void scale_rows(const inv_clean_statistics *c, size_t rows, size_t dim, float *row)
{
	double by = 1 / c->sigma;

	for (; rows; rows--, row += dim)
		for (size_t l = 0; l < dim; l++)
			row[l] = (float)((row[l] - c->mean[l]) * by);
}

/* The clean rows, then the copies of each source. */
static invar_status gather(inv_batches *b, uint64_t batch, float *to)
{
	const inv_batch_plan *p = &b->plan;
	inv_source_batch want = find_batch(b, batch);
	size_t block = (size_t)p->N * b->dim;
	invar_status st = inv_source_fill_clean(p->source[0], &want, to);

	for (uint32_t g = 0; g < p->sources && st == INVAR_OK; g++, want.draws++)
		st = inv_source_fill_copies(p->source[g], &want, to + (1 + g * p->s) * block);
	if (st == INVAR_OK && p->scale)
		scale_rows(p->scale, b->rows, b->dim, to);
	return st;
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
	inv_source_expect_clean(p->source[0], &want);
	for (uint32_t g = 0; g < p->sources; g++, want.draws++)
		inv_source_expect_copies(p->source[g], &want);
}

/* Waits for a free buffer; false when asked to stop. */
static bool wait_for_room(inv_batches *b)
{
	bool go;

	pthread_mutex_lock(&b->lock);
	while (!b->stop && b->filled - b->taken >= RING)
		pthread_cond_wait(&b->changed, &b->lock);
	go = !b->stop;
	pthread_mutex_unlock(&b->lock);
	return go;
}

static void publish(inv_batches *b, invar_status st)
{
	pthread_mutex_lock(&b->lock);
	b->status = st;
	if (st == INVAR_OK)
		b->filled++;
	else
		snprintf(b->sentence, sizeof b->sentence, "%s", invar_last_error());
	pthread_cond_signal(&b->changed);
	pthread_mutex_unlock(&b->lock);
}

static void *read_ahead(void *user)
{
	inv_batches *b = user;
	uint64_t batch = b->first;
	invar_status st = INVAR_OK;

	for (uint64_t i = 0; i < AHEAD; i++)
		advise(b, batch + i);
	for (; batch < last_batch(b) && st == INVAR_OK && wait_for_room(b); batch++) {
		advise(b, batch + AHEAD);
		st = gather(b, batch, b->ring[batch % RING]);
		publish(b, st);
	}
	return NULL;
}

invar_status inv_batches_start(inv_batches *b, uint32_t epoch, uint32_t step)
{
	b->first = b->filled = b->taken = (uint64_t)epoch * b->steps + step;
	if (pthread_create(&b->thread, NULL, read_ahead, b) != 0)
		return inv_fail(INVAR_E_NOMEM, "cannot start the prefetch thread");
	b->running = true;
	return INVAR_OK;
}

/*
 * Making copies takes time, so the caller's cancel hook is checked now and then, with the
 * lock released.
 */
static invar_status wait_a_moment(inv_batches *b)
{
	uint64_t done = b->taken, total = last_batch(b);
	struct timespec until;
	invar_status st = INVAR_OK;

	if (!b->plan.source[0]->unlimited) {
		pthread_cond_wait(&b->changed, &b->lock);
		return INVAR_OK;
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += MOMENT;
	until.tv_sec += until.tv_nsec / BILLION;
	until.tv_nsec %= BILLION;
	if (pthread_cond_timedwait(&b->changed, &b->lock, &until) == 0 ||
	    b->plan.same_every_epoch)
		return INVAR_OK;
	pthread_mutex_unlock(&b->lock);
	st = inv_progress(b->plan.source[0]->ctx, b->plan.purpose, done, total);
	pthread_mutex_lock(&b->lock);
	return st;
}

/* A buffer stays in use until the next call, which releases it. */
invar_status inv_batches_next(inv_batches *b, const float **rows)
{
	invar_status st = INVAR_OK;

	pthread_mutex_lock(&b->lock);
	b->taken += b->holding;
	b->holding = false;
	pthread_cond_signal(&b->changed);
	while (st == INVAR_OK && b->status == INVAR_OK && b->filled == b->taken)
		st = wait_a_moment(b);
	b->holding = b->filled != b->taken;
	if (!b->holding && st == INVAR_OK)
		st = inv_fail(b->status, "%s", b->sentence);
	*rows = b->ring[b->taken % RING];
	pthread_mutex_unlock(&b->lock);
	return st;
}

/* ---- Making and freeing -------------------------------------------------------------- */

static bool allocate_batches(inv_batches *b)
{
	bool ok = true;

	for (int i = 0; i < 2; i++) {
		b->order[i] = inv_calloc(b->plan.image_count, sizeof *b->order[i]);
		b->order_epoch[i] = UINT32_MAX;
		ok = ok && b->order[i];
	}
	b->drawn = inv_calloc(b->plan.s + 1, sizeof *b->drawn);
	b->chosen = inv_calloc(b->plan.N, sizeof *b->chosen);
	for (int i = 0; i < RING; i++) {
		b->ring[i] = inv_calloc(b->rows * b->dim, sizeof(float));
		ok = ok && b->ring[i];
	}
	return ok && b->drawn && b->chosen;
}

invar_status inv_batches_new(const inv_batch_plan *plan, inv_batches **out)
{
	inv_batches *b = inv_calloc(1, sizeof *b);

	*out = NULL;
	if (!b)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for batches");
	b->plan = *plan;
	b->steps = plan->image_count / plan->N;
	b->rows = ((size_t)plan->sources * plan->s + 1) * plan->N;
	b->dim = plan->source[0]->dim;
	for (uint32_t g = 0; g < plan->sources; g++)
		b->advise |= inv_source_bytes(plan->source[g]) > RESIDENT;
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->changed, NULL);
	if (!allocate_batches(b)) {
		inv_fail(INVAR_E_NOMEM, "not enough memory for batches of %zu rows", b->rows);
		inv_batches_free(b);
		return INVAR_E_NOMEM;
	}
	for (uint32_t g = 0; b->advise && g < plan->sources; g++)
		inv_source_expect_random(plan->source[g]);
	*out = b;
	return INVAR_OK;
}

void inv_batches_free(inv_batches *b)
{
	if (!b)
		return;
	if (b->running) {
		pthread_mutex_lock(&b->lock);
		b->stop = true;
		pthread_cond_signal(&b->changed);
		pthread_mutex_unlock(&b->lock);
		for (uint32_t g = 0; g < b->plan.sources; g++)
			inv_source_cancel(b->plan.source[g]);
		pthread_join(b->thread, NULL);
	}
	pthread_cond_destroy(&b->changed);
	pthread_mutex_destroy(&b->lock);
	for (int i = 0; i < 2; i++)
		inv_free(b->order[i]);
	for (int i = 0; i < RING; i++)
		inv_free(b->ring[i]);
	inv_free(b->drawn);
	inv_free(b->chosen);
	inv_free(b);
}
