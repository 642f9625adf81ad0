/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choose_confirm.c - the best candidates of the first fold, on all folds.
 *
 * Finalists are the best of each kind of base, then the best few of the list, of at most
 * three bases of a kind, so that a fold costs a pass over the bank and three solutions per
 * kind. Of the kinds, the one with the most parameters has been tried most often, and so
 * often has the best figure of the first fold by chance. Every fold fits the finalists to
 * its own images; the figure over the held-out images of all folds decides, F is measured
 * on the same ones.
 *
 * The dial asks for the mean of R2 over folds, less its standard error. Of one fold of 300
 * images R2 is off by 0.01 to 0.02, as much as dials are apart; and as a dial promises at
 * least so much, it should rather be missed upwards. The strength is looked for on clean
 * codes of all folds, so that figures can only be measured after a whole pass. The codes of
 * copies are kept until then as well; if they would take too much memory, a second pass
 * fits everything again.
 */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "recipe/choose.h"

enum { FINALISTS = 10, DIAL_FINALISTS = 5, BASES = 3 /* of a kind */ };
enum { KEPT_BYTES = 512 << 20 }; /* of all codes that are kept */

typedef struct finalist {
	size_t at; /* in the list */
	bool failed;
	inv_choice_shares shares; /* [folds * held] */
	float *codes;             /* of clean rows, for the dial: [folds, coded] */
	float *queries;           /* of copies: [folds, queried]; NULL: not kept */
} finalist;

typedef struct confirmation {
	inv_choice_maker *m;
	finalist list[FINALISTS];
	size_t count;
	size_t held, cells;    /* of one fold: images, and floats of their clean rows */
	size_t coded, queried; /* floats of codes of one fold: of clean rows, of copies */
	float *clean;          /* [folds, cells], for the dial */
} confirmation;

static inv_candidate *candidate_of(const confirmation *c, const finalist *f)
{
	return &c->m->list[f->at];
}

/* ---- Which ones --------------------------------------------------------------------- */

/* Bases of this kind, with this one. */
static size_t count_bases(const confirmation *c, const inv_base *b)
{
	size_t others = 0;

	for (size_t i = 0; i < c->count; i++) {
		const inv_base *x = &candidate_of(c, &c->list[i])->base;
		bool first = x->kind == b->kind && !inv_base_same(x, b);

		for (size_t k = 0; k < i && first; k++)
			first = !inv_base_same(x, &candidate_of(c, &c->list[k])->base);
		others += first;
	}
	return others + 1;
}

/* The dial finds another strength for each, so that two may come to be the same. */
static bool is_taken(const confirmation *c, size_t at)
{
	const inv_candidate *a = &c->m->list[at];

	for (size_t i = 0; i < c->count; i++) {
		const inv_candidate *b = candidate_of(c, &c->list[i]);

		if (c->list[i].at == at ||
		    (c->m->goal.keep > 0 && inv_base_same(&a->base, &b->base) &&
		     a->spread == b->spread && a->wanted == b->wanted))
			return true;
	}
	return false;
}

/* The best that may still be taken, of this kind or of any (INV_BASES); 0 (F): none. */
static size_t best_left(const confirmation *c, inv_base_kind kind)
{
	const inv_choice_maker *m = c->m;
	size_t best = 0;

	for (size_t i = 1; i < m->count; i++) {
		const inv_candidate *x = &m->list[i];

		if (x->allowed && (kind == INV_BASES || x->base.kind == kind) && !is_taken(c, i) &&
		    count_bases(c, &x->base) <= BASES &&
		    (!best || inv_choice_better(&m->goal, &x->figures, &m->list[best].figures)))
			best = i;
	}
	return best;
}

static void pick_finalists(confirmation *c)
{
	size_t most = c->m->goal.keep > 0 ? DIAL_FINALISTS : FINALISTS, best;

	for (int kind = INV_BASE_NONE + 1; kind < INV_BASES; kind++)
		if ((best = best_left(c, (inv_base_kind)kind)))
			c->list[c->count++].at = best;
	while (c->count < most && (best = best_left(c, INV_BASES)))
		c->list[c->count++].at = best;
}

/* ---- A pass over all folds ---------------------------------------------------------- */

/* The finalist's codes with its spread are in spread_q and spread_c. */
typedef invar_status visit_fn(confirmation *c, finalist *f, uint32_t fold);

/* Finalists of one base, so that it is fitted once. */
static invar_status visit_base(confirmation *c, size_t first, visit_fn *visit)
{
	inv_choice_maker *m = c->m;
	const inv_base b = candidate_of(c, &c->list[first])->base;
	inv_mlp_form e;
	invar_status st = inv_progress(m->rows.ctx, "choose", m->count, 0);
	bool solved;

	if (st != INVAR_OK)
		return st;
	st = inv_base_fit(m, &b, &e);
	solved = st != INVAR_E_NUMERIC;
	if (st == INVAR_OK)
		st = inv_choice_code(m, &e);
	for (size_t i = first; i < c->count && (st == INVAR_OK || !solved); i++) {
		finalist *f = &c->list[i];

		if (!inv_base_same(&b, &candidate_of(c, f)->base))
			continue;
		f->failed = f->failed || !solved;
		if (!f->failed)
			st = inv_choice_spread(m, &e, candidate_of(c, f)->spread);
		if (!f->failed && st == INVAR_OK)
			st = visit(c, f, m->rows.fold);
	}
	inv_free(e.params);
	return solved ? st : INVAR_OK;
}

static bool is_first_of_base(const confirmation *c, size_t at)
{
	const inv_base *b = &candidate_of(c, &c->list[at])->base;

	for (size_t i = 0; i < at; i++)
		if (inv_base_same(b, &candidate_of(c, &c->list[i])->base))
			return false;
	return true;
}

static invar_status visit_folds(confirmation *c, visit_fn *visit)
{
	invar_status st = INVAR_OK;

	for (uint32_t k = 0; k < c->m->rows.folds && st == INVAR_OK; k++) {
		st = inv_choice_use_fold(c->m, k);
		for (size_t i = 0; i < c->count && st == INVAR_OK; i++)
			if (is_first_of_base(c, i))
				st = visit_base(c, i, visit);
	}
	return st;
}

/* ---- The dial ----------------------------------------------------------------------- */

static invar_status keep_codes(confirmation *c, finalist *f, uint32_t fold)
{
	const inv_choice_maker *m = c->m;

	memcpy(c->clean + fold * c->cells, m->rows.clean, c->cells * sizeof *c->clean);
	memcpy(f->codes + fold * c->coded, m->spread_c, c->coded * sizeof *f->codes);
	if (f->queries)
		memcpy(f->queries + fold * c->queried, m->spread_q,
		       c->queried * sizeof *f->queries);
	return INVAR_OK;
}

typedef struct landing {
	const confirmation *c;
	const finalist *f;
} landing;

/* The mean over folds less its standard error, estimated from the same folds. */
static invar_status sure_structure(void *user, double w, double *r2)
{
	const landing *l = user;
	const confirmation *c = l->c;
	inv_choice_maker *m = c->m;
	uint32_t folds = m->rows.folds;
	double sum = 0, squares = 0, mean;
	invar_status st = INVAR_OK;

	for (uint32_t k = 0; k < folds && st == INVAR_OK; k++) {
		const float *clean = c->clean + k * c->cells;
		double one = 0;

		inv_choice_move_rows(clean, l->f->codes + k * c->coded, c->cells, w, m->moved_c);
		st = inv_choice_structure(&m->rows, clean, m->moved_c, &one);
		sum += one;
		squares += one * one;
	}
	mean = sum / folds;
	*r2 = mean - sqrt(fmax(0, squares / folds - mean * mean) / (folds - 1));
	return st;
}

/* What has another strength now is a candidate of its own; its figures come later. */
static invar_status land_finalist(confirmation *c, finalist *f)
{
	inv_candidate landed = *candidate_of(c, f);
	landing l = {c, f};
	invar_status st;

	landed.strength = landed.wanted;
	st = inv_choice_land(&c->m->goal, sure_structure, &l, &landed.strength);
	f->failed = f->failed || !(landed.strength > 0);
	if (st != INVAR_OK || f->failed || landed.strength == candidate_of(c, f)->strength)
		return st;
	f->at = c->m->count;
	return inv_choice_add(c->m, &landed);
}

static bool allocate_kept(confirmation *c)
{
	size_t folds = c->m->rows.folds;
	bool all = folds * c->count * (c->coded + c->queried) <= KEPT_BYTES / sizeof(float);

	/* Held-out images come first, and R2 needs no others. */
	c->coded = all ? c->coded : c->cells;
	c->clean = inv_alloc(folds * c->cells * sizeof *c->clean);
	for (size_t i = 0; i < c->count && c->clean; i++) {
		finalist *f = &c->list[i];

		f->codes = inv_alloc(folds * c->coded * sizeof *f->codes);
		f->queries = all ? inv_alloc(folds * c->queried * sizeof *f->queries) : NULL;
		if (!f->codes || (all && !f->queries))
			return false;
	}
	return c->clean;
}

static invar_status land_finalists(confirmation *c)
{
	invar_status st;

	if (!allocate_kept(c))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for the codes of %zu candidates",
		                c->count);
	st = visit_folds(c, keep_codes);
	for (size_t i = 0; i < c->count && st == INVAR_OK; i++)
		if (!c->list[i].failed)
			st = land_finalist(c, &c->list[i]);
	return st;
}

/* ---- Figures ------------------------------------------------------------------------ */

static inv_choice_shares shares_of_fold(const inv_choice_shares *s, size_t at)
{
	return (inv_choice_shares){s->part + at, s->whole + at};
}

/* Figures of one fold, as a part of those of all. */
static invar_status measure_rows(confirmation *c, const float *query, const float *clean,
                                 const inv_choice_shares *all, inv_candidate *of)
{
	inv_choice_maker *m = c->m;
	uint32_t fold = m->rows.fold, folds = m->rows.folds;
	inv_choice_shares now = shares_of_fold(all, fold * c->held);
	inv_choice_figures one;
	invar_status st = inv_choice_measure(&m->rows, &m->goal, query, clean, &now, &one);

	if (st != INVAR_OK)
		return st;
	if (fold == 0) {
		of->figures = one;
		of->all = (inv_choice_figures){0};
	}
	of->all.r2 += one.r2 / folds;
	of->all.gone += one.gone / folds;
	of->all.second += one.second / folds;
	of->all.value = inv_choice_figure(&m->goal, all, (fold + 1) * c->held);
	of->folds = fold + 1;
	return INVAR_OK;
}

static invar_status measure_finalist(confirmation *c, finalist *f, uint32_t fold)
{
	inv_choice_maker *m = c->m;

	(void)fold;
	inv_choice_move(m, candidate_of(c, f)->strength);
	return measure_rows(c, m->moved_q, m->moved_c, &f->shares, candidate_of(c, f));
}

/* The codes of this fold as keep_codes has kept them. */
static invar_status measure_kept(confirmation *c, uint32_t fold)
{
	inv_choice_maker *m = c->m;
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < c->count && st == INVAR_OK; i++) {
		finalist *f = &c->list[i];

		if (f->failed)
			continue;
		memcpy(m->spread_c, f->codes + fold * c->coded, c->coded * sizeof *f->codes);
		memcpy(m->spread_q, f->queries + fold * c->queried,
		       c->queried * sizeof *f->queries);
		st = measure_finalist(c, f, fold);
	}
	return st;
}

static invar_status measure_finalists(confirmation *c)
{
	invar_status st = INVAR_OK;

	if (!c->list[0].queries)
		return visit_folds(c, measure_finalist);
	for (uint32_t k = 0; k < c->m->rows.folds && st == INVAR_OK; k++) {
		st = inv_choice_use_fold(c->m, k);
		if (st == INVAR_OK)
			st = measure_kept(c, k);
	}
	return st;
}

static invar_status measure_none(confirmation *c)
{
	inv_choice_maker *m = c->m;
	invar_status st = INVAR_OK;

	for (uint32_t k = 0; k < m->rows.folds && st == INVAR_OK; k++) {
		st = inv_choice_use_fold(m, k);
		if (st == INVAR_OK)
			st = measure_rows(c, m->rows.query, m->rows.clean, &m->f, &m->list[0]);
	}
	return st;
}

static void choose_best(confirmation *c)
{
	inv_choice_maker *m = c->m;
	size_t bytes = m->rows.folds * c->held * sizeof(double);
	const finalist *best = NULL;

	for (size_t i = 0; i < c->count; i++) {
		const finalist *f = &c->list[i];

		if (!f->failed && (!best || inv_choice_better(&m->goal, &candidate_of(c, f)->all,
		                                              &candidate_of(c, best)->all)))
			best = f;
	}
	m->top_at = best ? best->at : 0;
	if (!best)
		return;
	memcpy(m->top.part, best->shares.part, bytes);
	memcpy(m->top.whole, best->shares.whole, bytes);
}

/* ---- The whole ---------------------------------------------------------------------- */

static invar_status run_confirmation(confirmation *c)
{
	inv_choice_maker *m = c->m;
	size_t images = m->rows.folds * c->held;
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < c->count; i++)
		if (!inv_choice_shares_new(images, &c->list[i].shares))
			return inv_fail(INVAR_E_NOMEM, "not enough memory for %zu candidates",
			                c->count);
	if (m->goal.keep > 0)
		st = land_finalists(c);
	if (st == INVAR_OK)
		st = measure_finalists(c);
	if (st == INVAR_OK)
		st = measure_none(c);
	if (st == INVAR_OK)
		st = inv_choice_use_fold(m, 0);
	if (st == INVAR_OK)
		choose_best(c);
	return st;
}

invar_status inv_choice_confirm(inv_choice_maker *m)
{
	const inv_choice_rows *r = &m->rows;
	confirmation c = {.m = m,
	                  .held = r->held,
	                  .cells = r->held * r->d,
	                  .coded = inv_choice_clean_rows(r, &m->goal) * r->d,
	                  .queried = r->queries * r->d};
	invar_status st = INVAR_OK;

	pick_finalists(&c);
	if (c.count)
		st = run_confirmation(&c);
	for (size_t i = 0; i < c.count; i++) {
		inv_choice_shares_clear(&c.list[i].shares);
		inv_free(c.list[i].codes);
		inv_free(c.list[i].queries);
	}
	inv_free(c.clean);
	return st;
}
