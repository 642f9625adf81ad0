/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ridge.c - regresses clean rows on copies and on themselves, with intercept.
 *
 * It has one free parameter, lambda, in units of the mean diagonal of the centred Gram
 * matrix. Unless it is given, a tenth of the images is held out, each candidate is fitted
 * to the others and judged by the mean squared error of the held-out copies and clean
 * rows; the best is then fitted to all images. Whole images are held out, as the copies
 * of one image resemble each other.
 */
#include "adapter/closed_forms/visit_pairs.h"
#include "base/memory.h"

enum { CHOICES = 6 };

static const double choices[CHOICES] = {1e-4, 1e-3, 1e-2, 1e-1, 1, 10};

static const invar_option options[] = {
	{.name = "ridge",
     .type = INVAR_OPTION_NUMBER,
     .initial = "0",
     .max = 1e9,
     .flags = INVAR_OPTION_RESULT,
     .meta = "F",
     .group = "Method",
     .help = "strength of the ridge regression, relative to the mean diagonal of the Gram "
             "matrix; 0: chosen on held-out images"},
	{0},
};

/* What was chosen, and the error per feature of held-out rows by choice. */
typedef struct chosen {
	double lambda, error[CHOICES];
} chosen;

/* ---- Choosing lambda ---------------------------------------------------------------- */

typedef struct judge {
	inv_pair_visitor *w;
	const inv_map_affine *map;
	double sum; /* of squared errors */
	uint64_t cells;
} judge;

static invar_status add_error(void *user, const float *a, const float *b, uint64_t rows)
{
	judge *j = user;
	size_t d = j->w->d;
	float *mapped = j->w->mapped;
	invar_status st = inv_map_rows(j->w->s->bank->ctx, j->map, a, rows, mapped);

	for (uint64_t i = 0; i < rows && st == INVAR_OK; i++) {
		double sum = 0; /* summed row by row to keep precision */

		for (size_t l = i * d; l < (i + 1) * d; l++)
			sum += ((double)mapped[l] - b[l]) * ((double)mapped[l] - b[l]);
		j->sum += sum;
	}
	j->cells += rows * d;
	return st;
}

static invar_status judge_choice(inv_pair_visitor *w, inv_pairs *p, const uint32_t *held,
                                 uint32_t count, double lambda, double *error)
{
	inv_map_affine map;
	judge j = {.w = w, .map = &map};
	invar_status st = inv_fit_ridge(p, lambda, &map);

	if (st != INVAR_OK)
		return st;
	st = inv_visit_pairs(w, held, count, add_error, &j);
	*error = j.sum / (double)j.cells;
	inv_log(w->s->bank->ctx, INVAR_LOG_DETAIL, "ridge %g: held-out error %.6g", lambda,
	        *error);
	inv_map_clear(&map);
	return st;
}

/* Leaves in p the sums of all images, first those kept and then those held out. */
static invar_status choose_lambda(inv_pair_visitor *w, inv_pairs *p, uint32_t *order,
                                  uint32_t kept, chosen *out)
{
	uint32_t held = w->s->image_count - kept;
	invar_status st = inv_visit_pairs(w, order, kept, inv_add_pairs, p);
	int best = 0;

	for (int i = 0; i < CHOICES && st == INVAR_OK; i++) {
		st = judge_choice(w, p, order + kept, held, choices[i], &out->error[i]);
		if (out->error[i] < out->error[best])
			best = i;
	}
	out->lambda = choices[best];
	return st == INVAR_OK ? inv_visit_pairs(w, order + kept, held, inv_add_pairs, p) : st;
}

static invar_status sum_and_choose(inv_pair_visitor *w, inv_pairs *p, chosen *out)
{
	uint32_t n = w->s->image_count, kept, *order;
	invar_status st = inv_hold_out(w->s, &order, &kept);

	if (st != INVAR_OK)
		return st;
	w->total = n + (uint64_t)CHOICES * (n - kept);
	st = choose_lambda(w, p, order, kept, out);
	inv_free(order);
	return st;
}

/* ---- Fitting ------------------------------------------------------------------------ */

static bool add_errors(const chosen *c, json_t *about)
{
	json_t *errors = json_array();
	bool added = json_object_set_new(about, "held_out_error", errors) == 0;

	for (int i = 0; i < CHOICES && added; i++)
		added = json_array_append_new(errors,
		                              json_pack("{s:f, s:o}", "lambda", choices[i], "error",
		                                        inv_json_number(c->error[i]))) == 0;
	return added;
}

static invar_status describe_ridge(const chosen *c, bool given, json_t *about)
{
	if (json_object_set_new(about, "lambda", inv_json_number(c->lambda)) == 0 &&
	    (given || add_errors(c, about)))
		return INVAR_OK;
	return inv_fail(INVAR_E_NOMEM, "not enough memory for run.json");
}

static invar_status sum_pairs(inv_pair_visitor *w, inv_pairs *p, chosen *c)
{
	const inv_closed_form_spec *s = w->s;
	invar_status st;

	if (c->lambda > 0)
		return inv_visit_pairs(w, s->images, s->image_count, inv_add_pairs, p);
	st = sum_and_choose(w, p, c);
	if (st == INVAR_OK)
		inv_log(s->bank->ctx, INVAR_LOG_INFO,
		        "ridge %g has the smallest error on held-out images", c->lambda);
	return st;
}

static invar_status fit_ridge(const inv_closed_form_spec *s, inv_closed_form *out)
{
	chosen c = {.lambda = inv_option_number(s->options, "ridge")};
	bool given = c.lambda > 0;
	inv_pair_visitor w = {0};
	inv_pairs *p = NULL;
	invar_status st;

	INV_TRY_OR(done, inv_pairs_new(s->bank->ctx, s->bank->dim, true, &p));
	INV_TRY_OR(done, inv_pair_visitor_open(s, true, &w));
	INV_TRY_OR(done, sum_pairs(&w, p, &c));
	INV_TRY_OR(done, inv_fit_ridge(p, c.lambda, &out->map));
	st = describe_ridge(&c, given, out->about);
done:
	inv_pair_visitor_close(&w);
	inv_pairs_free(p);
	return st;
}

extern const inv_closed_form_kind inv_closed_form_ridge;
const inv_closed_form_kind inv_closed_form_ridge = {
	.name = "ridge",
	.needs_copies = true,
	.options = options,
	.fit = fit_ridge,
};
