/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_dependence.c - invar dependence: the statistical dependence of paired samples. */
#include <math.h>
#include <stdio.h>

#include "cli/arrays.h"
#include "cli/command_options.h"
#include "cli/display_text.h"
#include "cli/term.h"

static const inv_example examples[] = {
	{"invar dependence features.npy codes.npy",
     "correlation of F(x) and E(F(x)), and its value for shuffled pairs"},
	{"invar dependence x.npy z.npy --projections 4000 --slices orthogonal",
     "more directions, and orthogonal ones, which are more accurate"},
	{"invar dependence x.npy x.npy --permutations 0",
     "a variable with itself gives 1 up to its error; no shuffled pairs"},
	{0},
};

static const inv_argument arguments[] = {
	{"X.npy", "samples [n, dx] as a NumPy file", 1, 1},
	{"Z.npy", "samples [n, dz]; row i belongs to row i of X", 1, 1},
	{0},
};

static double number(const invar_results *r, const char *metric)
{
	return invar_results_value(r, metric, invar_results_column(r, 0)->id)->value;
}

static json_t *number_json(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

static invar_status print_json(inv_session *s, const invar_results *r, uint64_t rows)
{
	json_t *document = json_object();

	for (size_t i = 0; i < invar_results_metrics(r); i++) {
		const char *id = invar_results_metric(r, i)->id;

		json_object_set_new(document, id, number_json(number(r, id)));
	}
	json_object_set_new(document, "rows", json_integer((json_int_t)rows));
	json_object_set_new(document, "projections",
	                    json_integer((json_int_t)inv_number(s, "projections")));
	json_object_set_new(document, "p", json_real(inv_number(s, "p")));
	return inv_print_json(document);
}

static void print_floor(const invar_results *r, uint64_t pairings)
{
	printf("\nfor %llu shuffled %s, where X and Z are independent:\n",
	       (unsigned long long)pairings, inv_noun(pairings, "pairing", "pairings"));
	printf("dependence   %.5g\n", number(r, "dependence_floor"));
	if (pairings > 1)
		printf("correlation  %.4f, deviating by %.4f\n", number(r, "floor"),
		       number(r, "floor_deviation"));
	else
		printf("correlation  %.4f\n", number(r, "floor"));
	printf("p            %.3g  (share of all pairings, including the true one, that reach "
	       "it)\n",
	       number(r, "p_value"));
}

static void print_table(const inv_session *s, const invar_results *r, uint64_t rows)
{
	uint64_t directions = (uint64_t)inv_number(s, "projections");
	uint64_t pairings = (uint64_t)inv_number(s, "permutations");

	printf("%llu %s, SW_%g along %llu %s %s\n\n", (unsigned long long)rows,
	       inv_noun(rows, "pair", "pairs"), inv_number(s, "p"),
	       (unsigned long long)directions, inv_text(s, "slices"),
	       inv_noun(directions, "direction", "directions"));
	if (isnan(number(r, "dependence_error"))) { /* of up to 16 directions there is none */
		printf("dependence   %.5g\n", number(r, "dependence"));
		printf("correlation  %.4f\n", number(r, "correlation"));
	} else {
		printf("dependence   %.5g ± %.2g\n", number(r, "dependence"),
		       number(r, "dependence_error"));
		printf("correlation  %.4f ± %.4f\n", number(r, "correlation"),
		       number(r, "correlation_error"));
	}
	if (pairings)
		print_floor(r, pairings);
}

static invar_status check_pair(const inv_given_array *x, const inv_given_array *z)
{
	const inv_given_array *both[2] = {x, z};

	for (int i = 0; i < 2; i++) {
		const uint64_t *shape = both[i]->array->h.shape;

		if (both[i]->array->h.rank != 2 || !shape[0] || !shape[1] || shape[1] > UINT32_MAX)
			return inv_fail(INVAR_E_MISMATCH, "%s has shape %s, but must be [n, width]",
			                both[i]->path, both[i]->shape);
	}
	if (x->array->h.shape[0] != z->array->h.shape[0])
		return inv_fail(
			INVAR_E_MISMATCH,
			"%s has shape %s and %s has shape %s, but both need the same number of rows",
			x->path, x->shape, z->path, z->shape);
	return INVAR_OK;
}

static invar_status measure_dependence(inv_session *s, const inv_given_array *x,
                                       const inv_given_array *z)
{
	const uint64_t *sx = x->array->h.shape, *sz = z->array->h.shape;
	invar_results *r;
	invar_status st = invar_dependence(s->ctx, x->data, (uint32_t)sx[1], z->data,
	                                   (uint32_t)sz[1], sx[0], s->options, &r);

	if (st != INVAR_OK)
		return st;
	if (s->common->json)
		st = print_json(s, r, sx[0]);
	else
		print_table(s, r, sx[0]);
	invar_results_free(r);
	return st;
}

static invar_status run_dependence(inv_session *s)
{
	inv_given_array x = {0}, z = {0};
	invar_status st = inv_session_start(s);

	if (st == INVAR_OK && (st = inv_array_look(s, s->argument[0], &x)) == INVAR_OK &&
	    (st = inv_array_look(s, s->argument[1], &z)) == INVAR_OK &&
	    (st = check_pair(&x, &z)) == INVAR_OK && (st = inv_array_take(&x)) == INVAR_OK &&
	    (st = inv_array_take(&z)) == INVAR_OK)
		st = measure_dependence(s, &x, &z);
	inv_array_drop(&x);
	inv_array_drop(&z);
	if (st == INVAR_OK)
		inv_term_close(s->term);
	return st;
}

const inv_command inv_cmd_dependence = {
	.name = "dependence",
	.purpose = "measures the statistical dependence of paired samples",
	.usage = "X.npy Z.npy [options]",
	.about = "Sliced Wasserstein dependence is the distance between the pairs (x, z) and "
			 "the same pairs with both halves shuffled; the correlation divides it by the "
			 "dependence of each variable on itself. Errors are standard errors over "
			 "directions; every 16 directions use a new shuffle. With orthogonal "
			 "directions they are upper bounds. With few samples in many dimensions, even "
			 "independent variables have a correlation far above 0, so the value for "
			 "shuffled pairs is shown too.",
	.examples = examples,
	.arguments = arguments,
	.options = "dependence",
	.run = run_dependence,
};
