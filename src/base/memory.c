/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - aligned allocation and the planned arena. */
#include "base/memory.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LARGE = 4 << 20 };

static size_t round_up(size_t bytes)
{
	return (bytes + INV_ALIGN - 1) / INV_ALIGN * INV_ALIGN;
}

void *inv_alloc(size_t bytes)
{
	if (bytes > PTRDIFF_MAX - INV_ALIGN)
		return NULL;
	return aligned_alloc(INV_ALIGN, bytes ? round_up(bytes) : INV_ALIGN);
}

void *inv_calloc(size_t count, size_t bytes)
{
	uint64_t total;
	void *memory;

	if (inv_mul_overflow(count, bytes, &total))
		return NULL;
	memory = inv_alloc(total);
	if (memory)
		memset(memory, 0, total);
	return memory;
}

char *inv_strdup(const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *copy = inv_alloc(bytes);

	if (copy)
		memcpy(copy, text, bytes);
	return copy;
}

void inv_free(void *memory)
{
	free(memory);
}

void invar_free(void *memory)
{
	inv_free(memory);
}

void *inv_arena_take(inv_arena *a, uint64_t count, size_t bytes)
{
	uint64_t want;
	void *piece;

	if (inv_mul_overflow(count, bytes, &want) || want > PTRDIFF_MAX / 2 ||
	    a->used > PTRDIFF_MAX / 2) {
		a->used = PTRDIFF_MAX; /* the commit will fail */
		return NULL;
	}
	piece = a->base ? a->base + a->used : NULL;
	a->used += round_up(want);
	assert(!a->base || a->used <= a->size);
	return piece;
}

/* The system lends more than it has and kills who takes it, so we ask what it has. */
bool inv_can_map(size_t bytes)
{
	void *at =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return false;
	munmap(at, bytes);
	return true;
}

invar_status inv_arena_commit(inv_arena *a)
{
	size_t page = (size_t)sysconf(_SC_PAGE_SIZE);
	long pages = sysconf(_SC_PHYS_PAGES);
	char *first;

	assert(!a->base);
	a->size = a->used;
	a->base = pages <= 0 || a->size / page <= (size_t)pages ? inv_alloc(a->size) : NULL;
	INV_TRY(inv_check_memory(a->base, a->size));
	/* Large blocks are read from end to end: large pages spare most of the page table. */
	first = a->base + (page - (uintptr_t)a->base % page) % page;
	if (a->size >= LARGE) /* a hint, which the system may ignore */
		(void)madvise(first, a->size - (size_t)(first - a->base), MADV_HUGEPAGE);
	a->used = 0;
	return INVAR_OK;
}

void inv_arena_free(inv_arena *a)
{
	inv_free(a->base);
	*a = (inv_arena){0};
}

invar_status inv_check_memory(const void *memory, size_t bytes)
{
	if (memory)
		return INVAR_OK;
	if (bytes >= LARGE)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for %zu MB", bytes >> 20);
	return inv_fail(INVAR_E_NOMEM, "not enough memory for %zu bytes", bytes);
}

invar_status inv_no_memory(void)
{
	return inv_fail(INVAR_E_NOMEM, "not enough memory");
}
