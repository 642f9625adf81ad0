/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diagnose.c - invar_diagnose: the trial of the presets, side by side with F.
 *
 * The verdict names the preset to use, or "none". Of those that help it is the one with
 * the highest mean of the augmented figures in the old index; if two are closer than
 * `alike`, the one that keeps more structure.
 */
#include <math.h>
#include <stdio.h>

#include "bank/class_view.h"
#include "measure/trial.h"

static const char *const tried[] = {"instant", "keep"}; /* presets */

enum { TRIED = sizeof tried / sizeof *tried, WHY = 1024 };

static const double alike = 0.005; /* of a share: half a point */

static const invar_option option_rows[] = {
	{.name = "split",
     .type = INVAR_OPTION_TEXT,
     .initial = "train",
     .meta = "NAME",
     .group = "Data",
     .help = "split that an adapter would be trained on"},
	{.name = "hidden",
     .type = INVAR_OPTION_COUNT,
     .initial = "0",
     .max = 1 << 20,
     .meta = "N",
     .group = "Method",
     .help = "width of the hidden layer, as for train; 0: that of each preset"},
	{INV_SEED_ROW},
	{0},
};

invar_status inv_diagnose_declare(invar_options *o)
{
	invar_status st = inv_options_add_rows(o, option_rows);

	return st == INVAR_OK ? inv_bank_declare(o) : st;
}

/* The options of a training with a preset; gives. */
static invar_status training_of(const invar_options *o, const char *preset,
                                invar_options **out)
{
	uint64_t hidden = inv_option_count(o, "hidden");
	invar_status st = inv_options_begin("train", out);

	if (st == INVAR_OK)
		st = inv_train_declare(*out);
	if (st == INVAR_OK)
		st = invar_options_set(*out, "preset", preset);
	if (st == INVAR_OK)
		st = invar_options_set(*out, "split", inv_option_text(o, "split"));
	if (st == INVAR_OK)
		st = invar_options_set_number(*out, "seed", (double)inv_option_count(o, "seed"));
	if (st == INVAR_OK && hidden)
		st = invar_options_set_number(*out, "hidden", (double)hidden);
	if (st == INVAR_OK)
		return INVAR_OK;
	invar_options_free(*out);
	*out = NULL;
	return st;
}

/* The first preset begins the trial; what is tried does not change which rows are held out.
 */
static invar_status try_presets(const invar_bank *bank, const invar_options *o,
                                inv_trial *t)
{
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < TRIED && st == INVAR_OK && !*t->unknown.why; i++) {
		invar_options *training = NULL;

		st = training_of(o, tried[i], &training);
		if (st == INVAR_OK && i == 0)
			st = inv_trial_begin(bank, training, t);
		if (st == INVAR_OK && !*t->unknown.why)
			st = inv_trial_try(t, training, tried[i]);
		invar_options_free(training);
	}
	return st;
}

static const inv_trial_column *taken(const inv_trial_attempt *a)
{
	return a->weaker.share ? &a->weaker : &a->first;
}

/* Mean of the augmented figures in the old index. */
static double score(const inv_trial_attempt *a)
{
	double sum = 0;
	int count = 0;

	for (int sought = 0; sought < INV_TRIAL_SOUGHT; sought++)
		for (int distance = 0; distance < INV_DISTANCES; distance++) {
			int figure =
				inv_trial_figure(INV_TRIAL_OLD, sought, distance, INV_TRIAL_AUGMENTED);

			if (taken(a)->value[figure].images) {
				sum += taken(a)->value[figure].value;
				count++;
			}
		}
	return sum / count;
}

static const inv_trial_attempt *choose_preset(const inv_trial *t)
{
	const inv_trial_attempt *best = NULL;

	for (size_t i = 0; i < t->attempts; i++) {
		const inv_trial_attempt *a = &t->attempt[i];
		double ahead = best ? score(a) - score(best) : INFINITY;

		if (a->verdict.word == INV_TRIAL_HELPS &&
		    (ahead > alike ||
		     (ahead > -alike && taken(a)->r2.value > taken(best)->r2.value)))
			best = a;
	}
	return best;
}

/* A line per preset: "instant helps: …". */
static void explain(const inv_trial *t, char out[WHY * TRIED])
{
	static const char *const verbs[] = {"helps", "does not help", "does harm"};
	size_t fill = (size_t)snprintf(out, WHY * TRIED, "%s", t->unknown.why);

	for (size_t i = 0; i < t->attempts && fill < WHY * TRIED; i++) {
		const inv_trial_attempt *a = &t->attempt[i];

		fill +=
			(size_t)snprintf(out + fill, WHY * TRIED - fill, "%s%s %s: %s", i ? "\n" : "",
		                     a->id, verbs[a->verdict.word], a->verdict.why);
	}
}

static invar_status conclude_diagnosis(const inv_trial *t, invar_results *r)
{
	const inv_trial_attempt *best = choose_preset(t);
	char why[WHY * TRIED];
	invar_status st = inv_results_describe(
		r, "verdict",
		json_string(best          ? best->id
	                : t->attempts ? inv_trial_words[INV_TRIAL_NONE]
	                              : inv_trial_words[INV_TRIAL_UNKNOWN]));

	explain(t, why);
	return st == INVAR_OK ? inv_results_describe(r, "why", json_string(why)) : st;
}

invar_status invar_diagnose(const invar_bank *bank, const invar_options *o,
                            invar_results **out)
{
	inv_trial t = {.attempts = 0};
	invar_status st = inv_options_expect(o, "diagnose");

	*out = NULL;
	if (st == INVAR_OK)
		st = inv_class_view_check(bank, o);
	if (st == INVAR_OK)
		st = try_presets(bank, o, &t);
	if (st == INVAR_OK)
		st = inv_trial_results(&t, out);
	if (st == INVAR_OK && (st = conclude_diagnosis(&t, *out)) != INVAR_OK) {
		invar_results_free(*out);
		*out = NULL;
	}
	inv_trial_clear(&t);
	return st;
}
