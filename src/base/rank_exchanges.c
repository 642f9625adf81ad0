/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rank_exchanges.c - waiting for an exchange, and the exchanges of all ranks.
 *
 * A rank that waits polls, and sleeps in between for a twentieth of the time it has waited
 * so far: an exchange between busy ranks is quick, and an idle one leaves its core to
 * others. The library of MPI itself would spin.
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/processes.h"
#include "base/processes_inside.h"
#include "base/status.h"

/* ---- Waiting ----------------------------------------------------------------------- */

invar_status inv_ranks_fail(inv_processes *p, const char *why)
{
	if (!p->broken)
		snprintf(p->reason, sizeof p->reason, "%s", why);
	p->broken = true;
	return inv_fail(INVAR_E_IO,
	                "rank %u cannot exchange data with the other ranks: %s; finished "
	                "work is kept, and the same command resumes it",
	                p->t->rank, *p->reason ? p->reason : why);
}

void inv_ranks_sleep(double waited)
{
	double seconds = waited / 20;
	struct timespec pause;

	if (waited < 50e-6) {
		sched_yield();
		return;
	}
	seconds = seconds < 20e-6 ? 20e-6 : seconds > 2e-3 ? 2e-3 : seconds;
	pause = (struct timespec){.tv_nsec = (long)(1e9 * seconds)};
	nanosleep(&pause, NULL);
}

invar_status inv_ranks_wait(inv_processes *p)
{
	double began = inv_wall_seconds();
	int done = 0;

	for (;;) {
		const char *why = p->broken ? "an earlier exchange failed" : p->t->test(&done);

		if (!why && done)
			return INVAR_OK;
		if (why || (why = inv_ranks_lost(p)))
			return inv_ranks_fail(p, why);
		inv_ranks_sleep(inv_wall_seconds() - began);
	}
}

void inv_processes_give_up(const invar_context *ctx)
{
	if (ctx->processes)
		ctx->processes->broken = true;
}

/* ---- Exchanges --------------------------------------------------------------------- */

invar_status inv_ranks_broadcast(inv_processes *p, unsigned root, void *data,
                                 uint64_t bytes)
{
	const char *why = bytes ? p->t->broadcast(data, bytes, root) : NULL;

	return why ? inv_ranks_fail(p, why) : inv_ranks_wait(p);
}

invar_status inv_broadcast(const invar_context *ctx, void *data, uint64_t bytes)
{
	inv_processes *p = inv_ranks_of(ctx);

	return p ? inv_ranks_broadcast(p, 0, data, bytes) : INVAR_OK;
}

invar_status inv_broadcast_text(const invar_context *ctx, const char *text, char **out)
{
	uint64_t bytes = text ? strlen(text) + 1 : 0;
	char *copy = NULL;
	invar_status st = inv_broadcast(ctx, &bytes, sizeof bytes);

	*out = NULL;
	if (st != INVAR_OK || inv_process_count(ctx) == 1)
		return st;
	if (inv_process_rank(ctx) == 0)
		return inv_broadcast(ctx, (void *)(uintptr_t)text, bytes);
	if (!(copy = inv_alloc(bytes)))
		return inv_ranks_fail(inv_ranks_of(ctx), "not enough memory for a message");
	st = inv_broadcast(ctx, copy, bytes);
	if (st == INVAR_OK)
		*out = copy;
	else
		inv_free(copy);
	return st;
}

static uint64_t blocks_of(inv_dealt d)
{
	return (d.count + d.per_block - 1) / d.per_block;
}

static uint64_t items_of(inv_dealt d, uint64_t block)
{
	uint64_t left = d.count - block * d.per_block;

	return left < d.per_block ? left : d.per_block;
}

uint64_t inv_dealt_count(const invar_context *ctx, inv_dealt d)
{
	uint64_t items = 0;

	for (uint64_t b = inv_process_rank(ctx); b < blocks_of(d); b += inv_process_count(ctx))
		items += items_of(d, b);
	return items;
}

uint64_t inv_dealt_at(const invar_context *ctx, inv_dealt d, uint64_t block)
{
	return (inv_process_rank(ctx) ? block / inv_process_count(ctx) : block) * d.per_block;
}

/* One message per block, so that nothing is copied. */
static invar_status exchange_blocks(inv_processes *p, inv_dealt d, char *all, char *own,
                                    bool to_rank_0)
{
	uint64_t block_bytes = d.per_block * d.bytes;
	const char *why = NULL;

	for (uint64_t b = 0; b < blocks_of(d) && !why; b++) {
		unsigned rank = (unsigned)(b % p->t->size);
		uint64_t bytes = items_of(d, b) * d.bytes;
		char *at = p->t->rank ? own + b / p->t->size * block_bytes : all + b * block_bytes;

		if (!rank || (p->t->rank && rank != p->t->rank))
			continue;
		why = (p->t->rank == 0) == to_rank_0
		          ? p->t->receive(at, bytes, p->t->rank ? 0 : rank)
		          : p->t->send(at, bytes, p->t->rank ? 0 : rank);
	}
	return why ? inv_ranks_fail(p, why) : inv_ranks_wait(p);
}

invar_status inv_deal(const invar_context *ctx, inv_dealt d, const void *all, void *own)
{
	inv_processes *p = inv_ranks_of(ctx);

	return p ? exchange_blocks(p, d, (char *)(uintptr_t)all, own, false) : INVAR_OK;
}

invar_status inv_collect(const invar_context *ctx, inv_dealt d, void *all, const void *own)
{
	inv_processes *p = inv_ranks_of(ctx);

	return p ? exchange_blocks(p, d, all, (char *)(uintptr_t)own, true) : INVAR_OK;
}

const char *inv_ranks_start_gather(inv_processes *p, char *data, const uint64_t *offset)
{
	const char *why = NULL;

	for (unsigned r = 0; r < p->t->size && !why; r++)
		if (offset[r + 1] > offset[r])
			why = p->t->broadcast(data + offset[r], offset[r + 1] - offset[r], r);
	return why;
}

invar_status inv_all_gather(const invar_context *ctx, void *data, const uint64_t *offset)
{
	inv_processes *p = inv_ranks_of(ctx);
	const char *why = p ? inv_ranks_start_gather(p, data, offset) : NULL;

	if (!p)
		return INVAR_OK;
	return why ? inv_ranks_fail(p, why) : inv_ranks_wait(p);
}

/* ---- Agreement --------------------------------------------------------------------- */

typedef struct verdict {
	int32_t status;
	uint32_t rank;
} verdict;

static invar_status gather_status(inv_processes *p, int32_t *status)
{
	const char *why = NULL;

	for (unsigned r = 1; r < p->t->size && !why && !p->t->rank; r++)
		why = p->t->receive(&status[r], sizeof *status, r);
	if (p->t->rank)
		why = p->t->send(status, sizeof *status, 0);
	return why ? inv_ranks_fail(p, why) : inv_ranks_wait(p);
}

static invar_status find_verdict(inv_processes *p, invar_status st, verdict *out)
{
	int32_t *status = inv_calloc(p->t->size, sizeof *status);
	invar_status sent;

	*out = (verdict){INVAR_OK, 0};
	if (!status)
		return inv_ranks_fail(p, "not enough memory for a list of ranks");
	status[0] = (int32_t)st;
	sent = gather_status(p, status);
	for (unsigned r = 0; r < p->t->size && !p->t->rank && out->status == INVAR_OK; r++)
		*out = (verdict){status[r], r};
	inv_free(status);
	return sent == INVAR_OK ? inv_ranks_broadcast(p, 0, out, sizeof *out) : sent;
}

invar_status inv_agree(const invar_context *ctx, invar_status st)
{
	inv_processes *p = inv_ranks_of(ctx);
	char text[INV_RANK_SENTENCE] = "";
	verdict v;
	invar_status sent;

	if (!p || p->broken)
		return st;
	if (st != INVAR_OK)
		inv_last_error_spelled(INV_MARKED, text, sizeof text);
	if ((sent = find_verdict(p, st, &v)) != INVAR_OK || v.status == INVAR_OK)
		return sent;
	if ((sent = inv_ranks_broadcast(p, v.rank, text, sizeof text)) != INVAR_OK)
		return sent;
	text[sizeof text - 1] = '\0';
	if (v.rank == 0 || v.status == INVAR_E_CANCELLED)
		return inv_fail((invar_status)v.status, "%s", text);
	return inv_fail((invar_status)v.status, "rank %u: %.1000s", v.rank, text);
}
