/*
 * step.c - the step, in the order that keeps memory traffic low.
 *
 * The gradient of a layer is used by the optimiser as soon as it is there,
 * while it is still in the cache; the second layer's weights may change once
 * dH has been computed from them.
 */
#include "adapter/step.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "adapter/adamw.h"

static void plan_memory(inv_step *p)
{
	const inv_step_spec *s = &p->spec;
	size_t codes = inv_loss_rows(s->loss, &p->loss_shape) * s->shape.w;

	p->codes = inv_arena_take(&p->arena, codes, sizeof(float));
	p->d_codes = inv_arena_take(&p->arena, codes, sizeof(float));
	if (!s->update)
		return;
	p->params = inv_arena_take(&p->arena, p->floats, sizeof(float));
	p->grads = inv_arena_take(&p->arena, p->floats, sizeof(float));
	p->m = inv_arena_take(&p->arena, p->floats, sizeof(float));
	p->v = inv_arena_take(&p->arena, p->floats, sizeof(float));
}

static invar_status allocate(inv_step *p)
{
	invar_status st;

	plan_memory(p);
	if ((st = inv_arena_commit(&p->arena)) != INVAR_OK)
		return st;
	plan_memory(p);
	if (p->spec.update) {
		/* One page fault each, here and not in the first step. */
		memset(p->params, 0, p->floats * sizeof(float));
		memset(p->grads, 0, p->floats * sizeof(float));
		memset(p->m, 0, p->floats * sizeof(float));
		memset(p->v, 0, p->floats * sizeof(float));
	}
	st =
		inv_mlp_pass_new(p->ctx, p->spec.shape, inv_loss_rows(p->spec.loss, &p->loss_shape),
	                     p->spec.update, &p->pass);
	return st == INVAR_OK ? p->spec.loss->prepare(&p->loss_shape, &p->loss_work) : st;
}

static void shape_loss(inv_step *p)
{
	const inv_step_spec *s = &p->spec;

	p->loss_shape = (inv_loss_shape){.ctx = p->ctx,
	                                 .kernels = &p->kernels,
	                                 .opts = &s->opts,
	                                 .N = s->N,
	                                 .s = s->s,
	                                 .groups = s->groups,
	                                 .d = s->shape.d,
	                                 .w = s->shape.w};
}

/* "sc"; with several augmentations "sc_1", "sc_2". */
static void name_terms(inv_step *p)
{
	const inv_step_spec *s = &p->spec;

	for (size_t g = 0; g < s->groups; g++)
		for (const char *const *name = s->loss->terms; *name; name++)
			snprintf(p->terms[p->term_count++], INV_TERM_NAME,
			         s->groups > 1 ? "%s_%zu" : "%s", *name, g + 1);
}

invar_status inv_step_new(const invar_context *ctx, const inv_step_spec *spec,
                          inv_step **out)
{
	inv_step *p = inv_calloc(1, sizeof *p);
	invar_status st;

	*out = NULL;
	if (!p)
		return inv_fail(INVAR_E_NOMEM, "no memory for training");
	p->ctx = ctx;
	p->spec = *spec;
	p->floats = inv_mlp_floats(spec->shape);
	inv_kernels_init(&p->kernels, ctx->cpu);
	inv_mlp_layout(spec->shape, p->blocks);
	if (!p->spec.groups)
		p->spec.groups = 1;
	shape_loss(p);
	name_terms(p);
	if ((st = allocate(p)) != INVAR_OK) {
		inv_step_free(p);
		return st;
	}
	*out = p;
	return INVAR_OK;
}

size_t inv_step_memory(const inv_step *p)
{
	return p->arena.size + p->loss_work.bytes + inv_mlp_pass_memory(p->pass);
}

void inv_step_free(inv_step *p)
{
	if (!p)
		return;
	inv_mlp_pass_free(p->pass);
	if (p->loss_work.state)
		p->spec.loss->release(p->loss_work.state);
	inv_arena_free(&p->arena);
	inv_free(p);
}

/* What E sees of a batch: all rows, or the copies only. */
static const float *inputs(const inv_step *p, const float *rows)
{
	const inv_step_spec *s = &p->spec;

	return s->loss->codes_clean(&s->opts) ? rows : rows + s->N * s->shape.d;
}

static invar_status forward(inv_step *p, const float *params, const float *rows,
                            uint64_t key, inv_loss_value *out)
{
	const inv_step_spec *s = &p->spec;
	inv_loss_batch batch = {
		.clean = rows, .codes = p->codes, .seed = s->seed, .step = key, .draws = p->draws};
	invar_status st =
		inv_mlp_forward(p->pass, params, inputs(p, rows), s->residual, p->codes);

	*out = (inv_loss_value){0};
	if (st == INVAR_OK)
		st = s->loss->evaluate(&p->loss_shape, p->loss_work.state, &batch, out,
		                       s->update ? p->d_codes : NULL);
	if (st == INVAR_OK && !isfinite(out->value))
		st = inv_fail(INVAR_E_NUMERIC, "the loss is %s",
		              isnan(out->value) ? "NaN" : "infinite");
	return st;
}

invar_status inv_step_measure(inv_step *p, const float *params, const float *rows,
                              uint64_t key, inv_loss_value *out)
{
	return forward(p, params, rows, key, out);
}

/* One layer's blocks lie side by side: weight, bias. */
static void update_layer(inv_step *p, int weight, double lr)
{
	const inv_adamw adamw = {0.9, 0.999, 1e-8, p->spec.weight_decay};
	size_t from = p->blocks[weight].offset;
	size_t end = weight + 2 < INV_MLP_BLOCKS ? p->blocks[weight + 2].offset : p->floats;

	inv_adamw_step(p->ctx, &p->kernels, &adamw, lr, p->t, p->grads + from, end - from,
	               p->params + from, p->m + from, p->v + from);
}

invar_status inv_step_run(inv_step *p, const float *rows, double lr, inv_loss_value *out)
{
	invar_status st = forward(p, p->params, rows, p->t, out);

	if (st == INVAR_OK)
		st = inv_mlp_backward_last(p->pass, p->params, p->d_codes, p->grads);
	if (st != INVAR_OK)
		return st;
	p->t++;
	update_layer(p, 2, lr);
	if ((st = inv_mlp_backward_first(p->pass, inputs(p, rows), p->grads)) == INVAR_OK)
		update_layer(p, 0, lr);
	return st;
}

invar_status inv_step_gradients(inv_step *p, const float *rows, inv_loss_value *out)
{
	invar_status st = forward(p, p->params, rows, p->t, out);

	if (st == INVAR_OK)
		st = inv_mlp_backward_last(p->pass, p->params, p->d_codes, p->grads);
	if (st == INVAR_OK)
		st = inv_mlp_backward_first(p->pass, inputs(p, rows), p->grads);
	return st;
}
