/* SPDX-License-Identifier: Apache-2.0 */
/*
 * processes.h - the ranks of a run under mpirun or srun; without one, a single rank.
 *
 * Every rank runs the same command on the same code path. Work that is worth it is dealt
 * out: a rank computes its rows or blocks, and all ranks meet in the collective calls
 * below, in the same order. Everything else is computed by every rank, with the same
 * result. Rank 0 alone prints, and writes what is written once; whatever depends on its
 * files, on the clock or on a signal is its decision, which it broadcasts. With a single
 * rank the calls do nothing, and the code around them is the same.
 *
 * Blocks of work do not depend on the number of ranks, as those of threads.h do not depend
 * on threads, and sums are added in the order of the blocks.
 *
 * A rank that fails tells the others, whose next collective call, or next inv_progress,
 * fails with its message. A rank that dies is the launcher's matter. A rank that hangs ends
 * the run after the time limit of the collective calls, INVAR_RANKS_TIMEOUT seconds.
 *
 * Only the thread that joined exchanges data, outside of parallel loops; for all others
 * there is a single rank. A context with no processes has a single rank as well.
 */
#ifndef INV_PROCESSES_H
#define INV_PROCESSES_H

#include "base/context.h"

unsigned inv_process_rank(const invar_context *ctx);
unsigned inv_process_count(const invar_context *ctx);

/* Products of numbers that are worth an exchange: fewer take some milliseconds. */
#define INV_WORTH_DEALING ((double)(1 << 27))

/* ---- Collective calls --------------------------------------------------------------- */

/* From rank 0 to all. */
invar_status inv_broadcast(const invar_context *ctx, void *data, uint64_t bytes);
/*
 * A text of any length: *text of the other ranks, which may be NULL, is freed and becomes
 * that of rank 0. Gives; inv_free.
 */
invar_status inv_broadcast_text(const invar_context *ctx, char **text);
/* Until rank 0 is here, which may have worked alone for any time. */
invar_status inv_await_rank_0(const invar_context *ctx);
/* The first failure in the order of the ranks, with its message, on all of them. */
invar_status inv_agree(const invar_context *ctx, invar_status st);

/* Consecutive items for each rank: rows or columns, in whole units but for the last. */
typedef struct inv_shares {
	size_t items, unit;
	unsigned rank, ranks;
} inv_shares;

inv_shares inv_shares_of(const invar_context *ctx, size_t items, size_t unit);
size_t inv_share_first(const inv_shares *s, unsigned rank);
size_t inv_share_count(const inv_shares *s, unsigned rank);
size_t inv_own_first(const inv_shares *s);
size_t inv_own_count(const inv_shares *s);

/* Every rank has its items of `data`, each of `bytes` bytes, and gets the others. */
invar_status inv_gather(const invar_context *ctx, const inv_shares *s, void *data,
                        size_t bytes);
/*
 * Start returns at once: the data must not be touched before finish. Poke makes it go on;
 * from the thread that joined, also within a parallel loop.
 */
invar_status inv_gather_start(const invar_context *ctx, const inv_shares *s, void *data,
                              size_t bytes);
invar_status inv_gather_finish(const invar_context *ctx);
void inv_gather_poke(const invar_context *ctx);
/*
 * Every rank has block r of `from` for rank r, and gets block r of `out` from it; sizes in
 * bytes, blocks one after the other. Its own block is copied.
 */
invar_status inv_exchange(const invar_context *ctx, const char *from,
                          const uint64_t *from_bytes, char *out, const uint64_t *out_bytes);

/*
 * Totals of vectors of `count` doubles, one per block of work, added in the order of the
 * blocks. Block b is made by rank b modulo the number of ranks.
 */
typedef struct inv_block_sums inv_block_sums;
invar_status inv_block_sums_new(const invar_context *ctx, uint64_t count,
                                inv_block_sums **out);
void inv_block_sums_free(inv_block_sums *s); /* accepts NULL */
/* Is the next block this rank's? */
bool inv_block_sums_own(const inv_block_sums *s);
/* Where to add the sums of the next block, if it is this rank's; NULL if not. */
double *inv_block_sums_next(inv_block_sums *s);
/* That block has been added, or is another rank's. */
invar_status inv_block_sums_end(inv_block_sums *s);
/* All ranks get the totals so far, which `s` owns; further blocks may be added. */
invar_status inv_block_sums_total(inv_block_sums *s, double **total);

/*
 * The largest peak memory of any rank, and the processor time of all of them; without a
 * context, of this process.
 */
invar_status inv_context_usage(const invar_context *ctx, double *peak_mb,
                               double *cpu_seconds);

/* ---- Joining and leaving ------------------------------------------------------------ */

/*
 * A program that mpirun or srun has started joins the others first; each has a rank.
 * Without a launcher *out is NULL, which every call accepts: rank 0 of 1. The thread that
 * joined is the one that uses them. INVAR_RANKS=1 in the environment ignores the launcher.
 */
invar_status inv_processes_join(inv_processes **out);
unsigned inv_processes_rank(const inv_processes *p);
unsigned inv_processes_size(const inv_processes *p);
/* Borrows p, which must outlive the context. */
void inv_context_share(invar_context *ctx, inv_processes *p);
/* Has another rank failed? Its message becomes this thread's. */
invar_status inv_processes_check(inv_processes *p);
/*
 * What became of the command on this rank. If it has failed, the others are told; if not,
 * it waits for them. Returns the status of the run: that of this rank, or of the one that
 * failed, with its message.
 */
invar_status inv_processes_leave(inv_processes *p, invar_status st);
/* Has this rank lost the others? Then its message may be the only one. */
bool inv_processes_is_lost(const inv_processes *p);
/* The last call. Does not return if an exchange was left unfinished: all ranks end. */
void inv_processes_close(inv_processes *p, int exit_code);

/* Processes over a transport, which the plugin or a test has made. */
struct inv_transport;
invar_status inv_processes_over(const struct inv_transport *t, inv_processes **out);

#endif
