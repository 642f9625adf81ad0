/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trial.c - fits an adapter without the held-out images, finds its strength, and reports.
 *
 * Codes are computed once. A strength moves them along the line from a feature to its
 * code, so that any number of strengths costs no other fit: the structure dial bisects for
 * the largest one that keeps the requested R2; without it, an adapter that does harm is
 * tried at the smaller strengths of `weaker`, and the largest that helps is taken.
 *
 * invar_train only trains. Who wants both calls invar_trial, then invar_trial_settle, which
 * refuses, or sets the strength and has run.json record the trial; then invar_train.
 */
#include "measure/trial.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "adapter/train_in_memory.h"
#include "bank/class_view.h"
#include "bank/row_norms.h"
#include "base/text.h"
#include "measure/measurement.h"

enum { BISECTIONS = 12, ID = 96, ROW = 96 };

static const double weaker[] = {0.9, 0.8, 0.7, 0.5};

/* ---- The training that is tried ------------------------------------------------------ */

/* What the training on all images would be; fails with the messages that it would have. */
static invar_status plan_training(inv_source *source, const invar_options *o,
                                  inv_train_plan *plan)
{
	inv_train_settings settings;

	*plan = (inv_train_plan){.sources = 0};
	inv_train_read(o, &settings);
	INV_TRY(inv_train_check(&settings, &source, 1, plan));
	if (inv_option_number(o, "keep-structure") <= 0)
		return INVAR_OK;
	if (plan->shape.w != plan->shape.d)
		return inv_fail(
			INVAR_E_USE,
			"@keep-structure needs codes as wide as the features: @width is %zu, "
			"but the bank has %zu",
			plan->shape.w, plan->shape.d);
	if (plan->decoder.h)
		return inv_fail(INVAR_E_USE,
		                "@keep-structure changes the codes that a @decoder was trained on; "
		                "leave one of them out");
	return INVAR_OK;
}

invar_status inv_trial_begin(const invar_bank *bank, const invar_options *o, inv_trial *t)
{
	inv_source *source;
	bool unit = inv_option_flag(o, "unit");
	inv_train_plan plan;

	*t = (inv_trial){.attempts = 0};
	INV_TRY(inv_bank_source_open(bank, &source));
	t->rows.source = source; /* for the description of the results, and to be closed */
	t->rows.bank = source->bank;
	t->rows.images = (uint32_t)source->rows;
	INV_TRY(plan_training(source, o, &plan));
	t->unknown.word = INV_TRIAL_UNKNOWN;
	if (!source->copies)
		snprintf(t->unknown.why, sizeof t->unknown.why,
		         "%s has no augmented copies to measure with, so the trial cannot tell "
		         "whether an adapter helps",
		         source->split);
	else if (source->rows < INV_TRIAL_MIN_IMAGES)
		snprintf(t->unknown.why, sizeof t->unknown.why,
		         "%s has %" PRIu64
		         " %s, and with fewer than %d a trial cannot tell whether an adapter helps",
		         source->split, source->rows, inv_noun(source->rows, "image", "images"),
		         INV_TRIAL_MIN_IMAGES);
	if (*t->unknown.why)
		return INVAR_OK;

	/*
	 * A training on unit rows, by the option or because all rows have norm 1, gives an
	 * adapter that normalises features and codes: F is then unit(F(x)) as well.
	 */
	if (!inv_option_is_set(o, "unit") && !inv_option_flag(o, "decoder"))
		INV_TRY(inv_bank_has_unit_rows(source->bank, source->stored, &unit));
	if (unit)
		inv_source_normalise(source);
	INV_TRY(inv_trial_rows_open(source, o, &t->rows));
	inv_log(source->ctx, INVAR_LOG_INFO,
	        "trial: measured on %" PRIu32 " held-out images of %s, in %" PRIu32 " %s",
	        t->rows.folds * t->rows.held, source->split, t->rows.folds,
	        inv_noun(t->rows.folds, "fit", "fits"));
	return inv_trial_measure(&t->rows, NULL, NULL, &t->f);
}

/* ---- Codes --------------------------------------------------------------------------- */

/* Fits one fold, and keeps the codes of its rows. */
static invar_status fit_fold(const inv_trial_rows *r, const invar_options *o,
                             inv_trial_fold *f)
{
	const inv_memory_training training = {
		.bank = r->bank, .options = o, .images = f->images, .image_count = r->fitted};
	inv_mlp_form e = {.params = NULL};
	invar_status st;

	inv_free(f->code_clean);
	inv_free(f->code_query);
	f->code_clean = f->code_query = NULL;
	INV_TRY_OR(end, inv_train_in_memory(&training, &e));
	INV_TRY_OR(end, inv_new_array(&f->code_clean, r->gallery * e.s.w));
	INV_TRY_OR(end, inv_new_array(&f->code_query, r->queries * e.s.w));
	INV_TRY_OR(end, inv_mlp_apply(r->ctx, e.s, e.params, e.residual, f->clean, r->gallery,
	                              f->code_clean));
	st = inv_mlp_apply(r->ctx, e.s, e.params, e.residual, f->query, r->queries,
	                   f->code_query);
end:
	inv_free(e.params);
	return st;
}

/* Fits at strength 1; the codes are moved later. */
static invar_status fit_folds(inv_trial_rows *r, const invar_options *o,
                              const inv_train_plan *plan)
{
	invar_options *own;
	invar_status st;

	INV_TRY(inv_options_copy(o, &own));
	INV_TRY_OR(end, invar_options_set_number(own, "strength", 1));
	/*
	 * As many steps as the training on all images will have: every step loses structure and
	 * gains invariance, so that the same epochs on fewer images would bias both.
	 */
	if (plan->loss) {
		uint64_t batch = inv_min(plan->batch, r->fitted);
		double all = (double)(plan->images / plan->N), here = (double)(r->fitted / batch);
		double epochs = round((double)inv_option_count(own, "epochs") * all / here);

		INV_TRY_OR(end, invar_options_set_number(own, "epochs", epochs < 1 ? 1 : epochs));
	}
	for (uint32_t k = 0; k < r->folds; k++)
		INV_TRY_OR(end, fit_fold(r, own, &r->fold[k]));
end:
	invar_options_free(own);
	return st;
}

/* ---- Strength ------------------------------------------------------------------------ */

/* The largest strength up to c->strength that keeps this R2; 0 if none does. */
static invar_status keep_structure(const inv_trial_rows *r, double keep, inv_trial_codes *c)
{
	double low = 0, high = c->strength, r2;

	INV_TRY(inv_trial_structure(r, c, &r2));
	if (r2 >= keep)
		return INVAR_OK;
	for (int i = 0; i < BISECTIONS; i++) {
		c->strength = (low + high) / 2;
		INV_TRY(inv_trial_structure(r, c, &r2));
		if (r2 >= keep)
			low = c->strength;
		else
			high = c->strength;
	}
	c->strength = floor(low * 1e4) / 1e4; /* short in run.json, and no stronger */
	return INVAR_OK;
}

static void judge_column(const inv_trial *t, const inv_trial_codes *c,
                         const inv_trial_column *e, inv_trial_verdict *out)
{
	double guess[INV_TRIAL_SOUGHT];

	inv_trial_guess(&t->rows, guess);
	inv_trial_judge(&t->f, e, c->own_space, guess, out);
}

/* Replaces the verdict of a harmful adapter by that of a weaker one that helps. */
static invar_status try_weaker(const inv_trial *t, inv_trial_codes c, inv_trial_attempt *a)
{
	for (size_t i = 0; i < sizeof weaker / sizeof *weaker; i++) {
		inv_trial_verdict verdict;

		c.strength = weaker[i];
		INV_TRY(inv_trial_measure(&t->rows, &c, &t->f, &a->weaker));
		judge_column(t, &c, &a->weaker, &verdict);
		if (verdict.word == INV_TRIAL_HELPS) {
			snprintf(a->verdict.why, sizeof a->verdict.why,
			         "at strength %g, as it does harm at 1: %.640s", c.strength,
			         verdict.why);
			a->verdict.word = INV_TRIAL_HELPS;
			a->strength = c.strength;
			return INVAR_OK;
		}
		inv_trial_column_clear(&a->weaker);
	}
	return INVAR_OK;
}

invar_status inv_trial_try(inv_trial *t, const invar_options *o, const char *id)
{
	inv_trial_attempt *a = &t->attempt[t->attempts];
	double keep = inv_option_number(o, "keep-structure");
	inv_train_plan plan;
	inv_trial_codes c;

	INV_TRY(plan_training(t->rows.source, o, &plan));
	INV_TRY(fit_folds(&t->rows, o, &plan));
	*a = (inv_trial_attempt){.own_space = plan.shape.w != plan.shape.d ||
	                                      (plan.loss && !plan.loss->same_width)};
	t->attempts++;
	snprintf(a->id, sizeof a->id, "%s", id);

	c = (inv_trial_codes){.w = plan.shape.w,
	                      .own_space = a->own_space,
	                      .strength = inv_option_number(o, "strength")};
	if (keep > 0)
		INV_TRY(keep_structure(&t->rows, keep, &c));
	a->first_strength = a->strength = c.strength;
	INV_TRY(inv_trial_measure(&t->rows, &c, &t->f, &a->first));
	judge_column(t, &c, &a->first, &a->verdict);
	if (keep > 0 && c.strength == 0) {
		a->verdict.word = INV_TRIAL_NONE;
		snprintf(a->verdict.why, sizeof a->verdict.why,
		         "no strength above 0 keeps an R2 of %g on held-out images", keep);
	}
	if (a->verdict.word == INV_TRIAL_HARM && !a->own_space && !plan.decoder.h &&
	    keep <= 0 && !inv_option_is_set(o, "strength"))
		return try_weaker(t, c, a);
	return INVAR_OK;
}

void inv_trial_clear(inv_trial *t)
{
	for (size_t i = 0; i < t->attempts; i++) {
		inv_trial_column_clear(&t->attempt[i].first);
		inv_trial_column_clear(&t->attempt[i].weaker);
	}
	inv_trial_column_clear(&t->f);
	inv_trial_rows_clear(&t->rows);
	*t = (inv_trial){.attempts = 0};
}

/* ---- Results ------------------------------------------------------------------------- */

#define GAIN ".gain"

static const struct {
	const char *id, *title, *part;
} sought_texts[INV_TRIAL_SOUGHT] = {{"same-image", "same image @1", ".at1"},
                                    {"same-image", "same image @10", ".at10"},
                                    {"class", "class", ""}};
static const char *const index_ids[] = {"old", "new"};
static const char *const distance_ids[] = {"l2", "cosine"};
static const char *const distance_titles[] = {"L2", "cosine"};
static const char *const set_ids[] = {"clean", "augmented"};

/* "trial.same-image.old.l2.at1.augmented" and its row; `out` views the texts. */
static void describe_figure(int figure, bool gain, char id[ID], char row[ROW],
                            invar_metric *out)
{
	int set = figure % INV_TRIAL_SETS, distance = figure / INV_TRIAL_SETS % INV_DISTANCES;
	int rest = figure / (INV_TRIAL_SETS * INV_DISTANCES);
	int sought = rest % INV_TRIAL_SOUGHT, index = rest / INV_TRIAL_SOUGHT;

	snprintf(id, ID, "trial.%s.%s.%s%s.%s%s", sought_texts[sought].id, index_ids[index],
	         distance_ids[distance], sought_texts[sought].part, set_ids[set],
	         gain ? GAIN : "");
	snprintf(row, ROW, "%s, %s index, %s%s", sought_texts[sought].title, index_ids[index],
	         distance_titles[distance], gain ? ", gain over F" : "");
	*out = (invar_metric){.id = id,
	                      .measurement = sought_texts[sought].id,
	                      .row = row,
	                      .part = set_ids[set],
	                      .unit = INVAR_UNIT_SHARE,
	                      .better = 1,
	                      .digits = 1,
	                      .detail = gain};
}

static const invar_metric structure_metrics[] = {
	INV_NUMBER_METRIC("structure", "trial.structure.R2", "R²", NULL, 1, 3),
	INV_NUMBER_METRIC("structure", "trial.structure.CVRMSD", "CVRMSD", NULL, -1, 3),
	{0},
};

static invar_status declare_figures(invar_results *r, bool gain)
{
	char id[ID], row[ROW];
	invar_metric m;

	for (int i = 0; i < INV_TRIAL_FIGURES; i++) {
		describe_figure(i, gain, id, row, &m);
		INV_TRY(inv_results_add_metric(r, &m));
	}
	return INVAR_OK;
}

static invar_status put_trial_figure(invar_results *r, const char *metric,
                                     const char *column, const inv_interval *i)
{
	return i->images && !isnan(i->value) ? inv_put_interval(r, metric, column, i)
	                                     : INVAR_OK;
}

/* Without old: only the new index. */
static invar_status put_trial_column(invar_results *r, const char *column,
                                     const inv_trial_column *c, bool is_F, bool old)
{
	char id[ID], row[ROW];
	invar_metric m;

	for (int i = old ? 0 : INV_TRIAL_FIGURES / 2; i < INV_TRIAL_FIGURES; i++) {
		describe_figure(i, false, id, row, &m);
		INV_TRY(put_trial_figure(r, id, column, &c->value[i]));
		if (is_F)
			continue;
		describe_figure(i, true, id, row, &m);
		INV_TRY(put_trial_figure(r, id, column, &c->gain[i]));
	}
	INV_TRY(put_trial_figure(r, structure_metrics[0].id, column, &c->r2));
	return put_trial_figure(r, structure_metrics[1].id, column, &c->cvrmsd);
}

/* "E" at strength 1, "E, strength 0.8" at another; an adapter may have both. */
static invar_status add_attempt(invar_results *r, const inv_trial_attempt *a,
                                const inv_trial_column *c, double strength)
{
	char id[ID], title[ID];

	snprintf(id, sizeof id, c == &a->weaker ? "%s-%g" : "%s", a->id, strength);
	snprintf(title, sizeof title, strength == 1 ? "%s" : "%s, strength %g", a->id,
	         strength);
	INV_TRY(inv_results_add_column(r, id, title, NULL));
	return put_trial_column(r, id, c, false, !a->own_space);
}

invar_status inv_trial_results(const inv_trial *t, invar_results **out)
{
	const inv_trial_rows *rows = &t->rows;
	const inv_source *s = rows->source;
	invar_results *r;
	bool old = false;
	invar_status st;

	INV_TRY(inv_results_new(out));
	r = *out;
	INV_TRY_OR(end, inv_results_describe_all(
						r, json_pack("{s:o, s:s*, s:s*, s:s, s:I, s:I, s:I, s:I, s:I}",
	                                 "bank", inv_json_path(rows->bank->path), "encoder",
	                                 invar_bank_field(rows->bank, "encoder"), "augment",
	                                 invar_bank_field(rows->bank, "augment"), "split",
	                                 s->split, "points", (json_int_t)rows->images, "copies",
	                                 (json_int_t)s->copies, "dim", (json_int_t)s->dim,
	                                 "held_out", (json_int_t)rows->folds * rows->held,
	                                 "folds", (json_int_t)rows->folds)));
	INV_TRY_OR(end, inv_results_add_measurement(r, "same-image", "same image"));
	INV_TRY_OR(end,
	           inv_results_add_measurement(r, "class", "class of the nearest neighbour"));
	INV_TRY_OR(end, inv_results_add_measurement(r, "structure", "structure"));
	INV_TRY_OR(end, declare_figures(r, false));
	INV_TRY_OR(end, inv_results_declare(r, "structure", "structure", structure_metrics));
	INV_TRY_OR(end, declare_figures(r, true));

	for (size_t i = 0; i < t->attempts; i++)
		old = old || !t->attempt[i].own_space;
	INV_TRY_OR(end, inv_results_add_column(r, "F", "F", NULL));
	if (t->f.fraction)
		INV_TRY_OR(end, put_trial_column(r, "F", &t->f, true, old));
	for (size_t i = 0; i < t->attempts; i++) {
		const inv_trial_attempt *a = &t->attempt[i];

		INV_TRY_OR(end, add_attempt(r, a, &a->first, a->first_strength));
		if (a->weaker.fraction)
			INV_TRY_OR(end, add_attempt(r, a, &a->weaker, a->strength));
	}
	if (t->f.fraction && !rows->labelled)
		st = inv_results_skip(r, "class", NULL, rows->no_labels);
end:
	return inv_results_give(st, out);
}

#define TRIED "E" /* id of its column */

invar_status invar_trial(const invar_bank *bank, const invar_options *o,
                         invar_results **out)
{
	inv_trial t = {.attempts = 0};
	const inv_trial_attempt *a = &t.attempt[0];
	const inv_trial_verdict *verdict;
	char column[ID];
	invar_status st;

	*out = NULL;
	INV_TRY(inv_options_expect(o, "train"));
	INV_TRY(inv_class_view_check(bank, o));
	INV_TRY_OR(end, inv_trial_begin(bank, o, &t));
	if (!*t.unknown.why)
		INV_TRY_OR(end, inv_trial_try(&t, o, TRIED));
	INV_TRY_OR(end, inv_trial_results(&t, out));

	verdict = t.attempts ? &a->verdict : &t.unknown;
	INV_TRY_OR(end, inv_results_describe_all(*out, json_pack("{s:s, s:s}", "verdict",
	                                                         inv_trial_words[verdict->word],
	                                                         "why", verdict->why)));
	if (t.attempts) {
		snprintf(column, sizeof column, a->weaker.fraction ? TRIED "-%g" : TRIED,
		         a->strength);
		st = inv_results_describe_all(
			*out, json_pack("{s:f, s:s}", "strength", a->strength, "column", column));
	}
end:
	inv_trial_clear(&t);
	return inv_results_give(st, out);
}

/* ---- What follows from it ------------------------------------------------------------ */

/*
 * { metric: { "F": value, "E": value, "low": …, "high": … } }, the last two of E - F. For
 * R2 and CVRMSD F is a constant, so that their own interval is shifted by it.
 */
static json_t *list_figures(const invar_results *r, const char *column)
{
	json_t *figures = json_object();

	for (size_t i = 0; figures && i < invar_results_metrics(r); i++) {
		const invar_metric *m = invar_results_metric(r, i);
		const invar_value *f = invar_results_value(r, m->id, "F");
		const invar_value *e = column ? invar_results_value(r, m->id, column) : NULL;
		const invar_value *gain;
		double shift;
		char id[ID];
		json_t *one;

		if (m->detail || !f || !e)
			continue;
		snprintf(id, sizeof id, "%s" GAIN, m->id);
		gain = invar_results_value(r, id, column);
		shift = gain ? 0 : f->value;
		gain = gain ? gain : e;
		one = isfinite(gain->low)
		          ? json_pack("{s:f, s:f, s:f, s:f}", "F", f->value, "E", e->value, "low",
		                      gain->low - shift, "high", gain->high - shift)
		          : json_pack("{s:f, s:f}", "F", f->value, "E", e->value);
		if (json_object_set_new(figures, m->id, one) != 0) {
			json_decref(figures);
			return NULL;
		}
	}
	return figures;
}

invar_status invar_trial_settle(const invar_results *r, invar_options *o)
{
	const char *verdict = invar_results_about(r, "verdict"),
			   *why = invar_results_about(r, "why");
	bool harm, none;
	json_t *record;

	INV_TRY(inv_options_expect(o, "train"));
	if (!verdict || !why)
		return inv_fail(INVAR_E_USE, "these results are not of a trial");
	harm = strcmp(verdict, inv_trial_words[INV_TRIAL_HARM]) == 0;
	none = strcmp(verdict, inv_trial_words[INV_TRIAL_NONE]) == 0;
	if ((harm || none) && !inv_option_flag(o, "even-if-worse")) {
		inv_fail(INVAR_E_MISMATCH,
		         "%s on held-out images, so that no adapter is written: %s; "
		         "@even-if-worse writes it all the same",
		         harm ? "it does harm" : "it does not help", why);
		return inv_topic(INVAR_E_MISMATCH, INV_NO_ADAPTER);
	}
	if (!invar_results_about(r, "column") && inv_option_number(o, "keep-structure") > 0)
		return inv_fail(INVAR_E_MISMATCH, "@keep-structure has no strength: %s", why);
	if (invar_results_about(r, "column") &&
	    inv_results_about_number(r, "strength") != inv_option_number(o, "strength"))
		INV_TRY(invar_options_set_number(o, "strength",
		                                 inv_results_about_number(r, "strength")));
	record = json_pack("{s:s, s:s, s:I, s:I, s:f, s:o}", "verdict", verdict, "why", why,
	                   "images", (json_int_t)inv_results_about_number(r, "points"),
	                   "held_out", (json_int_t)inv_results_about_number(r, "held_out"),
	                   "strength", inv_option_number(o, "strength"), "figures",
	                   list_figures(r, invar_results_about(r, "column")));
	return record ? inv_options_set_record(o, "trial", record) : inv_no_memory();
}
