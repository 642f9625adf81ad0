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
#include "measure/measurement.h"
#include "measure/trial.h"

static const char *const tried[] = {"instant", "keep"}; /* presets */

enum { TRIED = sizeof tried / sizeof *tried, WHY = 1024 };

static const double alike = 0.005; /* of a share: half a point */

static const invar_option option_rows[] = {
	{"split", INVAR_OPTION_TEXT, "train", .meta = "NAME", .group = "Data",
     .help = "split that an adapter would be trained on"},
	{"hidden", INVAR_OPTION_COUNT, "0", .max = 1 << 20, .meta = "N", .group = "Method",
     .help = "width of the hidden layer, as for train; 0: that of each preset"},
	{INV_SEED_ROW},
	{0},
};

invar_status inv_diagnose_declare(invar_options *o)
{
	INV_TRY(inv_options_add_rows(o, option_rows));
	return inv_bank_declare(o);
}

/* Tries one preset; the first begins the trial. */
static invar_status try_preset(const invar_bank *bank, const invar_options *o,
                               const char *preset, bool first, inv_trial *t)
{
	uint64_t hidden = inv_option_count(o, "hidden");
	invar_options *training;
	invar_status st;

	INV_TRY(inv_options_begin("train", &training));
	INV_TRY_OR(end, inv_train_declare(training));
	INV_TRY_OR(end, invar_options_set(training, "preset", preset));
	INV_TRY_OR(end, invar_options_set(training, "split", inv_option_text(o, "split")));
	INV_TRY_OR(end, invar_options_set_number(training, "seed",
	                                         (double)inv_option_count(o, "seed")));
	if (hidden)
		INV_TRY_OR(end, invar_options_set_number(training, "hidden", (double)hidden));
	if (first) /* which rows are held out does not depend on the preset */
		INV_TRY_OR(end, inv_trial_begin(bank, training, t));
	if (!*t->unknown.why)
		st = inv_trial_try(t, training, preset);
end:
	invar_options_free(training);
	return st;
}

static const inv_trial_column *taken(const inv_trial_attempt *a)
{
	return a->weaker.fraction ? &a->weaker : &a->first;
}

/* Mean of the augmented figures in the old index. */
static double score_of(const inv_trial_attempt *a)
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

static const inv_trial_attempt *best_attempt(const inv_trial *t)
{
	const inv_trial_attempt *best = NULL;

	for (size_t i = 0; i < t->attempts; i++) {
		const inv_trial_attempt *a = &t->attempt[i];
		double ahead = best ? score_of(a) - score_of(best) : INFINITY;

		if (a->verdict.word == INV_TRIAL_HELPS &&
		    (ahead > alike ||
		     (ahead > -alike && taken(a)->r2.value > taken(best)->r2.value)))
			best = a;
	}
	return best;
}

invar_status invar_diagnose(const invar_bank *bank, const invar_options *o,
                            invar_results **out)
{
	static const char *const verbs[] = {"helps", "does not help", "does harm"};
	inv_trial t = {.attempts = 0};
	const inv_trial_attempt *best;
	char why[WHY * TRIED];
	size_t fill;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_options_expect(o, "diagnose"));
	INV_TRY(inv_class_view_check(bank, o));
	for (size_t i = 0; i < TRIED && !*t.unknown.why; i++)
		INV_TRY_OR(end, try_preset(bank, o, tried[i], i == 0, &t));
	INV_TRY_OR(end, inv_trial_results(&t, out));
	best = best_attempt(&t);
	INV_TRY_OR(end, inv_results_describe(
						*out, "verdict",
						json_string(best         ? best->id
	                                : t.attempts ? inv_trial_words[INV_TRIAL_NONE]
	                                             : inv_trial_words[INV_TRIAL_UNKNOWN])));
	fill = (size_t)snprintf(why, sizeof why, "%s", t.unknown.why);
	for (size_t i = 0; i < t.attempts && fill < sizeof why; i++) /* a line per preset */
		fill += (size_t)snprintf(
			why + fill, sizeof why - fill, "%s%s %s: %s", i ? "\n" : "", t.attempt[i].id,
			verbs[t.attempt[i].verdict.word], t.attempt[i].verdict.why);
	st = inv_results_describe(*out, "why", json_string(why));
end:
	inv_trial_clear(&t);
	return inv_results_give(st, out);
}
