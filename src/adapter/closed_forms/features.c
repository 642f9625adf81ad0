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

enum { LAMBDAS = 9, FIRST = 5, MIN_TRIED = 1024 /* units */ };

static const double tie = 0.005;
static const double lambdas[LAMBDAS] = {1e-3, 3e-3, 1e-2, 3e-2, 0.1, 0.3, 1, 3, 10};

typedef struct features_fit {
	const inv_closed_form_spec *s;
	inv_pair_visitor rows;
	inv_feature_ridge *ridge;
	double lambda, anchor;
	size_t units, tried;   /* all hidden units; those of a trial */
	double error[LAMBDAS]; /* of held-out rows, per feature; NaN: not tried */
} features_fit;

/* An inv_pair_fn. */
static invar_status add_to_sums(void *user, const float *a, const float *b, uint64_t rows)
{
	features_fit *f = user;

	return a == b ? inv_feature_ridge_add_clean(f->ridge, a, rows)
	              : inv_feature_ridge_add_copies(f->ridge, a, b, rows);
}

/* ---- Choosing lambda -------------------------------------------------------------- */

typedef struct features_error {
	features_fit *f;
	inv_feature_trial trial;
	double sum, cells; /* of weighted squared errors; of weights */
} features_error;

static invar_status add_features_error(void *user, const float *a, const float *b,
                                       uint64_t rows)
{
	features_error *e = user;
	double weight = a == b ? e->f->anchor : 1, sum = 0;

	INV_TRY(inv_feature_ridge_add_error(e->f->ridge, &e->trial, a, b, rows, &sum));
	e->sum += weight * sum;
	e->cells += weight * (double)(rows * e->trial.r);
	return INVAR_OK;
}

/* The error of candidate i on images that are held out. */
static invar_status try_lambda(features_fit *f, int i, const uint32_t *held, uint32_t count)
{
	features_error e = {.f = f};
	invar_status st;

	INV_TRY(inv_feature_ridge_try(f->ridge, lambdas[i], f->anchor, f->tried, &e.trial));
	f->tried = e.trial.units;
	f->rows.total += count;
	st = inv_visit_pairs(&f->rows, held, count, add_features_error, &e);
	inv_feature_trial_clear(&e.trial);
	f->error[i] = e.sum / e.cells;
	inv_log(f->s->bank->ctx, INVAR_LOG_DETAIL, "features %g: held-out error %.6g",
	        lambdas[i], f->error[i]);
	return st;
}

/* Continues in one direction while the error falls; *best is where it stops. */
static invar_status descend(features_fit *f, int step, const uint32_t *held, uint32_t count,
                            int *best)
{
	for (int next = *best + step; next >= 0 && next < LAMBDAS; next += step) {
		INV_TRY(try_lambda(f, next, held, count));
		if (!(f->error[next] < f->error[*best]))
			break;
		*best = next;
	}
	return INVAR_OK;
}

/* Of ties the smallest; with all units, the best one itself. */
static invar_status choose_lambda(features_fit *f, const uint32_t *held, uint32_t count)
{
	const invar_context *ctx = f->s->bank->ctx;
	int best = FIRST, taken;

	INV_TRY(try_lambda(f, FIRST, held, count));
	INV_TRY(descend(f, 1, held, count, &best));
	if (best == FIRST)
		INV_TRY(descend(f, -1, held, count, &best));
	taken = best;
	while (f->tried < f->units && taken > 0 &&
	       f->error[taken - 1] <= f->error[best] * (1 + tie)) /* NaN: not tried */
		taken--;
	f->lambda = lambdas[taken];
	if (taken == best)
		inv_log(ctx, INVAR_LOG_INFO, "ridge %g has the smallest error on held-out images",
		        f->lambda);
	else
		inv_log(
			ctx, INVAR_LOG_INFO,
			"ridge %g is chosen: its error on held-out images equals the smallest, that "
			"of %g, within %g %%",
			f->lambda, lambdas[best], 100 * tie);
	return INVAR_OK;
}

/* Leaves the sums of all images, first those kept and then those held out. */
static invar_status sum_and_choose(features_fit *f)
{
	uint32_t n = f->s->image_count, kept, *order;
	invar_status st;

	INV_TRY(inv_hold_out(f->s, &order, &kept));
	INV_TRY_OR(done, inv_visit_pairs(&f->rows, order, kept, add_to_sums, f));
	INV_TRY_OR(done, choose_lambda(f, order + kept, n - kept));
	st = inv_visit_pairs(&f->rows, order + kept, n - kept, add_to_sums, f);
done:
	inv_free(order);
	return st;
}

/* ---- Fitting ---------------------------------------------------------------------- */

static invar_status fit_features(const inv_closed_form_spec *s, inv_closed_form *out)
{
	features_fit f = {.s = s,
	                  .lambda = inv_option_number(s->options, "ridge"),
	                  .anchor = inv_option_number(s->options, "anchor"),
	                  .units = (size_t)inv_option_count(s->options, "hidden")};
	bool given = f.lambda > 0;
	inv_clean_statistics scale = {0};
	invar_status st;

	f.tried = f.units / 2 > MIN_TRIED ? f.units / 2 : MIN_TRIED;
	if (f.tried > f.units)
		f.tried = f.units;
	for (int i = 0; i < LAMBDAS; i++)
		f.error[i] = NAN;
	INV_TRY(inv_clean_statistics_of(s->bank, s->split, s->images, s->image_count, &scale));
	inv_bank_wont_need(s->bank, s->split, INVAR_CLEAN, s->images[0],
	                   s->images[s->image_count - 1]);
	INV_TRY_OR(done, inv_feature_ridge_new(s->bank->ctx, s->bank->dim, f.units, &scale,
	                                       s->seed, &f.ridge));
	INV_TRY_OR(done, inv_pair_visitor_open(s, true, &f.rows));
	if (given)
		INV_TRY_OR(done,
		           inv_visit_pairs(&f.rows, s->images, s->image_count, add_to_sums, &f));
	else
		INV_TRY_OR(done, sum_and_choose(&f));
	INV_TRY_OR(done, inv_feature_ridge_solve(f.ridge, f.lambda, f.anchor, out));

	INV_TRY_OR(done, inv_closed_form_note(out, "lambda", inv_json_number(f.lambda)));
	INV_TRY_OR(done, inv_closed_form_note(out, "anchor", inv_json_number(f.anchor)));
	if (!given)
		INV_TRY_OR(done, inv_closed_form_note_errors(out, lambdas, f.error, LAMBDAS));
	if (!given && f.tried < f.units)
		INV_TRY_OR(done, inv_closed_form_note(out, "held_out_units",
		                                      json_integer((json_int_t)f.tried)));
done:
	inv_clean_statistics_clear(&scale);
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
