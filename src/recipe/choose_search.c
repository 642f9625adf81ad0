/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choose_search.c - which candidates are tried.
 *
 * A candidate is a base (a fitted map), a spread and a strength. Not all
 * combinations are tried: every base with full strength, without spread and scaled; then
 * the best three bases with the transport and with less strength. Features have two
 * parameters, lambda and anchor, on grids with factors of about 3: first four points far
 * apart, then uphill from the best of them, one step at a time.
 *
 * The structure dial. R2 rises with the anchor and falls with the strength. The R2 of an
 * anchor is only known after the fit, which for a training may take hours; the strength is
 * exact: it is found from the codes of held-out images, and 0 keeps everything. So if a
 * candidate keeps too little, its strength is lowered until it keeps what was requested,
 * and anchors are compared after that. For a training with an anchor, up to three short
 * trainings of a quarter of the epochs find the smallest anchor that keeps enough.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "adapter/train_in_memory.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"
#include "recipe/choose.h"

enum {
	LAMBDAS = 9,
	ANCHORS = 6,
	MAX_SOLUTIONS = 16,
	REFINED = 3, /* bases tried with every spread and strength */
	MIN_EPOCHS = 5,
	ANCHOR_BISECTIONS = 3
};
enum { NONE_AND_SCALE = 1 << INV_SPREAD_NONE | 1 << INV_SPREAD_SCALE, ALL_SPREADS = 7 };

static const double lambdas[LAMBDAS] = {1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1, 3, 10};
static const double anchors[ANCHORS] = {0.3, 1, 3, 10, 30, 100};
static const double strengths[] = {1, 0.75, 0.5};

/* ---- The list ----------------------------------------------------------------------- */

static void copy_shares(const inv_choice_maker *m, const inv_choice_shares *from,
                        inv_choice_shares *to)
{
	memcpy(to->part, from->part, m->rows.held * sizeof *to->part);
	memcpy(to->whole, from->whole, m->rows.held * sizeof *to->whole);
}

/* Its shares are m->now. On a tie the earlier candidate stays the best. */
invar_status inv_choice_add(inv_choice_maker *m, const inv_candidate *c)
{
	char words[INV_CANDIDATE_WORDS];

	if (m->count == m->allocated) {
		size_t more = m->allocated ? 2 * m->allocated : 64;
		inv_candidate *grown = inv_calloc(more, sizeof *grown);

		if (!grown)
			return inv_fail(INVAR_E_NOMEM, "not enough memory for %zu candidates", more);
		if (m->count)
			memcpy(grown, m->list, m->count * sizeof *grown);
		inv_free(m->list);
		m->list = grown;
		m->allocated = more;
	}
	m->list[m->count++] = *c;
	inv_candidate_describe(c, words, sizeof words);
	inv_log(m->rows.ctx, INVAR_LOG_DETAIL, "%s: %.4f, R2 %.3f, %.3f gone%s", words,
	        c->figures.value, c->figures.r2, c->figures.gone,
	        c->allowed ? "" : "; keeps too little structure");
	if (m->count == 1) {
		copy_shares(m, &m->now, &m->f);
		return INVAR_OK;
	}
	if (!c->allowed)
		return INVAR_OK;
	if (!m->top_at ||
	    inv_choice_better(&m->goal, &c->figures, &m->list[m->top_at].figures)) {
		m->top_at = m->count - 1;
		copy_shares(m, &m->now, &m->top);
	}
	return INVAR_OK;
}

/* ---- Strength ----------------------------------------------------------------------- */

static invar_status structure_at(void *user, double w, double *r2)
{
	inv_choice_maker *m = user;
	uint64_t cells = m->rows.held * m->rows.d;

	inv_choice_move_rows(m->rows.clean, m->spread_c, cells, w, m->moved_c);
	return inv_choice_structure(&m->rows, m->rows.clean, m->moved_c, r2);
}

/*
 * The codes with their spread are in spread_q and spread_c. `weaker`: the full strength was
 * tried before, so the strength it was lowered to is known.
 */
static invar_status try_strength(inv_choice_maker *m, inv_candidate *c, bool weaker)
{
	const inv_choice_rows *r = &m->rows;
	invar_status st = INVAR_OK;

	c->wanted = c->strength;

	if (m->goal.keep > 0)
		st = inv_choice_land(&m->goal, structure_at, m, &c->strength);
	if (st != INVAR_OK || c->strength <= 0 || (weaker && c->strength < c->wanted))
		return st;
	inv_choice_move(m, c->strength);
	st = inv_choice_measure(r, &m->goal, m->moved_q, m->moved_c, &m->now, &c->figures);
	c->allowed = c->figures.r2 >= m->goal.keep;
	c->folds = 1;
	return st == INVAR_OK ? inv_choice_add(m, c) : st;
}

/* ---- Bases -------------------------------------------------------------------------- */

/*
 * With a goal all spreads that are wanted, unless one was set. Without a goal the spread
 * that was set or that the preset has: by their displacement alone, scaled codes would
 * never be chosen, although an index finds more with them at the same R2.
 */
static unsigned allowed_spreads(const inv_choice_maker *m, unsigned wanted)
{
	const bool free_choice = m->goal.kind != INV_GOAL_NONE;

	if (free_choice && !inv_option_is_set(m->options, "spread"))
		return wanted;
	return 1u << inv_choice_own_spread(m);
}

static invar_status try_strengths(inv_choice_maker *m, inv_candidate c, int first, int last)
{
	invar_status st = INVAR_OK;

	if (inv_option_is_set(m->options, "strength")) {
		c.strength = inv_option_number(m->options, "strength");
		return first ? INVAR_OK : try_strength(m, &c, false);
	}
	for (int i = first; i <= last && st == INVAR_OK; i++) {
		c.strength = strengths[i];
		st = try_strength(m, &c, i > 0);
	}
	return st;
}

/*
 * Strengths number first … last with the spreads of a set. `again`: spreads that were
 * tried before already had their full strength.
 */
static invar_status try_form(inv_choice_maker *m, const inv_base *b, const inv_mlp_form *e,
                             unsigned spreads, unsigned again, int last)
{
	invar_status st = inv_choice_code(m, e);

	for (int s = 0; s < INV_SPREADS && st == INVAR_OK; s++) {
		inv_candidate c = {.base = *b, .spread = (inv_spread_kind)s};

		if (!(spreads & 1u << s))
			continue;
		st = inv_progress(m->rows.ctx, "choose", m->count, 0);
		if (st == INVAR_OK)
			st = inv_choice_spread(m, e, c.spread);
		if (st == INVAR_OK)
			st = try_strengths(m, c, again & 1u << s ? 1 : 0, last);
	}
	return st;
}

static invar_status try_base(inv_choice_maker *m, const inv_base *b, unsigned spreads,
                             unsigned again, int last)
{
	inv_mlp_form e;
	invar_status st = inv_base_fit(m, b, &e);

	if (st == INVAR_OK)
		st = try_form(m, b, &e, allowed_spreads(m, spreads), again, last);
	inv_free(e.params);
	return st;
}

/* A lambda that is too small for linearly dependent rows is skipped. */
static invar_status try_closed(inv_choice_maker *m, const inv_base *b)
{
	invar_status st = try_base(m, b, NONE_AND_SCALE, 0, 0);

	if (st != INVAR_E_NUMERIC)
		return st;
	inv_log(m->rows.ctx, INVAR_LOG_DETAIL, "passed over: %s", invar_last_error());
	return INVAR_OK;
}

/* The best score among candidates from number `from` on that are allowed. */
static double best_since(const inv_choice_maker *m, size_t from)
{
	double best = -INFINITY;

	for (size_t i = from; i < m->count; i++)
		if (m->list[i].allowed)
			best = fmax(best, inv_choice_score(&m->goal, &m->list[i].figures));
	return best;
}

/* ---- Features ----------------------------------------------------------------------- */

/* Scores on the grid; NaN: not tried. */
typedef struct climb {
	double score[LAMBDAS][ANCHORS];
	int lambda, anchor; /* the best so far */
	int solutions;
	double fixed_lambda, fixed_anchor; /* NaN: free */
} climb;

static invar_status try_place(inv_choice_maker *m, climb *c, int l, int a)
{
	inv_base b = {.kind = INV_BASE_FEATURES};
	size_t from = m->count;
	invar_status st;

	if (l < 0 || l >= LAMBDAS || a < 0 || a >= ANCHORS || !isnan(c->score[l][a]) ||
	    c->solutions >= MAX_SOLUTIONS)
		return INVAR_OK;
	b.lambda = isnan(c->fixed_lambda) ? lambdas[l] : c->fixed_lambda;
	b.anchor = isnan(c->fixed_anchor) ? anchors[a] : c->fixed_anchor;
	c->solutions++;
	st = try_closed(m, &b);
	c->score[l][a] = best_since(m, from);
	if (c->lambda < 0 || c->score[l][a] > c->score[c->lambda][c->anchor]) {
		c->lambda = l;
		c->anchor = a;
	}
	return st;
}

/*
 * The dial between two grid points: the anchor that just keeps enough at full strength, by
 * bisection of its logarithm. Anchors that keep too little are also tried with less
 * strength.
 */
static invar_status bisect_anchor(inv_choice_maker *m, const climb *c)
{
	const inv_candidate *best = &m->list[m->top_at];
	bool enough = best->strength == 1;
	int below = enough ? c->anchor - 1 : c->anchor;
	inv_base b = best->base;
	double low, high;
	invar_status st = INVAR_OK;

	if (!m->top_at || b.kind != INV_BASE_FEATURES || below + 1 >= ANCHORS)
		return INVAR_OK;
	low = below < 0 ? anchors[0] / 10 : anchors[below];
	high = anchors[below + 1];
	for (int i = 0; i < ANCHOR_BISECTIONS && st == INVAR_OK; i++) {
		size_t from = m->count;

		b.anchor = round(100 * sqrt(low * high)) / 100; /* short in run.json */
		st = try_closed(m, &b);
		if (m->count > from && m->list[from].strength == 1)
			high = b.anchor;
		else
			low = b.anchor;
	}
	return st;
}

static invar_status try_features(inv_choice_maker *m)
{
	static const int corner[][2] = {{4, 1}, {4, 3}, {6, 1}, {6, 3}};
	climb c = {.lambda = -1, .fixed_lambda = NAN, .fixed_anchor = NAN};
	bool free_lambda, free_anchor;
	invar_status st = INVAR_OK;
	int l, a;

	if (inv_option_number(m->options, "ridge") > 0) /* 0: to be chosen */
		c.fixed_lambda = inv_option_number(m->options, "ridge");
	if (inv_option_is_set(m->options, "anchor"))
		c.fixed_anchor = inv_option_number(m->options, "anchor");
	free_lambda = isnan(c.fixed_lambda);
	free_anchor = isnan(c.fixed_anchor);
	for (int i = 0; i < LAMBDAS * ANCHORS; i++)
		c.score[i / ANCHORS][i % ANCHORS] = NAN;
	for (int i = 0; i < 4 && st == INVAR_OK; i++)
		st = try_place(m, &c, free_lambda ? corner[i][0] : 0,
		               free_anchor ? corner[i][1] : 0);
	do {
		l = c.lambda;
		a = c.anchor;
		for (int step = -1; step <= 1 && st == INVAR_OK; step += 2) {
			if (free_lambda)
				st = try_place(m, &c, l + step, a);
			if (st == INVAR_OK && free_anchor)
				st = try_place(m, &c, l, a + step);
		}
	} while (st == INVAR_OK && (c.lambda != l || c.anchor != a));
	return st == INVAR_OK && m->goal.keep > 0 && free_anchor ? bisect_anchor(m, &c) : st;
}

/* ---- Ridge and rigid ---------------------------------------------------------------- */

static invar_status try_ridge(inv_choice_maker *m)
{
	static const double choices[] = {1e-3, 1e-2, 1e-1, 1};
	double given = inv_option_number(m->options, "ridge");
	invar_status st = INVAR_OK;

	for (int i = 0; i < 4 && st == INVAR_OK; i++) {
		const inv_base b = {.kind = INV_BASE_RIDGE,
		                    .lambda = given > 0 ? given : choices[i]};

		st = try_closed(m, &b);
		if (given > 0)
			break;
	}
	return st;
}

static invar_status try_rigid(inv_choice_maker *m)
{
	const inv_base b = {.kind = INV_BASE_RIGID};

	return try_closed(m, &b);
}

/* ---- The best few ------------------------------------------------------------------- */

/* The best allowed candidate whose base is not in `taken`; 0 (F): none. */
static size_t next_best(const inv_choice_maker *m, const inv_base *taken, int count)
{
	size_t best = 0;

	for (size_t i = 1; i < m->count; i++) {
		bool used = !m->list[i].allowed;

		for (int k = 0; k < count; k++)
			used = used || inv_base_same(&taken[k], &m->list[i].base);
		if (!used && (!best || inv_choice_better(&m->goal, &m->list[i].figures,
		                                         &m->list[best].figures)))
			best = i;
	}
	return best;
}

static invar_status refine_best(inv_choice_maker *m)
{
	inv_base taken[REFINED];
	invar_status st = INVAR_OK;

	/* Chosen before any of them is refined, else the first would displace the others. */
	int count = 0;

	for (size_t at; count < REFINED && (at = next_best(m, taken, count)); count++)
		taken[count] = m->list[at].base;
	for (int i = 0; i < count && st == INVAR_OK; i++)
		st = try_base(m, &taken[i], ALL_SPREADS, NONE_AND_SCALE, 2);
	return st;
}

/* ---- Trainings ---------------------------------------------------------------------- */

static invar_status time_base(inv_choice_maker *m, const inv_base *b, double *seconds,
                              uint64_t *epochs)
{
	invar_options *o;
	invar_status st = inv_base_options(m, b, &o);

	if (st == INVAR_OK) {
		const inv_memory_training t = {m->rows.bank, o, m->rows.images, m->rows.fitted,
		                               NULL};

		*epochs = inv_option_count(o, "epochs");
		st = inv_train_time_epoch(&t, seconds);
	}
	invar_options_free(o);
	return st;
}

/* The remaining time must suffice for so many trainings and one on all images. */
static invar_status try_within_budget(inv_choice_maker *m, inv_base b, int trainings)
{
	double all = (double)(m->rows.fitted + m->rows.held) / m->rows.fitted;
	double seconds, left, fit;
	uint64_t wanted;
	inv_candidate c = {.base = b, .strength = 1};
	char words[INV_CANDIDATE_WORDS];
	invar_status st = time_base(m, &b, &seconds, &wanted);

	if (st != INVAR_OK)
		return st;
	left = m->goal.seconds - (inv_wall_seconds() - m->started);
	fit = left / (all * (trainings + 1)) / fmax(seconds, 1e-9);
	inv_candidate_describe(&c, words, sizeof words);
	if (fit < MIN_EPOCHS) {
		inv_log(m->rows.ctx, INVAR_LOG_INFO,
		        "%s is left out: an epoch takes %.1f s, and @budget leaves %.0f s for %d "
		        "%s and the last one",
		        words, seconds, fmax(left, 0), trainings,
		        inv_noun((uint64_t)trainings, "training", "trainings"));
		return INVAR_OK;
	}
	b.epochs = fit < (double)wanted ? (uint64_t)fit : wanted;
	inv_log(m->rows.ctx, INVAR_LOG_INFO, "training %s, %" PRIu64 " epochs of %.1f s", words,
	        b.epochs, seconds);
	return try_base(m, &b, ALL_SPREADS, 0, 2);
}

/* If the goal is what contrast is about, it is also tried with a larger weight. */
static invar_status try_trainings(inv_choice_maker *m)
{
	const inv_base bases[] = {{.kind = INV_BASE_TRAINED, .preset = "keep"},
	                          {.kind = INV_BASE_TRAINED, .preset = "keep", .contrast = 3}};
	int count = m->goal.kind == INV_GOAL_SAME_IMAGE ? 2 : 1;
	invar_status st = INVAR_OK;

	for (int i = 0; i < count && st == INVAR_OK; i++)
		st = try_within_budget(m, bases[i], count - i);
	return st;
}

/* R2 of a short training with this anchor. */
static invar_status short_training(inv_choice_maker *m, double anchor, double *r2)
{
	uint64_t epochs = inv_option_count(m->options, "epochs");
	const inv_base b = {
		.kind = INV_BASE_OWN, .anchor = anchor, .epochs = epochs > 4 ? epochs / 4 : 1};
	inv_mlp_form e;
	invar_status st = inv_base_fit(m, &b, &e);

	if (st == INVAR_OK)
		st = inv_choice_code(m, &e);
	if (st == INVAR_OK)
		st = inv_choice_structure(&m->rows, m->rows.clean, m->code_c, r2);
	if (st == INVAR_OK)
		inv_log(m->rows.ctx, INVAR_LOG_INFO,
		        "anchor %g: R2 %.3f on held-out images after %" PRIu64 " epochs", anchor,
		        *r2, b.epochs);
	inv_free(e.params);
	return st;
}

/* The smallest of 1, 3, 10, 30 that keeps enough after a short training; else 30. */
static invar_status search_anchor(inv_choice_maker *m, double *anchor)
{
	int low = 1, high = 4; /* of anchors; what `high` has is taken if none below will do */
	invar_status st = INVAR_OK;

	for (int i = 0; i < 3 && low < high && st == INVAR_OK; i++) {
		int middle = i ? (low + high) / 2 : low; /* most often the first is enough */
		double r2 = 0;

		st = short_training(m, anchors[middle], &r2);
		if (r2 >= m->goal.keep)
			high = middle;
		else
			low = middle + 1;
	}
	*anchor = anchors[high];
	return st;
}

static invar_status try_own(inv_choice_maker *m)
{
	const char *loss = inv_option_text(m->options, "loss");
	inv_base b = {.kind = INV_BASE_OWN};
	invar_status st = INVAR_OK;

	if (m->goal.keep > 0 && !inv_option_is_set(m->options, "anchor") &&
	    inv_options_uses(m->options, "loss", loss, "anchor"))
		st = search_anchor(m, &b.anchor);
	return st == INVAR_OK ? try_base(m, &b, ALL_SPREADS, 0, 2) : st;
}

/* ---- The whole ---------------------------------------------------------------------- */

static invar_status try_none(inv_choice_maker *m)
{
	const inv_choice_rows *r = &m->rows;
	inv_candidate c = {
		.base = {.kind = INV_BASE_NONE}, .strength = 1, .allowed = true, .folds = 1};
	invar_status st =
		inv_choice_measure(r, &m->goal, r->query, r->clean, &m->now, &c.figures);

	return st == INVAR_OK ? inv_choice_add(m, &c) : st;
}

/* Was the method set? Then only its free parameters are chosen. */
static bool is_fixed(const inv_choice_maker *m)
{
	return m->goal.kind == INV_GOAL_NONE || inv_option_is_set(m->options, "preset") ||
	       inv_option_is_set(m->options, "loss") || inv_option_is_set(m->options, "init");
}

static invar_status try_fixed(inv_choice_maker *m)
{
	if (!inv_option_is(m->options, "loss", "none"))
		return try_own(m);
	if (inv_option_is(m->options, "init", "features"))
		return try_features(m);
	if (inv_option_is(m->options, "init", "ridge"))
		return try_ridge(m);
	return try_rigid(m);
}

static invar_status try_all(inv_choice_maker *m)
{
	bool narrow = inv_option_count(m->options, "hidden") < 2 * m->rows.d;
	invar_status st = INVAR_OK;

	/* A linear map needs two hidden units for each feature. */
	if (narrow)
		inv_log(m->rows.ctx, INVAR_LOG_INFO,
		        "rigid and ridge are left out: they need @hidden of at least %zu",
		        2 * m->rows.d);
	else if ((st = try_rigid(m)) == INVAR_OK)
		st = try_ridge(m);
	return st == INVAR_OK ? try_features(m) : st;
}

invar_status inv_choice_search(inv_choice_maker *m)
{
	bool fixed = is_fixed(m);
	bool closed = !fixed || inv_option_is(m->options, "loss", "none");
	invar_status st = try_none(m);

	if (st == INVAR_OK)
		st = fixed ? try_fixed(m) : try_all(m);
	if (st == INVAR_OK && closed && m->goal.kind != INV_GOAL_NONE)
		st = refine_best(m);
	if (st == INVAR_OK && closed && m->rows.folds > 1)
		st = inv_choice_confirm(m);
	inv_base_clear(m);
	if (st == INVAR_OK && !fixed && m->goal.seconds > 0)
		st = try_trainings(m);
	return st;
}
