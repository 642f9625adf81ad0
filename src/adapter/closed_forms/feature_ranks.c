/* SPDX-License-Identifier: Apache-2.0 */
/* feature_ranks.c - see feature_ranks.h. */
#include "adapter/closed_forms/feature_ranks.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { CHUNK = INV_FEATURE_CHUNK, CLEAN = 0, COPIES = 1, STREAMS = INV_ROW_STREAMS };

_Static_assert((int)CHUNK == (int)INV_ROW_CHUNK, "ranks make the sums of whole chunks");

/* This rank's chunk of a stream. */
typedef struct waiting_rows {
	size_t count;
	float *u, *y; /* [CHUNK, d]; y: NULL for clean rows */
} waiting_rows;

struct inv_feature_ranks {
	inv_feature_ridge *ridge;
	size_t d, p;
	waiting_rows waiting[STREAMS];
	double *gram; /* [p, p] of a chunk */
	inv_feature_sums to[STREAMS];
	inv_row_ranks *rows;
};

typedef struct task_header {
	uint64_t d, units, seed;
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
	bool fine = (r->gram = inv_alloc(r->p * r->p * sizeof *r->gram));

	for (int i = 0; i < STREAMS && fine; i++) {
		waiting_rows *w = &r->waiting[i];

		w->u = inv_calloc(CHUNK * r->d, sizeof *w->u);
		w->y = i == COPIES ? inv_calloc(CHUNK * r->d, sizeof *w->y) : NULL;
		fine = w->u && (w->y || i == CLEAN);
	}
	return fine ? INVAR_OK
	            : inv_fail(INVAR_E_NOMEM, "not enough memory for sums of %zu features",
	                       r->p);
}

static void free_ranks(inv_feature_ranks *r)
{
	for (int i = 0; i < STREAMS; i++) {
		inv_free(r->waiting[i].u);
		inv_free(r->waiting[i].y);
	}
	inv_free(r->gram);
	inv_free(r);
}

/* Where the parts of a packed vector are; gram is apart. */
static inv_feature_sums parts_of(const inv_feature_ranks *r, int which, double *packed)
{
	double *at = packed + r->p * (r->p + 1) / 2;

	return (inv_feature_sums){
		.gram = r->gram,
		.sum = at,
		.cross = which == COPIES ? at + r->p : NULL,
		.sum_y = which == COPIES ? at + r->p + r->p * r->d : NULL,
	};
}

static void put_row(void *user, int which, const float *row, const float *clean)
{
	inv_feature_ranks *r = user;
	waiting_rows *w = &r->waiting[which];
	size_t at = w->count++ * r->d;

	inv_feature_ridge_scale(r->ridge, row, which == COPIES ? clean : NULL, w->u + at,
	                        w->y ? w->y + at : NULL);
}

static invar_status sum_chunk(void *user, int which, double *packed)
{
	inv_feature_ranks *r = user;
	waiting_rows *w = &r->waiting[which];
	inv_feature_sums to = parts_of(r, which, packed);
	double *at = packed;
	invar_status st;

	memset(r->gram, 0, r->p * r->p * sizeof *r->gram);
	memset(packed, 0, packed_size(r, which) * sizeof *packed);
	st = inv_feature_ridge_sum(r->ridge, w->u, w->y, w->count, &to);
	for (size_t i = 0; i < r->p; at += ++i)
		memcpy(at, r->gram + i * r->p, (i + 1) * sizeof *at);
	w->count = 0;
	return st;
}

/* The totals of one stream, from the packed vector to the ridge. */
static invar_status take_totals(void *user, int which, const uint64_t added[STREAMS],
                                const double *packed)
{
	inv_feature_ranks *r = user;
	inv_feature_sums from = parts_of(r, which, (double *)(uintptr_t)packed);
	const double *at = packed;
	inv_feature_sums *to = &r->to[which];
	invar_status st = INVAR_OK;

	if (which == CLEAN)
		st = inv_feature_ridge_open_sums(r->ridge, added[CLEAN], added[COPIES], r->to);
	if (st != INVAR_OK)
		return st;
	for (size_t i = 0; i < r->p; at += ++i)
		memcpy(to->gram + i * r->p, at, (i + 1) * sizeof *at);
	memcpy(to->sum, from.sum, r->p * sizeof *to->sum);
	if (which == CLEAN)
		return INVAR_OK;
	memcpy(to->cross, from.cross, r->p * r->d * sizeof *to->cross);
	memcpy(to->sum_y, from.sum_y, r->d * sizeof *to->sum_y);
	return INVAR_OK;
}

static inv_row_sums sums_of(inv_feature_ranks *r)
{
	return (inv_row_sums){.user = r,
	                      .of_clean = CLEAN,
	                      .of_copies = COPIES,
	                      .doubles = {packed_size(r, CLEAN), packed_size(r, COPIES)},
	                      .put = put_row,
	                      .sum = sum_chunk,
	                      .total = take_totals};
}

/* ---- Rank 0 -------------------------------------------------------------------------- */

static invar_status broadcast_task(const inv_feature_task *t)
{
	const invar_context *ctx = t->s->bank->ctx;
	task_header h = {.d = t->s->bank->dim,
	                 .units = t->units,
	                 .seed = t->s->seed,
	                 .sigma = t->scale->sigma};
	invar_status st = inv_broadcast(ctx, &h, sizeof h);

	if (st == INVAR_OK)
		st = inv_agree(ctx, INVAR_OK);
	if (st == INVAR_OK)
		st = inv_broadcast(ctx, t->scale->mean, h.d * sizeof *t->scale->mean);
	return st == INVAR_OK ? inv_row_ranks_say_bank(t->s) : st;
}

/* With a tenth of the images held out, the rest must still be too many to be kept. */
static bool is_worth_it(const inv_feature_task *t)
{
	uint64_t held = (t->s->image_count + 9) / 10;
	uint64_t rows = (t->s->image_count - held) * ((uint64_t)t->s->copies + 1);

	return inv_row_ranks_worth(t->s, true) &&
	       inv_feature_ridge_sums_rows(t->s->bank->dim, t->units, rows);
}

invar_status inv_feature_ranks_open(const inv_feature_task *t, inv_feature_ranks **out)
{
	const invar_context *ctx = t->s->bank->ctx;
	inv_feature_ranks *r;
	inv_row_sums sums;
	invar_status st;

	*out = NULL;
	if (!is_worth_it(t))
		return INVAR_OK;
	if (!(r = inv_calloc(1, sizeof *r)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for sums of features");
	r->ridge = t->ridge;
	r->d = t->s->bank->dim;
	r->p = r->d + t->units;
	sums = sums_of(r);
	st = inv_call(ctx, inv_feature_service.name);
	if (st == INVAR_OK && (st = broadcast_task(t)) == INVAR_OK)
		st = inv_row_ranks_new(ctx, &sums, r->d, allocate(r), &r->rows);
	if (st == INVAR_OK)
		*out = r;
	else
		free_ranks(r);
	return st;
}

invar_status inv_feature_ranks_add(inv_feature_ranks *r, inv_pair_visitor *v,
                                   const uint32_t *images, uint32_t count)
{
	return inv_row_ranks_add(r->rows, v, images, count);
}

invar_status inv_feature_ranks_settle(inv_feature_ranks *r)
{
	return inv_row_ranks_settle(r->rows);
}

void inv_feature_ranks_close(inv_feature_ranks *r)
{
	if (!r)
		return;
	inv_row_ranks_close(r->rows);
	free_ranks(r);
}

/* ---- The other ranks ----------------------------------------------------------------- */

static invar_status receive_mean(const invar_context *ctx, task_header *h, double **mean)
{
	invar_status st = inv_broadcast(ctx, h, sizeof *h);

	*mean = NULL;
	if (st == INVAR_OK && !(*mean = inv_alloc(h->d * sizeof **mean)))
		st = inv_fail(INVAR_E_NOMEM, "not enough memory for a mean");
	if ((st = inv_agree(ctx, st)) == INVAR_OK)
		st = inv_broadcast(ctx, *mean, h->d * sizeof **mean);
	return st;
}

static invar_status serve_features(const invar_context *ctx)
{
	inv_feature_ranks *r = inv_calloc(1, sizeof *r);
	inv_closed_form_spec s;
	invar_bank *bank = NULL;
	inv_row_sums sums;
	task_header h;
	double *mean;
	invar_status st;

	/* A rank without these few bytes cannot go on; rank 0 hears of its end. */
	if (!r)
		abort();
	if ((st = receive_mean(ctx, &h, &mean)) == INVAR_OK) {
		const inv_clean_statistics scale = {.mean = mean, .sigma = h.sigma};

		r->d = h.d;
		r->p = h.d + h.units;
		sums = sums_of(r);
		if ((st = inv_row_ranks_bank(ctx, &bank, &s)) == INVAR_OK) {
			st = inv_feature_ridge_new(ctx, r->d, h.units, &scale, h.seed, &r->ridge);
			if (st == INVAR_OK)
				st = allocate(r);
			st = inv_row_ranks_new(ctx, &sums, r->d, st, &r->rows);
		}
	}
	if (st == INVAR_OK)
		st = inv_row_ranks_serve(r->rows, &s);
	inv_free(mean);
	inv_feature_ridge_free(r->ridge);
	invar_bank_close(bank);
	free_ranks(r);
	return st;
}

const inv_service inv_feature_service = {.name = "features", .serve = serve_features};
