/* SPDX-License-Identifier: Apache-2.0 */
/* rank_compare.c - see rank_compare.h. */
#include "base/rank_compare.h"

#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/rank_shares.h"
#include "base/threads.h"

enum { GROUP = 256 }; /* items between two reports */

typedef unsigned char item_print[INV_COMPARED_BYTES];

typedef struct comparison {
	const inv_compared *c;
	size_t first;      /* of a group */
	inv_file_id *id;   /* [count] of this rank; zeros: unknown */
	inv_file_id *id_0; /* of rank 0, likewise below */
	item_print *print; /* of items that are in doubt */
	item_print *print_0;
	uint32_t *doubt;  /* [count] 1: this rank may read something else */
	uint32_t *doubts; /* [count] the sums over all ranks */
	uint32_t *buffer; /* for inv_sum_counts */
	inv_arena arena;
} comparison;

invar_status inv_fail_other_file(const char *path)
{
	char host[256] = "?";

	gethostname(host, sizeof host - 1);
	return inv_fail(
		INVAR_E_MISMATCH,
		"%.600s: differs on %.100s from what rank 0 reads; copy it again, or let "
		"all ranks read the same folder of a shared file system",
		path, host);
}

static invar_status allocate_comparison(const invar_context *ctx, comparison *k)
{
	size_t n = k->c->count;
	invar_status st = INVAR_OK;

	for (int round = 0; round < 2 && st == INVAR_OK; round++) {
		k->id = inv_arena_take(&k->arena, n, sizeof *k->id);
		k->id_0 = inv_arena_take(&k->arena, n, sizeof *k->id_0);
		k->print = inv_arena_take(&k->arena, n, sizeof *k->print);
		k->print_0 = inv_arena_take(&k->arena, n, sizeof *k->print_0);
		k->doubt = inv_arena_take(&k->arena, n, sizeof *k->doubt);
		k->doubts = inv_arena_take(&k->arena, n, sizeof *k->doubts);
		k->buffer = inv_arena_take(&k->arena, inv_counts_room(ctx, n), sizeof *k->buffer);
		if (!round)
			st = inv_arena_commit(&k->arena);
	}
	if (st == INVAR_OK)
		memset(k->print, 0, n * sizeof *k->print);
	return st;
}

static invar_status identify_item(void *user, size_t item, unsigned thread)
{
	comparison *k = user;

	(void)thread;
	item += k->first;
	if (!k->c->file(k->c->user, item, &k->id[item]))
		k->id[item] = (inv_file_id){0};
	return INVAR_OK;
}

static invar_status print_item(void *user, size_t item, unsigned thread)
{
	comparison *k = user;

	item += k->first;
	if (!k->doubt[item])
		return INVAR_OK;
	return k->c->print(k->c->user, item, thread, k->print[item]);
}

/* All items, or until a rank fails or is told to stop. */
static invar_status visit_items(const invar_context *ctx, comparison *k, inv_try_fn *visit)
{
	inv_watch watch = inv_watch_start(ctx);
	size_t count = k->c->count;
	invar_status st = INVAR_OK;

	for (k->first = 0; k->first < count && st == INVAR_OK; k->first += GROUP) {
		size_t left = count - k->first;

		st = inv_watch_progress(&watch, "compare ranks", k->first, count);
		if (st == INVAR_OK)
			st = inv_parallel_try(ctx, left < GROUP ? left : GROUP, visit, k);
	}
	return inv_watch_finish(&watch, st);
}

/* Rank 0 has to read what any other is in doubt about. */
static invar_status find_doubts(const invar_context *ctx, comparison *k)
{
	const inv_file_id unknown = {0};
	size_t n = k->c->count;
	invar_status st;

	memcpy(k->id_0, k->id, n * sizeof *k->id);
	if ((st = inv_broadcast(ctx, k->id_0, n * sizeof *k->id_0)) != INVAR_OK)
		return st;
	for (size_t i = 0; i < n; i++)
		k->doubts[i] = k->doubt[i] =
			inv_process_rank(ctx) && (memcmp(&k->id[i], &k->id_0[i], sizeof *k->id) != 0 ||
		                              memcmp(&k->id[i], &unknown, sizeof unknown) == 0);
	st = inv_sum_counts(ctx, k->doubts, n, k->buffer);
	if (inv_process_rank(ctx) == 0)
		memcpy(k->doubt, k->doubts, n * sizeof *k->doubt);
	return st;
}

static invar_status compare_prints(const invar_context *ctx, comparison *k)
{
	size_t n = k->c->count;
	invar_status st;

	memcpy(k->print_0, k->print, n * sizeof *k->print);
	if ((st = inv_broadcast(ctx, k->print_0, n * sizeof *k->print_0)) != INVAR_OK)
		return st;
	for (size_t i = 0; i < n && st == INVAR_OK; i++)
		if (k->doubt[i] && memcmp(k->print[i], k->print_0[i], sizeof *k->print) != 0)
			st = k->c->differs(k->c->user, i);
	return inv_agree(ctx, st);
}

invar_status inv_ranks_compare(const invar_context *ctx, const inv_compared *c)
{
	comparison k = {.c = c};
	uint64_t count = c->count;
	bool any = false;
	invar_status st;

	if (inv_process_count(ctx) == 1)
		return INVAR_OK;
	if ((st = inv_broadcast(ctx, &count, sizeof count)) != INVAR_OK)
		return st;
	st = count == c->count ? allocate_comparison(ctx, &k) : c->differs(c->user, 0);
	if ((st = inv_agree(ctx, st)) == INVAR_OK)
		st = visit_items(ctx, &k, identify_item);
	if (st == INVAR_OK)
		st = find_doubts(ctx, &k);
	for (size_t i = 0; i < c->count && st == INVAR_OK && !any; i++)
		any = k.doubts[i];
	if (st == INVAR_OK && any && (st = visit_items(ctx, &k, print_item)) == INVAR_OK)
		st = compare_prints(ctx, &k);
	inv_arena_free(&k.arena);
	return st;
}
