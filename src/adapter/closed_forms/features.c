/* SPDX-License-Identifier: Apache-2.0 */
/*
 * features.c - ridge regression of clean - z on random features of z (feature_ridge.h).
 *
 * It has two free numbers. `anchor`, the weight of clean rows, trades invariance for
 * structure, so no error can choose it: it comes from the option, by default 1 as in MaWa.
 * Lambda, unless given, is the one with the smallest error on a tenth of the images, the
 * error that the fit minimises: copies weigh 1, clean rows `anchor`.
 *
 * Lambda is searched from 0.3 downhill, in steps of a factor of about 3: the error has had
 * one minimum on every bank so far, and each step costs a Cholesky factor. The best one
 * is then fitted to all images. A tridiagonal form of the Gram matrix would serve all
 * lambdas, but it costs four times the operations of a factor, half of them matrix-vector
 * products at the speed of memory: more than the three or four factors of a walk.
 *
 * If there are many units, half of them are tried, at an eighth of the cost of a factor.
 * Fewer units make a noisier kernel, which prefers a larger lambda, if anything: so of
 * lambdas whose errors are within a tie of the least, the smallest is taken. On three banks
 * (docs/design/ADAPTER.md) this is the choice that all units make.
 */
#include <inttypes.h>
#include <math.h>

#include "adapter/closed_forms/feature_ridge.h"
#include "adapter/closed_forms/visit_pairs.h"
#include "base/memory.h"
#include "math/linalg.h"

enum { CHOICES = 9, FIRST = 5, MIN_TRIED = 1024 /* units */ };

static const double tie = 0.005;
static const double choices[CHOICES] = {1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1, 3, 10};

typedef struct features_fit {
	const inv_closed_form_spec *s;
	inv_pair_visitor rows;
	inv_feature_ridge *ridge;
	double lambda, anchor;
	size_t units, tried;   /* all hidden units; those of a trial */
	double error[CHOICES]; /* of held-out rows, per feature; NaN: not tried */
} features_fit;

static invar_status add_rows(void *user, const float *a, const float *b, uint64_t rows)
{
	features_fit *f = user;

	return a == b ? inv_feature_ridge_add_clean(f->ridge, a, rows)
	              : inv_feature_ridge_add_copies(f->ridge, a, b, rows);
}

static invar_status sum_images(features_fit *f, const uint32_t *images, uint32_t count)
{
	return inv_visit_pairs(&f->rows, images, count, add_rows, f);
}

/* ---- Choosing lambda -------------------------------------------------------------- */

typedef struct judge {
	features_fit *f;
	inv_feature_trial trial;
	double sum, cells; /* of weighted squared errors; of weights */
} judge;

static invar_status add_error(void *user, const float *a, const float *b, uint64_t rows)
{
	judge *j = user;
	double weight = a == b ? j->f->anchor : 1, sum = 0;
	invar_status st = inv_feature_ridge_add_error(j->f->ridge, &j->trial, a, b, rows, &sum);

	j->sum += weight * sum;
	j->cells += weight * (double)(rows * j->trial.r);
	return st;
}

static invar_status judge_choice(features_fit *f, int i, const uint32_t *held,
                                 uint32_t count)
{
	judge j = {.f = f};
	invar_status st;

	INV_TRY(inv_feature_ridge_try(f->ridge, choices[i], f->anchor, f->tried, &j.trial));
	f->tried = j.trial.units;
	f->rows.total += count;
	st = inv_visit_pairs(&f->rows, held, count, add_error, &j);
	inv_feature_trial_clear(&j.trial);
	f->error[i] = j.sum / j.cells;
	inv_log(f->s->bank->ctx, INVAR_LOG_DETAIL, "features %g: held-out error %.6g",
	        choices[i], f->error[i]);
	return st;
}

/* Continues in one direction while the error falls; *best is where it stops. */
static invar_status descend(features_fit *f, int step, const uint32_t *held, uint32_t count,
                            int *best)
{
	invar_status st = INVAR_OK;

	for (int next = *best + step; next >= 0 && next < CHOICES; next += step) {
		if ((st = judge_choice(f, next, held, count)) != INVAR_OK ||
		    !(f->error[next] < f->error[*best]))
			return st;
		*best = next;
	}
	return st;
}

/* With all units, the best one itself. */
static int smallest_tie(const features_fit *f, int best)
{
	double most = f->error[best] * (1 + tie);

	if (f->tried < f->units)
		while (best > 0 && f->error[best - 1] <= most) /* NaN: not tried */
			best--;
	return best;
}

static void settle_lambda(features_fit *f, int best)
{
	int taken = smallest_tie(f, best);

	f->lambda = choices[taken];
	if (taken == best)
		inv_log(f->s->bank->ctx, INVAR_LOG_INFO,
		        "ridge %g has the smallest error on held-out images", f->lambda);
	else
		inv_log(
			f->s->bank->ctx, INVAR_LOG_INFO,
			"ridge %g is chosen: its error on held-out images equals the smallest, that "
			"of %g, within %g %%",
			f->lambda, choices[best], 100 * tie);
}

static invar_status choose_lambda(features_fit *f, const uint32_t *held, uint32_t count)
{
	int best = FIRST;
	invar_status st = judge_choice(f, FIRST, held, count);

	if (st == INVAR_OK)
		st = descend(f, 1, held, count, &best);
	if (st == INVAR_OK && best == FIRST)
		st = descend(f, -1, held, count, &best);
	if (st == INVAR_OK)
		settle_lambda(f, best);
	return st;
}

/* Leaves the sums of all images, first those kept and then those held out. */
static invar_status sum_and_choose(features_fit *f)
{
	uint32_t n = f->s->image_count, kept, *order;
	invar_status st = inv_hold_out(f->s, &order, &kept);

	if (st == INVAR_OK)
		st = sum_images(f, order, kept);
	if (st == INVAR_OK)
		st = choose_lambda(f, order + kept, n - kept);
	if (st == INVAR_OK)
		st = sum_images(f, order + kept, n - kept);
	inv_free(order);
	return st;
}

/* ---- Fitting ---------------------------------------------------------------------- */

static bool add_errors(const features_fit *f, json_t *about)
{
	json_t *errors = json_array();
	bool added = json_object_set_new(about, "held_out_error", errors) == 0;

	for (int i = 0; i < CHOICES && added; i++)
		if (!isnan(f->error[i]))
			added = json_array_append_new(
						errors, json_pack("{s:f, s:o}", "lambda", choices[i], "error",
			                              inv_json_number(f->error[i]))) == 0;
	if (added && f->tried < f->units)
		added = json_object_set_new(about, "held_out_units",
		                            json_integer((json_int_t)f->tried)) == 0;
	return added;
}

static invar_status describe_features(const features_fit *f, bool given, json_t *about)
{
	if (json_object_set_new(about, "lambda", inv_json_number(f->lambda)) == 0 &&
	    json_object_set_new(about, "anchor", inv_json_number(f->anchor)) == 0 &&
	    (given || add_errors(f, about)))
		return INVAR_OK;
	return inv_fail(INVAR_E_NOMEM, "not enough memory for run.json");
}

static invar_status open_fit(features_fit *f)
{
	const inv_closed_form_spec *s = f->s;
	inv_clean_statistics scale;
	invar_status st =
		inv_clean_statistics_of(s->bank, s->split, s->images, s->image_count, &scale);

	if (st != INVAR_OK)
		return st;
	inv_bank_wont_need(s->bank, s->split, INVAR_CLEAN, s->images[0],
	                   s->images[s->image_count - 1]);
	st = inv_feature_ridge_new(s->bank->ctx, s->bank->dim, f->units, &scale, s->seed,
	                           &f->ridge);
	inv_clean_statistics_clear(&scale);
	return st == INVAR_OK ? inv_pair_visitor_open(s, true, &f->rows) : st;
}

static invar_status run_fit(features_fit *f, inv_closed_form *out)
{
	bool given = f->lambda > 0;
	invar_status st = open_fit(f);

	if (st == INVAR_OK)
		st = given ? sum_images(f, f->s->images, f->s->image_count) : sum_and_choose(f);
	if (st == INVAR_OK)
		st = inv_feature_ridge_solve(f->ridge, f->lambda, f->anchor, out);
	return st == INVAR_OK ? describe_features(f, given, out->about) : st;
}

static invar_status fit_features(const inv_closed_form_spec *s, inv_closed_form *out)
{
	features_fit f = {.s = s,
	                  .lambda = inv_option_number(s->options, "ridge"),
	                  .anchor = inv_option_number(s->options, "anchor")};
	invar_status st;

	f.units = (size_t)inv_option_count(s->options, "hidden");
	f.tried = f.units / 2 > MIN_TRIED ? f.units / 2 : MIN_TRIED;
	if (f.tried > f.units)
		f.tried = f.units;
	for (int i = 0; i < CHOICES; i++)
		f.error[i] = NAN;
	st = run_fit(&f, out);
	inv_pair_visitor_close(&f.rows);
	inv_feature_ridge_free(f.ridge);
	return st;
}

static invar_status check_features(const invar_options *o, size_t d)
{
	uint64_t h = inv_option_count(o, "hidden");

	if (d + h <= INV_LINALG_WIDEST)
		return INVAR_OK;
	return inv_fail(INVAR_E_USE,
	                "@init features solves for all features and hidden units at once, at "
	                "most %d: the bank has %zu, @hidden is %" PRIu64,
	                INV_LINALG_WIDEST, d, h);
}

extern const inv_closed_form_kind inv_closed_form_features;
const inv_closed_form_kind inv_closed_form_features = {
	.name = "features",
	.needs_copies = true,
	.has_units = true,
	.residual = true,
	.shares = "ridge|anchor",
	.check = check_features,
	.fit = fit_features,
};
