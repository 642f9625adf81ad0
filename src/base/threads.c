/* threads.c - parallel loops over OpenMP. */
#include "base/threads.h"

#include <omp.h>
#include <stdio.h>

void inv_parallel(const invar_context *ctx, size_t blocks, inv_block_fn *fn, void *user)
{
	if (ctx->threads <= 1 || blocks <= 1) {
		for (size_t i = 0; i < blocks; i++)
			fn(user, i, 0);
		return;
	}
#pragma omp parallel for schedule(dynamic, 1) num_threads((int)ctx->threads)
	for (size_t i = 0; i < blocks; i++)
		fn(user, i, (unsigned)omp_get_thread_num());
}

/* Sentences are kept by thread, so the first fault takes a copy of its own. */
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
