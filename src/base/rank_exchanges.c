/* SPDX-License-Identifier: Apache-2.0 */
/* rank_exchanges.c - shares of ranks, and sums over blocks of work; see processes.h. */
#include <string.h>

#include "base/memory.h"
#include "base/processes.h"

/* ---- Shares -------------------------------------------------------------------------- */

inv_shares inv_shares_of(const invar_context *ctx, size_t items, size_t unit)
{
	return (inv_shares){items, unit, inv_process_rank(ctx), inv_process_count(ctx)};
}

size_t inv_share_first(const inv_shares *s, unsigned rank)
{
	size_t first = (s->items + s->unit - 1) / s->unit * rank / s->ranks * s->unit;

	return first < s->items ? first : s->items;
}

size_t inv_share_count(const inv_shares *s, unsigned rank)
{
	return inv_share_first(s, rank + 1) - inv_share_first(s, rank);
}

size_t inv_own_first(const inv_shares *s)
{
	return inv_share_first(s, s->rank);
}

size_t inv_own_count(const inv_shares *s)
{
	return inv_share_count(s, s->rank);
}

/* ---- Sums over blocks of work -------------------------------------------------------- */

/*
 * With one rank, blocks are added to the total itself. With several, a round is a block of
 * each rank: it cuts its vector among all ranks, and each adds up its share of the totals.
 */
struct inv_block_sums {
	const invar_context *ctx;
	inv_shares shares;         /* of the vector */
	uint64_t blocks;           /* ended so far in the round that is under way */
	bool known;                /* no block has ended since all ranks got the totals */
	double *all;               /* [count] totals, as far as they are known here */
	double *block;             /* [count] of this rank's block; NULL: a single rank */
	double *total;             /* [own share] */
	double *parts;             /* [ranks, own share] of a round */
	uint64_t *sent, *received; /* [ranks] bytes */
};

invar_status inv_block_sums_new(const invar_context *ctx, uint64_t count,
                                inv_block_sums **out)
{
	inv_block_sums *s = inv_calloc(1, sizeof *s);
	size_t own;

	*out = NULL;
	if (!s)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for sums");
	s->ctx = ctx;
	s->shares = inv_shares_of(ctx, count, 1);
	s->all = inv_calloc(count, sizeof *s->all);
	own = inv_own_count(&s->shares);
	if (s->shares.ranks > 1) {
		s->block = inv_calloc(count, sizeof *s->block);
		s->total = inv_calloc(own + 1, sizeof *s->total);
		s->parts = inv_calloc(s->shares.ranks * own + 1, sizeof *s->parts);
		s->sent = inv_calloc(s->shares.ranks, sizeof *s->sent);
		s->received = inv_calloc(s->shares.ranks, sizeof *s->received);
	}
	if (!s->all || (s->shares.ranks > 1 &&
	                (!s->block || !s->total || !s->parts || !s->sent || !s->received))) {
		inv_block_sums_free(s);
		return inv_fail(INVAR_E_NOMEM, "not enough memory for sums of %zu MB",
		                (size_t)(count >> 17));
	}
	*out = s;
	return INVAR_OK;
}

void inv_block_sums_free(inv_block_sums *s)
{
	if (!s)
		return;
	inv_free(s->all);
	inv_free(s->block);
	inv_free(s->total);
	inv_free(s->parts);
	inv_free(s->sent);
	inv_free(s->received);
	inv_free(s);
}

bool inv_block_sums_own(const inv_block_sums *s)
{
	return s->blocks == s->shares.rank || !s->block;
}

double *inv_block_sums_next(inv_block_sums *s)
{
	if (!inv_block_sums_own(s))
		return NULL;
	if (!s->block)
		return s->all;
	memset(s->block, 0, s->shares.items * sizeof *s->block);
	return s->block;
}

static invar_status end_round(inv_block_sums *s)
{
	size_t own = inv_own_count(&s->shares);

	for (unsigned r = 0; r < s->shares.ranks; r++) {
		s->sent[r] = s->shares.rank < s->blocks
		                 ? inv_share_count(&s->shares, r) * sizeof(double)
		                 : 0;
		s->received[r] = r < s->blocks ? own * sizeof(double) : 0;
	}
	INV_TRY(inv_exchange(s->ctx, (const char *)s->block, s->sent, (char *)s->parts,
	                     s->received));
	for (unsigned r = 0; r < s->blocks; r++)
		for (size_t i = 0; i < own; i++)
			s->total[i] += s->parts[r * own + i];
	s->blocks = 0;
	return INVAR_OK;
}

invar_status inv_block_sums_end(inv_block_sums *s)
{
	s->known = false;
	if (!s->block || ++s->blocks < s->shares.ranks)
		return INVAR_OK;
	return end_round(s);
}

invar_status inv_block_sums_total(inv_block_sums *s, double **total)
{
	*total = s->all;
	if (!s->block || s->known)
		return INVAR_OK;
	if (s->blocks)
		INV_TRY(end_round(s));
	memcpy(s->all + inv_own_first(&s->shares), s->total,
	       inv_own_count(&s->shares) * sizeof *s->all);
	s->known = true;
	return inv_gather(s->ctx, &s->shares, s->all, sizeof *s->all);
}
