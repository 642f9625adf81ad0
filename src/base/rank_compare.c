/* SPDX-License-Identifier: Apache-2.0 */
/* rank_compare.c - see rank_compare.h. */
#include "base/rank_compare.h"

#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/threads.h"

enum { GROUP = 256 }; /* items between two reports */

typedef unsigned char item_print[INV_COMPARED_BYTES];

typedef struct comparison {
	const inv_compared *c;
	size_t first; /* of a group */
	inv_file_id *id;
	item_print *print;
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
	return k->c->print(k->c->user, item, thread, k->print[item]);
}

static invar_status visit_items(const invar_context *ctx, comparison *k, inv_try_fn *visit)
{
	size_t count = k->c->count;

	for (k->first = 0; k->first < count; k->first += GROUP) {
		size_t left = count - k->first;

		INV_TRY(inv_progress(ctx, "compare ranks", k->first, count));
		INV_TRY(inv_parallel_try(ctx, left < GROUP ? left : GROUP, visit, k));
	}
	return INVAR_OK;
}

/* The first item of which this rank has another value than rank 0; count: none. */
static invar_status find_difference(const invar_context *ctx, const void *own, void *of_0,
                                    size_t bytes, size_t count, size_t *item)
{
	memcpy(of_0, own, count * bytes);
	INV_TRY(inv_broadcast(ctx, of_0, count * bytes));
	for (*item = 0; *item < count; ++*item)
		if (memcmp((const char *)own + *item * bytes, (char *)of_0 + *item * bytes,
		           bytes) != 0)
			break;
	return INVAR_OK;
}

invar_status inv_ranks_compare(const invar_context *ctx, const inv_compared *c)
{
	const inv_file_id unknown = {0};
	inv_shares ranks = inv_shares_of(ctx, inv_process_count(ctx), 1);
	comparison k = {.c = c};
	uint64_t count = c->count;
	inv_file_id *of_0 = NULL;
	bool *doubt = NULL, any = false;
	size_t item;
	invar_status st;

	if (ranks.ranks == 1)
		return INVAR_OK;
	INV_TRY(inv_broadcast(ctx, &count, sizeof count));
	INV_TRY(inv_agree(ctx, count == c->count ? INVAR_OK : c->differs(c->user, 0)));
	INV_TRY_OR(done, inv_new_zeros(&k.id, count + 1));
	INV_TRY_OR(done, inv_new_zeros(&k.print, count + 1));
	INV_TRY_OR(done, inv_new_zeros(&of_0, count + 1));
	INV_TRY_OR(done, inv_new_zeros(&doubt, ranks.items));

	/* By file, if each rank knows all of them and has the same. */
	INV_TRY_OR(done, visit_items(ctx, &k, identify_item));
	INV_TRY_OR(done, find_difference(ctx, k.id, of_0, sizeof *k.id, count, &item));
	doubt[ranks.rank] = item < count;
	for (size_t i = 0; i < count; i++)
		doubt[ranks.rank] |= memcmp(&k.id[i], &unknown, sizeof unknown) == 0;
	INV_TRY_OR(done, inv_gather(ctx, &ranks, doubt, sizeof *doubt));
	for (size_t r = 0; r < ranks.items; r++)
		any = any || doubt[r];
	if (!any)
		goto done;

	INV_TRY_OR(done, visit_items(ctx, &k, print_item));
	INV_TRY_OR(done, find_difference(ctx, k.print, of_0, sizeof *k.print, count, &item));
	st = inv_agree(ctx, item < count ? c->differs(c->user, item) : INVAR_OK);
done:
	inv_free(doubt);
	inv_free(k.id);
	inv_free(k.print);
	inv_free(of_0);
	return st;
}

invar_status inv_ranks_same(const invar_context *ctx, const char hex[INV_SHA256_HEX],
                            const char *path)
{
	char of_0[INV_SHA256_HEX];

	memcpy(of_0, hex, sizeof of_0);
	INV_TRY(inv_broadcast(ctx, of_0, sizeof of_0));
	return inv_agree(ctx, strcmp(hex, of_0) == 0 ? INVAR_OK : inv_fail_other_file(path));
}
