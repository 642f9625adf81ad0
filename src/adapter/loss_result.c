/* SPDX-License-Identifier: Apache-2.0 */
/* loss_result.c - collecting the results of invar_loss. */
#include "adapter/loss_result.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

static invar_status no_memory(void)
{
	return inv_fail(INVAR_E_NOMEM, "not enough memory for the gradients");
}

/* The name with '_' for '.'; the array is the caller's to fill. */
static invar_status add_grad(inv_loss_result *r, const char *prefix, const char *name,
                             unsigned rank, const uint64_t *shape, float **data)
{
	inv_named_array *g = &r->grads[r->grad_count];
	char text[32];

	snprintf(text, sizeof text, "%s%s", prefix, name);
	for (char *at = text; *at; at++)
		if (*at == '.')
			*at = '_';
	g->name = inv_strdup(text);
	g->data = *data = inv_calloc(shape[0] * (rank > 1 ? shape[1] : 1), sizeof **data);
	g->rank = rank;
	memcpy(g->shape, shape, rank * sizeof *shape);
	r->grad_count++;
	return g->name && g->data ? INVAR_OK : no_memory();
}

static invar_status add_blocks(inv_loss_result *r, const char *prefix, inv_mlp_shape s,
                               const float *grads)
{
	inv_mlp_block blocks[INV_MLP_BLOCKS];
	invar_status st = INVAR_OK;
	float *data;

	inv_mlp_layout(s, blocks);
	for (int i = 0; i < INV_MLP_BLOCKS && st == INVAR_OK; i++) {
		st = add_grad(r, prefix, blocks[i].name, blocks[i].rank, blocks[i].shape, &data);
		if (st == INVAR_OK)
			memcpy(data, grads + blocks[i].offset, blocks[i].count * sizeof *data);
	}
	return st;
}

static invar_status add_terms(const inv_step *p, const inv_loss_value *value,
                              inv_loss_result *r)
{
	for (size_t i = 0; i < p->term_count; i++) {
		char *name = inv_strdup(p->terms[i]);

		r->terms[r->term_count++] = (inv_named_value){name, value->term[i]};
		if (!name)
			return no_memory();
	}
	return INVAR_OK;
}

static invar_status add_codes(const inv_step *p, inv_loss_result *r)
{
	size_t rows = p->front + inv_loss_rows(p->spec.loss, &p->loss_shape);
	uint64_t shape[2] = {rows, p->spec.shape.w};
	float *data;
	invar_status st = add_grad(r, "", "codes", 2, shape, &data);

	if (st == INVAR_OK)
		memcpy(data, p->d_codes, rows * shape[1] * sizeof *data);
	return st;
}

/* ---- One augmentation of several ------------------------------------------------- */

/* The codes of one group by itself: clean rows if the loss has them, then its own. */
static void gather_codes(const inv_step *p, size_t group, float *out)
{
	const inv_loss_shape *s = &p->loss_shape;
	const float *codes = p->codes + p->front * s->w;
	size_t clean = p->spec.loss->codes_clean(s->options) * s->N * s->w;
	size_t own = s->s * s->N * s->w;

	memcpy(out, codes, clean * sizeof *out);
	memcpy(out + clean, codes + clean + group * own, own * sizeof *out);
}

/*
 * d(-log(-L)) = dL / (-L). The draws are those that the group has among the
 * others: by the same key, or those given for it.
 */
static invar_status add_group(inv_step *p, const float *rows, size_t group,
                              inv_loss_result *r)
{
	const inv_loss *loss = p->spec.loss;
	inv_loss_shape s = p->loss_shape;
	inv_loss_batch b = {.clean = rows, .seed = p->spec.seed, .step = p->t, .group = group};
	inv_loss_value value = {0};
	inv_loss_work work = {0};
	uint64_t shape[2];
	char name[16];
	float *codes, *grad;
	invar_status st;

	s.groups = 1;
	shape[0] = inv_loss_rows(loss, &s);
	shape[1] = s.w;
	snprintf(name, sizeof name, "codes_%zu", group + 1);
	if ((st = add_grad(r, "", name, 2, shape, &grad)) != INVAR_OK)
		return st;
	if (!(codes = inv_alloc(shape[0] * shape[1] * sizeof *codes)))
		return no_memory();
	gather_codes(p, group, codes);
	b.codes = codes;
	b.draws = p->draws ? p->draws + group : NULL;
	if ((st = loss->prepare(&s, &work)) == INVAR_OK)
		st = loss->evaluate(&s, work.state, &b, &value, grad);
	for (size_t i = 0; st == INVAR_OK && i < shape[0] * shape[1]; i++)
		grad[i] = value.value < 0 ? (float)(grad[i] * p->spec.beta / -value.value) : 0;
	if (work.state)
		loss->release(work.state);
	inv_free(codes);
	return st;
}

static invar_status check_finite(const inv_step *p, const inv_loss_result *r)
{
	for (size_t i = 0; i < r->grad_count; i++) {
		const inv_named_array *g = &r->grads[i];

		if (!p->kernels.all_finite(g->data, g->shape[0] * (g->rank > 1 ? g->shape[1] : 1)))
			return inv_fail(INVAR_E_NUMERIC,
			                "the gradient of %s has values too large for a float", g->name);
	}
	return INVAR_OK;
}

/* ---- All of it --------------------------------------------------------------------- */

static invar_status fill_result(inv_step *p, const float *rows, const inv_loss_value *value,
                                inv_loss_result *r)
{
	size_t groups = p->spec.groups;
	invar_status st;

	r->value = value->value;
	r->terms = inv_calloc(INV_VALUE_TERMS, sizeof *r->terms);
	r->grads = inv_calloc(2 * INV_MLP_BLOCKS + groups, sizeof *r->grads);
	if (!r->terms || !r->grads)
		return no_memory();
	st = add_terms(p, value, r);
	if (st == INVAR_OK && groups == 1)
		st = add_codes(p, r);
	for (size_t g = 0; g < groups && groups > 1 && st == INVAR_OK; g++)
		st = add_group(p, rows, g, r);
	if (st == INVAR_OK)
		st = add_blocks(r, "", p->spec.shape, p->grads);
	if (st == INVAR_OK && p->decoder)
		st = add_blocks(r, "dec_", p->spec.decoder, p->grads + p->adapter_floats);
	return st == INVAR_OK ? check_finite(p, r) : st;
}

invar_status inv_loss_collect(inv_step *p, const float *rows, const inv_loss_value *value,
                              inv_loss_result *out)
{
	invar_status st = fill_result(p, rows, value, out);

	if (st != INVAR_OK)
		inv_loss_result_clear(out);
	return st;
}

void inv_loss_result_clear(inv_loss_result *r)
{
	for (size_t i = 0; i < r->grad_count; i++) {
		inv_free(r->grads[i].name);
		inv_free(r->grads[i].data);
	}
	for (size_t i = 0; i < r->term_count; i++)
		inv_free(r->terms[i].name);
	inv_free(r->terms);
	inv_free(r->grads);
	*r = (inv_loss_result){0};
}
