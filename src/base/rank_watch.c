/* SPDX-License-Identifier: Apache-2.0 */
/* rank_watch.c - ranks that compute for a long time and end early together. */
#include <string.h>

#include "base/clock.h"
#include "base/processes.h"
#include "base/processes_inside.h"
#include "base/status.h"

/* Of a rank that ends its share, to rank 0; of rank 0, once all have or one has failed. */
enum { SHARE_DONE = 1, STOP = 2 };

/* The joining thread, also within a parallel loop. */
static inv_processes *watched(const inv_watch *w)
{
	inv_processes *p = w->ctx->processes;

	return p && p->t->size > 1 && pthread_equal(p->owner, pthread_self()) ? p : NULL;
}

inv_watch inv_watch_start(const invar_context *ctx)
{
	inv_watch w = {.ctx = ctx, .stage = ""};
	inv_processes *p = watched(&w);

	if (p)
		memset(p->heard, 0, p->t->size * sizeof *p->heard);
	return w;
}

static invar_status tell(inv_processes *p, unsigned rank, int32_t word)
{
	const char *why = p->t->send(&word, sizeof word, rank);

	return why ? inv_ranks_fail(p, why) : inv_ranks_wait(p);
}

/* The word of a rank, or 0 if it has not said one. */
static invar_status hear(inv_processes *p, unsigned rank, int32_t *word)
{
	const char *why;
	int there = 0;

	*word = 0;
	if (p->broken)
		return inv_ranks_fail(p, "an earlier exchange failed");
	if (!(why = p->t->probe(rank, &there)) && !there)
		why = inv_ranks_lost(p);
	if (why)
		return inv_ranks_fail(p, why);
	if (!there)
		return INVAR_OK;
	why = p->t->receive(word, sizeof *word, rank);
	return why ? inv_ranks_fail(p, why) : inv_ranks_wait(p);
}

/* Every rank says one word to rank 0; what it sends next belongs to another exchange. */
static invar_status listen_to_ranks(inv_processes *p, inv_watch *w)
{
	for (unsigned r = 1; r < p->t->size; r++) {
		int32_t word;
		invar_status st = p->heard[r] ? INVAR_OK : hear(p, r, &word);

		if (st != INVAR_OK)
			return st;
		if (p->heard[r] || !word)
			continue;
		p->heard[r] = true;
		w->ended++;
		w->told = w->told || word == STOP;
	}
	return INVAR_OK;
}

static invar_status listen_to_rank_0(inv_processes *p, inv_watch *w)
{
	int32_t word;
	invar_status st = w->told ? INVAR_OK : hear(p, 0, &word);

	if (st == INVAR_OK && !w->told) {
		w->ended += word != 0;
		w->told = word == STOP;
	}
	return st;
}

static invar_status listen_to(inv_processes *p, inv_watch *w)
{
	invar_status st = p->t->rank ? listen_to_rank_0(p, w) : listen_to_ranks(p, w);

	if (st == INVAR_OK && w->told)
		st = inv_fail(INVAR_E_CANCELLED, "another rank has failed");
	return st;
}

invar_status inv_watch_progress(inv_watch *w, const char *stage, uint64_t done,
                                uint64_t total)
{
	inv_processes *p = watched(w);
	invar_status st = p ? listen_to(p, w) : INVAR_OK;

	w->stage = stage;
	w->done = done;
	w->total = total;
	if (st != INVAR_OK || (p && p->t->rank))
		return st;
	return inv_progress(w->ctx, stage, done, total);
}

/* Until all other ranks have ended; rank 0 may be told to stop meanwhile. */
static invar_status await_ranks(inv_processes *p, inv_watch *w, invar_status st)
{
	double began = inv_wall_seconds();
	bool stop = st != INVAR_OK;

	for (unsigned r = 1; r < p->t->size && stop; r++)
		if (tell(p, r, STOP) != INVAR_OK)
			return INVAR_E_IO;
	while (w->ended + 1 < p->t->size && !p->broken) {
		invar_status now = inv_watch_progress(w, w->stage, w->done, w->total);

		if (now != INVAR_OK && !stop && !p->broken) {
			stop = true;
			st = now;
			for (unsigned r = 1; r < p->t->size; r++)
				tell(p, r, STOP);
		}
		inv_ranks_sleep(inv_wall_seconds() - began);
	}
	for (unsigned r = 1; r < p->t->size && !stop; r++)
		tell(p, r, SHARE_DONE);
	return st;
}

static invar_status await_rank_0(inv_processes *p, inv_watch *w, invar_status st)
{
	double began = inv_wall_seconds();

	tell(p, 0, st == INVAR_OK ? SHARE_DONE : STOP);
	while (!w->ended && !p->broken) {
		listen_to_rank_0(p, w);
		inv_ranks_sleep(inv_wall_seconds() - began);
	}
	return st;
}

/* A rank that stopped because another one failed has no message of its own. */
invar_status inv_watch_finish(inv_watch *w, invar_status st)
{
	inv_processes *p = watched(w);
	char text[INV_RANK_SENTENCE];

	if (!p)
		return st;
	inv_last_error_spelled(INV_MARKED, text, sizeof text);
	if (p->t->rank) {
		bool own = !w->told;

		await_rank_0(p, w, st);
		st = own ? st : INVAR_OK;
	} else {
		bool told = w->told;
		invar_status all = await_ranks(p, w, st);

		if (st == INVAR_OK && all != INVAR_OK)
			inv_last_error_spelled(INV_MARKED, text, sizeof text);
		st = told || (st == INVAR_OK && w->told) ? INVAR_OK : all;
	}
	if (p->broken)
		return INVAR_E_IO;
	if (st != INVAR_OK)
		inv_fail(st, "%s", text);
	return inv_agree(w->ctx, st);
}
