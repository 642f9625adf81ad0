/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - see queue.h. */
#include "base/queue.h"

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "base/memory.h"

enum {
	MESSAGE = 1024,
	WAIT = 200 * 1000 * 1000 /* nanoseconds */,
	BILLION = 1000 * 1000 * 1000
};

typedef struct slot {
	enum { FREE, DRAWN, READY, TAKEN } state;
	invar_status status;
	char message[MESSAGE];
} slot;

typedef struct worker {
	inv_queue *q;
	unsigned number;
	pthread_t thread;
} worker;

struct inv_queue {
	inv_queue_spec s;
	slot *slots;
	worker *workers;
	unsigned running;
	pthread_mutex_t lock; /* of all that follows, and of states */
	pthread_cond_t emptied, filled;
	uint64_t drawn, taken; /* numbers: the next to make, the next to receive */
	bool stop;
};

static slot *slot_of(const inv_queue *q, uint64_t number)
{
	return &q->slots[number % q->s.slots];
}

/* ---- The threads ------------------------------------------------------------------ */

static void *make_items(void *user)
{
	const worker *w = user;
	inv_queue *q = w->q;

	pthread_mutex_lock(&q->lock);
	while (!q->stop && q->drawn < q->s.end) {
		uint64_t number = q->drawn;
		slot *s = slot_of(q, number);

		if (s->state != FREE) {
			pthread_cond_wait(&q->emptied, &q->lock);
			continue;
		}
		s->state = DRAWN;
		q->drawn++;
		pthread_mutex_unlock(&q->lock);
		s->status = q->s.fill(q->s.user, number, w->number);
		if (s->status != INVAR_OK)
			inv_last_error_spelled(INV_MARKED, s->message, sizeof s->message);
		pthread_mutex_lock(&q->lock);
		s->state = READY;
		pthread_cond_signal(&q->filled);
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

/* ---- The consumer ----------------------------------------------------------------- */

/* With the lock held; `wait` is called without it. */
static invar_status wait_for_item(inv_queue *q)
{
	uint64_t number = q->taken;
	struct timespec until;
	invar_status st;

	if (!q->s.wait) {
		pthread_cond_wait(&q->filled, &q->lock);
		return INVAR_OK;
	}
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += WAIT;
	until.tv_sec += until.tv_nsec / BILLION;
	until.tv_nsec %= BILLION;
	if (pthread_cond_timedwait(&q->filled, &q->lock, &until) == 0)
		return INVAR_OK;
	pthread_mutex_unlock(&q->lock);
	st = q->s.wait(q->s.user, number);
	pthread_mutex_lock(&q->lock);
	return st;
}

/* Of the threads that wait, any one may draw the next number. */
static void free_slot(inv_queue *q, slot *s)
{
	s->state = FREE;
	pthread_cond_signal(&q->emptied);
}

invar_status inv_queue_next(inv_queue *q, uint64_t *number)
{
	invar_status st = INVAR_OK;
	slot *s;

	pthread_mutex_lock(&q->lock);
	*number = q->taken;
	s = slot_of(q, q->taken);
	while (st == INVAR_OK && q->taken < q->s.end && s->state != READY)
		st = wait_for_item(q);
	if (st == INVAR_OK && q->taken < q->s.end) {
		q->taken++;
		s->state = TAKEN;
		if (s->status != INVAR_OK) {
			st = inv_fail(s->status, "%s", s->message);
			free_slot(q, s);
		}
	}
	pthread_mutex_unlock(&q->lock);
	return st;
}

void inv_queue_release(inv_queue *q, uint64_t number)
{
	slot *s = slot_of(q, number);

	pthread_mutex_lock(&q->lock);
	if (s->state == TAKEN)
		free_slot(q, s);
	pthread_mutex_unlock(&q->lock);
}

/* ---- Making and freeing ----------------------------------------------------------- */

invar_status inv_queue_new(const inv_queue_spec *spec, inv_queue **out)
{
	inv_queue *q;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&q));
	*q = (inv_queue){.s = *spec, .drawn = spec->first, .taken = spec->first};
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->emptied, NULL);
	pthread_cond_init(&q->filled, NULL);
	INV_TRY_OR(fail, inv_new_zeros(&q->slots, spec->slots));
	INV_TRY_OR(fail, inv_new_zeros(&q->workers, spec->threads));
	for (; q->running < spec->threads; q->running++) {
		worker *w = &q->workers[q->running];

		*w = (worker){.q = q, .number = q->running};
		if (pthread_create(&w->thread, NULL, make_items, w) != 0)
			break;
	}
	if (q->running) {
		*out = q;
		return INVAR_OK;
	}
	st = inv_fail(INVAR_E_NOMEM, "cannot start a thread that reads ahead");
fail:
	inv_queue_free(q);
	return st;
}

void inv_queue_stop(inv_queue *q)
{
	pthread_mutex_lock(&q->lock);
	q->stop = true;
	pthread_cond_broadcast(&q->emptied);
	pthread_mutex_unlock(&q->lock);
}

void inv_queue_free(inv_queue *q)
{
	if (!q)
		return;
	inv_queue_stop(q);
	for (unsigned i = 0; i < q->running; i++)
		pthread_join(q->workers[i].thread, NULL);
	pthread_cond_destroy(&q->filled);
	pthread_cond_destroy(&q->emptied);
	pthread_mutex_destroy(&q->lock);
	inv_free(q->slots);
	inv_free(q->workers);
	inv_free(q);
}
