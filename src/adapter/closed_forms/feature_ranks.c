/* SPDX-License-Identifier: Apache-2.0 */
/* feature_ranks.c - see feature_ranks.h. */
#include "adapter/closed_forms/feature_ranks.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { CHUNK = INV_FEATURE_CHUNK, CLEAN = 0, COPIES = 1, STREAMS = 2 };
enum { ADD = 1, SETTLE = 2, END = 3 };

/* Rows of one kind; positions count from the last solution. */
typedef struct stream {
	uint64_t passed, added; /* since the last solution; in the totals */
	size_t waiting;
	float *u, *y; /* [CHUNK, d] of this rank's chunk; y: NULL for clean rows */
	inv_ordered_sum *totals;
} stream;

struct inv_feature_ranks {
	const invar_context *ctx;
	unsigned rank, ranks;
	inv_feature_ridge *ridge;
	size_t d, p;
	stream stream[STREAMS];
	double *gram;   /* [p, p] of a chunk */
	double *packed; /* the sums of a chunk or the totals, as they are exchanged */
	bool dirty;     /* rows came since the last solution */
	/* Of ranks other than 0, whose ridge and bank are their own: */
	bool owns;
	invar_bank *bank;
	inv_closed_form_spec spec;
};

typedef struct task_header {
	uint64_t d, units, copies, seed, bank_rows;
	double sigma;
} task_header;

/* ---- Both sides ---------------------------------------------------------------------- */

static uint64_t packed_size(const inv_feature_ranks *r, int which)
{
	uint64_t p = r->p, d = r->d;

	return p * (p + 1) / 2 + p + (which == COPIES ? p * d + d : 0);
}

static invar_status allocate(inv_feature_ranks *r)
{
	bool fine = (r->gram = inv_alloc(r->p * r->p * sizeof *r->gram)) &&
	            (r->packed = inv_alloc(packed_size(r, COPIES) * sizeof *r->packed));
	invar_status st = INVAR_OK;

	for (int i = 0; i < STREAMS && fine; i++) {
		stream *s = &r->stream[i];

		s->u = inv_calloc(CHUNK * r->d, sizeof *s->u);
		s->y = i == COPIES ? inv_calloc(CHUNK * r->d, sizeof *s->y) : NULL;
		fine = s->u && (s->y || i == CLEAN);
	}
	if (!fine)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for sums of %zu features", r->p);
	for (int i = 0; i < STREAMS && st == INVAR_OK; i++)
		st = inv_ordered_sum_new(r->ctx, packed_size(r, i), &r->stream[i].totals);
	return st;
}

static void free_ranks(inv_feature_ranks *r)
{
	for (int i = 0; i < STREAMS; i++) {
		inv_free(r->stream[i].u);
		inv_free(r->stream[i].y);
		inv_ordered_sum_free(r->stream[i].totals);
	}
	inv_free(r->gram);
	inv_free(r->packed);
	if (r->owns)
		inv_feature_ridge_free(r->ridge);
	invar_bank_close(r->bank);
	inv_free(r);
}

/* Where the parts of a packed vector are; gram is apart. */
static inv_feature_sums parts_of(const inv_feature_ranks *r, int which, double *gram)
{
	double *at = r->packed + r->p * (r->p + 1) / 2;

	return (inv_feature_sums){
		.gram = gram,
		.sum = at,
		.cross = which == COPIES ? at + r->p : NULL,
		.sum_y = which == COPIES ? at + r->p + r->p * r->d : NULL,
	};
}

/* Copies the lower triangle into the packed vector, or out of it. */
static void move_triangle(const inv_feature_ranks *r, double *gram, bool pack)
{
	double *at = r->packed;

	for (size_t i = 0; i < r->p; at += ++i)
		memcpy(pack ? at : gram + i * r->p, pack ? gram + i * r->p : at,
		       (i + 1) * sizeof *at);
}

static invar_status sum_chunk(inv_feature_ranks *r, int which)
{
	stream *s = &r->stream[which];
	inv_feature_sums to = parts_of(r, which, r->gram);
	invar_status st;

	memset(r->gram, 0, r->p * r->p * sizeof *r->gram);
	memset(r->packed, 0, packed_size(r, which) * sizeof *r->packed);
	st = inv_feature_ridge_sum(r->ridge, s->u, s->y, s->waiting, &to);
	move_triangle(r, r->gram, true);
	s->waiting = 0;
	return st;
}

/*
 * Up to one chunk of each rank, all of which are at this place of the list. A failure so
 * far, of any rank, ends it here.
 */
static invar_status end_round(inv_feature_ranks *r, int which, invar_status st)
{
	stream *s = &r->stream[which];
	uint64_t round = (uint64_t)CHUNK * r->ranks, rows = s->passed % round;
	unsigned givers;

	rows = rows ? rows : round;
	givers = (unsigned)((rows + CHUNK - 1) / CHUNK);
	if (st == INVAR_OK && r->rank < givers)
		st = sum_chunk(r, which);
	if ((st = inv_agree(r->ctx, st)) != INVAR_OK)
		return st;
	s->added += rows;
	return inv_ordered_sum_add(s->totals, r->packed, givers);
}

static bool is_own(const inv_feature_ranks *r, uint64_t position)
{
	return position / CHUNK % r->ranks == r->rank;
}

static bool has_own(const inv_feature_ranks *r, const stream *s, uint64_t rows)
{
	for (uint64_t at = s->passed; at < s->passed + rows; at = (at / CHUNK + 1) * CHUNK)
		if (is_own(r, at))
			return true;
	return false;
}

/* `rows` rows pass; z is NULL if none of them is ours, or after a failure. */
static invar_status pass_rows(inv_feature_ranks *r, int which, const float *z,
                              const float *clean, uint32_t rows, invar_status *st)
{
	stream *s = &r->stream[which];
	uint64_t round = (uint64_t)CHUNK * r->ranks;
	invar_status agreed = INVAR_OK;

	for (uint32_t i = 0; i < rows && agreed == INVAR_OK; i++) {
		if (z && is_own(r, s->passed)) {
			size_t at = s->waiting++ * r->d;

			inv_feature_ridge_scale(r->ridge, z + i * r->d, clean ? clean + i * r->d : NULL,
			                        s->u + at, s->y ? s->y + at : NULL);
		}
		if (++s->passed % round == 0)
			agreed = end_round(r, which, *st);
	}
	return agreed;
}

/* The order of inv_visit_pairs. Only rows of own chunks are read. */
static invar_status pass_block(inv_feature_ranks *r, const inv_pair_visitor *v,
                               const uint32_t *images, uint32_t count, invar_status *st)
{
	uint32_t copies = v->s->copies;
	bool needs_clean = has_own(r, &r->stream[CLEAN], count) ||
	                   has_own(r, &r->stream[COPIES], (uint64_t)copies * count);
	invar_status agreed;

	if (needs_clean && *st == INVAR_OK)
		*st = inv_pair_read(v, INVAR_CLEAN, images, count, v->clean);
	agreed = pass_rows(r, CLEAN, needs_clean && *st == INVAR_OK ? v->clean : NULL, NULL,
	                   count, st);
	for (uint32_t k = 0; k < copies && agreed == INVAR_OK; k++) {
		bool wanted = has_own(r, &r->stream[COPIES], count);

		if (wanted && *st == INVAR_OK)
			*st = inv_pair_read(v, (int32_t)k, images, count, v->copy);
		agreed = pass_rows(r, COPIES, wanted && *st == INVAR_OK ? v->copy : NULL, v->clean,
		                   count, st);
	}
	for (int32_t k = INVAR_CLEAN; needs_clean && k < (int32_t)copies; k++)
		inv_bank_wont_need(v->s->bank, v->s->split, k, images[0], images[count - 1]);
	return agreed;
}

/* `st`: what has failed on this rank does not keep the others waiting. */
static invar_status pass_images(inv_feature_ranks *r, inv_pair_visitor *v,
                                const uint32_t *images, uint32_t count, invar_status st)
{
	invar_status agreed = INVAR_OK;

	r->dirty = true;
	for (uint32_t at = 0; at < count && agreed == INVAR_OK; at += INV_PAIR_BLOCK) {
		uint32_t now = count - at < INV_PAIR_BLOCK ? count - at : INV_PAIR_BLOCK;

		agreed = pass_block(r, v, images + at, now, &st);
		v->done += now;
		if (agreed == INVAR_OK && st == INVAR_OK && !r->owns)
			st = inv_progress(r->ctx, "fit", v->done, v->total);
	}
	return agreed == INVAR_OK ? inv_agree(r->ctx, st) : agreed;
}

/* Incomplete rounds; the next rows start new chunks. */
static invar_status settle_rounds(inv_feature_ranks *r)
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

static invar_status broadcast_task(const inv_feature_task *t)
{
	const inv_closed_form_spec *s = t->s;
	const invar_context *ctx = s->bank->ctx;
	task_header h = {.d = s->bank->dim,
	                 .units = t->units,
	                 .copies = s->copies,
	                 .seed = s->seed,
	                 .bank_rows = inv_file_rows(s->split),
	                 .sigma = t->scale->sigma};
	char *none;
	invar_status st = inv_broadcast(ctx, &h, sizeof h);

	if (st == INVAR_OK)
		st = inv_agree(ctx, INVAR_OK);
	if (st == INVAR_OK)
		st = inv_broadcast(ctx, t->scale->mean, h.d * sizeof *t->scale->mean);
	if (st == INVAR_OK)
		st = inv_broadcast_text(ctx, s->bank->path, &none);
	return st == INVAR_OK ? inv_broadcast_text(ctx, s->split->name, &none) : st;
}

/* With a tenth of the images held out, the rest must still be too many to be kept. */
static bool is_worth_it(const inv_feature_task *t)
{
	uint64_t held = (t->s->image_count + 9) / 10;
	uint64_t rows = (t->s->image_count - held) * ((uint64_t)t->s->copies + 1);

	return inv_process_count(t->s->bank->ctx) > 1 && rows >= 2 * CHUNK &&
	       inv_feature_ridge_sums_rows(t->s->bank->dim, t->units, rows);
}

invar_status inv_feature_ranks_open(const inv_feature_task *t, inv_feature_ranks **out)
{
	const invar_context *ctx = t->s->bank->ctx;
	inv_feature_ranks *r;
	invar_status st;

	*out = NULL;
	if (!is_worth_it(t))
		return INVAR_OK;
	if (!(r = inv_calloc(1, sizeof *r)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for sums of features");
	r->ctx = ctx;
	r->rank = inv_process_rank(ctx);
	r->ranks = inv_process_count(ctx);
	r->ridge = t->ridge;
	r->d = t->s->bank->dim;
	r->p = r->d + t->units;
	st = inv_call(ctx, inv_feature_service.name);
	if (st == INVAR_OK && (st = broadcast_task(t)) == INVAR_OK)
		st = inv_agree(ctx, allocate(r));
	if (st == INVAR_OK)
		*out = r;
	else
		free_ranks(r);
	return st;
}

invar_status inv_feature_ranks_add(inv_feature_ranks *r, inv_pair_visitor *v,
                                   const uint32_t *images, uint32_t count)
{
	uint32_t said[2] = {ADD, count}, *rows = inv_alloc((count + 1) * sizeof *rows);
	invar_status st = inv_broadcast(r->ctx, said, sizeof said);

	/* The others read the files as they are, without a view of classes. */
	for (uint32_t i = 0; i < count && rows; i++)
		rows[i] = (uint32_t)inv_file_row(v->s->split, images[i]);
	if (st == INVAR_OK)
		st =
			inv_agree(r->ctx, rows ? INVAR_OK
		                           : inv_fail(INVAR_E_NOMEM, "not enough memory for a list "
		                                                     "of images"));
	if (st == INVAR_OK)
		st = inv_broadcast(r->ctx, rows, count * sizeof *rows);
	inv_free(rows);
	return st == INVAR_OK ? pass_images(r, v, images, count, INVAR_OK) : st;
}

/* The totals of one stream, from the packed vector to the ridge. */
static void unpack(inv_feature_ranks *r, int which, const inv_feature_sums *to)
{
	inv_feature_sums from = parts_of(r, which, NULL);

	move_triangle(r, to->gram, false);
	memcpy(to->sum, from.sum, r->p * sizeof *to->sum);
	if (which == CLEAN)
		return;
	memcpy(to->cross, from.cross, r->p * r->d * sizeof *to->cross);
	memcpy(to->sum_y, from.sum_y, r->d * sizeof *to->sum_y);
}

invar_status inv_feature_ranks_settle(inv_feature_ranks *r)
{
	uint32_t said[2] = {SETTLE, 0};
	inv_feature_sums to[STREAMS];
	invar_status st;

	if (!r->dirty)
		return INVAR_OK;
	if ((st = inv_broadcast(r->ctx, said, sizeof said)) == INVAR_OK)
		st = settle_rounds(r);
	if (st == INVAR_OK)
		st = inv_feature_ridge_open_sums(r->ridge, r->stream[CLEAN].added,
		                                 r->stream[COPIES].added, to);
	if ((st = inv_agree(r->ctx, st)) != INVAR_OK)
		return st;
	for (int i = 0; i < STREAMS && st == INVAR_OK; i++) {
		st = inv_ordered_sum_collect(r->stream[i].totals, r->packed);
		if (st == INVAR_OK)
			unpack(r, i, &to[i]);
	}
	r->dirty = st != INVAR_OK;
	return st;
}

void inv_feature_ranks_close(inv_feature_ranks *r)
{
	uint32_t said[2] = {END, 0};

	if (!r)
		return;
	inv_broadcast(r->ctx, said, sizeof said);
	free_ranks(r);
}

/* ---- The other ranks ----------------------------------------------------------------- */

static invar_status open_bank(inv_feature_ranks *r, const task_header *h, const char *path,
                              const char *split)
{
	invar_status st = invar_bank_open((invar_context *)(uintptr_t)r->ctx, path, &r->bank);

	if (st != INVAR_OK)
		return st;
	r->spec = (inv_closed_form_spec){.bank = r->bank,
	                                 .split = inv_bank_split(r->bank, split),
	                                 .copies = (uint32_t)h->copies,
	                                 .seed = h->seed};
	if (!r->spec.split)
		return INVAR_E_MISMATCH;
	if (r->bank->dim == h->d && inv_file_rows(r->spec.split) == h->bank_rows &&
	    r->spec.split->copies >= h->copies)
		return INVAR_OK;
	return inv_fail(INVAR_E_MISMATCH, "%s: differs from the bank that rank 0 reads", path);
}

static invar_status open_task(inv_feature_ranks *r)
{
	task_header h;
	double *mean = NULL;
	char *path = NULL, *split = NULL;
	invar_status st = inv_broadcast(r->ctx, &h, sizeof h);

	if (st == INVAR_OK && !(mean = inv_alloc(h.d * sizeof *mean)))
		st = inv_fail(INVAR_E_NOMEM, "not enough memory for a mean");
	if ((st = inv_agree(r->ctx, st)) == INVAR_OK)
		st = inv_broadcast(r->ctx, mean, h.d * sizeof *mean);
	if (st == INVAR_OK)
		st = inv_broadcast_text(r->ctx, NULL, &path);
	if (st == INVAR_OK)
		st = inv_broadcast_text(r->ctx, NULL, &split);
	if (st == INVAR_OK) {
		const inv_clean_statistics scale = {.mean = mean, .sigma = h.sigma};

		r->owns = true;
		r->rank = inv_process_rank(r->ctx);
		r->ranks = inv_process_count(r->ctx);
		r->d = h.d;
		r->p = h.d + h.units;
		st = open_bank(r, &h, path, split);
		if (st == INVAR_OK)
			st = inv_feature_ridge_new(r->ctx, r->d, h.units, &scale, h.seed, &r->ridge);
		if (st == INVAR_OK)
			st = allocate(r);
		st = inv_agree(r->ctx, st);
	}
	inv_free(mean);
	inv_free(path);
	inv_free(split);
	return st;
}

static invar_status check_images(const inv_feature_ranks *r, const uint32_t *rows,
                                 uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (rows[i] >= r->spec.split->rows)
			return inv_fail(INVAR_E_MISMATCH, "%s: has fewer rows than on rank 0",
			                r->bank->path);
	return INVAR_OK;
}

static invar_status serve_add(inv_feature_ranks *r, uint32_t count)
{
	uint32_t *rows = inv_alloc((count + 1) * sizeof *rows);
	inv_pair_visitor v = {0};
	invar_status st =
		rows ? inv_pair_visitor_open(&r->spec, true, &v)
			 : inv_fail(INVAR_E_NOMEM, "not enough memory for a list of images");

	if ((st = inv_agree(r->ctx, st)) == INVAR_OK)
		st = inv_broadcast(r->ctx, rows, count * sizeof *rows);
	if (st == INVAR_OK)
		st = pass_images(r, &v, rows, count, check_images(r, rows, count));
	inv_pair_visitor_close(&v);
	inv_free(rows);
	return st;
}

static invar_status serve_settle(inv_feature_ranks *r)
{
	invar_status st = settle_rounds(r);

	if (st == INVAR_OK)
		st = inv_agree(r->ctx, INVAR_OK);
	for (int i = 0; i < STREAMS && st == INVAR_OK; i++)
		st = inv_ordered_sum_collect(r->stream[i].totals, NULL);
	return st;
}

static invar_status serve_features(const invar_context *ctx)
{
	inv_feature_ranks *r = inv_calloc(1, sizeof *r);
	uint32_t said[2] = {0, 0};
	invar_status st;

	/* A rank without these few bytes cannot go on; rank 0 hears of its end. */
	if (!r)
		abort();
	r->ctx = ctx;
	st = open_task(r);
	/* What fails later is agreed on, and then rank 0 says END. */
	while (st == INVAR_OK && said[0] != END) {
		st = inv_broadcast(ctx, said, sizeof said);
		if (st == INVAR_OK && said[0] == ADD)
			serve_add(r, said[1]);
		else if (st == INVAR_OK && said[0] == SETTLE)
			serve_settle(r);
	}
	free_ranks(r);
	return st;
}

const inv_service inv_feature_service = {.name = "features", .serve = serve_features};
