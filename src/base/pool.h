/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pool.h - many small pieces of memory that are freed at once, for things that are built
 * step by step and any step of which may fail.
 *
 * inv_pool_zeros and inv_pool_more set *pointer as inv_new_zeros does (base/memory.h).
 * inv_pool_more makes place for one item more, cleared, in an array of `count`; an array
 * that is enlarged moves.
 */
#ifndef INV_POOL_H
#define INV_POOL_H

#include "base/memory.h"

typedef struct inv_pool {
	struct inv_pool_piece *last; /* NULL: empty */
} inv_pool;

#define inv_pool_zeros(pool, pointer, count)                                      \
	inv_check_memory(*(pointer) = inv_pool_take(pool, count, sizeof **(pointer)), \
	                 inv_array_bytes(count, sizeof **(pointer)))
#define inv_pool_more(pool, pointer, count)                                             \
	inv_check_memory(*(pointer) =                                                       \
	                     inv_pool_enlarge(pool, *(pointer), count, sizeof **(pointer)), \
	                 inv_array_bytes(2 * (count) + 1, sizeof **(pointer)))

/* A text as printf would write it. */
invar_status inv_pool_print(inv_pool *p, char **out, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void inv_pool_free(inv_pool *p);

/* For the macros; NULL if there is no memory. */
void *inv_pool_take(inv_pool *p, size_t count, size_t bytes);
void *inv_pool_enlarge(inv_pool *p, const void *old, size_t count, size_t bytes);

#endif
