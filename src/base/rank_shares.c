/* SPDX-License-Identifier: Apache-2.0 */
/* rank_shares.c - see rank_shares.h. */
#include "base/rank_shares.h"

#include <string.h>

#include "base/processes.h"
#include "base/processes_inside.h"

/* ---- Rows ---------------------------------------------------------------------------- */

invar_status inv_rows_start(const invar_context *ctx, const inv_shares *s, void *data,
                            size_t bytes, size_t times, size_t apart)
{
	inv_processes *p = inv_ranks_of(ctx);
	const char *why = NULL;

	for (size_t i = 0; p && i < times && !why; i++)
		for (unsigned r = 0; r < s->ranks && !why; r++)
			if (inv_share_count(s, r))
				why = p->t->broadcast((char *)data + i * apart +
				                          inv_share_first(s, r) * bytes,
				                      inv_share_count(s, r) * bytes, r);
	return why ? inv_ranks_fail(p, why) : INVAR_OK;
}

invar_status inv_exchange_finish(const invar_context *ctx)
{
	inv_processes *p = inv_ranks_of(ctx);

	return p ? inv_ranks_wait(p) : INVAR_OK;
}

invar_status inv_gather_rows(const invar_context *ctx, const inv_shares *s, void *data,
                             size_t bytes)
{
	invar_status st = inv_rows_start(ctx, s, data, bytes, 1, 0);

	return st == INVAR_OK ? inv_exchange_finish(ctx) : st;
}

void inv_exchange_poke(const invar_context *ctx)
{
	inv_processes *p = ctx->processes;
	const char *why;
	int done;

	if (!p || p->broken || !pthread_equal(p->owner, pthread_self()))
		return;
	if ((why = p->t->test(&done)))
		inv_ranks_fail(p, why);
}

/* ---- Columns ------------------------------------------------------------------------- */

static void copy_block(const float *from, size_t from_stride, size_t rows, size_t cols,
                       float *to, size_t to_stride)
{
	if (from == to)
		return;
	if (from_stride == cols && to_stride == cols)
		memcpy(to, from, rows * cols * sizeof *to);
	else
		for (size_t i = 0; i < rows; i++)
			memcpy(to + i * to_stride, from + i * from_stride, cols * sizeof *to);
}

/* The columns of each rank are together in the buffer. */
invar_status inv_columns_start(const invar_context *ctx, const inv_columns *c,
                               const float *own)
{
	memcpy(c->buffer + c->rows * inv_own_first(&c->cols), own,
	       c->rows * inv_own_count(&c->cols) * sizeof *own);
	return inv_rows_start(ctx, &c->cols, c->buffer, c->rows * sizeof *own, 1, 0);
}

invar_status inv_columns_finish(const invar_context *ctx, const inv_columns *c, float *out)
{
	invar_status st = inv_exchange_finish(ctx);

	for (unsigned r = 0; r < c->cols.ranks && st == INVAR_OK; r++) {
		size_t first = inv_share_first(&c->cols, r), count = inv_share_count(&c->cols, r);

		copy_block(c->buffer + c->rows * first, count, c->rows, count, out + first,
		           c->cols.items);
	}
	return st;
}

/* ---- From columns to rows and back --------------------------------------------------- */

/* A part of what a rank has or gets. */
typedef struct turn_block {
	size_t rows, cols, at;
} turn_block;

/* What goes to this rank. */
static turn_block block_to(const inv_turn *t, unsigned rank)
{
	if (t->to_columns)
		return (turn_block){inv_own_count(&t->rows), inv_share_count(&t->cols, rank),
		                    inv_share_first(&t->cols, rank)};
	return (turn_block){inv_share_count(&t->rows, rank), inv_own_count(&t->cols),
	                    inv_share_first(&t->rows, rank) * t->from_stride};
}

static turn_block block_from(const inv_turn *t, unsigned rank)
{
	if (t->to_columns)
		return (turn_block){inv_share_count(&t->rows, rank), inv_own_count(&t->cols),
		                    inv_share_first(&t->rows, rank) * t->out_stride};
	return (turn_block){inv_own_count(&t->rows), inv_share_count(&t->cols, rank),
	                    inv_share_first(&t->cols, rank)};
}

size_t inv_turn_floats(const inv_turn *t)
{
	return t->rows.items * inv_own_count(&t->cols) +
	       inv_own_count(&t->rows) * t->cols.items;
}

/* Blocks whose rows are apart are sent and received by way of the buffer. */
static const char *start_turn(const inv_processes *p, const inv_turn *t)
{
	float *at = t->buffer;
	const char *why = NULL;

	for (unsigned r = 0; r < t->rows.ranks && !why; r++) {
		turn_block to = block_to(t, r), from = block_from(t, r);
		const float *sent = t->from + to.at;

		if (r == t->rows.rank)
			continue;
		if (t->from_stride != to.cols) {
			copy_block(sent, t->from_stride, to.rows, to.cols, at, to.cols);
			sent = at;
			at += to.rows * to.cols;
		}
		if (to.rows && to.cols)
			why = p->t->send(sent, to.rows * to.cols * sizeof *sent, r);
		if (!why && from.rows && from.cols)
			why = p->t->receive(t->out_stride == from.cols ? t->out + from.at : at,
			                    from.rows * from.cols * sizeof *at, r);
		at += t->out_stride == from.cols ? 0 : from.rows * from.cols;
	}
	return why;
}

static void place_received(const inv_turn *t)
{
	float *at = t->buffer;

	for (unsigned r = 0; r < t->rows.ranks; r++) {
		turn_block to = block_to(t, r), from = block_from(t, r);

		if (r == t->rows.rank) {
			copy_block(t->from + to.at, t->from_stride, to.rows, to.cols, t->out + from.at,
			           t->out_stride);
			continue;
		}
		at += t->from_stride == to.cols ? 0 : to.rows * to.cols;
		if (t->out_stride == from.cols)
			continue;
		copy_block(at, from.cols, from.rows, from.cols, t->out + from.at, t->out_stride);
		at += from.rows * from.cols;
	}
}

invar_status inv_turn_run(const invar_context *ctx, const inv_turn *t)
{
	inv_processes *p = inv_ranks_of(ctx);
	const char *why = p ? start_turn(p, t) : NULL;
	invar_status st = why ? inv_ranks_fail(p, why) : p ? inv_ranks_wait(p) : INVAR_OK;

	if (st == INVAR_OK)
		place_received(t);
	return st;
}

/* ---- Counts -------------------------------------------------------------------------- */

size_t inv_counts_room(const invar_context *ctx, size_t count)
{
	inv_shares s = inv_shares_of(ctx, count, 1);

	return inv_own_count(&s) * s.ranks;
}

/* Every rank adds up its share of the counts, then all get all sums. */
invar_status inv_sum_counts(const invar_context *ctx, uint32_t *counts, size_t count,
                            uint32_t *buffer)
{
	inv_processes *p = inv_ranks_of(ctx);
	inv_shares s = inv_shares_of(ctx, count, 1);
	size_t own = inv_own_count(&s);
	const char *why = NULL;
	invar_status st;

	for (unsigned r = 0; r < s.ranks && p && !why; r++) {
		if (r == s.rank)
			continue;
		if (own)
			why = p->t->receive(buffer + r * own, own * sizeof *buffer, r);
		if (!why && inv_share_count(&s, r))
			why = p->t->send(counts + inv_share_first(&s, r),
			                 inv_share_count(&s, r) * sizeof *counts, r);
	}
	st = why ? inv_ranks_fail(p, why) : inv_exchange_finish(ctx);
	for (unsigned r = 0; r < s.ranks && st == INVAR_OK; r++)
		for (size_t i = 0; r != s.rank && i < own; i++)
			counts[inv_own_first(&s) + i] += buffer[r * own + i];
	return st == INVAR_OK ? inv_gather_rows(ctx, &s, counts, sizeof *counts) : st;
}
