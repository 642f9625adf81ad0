/* SPDX-License-Identifier: Apache-2.0 */
/* choose.c - from a goal to the options of a training; see choose.h. */
#include "recipe/choose.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "adapter/train_options.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/text.h"

enum { SAMPLED = 500 }; /* images on which the spread of a candidate is measured */

/* ---- Setting up --------------------------------------------------------------------- */

static bool method_is_set(const invar_options *o)
{
	return inv_option_is_set(o, "preset") || inv_option_is_set(o, "loss") ||
	       inv_option_is_set(o, "init");
}

static const char *wish_of(const inv_goal *g)
{
	return g->kind == INV_GOAL_NONE ? "keep-structure" : "goal";
}

/* Candidates are mixed with F and compared with it. */
static invar_status check_codes(const inv_choice_maker *m)
{
	uint64_t width = inv_option_count(m->options, "width");
	const char *wish = wish_of(&m->goal);

	if (width && width != m->rows.d)
		return inv_fail(INVAR_E_USE,
		                "@%s compares codes with features, which are %zu wide, so @width "
		                "cannot be %" PRIu64 "; leave it out",
		                wish, m->rows.d, width);
	if (inv_option_flag(m->options, "decoder"))
		return inv_fail(
			INVAR_E_USE,
			"@%s may stretch and weaken codes, which a @decoder could not read; "
			"leave one of them out",
			wish);
	return INVAR_OK;
}

static invar_status check_together(const invar_options *o, const inv_goal *g)
{
	if (g->seconds > 0 && method_is_set(o))
		return inv_fail(INVAR_E_USE,
		                "@budget is for trying several methods, but @%s names one; leave "
		                "one of them out",
		                inv_option_is_set(o, "preset") ? "preset"
		                : inv_option_is_set(o, "loss") ? "loss"
		                                               : "init");
	if (inv_option_is(o, "loss", "none") && inv_option_is(o, "init", "identity"))
		return inv_fail(INVAR_E_USE, "@init identity has nothing to choose; leave @%s out",
		                wish_of(g));
	return INVAR_OK;
}

/*
 * Checks the final training before minutes are spent on the choice, as if a strength had
 * been chosen. Random features represent all closed forms.
 */
static invar_status check_training(inv_choice_maker *m)
{
	inv_candidate c = {.base = {.kind = INV_BASE_OWN}, .strength = 0.5};
	inv_source *source = NULL;
	inv_train_settings settings;
	inv_train_plan plan = {.sources = 0};
	invar_options *o = NULL;
	invar_status st;

	if (m->goal.kind != INV_GOAL_NONE && !method_is_set(m->options))
		c.base = (inv_base){.kind = INV_BASE_FEATURES, .lambda = 1, .anchor = 1};
	c.spread = inv_choice_own_spread(m);
	st = inv_bank_source_open(m->rows.bank, &source);
	if (st == INVAR_OK)
		st = inv_candidate_options(m, &c, &o);
	if (st == INVAR_OK) {
		inv_train_read(o, &settings);
		st = inv_train_check(&settings, &source, 1, &plan);
	}
	invar_options_free(o);
	inv_source_close(source);
	return st;
}

static bool allocate_codes(const inv_choice_maker *m, float **q, float **c)
{
	const inv_choice_rows *r = &m->rows;

	*q = inv_alloc(r->queries * r->d * sizeof **q);
	*c = inv_alloc(inv_choice_clean_rows(r, &m->goal) * r->d * sizeof **c);
	return *q && *c;
}

/* As many in every fold. */
static void draw_sample(inv_choice_maker *m)
{
	const inv_choice_rows *r = &m->rows;

	for (uint32_t i = 0; i < m->sampled; i++)
		m->sample[i] = r->images[(uint64_t)i * r->fitted / m->sampled];
}

static invar_status allocate_maker(inv_choice_maker *m)
{
	const inv_choice_rows *r = &m->rows;

	size_t all = (size_t)r->folds * r->held;

	m->sampled = r->fitted < SAMPLED ? r->fitted : SAMPLED;
	m->sample = inv_calloc(m->sampled, sizeof *m->sample);
	if (!m->sample || !inv_choice_shares_new(all, &m->f) ||
	    !inv_choice_shares_new(all, &m->now) || !inv_choice_shares_new(all, &m->top) ||
	    !allocate_codes(m, &m->code_q, &m->code_c) ||
	    !allocate_codes(m, &m->spread_q, &m->spread_c) ||
	    !allocate_codes(m, &m->moved_q, &m->moved_c))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for the codes of candidates");
	draw_sample(m);
	return INVAR_OK;
}

invar_status inv_choice_use_fold(inv_choice_maker *m, uint32_t fold)
{
	const invar_bank *bank = m->rows.bank;
	invar_status st;

	if (m->rows.fold == fold)
		return INVAR_OK;
	inv_base_clear(m); /* its sums are of other images */
	inv_choice_rows_clear(&m->rows);
	st = inv_choice_rows_open(bank, m->options, &m->goal, fold, &m->rows);
	if (st == INVAR_OK)
		draw_sample(m);
	return st;
}

static void clear_maker(inv_choice_maker *m)
{
	float *codes[] = {m->code_q,   m->code_c,  m->spread_q,
	                  m->spread_c, m->moved_q, m->moved_c};
	inv_choice_shares *shares[] = {&m->f, &m->now, &m->top};

	inv_base_clear(m);
	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		inv_free(codes[i]);
	for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
		inv_choice_shares_clear(shares[i]);
	inv_free(m->sample);
	inv_free(m->list);
	inv_choice_rows_clear(&m->rows);
}

/* ---- Better than none? -------------------------------------------------------------- */

/* Images that the best one was measured on. */
static uint32_t judged_images(const inv_choice_maker *m)
{
	return m->list[m->top_at].folds * m->rows.held;
}

static invar_status figure_interval(const inv_choice_maker *m, const inv_choice_shares *s,
                                    inv_interval *out)
{
	invar_status st = inv_bootstrap_ratio(m->rows.ctx, s->part, s->whole, judged_images(m),
	                                      inv_option_count(m->options, "seed"), out);

	if (m->goal.kind == INV_GOAL_DISTANCES)
		*out =
			(inv_interval){sqrt(out->value), sqrt(out->low), sqrt(out->high), out->images};
	return st;
}

/*
 * The difference itself is resampled, as both are measured on the same images: the gain of
 * shares, or the reduction of squared errors relative to the whole.
 */
static invar_status compare_with_none(inv_choice_maker *m)
{
	uint32_t held = judged_images(m);
	double sign = m->goal.kind == INV_GOAL_DISTANCES ? -1 : 1;
	invar_status st = figure_interval(m, &m->f, &m->none);

	if (st == INVAR_OK)
		st = figure_interval(m, &m->top, &m->own);
	for (uint32_t i = 0; i < held; i++)
		m->now.part[i] = sign * (m->top.part[i] - m->f.part[i]);
	return st == INVAR_OK
	           ? inv_bootstrap_ratio(m->rows.ctx, m->now.part, m->f.whole, held,
	                                 inv_option_count(m->options, "seed"), &m->gain)
	           : st;
}

/*
 * The best of fifty candidates is overestimated, which its own 95 % interval does not
 * cover: so three standard errors are required instead of two.
 */
static double largest_by_chance(const inv_interval *gain)
{
	double error = (gain->high - gain->low) / (2 * 1.96);

	return 3 * error;
}

static bool is_certain(const inv_interval *gain)
{
	return gain->value > 0 && gain->value > largest_by_chance(gain);
}

/* The table shows the candidates. */
static invar_status refuse(const inv_choice_maker *m)
{
	char figure[128], words[INV_CANDIDATE_WORDS];
	bool share = m->goal.kind != INV_GOAL_DISTANCES;
	double scale = share ? 100 : 1;
	char chance[256] = "";

	inv_choice_figure_name(&m->goal, figure, sizeof figure);
	inv_candidate_describe(&m->list[m->top_at], words, sizeof words);
	if (m->gain.value > 0)
		snprintf(
			chance, sizeof chance,
			"; %s of %.3g%s is within chance, which gives up to %.3g%s (three standard "
			"errors), so more images may decide it",
			share ? "a gain" : "a reduction of the squared error by a share",
			scale * m->gain.value, share ? " points" : "",
			scale * largest_by_chance(&m->gain), share ? " points" : "");
	inv_fail(INVAR_E_MISMATCH,
	         "no adapter %s here, so none is written: %s is %.4g%s for the best "
	         "of %zu candidates (%s) and %.4g%s for F itself, on %" PRIu32
	         " held-out images%s; another @index, @metric or @goal may gain, and "
	         "@even-if-worse writes it anyway",
	         *chance ? "is certain to help" : "helps", figure, scale * m->own.value,
	         share ? " %" : "", m->count - 1, words, scale * m->none.value,
	         share ? " %" : "", judged_images(m), chance);
	return inv_topic(INVAR_E_MISMATCH, INV_NO_ADAPTER);
}

static invar_status judge_best(inv_choice_maker *m)
{
	invar_status st;

	if (!m->top_at) {
		inv_fail(INVAR_E_MISMATCH,
		         "no candidate keeps an R2 of %g on held-out images, so none is "
		         "written; ask for less with @keep-structure",
		         m->goal.keep);
		return inv_topic(INVAR_E_MISMATCH, INV_NO_ADAPTER);
	}
	if ((st = compare_with_none(m)) != INVAR_OK)
		return st;
	inv_choice_log(m, m->top_at);
	if (is_certain(&m->gain))
		return INVAR_OK;
	if (m->goal.kind != INV_GOAL_NONE && !m->goal.even_if_worse)
		return refuse(m);
	inv_log(m->rows.ctx, INVAR_LOG_WARNING,
	        "on held-out images this adapter is not better than none");
	return INVAR_OK;
}

/* ---- The whole ---------------------------------------------------------------------- */

static invar_status make_choice(inv_choice_maker *m, const invar_bank *bank)
{
	invar_status st = check_together(m->options, &m->goal);

	m->started = inv_wall_seconds();
	if (st == INVAR_OK)
		st = inv_choice_rows_open(bank, m->options, &m->goal, 0, &m->rows);
	if (st == INVAR_OK)
		st = check_codes(m);
	if (st == INVAR_OK)
		st = check_training(m);
	if (st == INVAR_OK)
		st = allocate_maker(m);
	if (st == INVAR_OK)
		inv_log(bank->ctx, INVAR_LOG_INFO,
		        "choosing on %" PRIu32 " held-out images of %s, with %" PRIu64
		        " queries and a gallery of %" PRIu64,
		        m->rows.held, m->rows.source->split, m->rows.queries, m->rows.gallery);
	if (st == INVAR_OK)
		st = inv_choice_search(m);
	return st == INVAR_OK ? judge_best(m) : st;
}

invar_status inv_choose_adapter(const invar_bank *bank, const invar_options *o,
                                invar_options **chosen, json_t **about)
{
	inv_choice_maker m = {.options = o};
	invar_status st;

	*chosen = NULL;
	*about = NULL;
	inv_goal_read(o, &m.goal);
	st = make_choice(&m, bank);
	if (st == INVAR_OK && !(*about = inv_choice_json(&m, m.top_at)))
		st = inv_fail(INVAR_E_NOMEM, "not enough memory for run.json");
	if (st == INVAR_OK)
		st = inv_choice_add_plots(&m, m.top_at, *about);
	if (st == INVAR_OK)
		st = inv_candidate_options(&m, &m.list[m.top_at], chosen);
	clear_maker(&m);
	return st;
}
