/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads.h - parallel loops whose result does not depend on the threads.
 *
 * Work is cut into blocks by its size alone, never by the number of threads.
 * A sum is one partial per block, added afterwards in block order.
 */
#ifndef INV_THREADS_H
#define INV_THREADS_H

#include <stddef.h>

#include "base/context.h"

typedef void inv_block_fn(void *user, size_t block, unsigned thread);

/* Calls fn for every block in [0, blocks), thread in [0, ctx->threads). */
void inv_parallel(const invar_context *ctx, size_t blocks, inv_block_fn *fn, void *user);

/*
 * The same for blocks that may fail: status and message are those of the first failing
 * block, in block order. Later blocks may be skipped.
 */
typedef invar_status inv_try_fn(void *user, size_t block, unsigned thread);
invar_status inv_parallel_try(const invar_context *ctx, size_t blocks, inv_try_fn *fn,
                              void *user);

/* Loops of this process that ran on several threads so far, for tests. */
uint64_t inv_threads_loops(void);

/* From now on, each loop of this process uses at most this many threads. */
void inv_threads_limit(unsigned threads);

double inv_sum_in_order(const double *partial, size_t count);

static inline size_t inv_blocks(size_t items, size_t per_block)
{
	return (items + per_block - 1) / per_block;
}

#endif
