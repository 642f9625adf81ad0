/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - pieces of memory in a list; see pool.h. */
#include "base/pool.h"

#include <stdarg.h>
#include <stdio.h>

typedef struct inv_pool_piece {
	_Alignas(INV_ALIGN) struct inv_pool_piece *before;
	_Alignas(INV_ALIGN) char bytes[];
} piece;

void *inv_pool_take(inv_pool *p, size_t count, size_t bytes)
{
	size_t size = inv_array_bytes(count, bytes);
	piece *made =
		size > SIZE_MAX - sizeof *made ? NULL : inv_calloc(1, sizeof *made + size);

	if (!made)
		return NULL;
	made->before = p->last;
	p->last = made;
	return made->bytes;
}

/* Arrays double in size: those of 0, 1, 2, 4 … items are full. */
void *inv_pool_enlarge(inv_pool *p, const void *old, size_t count, size_t bytes)
{
	void *larger;

	if (count & (count - 1))
		return (void *)(uintptr_t)old;
	larger = inv_pool_take(p, count ? 2 * count : 1, bytes);
	if (larger && count)
		memcpy(larger, old, count * bytes);
	return larger;
}

invar_status inv_pool_print(inv_pool *p, char **out, const char *format, ...)
{
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	INV_TRY(inv_pool_zeros(p, out, (size_t)length + 1));
	va_start(args, format);
	vsnprintf(*out, (size_t)length + 1, format, args);
	va_end(args);
	return INVAR_OK;
}

void inv_pool_free(inv_pool *p)
{
	while (p->last) {
		piece *before = p->last->before;

		inv_free(p->last);
		p->last = before;
	}
}
