/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_dependence.c - invar dependence: the statistical dependence of paired samples. */
#include <math.h>
#include <stdio.h>

#include "base/json.h"
#include "cli/arrays.h"
#include "cli/command_options.h"
#include "cli/display_text.h"

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
	{"X.npy", "samples [n, dx] as a NumPy file", 1, 1, INV_READS_FILE},
	{"Z.npy", "samples [n, dz]; row i belongs to row i of X", 1, 1, INV_READS_FILE},
	{0},
};

static double metric_value(const invar_results *r, const char *metric)
{
	return invar_results_value(r, metric, invar_results_column(r, 0)->id)->value;
}

static void print_dependence(const inv_session *s, const invar_results *r, uint64_t rows)
{
	uint64_t directions = (uint64_t)inv_number(s, "projections");
	uint64_t pairings = (uint64_t)inv_number(s, "permutations");

	printf("%llu %s, SW_%g along %llu %s %s\n\n", (unsigned long long)rows,
	       inv_noun(rows, "pair", "pairs"), inv_number(s, "p"),
	       (unsigned long long)directions, inv_text(s, "slices"),
	       inv_noun(directions, "direction", "directions"));
	if (isnan(metric_value(
			r, "dependence_error"))) { /* of up to 16 directions there is none */
		printf("dependence   %.5g\n", metric_value(r, "dependence"));
		printf("correlation  %.4f\n", metric_value(r, "correlation"));
	} else {
		printf("dependence   %.5g ± %.2g\n", metric_value(r, "dependence"),
		       metric_value(r, "dependence_error"));
		printf("correlation  %.4f ± %.4f\n", metric_value(r, "correlation"),
		       metric_value(r, "correlation_error"));
	}
	if (!pairings)
		return;
	printf("\nfor %llu shuffled %s, where X and Z are independent:\n",
	       (unsigned long long)pairings, inv_noun(pairings, "pairing", "pairings"));
	printf("dependence   %.5g\n", metric_value(r, "dependence_floor"));
	printf("correlation  %.4f", metric_value(r, "floor"));
	if (pairings > 1)
		printf(", deviating by %.4f", metric_value(r, "floor_deviation"));
	printf(
		"\np            %.3g  (share of all pairings, including the true one, that reach "
		"it)\n",
		metric_value(r, "p_value"));
}

static invar_status run_dependence(inv_session *s)
{
	inv_given_array given[2] = {{0}, {0}};
	const uint64_t *shape[2];
	invar_results *r = NULL;
	json_t *document;
	invar_status st;

	for (size_t i = 0; i < 2; i++) {
		INV_TRY_OR(end, inv_array_look_rows(s, s->argument[i], &given[i]));
		shape[i] = given[i].array->h.shape;
	}
	if (shape[0][0] != shape[1][0]) {
		st = inv_fail(
			INVAR_E_MISMATCH,
			"%s has shape %s and %s has shape %s, but both need the same number of rows",
			given[0].path, given[0].shape, given[1].path, given[1].shape);
		goto end;
	}
	INV_TRY_OR(end, inv_array_take(&given[0]));
	INV_TRY_OR(end, inv_array_take(&given[1]));
	INV_TRY_OR(end,
	           invar_dependence(s->ctx, given[0].data, (uint32_t)shape[0][1], given[1].data,
	                            (uint32_t)shape[1][1], shape[0][0], s->options, &r));
	if (!s->json) {
		print_dependence(s, r, shape[0][0]);
		goto end;
	}
	document = json_object();
	for (size_t i = 0; i < invar_results_metrics(r); i++) {
		const char *id = invar_results_metric(r, i)->id;

		json_object_set_new(document, id, inv_json_number(metric_value(r, id)));
	}
	json_object_set_new(document, "rows", json_integer((json_int_t)shape[0][0]));
	json_object_set_new(document, "projections",
	                    json_integer((json_int_t)inv_number(s, "projections")));
	json_object_set_new(document, "p", json_real(inv_number(s, "p")));
	st = inv_print_json(document);
end:
	invar_results_free(r);
	inv_array_drop(&given[0]);
	inv_array_drop(&given[1]);
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
	.is_timed = true,
	.run = run_dependence,
};
