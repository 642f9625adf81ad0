/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scratch.h - arrays that are freed together.
 *
 * A measurement takes its arrays from one scratch, which eval frees when the measurement is
 * done: no function has to free its arrays on the way out.
 */
#ifndef INV_SCRATCH_H
#define INV_SCRATCH_H

#include "base/memory.h"

/* Start from {0}. */
typedef struct inv_scratch {
	struct inv_scratch_block *last;
} inv_scratch;

void *inv_scratch_take(inv_scratch *s, uint64_t count, size_t bytes);
void inv_scratch_free(inv_scratch *s);

/* A cleared array of `count` values, as inv_new_zeros. */
#define inv_scratch_array(scratch, pointer, count)                                      \
	inv_check_memory(*(pointer) = inv_scratch_take(scratch, count, sizeof **(pointer)), \
	                 inv_array_bytes(count, sizeof **(pointer)))

#endif
