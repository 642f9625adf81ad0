/* SPDX-License-Identifier: Apache-2.0 */
/*
 * processes.c - joining the ranks that a launcher started, waiting for each other, leaving.
 *
 * A rank that waits polls, and sleeps in between for a twentieth of the time it has waited
 * so far: an exchange between busy ranks is quick, and an idle one leaves its core to
 * others. The library of MPI itself would spin.
 *
 * A rank that fails outside of inv_agree ends its command and tells rank 0, which tells all
 * others; each finds that note when it polls. An exchange that was under way then remains
 * unfinished. If its buffers are the caller's, they are freed: after that no call of MPI is
 * safe but MPI_Abort, which ends the run. Short messages have a buffer that stays, so that
 * ranks which wait for a decision or for each other end as usual.
 */
#include <dlfcn.h>
#include <omp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/processes.h"
#include "base/rank_transport.h"

/* Seconds: default limit of a collective call; more of it per rank; rank 0 waits for others
 * that end, these for rank 0.
 */
enum { LIMIT = 3600, TURN = 5, ENDING = 5, CLOSING = 8 };

struct inv_processes {
	const inv_transport *t;
	pthread_t owner;
	double limit;              /* of a collective call; 0: none */
	bool started;              /* an exchange of the caller's buffers is under way */
	bool unclean;              /* one was left unfinished */
	bool failed;               /* this rank or another; no further exchange is tried */
	inv_note note;             /* about the failure */
	unsigned ended;            /* on rank 0: other ranks that have told so */
	bool closing;              /* rank 0 lets all close */
	int32_t *status;           /* [size] of inv_agree */
	char small[INV_NOTE_TEXT]; /* short messages */
};

/* NULL if there is a single rank for this thread. */
static inv_processes *ranks_of(const invar_context *ctx)
{
	inv_processes *p = ctx ? ctx->processes : NULL;

	return p && pthread_equal(p->owner, pthread_self()) && !omp_in_parallel() ? p : NULL;
}

unsigned inv_process_rank(const invar_context *ctx)
{
	return inv_processes_rank(ranks_of(ctx));
}

unsigned inv_process_count(const invar_context *ctx)
{
	return inv_processes_size(ranks_of(ctx));
}

unsigned inv_processes_rank(const inv_processes *p)
{
	return p ? p->t->rank : 0;
}

unsigned inv_processes_size(const inv_processes *p)
{
	return p ? p->t->size : 1;
}

void inv_context_share(invar_context *ctx, inv_processes *p)
{
	ctx->processes = p;
}

/* ---- Failures ------------------------------------------------------------------------ */

/* The message of the first failure, in this thread. */
static invar_status repeat_failure(const inv_processes *p)
{
	invar_status st = (invar_status)p->note.status;

	if (p->note.rank == p->t->rank || p->note.rank == 0 || st == INVAR_E_CANCELLED)
		return inv_fail(st, "%s", p->note.text);
	return inv_fail(st, "rank %u: %.1000s", (unsigned)p->note.rank, p->note.text);
}

/* Notes this thread's message as the failure of this rank. */
static void note_own_failure(inv_processes *p, invar_status st)
{
	p->failed = true;
	p->note = (inv_note){.status = (int32_t)st, .rank = (uint16_t)p->t->rank};
	inv_last_error_spelled(INV_MARKED, p->note.text, sizeof p->note.text);
}

static void tell_all(inv_processes *p)
{
	for (unsigned r = 1; r < p->t->size; r++)
		p->t->tell(&p->note, r);
}

/* What others have told since the last call. */
static void hear_notes(inv_processes *p)
{
	inv_note note;

	while (!p->unclean && p->t->hear(&note)) {
		note.text[sizeof note.text - 1] = '\0';
		if (p->t->rank)
			p->closing = note.status == INVAR_OK;
		else
			p->unclean = p->unclean || !note.clean;
		p->ended++;
		if (p->failed || p->closing)
			continue;
		p->failed = true;
		p->note = note;
		if (!p->t->rank)
			tell_all(p);
	}
}

invar_status inv_processes_check(inv_processes *p)
{
	if (!p || !pthread_equal(p->owner, pthread_self()))
		return INVAR_OK;
	hear_notes(p);
	return p->failed ? repeat_failure(p) : INVAR_OK;
}

/* A failure of the exchange itself, after which nothing is exchanged. */
static invar_status fail_exchange(inv_processes *p, const char *why)
{
	invar_status st = inv_fail(INVAR_E_IO,
	                           "rank %u cannot exchange data with the other ranks: %s; "
	                           "finished work is kept, and the same command resumes it",
	                           p->t->rank, why);

	p->unclean = true;
	note_own_failure(p, st);
	return st;
}

/* ---- Waiting ------------------------------------------------------------------------- */

/* Until everything that was started has ended; `why`: starting it has failed. */
static invar_status wait_for_exchange(inv_processes *p, const char *why, double limit)
{
	double began = inv_wall_seconds();
	int done = 0;
	char text[120];

	while (!why && !done && !p->failed) {
		double waited, pause;

		if ((why = p->t->test(&done)) || done)
			break;
		hear_notes(p);
		waited = inv_wall_seconds() - began;
		/* The first rank that waits reports it and ends all, before the next one does. */
		if (limit > 0 && waited > limit + TURN * (double)p->t->rank) {
			snprintf(text, sizeof text,
			         "no answer for %g seconds, one of them hangs or its machine is gone",
			         limit);
			why = text;
		}
		pause = waited / 20 < 20e-6 ? 20e-6 : waited / 20 > 2e-3 ? 2e-3 : waited / 20;
		if (waited < 50e-6)
			sched_yield();
		else
			nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * pause)}, NULL);
	}
	if (why)
		return fail_exchange(p, why);
	p->unclean = p->unclean || (p->failed && p->started);
	p->started = false;
	return p->failed ? repeat_failure(p) : INVAR_OK;
}

/* ---- Collective calls ---------------------------------------------------------------- */

static invar_status broadcast_from(inv_processes *p, unsigned root, void *data,
                                   uint64_t bytes, double limit)
{
	bool is_short = bytes <= sizeof p->small;
	void *at = is_short ? p->small : data;
	const char *why = NULL;

	if (is_short && bytes)
		memcpy(at, data, bytes);
	p->started = !is_short;
	if (bytes && !p->failed)
		why = p->t->broadcast(at, bytes, root);
	INV_TRY(wait_for_exchange(p, why, limit));
	if (is_short && bytes)
		memcpy(data, at, bytes);
	return INVAR_OK;
}

invar_status inv_broadcast(const invar_context *ctx, void *data, uint64_t bytes)
{
	inv_processes *p = ranks_of(ctx);

	return p ? broadcast_from(p, 0, data, bytes, p->limit) : INVAR_OK;
}

invar_status inv_broadcast_text(const invar_context *ctx, char **text)
{
	uint64_t bytes = *text ? strlen(*text) + 1 : 0;

	if (inv_process_count(ctx) == 1)
		return INVAR_OK;
	INV_TRY(inv_broadcast(ctx, &bytes, sizeof bytes));
	if (inv_process_rank(ctx)) {
		inv_free(*text);
		*text = NULL;
		if (bytes)
			INV_TRY(inv_new_array(text, bytes));
	}
	return inv_broadcast(ctx, *text, bytes);
}

invar_status inv_await_rank_0(const invar_context *ctx)
{
	inv_processes *p = ranks_of(ctx);
	char here = 0;

	return p ? broadcast_from(p, 0, &here, sizeof here, 0) : INVAR_OK;
}

/* Rank 0 collects how all are, and tells them; also a barrier. */
static invar_status agree(inv_processes *p, invar_status st, double limit)
{
	struct {
		int32_t status;
		uint32_t rank;
	} v = {INVAR_OK, 0};
	char text[INV_NOTE_TEXT] = "";
	const char *why = NULL;

	if (p->failed)
		return st == INVAR_OK ? repeat_failure(p) : st;
	if (st != INVAR_OK)
		inv_last_error_spelled(INV_MARKED, text, sizeof text);
	p->status[0] = (int32_t)st;
	for (unsigned r = 1; r < p->t->size && !why && !p->t->rank; r++)
		why = p->t->receive(&p->status[r], sizeof *p->status, r);
	if (p->t->rank)
		why = p->t->send(p->status, sizeof *p->status, 0);
	INV_TRY(wait_for_exchange(p, why, limit));
	for (unsigned r = 0; r < p->t->size && !p->t->rank && v.status == INVAR_OK; r++) {
		v.status = p->status[r];
		v.rank = r;
	}
	INV_TRY(broadcast_from(p, 0, &v, sizeof v, limit));
	if (v.status == INVAR_OK)
		return INVAR_OK;
	INV_TRY(broadcast_from(p, v.rank, text, sizeof text, limit));
	text[sizeof text - 1] = '\0';
	if (v.rank == 0 || v.status == INVAR_E_CANCELLED)
		return inv_fail((invar_status)v.status, "%s", text);
	return inv_fail((invar_status)v.status, "rank %u: %.1000s", v.rank, text);
}

invar_status inv_agree(const invar_context *ctx, invar_status st)
{
	inv_processes *p = ranks_of(ctx);

	return p ? agree(p, st, p->limit) : st;
}

invar_status inv_gather_start(const invar_context *ctx, const inv_shares *s, void *data,
                              size_t bytes)
{
	inv_processes *p = ranks_of(ctx);
	const char *why = NULL;

	for (unsigned r = 0; p && !p->failed && r < s->ranks && !why; r++)
		if (inv_share_count(s, r))
			why = p->t->broadcast((char *)data + inv_share_first(s, r) * bytes,
			                      inv_share_count(s, r) * bytes, r);
	if (p)
		p->started = true;
	return why ? fail_exchange(p, why) : INVAR_OK;
}

invar_status inv_gather_finish(const invar_context *ctx)
{
	inv_processes *p = ranks_of(ctx);

	return p ? wait_for_exchange(p, NULL, p->limit) : INVAR_OK;
}

invar_status inv_gather(const invar_context *ctx, const inv_shares *s, void *data,
                        size_t bytes)
{
	INV_TRY(inv_gather_start(ctx, s, data, bytes));
	return inv_gather_finish(ctx);
}

void inv_gather_poke(const invar_context *ctx)
{
	inv_processes *p = ctx->processes;
	const char *why;
	int done;

	if (!p || p->failed || !pthread_equal(p->owner, pthread_self()))
		return;
	if ((why = p->t->test(&done)))
		fail_exchange(p, why);
}

invar_status inv_exchange(const invar_context *ctx, const char *from,
                          const uint64_t *from_bytes, char *out, const uint64_t *out_bytes)
{
	inv_processes *p = ranks_of(ctx);
	unsigned size = inv_processes_size(p), me = inv_processes_rank(p);
	const char *why = NULL;

	if (p)
		p->started = true;
	for (unsigned r = 0; r < size && !why && !(p && p->failed); r++) {
		if (r == me)
			memcpy(out, from, out_bytes[r]);
		else if (out_bytes[r])
			why = p->t->receive(out, out_bytes[r], r);
		if (r != me && from_bytes[r] && !why)
			why = p->t->send(from, from_bytes[r], r);
		from += from_bytes[r];
		out += out_bytes[r];
	}
	return p ? wait_for_exchange(p, why, p->limit) : INVAR_OK;
}

typedef struct usage {
	double peak_mb, cpu_seconds;
} usage;

invar_status inv_context_usage(const invar_context *ctx, double *peak_mb,
                               double *cpu_seconds)
{
	inv_shares ranks = inv_shares_of(ctx, inv_process_count(ctx), 1);
	usage *all;
	invar_status st;

	INV_TRY(inv_new_zeros(&all, ranks.items));
	all[ranks.rank] = (usage){inv_peak_megabytes(), inv_cpu_seconds()};
	*peak_mb = *cpu_seconds = 0;
	st = inv_gather(ctx, &ranks, all, sizeof *all);
	for (size_t r = 0; r < ranks.items; r++) {
		*peak_mb = all[r].peak_mb > *peak_mb ? all[r].peak_mb : *peak_mb;
		*cpu_seconds += all[r].cpu_seconds;
	}
	inv_free(all);
	return st;
}

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
	inv_block_sums *s;
	size_t own, ranks;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&s));
	s->ctx = ctx;
	s->shares = inv_shares_of(ctx, count, 1);
	own = inv_own_count(&s->shares);
	ranks = s->shares.ranks;
	INV_TRY_OR(fail, inv_new_zeros(&s->all, count));
	if (ranks > 1) {
		INV_TRY_OR(fail, inv_new_zeros(&s->block, count));
		INV_TRY_OR(fail, inv_new_zeros(&s->total, own + 1));
		INV_TRY_OR(fail, inv_new_zeros(&s->parts, ranks * own + 1));
		INV_TRY_OR(fail, inv_new_zeros(&s->sent, ranks));
		INV_TRY_OR(fail, inv_new_zeros(&s->received, ranks));
	}
	*out = s;
	return INVAR_OK;
fail:
	inv_block_sums_free(s);
	return st;
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

/* ---- Joining and leaving ----------------------------------------------------------- */

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

/*
 * Where the environment says; else beside the library or in its folder invar; else where
 * the program, which contains the library, finds it: in the tree of a build, or installed.
 */
static void *open_plugin(void)
{
	static const char *const places[] = {"invar_mpi.so", "invar/invar_mpi.so",
	                                     "../invar_mpi.so",
	                                     "../" INV_LIBDIR "/invar/invar_mpi.so"};
	const char *given = getenv("INVAR_MPI_PLUGIN"), *slash;
	char own[2048], path[4096];
	Dl_info self;

	/* Of a program that was found on PATH, dladdr knows the name alone. */
	own[0] = '\0';
	if (dladdr((void *)(uintptr_t)&inv_processes_join, &self))
		snprintf(own, sizeof own, "%s", self.dli_fname);
	if (!strchr(own, '/')) {
		ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);

		own[length > 0 ? length : 0] = '\0';
	}
	snprintf(path, sizeof path, "%s", given ? given : "invar_mpi.so");
	if (!given && (slash = strrchr(own, '/')))
		for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
			snprintf(path, sizeof path, "%.*s/%s", (int)(slash - own), own, places[i]);
			if (access(path, F_OK) == 0)
				break;
		}
	return dlopen(path, RTLD_NOW | RTLD_GLOBAL);
}

invar_status inv_processes_join(inv_processes **out)
{
	inv_transport_open_fn *open_it = NULL;
	const inv_transport *t;
	const char *sentence;
	void *library;

	*out = NULL;
	if (!is_launched())
		return INVAR_OK;
	if (!(library = open_plugin()))
		return inv_fail(INVAR_E_IO,
		                "a launcher has started several processes, but invar's plugin for "
		                "MPI cannot be loaded: %.300s; install Open MPI, or set "
		                "INVAR_RANKS=1 for programs that know nothing of each other",
		                dlerror());
	*(void **)&open_it = dlsym(library, INV_TRANSPORT_OPEN);
	sentence = open_it ? open_it(&t) : "it is not a plugin of invar";
	if (sentence || t->version != INV_TRANSPORT_VERSION)
		return inv_fail(INVAR_E_IO, "invar's plugin for MPI cannot be used: %.300s",
		                sentence ? sentence : "it belongs to another version");
	return inv_processes_over(t, out);
}

invar_status inv_processes_over(const inv_transport *t, inv_processes **out)
{
	const char *limit = getenv("INVAR_RANKS_TIMEOUT");
	inv_processes *p;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&p));
	INV_TRY_OR(fail, inv_new_zeros(&p->status, t->size));
	p->t = t;
	p->owner = pthread_self();
	p->limit = limit ? atof(limit) : LIMIT;
	*out = p;
	return INVAR_OK;
fail:
	inv_free(p);
	return st;
}

invar_status inv_processes_leave(inv_processes *p, invar_status st)
{
	if (!p)
		return st;
	if (st == INVAR_OK)
		st = agree(p, st, 0);
	else if (!p->failed)
		note_own_failure(p, st);
	if (p->failed && !p->unclean && !p->t->rank && p->note.rank == 0)
		tell_all(p);
	return st;
}

bool inv_processes_is_lost(const inv_processes *p)
{
	return p && p->unclean && p->note.rank == p->t->rank;
}

/* Rank 0 waits until all have ended, and lets them close; else it ends them. */
static bool ends_well(inv_processes *p)
{
	double began = inv_wall_seconds(), patience = p->t->rank ? CLOSING : ENDING;

	if (inv_processes_is_lost(p))
		return false;
	p->note.clean = !p->unclean;
	if (p->t->rank && !p->unclean)
		p->t->tell(&p->note, 0);
	while (inv_wall_seconds() - began < patience && !(p->unclean && !p->t->rank)) {
		hear_notes(p);
		if (p->t->rank ? p->closing : p->ended + 1 == p->t->size)
			break;
		nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	}
	if (p->t->rank)
		return p->closing;
	if (p->unclean || p->ended + 1 < p->t->size)
		return false;
	p->note.status = INVAR_OK;
	tell_all(p);
	return true;
}

void inv_processes_close(inv_processes *p, int exit_code)
{
	if (!p)
		return;
	if (!p->failed || ends_well(p))
		p->t->close();
	else if (p->t->rank == 0 || p->note.rank == p->t->rank)
		p->t->abort(exit_code ? exit_code : 1);
	else
		_exit(exit_code);
	inv_free(p->status);
	inv_free(p);
}
