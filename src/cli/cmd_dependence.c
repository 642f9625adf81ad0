/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_dependence.c - invar dependence: how much paired samples tell about each other. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/arrays.h"
#include "cli/options.h"
#include "cli/term.h"
#include "cli/text.h"

typedef struct dependence_values {
	inv_common common;
	invar_sliced_opts sliced;
} dependence_values;

static const inv_example examples[] = {
	{"invar dependence features.npy codes.npy",
     "correlation of F(x) and E(F(x)), and the floor of shuffled pairs"},
	{"invar dependence x.npy z.npy --projections 4000 --slices orthogonal",
     "nearer to the truth with the same number of directions"},
	{"invar dependence x.npy x.npy --permutations 0", "1 within its error; no floor"},
	{0},
};

static const inv_argument arguments[] = {
	{"X.npy", "samples [n, dx] as a NumPy file", 1, 1},
	{"Z.npy", "samples [n, dz]; row i belongs to row i of X", 1, 1},
	{0},
};

static const inv_option_table tables[] = {
	{invar_sliced_fields, offsetof(dependence_values, sliced)},
	{0},
};

static void defaults(void *values)
{
	invar_sliced_defaults(&((dependence_values *)values)->sliced);
}

static json_t *number(double x)
{
	return isfinite(x) ? json_real(x) : json_null();
}

static invar_status print_json(inv_session *s, const invar_dependence_result *r,
                               uint64_t rows, const invar_sliced_opts *o)
{
	json_t *document = json_object();

	json_object_set_new(document, "dependence", number(r->dependence));
	json_object_set_new(document, "dependence_error", number(r->dependence_error));
	json_object_set_new(document, "correlation", number(r->correlation));
	json_object_set_new(document, "correlation_error", number(r->correlation_error));
	json_object_set_new(document, "sw_xx", number(r->sw_xx));
	json_object_set_new(document, "sw_zz", number(r->sw_zz));
	json_object_set_new(document, "floor", number(r->floor));
	json_object_set_new(document, "floor_deviation", number(r->floor_deviation));
	json_object_set_new(document, "dependence_floor", number(r->dependence_floor));
	json_object_set_new(document, "p_value", number(r->p_value));
	json_object_set_new(document, "rows", json_integer((json_int_t)rows));
	json_object_set_new(document, "projections", json_integer((json_int_t)o->projections));
	json_object_set_new(document, "p", json_real(o->p));
	return inv_print_json(s, document);
}

static void print_table(const invar_dependence_result *r, uint64_t rows,
                        const invar_sliced_opts *o)
{
	printf("%llu %s, SW_%g along %llu %s %s\n\n", (unsigned long long)rows,
	       inv_noun(rows, "pair", "pairs"), o->p, (unsigned long long)o->projections,
	       o->slices, inv_noun(o->projections, "direction", "directions"));
	if (isnan(r->dependence_error)) { /* of up to 16 directions there is none */
		printf("dependence   %.5g\n", r->dependence);
		printf("correlation  %.4f\n", r->correlation);
	} else {
		printf("dependence   %.5g ± %.2g\n", r->dependence, r->dependence_error);
		printf("correlation  %.4f ± %.4f\n", r->correlation, r->correlation_error);
	}
	if (!o->permutations)
		return;
	printf("\nthe same of %llu shuffled %s, where X and Z are independent:\n",
	       (unsigned long long)o->permutations,
	       inv_noun(o->permutations, "pairing", "pairings"));
	printf("dependence   %.5g\n", r->dependence_floor);
	if (o->permutations > 1)
		printf("correlation  %.4f, deviating by %.4f\n", r->floor, r->floor_deviation);
	else
		printf("correlation  %.4f\n", r->floor);
	printf("p            %.3g  (share of all pairings, the true one too, that reach it)\n",
	       r->p_value);
}

static invar_status check_pair(inv_session *s, const inv_given_array *x,
                               const inv_given_array *z)
{
	const inv_given_array *both[2] = {x, z};

	for (int i = 0; i < 2; i++) {
		const uint64_t *shape = invar_array_shape(both[i]->array);

		if (invar_array_rank(both[i]->array) != 2 || !shape[0] || !shape[1] ||
		    shape[1] > UINT32_MAX)
			return inv_fault(s, INVAR_E_MISMATCH,
			                 "%s has shape %s, but [n, width] is needed", both[i]->path,
			                 both[i]->shape);
	}
	if (invar_array_shape(x->array)[0] != invar_array_shape(z->array)[0])
		return inv_fault(s, INVAR_E_MISMATCH,
		                 "%s has shape %s and %s has shape %s, but rows must come in pairs",
		                 x->path, x->shape, z->path, z->shape);
	return INVAR_OK;
}

static invar_status measure(inv_session *s, const dependence_values *v,
                            const inv_given_array *x, const inv_given_array *z)
{
	const uint64_t *sx = invar_array_shape(x->array), *sz = invar_array_shape(z->array);
	invar_dependence_result r;
	invar_status st = invar_dependence(s->ctx, x->data, (uint32_t)sx[1], z->data,
	                                   (uint32_t)sz[1], sx[0], &v->sliced, &r);

	if (st != INVAR_OK)
		return st;
	if (s->common->json)
		st = print_json(s, &r, sx[0], &v->sliced);
	else
		print_table(&r, sx[0], &v->sliced);
	return st;
}

static invar_status run(inv_session *s, void *values)
{
	inv_given_array x = {0}, z = {0};
	invar_status st = inv_session_start(s);

	if (st == INVAR_OK && (st = inv_array_look(s, s->argument[0], &x)) == INVAR_OK &&
	    (st = inv_array_look(s, s->argument[1], &z)) == INVAR_OK &&
	    (st = check_pair(s, &x, &z)) == INVAR_OK &&
	    (st = inv_array_take(s, &x)) == INVAR_OK &&
	    (st = inv_array_take(s, &z)) == INVAR_OK)
		st = measure(s, values, &x, &z);
	inv_array_drop(&x);
	inv_array_drop(&z);
	if (st == INVAR_OK)
		inv_term_close(s->term);
	return st;
}

const inv_command inv_cmd_dependence = {
	.name = "dependence",
	.purpose = "measures how much paired samples tell about each other",
	.usage = "X.npy Z.npy [options]",
	.about =
		"Sliced Wasserstein dependence: the distance of the pairs (x, z) to the same "
		"with both halves shuffled; the correlation divides it by that of each variable "
		"with itself. Errors are standard errors over the directions, each 16 of which "
		"shuffle anew; those of orthogonal directions are upper bounds. With few samples "
		"for the dimensions, independent variables have a "
		"correlation far above 0, so it is shown for shuffled pairings too.",
	.examples = examples,
	.arguments = arguments,
	.tables = tables,
	.values = sizeof(dependence_values),
	.defaults = defaults,
	.run = run,
};
