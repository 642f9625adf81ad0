/* SPDX-License-Identifier: Apache-2.0 */
/*
 * choose_bases.c - fitted maps, before spread and strength.
 *
 * Ridge and features keep the sums of the fitted rows, so that another lambda or anchor
 * costs a solution and not another pass over the bank. All others are trained with their
 * options on the fitted images.
 */
#include <math.h>

#include "adapter/closed_forms/visit_pairs.h"
#include "adapter/train_in_memory.h"
#include "base/memory.h"
#include "recipe/choose.h"

const char *const inv_base_names[INV_BASES] = {"none",     "rigid",   "ridge",
                                               "features", "trained", "own"};
const char *const inv_spread_name[INV_SPREADS] = {"none", "scale", "transport"};

/* ---- As options ------------------------------------------------------------------ */

typedef struct setting {
	const char *name, *text;
	double number;
} setting;

/* Settings without a name are skipped. */
static invar_status set_all(invar_options *o, const setting *s, size_t count)
{
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < count && st == INVAR_OK; i++) {
		if (!s[i].name)
			continue;
		st = s[i].text ? invar_options_set(o, s[i].name, s[i].text)
		               : invar_options_set_number(o, s[i].name, s[i].number);
	}
	return st;
}

static const char *init_of(inv_base_kind kind)
{
	if (kind > INV_BASE_FEATURES)
		return NULL;
	return kind == INV_BASE_NONE ? "identity" : inv_base_names[kind];
}

invar_status inv_base_options(const inv_choice_maker *m, const inv_base *b,
                              invar_options **out)
{
	const char *init = init_of(b->kind);
	const setting settings[] = {
		{b->preset ? "preset" : NULL, b->preset, 0},
		{init ? "loss" : NULL, "none", 0},
		{init ? "init" : NULL, init, 0},
		{b->lambda > 0 ? "ridge" : NULL, NULL, b->lambda},
		{b->anchor > 0 ? "anchor" : NULL, NULL, b->anchor},
		{b->contrast > 0 ? "contrast" : NULL, NULL, b->contrast},
		{b->epochs ? "epochs" : NULL, NULL, (double)b->epochs},
	};
	invar_status st = inv_options_copy(m->options, out);

	if (st == INVAR_OK)
		st = set_all(*out, settings, sizeof settings / sizeof *settings);
	if (st == INVAR_OK)
		return INVAR_OK;
	invar_options_free(*out);
	*out = NULL;
	return st;
}

invar_status inv_candidate_options(const inv_choice_maker *m, const inv_candidate *c,
                                   invar_options **out)
{
	const setting settings[] = {{"spread", inv_spread_name[c->spread], 0},
	                            {"strength", NULL, c->strength}};
	invar_status st = inv_base_options(m, &c->base, out);

	if (st == INVAR_OK)
		st = set_all(*out, settings, 2);
	return st;
}

/* ---- Fitting ------------------------------------------------------------------------ */

static inv_closed_form_spec fitted_rows(const inv_choice_maker *m)
{
	return (inv_closed_form_spec){.options = m->options,
	                              .bank = m->rows.bank,
	                              .split = m->rows.source->stored,
	                              .copies = m->rows.source->copies,
	                              .images = m->rows.images,
	                              .image_count = m->rows.fitted,
	                              .seed = inv_option_count(m->options, "seed")};
}

static invar_status visit_fitted(const inv_choice_maker *m, inv_pair_fn *add, void *sums)
{
	const inv_closed_form_spec s = fitted_rows(m);
	inv_pair_visitor v = {0};
	invar_status st = inv_pair_visitor_open(&s, true, &v);

	if (st == INVAR_OK)
		st = inv_visit_pairs(&v, s.images, s.image_count, add, sums);
	inv_pair_visitor_close(&v);
	return st;
}

static invar_status add_features(void *user, const float *a, const float *b, uint64_t rows)
{
	return a == b ? inv_feature_ridge_add_clean(user, a, rows)
	              : inv_feature_ridge_add_copies(user, a, b, rows);
}

static invar_status sum_features(inv_choice_maker *m)
{
	const inv_closed_form_spec s = fitted_rows(m);
	inv_clean_statistics scale;
	invar_status st =
		inv_clean_statistics_of(s.bank, s.split, s.images, s.image_count, &scale);

	if (st != INVAR_OK)
		return st;
	st = inv_feature_ridge_new(s.bank->ctx, m->rows.d,
	                           (size_t)inv_option_count(m->options, "hidden"), &scale,
	                           s.seed, &m->features);
	inv_clean_statistics_clear(&scale);
	return st == INVAR_OK ? visit_fitted(m, add_features, m->features) : st;
}

static invar_status sum_ridge(inv_choice_maker *m)
{
	invar_status st = inv_pairs_new(m->rows.ctx, m->rows.d, true, &m->ridge);

	return st == INVAR_OK ? visit_fitted(m, inv_add_pairs, m->ridge) : st;
}

/* The smallest MLP that holds it. */
static invar_status export_form(const inv_choice_maker *m, const inv_closed_form *c,
                                inv_mlp_form *out)
{
	size_t d = m->rows.d;

	out->s = (inv_mlp_shape){d, 2 * d + c->units.count, d};
	out->residual = true;
	out->params = inv_calloc(inv_mlp_floats(out->s), sizeof *out->params);
	if (!out->params)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for a candidate");
	inv_closed_form_export(c, out->s, true, out->params);
	return INVAR_OK;
}

static invar_status fit_sums(inv_choice_maker *m, const inv_base *b, inv_mlp_form *out)
{
	inv_closed_form c = {0};
	bool features = b->kind == INV_BASE_FEATURES;
	invar_status st = INVAR_OK;

	if (features && !m->features)
		st = sum_features(m);
	if (!features && !m->ridge)
		st = sum_ridge(m);
	if (st == INVAR_OK)
		st = features ? inv_feature_ridge_solve(m->features, b->lambda, b->anchor, &c)
		              : inv_fit_ridge(m->ridge, b->lambda, &c.map);
	if (st == INVAR_OK)
		st = export_form(m, &c, out);
	inv_closed_form_clear(&c);
	return st;
}

/*
 * As many steps as the training on all images will have: every step loses structure and
 * gains invariance, so the same epochs on fewer images would bias both figures.
 */
static invar_status match_steps(const inv_choice_maker *m, invar_options *o)
{
	double all = (double)m->rows.fitted + m->rows.held;
	double epochs = (double)inv_option_count(o, "epochs");

	return invar_options_set_number(o, "epochs", round(epochs * all / m->rows.fitted));
}

static invar_status fit_training(const inv_choice_maker *m, const inv_base *b,
                                 inv_mlp_form *out)
{
	invar_options *o;
	invar_status st = inv_base_options(m, b, &o);

	if (st == INVAR_OK)
		st = match_steps(m, o);
	if (st == INVAR_OK) {
		const inv_memory_training t = {m->rows.bank, o, m->rows.images, m->rows.fitted,
		                               NULL};

		st = inv_train_in_memory(&t, out);
	}
	invar_options_free(o);
	return st;
}

invar_status inv_base_fit(inv_choice_maker *m, const inv_base *b, inv_mlp_form *out)
{
	*out = (inv_mlp_form){.params = NULL};
	if (b->kind == INV_BASE_FEATURES || b->kind == INV_BASE_RIDGE)
		return fit_sums(m, b, out);
	return fit_training(m, b, out);
}

bool inv_base_same(const inv_base *a, const inv_base *b)
{
	return a->kind == b->kind && a->lambda == b->lambda && a->anchor == b->anchor &&
	       a->preset == b->preset && a->contrast == b->contrast;
}

void inv_base_clear(inv_choice_maker *m)
{
	inv_feature_ridge_free(m->features);
	inv_pairs_free(m->ridge);
	m->features = NULL;
	m->ridge = NULL;
}
