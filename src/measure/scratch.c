/* SPDX-License-Identifier: Apache-2.0 */
/* scratch.c - a list of blocks; the values of a block begin INV_ALIGN bytes after it. */
#include "measure/scratch.h"

struct inv_scratch_block {
	struct inv_scratch_block *before;
};

void *inv_scratch_take(inv_scratch *s, uint64_t count, size_t bytes)
{
	size_t size = inv_array_bytes(count, bytes);
	struct inv_scratch_block *b =
		size < SIZE_MAX - INV_ALIGN ? inv_calloc(1, INV_ALIGN + size) : NULL;

	if (!b)
		return NULL;
	b->before = s->last;
	s->last = b;
	return (char *)b + INV_ALIGN;
}

void inv_scratch_free(inv_scratch *s)
{
	for (struct inv_scratch_block *b = s->last, *before; b; b = before) {
		before = b->before;
		inv_free(b);
	}
	s->last = NULL;
}
