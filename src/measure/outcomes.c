/* SPDX-License-Identifier: Apache-2.0 */
/* outcomes.c - see outcomes.h. Rows pass in blocks; galleries stay in memory. */
#include "measure/outcomes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "math/ranks.h"
#include "measure/probes.h"
#include "measure/voters.h"

enum { BLOCK = 1024 };

typedef struct job {
	const inv_measure_input *in;
	inv_outcomes *out;
	unsigned now; /* bits of the outcomes that are measured here */
	const char *stage;
	float *gallery; /* [gallery_rows, d] */
	uint64_t gallery_rows, first_row;
	inv_ranks *ranks;
	inv_voters *voters;
	inv_classifier_spec spec;
	float *params;
	int64_t *label;   /* [n]; -1: none */
	uint32_t *class;  /* [n], by the numbers of train; INV_NO_CLASS: not in train */
	float *clean;     /* [BLOCK, d] */
	float *code;      /* [BLOCK, d] */
	uint32_t *answer; /* [BLOCK] */
	inv_rank *rank;   /* [BLOCK] */
} job;

const char *inv_outcome_id(inv_outcome o)
{
	static const char *const id[] = {"displacement", "same-image", "knn", "kept"};

	return id[o];
}

const char *inv_outcome_title(const inv_measure_input *in, inv_outcome o,
                              char text[INV_OUTCOME_TITLE])
{
	static const char *const title[] = {"displacement", "same image @1, old index, L2",
	                                    NULL, "LC-kept"};

	if (o == INV_KNN)
		snprintf(text, INV_OUTCOME_TITLE, "%" PRIu64 "-NN, old index",
		         inv_voters_count(in));
	else
		snprintf(text, INV_OUTCOME_TITLE, "%s", title[o]);
	return text;
}

static invar_status no_memory(void)
{
	return inv_fail(INVAR_E_NOMEM, "not enough memory for what becomes of every copy");
}

/* ---- Preparing ----------------------------------------------------------------------- */

static invar_status read_classes(job *j)
{
	j->label = inv_calloc(j->out->n, sizeof *j->label);
	j->class = inv_calloc(j->out->n, sizeof *j->class);
	if (!j->label || !j->class)
		return no_memory();
	inv_measure_labels(&j->out->images, &j->in->labels, j->label);
	for (uint64_t i = 0; i < j->out->n; i++)
		j->class[i] = inv_labels_class(&j->in->train_labels, j->label[i]);
	return INVAR_OK;
}

static invar_status prepare_search(job *j)
{
	invar_status st = inv_gallery_count(j->in, &j->gallery_rows, &j->first_row);
	inv_gallery g = {.n = j->gallery_rows, .w = j->in->d};

	if (st != INVAR_OK)
		return st;
	if (!(j->gallery = inv_calloc(j->gallery_rows * j->in->d, sizeof *j->gallery)))
		return no_memory();
	g.rows = j->gallery;
	st = inv_measure_gallery(j->in, true, j->gallery);
	return st == INVAR_OK ? inv_ranks_new(j->in->ctx, &g, INV_L2, &j->ranks) : st;
}

static invar_status prepare_outcome(job *j, inv_outcome o)
{
	char why[INV_OUTCOME_WHY];

	if (o == INV_DISPLACEMENT)
		return INVAR_OK;
	if (o == INV_FOUND)
		return prepare_search(j);
	if (inv_measure_lack(j->in, INV_NEEDS_LABELS | INV_NEEDS_TRAIN, why, sizeof why))
		return inv_fail(INVAR_E_MISMATCH, "%s", why);
	return o == INV_KNN ? inv_voters_new(j->in, true, &j->voters)
	                    : inv_linear_on_features(j->in, &j->spec, &j->params);
}

static bool is_now(const job *j, inv_outcome o)
{
	return j->now >> o & 1;
}

/* An outcome that the data do not allow is left out, with its reason. */
static invar_status prepare_wanted(job *j, unsigned wanted)
{
	inv_outcomes *out = j->out;

	for (int o = 0; o < INV_OUTCOMES; o++) {
		invar_status st;

		if (!(wanted >> o & 1) || out->value[o] || *out->why[o])
			continue;
		if ((st = prepare_outcome(j, (inv_outcome)o)) == INVAR_E_MISMATCH) {
			snprintf(out->why[o], INV_OUTCOME_WHY, "%s", invar_last_error());
			continue;
		}
		if (st != INVAR_OK)
			return st;
		j->now |= 1u << o;
		if (!(out->value[o] = inv_calloc(out->n * out->copies, sizeof *out->value[o])))
			return no_memory();
	}
	return is_now(j, INV_KNN) || is_now(j, INV_KEPT) ? read_classes(j) : INVAR_OK;
}

/* ---- Passing over the copies --------------------------------------------------------- */

static void put_displacement(job *j, uint64_t now, float *out)
{
	size_t d = j->in->d;

	for (uint64_t i = 0; i < now; i++)
		out[i] = (float)sqrt(
			j->in->kernels.squared_distance(j->code + i * d, j->clean + i * d, d));
}

static void put_found(job *j, uint64_t first, uint64_t now, float *out)
{
	const inv_rank_queries q = {.rows = j->code, .count = now, .own = j->answer};

	for (uint64_t i = 0; i < now; i++)
		j->answer[i] =
			(uint32_t)(j->first_row + inv_choice_row(&j->out->images, first + i));
	inv_ranks_find(j->ranks, &q, j->rank);
	for (uint64_t i = 0; i < now; i++)
		out[i] = j->rank[i].own == 1;
}

static void put_right(const job *j, uint64_t first, uint64_t now, float *out)
{
	for (uint64_t i = 0; i < now; i++)
		out[i] =
			j->label[first + i] >= 0 ? (float)(j->answer[i] == j->class[first + i]) : NAN;
}

static invar_status put_block(job *j, uint32_t copy, uint64_t first, uint64_t now)
{
	float *const *value = j->out->value;
	uint64_t at = copy * j->out->n + first;
	invar_status st = INVAR_OK;

	if (is_now(j, INV_DISPLACEMENT))
		put_displacement(j, now, value[INV_DISPLACEMENT] + at);
	if (is_now(j, INV_FOUND))
		put_found(j, first, now, value[INV_FOUND] + at);
	if (is_now(j, INV_KNN)) {
		inv_voters_ask(j->voters, j->code, now, j->answer);
		put_right(j, first, now, value[INV_KNN] + at);
	}
	if (is_now(j, INV_KEPT)) {
		st = inv_classifier_predict(j->in->ctx, &j->spec, j->params, j->code, now,
		                            j->answer);
		put_right(j, first, now, value[INV_KEPT] + at);
	}
	return st;
}

static invar_status pass_copy(job *j, uint32_t copy)
{
	const inv_outcomes *o = j->out;
	invar_status st = INVAR_OK;

	for (uint64_t first = 0; first < o->n && st == INVAR_OK; first += BLOCK) {
		uint64_t now = o->n - first < BLOCK ? o->n - first : BLOCK;

		st = inv_progress(j->in->ctx, j->stage, copy * o->n + first, o->copies * o->n);
		if (st == INVAR_OK)
			st = inv_measure_rows(j->in, &o->images, INVAR_CLEAN, true, first, now,
			                      j->clean);
		if (st == INVAR_OK)
			st = inv_measure_rows(j->in, &o->images, (int32_t)copy, false, first, now,
			                      j->code);
		if (st == INVAR_OK)
			st = put_block(j, copy, first, now);
	}
	return st;
}

static invar_status pass_copies(job *j)
{
	invar_status st = INVAR_OK;

	j->clean = inv_calloc(BLOCK * j->in->d, sizeof *j->clean);
	j->code = inv_calloc(BLOCK * j->in->d, sizeof *j->code);
	j->answer = inv_calloc(BLOCK, sizeof *j->answer);
	j->rank = inv_calloc(BLOCK, sizeof *j->rank);
	if (!j->clean || !j->code || !j->answer || !j->rank)
		return no_memory();
	for (uint32_t copy = 0; copy < j->out->copies && st == INVAR_OK; copy++)
		st = pass_copy(j, copy);
	return st;
}

/* Half a pass is no measurement. */
static void drop_unfinished(job *j)
{
	for (int o = 0; o < INV_OUTCOMES; o++)
		if (is_now(j, (inv_outcome)o)) {
			inv_free(j->out->value[o]);
			j->out->value[o] = NULL;
		}
}

static void release(job *j)
{
	inv_ranks_free(j->ranks);
	inv_voters_free(j->voters);
	inv_free(j->gallery);
	inv_free(j->params);
	inv_free(j->label);
	inv_free(j->class);
	inv_free(j->clean);
	inv_free(j->code);
	inv_free(j->answer);
	inv_free(j->rank);
}

invar_status inv_outcomes_take(const inv_measure_input *in, unsigned wanted,
                               const char *stage, const inv_outcomes **out)
{
	inv_outcomes *all = in->outcomes;
	job j = {.in = in, .out = all, .stage = stage};
	invar_status st;

	*out = all;
	if (in->w != in->d)
		return inv_fail(INVAR_E_MISMATCH,
		                "an index of old features is compared with codes, but codes are "
		                "%" PRIu32 " wide and features %" PRIu32,
		                in->w, in->d);
	all->images = inv_choose_points(in, inv_choose_all(in->split));
	all->n = all->images.points;
	all->copies = in->split->copies;
	st = prepare_wanted(&j, wanted);
	if (st == INVAR_OK && j.now)
		st = pass_copies(&j);
	if (st != INVAR_OK)
		drop_unfinished(&j);
	release(&j);
	return st;
}

void inv_outcomes_clear(inv_outcomes *o)
{
	for (int i = 0; i < INV_OUTCOMES; i++)
		inv_free(o->value[i]);
	*o = (inv_outcomes){0};
}
