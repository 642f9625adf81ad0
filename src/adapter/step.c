/* SPDX-License-Identifier: Apache-2.0 */
/* step.c - see step.h. */
#include "adapter/step.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/test_stop.h"

static void plan_step_memory(inv_step *p)
{
	const inv_step_spec *s = &p->spec;
	inv_arena *a = &p->arena;

	p->codes = inv_arena_take(a, p->rows * s->shape.w, sizeof(float));
	p->d_codes = inv_arena_take(a, p->rows * s->shape.w, sizeof(float));
	if (s->loss->draw_vicinal)
		p->inputs = inv_arena_take(a, p->rows * s->shape.d, sizeof(float));
	if (!s->update)
		return;
	p->params = inv_arena_take(a, p->floats, sizeof(float));
	p->grads = inv_arena_take(a, p->floats, sizeof(float));
	if (s->without_moments)
		return;
	p->m = inv_arena_take(a, p->floats, sizeof(float));
	p->v = inv_arena_take(a, p->floats, sizeof(float));
}

static invar_status allocate_step(inv_step *p)
{
	const inv_step_spec *s = &p->spec;
	inv_mlp_vectors vectors;

	plan_step_memory(p);
	INV_TRY(inv_arena_commit(&p->arena));
	plan_step_memory(p);
	vectors = (inv_mlp_vectors){p->params, p->grads, p->m, p->v};
	/* One page fault each, here and not in the first step. */
	for (size_t i = 0; i < 4; i++) {
		float *vector = (float *[]){p->params, p->grads, p->m, p->v}[i];

		if (vector)
			memset(vector, 0, p->floats * sizeof *vector);
	}
	INV_TRY(inv_mlp_steps_new(p->ctx, s->shape, p->rows, s->update, p->m && !s->decoder.h,
	                          &vectors, &p->mlp));
	if (s->decoder.h)
		INV_TRY(inv_decoder_new(p->ctx, &p->kernels, s->decoder, s->N, s->update,
		                        &p->decoder));
	return s->loss->prepare(&p->loss_shape, &p->loss_work);
}

invar_status inv_step_new(const invar_context *ctx, const inv_step_spec *spec,
                          inv_step **out)
{
	const inv_step_spec *s;
	invar_status st;
	inv_step *p;

	*out = NULL;
	INV_TRY(inv_new(&p));
	p->ctx = ctx;
	p->spec = *spec;
	s = &p->spec;
	p->adapter_floats = inv_mlp_floats(s->shape);
	p->floats = p->adapter_floats + (s->decoder.h ? inv_mlp_floats(s->decoder) : 0);
	inv_kernels_init(&p->kernels, ctx->cpu);
	inv_mlp_layout(s->shape, p->blocks);
	if (!s->groups)
		p->spec.groups = 1;
	p->loss_shape = (inv_loss_shape){.ctx = ctx,
	                                 .kernels = &p->kernels,
	                                 .options = s->options,
	                                 .N = s->N,
	                                 .s = s->s,
	                                 .groups = s->groups,
	                                 .d = s->shape.d,
	                                 .w = s->shape.w,
	                                 .frame = s->frame};
	p->front = s->decoder.h && !s->loss->codes_clean(s->options) ? s->N : 0;
	p->rows = p->front + inv_loss_rows(s->loss, &p->loss_shape);

	/* "sc"; with several augmentations "sc_1", "sc_2"; last the decoder's. */
	for (size_t g = 0; g < s->groups; g++)
		for (const char *const *name = s->loss->terms; *name; name++)
			snprintf(p->terms[p->term_count++], INV_TERM_NAME,
			         s->groups > 1 ? "%s_%zu" : "%s", *name, g + 1);
	if (s->decoder.h)
		snprintf(p->terms[p->term_count++], INV_TERM_NAME, "reconstruction");

	INV_TRY_OR(fail, allocate_step(p));
	*out = p;
	return INVAR_OK;
fail:
	inv_step_free(p);
	return st;
}

size_t inv_step_memory(const inv_step *p)
{
	return p->arena.size + p->loss_work.bytes + inv_mlp_steps_memory(p->mlp) +
	       (p->decoder ? inv_decoder_memory(p->decoder) : 0);
}

void inv_step_free(inv_step *p)
{
	if (!p)
		return;
	inv_mlp_steps_free(p->mlp);
	inv_decoder_free(p->decoder);
	if (p->loss_work.state)
		p->spec.loss->release(p->loss_work.state);
	inv_arena_free(&p->arena);
	inv_free(p);
}

/* The input rows of E: all of a batch, with vicinal rows if any, or only the copies. */
static const float *inputs_of(const inv_step *p, const float *rows)
{
	const inv_step_spec *s = &p->spec;

	if (p->inputs)
		return p->inputs;
	return p->front || s->loss->codes_clean(s->options) ? rows : rows + s->N * s->shape.d;
}

/* Called within a step before the state changes, so that stopping loses nothing. */
static invar_status check_step_cancel(const inv_step *p)
{
	return p->total ? inv_progress(p->ctx, "train", p->t, p->total) : INVAR_OK;
}

/* The value and, unless the step only measures, the gradients of the codes. */
static invar_status compute_loss(inv_step *p, const float *params, const float *rows,
                                 uint64_t key, inv_loss_value *out)
{
	const inv_step_spec *s = &p->spec;
	size_t w = s->shape.w, given = (s->groups * s->s + 1) * s->N * s->shape.d;
	inv_loss_batch batch = {.clean = rows,
	                        .codes = p->codes + p->front * w,
	                        .seed = s->seed,
	                        .step = key,
	                        .draws = p->draws};
	float *d_codes = s->update ? p->d_codes + p->front * w : NULL;

	*out = (inv_loss_value){0};
	if (p->inputs) {
		/* The products of E need all rows in one place; copying them is 0.2 % of a step. */
		memcpy(p->inputs, rows, given * sizeof *rows);
		batch.vicinal = p->inputs + given;
		if (p->vicinal)
			memcpy(p->inputs + given, p->vicinal, s->N * s->shape.d * sizeof *rows);
		else
			s->loss->draw_vicinal(&p->loss_shape, p->loss_work.state, &batch,
			                      p->inputs + given);
	}
	INV_TRY(
		inv_mlp_steps_forward(p->mlp, params, inputs_of(p, rows), s->residual, p->codes));
	inv_test_stop("train:forward %" PRIu64, p->t + 1);
	INV_TRY(check_step_cancel(p));
	INV_TRY(s->loss->evaluate(&p->loss_shape, p->loss_work.state, &batch, out, d_codes));

	if (p->decoder) {
		double *term = &out->term[p->term_count - 1];

		INV_TRY(inv_decoder_forward(p->decoder, params + p->adapter_floats, rows, p->codes,
		                            s->alpha, term));
		out->value = s->alpha * *term + s->beta * out->value;
		if (s->update)
			memset(p->d_codes, 0, p->front * w * sizeof *p->d_codes);
		for (size_t i = p->front * w; s->update && s->beta != 1 && i < p->rows * w; i++)
			p->d_codes[i] *= (float)s->beta;
	}
	if (isfinite(out->value))
		return INVAR_OK;
	return inv_fail(INVAR_E_NUMERIC, "the loss is %s",
	                isnan(out->value) ? "NaN" : "infinite");
}

/* Its gradients, and those of the clean codes before E's own backward pass. */
static invar_status decoder_backward(inv_step *p)
{
	if (!p->decoder)
		return INVAR_OK;
	return inv_decoder_backward(p->decoder, p->params + p->adapter_floats, p->codes,
	                            p->grads + p->adapter_floats, p->d_codes);
}

invar_status inv_step_measure(inv_step *p, const float *params, const float *rows,
                              uint64_t key, inv_loss_value *out)
{
	return compute_loss(p, params, rows, key, out);
}

invar_status inv_step_run(inv_step *p, const float *rows, double lr, inv_loss_value *out)
{
	const inv_adamw adamw = {0.9, 0.999, 1e-8, p->spec.weight_decay};
	size_t from = p->adapter_floats;

	INV_TRY(compute_loss(p, p->params, rows, p->t, out));
	INV_TRY(check_step_cancel(p));
	INV_TRY(decoder_backward(p));
	INV_TRY(check_step_cancel(p));
	p->t++;
	if (p->decoder)
		inv_adamw_step(p->ctx, &p->kernels, &adamw, lr, p->t, p->grads + from,
		               p->floats - from, p->params + from, p->m + from, p->v + from);
	return inv_mlp_steps_update(p->mlp, inputs_of(p, rows), p->d_codes, &adamw, lr, p->t);
}

invar_status inv_step_collect(inv_step *p)
{
	return inv_mlp_steps_collect(p->mlp);
}

invar_status inv_step_gradients(inv_step *p, const float *rows, inv_loss_value *out)
{
	INV_TRY(compute_loss(p, p->params, rows, p->t, out));
	INV_TRY(decoder_backward(p));
	return inv_mlp_steps_gradients(p->mlp, inputs_of(p, rows), p->d_codes);
}
