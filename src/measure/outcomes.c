/* SPDX-License-Identifier: Apache-2.0 */
/* outcomes.c - see outcomes.h. Rows pass in blocks; galleries stay in memory. */
#include "measure/outcomes.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "math/places.h"
#include "measure/knn.h"
#include "measure/probes.h"

enum { BLOCK = 1024 };

typedef struct outcome_pass {
	const inv_measure_input *in;
	inv_outcomes *out;
	unsigned now;       /* bits of the outcomes that are measured here */
	uint64_t first_row; /* where the measured split begins in the gallery */
	inv_places *ranks;
	inv_voters *voters;
	inv_classifier_spec spec;
	float *params;
	int64_t *label;   /* [n]; -1: none */
	uint32_t *class;  /* [n], by the numbers of train; INV_NO_CLASS: not in train */
	float *clean;     /* [BLOCK, d] */
	float *code;      /* [BLOCK, d] */
	uint32_t *answer; /* [BLOCK] */
	inv_place *rank;  /* [BLOCK] */
} outcome_pass;

const char *inv_outcome_id(inv_outcome o)
{
	static const char *const id[] = {"displacement", "same-image", "knn", "kept"};

	return id[o];
}

const char *inv_outcome_title(const inv_measure_input *in, inv_outcome o,
                              char text[INV_OUTCOME_TITLE])
{
	/* Distances of unit rows rank like cosine. */
	const char *const title[] = {"displacement",
	                             in->rows->unit ? "same image @1, old index, cosine"
	                                            : "same image @1, old index, L2",
	                             NULL, "LC-kept"};

	if (o == INV_KNN)
		inv_voters_title(in, true, text, INV_OUTCOME_TITLE);
	else
		snprintf(text, INV_OUTCOME_TITLE, "%s", title[o]);
	return text;
}

static invar_status prepare_search(outcome_pass *p)
{
	const inv_measure_input *in = p->in;
	inv_gallery g = {.w = in->d};
	float *rows;

	INV_TRY(inv_gallery_count(in, &g.n, &p->first_row));
	INV_TRY(inv_pool_zeros(in->scratch, &rows, g.n * in->d));
	g.rows = rows;
	INV_TRY(inv_measure_gallery(in, true, rows));
	return inv_places_new(in->ctx, &g, INV_L2, 1, &p->ranks);
}

static invar_status prepare_outcome(outcome_pass *p, inv_outcome o)
{
	char why[INV_OUTCOME_WHY];

	if (o == INV_DISPLACEMENT)
		return INVAR_OK;
	if (o == INV_FOUND)
		return prepare_search(p);
	if (inv_measure_lack(p->in, INV_NEEDS_LABELS | INV_NEEDS_TRAIN, why, sizeof why))
		return inv_fail(INVAR_E_MISMATCH, "%s", why);
	return o == INV_KNN ? inv_voters_new(p->in, true, &p->voters)
	                    : inv_linear_on_features(p->in, &p->spec, &p->params);
}

static bool is_now(const outcome_pass *p, inv_outcome o)
{
	return p->now >> o & 1;
}

/* An outcome that the data do not allow is left out, with its reason. */
static invar_status prepare_wanted(outcome_pass *p, unsigned wanted)
{
	inv_outcomes *out = p->out;
	inv_pool *s = p->in->scratch;

	for (int o = 0; o < INV_OUTCOMES; o++) {
		invar_status st;

		if (!(wanted >> o & 1) || out->value[o] || *out->why[o])
			continue;
		if ((st = prepare_outcome(p, (inv_outcome)o)) == INVAR_E_MISMATCH) {
			snprintf(out->why[o], INV_OUTCOME_WHY, "%s", invar_last_error());
			continue;
		}
		INV_TRY(st);
		p->now |= 1u << o;
		INV_TRY(inv_new_zeros(&out->value[o], out->n * out->copies));
	}
	if (is_now(p, INV_KNN) || is_now(p, INV_KEPT)) {
		INV_TRY(inv_pool_zeros(s, &p->label, out->n));
		INV_TRY(inv_pool_zeros(s, &p->class, out->n));
		inv_measure_labels(&out->images, &p->in->labels, p->label);
		for (uint64_t i = 0; i < out->n; i++)
			p->class[i] = inv_labels_class(&p->in->train_labels, p->label[i]);
	}
	INV_TRY(inv_pool_zeros(s, &p->clean, BLOCK * p->in->d));
	INV_TRY(inv_pool_zeros(s, &p->code, BLOCK * p->in->d));
	INV_TRY(inv_pool_zeros(s, &p->answer, BLOCK));
	return inv_pool_zeros(s, &p->rank, BLOCK);
}

static void put_right(const outcome_pass *p, uint64_t first, uint64_t now, float *out)
{
	for (uint64_t i = 0; i < now; i++)
		out[i] =
			p->label[first + i] >= 0 ? (float)(p->answer[i] == p->class[first + i]) : NAN;
}

static invar_status put_block(outcome_pass *p, uint32_t copy, uint64_t first, uint64_t now)
{
	const inv_measure_input *in = p->in;
	uint64_t at = copy * p->out->n + first;
	float *value[INV_OUTCOMES];
	size_t d = in->d;

	for (int o = 0; o < INV_OUTCOMES; o++)
		value[o] = is_now(p, (inv_outcome)o) ? p->out->value[o] + at : NULL;
	for (uint64_t i = 0; i < now && value[INV_DISPLACEMENT]; i++)
		value[INV_DISPLACEMENT][i] =
			(float)sqrt(in->kernels.squared_distance(p->code + i * d, p->clean + i * d, d));
	if (value[INV_FOUND]) {
		const inv_place_queries q = {.rows = p->code, .count = now, .own = p->answer};

		for (uint64_t i = 0; i < now; i++)
			p->answer[i] =
				(uint32_t)(p->first_row + inv_selected_row(&p->out->images, first + i));
		inv_places_find(p->ranks, &q, p->rank);
		for (uint64_t i = 0; i < now; i++)
			value[INV_FOUND][i] = p->rank[i].own == 1;
	}
	if (value[INV_KNN]) {
		inv_voters_ask(p->voters, p->code, now, p->answer);
		put_right(p, first, now, value[INV_KNN]);
	}
	if (value[INV_KEPT]) {
		INV_TRY(
			inv_classifier_predict(in->ctx, &p->spec, p->params, p->code, now, p->answer));
		put_right(p, first, now, value[INV_KEPT]);
	}
	return INVAR_OK;
}

invar_status inv_outcomes_take(const inv_measure_input *in, unsigned wanted,
                               const char *title, const inv_outcomes **out)
{
	inv_outcomes *all = in->outcomes;
	outcome_pass p = {.in = in, .out = all};
	invar_status st;

	*out = all;
	INV_TRY(inv_measure_same_width(in, "the old index compares codes with features"));
	all->images = inv_select_points(in, inv_select_all(in->split));
	all->n = all->images.points;
	all->copies = in->split->copies;
	INV_TRY_OR(end, prepare_wanted(&p, wanted));
	for (uint32_t copy = 0; copy < all->copies && p.now; copy++)
		for (uint64_t first = 0; first < all->n; first += BLOCK) {
			uint64_t now = inv_min(all->n - first, BLOCK);

			INV_TRY_OR(end, inv_progress(in->ctx, title, copy * all->n + first,
			                             all->copies * all->n));
			INV_TRY_OR(end, inv_measure_rows(in, &all->images, INVAR_CLEAN, true, first,
			                                 now, p.clean));
			INV_TRY_OR(end, inv_measure_rows(in, &all->images, (int32_t)copy, false, first,
			                                 now, p.code));
			INV_TRY_OR(end, put_block(&p, copy, first, now));
		}
end:
	for (int o = 0; o < INV_OUTCOMES && st != INVAR_OK; o++)
		if (is_now(&p, (inv_outcome)o)) { /* half a pass is no measurement */
			inv_free(all->value[o]);
			all->value[o] = NULL;
		}
	inv_places_free(p.ranks);
	inv_voters_free(p.voters);
	return st;
}

void inv_outcomes_clear(inv_outcomes *o)
{
	for (int i = 0; i < INV_OUTCOMES; i++)
		inv_free(o->value[i]);
	*o = (inv_outcomes){0};
}
