/* SPDX-License-Identifier: Apache-2.0 */
/* row_ranks.c - see row_ranks.h. */
#include "adapter/closed_forms/row_ranks.h"
#include "bank/bank.h"

#include "bank/bank_ranks.h"
#include "base/memory.h"
#include "base/rank_compare.h"

enum { CHUNK = INV_ROW_CHUNK, STREAMS = INV_ROW_STREAMS };
enum { ADD = 1, SETTLE = 2, END = 3 };

/* Rows of one kind; positions count from the last solution. */
typedef struct stream {
	uint64_t passed, added; /* since the last solution; in the totals */
	inv_ordered_sum *totals;
} stream;

struct inv_row_ranks {
	const invar_context *ctx;
	unsigned rank, ranks;
	size_t d;
	inv_row_sums sums;
	stream stream[STREAMS];
	double *packed; /* the sums of a chunk or the totals */
	bool begun;     /* the first row was shown */
	bool dirty;     /* rows came since the last solution */
};

typedef struct bank_header {
	uint64_t d, copies, seed, rows, unit;
} bank_header;

/* ---- Both sides ---------------------------------------------------------------------- */

static void free_ranks(inv_row_ranks *r)
{
	if (!r)
		return;
	for (int i = 0; i < STREAMS; i++)
		inv_ordered_sum_free(r->stream[i].totals);
	inv_free(r->packed);
	inv_free(r);
}

static invar_status allocate(inv_row_ranks *r)
{
	uint64_t most = 0;
	invar_status st = INVAR_OK;

	for (int i = 0; i < STREAMS; i++)
		most = r->sums.doubles[i] > most ? r->sums.doubles[i] : most;
	if (!(r->packed = inv_alloc(most * sizeof *r->packed)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for sums over ranks");
	for (int i = 0; i < STREAMS && st == INVAR_OK; i++)
		if (r->sums.doubles[i])
			st = inv_ordered_sum_new(r->ctx, r->sums.doubles[i], &r->stream[i].totals);
	return st;
}

invar_status inv_row_ranks_new(const invar_context *ctx, const inv_row_sums *sums, size_t d,
                               invar_status st, inv_row_ranks **out)
{
	inv_row_ranks *r = inv_calloc(1, sizeof *r);

	*out = NULL;
	if (r) {
		r->ctx = ctx;
		r->rank = inv_process_rank(ctx);
		r->ranks = inv_process_count(ctx);
		r->d = d;
		r->sums = *sums;
	}
	if (st == INVAR_OK)
		st = r ? allocate(r)
		       : inv_fail(INVAR_E_NOMEM, "not enough memory for sums over ranks");
	if ((st = inv_agree(ctx, st)) == INVAR_OK)
		*out = r;
	else
		free_ranks(r);
	return st;
}

/*
 * Up to one chunk of each rank, all of which are at this place of the list. A failure so
 * far, of any rank, ends it here.
 */
static invar_status end_round(inv_row_ranks *r, int which, invar_status st)
{
	stream *s = &r->stream[which];
	uint64_t round = (uint64_t)CHUNK * r->ranks, rows = s->passed % round;
	unsigned givers;

	rows = rows ? rows : round;
	givers = (unsigned)((rows + CHUNK - 1) / CHUNK);
	if (st == INVAR_OK && r->rank < givers)
		st = r->sums.sum(r->sums.user, which, r->packed);
	if ((st = inv_agree(r->ctx, st)) != INVAR_OK)
		return st;
	s->added += rows;
	return inv_ordered_sum_add(s->totals, r->packed, givers);
}

static bool is_own(const inv_row_ranks *r, uint64_t position)
{
	return position / CHUNK % r->ranks == r->rank;
}

/* Of the next `rows` rows of a stream, after `skip` others. */
static bool has_own(const inv_row_ranks *r, int which, uint64_t skip, uint64_t rows)
{
	uint64_t from = which < 0 ? 0 : r->stream[which].passed + skip;

	for (uint64_t at = from; which >= 0 && at < from + rows; at = (at / CHUNK + 1) * CHUNK)
		if (is_own(r, at))
			return true;
	return false;
}

/* `rows` rows pass; z is NULL if none of them is ours, or after a failure. */
static invar_status pass_rows(inv_row_ranks *r, int which, const float *z,
                              const float *clean, uint32_t rows, invar_status *st)
{
	uint64_t round = (uint64_t)CHUNK * r->ranks;
	invar_status agreed = INVAR_OK;

	for (uint32_t i = 0; which >= 0 && i < rows && agreed == INVAR_OK; i++) {
		stream *s = &r->stream[which];

		if (z && is_own(r, s->passed))
			r->sums.put(r->sums.user, which, z + i * r->d, clean + i * r->d);
		if (++s->passed % round == 0)
			agreed = end_round(r, which, *st);
	}
	return agreed;
}

/* Rows are relative to the first one, which every rank reads. */
static invar_status show_first(inv_row_ranks *r, const inv_pair_visitor *v, uint32_t image)
{
	int32_t copy = r->sums.of_clean < 0 ? 0 : INVAR_CLEAN;
	invar_status st = INVAR_OK;

	if (r->begun || !r->sums.begin)
		return INVAR_OK;
	st = inv_pair_read(v, copy, &image, 1, v->copy);
	if (st == INVAR_OK)
		st = inv_pair_read(v, INVAR_CLEAN, &image, 1, v->clean);
	if (st == INVAR_OK)
		r->sums.begin(r->sums.user, v->copy, v->clean);
	r->begun = st == INVAR_OK;
	return st;
}

/* The order of inv_visit_pairs. Only rows of own chunks are read. */
static invar_status pass_block(inv_row_ranks *r, const inv_pair_visitor *v,
                               const uint32_t *images, uint32_t count, invar_status *st)
{
	int of_clean = r->sums.of_clean, of_copies = r->sums.of_copies;
	uint32_t copies = v->s->copies;
	uint64_t before = of_clean == of_copies ? count : 0;
	bool needs_clean = has_own(r, of_clean, 0, count) ||
	                   has_own(r, of_copies, before, (uint64_t)copies * count);
	invar_status agreed;

	if (needs_clean && *st == INVAR_OK)
		*st = inv_pair_read(v, INVAR_CLEAN, images, count, v->clean);
	agreed = pass_rows(r, of_clean, needs_clean && *st == INVAR_OK ? v->clean : NULL,
	                   v->clean, count, st);
	for (uint32_t k = 0; k < copies && agreed == INVAR_OK; k++) {
		bool wanted = has_own(r, of_copies, 0, count);

		if (wanted && *st == INVAR_OK)
			*st = inv_pair_read(v, (int32_t)k, images, count, v->copy);
		agreed = pass_rows(r, of_copies, wanted && *st == INVAR_OK ? v->copy : NULL,
		                   v->clean, count, st);
	}
	for (int32_t k = INVAR_CLEAN; needs_clean && k < (int32_t)copies; k++)
		inv_bank_wont_need(v->s->bank, v->s->split, k, images[0], images[count - 1]);
	return agreed;
}

/* `st`: what has failed on this rank does not keep the others waiting. */
static invar_status pass_images(inv_row_ranks *r, inv_pair_visitor *v,
                                const uint32_t *images, uint32_t count, invar_status st)
{
	invar_status agreed = INVAR_OK;

	r->dirty = true;
	if (st == INVAR_OK && count)
		st = show_first(r, v, images[0]);
	for (uint32_t at = 0; at < count && agreed == INVAR_OK; at += INV_PAIR_BLOCK) {
		uint32_t now = count - at < INV_PAIR_BLOCK ? count - at : INV_PAIR_BLOCK;

		agreed = pass_block(r, v, images + at, now, &st);
		v->done += now;
		if (agreed == INVAR_OK && st == INVAR_OK && r->rank == 0)
			st = inv_progress(r->ctx, "fit", v->done, v->total);
	}
	return agreed == INVAR_OK ? inv_agree(r->ctx, st) : agreed;
}

/* Incomplete rounds; the next rows start new chunks. */
static invar_status settle_rounds(inv_row_ranks *r)
{
	invar_status st = INVAR_OK;

	for (int i = 0; i < STREAMS && st == INVAR_OK; i++) {
		stream *s = &r->stream[i];

		if (s->passed % ((uint64_t)CHUNK * r->ranks))
			st = end_round(r, i, INVAR_OK);
		s->passed = 0;
	}
	return st;
}

/* ---- Rank 0 -------------------------------------------------------------------------- */

bool inv_row_ranks_worth(const inv_closed_form_spec *s, bool with_clean)
{
	uint64_t held = (s->image_count + 9) / 10;
	uint64_t rows = (s->image_count - held) * ((uint64_t)s->copies + with_clean);

	return inv_process_count(s->bank->ctx) > 1 && rows >= 2 * CHUNK && !s->bank->in_memory;
}

invar_status inv_row_ranks_say_bank(const inv_closed_form_spec *s)
{
	const invar_context *ctx = s->bank->ctx;
	bank_header h = {.d = s->bank->dim,
	                 .copies = s->copies,
	                 .seed = s->seed,
	                 .rows = inv_file_rows(s->split),
	                 .unit = s->bank->unit};
	char *none;
	invar_status st = inv_broadcast(ctx, &h, sizeof h);

	if (st == INVAR_OK)
		st = inv_broadcast_text(ctx, s->bank->path, &none);
	if (st == INVAR_OK)
		st = inv_broadcast_text(ctx, s->split->name, &none);
	return st == INVAR_OK ? inv_bank_agree(ctx, s->split, s->copies, INVAR_OK) : st;
}

invar_status inv_row_ranks_add(inv_row_ranks *r, inv_pair_visitor *v,
                               const uint32_t *images, uint32_t count)
{
	uint32_t said[2] = {ADD, count}, *rows = inv_alloc((count + 1) * sizeof *rows);
	invar_status st = inv_broadcast(r->ctx, said, sizeof said), memory = INVAR_OK;

	/* The others read the files as they are, without a view of classes. */
	for (uint32_t i = 0; i < count && rows; i++)
		rows[i] = (uint32_t)inv_file_row(v->s->split, images[i]);
	if (!rows)
		memory = inv_fail(INVAR_E_NOMEM, "not enough memory for a list of images");
	if (st == INVAR_OK)
		st = inv_agree(r->ctx, memory);
	if (st == INVAR_OK)
		st = inv_broadcast(r->ctx, rows, count * sizeof *rows);
	inv_free(rows);
	return st == INVAR_OK ? pass_images(r, v, images, count, INVAR_OK) : st;
}

invar_status inv_row_ranks_settle(inv_row_ranks *r)
{
	uint32_t said[2] = {SETTLE, 0};
	invar_status st, taken = INVAR_OK;

	if (!r->dirty)
		return INVAR_OK;
	if ((st = inv_broadcast(r->ctx, said, sizeof said)) == INVAR_OK)
		st = settle_rounds(r);
	for (int i = 0; i < STREAMS && st == INVAR_OK; i++) {
		uint64_t added[STREAMS] = {r->stream[0].added, r->stream[1].added};

		if (!r->stream[i].totals)
			continue;
		st = inv_ordered_sum_collect(r->stream[i].totals, r->packed);
		if (st == INVAR_OK && taken == INVAR_OK)
			taken = r->sums.total(r->sums.user, i, added, r->packed);
	}
	st = st == INVAR_OK ? taken : st;
	r->dirty = st != INVAR_OK;
	return st;
}

void inv_row_ranks_close(inv_row_ranks *r)
{
	uint32_t said[2] = {END, 0};

	if (!r)
		return;
	inv_broadcast(r->ctx, said, sizeof said);
	free_ranks(r);
}

/* ---- The other ranks ----------------------------------------------------------------- */

static invar_status open_bank(const invar_context *ctx, const bank_header *h,
                              const char *path, const char *split, invar_bank **bank,
                              inv_closed_form_spec *s)
{
	invar_status st = inv_bank_open((invar_context *)(uintptr_t)ctx, path, bank);

	if (st != INVAR_OK)
		return st;
	(*bank)->unit = h->unit;
	*s = (inv_closed_form_spec){.bank = *bank,
	                            .split = inv_bank_split(*bank, split),
	                            .copies = (uint32_t)h->copies,
	                            .seed = h->seed};
	if (!s->split)
		return INVAR_E_MISMATCH;
	if ((*bank)->dim == h->d && inv_file_rows(s->split) == h->rows &&
	    s->split->copies >= h->copies)
		return INVAR_OK;
	return inv_fail_other_file(path);
}

invar_status inv_row_ranks_bank(const invar_context *ctx, invar_bank **bank,
                                inv_closed_form_spec *s)
{
	char *path = NULL, *split = NULL;
	bank_header h;
	invar_status st = inv_broadcast(ctx, &h, sizeof h);

	*bank = NULL;
	*s = (inv_closed_form_spec){0};
	if (st == INVAR_OK)
		st = inv_broadcast_text(ctx, NULL, &path);
	if (st == INVAR_OK)
		st = inv_broadcast_text(ctx, NULL, &split);
	if (st == INVAR_OK) {
		st = open_bank(ctx, &h, path, split, bank, s);
		st = inv_bank_agree(ctx, s->split, h.copies, st);
	}
	inv_free(path);
	inv_free(split);
	return st;
}

static invar_status check_images(const inv_closed_form_spec *s, const uint32_t *rows,
                                 uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (rows[i] >= s->split->rows)
			return inv_fail(INVAR_E_MISMATCH, "%s: has fewer rows than on rank 0",
			                s->bank->path);
	return INVAR_OK;
}

static void serve_add(inv_row_ranks *r, const inv_closed_form_spec *s, uint32_t count)
{
	uint32_t *rows = inv_alloc((count + 1) * sizeof *rows);
	inv_pair_visitor v = {0};
	invar_status st =
		rows ? inv_pair_visitor_open(s, true, &v)
			 : inv_fail(INVAR_E_NOMEM, "not enough memory for a list of images");

	if ((st = inv_agree(r->ctx, st)) == INVAR_OK)
		st = inv_broadcast(r->ctx, rows, count * sizeof *rows);
	if (st == INVAR_OK)
		pass_images(r, &v, rows, count, check_images(s, rows, count));
	inv_pair_visitor_close(&v);
	inv_free(rows);
}

static void serve_settle(inv_row_ranks *r)
{
	invar_status st = settle_rounds(r);

	for (int i = 0; i < STREAMS && st == INVAR_OK; i++)
		if (r->stream[i].totals)
			st = inv_ordered_sum_collect(r->stream[i].totals, NULL);
}

/* What fails here is agreed on, and then rank 0 says END. */
invar_status inv_row_ranks_serve(inv_row_ranks *r, const inv_closed_form_spec *s)
{
	uint32_t said[2] = {0, 0};
	invar_status st = INVAR_OK;

	while (st == INVAR_OK && said[0] != END) {
		st = inv_broadcast(r->ctx, said, sizeof said);
		if (st == INVAR_OK && said[0] == ADD)
			serve_add(r, s, said[1]);
		else if (st == INVAR_OK && said[0] == SETTLE)
			serve_settle(r);
	}
	free_ranks(r);
	return st;
}
