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

#include "base/status.h"

enum { INV_ALIGN = 64 };

void *inv_alloc(size_t bytes); /* 64-byte aligned, not cleared; NULL if none */
void *inv_calloc(size_t count, size_t bytes);
char *inv_strdup(const char *text);
void inv_free(void *memory);

/* Fails with "not enough memory". */
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
