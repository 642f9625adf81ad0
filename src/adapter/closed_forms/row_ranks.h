/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_ranks.h - sums over the rows of a bank, made by several processes.
 *
 * All ranks go through the same list of images in the same order; of every chunk of rows
 * one rank reads the rows and makes the sums: chunk c of a stream belongs to rank c modulo
 * the number of ranks. When each has made one, they are added in the order of the chunks,
 * as a single process adds them: the same bits.
 *
 * Volume: the sums of every chunk leave the rank that made them; a solution brings the
 * totals to rank 0.
 */
#ifndef INV_ROW_RANKS_H
#define INV_ROW_RANKS_H

#include "adapter/closed_forms/visit_pairs.h"
#include "base/processes.h"

enum { INV_ROW_CHUNK = 3584, INV_ROW_STREAMS = 2, INV_NO_STREAM = -1 };

/* What is summed, on every rank; the sums of a chunk are a vector of doubles. */
typedef struct inv_row_sums {
	void *user;
	int of_clean, of_copies;           /* streams of clean rows and of copies */
	uint64_t doubles[INV_ROW_STREAMS]; /* 0: there is no such stream */
	/* The first row of all and its clean row, before any other; NULL: not needed. */
	void (*begin)(void *user, const float *row, const float *clean);
	/* The next row of this rank's chunk and its clean row; of a clean row, itself. */
	void (*put)(void *user, int stream, const float *row, const float *clean);
	/* The sums of the rows that were put since the last call. */
	invar_status (*sum)(void *user, int stream, double *sums);
	/* On rank 0, stream by stream; `added`: all rows of each. */
	invar_status (*total)(void *user, int stream, const uint64_t added[INV_ROW_STREAMS],
	                      const double *totals);
} inv_row_sums;

typedef struct inv_row_ranks inv_row_ranks;

/* ---- Rank 0, after it has called a service ------------------------------------------- */

/* Enough rows for several ranks, also if a tenth of the images is held out? */
bool inv_row_ranks_worth(const inv_closed_form_spec *s, bool with_clean);
/* The others call inv_row_ranks_bank; all agree on what they read. */
invar_status inv_row_ranks_say_bank(const inv_closed_form_spec *s);
/* Agrees on `st`, too; on all ranks. A copy of `sums` is kept. */
invar_status inv_row_ranks_new(const invar_context *ctx, const inv_row_sums *sums, size_t d,
                               invar_status st, inv_row_ranks **out);
/* inv_visit_pairs for sums; the visitor counts the images. */
invar_status inv_row_ranks_add(inv_row_ranks *r, inv_pair_visitor *v,
                               const uint32_t *images, uint32_t count);
/* Before each solution: calls `total` if rows have come since the last one. */
invar_status inv_row_ranks_settle(inv_row_ranks *r);
void inv_row_ranks_close(inv_row_ranks *r); /* accepts NULL */

/* ---- The other ranks ----------------------------------------------------------------- */

/* The bank that rank 0 reads, and as much of its spec as others need; close the bank. If
 * it fails, rank 0 has left the service. */
invar_status inv_row_ranks_bank(const invar_context *ctx, invar_bank **bank,
                                inv_closed_form_spec *s);
/* Until rank 0 closes; frees r. */
invar_status inv_row_ranks_serve(inv_row_ranks *r, const inv_closed_form_spec *s);

#endif
