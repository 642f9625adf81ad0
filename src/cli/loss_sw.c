/* loss_sw.c - invar loss sw. */
#include "cli/loss_sw.h"

#include <stdlib.h>

#include "cli/loss_arrays.h"
#include "cli/loss_output.h"
#include "cli/options.h"

typedef struct sw_inputs {
	inv_given_array a, b, directions;
} sw_inputs;

static invar_status check_sw(inv_session *s, const sw_inputs *in)
{
	const uint64_t *a = invar_array_shape(in->a.array), *b = invar_array_shape(in->b.array);
	const uint64_t *d =
		in->directions.array ? invar_array_shape(in->directions.array) : NULL;

	if (invar_array_rank(in->a.array) != 2 || !a[0] || !a[1] || a[1] > UINT32_MAX)
		return inv_fault(s, INVAR_E_MISMATCH, "%s has shape %s, but [n, d] is needed",
		                 in->a.path, in->a.shape);
	if (invar_array_rank(in->b.array) != 2 || a[0] != b[0] || a[1] != b[1])
		return inv_fault(s, INVAR_E_MISMATCH,
		                 "%s has shape %s, but %s has %s, and both must be alike",
		                 in->b.path, in->b.shape, in->a.path, in->a.shape);
	if (d && (invar_array_rank(in->directions.array) != 2 || !d[0] || d[1] != a[1]))
		return inv_fault(s, INVAR_E_MISMATCH, "%s has shape %s, but [L, %llu] is needed",
		                 in->directions.path, in->directions.shape,
		                 (unsigned long long)a[1]);
	return INVAR_OK;
}

static invar_status compute_sw(inv_session *s, const sw_inputs *in,
                               const invar_loss_opts *options, const inv_grad_folder *to)
{
	const uint64_t *shape = invar_array_shape(in->a.array);
	invar_named_array grad = {.name = "a", .rank = 2, .shape = {shape[0], shape[1]}};
	invar_loss_result result = {.size = sizeof result, .grad_count = 1, .grads = &grad};
	invar_sliced_opts o;
	invar_status st;

	invar_sliced_defaults(&o);
	o.p = options->p;
	o.slices = options->slices;
	o.seed = options->seed;
	o.projections = in->directions.array ? invar_array_shape(in->directions.array)[0]
	                                     : options->projections;
	if (to->path && !(grad.data = calloc(invar_array_size(in->a.array), sizeof(float))))
		return inv_no_memory(s);
	st = invar_sliced_wasserstein(s->ctx, in->a.data, in->b.data, shape[0],
	                              (uint32_t)shape[1], in->directions.data, &o,
	                              &result.value, grad.data);
	if (st == INVAR_OK && to->path)
		st = inv_loss_write(s, to, &result);
	if (st == INVAR_OK)
		st = inv_loss_print(s, &result);
	free(grad.data);
	return st;
}

invar_status inv_loss_sw(inv_session *s, const inv_sw_files *files,
                         const invar_loss_opts *o, const inv_grad_folder *grad)
{
	sw_inputs in = {0};
	invar_status st = inv_need(s, files->a, "the first set is missing: --a A.npy");

	if (st == INVAR_OK)
		st = inv_need(s, files->b, "the second set is missing: --b B.npy");
	if (st == INVAR_OK)
		st = inv_session_start(s);
	if (st == INVAR_OK)
		st = inv_array_look(s, files->a, &in.a);
	if (st == INVAR_OK)
		st = inv_array_look(s, files->b, &in.b);
	if (st == INVAR_OK)
		st = inv_array_look(s, files->directions, &in.directions);
	if (st == INVAR_OK)
		st = check_sw(s, &in);
	if (st == INVAR_OK)
		st = inv_array_take(s, &in.a);
	if (st == INVAR_OK)
		st = inv_array_take(s, &in.b);
	if (st == INVAR_OK)
		st = inv_array_take(s, &in.directions);
	if (st == INVAR_OK)
		st = compute_sw(s, &in, o, grad);
	inv_array_drop(&in.a);
	inv_array_drop(&in.b);
	inv_array_drop(&in.directions);
	return st;
}
