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
#include "base/memory.h"
#include "base/text.h"
#include "run/results.h"

enum { BISECTIONS = 12, ID = 96, ROW = 96 };

static const double weaker[] = {0.9, 0.8, 0.7, 0.5};

/* ---- The training that is tried ------------------------------------------------------ */

static invar_status check_dial(const invar_options *o, const inv_train_plan *plan)
{
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

/* What the training on all images would be; fails with the messages that it would have. */
static invar_status plan_training(inv_source *source, const invar_options *o,
                                  inv_train_plan *plan)
{
	inv_train_settings settings;
	invar_status st;

	*plan = (inv_train_plan){.sources = 0};
	inv_train_read(o, &settings);
	st = inv_train_check(&settings, &source, 1, plan);
	return st == INVAR_OK ? check_dial(o, plan) : st;
}

static bool can_be_tried(const inv_source *s, inv_trial_verdict *unknown)
{
	unknown->word = INV_TRIAL_UNKNOWN;
	if (!s->copies)
		snprintf(unknown->why, sizeof unknown->why,
		         "%s has no augmented copies to measure with, so the trial cannot tell "
		         "whether an adapter helps",
		         s->split);
	else if (s->rows < INV_TRIAL_MIN_IMAGES)
		snprintf(unknown->why, sizeof unknown->why,
		         "%s has %" PRIu64
		         " %s, and with fewer than %d a trial cannot tell whether an adapter helps",
		         s->split, s->rows, inv_noun(s->rows, "image", "images"),
		         INV_TRIAL_MIN_IMAGES);
	return !*unknown->why;
}

/*
 * A training on unit rows, by the option or because all rows have norm 1, gives an adapter
 * that normalises features and codes: F is then unit(F(x)) as well.
 */
static invar_status settle_unit(inv_source *s, const invar_options *o)
{
	bool unit = inv_option_flag(o, "unit");
	invar_status st = INVAR_OK;

	if (!inv_option_is_set(o, "unit") && !inv_option_flag(o, "decoder"))
		st = inv_bank_has_unit_rows(s->bank, s->stored, &unit);
	if (st == INVAR_OK && unit)
		inv_source_normalise(s);
	return st;
}

invar_status inv_trial_begin(const invar_bank *bank, const invar_options *o, inv_trial *t)
{
	inv_source *source = NULL;
	inv_train_plan plan;
	invar_status st = inv_bank_source_open(bank, &source);

	*t = (inv_trial){.attempts = 0};
	if (st == INVAR_OK)
		st = plan_training(source, o, &plan);
	if (st != INVAR_OK) {
		inv_source_close(source);
		return st;
	}
	if (!can_be_tried(source, &t->unknown)) {
		t->rows.source = source; /* for the description of the results */
		t->rows.bank = bank;
		t->rows.images = (uint32_t)source->rows;
		return INVAR_OK;
	}
	if ((st = settle_unit(source, o)) != INVAR_OK) {
		inv_source_close(source);
		return st;
	}
	if ((st = inv_trial_rows_open(source, o, &t->rows)) != INVAR_OK)
		return st;
	inv_log(bank->ctx, INVAR_LOG_INFO,
	        "trial: measured on %" PRIu32 " held-out images of %s, in %" PRIu32 " %s",
	        t->rows.folds * t->rows.held, source->split, t->rows.folds,
	        inv_noun(t->rows.folds, "fit", "fits"));
	return inv_trial_measure(&t->rows, NULL, NULL, &t->f);
}

/* ---- Codes --------------------------------------------------------------------------- */

/*
 * As many steps as the training on all images will have: every step loses structure and
 * gains invariance, so that the same epochs on fewer images would bias both.
 */
static invar_status match_steps(const inv_trial_rows *r, const inv_train_plan *plan,
                                invar_options *o)
{
	uint64_t batch = plan->batch < r->fitted ? plan->batch : r->fitted;
	double all = (double)(plan->images / plan->N), here = (double)(r->fitted / batch);
	double epochs = round((double)inv_option_count(o, "epochs") * all / here);

	return invar_options_set_number(o, "epochs", epochs < 1 ? 1 : epochs);
}

static invar_status code_fold(const inv_trial_rows *r, const inv_mlp_form *e,
                              inv_trial_fold *f)
{
	invar_status st;

	inv_free(f->code_clean);
	inv_free(f->code_query);
	f->code_clean = inv_alloc(r->gallery * e->s.w * sizeof *f->code_clean);
	f->code_query = inv_alloc(r->queries * e->s.w * sizeof *f->code_query);
	if (!f->code_clean || !f->code_query)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for the codes of a trial");
	st = inv_mlp_apply(r->ctx, e->s, e->params, e->residual, f->clean, r->gallery,
	                   f->code_clean);
	return st == INVAR_OK ? inv_mlp_apply(r->ctx, e->s, e->params, e->residual, f->query,
	                                      r->queries, f->code_query)
	                      : st;
}

/* Fits at strength 1; the codes are moved later. */
static invar_status fit_folds(inv_trial_rows *r, const invar_options *o,
                              const inv_train_plan *plan)
{
	invar_options *own = NULL;
	invar_status st = inv_options_copy(o, &own);

	if (st == INVAR_OK)
		st = invar_options_set_number(own, "strength", 1);
	if (st == INVAR_OK && plan->loss)
		st = match_steps(r, plan, own);
	for (uint32_t k = 0; k < r->folds && st == INVAR_OK; k++) {
		const inv_memory_training training = {.bank = r->bank,
		                                      .options = own,
		                                      .images = r->fold[k].images,
		                                      .image_count = r->fitted};
		inv_mlp_form e = {.params = NULL};

		st = inv_train_in_memory(&training, &e);
		if (st == INVAR_OK)
			st = code_fold(r, &e, &r->fold[k]);
		inv_free(e.params);
	}
	invar_options_free(own);
	return st;
}

/* ---- Strength ------------------------------------------------------------------------ */

/* The largest strength up to c->strength that keeps this R2; 0 if none does. */
static invar_status keep_structure(const inv_trial_rows *r, double keep, inv_trial_codes *c)
{
	double low = 0, high = c->strength, r2;
	invar_status st = inv_trial_structure(r, c, &r2);

	if (st != INVAR_OK || r2 >= keep)
		return st;
	for (int i = 0; i < BISECTIONS && st == INVAR_OK; i++) {
		c->strength = (low + high) / 2;
		st = inv_trial_structure(r, c, &r2);
		if (r2 >= keep)
			low = c->strength;
		else
			high = c->strength;
	}
	c->strength = floor(low * 1e4) / 1e4; /* short in run.json, and no stronger */
	return st;
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
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < sizeof weaker / sizeof *weaker && st == INVAR_OK; i++) {
		inv_trial_verdict verdict;

		c.strength = weaker[i];
		st = inv_trial_measure(&t->rows, &c, &t->f, &a->weaker);
		if (st != INVAR_OK)
			return st;
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
	return st;
}

static invar_status measure_attempt(inv_trial *t, const invar_options *o,
                                    const inv_train_plan *plan, inv_trial_attempt *a)
{
	double keep = inv_option_number(o, "keep-structure");
	bool movable = plan->shape.w == plan->shape.d && !plan->decoder.h;
	inv_trial_codes c = {.w = plan->shape.w,
	                     .own_space = a->own_space,
	                     .strength = inv_option_number(o, "strength")};
	invar_status st = keep > 0 ? keep_structure(&t->rows, keep, &c) : INVAR_OK;

	a->first_strength = a->strength = c.strength;
	if (st == INVAR_OK)
		st = inv_trial_measure(&t->rows, &c, &t->f, &a->first);
	if (st != INVAR_OK)
		return st;
	judge_column(t, &c, &a->first, &a->verdict);
	if (keep > 0 && c.strength == 0) {
		a->verdict.word = INV_TRIAL_NONE;
		snprintf(a->verdict.why, sizeof a->verdict.why,
		         "no strength above 0 keeps an R2 of %g on held-out images", keep);
	}
	if (a->verdict.word == INV_TRIAL_HARM && movable && !a->own_space && keep <= 0 &&
	    !inv_option_is_set(o, "strength"))
		st = try_weaker(t, c, a);
	return st;
}

invar_status inv_trial_try(inv_trial *t, const invar_options *o, const char *id)
{
	inv_trial_attempt *a = &t->attempt[t->attempts];
	inv_train_plan plan;
	invar_status st = plan_training(t->rows.source, o, &plan);

	if (st == INVAR_OK)
		st = fit_folds(&t->rows, o, &plan);
	if (st != INVAR_OK)
		return st;
	*a = (inv_trial_attempt){.own_space = plan.shape.w != plan.shape.d ||
	                                      (plan.loss && !plan.loss->same_width)};
	t->attempts++;
	snprintf(a->id, sizeof a->id, "%s", id);
	return measure_attempt(t, o, &plan, a);
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
	{.id = "trial.structure.R2",
     .measurement = "structure",
     .row = "R²",
     .better = 1,
     .digits = 3},
	{.id = "trial.structure.CVRMSD",
     .measurement = "structure",
     .row = "CVRMSD",
     .better = -1,
     .digits = 3},
};

static invar_status declare_results(invar_results *r)
{
	char id[ID], row[ROW];
	invar_metric m;
	invar_status st = inv_results_add_measurement(r, "same-image", "same image");

	if (st == INVAR_OK)
		st = inv_results_add_measurement(r, "class", "class of the nearest neighbour");
	if (st == INVAR_OK)
		st = inv_results_add_measurement(r, "structure", "structure");
	for (int gain = 0; gain < 2; gain++) {
		for (int i = 0; i < INV_TRIAL_FIGURES && st == INVAR_OK; i++) {
			describe_figure(i, gain, id, row, &m);
			st = inv_results_add_metric(r, &m);
		}
		for (int i = 0; i < 2 && !gain && st == INVAR_OK; i++)
			st = inv_results_add_metric(r, &structure_metrics[i]);
	}
	return st;
}

static invar_status put_interval(invar_results *r, const char *metric, const char *column,
                                 const inv_interval *i)
{
	char why[INV_INTERVAL_WHY];
	invar_value value;

	if (!i->images || isnan(i->value))
		return INVAR_OK;
	value = inv_interval_value(i, why);
	return inv_results_put(r, metric, column, &value);
}

/* Without old: only the new index. */
static invar_status put_column(invar_results *r, const char *column,
                               const inv_trial_column *c, bool is_F, bool old)
{
	char id[ID], row[ROW];
	invar_metric m;
	invar_status st = INVAR_OK;

	for (int i = old ? 0 : INV_TRIAL_FIGURES / 2; i < INV_TRIAL_FIGURES && st == INVAR_OK;
	     i++) {
		describe_figure(i, false, id, row, &m);
		st = put_interval(r, id, column, &c->value[i]);
		if (st == INVAR_OK && !is_F) {
			describe_figure(i, true, id, row, &m);
			st = put_interval(r, id, column, &c->gain[i]);
		}
	}
	if (st == INVAR_OK)
		st = put_interval(r, structure_metrics[0].id, column, &c->r2);
	return st == INVAR_OK ? put_interval(r, structure_metrics[1].id, column, &c->cvrmsd)
	                      : st;
}

/* "E" at strength 1, "E, strength 0.8" at another; an adapter may have both. */
static invar_status add_column(invar_results *r, const inv_trial_attempt *a,
                               const inv_trial_column *c, double strength)
{
	char id[ID], title[ID];
	invar_status st;

	snprintf(id, sizeof id, c == &a->weaker ? "%s-%g" : "%s", a->id, strength);
	snprintf(title, sizeof title, strength == 1 ? "%s" : "%s, strength %g", a->id,
	         strength);
	st = inv_results_add_column(r, id, title, NULL);
	return st == INVAR_OK ? put_column(r, id, c, false, !a->own_space) : st;
}

static invar_status describe_bank(invar_results *r, const inv_trial_rows *rows)
{
	const inv_source *s = rows->source;
	json_t *value,
		*about =
			json_pack("{s:o, s:s*, s:s*, s:s, s:I, s:I, s:I, s:I, s:I}", "bank",
	                  inv_json_path(rows->bank->path), "encoder",
	                  invar_bank_field(rows->bank, "encoder"), "augment",
	                  invar_bank_field(rows->bank, "augment"), "split", s->split, "points",
	                  (json_int_t)rows->images, "copies", (json_int_t)s->copies, "dim",
	                  (json_int_t)s->dim, "held_out", (json_int_t)rows->folds * rows->held,
	                  "folds", (json_int_t)rows->folds);
	invar_status st =
		about ? INVAR_OK : inv_fail(INVAR_E_NOMEM, "not enough memory for results");
	const char *key;

	json_object_foreach (about, key, value)
		if (st == INVAR_OK)
			st = inv_results_describe(r, key, json_incref(value));
	json_decref(about);
	return st;
}

static invar_status fill_results(const inv_trial *t, invar_results *r)
{
	invar_status st = describe_bank(r, &t->rows);
	bool old = false;

	for (size_t i = 0; i < t->attempts; i++)
		old = old || !t->attempt[i].own_space;
	if (st == INVAR_OK)
		st = declare_results(r);
	if (st == INVAR_OK)
		st = inv_results_add_column(r, "F", "F", NULL);
	if (st == INVAR_OK && t->f.share)
		st = put_column(r, "F", &t->f, true, old);
	for (size_t i = 0; i < t->attempts && st == INVAR_OK; i++) {
		const inv_trial_attempt *a = &t->attempt[i];

		st = add_column(r, a, &a->first, a->first_strength);
		if (st == INVAR_OK && a->weaker.share)
			st = add_column(r, a, &a->weaker, a->strength);
	}
	if (st == INVAR_OK && t->f.share && !t->rows.labelled)
		st = inv_results_skip(r, "class", NULL, t->rows.no_labels);
	return st;
}

invar_status inv_trial_results(const inv_trial *t, invar_results **out)
{
	invar_status st = inv_results_new(out);

	if (st == INVAR_OK && (st = fill_results(t, *out)) != INVAR_OK) {
		invar_results_free(*out);
		*out = NULL;
	}
	return st;
}

/* ---- The trial of one training ------------------------------------------------------- */

#define TRIED "E" /* id of its column */

static invar_status conclude_trial(const inv_trial *t, invar_results *r)
{
	const inv_trial_attempt *a = &t->attempt[0];
	const inv_trial_verdict *verdict = t->attempts ? &a->verdict : &t->unknown;
	char column[ID];
	invar_status st =
		inv_results_describe(r, "verdict", json_string(inv_trial_words[verdict->word]));

	snprintf(column, sizeof column, a->weaker.share ? TRIED "-%g" : TRIED, a->strength);
	if (st == INVAR_OK)
		st = inv_results_describe(r, "why", json_string(verdict->why));
	if (st == INVAR_OK && t->attempts)
		st = inv_results_describe(r, "strength", json_real(a->strength));
	if (st == INVAR_OK && t->attempts)
		st = inv_results_describe(r, "column", json_string(column));
	return st;
}

invar_status invar_trial(const invar_bank *bank, const invar_options *o,
                         invar_results **out)
{
	inv_trial t = {.attempts = 0};
	invar_status st = inv_options_expect(o, "train");

	*out = NULL;
	if (st == INVAR_OK)
		st = inv_class_view_check(bank, o);
	if (st == INVAR_OK)
		st = inv_trial_begin(bank, o, &t);
	if (st == INVAR_OK && !*t.unknown.why)
		st = inv_trial_try(&t, o, TRIED);
	if (st == INVAR_OK)
		st = inv_trial_results(&t, out);
	if (st == INVAR_OK && (st = conclude_trial(&t, *out)) != INVAR_OK) {
		invar_results_free(*out);
		*out = NULL;
	}
	inv_trial_clear(&t);
	return st;
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

static invar_status record_trial(const invar_results *r, invar_options *o)
{
	json_t *record =
		json_pack("{s:s, s:s, s:I, s:I, s:f, s:o}", "verdict",
	              invar_results_about(r, "verdict"), "why", invar_results_about(r, "why"),
	              "images", (json_int_t)inv_results_about_number(r, "points"), "held_out",
	              (json_int_t)inv_results_about_number(r, "held_out"), "strength",
	              inv_option_number(o, "strength"), "figures",
	              list_figures(r, invar_results_about(r, "column")));

	return record ? inv_options_set_record(o, "trial", record)
	              : inv_fail(INVAR_E_NOMEM, "not enough memory for run.json");
}

invar_status invar_trial_settle(const invar_results *r, invar_options *o)
{
	const char *verdict = invar_results_about(r, "verdict"),
			   *why = invar_results_about(r, "why");
	bool harm, none;
	invar_status st = inv_options_expect(o, "train");

	if (st != INVAR_OK)
		return st;
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
		st = invar_options_set_number(o, "strength",
		                              inv_results_about_number(r, "strength"));
	return st == INVAR_OK ? record_trial(r, o) : st;
}
