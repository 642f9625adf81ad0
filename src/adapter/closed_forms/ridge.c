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
#include "base/options.h"

enum { LAMBDAS = 6 };

static const double lambdas[LAMBDAS] = {1e-4, 1e-3, 1e-2, 1e-1, 1, 10};

static const invar_option options[] = {
	{"ridge", INVAR_OPTION_NUMBER, "0", .max = 1e9, .flags = INVAR_OPTION_RESULT,
     .meta = "F", .group = "Method",
     .help = "strength of the ridge regression, relative to the mean diagonal of "
             "the Gram matrix; 0: chosen on held-out images"},
	{0},
};

typedef struct ridge_error {
	inv_pair_visitor *rows;
	const inv_map_affine *map;
	double sum; /* of squared errors */
	uint64_t cells;
} ridge_error;

static invar_status add_ridge_error(void *user, const float *a, const float *b,
                                    uint64_t rows)
{
	ridge_error *e = user;
	size_t d = e->rows->d;
	float *mapped = e->rows->mapped;

	INV_TRY(inv_map_rows(e->rows->s->bank->ctx, e->map, a, rows, mapped));
	for (uint64_t i = 0; i < rows; i++) {
		double sum = 0; /* summed row by row to keep precision */

		for (size_t l = i * d; l < (i + 1) * d; l++)
			sum += ((double)mapped[l] - b[l]) * ((double)mapped[l] - b[l]);
		e->sum += sum;
	}
	e->cells += rows * d;
	return INVAR_OK;
}

/*
 * The lambda of the smallest error, and the error per feature of each on held-out rows.
 * Leaves in p the sums of all images, first those kept and then those held out.
 */
static invar_status choose_ridge(inv_pair_visitor *rows, inv_pairs *p, double *lambda,
                                 double error[LAMBDAS])
{
	const invar_context *ctx = rows->s->bank->ctx;
	uint32_t n = rows->s->image_count, kept, *order;
	int best = 0;
	invar_status st;

	INV_TRY(inv_hold_out(rows->s, &order, &kept));
	rows->total = n + (uint64_t)LAMBDAS * (n - kept);
	INV_TRY_OR(done, inv_visit_pairs(rows, order, kept, inv_add_pairs, p));
	for (int i = 0; i < LAMBDAS; i++) {
		inv_map_affine map;
		ridge_error e = {.rows = rows, .map = &map};

		INV_TRY_OR(done, inv_fit_ridge(p, lambdas[i], &map));
		st = inv_visit_pairs(rows, order + kept, n - kept, add_ridge_error, &e);
		inv_map_clear(&map);
		INV_TRY_OR(done, st);
		error[i] = e.sum / (double)e.cells;
		inv_log(ctx, INVAR_LOG_DETAIL, "ridge %g: held-out error %.6g", lambdas[i],
		        error[i]);
		if (error[i] < error[best])
			best = i;
	}
	*lambda = lambdas[best];
	INV_TRY_OR(done, inv_visit_pairs(rows, order + kept, n - kept, inv_add_pairs, p));
	inv_log(ctx, INVAR_LOG_INFO, "ridge %g has the smallest error on held-out images",
	        *lambda);
done:
	inv_free(order);
	return st;
}

static invar_status fit_ridge(const inv_closed_form_spec *s, inv_closed_form *out)
{
	double lambda = inv_option_number(s->options, "ridge"), error[LAMBDAS] = {0};
	bool given = lambda > 0;
	inv_pair_visitor rows = {0};
	inv_pairs *p = NULL;
	invar_status st;

	INV_TRY_OR(done, inv_pairs_new(s->bank->ctx, s->bank->dim, true, &p));
	INV_TRY_OR(done, inv_pair_visitor_open(s, true, &rows));
	if (given)
		INV_TRY_OR(done,
		           inv_visit_pairs(&rows, s->images, s->image_count, inv_add_pairs, p));
	else
		INV_TRY_OR(done, choose_ridge(&rows, p, &lambda, error));
	INV_TRY_OR(done, inv_fit_ridge(p, lambda, &out->map));
	INV_TRY_OR(done, inv_closed_form_note(out, "lambda", inv_json_number(lambda)));
	if (!given)
		st = inv_closed_form_note_errors(out, lambdas, error, LAMBDAS);
done:
	inv_pair_visitor_close(&rows);
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
