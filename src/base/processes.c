/* SPDX-License-Identifier: Apache-2.0 */
/*
 * processes.c - exchanges and services over a transport (rank_transport.h).
 *
 * A rank that waits polls, and sleeps in between for a twentieth of the time it has waited
 * so far: an exchange between busy ranks is quick, and an idle one leaves its core to
 * others. The library of MPI itself would spin.
 *
 * A rank that dies is noticed by the launcher, which ends all others; whatever they do at
 * that moment, files outlive it (file.h, block_map.h). A failure of the transport is
 * final: no further exchange is tried, and leaving ends all ranks.
 */
#include "base/processes.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/rank_transport.h"

enum { NAME = 48, SENTENCE = 1024, MAX_CONTEXTS = 16 };

struct invar_processes {
	const inv_transport *t;
	pthread_t owner;
	bool broken;
	int result;            /* that rank 0 left with */
	inv_reduction *active; /* started and not finished */
	bool *heard;           /* [size] on rank 0: who has ended its share of the watch */
	invar_context *context[MAX_CONTEXTS]; /* of services, by the number of threads */
};

/* What rank 0 says before a service. */
typedef struct call_header {
	char name[NAME]; /* "": it leaves */
	uint32_t threads, cpu;
	int32_t result;
} call_header;

/* ---- Ranks -------------------------------------------------------------------------- */

static invar_processes *of(const invar_context *ctx)
{
	invar_processes *p = ctx->processes;

	return p && pthread_equal(p->owner, pthread_self()) && !omp_in_parallel() ? p : NULL;
}

unsigned inv_process_rank(const invar_context *ctx)
{
	return invar_processes_rank(of(ctx));
}

unsigned inv_process_count(const invar_context *ctx)
{
	return invar_processes_size(of(ctx));
}

unsigned invar_processes_rank(const invar_processes *p)
{
	return p ? p->t->rank : 0;
}

unsigned invar_processes_size(const invar_processes *p)
{
	return p ? p->t->size : 1;
}

void invar_context_share(invar_context *ctx, invar_processes *p)
{
	ctx->processes = p;
}

/* ---- Waiting ------------------------------------------------------------------------ */

static invar_status fail_exchange(invar_processes *p, const char *why)
{
	p->broken = true;
	return inv_fail(INVAR_E_IO,
	                "rank %u cannot exchange data with the other ranks: %.600s; finished "
	                "work is kept, and the same command resumes it",
	                p->t->rank, why);
}

static void sleep_a_little(double waited)
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

static invar_status wait_for_all(invar_processes *p)
{
	double began = inv_wall_seconds();
	int done = 0;

	for (;;) {
		const char *why = p->broken ? "an earlier exchange failed" : p->t->test(&done);

		if (why)
			return fail_exchange(p, why);
		if (done)
			return INVAR_OK;
		sleep_a_little(inv_wall_seconds() - began);
	}
}

/* ---- Exchanges ---------------------------------------------------------------------- */

static invar_status broadcast_from(invar_processes *p, unsigned root, void *data,
                                   uint64_t bytes)
{
	const char *why = bytes ? p->t->broadcast(data, bytes, root) : NULL;

	return why ? fail_exchange(p, why) : wait_for_all(p);
}

invar_status inv_broadcast(const invar_context *ctx, void *data, uint64_t bytes)
{
	invar_processes *p = of(ctx);

	return p ? broadcast_from(p, 0, data, bytes) : INVAR_OK;
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
		return fail_exchange(of(ctx), "not enough memory for a message");
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
static invar_status exchange_blocks(invar_processes *p, inv_dealt d, char *all, char *own,
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
	return why ? fail_exchange(p, why) : wait_for_all(p);
}

invar_status inv_deal(const invar_context *ctx, inv_dealt d, const void *all, void *own)
{
	invar_processes *p = of(ctx);

	return p ? exchange_blocks(p, d, (char *)(uintptr_t)all, own, false) : INVAR_OK;
}

invar_status inv_collect(const invar_context *ctx, inv_dealt d, void *all, const void *own)
{
	invar_processes *p = of(ctx);

	return p ? exchange_blocks(p, d, all, (char *)(uintptr_t)own, true) : INVAR_OK;
}

static const char *start_gather(invar_processes *p, char *data, const uint64_t *offset)
{
	const char *why = NULL;

	for (unsigned r = 0; r < p->t->size && !why; r++)
		if (offset[r + 1] > offset[r])
			why = p->t->broadcast(data + offset[r], offset[r + 1] - offset[r], r);
	return why;
}

invar_status inv_all_gather(const invar_context *ctx, void *data, const uint64_t *offset)
{
	invar_processes *p = of(ctx);
	const char *why = p ? start_gather(p, data, offset) : NULL;

	if (!p)
		return INVAR_OK;
	return why ? fail_exchange(p, why) : wait_for_all(p);
}

/* ---- Agreement ---------------------------------------------------------------------- */

typedef struct verdict {
	int32_t status;
	uint32_t rank;
} verdict;

static invar_status gather_status(invar_processes *p, int32_t *status)
{
	const char *why = NULL;

	for (unsigned r = 1; r < p->t->size && !why && !p->t->rank; r++)
		why = p->t->receive(&status[r], sizeof *status, r);
	if (p->t->rank)
		why = p->t->send(status, sizeof *status, 0);
	return why ? fail_exchange(p, why) : wait_for_all(p);
}

static invar_status find_verdict(invar_processes *p, invar_status st, verdict *out)
{
	int32_t *status = inv_calloc(p->t->size, sizeof *status);
	invar_status sent;

	*out = (verdict){INVAR_OK, 0};
	if (!status)
		return fail_exchange(p, "not enough memory for a list of ranks");
	status[0] = (int32_t)st;
	sent = gather_status(p, status);
	for (unsigned r = 0; r < p->t->size && !p->t->rank && out->status == INVAR_OK; r++)
		*out = (verdict){status[r], r};
	inv_free(status);
	return sent == INVAR_OK ? broadcast_from(p, 0, out, sizeof *out) : sent;
}

invar_status inv_agree(const invar_context *ctx, invar_status st)
{
	invar_processes *p = of(ctx);
	char text[SENTENCE] = "";
	verdict v;
	invar_status sent;

	if (!p || p->broken)
		return st;
	if (st != INVAR_OK)
		invar_last_error_spelled(INV_MARKED, text, sizeof text);
	if ((sent = find_verdict(p, st, &v)) != INVAR_OK || v.status == INVAR_OK)
		return sent;
	if ((sent = broadcast_from(p, v.rank, text, sizeof text)) != INVAR_OK)
		return sent;
	text[sizeof text - 1] = '\0';
	if (v.rank == 0 || v.status == INVAR_E_CANCELLED)
		return inv_fail((invar_status)v.status, "%s", text);
	return inv_fail((invar_status)v.status, "rank %u: %.1000s", v.rank, text);
}

/* ---- Watching ----------------------------------------------------------------------- */

/* Of a rank that ends its share, to rank 0; of rank 0, once all have or one has failed. */
enum { SHARE_DONE = 1, STOP = 2 };

/* The joining thread, also within a parallel loop. */
static invar_processes *watched(const inv_watch *w)
{
	invar_processes *p = w->ctx->processes;

	return p && p->t->size > 1 && pthread_equal(p->owner, pthread_self()) ? p : NULL;
}

inv_watch inv_watch_start(const invar_context *ctx)
{
	inv_watch w = {.ctx = ctx, .stage = ""};
	invar_processes *p = watched(&w);

	if (p)
		memset(p->heard, 0, p->t->size * sizeof *p->heard);
	return w;
}

static invar_status tell(invar_processes *p, unsigned rank, int32_t word)
{
	const char *why = p->t->send(&word, sizeof word, rank);

	return why ? fail_exchange(p, why) : wait_for_all(p);
}

/* The word of a rank, or 0 if it has not said one. */
static invar_status hear(invar_processes *p, unsigned rank, int32_t *word)
{
	const char *why;
	int there = 0;

	*word = 0;
	if (p->broken)
		return fail_exchange(p, "an earlier exchange failed");
	if ((why = p->t->probe(rank, &there)))
		return fail_exchange(p, why);
	if (!there)
		return INVAR_OK;
	why = p->t->receive(word, sizeof *word, rank);
	return why ? fail_exchange(p, why) : wait_for_all(p);
}

/* Every rank says one word to rank 0; what it sends next belongs to another exchange. */
static invar_status listen_to_ranks(invar_processes *p, inv_watch *w)
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

static invar_status listen_to_rank_0(invar_processes *p, inv_watch *w)
{
	int32_t word;
	invar_status st = w->told ? INVAR_OK : hear(p, 0, &word);

	if (st == INVAR_OK && !w->told) {
		w->ended += word != 0;
		w->told = word == STOP;
	}
	return st;
}

static invar_status listen_to(invar_processes *p, inv_watch *w)
{
	invar_status st = p->t->rank ? listen_to_rank_0(p, w) : listen_to_ranks(p, w);

	if (st == INVAR_OK && w->told)
		st = inv_fail(INVAR_E_CANCELLED, "another rank has failed");
	return st;
}

invar_status inv_watch_progress(inv_watch *w, const char *stage, uint64_t done,
                                uint64_t total)
{
	invar_processes *p = watched(w);
	invar_status st = p ? listen_to(p, w) : INVAR_OK;

	w->stage = stage;
	w->done = done;
	w->total = total;
	if (st != INVAR_OK || (p && p->t->rank))
		return st;
	return inv_progress(w->ctx, stage, done, total);
}

/* Until all other ranks have ended; rank 0 may be told to stop meanwhile. */
static invar_status await_ranks(invar_processes *p, inv_watch *w, invar_status st)
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
		sleep_a_little(inv_wall_seconds() - began);
	}
	for (unsigned r = 1; r < p->t->size && !stop; r++)
		tell(p, r, SHARE_DONE);
	return st;
}

static invar_status await_rank_0(invar_processes *p, inv_watch *w, invar_status st)
{
	double began = inv_wall_seconds();

	tell(p, 0, st == INVAR_OK ? SHARE_DONE : STOP);
	while (!w->ended && !p->broken) {
		listen_to_rank_0(p, w);
		sleep_a_little(inv_wall_seconds() - began);
	}
	return st;
}

/* A rank that stopped because another one failed has no message of its own. */
invar_status inv_watch_finish(inv_watch *w, invar_status st)
{
	invar_processes *p = watched(w);
	char text[SENTENCE];

	if (!p)
		return st;
	invar_last_error_spelled(INV_MARKED, text, sizeof text);
	if (p->t->rank) {
		bool own = !w->told;

		await_rank_0(p, w, st);
		st = own ? st : INVAR_OK;
	} else {
		bool told = w->told;
		invar_status all = await_ranks(p, w, st);

		if (st == INVAR_OK && all != INVAR_OK)
			invar_last_error_spelled(INV_MARKED, text, sizeof text);
		st = told || (st == INVAR_OK && w->told) ? INVAR_OK : all;
	}
	if (p->broken)
		return INVAR_E_IO;
	if (st != INVAR_OK)
		inv_fail(st, "%s", text);
	return inv_agree(w->ctx, st);
}

/* ---- Sums --------------------------------------------------------------------------- */

enum { IDLE, SPREADING, GATHERING };

struct inv_reduction {
	invar_processes *p; /* NULL: a single rank */
	uint64_t max;
	float *parts;     /* [ranks][segment] of this rank's segment */
	uint64_t *offset; /* [ranks + 1] bytes */
	float *values;
	int state;
};

invar_status inv_reduction_new(const invar_context *ctx, uint64_t max_floats,
                               inv_reduction **out)
{
	inv_reduction *r = inv_calloc(1, sizeof *r);
	invar_processes *p = of(ctx);
	unsigned size = invar_processes_size(p);

	*out = r;
	if (!r)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for sums over ranks");
	r->p = p;
	r->max = max_floats;
	if (!p)
		return INVAR_OK;
	r->parts = inv_alloc((max_floats / size + 1) * size * sizeof *r->parts);
	r->offset = inv_calloc(size + 1, sizeof *r->offset);
	if (r->parts && r->offset)
		return INVAR_OK;
	inv_reduction_free(r);
	*out = NULL;
	return inv_fail(INVAR_E_NOMEM, "not enough memory for sums over ranks");
}

void inv_reduction_free(inv_reduction *r)
{
	if (!r)
		return;
	inv_free(r->parts);
	inv_free(r->offset);
	inv_free(r);
}

static uint64_t segment_floats(const inv_reduction *r, unsigned rank)
{
	return (r->offset[rank + 1] - r->offset[rank]) / sizeof(float);
}

static float *segment(const inv_reduction *r, unsigned rank)
{
	return r->values + r->offset[rank] / sizeof(float);
}

invar_status inv_reduction_start(inv_reduction *r, float *values, uint64_t count)
{
	invar_processes *p = r->p;
	const char *why = NULL;
	unsigned me, size;
	uint64_t own;

	if (!p)
		return INVAR_OK;
	me = p->t->rank;
	size = p->t->size;
	for (unsigned i = 0; i <= size; i++)
		r->offset[i] = count * i / size * sizeof(float);
	r->values = values;
	own = segment_floats(r, me);
	for (unsigned i = 0; i < size && !why; i++) {
		if (i == me)
			continue;
		why = p->t->receive(r->parts + i * own, own * sizeof(float), i);
		if (!why)
			why = p->t->send(segment(r, i), segment_floats(r, i) * sizeof(float), i);
	}
	r->state = SPREADING;
	p->active = r;
	return why ? fail_exchange(p, why) : INVAR_OK;
}

/* In the order of the ranks: the same bits however the parts arrived. */
static void add_parts(inv_reduction *r)
{
	unsigned me = r->p->t->rank, size = r->p->t->size;
	uint64_t own = segment_floats(r, me);
	float *sum = segment(r, me);

	memcpy(r->parts + me * own, sum, own * sizeof *sum);
	memcpy(sum, r->parts, own * sizeof *sum);
	for (unsigned i = 1; i < size; i++)
		for (uint64_t j = 0; j < own; j++)
			sum[j] += r->parts[i * own + j];
}

/* Goes on if what was started has ended. */
static const char *advance(inv_reduction *r, int *done)
{
	const char *why = r->p->t->test(done);

	if (why || !*done)
		return why;
	if (r->state == SPREADING) {
		add_parts(r);
		r->state = GATHERING;
		*done = 0;
		return start_gather(r->p, (char *)r->values, r->offset);
	}
	r->state = IDLE;
	r->p->active = NULL;
	return NULL;
}

invar_status inv_reduction_finish(inv_reduction *r)
{
	double began = inv_wall_seconds();
	int done = 0;

	if (!r->p)
		return INVAR_OK;
	while (r->state != IDLE) {
		const char *why = r->p->broken ? "an earlier exchange failed" : advance(r, &done);

		if (why)
			return fail_exchange(r->p, why);
		if (!done)
			sleep_a_little(inv_wall_seconds() - began);
	}
	return INVAR_OK;
}

void inv_processes_poke(const invar_context *ctx)
{
	invar_processes *p = of(ctx);
	const char *why;
	int done;

	if (!p || !p->active || p->broken)
		return;
	if ((why = advance(p->active, &done)))
		fail_exchange(p, why);
}

void inv_processes_give_up(const invar_context *ctx)
{
	if (ctx->processes)
		ctx->processes->broken = true;
}

/* ---- Ordered sums ------------------------------------------------------------------- */

struct inv_ordered_sum {
	invar_processes *p; /* NULL: a single rank */
	uint64_t *first;    /* [ranks + 1] where the part of each rank starts */
	double *total;      /* of this rank */
	double *part;       /* [ranks][own part] */
};

static uint64_t part_size(const inv_ordered_sum *s, unsigned rank)
{
	return s->first[rank + 1] - s->first[rank];
}

invar_status inv_ordered_sum_new(const invar_context *ctx, uint64_t count,
                                 inv_ordered_sum **out)
{
	inv_ordered_sum *s = *out = inv_calloc(1, sizeof *s);
	unsigned size = inv_process_count(ctx), me = inv_process_rank(ctx);

	if (s)
		s->first = inv_calloc(size + 1, sizeof *s->first);
	for (unsigned r = 0; s && s->first && r <= size; r++)
		s->first[r] = count * r / size;
	if (s && s->first) {
		s->p = of(ctx);
		s->total = inv_calloc(part_size(s, me) + 1, sizeof *s->total);
		s->part = inv_alloc((part_size(s, me) * size + 1) * sizeof *s->part);
	}
	if (s && s->total && s->part)
		return INVAR_OK;
	inv_ordered_sum_free(s);
	*out = NULL;
	return inv_fail(INVAR_E_NOMEM, "not enough memory for sums over ranks");
}

void inv_ordered_sum_free(inv_ordered_sum *s)
{
	if (!s)
		return;
	inv_free(s->first);
	inv_free(s->total);
	inv_free(s->part);
	inv_free(s);
}

static const char *exchange_parts(inv_ordered_sum *s, const double *own, unsigned givers)
{
	const inv_transport *t = s->p->t;
	uint64_t mine = part_size(s, t->rank);
	const char *why = NULL;

	for (unsigned r = 0; r < givers && !why; r++)
		if (r != t->rank)
			why = t->receive(s->part + r * mine, mine * sizeof *own, r);
	for (unsigned r = 0; r < t->size && t->rank < givers && !why; r++)
		if (r != t->rank)
			why = t->send(own + s->first[r], part_size(s, r) * sizeof *own, r);
	return why;
}

invar_status inv_ordered_sum_add(inv_ordered_sum *s, const double *own, unsigned givers)
{
	unsigned me = invar_processes_rank(s->p);
	uint64_t mine = part_size(s, me);
	const char *why = s->p ? exchange_parts(s, own, givers) : NULL;
	invar_status st = INVAR_OK;

	if (s->p)
		st = why ? fail_exchange(s->p, why) : wait_for_all(s->p);
	for (unsigned r = 0; r < givers && st == INVAR_OK; r++) {
		const double *part = r == me ? own + s->first[me] : s->part + r * mine;

		for (uint64_t i = 0; i < mine; i++)
			s->total[i] += part[i];
	}
	return st;
}

invar_status inv_ordered_sum_collect(inv_ordered_sum *s, double *all)
{
	const inv_transport *t = s->p ? s->p->t : NULL;
	const char *why = NULL;

	if (invar_processes_rank(s->p) == 0)
		memcpy(all, s->total, part_size(s, 0) * sizeof *all);
	if (!t)
		return INVAR_OK;
	for (unsigned r = 1; r < t->size && !t->rank && !why; r++)
		why = t->receive(all + s->first[r], part_size(s, r) * sizeof *all, r);
	if (t->rank)
		why = t->send(s->total, part_size(s, t->rank) * sizeof *all, 0);
	return why ? fail_exchange(s->p, why) : wait_for_all(s->p);
}

/* ---- Calls -------------------------------------------------------------------------- */

invar_status inv_call(const invar_context *ctx, const char *service)
{
	invar_processes *p = of(ctx);
	call_header h = {.threads = ctx->asked, .cpu = ctx->cpu};
	invar_status st;

	if (!p)
		return INVAR_OK;
	snprintf(h.name, sizeof h.name, "%s", service);
	st = broadcast_from(p, 0, &h, sizeof h);
	return st == INVAR_OK ? inv_agree(ctx, INVAR_OK) : st;
}

/* The context of a service, with the threads and kernels that rank 0 asks for. */
static invar_status find_context(invar_processes *p, const call_header *h,
                                 invar_context **out)
{
	size_t i = 0;
	invar_status st;

	while (i < MAX_CONTEXTS && p->context[i] && p->context[i]->asked != h->threads)
		i++;
	*out = p->context[0];
	if (i == MAX_CONTEXTS)
		return inv_fail(INVAR_E_USE, "rank 0 asks for too many numbers of threads");
	if (!p->context[i]) {
		if ((st = invar_context_new(h->threads, NULL, &p->context[i])) != INVAR_OK)
			return st;
		invar_context_share(p->context[i], p);
	}
	*out = p->context[i];
	if (h->cpu & ~(*out)->cpu)
		return inv_fail(INVAR_E_MISMATCH,
		                "this machine lacks instructions that rank 0 uses; set "
		                "INVAR_CPU=ref for all ranks, or choose other machines");
	(*out)->cpu = h->cpu;
	return INVAR_OK;
}

static const inv_service *find_service(const inv_service *const *services, const char *name)
{
	while (*services && strcmp((*services)->name, name) != 0)
		services++;
	return *services;
}

/* A context to agree with even if none could be made for the call. */
static invar_status enter(invar_processes *p, const call_header *h,
                          const inv_service *const *services)
{
	const inv_service *s = find_service(services, h->name);
	invar_context stand_in = {.processes = p}, *ctx;
	invar_status st = find_context(p, h, &ctx);

	if (st == INVAR_OK && !s)
		st = inv_fail(INVAR_E_MISMATCH,
		              "has no service %.40s; all ranks must run the same version", h->name);
	st = inv_agree(&stand_in, st);
	if (st == INVAR_OK)
		s->serve(ctx);
	return p->broken ? INVAR_E_IO : INVAR_OK;
}

invar_status inv_serve(invar_processes *p, const inv_service *const *services)
{
	call_header h = {.name = ""};
	invar_status st;

	do {
		if ((st = broadcast_from(p, 0, &h, sizeof h)) != INVAR_OK)
			return st;
		h.name[NAME - 1] = '\0';
		p->result = h.result;
		st = *h.name ? enter(p, &h, services) : INVAR_OK;
	} while (*h.name && st == INVAR_OK);
	for (; *services; services++)
		if ((*services)->forget)
			(*services)->forget();
	return st;
}

int inv_processes_result(const invar_processes *p)
{
	return p->result;
}

/* ---- Joining and leaving ------------------------------------------------------------ */

static bool is_number(const char *name, unsigned min)
{
	const char *text = getenv(name);
	char *end;

	return text && *text >= '0' && *text <= '9' && strtoul(text, &end, 10) >= min && !*end;
}

/* Open MPI's mpirun; a PMIx launcher; srun, whose batch script itself is no step. */
static bool is_launched(void)
{
	const char *off = getenv("INVAR_RANKS");

	if (off && strcmp(off, "1") == 0)
		return false;
	return is_number("OMPI_COMM_WORLD_SIZE", 2) || is_number("PMI_SIZE", 2) ||
	       (getenv("PMIX_RANK") && getenv("PMIX_NAMESPACE")) ||
	       (is_number("SLURM_STEP_NUM_TASKS", 2) && is_number("SLURM_PROCID", 0));
}

/* Beside the library, in its folder invar, or where the environment says. */
static void *open_plugin(char *why, size_t size)
{
	static const char *const places[] = {"invar_mpi.so", "invar/invar_mpi.so"};
	const char *given = getenv("INVAR_MPI_PLUGIN"), *slash;
	char path[4096];
	void *library;
	Dl_info self;

	if (given)
		library = dlopen(given, RTLD_NOW | RTLD_GLOBAL);
	else
		library = NULL;
	for (size_t i = 0; !given && !library && i < sizeof places / sizeof *places; i++) {
		if (!dladdr((void *)(uintptr_t)&invar_processes_join, &self) ||
		    !(slash = strrchr(self.dli_fname, '/')))
			continue;
		snprintf(path, sizeof path, "%.*s/%s", (int)(slash - self.dli_fname),
		         self.dli_fname, places[i]);
		if (access(path, F_OK) == 0 || i)
			library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
	}
	if (!library)
		snprintf(why, size, "%s", dlerror());
	return library;
}

static invar_status open_transport(const inv_transport **out)
{
	char why[512] = "";
	void *library = open_plugin(why, sizeof why);
	inv_transport_open_fn *open_it = NULL;
	const char *sentence;

	if (!library)
		return inv_fail(INVAR_E_IO,
		                "a launcher has started several processes, but invar's plugin for "
		                "MPI cannot be loaded: %.300s; install Open MPI, or set "
		                "INVAR_RANKS=1 for programs that know nothing of each other",
		                why);
	*(void **)&open_it = dlsym(library, INV_TRANSPORT_OPEN);
	sentence = open_it ? open_it(out) : "it is not a plugin of invar";
	if (sentence || (*out)->version != INV_TRANSPORT_VERSION)
		return inv_fail(INVAR_E_IO, "invar's plugin for MPI cannot be used: %.300s",
		                sentence ? sentence : "it belongs to another version");
	return INVAR_OK;
}

invar_status invar_processes_join(invar_processes **out)
{
	const inv_transport *t;
	invar_status st;

	*out = NULL;
	if (!is_launched())
		return INVAR_OK;
	if ((st = open_transport(&t)) != INVAR_OK)
		return st;
	return inv_processes_over(t, out);
}

invar_status inv_processes_over(const inv_transport *t, invar_processes **out)
{
	invar_processes *p = inv_calloc(1, sizeof *p);

	*out = p;
	if (!p || !(p->heard = inv_calloc(t->size, sizeof *p->heard))) {
		inv_free(p);
		*out = NULL;
		return inv_fail(INVAR_E_NOMEM, "not enough memory for a list of processes");
	}
	p->t = t;
	p->owner = pthread_self();
	return INVAR_OK;
}

void invar_processes_leave(invar_processes *p, int result)
{
	call_header h = {.result = result};

	if (!p)
		return;
	if (!p->broken && !p->t->rank)
		broadcast_from(p, 0, &h, sizeof h);
	if (p->broken)
		p->t->abort(result ? result : 1);
	else
		p->t->close();
	for (size_t i = 0; i < MAX_CONTEXTS; i++)
		invar_context_free(p->context[i]);
	inv_free(p->heard);
	inv_free(p);
}

/* ---- What the ranks have used ------------------------------------------------------- */

static inv_usage own_usage(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return (inv_usage){.peak_kb = use.ru_maxrss,
	                   .cpu_seconds =
	                       (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
	                       1e-6 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec)};
}

static invar_status exchange_usage(const invar_context *ctx, inv_usage *out)
{
	unsigned ranks = inv_process_count(ctx);
	inv_usage *all = inv_calloc(ranks, sizeof *all);
	invar_status st;

	if (!all)
		return fail_exchange(of(ctx), "not enough memory for a list of ranks");
	st = inv_collect(ctx, (inv_dealt){ranks, 1, sizeof *all}, all, out);
	for (unsigned r = 1; r < ranks && !inv_process_rank(ctx) && st == INVAR_OK; r++) {
		out->peak_kb = all[r].peak_kb > out->peak_kb ? all[r].peak_kb : out->peak_kb;
		out->cpu_seconds += all[r].cpu_seconds;
	}
	inv_free(all);
	return st;
}

static invar_status serve_usage(const invar_context *ctx)
{
	inv_usage own = own_usage();

	return exchange_usage(ctx, &own);
}

const inv_service inv_usage_service = {.name = "usage", .serve = serve_usage};

inv_usage inv_usage_of(const invar_context *ctx)
{
	inv_usage sum = own_usage();

	if (inv_process_count(ctx) > 1 && inv_call(ctx, inv_usage_service.name) == INVAR_OK)
		exchange_usage(ctx, &sum);
	return sum;
}

void invar_context_usage(const invar_context *ctx, double *peak_mb, double *cpu_seconds)
{
	inv_usage sum = inv_usage_of(ctx);

	*peak_mb = (double)sum.peak_kb / 1024;
	*cpu_seconds = sum.cpu_seconds;
}

/* ---- One file system ---------------------------------------------------------------- */

enum { TOKEN = 16, PATIENCE = 15 /* seconds that a file server may take */ };

static bool has_token(const char *path, const unsigned char token[TOKEN])
{
	unsigned char found[TOKEN];
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool same =
		fd >= 0 && read(fd, found, TOKEN) == TOKEN && memcmp(found, token, TOKEN) == 0;

	if (fd >= 0)
		close(fd);
	return same;
}

static invar_status look_for_token(const char *path, const unsigned char token[TOKEN])
{
	double began = inv_wall_seconds();
	char host[256] = "?";

	while (!has_token(path, token)) {
		if (inv_wall_seconds() - began > PATIENCE) {
			gethostname(host, sizeof host - 1);
			return inv_fail(INVAR_E_IO,
			                "%.600s: is not seen on %.100s; all ranks must share the file "
			                "system of the folder",
			                path, host);
		}
		nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
	}
	return INVAR_OK;
}

static invar_status serve_shared(const invar_context *ctx)
{
	unsigned char token[TOKEN];
	char *path = NULL;
	invar_status st = inv_broadcast_text(ctx, NULL, &path);

	if (st == INVAR_OK)
		st = inv_broadcast(ctx, token, sizeof token);
	if (st == INVAR_OK)
		st = inv_agree(ctx, look_for_token(path, token));
	inv_free(path);
	return st;
}

const inv_service inv_check_shared_service = {.name = "shared folder",
                                              .serve = serve_shared};

static invar_status write_token(const char *path, unsigned char token[TOKEN])
{
	struct timespec now;
	int fd;
	bool written;

	clock_gettime(CLOCK_REALTIME, &now);
	memset(token, 0, TOKEN);
	snprintf((char *)token, TOKEN, "%lx%lx", (unsigned long)now.tv_nsec,
	         (unsigned long)getpid());
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return inv_fail_errno(path, "cannot write");
	written = write(fd, token, TOKEN) == TOKEN;
	return close(fd) == 0 && written ? INVAR_OK : inv_fail_errno(path, "cannot write");
}

invar_status inv_check_shared(const invar_context *ctx, const char *folder)
{
	unsigned char token[TOKEN];
	char *path, *none;
	invar_status st;

	if (inv_process_count(ctx) == 1)
		return INVAR_OK;
	if (!(path = inv_join(folder, "ranks.part")))
		return inv_fail(INVAR_E_NOMEM, "%s: not enough memory", folder);
	if ((st = write_token(path, token)) == INVAR_OK &&
	    (st = inv_call(ctx, inv_check_shared_service.name)) == INVAR_OK) {
		st = inv_broadcast_text(ctx, path, &none);
		if (st == INVAR_OK)
			st = inv_broadcast(ctx, token, sizeof token);
		if (st == INVAR_OK)
			st = inv_agree(ctx, INVAR_OK);
	}
	unlink(path);
	inv_free(path);
	return st;
}
