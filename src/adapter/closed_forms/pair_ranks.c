/* SPDX-License-Identifier: Apache-2.0 */
/* pair_ranks.c - see pair_ranks.h. */
#include "adapter/closed_forms/pair_ranks.h"

_Static_assert((int)INV_PAIR_CHUNK == (int)INV_ROW_CHUNK,
               "ranks make the sums of whole chunks");

typedef struct task_header {
	uint64_t d, ridge, with_clean;
} task_header;

static void begin_pairs(void *user, const float *row, const float *clean)
{
	inv_pairs_begin(user, row, clean);
}

static void put_pair(void *user, int stream, const float *row, const float *clean)
{
	(void)stream;
	inv_pairs_put(user, row, clean);
}

static invar_status sum_chunk(void *user, int stream, double *sums)
{
	(void)stream;
	inv_pairs_take(user, sums);
	return INVAR_OK;
}

static invar_status take_totals(void *user, int stream,
                                const uint64_t added[INV_ROW_STREAMS], const double *totals)
{
	inv_pairs_set(user, added[stream], totals);
	return INVAR_OK;
}

/* Clean rows and copies are one stream, in the order of inv_visit_pairs. */
static inv_row_sums sums_of(inv_pairs *p, bool with_clean)
{
	return (inv_row_sums){.user = p,
	                      .of_clean = with_clean ? 0 : INV_NO_STREAM,
	                      .of_copies = 0,
	                      .doubles = {p ? inv_pairs_doubles(p) : 0},
	                      .begin = begin_pairs,
	                      .put = put_pair,
	                      .sum = sum_chunk,
	                      .total = take_totals};
}

invar_status inv_pair_ranks_open(const inv_closed_form_spec *s, bool with_clean,
                                 inv_pairs *p, inv_row_ranks **out)
{
	const invar_context *ctx = s->bank->ctx;
	task_header h = {s->bank->dim, p->ridge, with_clean};
	inv_row_sums sums = sums_of(p, with_clean);
	invar_status st;

	*out = NULL;
	if (!inv_row_ranks_worth(s, with_clean) || 2 * INV_PAIR_CHUNK < p->d / 2)
		return INVAR_OK;
	if ((st = inv_call(ctx, inv_pair_service.name)) == INVAR_OK)
		st = inv_broadcast(ctx, &h, sizeof h);
	if (st == INVAR_OK)
		st = inv_row_ranks_say_bank(s);
	return st == INVAR_OK ? inv_row_ranks_new(ctx, &sums, p->d, INVAR_OK, out) : st;
}

static invar_status serve_pairs(const invar_context *ctx)
{
	inv_closed_form_spec s;
	inv_row_ranks *rows = NULL;
	invar_bank *bank = NULL;
	inv_pairs *p = NULL;
	inv_row_sums sums;
	task_header h;
	invar_status st = inv_broadcast(ctx, &h, sizeof h);

	if (st != INVAR_OK)
		return st;
	if ((st = inv_row_ranks_bank(ctx, &bank, &s)) == INVAR_OK) {
		st = inv_pairs_new(ctx, h.d, h.ridge, &p);
		sums = sums_of(p, h.with_clean);
		st = inv_row_ranks_new(ctx, &sums, h.d, st, &rows);
	}
	if (st == INVAR_OK)
		st = inv_row_ranks_serve(rows, &s);
	inv_pairs_free(p);
	invar_bank_close(bank);
	return st;
}

const inv_service inv_pair_service = {.name = "pairs", .serve = serve_pairs};
