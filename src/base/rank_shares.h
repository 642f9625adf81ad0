/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_shares.h - matrices whose rows or columns are shared by the ranks.
 *
 * Rank r has consecutive items: rows or columns, in whole units but for the last. Every
 * number is computed by one rank, as a single process would; what is exchanged here is
 * complete, and nothing is added up, except counts.
 *
 * All ranks call the same functions in the same order. With a single rank they do nothing.
 */
#ifndef INV_RANK_SHARES_H
#define INV_RANK_SHARES_H

#include "base/processes.h"

typedef struct inv_shares {
	size_t items, unit;
	unsigned rank, ranks;
} inv_shares;

/* Among all processes of the context. */
static inline inv_shares inv_shares_of(const invar_context *ctx, size_t items, size_t unit)
{
	return (inv_shares){items, unit, inv_process_rank(ctx), inv_process_count(ctx)};
}

static inline size_t inv_share_first(const inv_shares *s, unsigned rank)
{
	size_t first = (s->items + s->unit - 1) / s->unit * rank / s->ranks * s->unit;

	return first < s->items ? first : s->items;
}

static inline size_t inv_share_count(const inv_shares *s, unsigned rank)
{
	return inv_share_first(s, rank + 1) - inv_share_first(s, rank);
}

/* Those of this rank. */
static inline size_t inv_own_first(const inv_shares *s)
{
	return inv_share_first(s, s->rank);
}

static inline size_t inv_own_count(const inv_shares *s)
{
	return inv_share_count(s, s->rank);
}

/*
 * Every rank has its rows of `data`, each of `bytes` bytes, and gets the others; for
 * `times` arrays that are `apart` bytes from each other. Start returns at once: the arrays
 * must not be touched before inv_exchange_finish.
 */
invar_status inv_rows_start(const invar_context *ctx, const inv_shares *s, void *data,
                            size_t bytes, size_t times, size_t apart);
invar_status inv_exchange_finish(const invar_context *ctx);
/* Both, for one array. */
invar_status inv_gather_rows(const invar_context *ctx, const inv_shares *s, void *data,
                             size_t bytes);
/*
 * Makes what was started go on; from the thread that joined, also within a parallel loop,
 * while others do nothing.
 */
void inv_exchange_poke(const invar_context *ctx);

/*
 * Every rank has its columns, own [rows, own columns], and gets all, out [rows, columns].
 * Start copies `own`; finish waits for all that was started.
 */
typedef struct inv_columns {
	inv_shares cols;
	size_t rows;
	float *buffer; /* [rows, columns] */
} inv_columns;

invar_status inv_columns_start(const invar_context *ctx, const inv_columns *c,
                               const float *own);
invar_status inv_columns_finish(const invar_context *ctx, const inv_columns *c, float *out);

/*
 * Every rank has all rows of its columns and gets all columns of its rows; or the reverse,
 * if `to_columns`. Strides are in floats; `from` and `out` point to what this rank has and
 * gets, and may be places of one matrix. Its own rows of its own columns are copied too,
 * unless they are at their place.
 */
typedef struct inv_turn {
	inv_shares rows, cols;
	bool to_columns;
	const float *from;
	float *out;
	size_t from_stride, out_stride;
	float *buffer; /* inv_turn_floats */
} inv_turn;

size_t inv_turn_floats(const inv_turn *t);
invar_status inv_turn_run(const invar_context *ctx, const inv_turn *t);

/* The sums over all ranks; buffer: inv_counts_room numbers. */
size_t inv_counts_room(const invar_context *ctx, size_t count);
invar_status inv_sum_counts(const invar_context *ctx, uint32_t *counts, size_t count,
                            uint32_t *buffer);

#endif
