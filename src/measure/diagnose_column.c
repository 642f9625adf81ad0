/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnose_column.c - one map on copies of held-out images.
 *
 * Three things are measured for each mapped copy: its distance to its clean row, the ranks
 * of its own image and of the nearest row of its class among the clean features of all
 * images (the old index), and the answer of a linear classifier that was trained on clean
 * features only. One copy of all images is in memory at a time.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "math/ranks.h"
#include "measure/diagnose.h"
#include "measure/invariance.h"
#include "measure/structure.h"

typedef struct column_job {
	const inv_diagnosis_rows *r;
	const inv_diagnosis_map *m;
	inv_diagnosis_column *out;
	struct inv_kernels kernels;
	inv_ranks *ranks[INV_DISTANCES];
	inv_arena arena;
	float *rows, *mapped; /* [held, d] */
	inv_rank *rank;       /* [held] */
	uint32_t *own;        /* [held]: places in the gallery */
	uint32_t *answers;    /* [held] */
	double *sum;          /* [d] */
	inv_spread spread;
	double cross, square; /* of the mapped copies about the mean, with the clean rows */
} column_job;

static const float *clean_of(const inv_diagnosis_rows *r, uint32_t held)
{
	return r->clean + (size_t)(r->fitted + held) * r->d;
}

static invar_status map_rows(const column_job *j, const float *rows, float *out)
{
	const inv_diagnosis_map *m = j->m;
	const invar_context *ctx = j->r->bank->ctx;
	uint64_t held = j->r->held;

	if (m->is_F) {
		memcpy(out, rows, held * j->r->d * sizeof *out);
		return INVAR_OK;
	}
	return m->params ? inv_mlp_apply(ctx, m->shape, m->params, true, rows, held, out)
	                 : inv_map_rows(ctx, &m->form.map, rows, held, out);
}

/* ---- What a copy is asked -------------------------------------------------------- */

static void add_displacement(column_job *j)
{
	const inv_diagnosis_rows *r = j->r;

	for (uint32_t i = 0; i < r->held; i++) {
		const float *clean = clean_of(r, i), *now = j->mapped + i * r->d;
		double cross = 0, square = 0, norm = 0; /* of one row each */

		j->out->before[i] += j->kernels.squared_distance(j->rows + i * r->d, clean, r->d);
		j->out->after[i] += j->kernels.squared_distance(now, clean, r->d);
		for (size_t l = 0; l < r->d; l++) {
			cross += (now[l] - r->mean[l]) * (clean[l] - r->mean[l]);
			square += (now[l] - r->mean[l]) * (now[l] - r->mean[l]);
			norm += (double)now[l] * now[l];
		}
		j->cross += cross;
		j->square += square;
		j->out->norm += sqrt(norm) / ((double)r->held * r->split->copies);
	}
	inv_spread_add(&j->spread, j->mapped, r->held);
}

static void add_ranks(column_job *j)
{
	const inv_diagnosis_rows *r = j->r;
	double copies = r->split->copies;
	inv_diagnosis_column *c = j->out;

	for (int distance = 0; distance < INV_DISTANCES; distance++) {
		bool by_class = distance == INV_L2 && r->classes;
		const inv_rank_queries q = {.rows = j->mapped,
		                            .count = r->held,
		                            .own = j->own,
		                            .classes = by_class ? r->classes + r->fitted : NULL,
		                            .leave_own_out = true};
		double *same = c->share[distance == INV_L2 ? INV_DIAGNOSIS_SAME_L2
		                                           : INV_DIAGNOSIS_SAME_COSINE];

		inv_ranks_find(j->ranks[distance], &q, j->rank);
		for (uint32_t i = 0; i < r->held; i++) {
			same[i] += (j->rank[i].own == 1) / copies;
			if (by_class)
				c->share[INV_DIAGNOSIS_NEAREST][i] += (j->rank[i].first == 1) / copies;
		}
	}
}

/* NaN if clean rows have no structure to fit. */
static invar_status find_structure(column_job *j)
{
	const inv_diagnosis_rows *r = j->r;
	inv_structure s;
	invar_status st = inv_structure_measure(r->bank->ctx, clean_of(r, 0), (uint32_t)r->d,
	                                        j->mapped, (uint32_t)r->d, r->held, &s);

	j->out->structure = st == INVAR_OK ? s.r2 : NAN;
	return st == INVAR_E_NUMERIC || st == INVAR_E_MISMATCH || st == INVAR_E_USE ? INVAR_OK
	                                                                            : st;
}

/* Of rows [held, d]; each right answer adds `weight` to the image. */
static invar_status add_answers(column_job *j, const float *rows, double weight,
                                double *share)
{
	const inv_diagnosis_rows *r = j->r;
	invar_status st = inv_classifier_predict(r->bank->ctx, &r->spec, r->classifier, rows,
	                                         r->held, j->answers);

	for (uint32_t i = 0; i < r->held && st == INVAR_OK; i++)
		share[i] += weight * (j->answers[i] == r->classes[r->fitted + i]);
	return st;
}

static invar_status ask_copy(column_job *j, uint32_t copy)
{
	const inv_diagnosis_rows *r = j->r;
	invar_status st = inv_progress(r->bank->ctx, j->m->title, copy, r->split->copies);

	for (uint32_t i = 0; i < r->held && st == INVAR_OK; i++)
		st = inv_bank_row(r->bank, r->split, (int32_t)copy, r->images[r->fitted + i],
		                  j->rows + i * r->d);
	if (st == INVAR_OK)
		st = map_rows(j, j->rows, j->mapped);
	if (st != INVAR_OK)
		return st;
	add_displacement(j);
	add_ranks(j);
	return r->classifier ? add_answers(j, j->mapped, 1.0 / r->split->copies,
	                                   j->out->share[INV_DIAGNOSIS_KEPT])
	                     : INVAR_OK;
}

static invar_status ask_clean(column_job *j)
{
	invar_status st = map_rows(j, clean_of(j->r, 0), j->mapped);

	if (st == INVAR_OK)
		st = find_structure(j);
	return st == INVAR_OK && j->r->classifier
	           ? add_answers(j, j->mapped, 1, j->out->share[INV_DIAGNOSIS_KEPT_CLEAN])
	           : st;
}

/* ---- Sums as figures ------------------------------------------------------------- */

/* An image without label has no share of right answers. */
static void mark_unlabelled(const inv_diagnosis_rows *r, inv_diagnosis_column *c)
{
	for (uint32_t i = 0; i < r->held; i++)
		if (!r->classes || r->classes[r->fitted + i] == INV_RANKS_NO_CLASS)
			for (int f = INV_DIAGNOSIS_NEAREST; f < INV_DIAGNOSIS_FIGURES; f++)
				c->share[f][i] = NAN;
}

static void conclude_column(column_job *j)
{
	const inv_diagnosis_rows *r = j->r;
	double variance = 0, copies = r->split->copies;
	inv_diagnosis_column *c = j->out;

	for (uint32_t i = 0; i < r->held; i++)
		variance += r->variance[i];
	c->spread = inv_spread_value(&j->spread) / sqrt(variance / r->held);
	/* Least squares of s in clean - mean = s (copy - mean); never past the mean. */
	c->shrunk = j->cross > 0 ? j->cross * j->cross / (j->square * variance * copies) : 0;
	mark_unlabelled(r, c);
}

/* ---- The whole ------------------------------------------------------------------- */

static invar_status allocate_column(column_job *j)
{
	const inv_diagnosis_rows *r = j->r;
	inv_diagnosis_column *c = j->out;
	inv_arena *a = &j->arena;

	for (int round = 0; round < 2; round++) {
		invar_status st;

		j->rows = inv_arena_take(a, (uint64_t)r->held * r->d, sizeof *j->rows);
		j->mapped = inv_arena_take(a, (uint64_t)r->held * r->d, sizeof *j->mapped);
		j->rank = inv_arena_take(a, r->held, sizeof *j->rank);
		j->own = inv_arena_take(a, r->held, sizeof *j->own);
		j->answers = inv_arena_take(a, r->held, sizeof *j->answers);
		j->sum = inv_arena_take(a, r->d, sizeof *j->sum);
		if (!round && (st = inv_arena_commit(a)) != INVAR_OK)
			return st;
	}
	memset(j->sum, 0, r->d * sizeof *j->sum);
	for (uint32_t i = 0; i < r->held; i++)
		j->own[i] = r->fitted + i;
	c->before = inv_calloc((size_t)r->held * (2 + INV_DIAGNOSIS_FIGURES), sizeof(double));
	if (!c->before)
		return inv_fail(INVAR_E_NOMEM,
		                "not enough memory for the figures of %" PRIu32 " images", r->held);
	c->after = c->before + r->held;
	for (int f = 0; f < INV_DIAGNOSIS_FIGURES; f++)
		c->share[f] = c->after + (size_t)(1 + f) * r->held;
	return INVAR_OK;
}

static invar_status open_ranks(column_job *j)
{
	const inv_diagnosis_rows *r = j->r;
	const inv_gallery gallery = {r->clean, r->n, r->d, r->classes};
	invar_status st = INVAR_OK;

	for (int distance = 0; distance < INV_DISTANCES && st == INVAR_OK; distance++)
		st = inv_ranks_new(r->bank->ctx, &gallery, (inv_distance)distance,
		                   &j->ranks[distance]);
	return st;
}

invar_status inv_diagnosis_measure(const inv_diagnosis_rows *r, const inv_diagnosis_map *m,
                                   inv_diagnosis_column *out)
{
	column_job j = {.r = r, .m = m, .out = out, .kernels = r->bank->kernels};
	invar_status st;

	*out = (inv_diagnosis_column){0};
	st = allocate_column(&j);
	if (st == INVAR_OK)
		st = open_ranks(&j);
	j.spread = (inv_spread){.w = r->d, .origin = r->mean, .sum = j.sum};
	for (uint32_t copy = 0; copy < r->split->copies && st == INVAR_OK; copy++)
		st = ask_copy(&j, copy);
	if (st == INVAR_OK)
		st = ask_clean(&j);
	if (st == INVAR_OK)
		conclude_column(&j);
	for (int distance = 0; distance < INV_DISTANCES; distance++)
		inv_ranks_free(j.ranks[distance]);
	inv_arena_free(&j.arena);
	return st;
}

void inv_diagnosis_clear(inv_diagnosis_column *c)
{
	inv_free(c->before);
	*c = (inv_diagnosis_column){0};
}
