/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_heartbeat.c - notices a rank that hangs without dying: it is stopped, or its machine
 * cannot be reached.
 *
 * A thread of each rank sends a beat every second, however long the rank itself computes or
 * waits for a disk: rank 0 to all others, these to rank 0. A rank that has not been heard
 * for PATIENCE seconds is lost, which the next look at an exchange reports
 * (inv_ranks_lost); leaving then ends all ranks. If rank 0 is lost, rank 1 says so, and the
 * others only if it does not.
 *
 * A scheduler may suspend all ranks and resume them: a thread that was stopped itself
 * starts to count anew.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/processes.h"
#include "base/processes_inside.h"

enum { BEAT = 1, FAREWELL = 2 };      /* words */
enum { PATIENCE = 20, GOODBYE = 10 }; /* seconds */

/* Shares of the patience: between beats; of a thread that was stopped; until others speak.
 */
static const double pause = 0.05, own_pause = 0.25, later = 0.15;

struct inv_heartbeat {
	const inv_transport *t;
	double patience;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop, farewell;   /* under the lock */
	_Atomic unsigned lost; /* its rank + 1; 0: none */
	double *heard;         /* [size] when, of each rank that this one listens to */
	bool *gone;            /* [size] has said farewell */
};

static bool listens_to(const inv_heartbeat *h, unsigned rank)
{
	return h->t->rank ? rank == 0 : rank != 0;
}

/* One word to each rank, and what they have said. A failure is found by other exchanges. */
static void exchange_words(inv_heartbeat *h, int word, double now)
{
	for (unsigned r = 0; r < h->t->size; r++) {
		int said = 0;

		if (!listens_to(h, r))
			continue;
		if (word)
			h->t->beat(r, word);
		if (h->t->hear_beat(r, &said))
			continue;
		if (said)
			h->heard[r] = now;
		h->gone[r] = h->gone[r] || said == FAREWELL;
	}
}

static void look_for_lost(inv_heartbeat *h, double now)
{
	double limit = h->t->rank > 1 ? (1 + later) * h->patience : h->patience;

	for (unsigned r = 0; r < h->t->size && !h->lost; r++)
		if (listens_to(h, r) && !h->gone[r] && now - h->heard[r] > limit)
			h->lost = r + 1;
}

static void start_anew(inv_heartbeat *h, double now)
{
	for (unsigned r = 0; r < h->t->size; r++)
		h->heard[r] = now;
}

/* Until the next beat or the end. */
static bool is_stopped_after_a_pause(inv_heartbeat *h)
{
	struct timespec until;
	bool stop;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += (long)(1e9 * pause * h->patience);
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&h->lock);
	while (!h->stop && pthread_cond_timedwait(&h->wake, &h->lock, &until) != ETIMEDOUT)
		;
	stop = h->stop;
	pthread_mutex_unlock(&h->lock);
	return stop;
}

/* So that no word is left on its way when the transport is closed. */
static void say_farewell(inv_heartbeat *h)
{
	double began = inv_wall_seconds();
	int word = FAREWELL;
	bool all = false;

	while (!all && inv_wall_seconds() - began < GOODBYE) {
		exchange_words(h, word, began);
		word = 0;
		all = true;
		for (unsigned r = 0; r < h->t->size; r++)
			all = all && (!listens_to(h, r) || h->gone[r]);
		if (!all)
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
}

static void *beat_all_the_time(void *user)
{
	inv_heartbeat *h = user;
	double before = inv_wall_seconds();

	start_anew(h, before);
	do {
		double now = inv_wall_seconds();

		if (now - before > own_pause * h->patience)
			start_anew(h, now);
		before = now;
		exchange_words(h, BEAT, now);
		look_for_lost(h, now);
	} while (!is_stopped_after_a_pause(h));
	if (h->farewell)
		say_farewell(h);
	return NULL;
}

/* ---- From the outside ---------------------------------------------------------------- */

static void free_heartbeat(inv_heartbeat *h)
{
	if (!h)
		return;
	inv_free(h->heard);
	inv_free(h->gone);
	inv_free(h);
}

invar_status inv_heartbeat_start(const inv_transport *t, inv_heartbeat **out)
{
	inv_heartbeat *h;

	*out = NULL;
	if (t->size == 1 || !t->beat)
		return INVAR_OK;
	if ((h = inv_calloc(1, sizeof *h))) {
		h->heard = inv_calloc(t->size, sizeof *h->heard);
		h->gone = inv_calloc(t->size, sizeof *h->gone);
	}
	if (!h || !h->heard || !h->gone) {
		free_heartbeat(h);
		return inv_fail(INVAR_E_NOMEM, "not enough memory for a list of processes");
	}
	h->t = t;
	h->patience = t->patience > 0 ? t->patience : PATIENCE;
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->wake, NULL);
	if (pthread_create(&h->thread, NULL, beat_all_the_time, h) != 0) {
		free_heartbeat(h);
		return inv_fail(INVAR_E_NOMEM, "cannot start a thread");
	}
	*out = h;
	return INVAR_OK;
}

void inv_heartbeat_stop(inv_heartbeat *h, bool farewell)
{
	if (!h)
		return;
	pthread_mutex_lock(&h->lock);
	h->stop = true;
	h->farewell = farewell;
	pthread_cond_signal(&h->wake);
	pthread_mutex_unlock(&h->lock);
	pthread_join(h->thread, NULL);
	pthread_mutex_destroy(&h->lock);
	pthread_cond_destroy(&h->wake);
	free_heartbeat(h);
}

const char *inv_ranks_lost(inv_processes *p)
{
	unsigned lost = p->heartbeat ? p->heartbeat->lost : 0;

	if (!lost)
		return NULL;
	snprintf(p->sentence, sizeof p->sentence,
	         "rank %u has not answered for %g seconds, it hangs or its machine is gone",
	         lost - 1, p->heartbeat->patience);
	return p->sentence;
}
