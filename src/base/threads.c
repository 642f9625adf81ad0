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

static unsigned team_size(const invar_context *ctx)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	unsigned wanted = ctx->threads < max ? ctx->threads : max;

	if (without_team)
		return 1;
	if (wanted > asked && !omp_in_parallel()) {
		available = try_threads(wanted);
		asked = wanted;
		if (available > 1) { /* libgomp starts its own while the memory is still there */
			pthread_once(&once, watch_forks);
#pragma omp parallel num_threads((int)available)
			{
			}
		}
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
typedef struct attempt {
	inv_try_fn *fn;
	void *user;
	omp_lock_t lock; /* of the rest */
	size_t first;    /* block that failed; SIZE_MAX: none */
	invar_status status;
	char sentence[1024];
} attempt;

static void try_block(void *user, size_t block, unsigned thread)
{
	attempt *t = user;
	invar_status st;
	size_t first;

	omp_set_lock(&t->lock);
	first = t->first;
	omp_unset_lock(&t->lock);
	if (first < block || (st = t->fn(t->user, block, thread)) == INVAR_OK)
		return;
	omp_set_lock(&t->lock);
	if (block < t->first) {
		t->first = block;
		t->status = st;
		inv_last_error_spelled(INV_MARKED, t->sentence, sizeof t->sentence);
	}
	omp_unset_lock(&t->lock);
}

invar_status inv_parallel_try(const invar_context *ctx, size_t blocks, inv_try_fn *fn,
                              void *user)
{
	attempt t = {.fn = fn, .user = user, .first = SIZE_MAX, .status = INVAR_OK};

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
