/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads.c - parallel loops over OpenMP.
 *
 * libgomp ends the process where the system gives it no thread, be it for a limit on
 * memory or on tasks. So threads are tried out before libgomp starts its own: where
 * there are fewer, a loop runs on fewer, which changes no result. libgomp keeps its
 * threads for the thread that started them, and so does the count of them here.
 *
 * A child of fork() inherits libgomp's list of threads but not the threads, and would wait
 * for them forever. Data loaders of Python work in such children, so loops there run on
 * one thread.
 */
#include "base/threads.h"

#include <omp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

/* ---- How many threads there are ----------------------------------------------------- */

static _Thread_local unsigned asked = 1, available = 1;

static _Atomic unsigned max = INV_MAX_THREADS; /* of any loop */

static _Atomic uint64_t loops; /* on several threads */

static _Atomic bool without_team; /* in a child of a thread that had one */

uint64_t inv_threads_loops(void)
{
	return loops;
}

void inv_threads_limit(unsigned threads)
{
	max = threads;
}

static void forget_team(void)
{
	without_team = without_team || asked > 1;
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, forget_team);
}

static void *wait_for_the_others(void *gate)
{
	pthread_mutex_lock(gate);
	pthread_mutex_unlock(gate);
	return NULL;
}

/* How many of `wanted` threads, including the calling one, can run at once. */
static unsigned try_threads(unsigned wanted)
{
	pthread_t thread[INV_MAX_THREADS];
	pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
	unsigned started = 0;

	pthread_mutex_lock(&gate);
	while (started + 1 < wanted &&
	       pthread_create(&thread[started], NULL, wait_for_the_others, &gate) == 0)
		started++;
	pthread_mutex_unlock(&gate);
	for (unsigned i = 0; i < started; i++)
		pthread_join(thread[i], NULL);
	return started + 1;
}

/* Has libgomp start its threads while the memory that was just tried is still there. */
static void start_team(unsigned threads)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, watch_forks);
#pragma omp parallel num_threads((int)threads)
	{
	}
}

static unsigned team_size(const invar_context *ctx)
{
	unsigned wanted = ctx->threads < max ? ctx->threads : max;

	if (without_team)
		return 1;
	if (wanted > asked && !omp_in_parallel()) {
		available = try_threads(wanted);
		asked = wanted;
		if (available > 1)
			start_team(available);
		if (available < wanted)
			inv_log(ctx, INVAR_LOG_WARNING, "only %u of %u threads could be started",
			        available, wanted);
	}
	return wanted < available ? wanted : available;
}

/* ---- Loops --------------------------------------------------------------------------- */

void inv_parallel(const invar_context *ctx, size_t blocks, inv_block_fn *fn, void *user)
{
	unsigned threads = blocks > 1 ? team_size(ctx) : 1;

	if (threads <= 1) {
		for (size_t i = 0; i < blocks; i++)
			fn(user, i, 0);
		return;
	}
	loops++;
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)threads)
	for (size_t i = 0; i < blocks; i++)
		fn(user, i, (unsigned)omp_get_thread_num());
}

/* Messages are kept per thread, so the first error is copied. */
typedef struct trial {
	inv_try_fn *fn;
	void *user;
	omp_lock_t lock; /* of the rest */
	size_t first;    /* block that failed; SIZE_MAX: none */
	invar_status status;
	char sentence[1024];
} trial;

static size_t first_fault(trial *t)
{
	size_t first;

	omp_set_lock(&t->lock);
	first = t->first;
	omp_unset_lock(&t->lock);
	return first;
}

static void note_fault(trial *t, size_t block, invar_status st)
{
	omp_set_lock(&t->lock);
	if (block < t->first) {
		t->first = block;
		t->status = st;
		snprintf(t->sentence, sizeof t->sentence, "%s", invar_last_error());
	}
	omp_unset_lock(&t->lock);
}

static void try_block(void *user, size_t block, unsigned thread)
{
	trial *t = user;
	invar_status st;

	if (first_fault(t) < block)
		return;
	st = t->fn(t->user, block, thread);
	if (st != INVAR_OK)
		note_fault(t, block, st);
}

invar_status inv_parallel_try(const invar_context *ctx, size_t blocks, inv_try_fn *fn,
                              void *user)
{
	trial t = {.fn = fn, .user = user, .first = SIZE_MAX, .status = INVAR_OK};

	omp_init_lock(&t.lock);
	inv_parallel(ctx, blocks, try_block, &t);
	omp_destroy_lock(&t.lock);
	return t.status == INVAR_OK ? INVAR_OK : inv_fail(t.status, "%s", t.sentence);
}

double inv_sum_in_order(const double *partial, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += partial[i];
	return sum;
}
