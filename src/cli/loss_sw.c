/* SPDX-License-Identifier: Apache-2.0 */
/* loss_sw.c - invar loss sw. */
#include "cli/loss_sw.h"

#include <stdlib.h>

#include "cli/command_options.h"
#include "cli/loss_arrays.h"
#include "cli/loss_output.h"
#include "formats/npy.h"

typedef struct sw_inputs {
	inv_given_array a, b, directions;
} sw_inputs;

static invar_status check_sw(const sw_inputs *in)
{
	const uint64_t *a = in->a.array->h.shape, *b = in->b.array->h.shape;
	const uint64_t *d = in->directions.array ? in->directions.array->h.shape : NULL;

	if (in->a.array->h.rank != 2 || !a[0] || !a[1] || a[1] > UINT32_MAX)
		return inv_fail(INVAR_E_MISMATCH, "%s has shape %s, but must be [n, d]", in->a.path,
		                in->a.shape);
	if (in->b.array->h.rank != 2 || a[0] != b[0] || a[1] != b[1])
		return inv_fail(INVAR_E_MISMATCH,
		                "%s has shape %s, but %s has %s; both must have the same shape",
		                in->b.path, in->b.shape, in->a.path, in->a.shape);
	if (d && (in->directions.array->h.rank != 2 || !d[0] || d[1] != a[1]))
		return inv_fail(INVAR_E_MISMATCH, "%s has shape %s, but must be [L, %llu]",
		                in->directions.path, in->directions.shape,
		                (unsigned long long)a[1]);
	return INVAR_OK;
}

/* Those of `invar loss` that matter here; as many directions as are given, if any are. */
static invar_status take_options(inv_session *s, const sw_inputs *in, invar_options *o)
{
	double given = in->directions.array ? (double)in->directions.array->h.shape[0]
	                                    : inv_number(s, "projections");
	invar_status st = invar_options_set_number(o, "projections", given);

	if (st == INVAR_OK)
		st = invar_options_set_number(o, "p", inv_number(s, "p"));
	if (st == INVAR_OK)
		st = invar_options_set(o, "slices", inv_text(s, "slices"));
	return st == INVAR_OK ? invar_options_set_number(o, "seed", (double)s->common->seed)
	                      : st;
}

static invar_status compute_sw(inv_session *s, const sw_inputs *in, const invar_options *o,
                               const inv_grad_folder *to)
{
	const uint64_t *shape = in->a.array->h.shape;
	float *grad = NULL;
	invar_status st;
	double value;

	if (to->path && !(grad = calloc(in->a.array->h.cells, sizeof *grad)))
		return inv_no_memory();
	st = invar_sliced_wasserstein(s->ctx, in->a.data, in->b.data, shape[0],
	                              (uint32_t)shape[1], in->directions.data, o, &value, grad);
	if (st == INVAR_OK && to->path)
		st = inv_gradient_write(s, to, "a", grad, 2, shape);
	if (st == INVAR_OK)
		st = inv_value_print(s, value);
	free(grad);
	return st;
}

static invar_status measure_sw(inv_session *s, const sw_inputs *in,
                               const inv_grad_folder *to)
{
	invar_options *o;
	invar_status st = invar_options_new("dependence", &o);

	if (st == INVAR_OK)
		st = take_options(s, in, o);
	if (st == INVAR_OK)
		st = compute_sw(s, in, o, to);
	invar_options_free(o);
	return st;
}

invar_status inv_loss_sw(inv_session *s, const inv_sw_files *files,
                         const inv_grad_folder *grad)
{
	sw_inputs in = {0};
	invar_status st = inv_need(files->a, "the first set is missing: --a A.npy");

	if (st == INVAR_OK)
		st = inv_need(files->b, "the second set is missing: --b B.npy");
	if (st == INVAR_OK)
		st = inv_session_start(s);
	if (st == INVAR_OK)
		st = inv_array_look(s, files->a, &in.a);
	if (st == INVAR_OK)
		st = inv_array_look(s, files->b, &in.b);
	if (st == INVAR_OK)
		st = inv_array_look(s, files->directions, &in.directions);
	if (st == INVAR_OK)
		st = check_sw(&in);
	if (st == INVAR_OK)
		st = inv_array_take(&in.a);
	if (st == INVAR_OK)
		st = inv_array_take(&in.b);
	if (st == INVAR_OK)
		st = inv_array_take(&in.directions);
	if (st == INVAR_OK)
		st = measure_sw(s, &in, grad);
	inv_array_drop(&in.a);
	inv_array_drop(&in.b);
	inv_array_drop(&in.directions);
	return st;
}
