/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - many strings in one block, which grows by doubling. */
#include "images/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { FIRST_ROOM = 4096, FIRST_SLOTS = 64 };

/* A block of twice the size, at least `least`, with the old bytes copied. */
static void *grow(void *old, size_t used, size_t *size, size_t least)
{
	size_t more = *size > least / 2 ? 2 * *size : least;
	void *block = inv_alloc(more);

	if (!block)
		return NULL;
	if (used)
		memcpy(block, old, used);
	inv_free(old);
	*size = more;
	return block;
}

static bool make_room(inv_names *n, size_t bytes)
{
	size_t slot_room = n->slots * sizeof *n->at;
	void *block;

	if (bytes > n->capacity - n->used) {
		size_t least = n->used + bytes > FIRST_ROOM ? n->used + bytes : FIRST_ROOM;

		if (!(block = grow(n->text, n->used, &n->capacity, least)))
			return false;
		n->text = block;
	}
	if (n->count == n->slots) {
		if (!(block = grow(n->at, slot_room, &slot_room, FIRST_SLOTS * sizeof *n->at)))
			return false;
		n->at = block;
		n->slots = slot_room / sizeof *n->at;
	}
	return true;
}

invar_status inv_names_add(inv_names *n, const char *text, size_t length)
{
	if (!make_room(n, length + 1))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for a list of names");
	memcpy(n->text + n->used, text, length);
	n->text[n->used + length] = '\0';
	n->at[n->count++] = n->used;
	n->used += length + 1;
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

static int compare(const void *a, const void *b, void *text)
{
	return strcmp((const char *)text + *(const size_t *)a,
	              (const char *)text + *(const size_t *)b);
}

void inv_names_sort(inv_names *n)
{
	if (n->count > 1)
		qsort_r(n->at, n->count, sizeof *n->at, compare, n->text);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

invar_status inv_names_add_lines(inv_names *n, const char *text)
{
	invar_status st = INVAR_OK;

	while (*text && st == INVAR_OK) {
		size_t length = strcspn(text, "\n"), next = length + (text[length] != '\0');
		const char *line = text;

		for (; length && is_blank(*line); line++)
			length--;
		while (length && is_blank(line[length - 1]))
			length--;
		if (length)
			st = inv_names_add(n, line, length);
		text += next;
	}
	return st;
}

void inv_names_clear(inv_names *n)
{
	inv_free(n->text);
	inv_free(n->at);
	*n = (inv_names){0};
}
