/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step.c - the step, in the order that keeps memory traffic low.
 *
 * The optimiser uses a part of a weight's gradient as soon as it is computed, while it is
 * still in the cache, and the gradient is never stored as a whole; the second layer's
 * weights may change once dH has been computed from them.
 *
 * With a decoder the loss is alpha R + beta L; its gradient reaches the codes of
 * the clean rows before E's own backward pass.
 */
#include "adapter/step.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/test_stop.h"
#include "nn/adamw.h"

/* The number of rows that E maps to codes. */
static size_t coded_rows(const inv_step *p)
{
	return p->front + inv_loss_rows(p->spec.loss, &p->loss_shape);
}

static void plan_memory(inv_step *p)
{
	const inv_step_spec *s = &p->spec;
	size_t codes = coded_rows(p) * s->shape.w;

	p->codes = inv_arena_take(&p->arena, codes, sizeof(float));
	p->d_codes = inv_arena_take(&p->arena, codes, sizeof(float));
	if (s->loss->draw_vicinal)
		p->inputs = inv_arena_take(&p->arena, coded_rows(p) * s->shape.d, sizeof(float));
	if (!s->update)
		return;
	p->params = inv_arena_take(&p->arena, p->floats, sizeof(float));
	p->grads = inv_arena_take(&p->arena, p->floats, sizeof(float));
	if (s->without_moments)
		return;
	p->m = inv_arena_take(&p->arena, p->floats, sizeof(float));
	p->v = inv_arena_take(&p->arena, p->floats, sizeof(float));
}

static invar_status allocate_step(inv_step *p)
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
	}
	if (p->spec.update && !p->spec.without_moments) {
		memset(p->m, 0, p->floats * sizeof(float));
		memset(p->v, 0, p->floats * sizeof(float));
	}
	if (p->spec.update && !p->spec.without_moments && !p->spec.decoder.h)
		st = inv_mlp_ranks_new(p->ctx, p->spec.shape, coded_rows(p), &p->dealt);
	if (st == INVAR_OK && !p->dealt)
		st = inv_mlp_pass_new(p->ctx, p->spec.shape, coded_rows(p), p->spec.update,
		                      &p->pass);
	if (st == INVAR_OK && p->spec.decoder.h)
		st = inv_decoder_new(p->ctx, &p->kernels, p->spec.decoder, p->spec.N,
		                     p->spec.update, &p->decoder);
	return st == INVAR_OK ? p->spec.loss->prepare(&p->loss_shape, &p->loss_work) : st;
}

static void shape_loss(inv_step *p)
{
	const inv_step_spec *s = &p->spec;

	p->loss_shape = (inv_loss_shape){.ctx = p->ctx,
	                                 .kernels = &p->kernels,
	                                 .options = s->options,
	                                 .N = s->N,
	                                 .s = s->s,
	                                 .groups = s->groups,
	                                 .d = s->shape.d,
	                                 .w = s->shape.w,
	                                 .frame = s->frame};
	p->front = s->decoder.h && !s->loss->codes_clean(s->options) ? s->N : 0;
}

/* "sc"; with several augmentations "sc_1", "sc_2"; last the decoder's. */
static void name_terms(inv_step *p)
{
	const inv_step_spec *s = &p->spec;

	for (size_t g = 0; g < s->groups; g++)
		for (const char *const *name = s->loss->terms; *name; name++)
			snprintf(p->terms[p->term_count++], INV_TERM_NAME,
			         s->groups > 1 ? "%s_%zu" : "%s", *name, g + 1);
	if (s->decoder.h)
		snprintf(p->terms[p->term_count++], INV_TERM_NAME, "reconstruction");
}

invar_status inv_step_new(const invar_context *ctx, const inv_step_spec *spec,
                          inv_step **out)
{
	inv_step *p = inv_calloc(1, sizeof *p);
	invar_status st;

	*out = NULL;
	if (!p)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for training");
	p->ctx = ctx;
	p->spec = *spec;
	p->adapter_floats = inv_mlp_floats(spec->shape);
	p->floats = p->adapter_floats + (spec->decoder.h ? inv_mlp_floats(spec->decoder) : 0);
	inv_kernels_init(&p->kernels, ctx->cpu);
	inv_mlp_layout(spec->shape, p->blocks);
	if (!p->spec.groups)
		p->spec.groups = 1;
	shape_loss(p);
	name_terms(p);
	if ((st = allocate_step(p)) != INVAR_OK) {
		inv_step_free(p);
		return st;
	}
	*out = p;
	return INVAR_OK;
}

size_t inv_step_memory(const inv_step *p)
{
	return p->arena.size + p->loss_work.bytes +
	       (p->dealt ? inv_mlp_ranks_memory(p->dealt) : inv_mlp_pass_memory(p->pass)) +
	       (p->decoder ? inv_decoder_memory(p->decoder) : 0);
}

void inv_step_free(inv_step *p)
{
	if (!p)
		return;
	inv_mlp_ranks_free(p->dealt);
	inv_mlp_pass_free(p->pass);
	inv_decoder_free(p->decoder);
	if (p->loss_work.state)
		p->spec.loss->release(p->loss_work.state);
	inv_arena_free(&p->arena);
	inv_free(p);
}

/* The input rows of E: all of a batch, with vicinal rows if any, or only the copies. */
static const float *inputs(const inv_step *p, const float *rows)
{
	const inv_step_spec *s = &p->spec;

	if (p->inputs)
		return p->inputs;
	return p->front || s->loss->codes_clean(s->options) ? rows : rows + s->N * s->shape.d;
}

/* alpha R + beta L, for the value and for the part of the gradient computed so far. */
static invar_status add_decoder(inv_step *p, const float *params, const float *rows,
                                inv_loss_value *out)
{
	const inv_step_spec *s = &p->spec;
	double *term = &out->term[p->term_count - 1];
	size_t w = s->shape.w, codes = coded_rows(p) * w;
	invar_status st = inv_decoder_forward(p->decoder, params + p->adapter_floats, rows,
	                                      p->codes, s->alpha, term);

	out->value = s->alpha * *term + s->beta * out->value;
	if (!s->update || st != INVAR_OK)
		return st;
	memset(p->d_codes, 0, p->front * w * sizeof *p->d_codes);
	for (size_t i = p->front * w; s->beta != 1 && i < codes; i++)
		p->d_codes[i] *= (float)s->beta;
	return INVAR_OK;
}

/* Called within a step before the state changes, so that stopping loses nothing. */
static invar_status check_cancel(const inv_step *p)
{
	return p->total ? inv_progress(p->ctx, "train", p->t, p->total) : INVAR_OK;
}

static invar_status check_loss(const inv_loss_value *value)
{
	if (isfinite(value->value))
		return INVAR_OK;
	return inv_fail(INVAR_E_NUMERIC, "the loss is %s",
	                isnan(value->value) ? "NaN" : "infinite");
}

static void draw_vicinal(inv_step *p, const inv_loss_batch *b, float *inputs)
{
	const inv_loss_shape *s = &p->loss_shape;
	float *out = inputs + (s->groups * s->s + 1) * s->N * s->d;

	if (p->vicinal)
		memcpy(out, p->vicinal, s->N * s->d * sizeof *out);
	else
		p->spec.loss->draw_vicinal(s, p->loss_work.state, b, out);
}

static invar_status forward(inv_step *p, const float *params, const float *rows,
                            uint64_t key, inv_loss_value *out)
{
	const inv_step_spec *s = &p->spec;
	size_t skip = p->front * s->shape.w;
	inv_loss_batch batch = {.clean = rows,
	                        .codes = p->codes + skip,
	                        .seed = s->seed,
	                        .step = key,
	                        .draws = p->draws};
	size_t given = (s->groups * s->s + 1) * s->N * s->shape.d;
	invar_status st;

	*out = (inv_loss_value){0};
	if (p->inputs) {
		/* The products of E need all rows in one place; copying them is 0.2 % of a step. */
		memcpy(p->inputs, rows, given * sizeof *rows);
		draw_vicinal(p, &batch, p->inputs);
		batch.vicinal = p->inputs + given;
	}
	st = p->dealt
	         ? inv_mlp_ranks_forward(p->dealt, inputs(p, rows), s->residual, p->codes)
	         : inv_mlp_forward(p->pass, params, inputs(p, rows), s->residual, p->codes);
	inv_test_stop("train:forward %" PRIu64, p->t + 1);
	if (st == INVAR_OK)
		st = check_cancel(p);
	if (st == INVAR_OK)
		st = s->loss->evaluate(&p->loss_shape, p->loss_work.state, &batch, out,
		                       s->update ? p->d_codes + skip : NULL);
	if (st == INVAR_OK && p->decoder)
		st = add_decoder(p, params, rows, out);
	return st == INVAR_OK ? check_loss(out) : st;
}

invar_status inv_step_measure(inv_step *p, const float *params, const float *rows,
                              uint64_t key, inv_loss_value *out)
{
	return forward(p, params, rows, key, out);
}

/* Parameters whose gradients are all there. */
static void update_part(inv_step *p, size_t from, size_t end, double lr)
{
	const inv_adamw adamw = {0.9, 0.999, 1e-8, p->spec.weight_decay};

	inv_adamw_step(p->ctx, &p->kernels, &adamw, lr, p->t, p->grads + from, end - from,
	               p->params + from, p->m + from, p->v + from);
}

/* Both layers, the last one first, and the decoder, whose gradients are all there. */
static invar_status update(inv_step *p, const float *rows, double lr)
{
	const inv_adamw adamw = {0.9, 0.999, 1e-8, p->spec.weight_decay};
	inv_adamw_update u =
		inv_adamw_begin(&p->kernels, &adamw, lr, p->t, p->params, p->m, p->v);
	invar_status st;

	if (p->dealt)
		return inv_mlp_ranks_update(p->dealt, inputs(p, rows), p->d_codes, &adamw, lr,
		                            p->t);
	st = inv_layers_backward_take(p->pass, 1, p->params, NULL, p->d_codes, p->grads,
	                              inv_adamw_take, &u);
	if (st == INVAR_OK && p->decoder)
		update_part(p, p->adapter_floats, p->floats, lr);
	if (st == INVAR_OK)
		st = inv_layers_backward_take(p->pass, 0, NULL, inputs(p, rows), NULL, p->grads,
		                              inv_adamw_take, &u);
	return st;
}

static invar_status decoder_backward(inv_step *p)
{
	if (!p->decoder)
		return INVAR_OK;
	return inv_decoder_backward(p->decoder, p->params + p->adapter_floats, p->codes,
	                            p->grads + p->adapter_floats, p->d_codes);
}

invar_status inv_step_run(inv_step *p, const float *rows, double lr, inv_loss_value *out)
{
	invar_status st;

	if (p->dealt && !p->ahead)
		inv_mlp_ranks_take(p->dealt, p->params, p->m, p->v);
	p->ahead = true;
	if ((st = forward(p, p->params, rows, p->t, out)) == INVAR_OK)
		st = check_cancel(p);
	if (st == INVAR_OK)
		st = decoder_backward(p);
	if (st == INVAR_OK)
		st = check_cancel(p);
	if (st != INVAR_OK)
		return st;
	p->t++;
	return update(p, rows, lr);
}

invar_status inv_step_collect(inv_step *p)
{
	bool ahead = p->dealt && p->ahead;

	p->ahead = false;
	return ahead ? inv_mlp_ranks_collect(p->dealt, p->params, p->m, p->v) : INVAR_OK;
}

invar_status inv_step_gradients(inv_step *p, const float *rows, inv_loss_value *out)
{
	invar_status st = forward(p, p->params, rows, p->t, out);

	if (st == INVAR_OK)
		st = decoder_backward(p);
	if (st == INVAR_OK)
		st = inv_mlp_backward_last(p->pass, p->params, p->d_codes, p->grads);
	if (st == INVAR_OK)
		st = inv_mlp_backward_first(p->pass, inputs(p, rows), p->grads);
	return st;
}
