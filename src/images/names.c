/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - many strings in one block, which grows by doubling. */
#include "images/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { FIRST_BYTES = 4096, FIRST_SLOTS = 64 };

/* Moves a block to one of twice the size, at least `least` bytes. */
static invar_status grow_block(void **block, size_t used, size_t *size, size_t least)
{
	size_t more = *size > least / 2 ? 2 * *size : least;
	void *larger = inv_alloc(more);

	INV_TRY(inv_check_memory(larger, more));
	if (used)
		memcpy(larger, *block, used);
	inv_free(*block);
	*block = larger;
	*size = more;
	return INVAR_OK;
}

invar_status inv_names_add(inv_names *n, const char *text, size_t length)
{
	size_t slot_bytes = n->slots * sizeof *n->at, end = n->used + length + 1;
	void *block;

	if (end > n->capacity) {
		block = n->text;
		INV_TRY(grow_block(&block, n->used, &n->capacity,
		                   end > FIRST_BYTES ? end : FIRST_BYTES));
		n->text = block;
	}
	if (n->count == n->slots) {
		block = n->at;
		INV_TRY(grow_block(&block, slot_bytes, &slot_bytes, FIRST_SLOTS * sizeof *n->at));
		n->at = block;
		n->slots = slot_bytes / sizeof *n->at;
	}
	memcpy(n->text + n->used, text, length);
	n->text[n->used + length] = '\0';
	n->at[n->count++] = n->used;
	n->used = end;
	return INVAR_OK;
}

const char *inv_names_at(const inv_names *n, size_t i)
{
	return n->text + n->at[i];
}

bool inv_names_find(const inv_names *n, const char *text, size_t *i)
{
	for (*i = 0; *i < n->count; ++*i)
		if (strcmp(inv_names_at(n, *i), text) == 0)
			return true;
	return false;
}

static int compare_name_texts(const void *a, const void *b, void *text)
{
	return strcmp((const char *)text + *(const size_t *)a,
	              (const char *)text + *(const size_t *)b);
}

void inv_names_sort(inv_names *n)
{
	if (n->count > 1)
		qsort_r(n->at, n->count, sizeof *n->at, compare_name_texts, n->text);
}

void inv_names_unique(inv_names *n)
{
	size_t kept = 0;

	inv_names_sort(n);
	for (size_t i = 0; i < n->count; i++)
		if (!kept || strcmp(inv_names_at(n, kept - 1), inv_names_at(n, i)) != 0)
			n->at[kept++] = n->at[i];
	n->count = kept;
}

invar_status inv_names_add_lines(inv_names *n, const char *text)
{
	while (*text) {
		const char *line = text + strspn(text, " \t\r");
		size_t length = strcspn(line, "\n");

		text = line + length + (line[length] != '\0');
		while (length && strchr(" \t\r", line[length - 1]))
			length--;
		if (length)
			INV_TRY(inv_names_add(n, line, length));
	}
	return INVAR_OK;
}

void inv_names_clear(inv_names *n)
{
	inv_free(n->text);
	inv_free(n->at);
	*n = (inv_names){0};
}
