/* SPDX-License-Identifier: Apache-2.0 */
/*
 * memory.h - every allocation of our own code, and an arena.
 *
 * All memory is 64-byte aligned, for vector instructions. Tests
 * count and fail allocations by wrapping inv_alloc at link time.
 */
#ifndef INV_MEMORY_H
#define INV_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/status.h"

enum { INV_ALIGN = 64 };

void *inv_alloc(size_t bytes); /* 64-byte aligned, not cleared; NULL if none */
void *inv_calloc(size_t count, size_t bytes);
char *inv_strdup(const char *text);
void inv_free(void *memory);

/* OK, or if `memory` is NULL the failure "not enough memory for N bytes". */
invar_status inv_check_memory(const void *memory, size_t bytes);

/* For memory that a library allocates: fails with "not enough memory". */
invar_status inv_no_memory(void);

/* Whether the system would allocate this many bytes; for libraries that do not check. */
bool inv_can_map(size_t bytes);

static inline bool inv_mul_overflow(uint64_t a, uint64_t b, uint64_t *out)
{
	return __builtin_mul_overflow(a, b, out);
}

static inline bool inv_add_overflow(uint64_t a, uint64_t b, uint64_t *out)
{
	return __builtin_add_overflow(a, b, out);
}

/* The size of an array; SIZE_MAX, which no allocation accepts, if it overflows. */
static inline size_t inv_array_bytes(uint64_t count, size_t item)
{
	uint64_t bytes;

	return inv_mul_overflow(count, item, &bytes) || bytes > SIZE_MAX ? SIZE_MAX
	                                                                 : (size_t)bytes;
}

/*
 * Allocation as a call that fails with a status, so that INV_TRY and INV_TRY_OR apply. Each
 * sets *pointer, to NULL after a failure, which is reported here with its size: callers add
 * no message of their own. inv_new gives one object and inv_new_zeros an array, both
 * cleared; inv_new_array an array that is not cleared. The macros evaluate their arguments
 * more than once.
 */
#define inv_new(pointer) inv_new_zeros(pointer, 1)
#define inv_new_zeros(pointer, count)                                    \
	inv_check_memory(*(pointer) = inv_calloc(count, sizeof **(pointer)), \
	                 inv_array_bytes(count, sizeof **(pointer)))
#define inv_new_array(pointer, count)                                                    \
	inv_check_memory(*(pointer) = inv_alloc(inv_array_bytes(count, sizeof **(pointer))), \
	                 inv_array_bytes(count, sizeof **(pointer)))

/* A copy of a text. Not in memory.c, so that tests can make its allocation fail. */
static inline invar_status inv_new_text(char **pointer, const char *text)
{
	*pointer = inv_strdup(text);
	return inv_check_memory(*pointer, strlen(text) + 1);
}

/*
 * An arena hands out pieces of one block and frees them all at once. It is
 * planned first: while `base` is NULL, takes only add up; inv_arena_commit then
 * allocates the sum, and the same takes in the same order give the pieces.
 */
typedef struct inv_arena {
	char *base;
	size_t used, size;
} inv_arena;

void *inv_arena_take(inv_arena *a, uint64_t count, size_t bytes);
invar_status inv_arena_commit(inv_arena *a);
void inv_arena_free(inv_arena *a);

#endif
