/* SPDX-License-Identifier: Apache-2.0 */
/*
 * processes.h - the ranks of a run under mpirun or srun; without one, a single rank.
 *
 * Rank 0 runs the program as if it were alone: it parses, checks, writes files and shows
 * results. The other ranks serve: they wait for rank 0 to name a service, take part in it,
 * and wait again. Only code that is worth it has a service; everything else runs on rank
 * 0. So there is one owner of every decision and of every file, and a message, a
 * cancellation or a resumption cannot differ between ranks.
 *
 * A service is a pair of functions that exchange data in the same order: one that rank 0
 * calls, and one in the table of services (recipe/serve.c) that the others call. With a
 * single rank the exchanges do nothing, and the code around them is the same.
 *
 * Work is dealt out in blocks that do not depend on the number of ranks, as those of
 * threads.h do not depend on threads: block b belongs to rank b modulo the number of ranks.
 * Results of blocks are collected and then added in block order.
 *
 * Only the thread that joined exchanges data, outside of parallel loops; for all others
 * there is a single rank. A context with no processes has a single rank as well.
 */
#ifndef INV_PROCESSES_H
#define INV_PROCESSES_H

#include "base/context.h"

unsigned inv_process_rank(const invar_context *ctx);
unsigned inv_process_count(const invar_context *ctx);

/* ---- Exchanges: all ranks call the same, in the same order -------------------------- */

/* From rank 0 to all. */
invar_status inv_broadcast(const invar_context *ctx, void *data, uint64_t bytes);
/* A text of any length from rank 0; the others get a copy. Gives *out on them, inv_free. */
invar_status inv_broadcast_text(const invar_context *ctx, const char *text, char **out);

/* Items of `bytes` bytes, dealt out in blocks of `per_block`. */
typedef struct inv_dealt {
	uint64_t count, per_block;
	size_t bytes;
} inv_dealt;

/* Items of this rank; those of block b are the next after those of its block b - ranks. */
uint64_t inv_dealt_count(const invar_context *ctx, inv_dealt d);
/* The number of the first item of one of this rank's blocks, in `all` or in `own`. */
uint64_t inv_dealt_at(const invar_context *ctx, inv_dealt d, uint64_t block);
/*
 * Rank 0 gives the others their items. `all` is theirs on rank 0, which keeps its own
 * items in it; `own` is where the others get theirs, one after the other.
 */
invar_status inv_deal(const invar_context *ctx, inv_dealt d, const void *all, void *own);
/* The reverse: every item comes to its place in `all` of rank 0. */
invar_status inv_collect(const invar_context *ctx, inv_dealt d, void *all, const void *own);

/* Every rank has the part offset[rank] … offset[rank + 1] of `data`, and gets the others.
 */
invar_status inv_all_gather(const invar_context *ctx, void *data, const uint64_t *offset);

/* This rank cannot keep up with the others, who wait for it: all of them end. */
void inv_processes_give_up(const invar_context *ctx);

/*
 * Totals of vectors of doubles that are added one after the other, in an order that does
 * not depend on the ranks. Every rank keeps a part of the totals. Volume of an addition: (R
 * - 1) / R of the vector out of each rank that has one.
 */
typedef struct inv_ordered_sum inv_ordered_sum;
invar_status inv_ordered_sum_new(const invar_context *ctx, uint64_t count,
                                 inv_ordered_sum **out);
void inv_ordered_sum_free(inv_ordered_sum *s); /* accepts NULL */
/* Adds the vectors of ranks 0 … givers - 1, in this order. */
invar_status inv_ordered_sum_add(inv_ordered_sum *s, const double *own, unsigned givers);
/* The totals come to `all` on rank 0; further vectors may be added. */
invar_status inv_ordered_sum_collect(inv_ordered_sum *s, double *all);

/*
 * The first failure in the order of the ranks, with its message, on all of them; a
 * cancellation counts as one. Also a barrier.
 */
invar_status inv_agree(const invar_context *ctx, invar_status st);

/*
 * A watch lets ranks compute for a long time without exchanging anything, and end early if
 * one of them fails or rank 0 is told to stop. Each calls progress now and then, from the
 * thread that joined, also within a parallel loop, and finish once with the status of its
 * own share. Finish waits for all ranks and returns what they agree on (inv_agree).
 */
typedef struct inv_watch {
	const invar_context *ctx;
	const char *stage;
	uint64_t done, total;
	unsigned ended; /* on rank 0: other ranks that have told how they ended */
	bool told;      /* to stop: another rank has failed */
} inv_watch;

inv_watch inv_watch_start(const invar_context *ctx);
/* Calls inv_progress on rank 0. INVAR_E_CANCELLED: stop. */
invar_status inv_watch_progress(inv_watch *w, const char *stage, uint64_t done,
                                uint64_t total);
invar_status inv_watch_finish(inv_watch *w, invar_status st);

/* ---- Services ----------------------------------------------------------------------- */

typedef struct inv_service {
	const char *name;
	invar_status (*serve)(const invar_context *ctx);
	void (*forget)(void *kept); /* frees what calls have left; NULL: nothing */
} inv_service;

/* Where the service that is being served keeps what its next call needs; NULL at first. */
void **inv_service_kept(const invar_context *ctx);

/*
 * Rank 0: names the service; the others enter it. Fails if one of them cannot, and then
 * none has entered.
 */
invar_status inv_call(const invar_context *ctx, const char *service);
/*
 * The other ranks: serves until rank 0 leaves. A service that fails has told rank 0 so
 * (inv_agree); what is returned is a failure of the exchange itself.
 */
invar_status inv_serve(inv_processes *p, const inv_service *const *services);
int inv_processes_result(const inv_processes *p); /* that rank 0 left with */

/* Processes over a transport, which the plugin or a test has made. */
struct inv_transport;
invar_status inv_processes_over(const struct inv_transport *t, inv_processes **out);

/* The largest peak of memory of any rank, and the processor time of all. */
typedef struct inv_usage {
	int64_t peak_kb;
	double cpu_seconds;
} inv_usage;

inv_usage inv_usage_of(const invar_context *ctx); /* rank 0's own if an exchange fails */
extern const inv_service inv_usage_service;

/*
 * Fails unless all ranks see the same folder, by a file that rank 0 writes there and
 * removes.
 */
invar_status inv_check_shared(const invar_context *ctx, const char *folder);
extern const inv_service inv_check_shared_service;

/*
 * Several processes. A program that mpirun or srun has started joins the others first; each
 * has a rank. Rank 0 gives its processes to its context and goes on as if it were alone:
 * what can be dealt out is computed by all. The others serve until rank 0 leaves, and end
 * with its result. Without a launcher *out is NULL, which every call here accepts: rank 0
 * of 1. The thread that joined is the one that uses them. INVAR_RANKS=1 in the environment
 * ignores the launcher.
 */
invar_status inv_processes_join(inv_processes **out);
unsigned inv_processes_rank(const inv_processes *p);
unsigned inv_processes_size(const inv_processes *p);
/* Rank 0: the others end with `result`; the last call, also of those that have served. */
void inv_processes_leave(inv_processes *p, int result);
/* Borrows p, which must outlive the context. */
void inv_context_share(invar_context *ctx, inv_processes *p);
/* The largest peak memory of any process, and the processor time of all of them. */
void inv_context_usage(const invar_context *ctx, double *peak_mb, double *cpu_seconds);

#endif
