/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choose_table.c - the candidates as a table in the log, and for run.json.
 *
 * The table has F, the chosen one and the Pareto frontier: the candidates that no other
 * beats in both the figure and R2. With -v every candidate is logged as it is measured;
 * run.json has them all.
 */
#include <math.h>
#include <stdio.h>

#include "base/text.h"
#include "recipe/choose.h"

static const char *const goal_word[] = {NULL, "classify", "same-image", "distances"};

void inv_candidate_describe(const inv_candidate *c, char *out, size_t size)
{
	static const char *const names[] = {"F, no adapter", "rigid",   "ridge",
	                                    "features",      "trained", "the options as given"};
	const inv_base *b = &c->base;
	size_t fill = (size_t)snprintf(out, size, "%s", b->preset ? b->preset : names[b->kind]);

	if (b->contrast > 0 && fill < size)
		fill += (size_t)snprintf(out + fill, size - fill, ", contrast %g", b->contrast);
	if (b->lambda > 0 && fill < size)
		fill += (size_t)snprintf(out + fill, size - fill, ", ridge %g", b->lambda);
	if (b->anchor > 0 && fill < size)
		fill += (size_t)snprintf(out + fill, size - fill, ", anchor %g", b->anchor);
	if (c->spread != INV_SPREAD_NONE && fill < size)
		fill += (size_t)snprintf(out + fill, size - fill, ", spread %s",
		                         inv_spread_name[c->spread]);
	if (c->strength != 1 && fill < size)
		snprintf(out + fill, size - fill, ", strength %g", c->strength);
}

/* ---- The frontier ------------------------------------------------------------------- */

static bool is_ahead(const inv_goal *g, const inv_candidate *a, const inv_candidate *b)
{
	double x = inv_choice_score(g, &a->figures), y = inv_choice_score(g, &b->figures);

	return x >= y && a->figures.r2 >= b->figures.r2 &&
	       (x > y || a->figures.r2 > b->figures.r2);
}

static void mark_frontier(inv_choice_maker *m)
{
	for (size_t i = 0; i < m->count; i++) {
		m->list[i].frontier = true;
		for (size_t k = 0; k < m->count && m->list[i].frontier; k++)
			if (is_ahead(&m->goal, &m->list[k], &m->list[i]))
				m->list[i].frontier = false;
	}
}

/* ---- The table ---------------------------------------------------------------------- */

static void log_row(const inv_choice_maker *m, size_t i, size_t chosen,
                    const inv_choice_figures *f)
{
	char words[INV_CANDIDATE_WORDS], value[32];

	inv_candidate_describe(&m->list[i], words, sizeof words);
	if (m->goal.kind == INV_GOAL_DISTANCES)
		snprintf(value, sizeof value, "%8.4f", f->value);
	else
		snprintf(value, sizeof value, "%6.1f %%", 100 * f->value);
	inv_log(m->rows.ctx, INVAR_LOG_INFO, "%c %s   %5.3f   %6.1f %%   %s",
	        i == chosen ? '>' : ' ', value, f->r2, 100 * f->gone, words);
}

/* Those that were measured on all folds, in the order of the list. */
static void log_finalists(const inv_choice_maker *m, size_t chosen)
{
	if (m->list[0].folds < 2)
		return;
	inv_log(m->rows.ctx, INVAR_LOG_INFO,
	        "the best of them again on %u such folds, %u held-out images in all:",
	        m->list[0].folds, m->list[0].folds * m->rows.held);
	for (size_t i = 0; i < m->count; i++)
		if (m->list[i].folds > 1)
			log_row(m, i, chosen, &m->list[i].all);
}

/* By R2, highest first; `shown` marks those already printed. */
static size_t next_row(const inv_choice_maker *m, size_t chosen, const inv_candidate *after,
                       size_t after_at)
{
	size_t next = m->count;

	for (size_t i = 0; i < m->count; i++) {
		const inv_candidate *c = &m->list[i];
		bool later = !after || c->figures.r2 < after->figures.r2 ||
		             (c->figures.r2 == after->figures.r2 && i > after_at);

		if (!later || (i && i != chosen && !c->frontier))
			continue;
		if (next == m->count || c->figures.r2 > m->list[next].figures.r2)
			next = i;
	}
	return next;
}

void inv_choice_log(inv_choice_maker *m, size_t chosen)
{
	const inv_choice_rows *r = &m->rows;
	const inv_candidate *last = NULL;
	char figure[128];

	mark_frontier(m);
	inv_choice_figure_name(&m->goal, figure, sizeof figure);
	if (m->goal.keep > 0)
		inv_log(r->ctx, INVAR_LOG_INFO, "asked for: %s, and an R2 of at least %g", figure,
		        m->goal.keep);
	else
		inv_log(r->ctx, INVAR_LOG_INFO, "asked for: %s", figure);
	inv_log(r->ctx, INVAR_LOG_INFO,
	        "%zu candidates, fitted to %u images and measured on %u others; of these, F, "
	        "the best for each R2, and what is chosen (>):",
	        m->count, r->fitted, r->held);
	inv_log(r->ctx, INVAR_LOG_INFO, "    figure      R2       gone   candidate");
	for (size_t i = next_row(m, chosen, NULL, 0); i < m->count;
	     i = next_row(m, chosen, last, i)) {
		log_row(m, i, chosen, &m->list[i].figures);
		last = &m->list[i];
	}
	log_finalists(m, chosen);
}

/* ---- run.json ----------------------------------------------------------------------- */

static json_t *candidate_json(const inv_candidate *c)
{
	const inv_base *b = &c->base;
	json_t *out =
		json_pack("{s:s, s:s, s:f, s:f, s:f, s:f, s:b, s:b}", "method",
	              inv_base_names[b->kind], "spread", inv_spread_name[c->spread], "strength",
	              c->strength, "figure", c->figures.value, "r2", c->figures.r2, "gone",
	              c->figures.gone, "allowed", c->allowed, "frontier", c->frontier);

	if (c->folds > 1)
		json_object_set_new(out, "all_folds",
		                    json_pack("{s:i, s:f, s:f, s:f}", "folds", (int)c->folds,
		                              "figure", c->all.value, "r2", c->all.r2, "gone",
		                              c->all.gone));
	if (b->preset)
		json_object_set_new(out, "preset", json_string(b->preset));
	if (b->lambda > 0)
		json_object_set_new(out, "ridge", json_real(b->lambda));
	if (b->anchor > 0)
		json_object_set_new(out, "anchor", json_real(b->anchor));
	if (b->contrast > 0)
		json_object_set_new(out, "contrast", json_real(b->contrast));
	if (b->epochs)
		json_object_set_new(out, "epochs", json_integer((json_int_t)b->epochs));
	return out;
}

static json_t *interval_json(const inv_interval *i)
{
	return json_pack("{s:f, s:f, s:f}", "value", i->value, "low", i->low, "high", i->high);
}

json_t *inv_choice_json(const inv_choice_maker *m, size_t chosen)
{
	const inv_choice_rows *r = &m->rows;
	json_t *list = json_array();
	char figure[128];

	inv_choice_figure_name(&m->goal, figure, sizeof figure);
	for (size_t i = 0; i < m->count; i++)
		json_array_append_new(list, candidate_json(&m->list[i]));
	return json_pack(
		"{s:s*, s:s, s:s, s:f, s:s, s:i, s:i, s:i, s:I, s:I, s:o, s:i, s:o, s:o, s:o}",
		"goal", goal_word[m->goal.kind], "index", m->goal.reindex ? "new" : "old", "metric",
		m->goal.metric == INV_COSINE ? "cosine" : "l2", "keep_structure", m->goal.keep,
		"figure", figure, "folds", (int)r->folds, "fitted", (int)r->fitted, "held_out",
		(int)r->held, "queries", (json_int_t)r->queries, "gallery", (json_int_t)r->gallery,
		"candidates", list, "chosen", (int)chosen, "chosen_figure", interval_json(&m->own),
		"no_adapter_figure", interval_json(&m->none), "gain", interval_json(&m->gain));
}
