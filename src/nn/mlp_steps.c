/* SPDX-License-Identifier: Apache-2.0 */
/* mlp_steps.c - see mlp_steps.h. */
#include "nn/mlp_steps.h"

#include <assert.h>

#include "base/memory.h"
#include "nn/mlp_ranks.h"

struct inv_mlp_steps {
	struct inv_kernels kernels;
	inv_mlp_vectors of;
	inv_mlp_pass *pass;   /* NULL if hidden units are dealt out: */
	inv_mlp_ranks *dealt; /* the weights of this rank's units */
	bool ahead;           /* dealt weights have changed since they were collected */
};

invar_status inv_mlp_steps_new(const invar_context *ctx, inv_mlp_shape s, size_t M,
                               bool backward, bool deal, const inv_mlp_vectors *of,
                               inv_mlp_steps **out)
{
	inv_mlp_steps *p;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&p));
	p->of = *of;
	inv_kernels_init(&p->kernels, ctx->cpu);
	if (deal)
		INV_TRY_OR(fail, inv_mlp_ranks_new(ctx, s, M, &p->dealt));
	if (!p->dealt)
		INV_TRY_OR(fail, inv_mlp_pass_new(ctx, s, M, backward, &p->pass));
	*out = p;
	return INVAR_OK;
fail:
	inv_mlp_steps_free(p);
	return st;
}

size_t inv_mlp_steps_memory(const inv_mlp_steps *p)
{
	return p->dealt ? inv_mlp_ranks_memory(p->dealt) : inv_mlp_pass_memory(p->pass);
}

bool inv_mlp_steps_are_dealt(const inv_mlp_steps *p)
{
	return p->dealt;
}

void inv_mlp_steps_free(inv_mlp_steps *p)
{
	if (!p)
		return;
	inv_mlp_ranks_free(p->dealt);
	inv_mlp_pass_free(p->pass);
	inv_free(p);
}

invar_status inv_mlp_steps_forward(inv_mlp_steps *p, const float *params, const float *x,
                                   bool residual, float *y)
{
	if (!p->dealt)
		return inv_mlp_forward(p->pass, params, x, residual, y);
	assert(params == p->of.params);
	if (!p->ahead)
		inv_mlp_ranks_take(p->dealt, p->of.params, p->of.m, p->of.v);
	p->ahead = true;
	return inv_mlp_ranks_forward(p->dealt, x, residual, y);
}

invar_status inv_mlp_steps_gradients(inv_mlp_steps *p, const float *x, const float *dy)
{
	INV_TRY(inv_mlp_backward_last(p->pass, p->of.params, dy, p->of.grads));
	return inv_mlp_backward_first(p->pass, x, p->of.grads);
}

invar_status inv_mlp_steps_update(inv_mlp_steps *p, const float *x, const float *dy,
                                  const inv_adamw *a, double lr, uint64_t t)
{
	inv_adamw_update u =
		inv_adamw_begin(&p->kernels, a, lr, t, p->of.params, p->of.m, p->of.v);

	if (p->dealt)
		return inv_mlp_ranks_update(p->dealt, x, dy, a, lr, t);
	INV_TRY(inv_layers_backward_take(p->pass, 1, p->of.params, NULL, dy, p->of.grads,
	                                 inv_adamw_take, &u));
	return inv_layers_backward_take(p->pass, 0, NULL, x, NULL, p->of.grads, inv_adamw_take,
	                                &u);
}

invar_status inv_mlp_steps_collect(inv_mlp_steps *p)
{
	if (!p->ahead)
		return INVAR_OK;
	p->ahead = false;
	return inv_mlp_ranks_collect(p->dealt, p->of.params, p->of.m, p->of.v);
}
