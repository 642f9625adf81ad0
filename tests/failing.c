/* SPDX-License-Identifier: Apache-2.0 */
/* failing.c - see failing.h. */
#include "failing.h"

#include <jansson.h>
#include <stdlib.h>

#include "base/memory.h"
#include "support.h"

void *__real_inv_alloc(size_t bytes);
void *__real_inv_calloc(size_t count, size_t bytes);
char *__real_inv_strdup(const char *text);
void *__wrap_inv_alloc(size_t bytes);
void *__wrap_inv_calloc(size_t count, size_t bytes);
char *__wrap_inv_strdup(const char *text);

static unsigned made, fail_at; /* 0 never fails */
static bool json_fault;        /* the one that failed was jansson's own */

static bool fails(void)
{
	return ++made == fail_at;
}

void *__wrap_inv_alloc(size_t bytes)
{
	return fails() ? NULL : __real_inv_alloc(bytes);
}

void *__wrap_inv_calloc(size_t count, size_t bytes)
{
	return fails() ? NULL : __real_inv_calloc(count, bytes);
}

char *__wrap_inv_strdup(const char *text)
{
	return fails() ? NULL : __real_inv_strdup(text);
}

static void *json_memory(size_t bytes)
{
	bool bad = fails();

	json_fault |= bad;
	return bad ? NULL : malloc(bytes);
}

unsigned test_each_allocation_fails(invar_status (*work)(void *user), void *user)
{
	invar_status st = INVAR_E_NOMEM;

	json_set_alloc_funcs(json_memory, free);
	for (unsigned k = 1; st != INVAR_OK; k++) {
		made = 0;
		json_fault = false;
		fail_at = k;
		st = work(user);
		fail_at = 0;
		if (st != INVAR_OK && st != INVAR_E_NOMEM && !json_fault)
			fail_msg("allocation %u failed and gave status %d: %s", k, st,
			         invar_last_error());
		if (st == INVAR_OK && made >= k)
			fail_msg("allocation %u failed and nobody noticed", k);
	}
	json_set_alloc_funcs(malloc, free);
	return made;
}
