/* SPDX-License-Identifier: Apache-2.0 */
/* loss_object.c - invar_loss: the arrays of a loss, set one by one, then its results. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "adapter/evaluate_loss.h"
#include "base/memory.h"

struct invar_loss {
	const invar_context *ctx;
	invar_options *options;
	inv_loss_input in;
	inv_loss_draws draws[INV_MAX_LOSS_GROUPS];
	inv_loss_result result;
};

invar_status invar_loss_new(const invar_adapter *e, const invar_options *o,
                            invar_loss **out)
{
	invar_status st = inv_options_expect(o, "loss");
	invar_loss *l;

	*out = NULL;
	if (st != INVAR_OK)
		return st;
	if (!(l = inv_calloc(1, sizeof *l)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for a loss");
	if ((st = inv_options_copy(o, &l->options)) != INVAR_OK) {
		inv_free(l);
		return st;
	}
	l->ctx = e->ctx;
	l->in = (inv_loss_input){.adapter = e, .dim = (uint32_t)e->s.d};
	*out = l;
	return INVAR_OK;
}

void invar_loss_free(invar_loss *l)
{
	if (!l)
		return;
	inv_loss_result_clear(&l->result);
	invar_options_free(l->options);
	inv_free(l);
}

/* Clean features and views, if both are given, are of the same images. */
static invar_status set_images(invar_loss *l, const float *beside, uint64_t images)
{
	if (beside && l->in.images != images)
		return inv_fail(INVAR_E_MISMATCH,
		                "clean features and views must be of the same images, but there "
		                "are %" PRIu64 " and %" PRIu64,
		                l->in.images, images);
	l->in.images = images;
	return INVAR_OK;
}

invar_status invar_loss_set_clean(invar_loss *l, const float *clean, uint64_t images)
{
	invar_status st = set_images(l, l->in.views, images);

	if (st == INVAR_OK)
		l->in.clean = clean;
	return st;
}

invar_status invar_loss_set_copies(invar_loss *l, const float *copies, uint32_t groups,
                                   uint32_t samples)
{
	if (!groups || groups > INV_MAX_LOSS_GROUPS)
		return inv_fail(INVAR_E_USE, "a loss takes 1 to %d augmentations, not %u",
		                INV_MAX_LOSS_GROUPS, groups);
	l->in.aug = copies;
	l->in.groups = groups;
	l->in.samples = samples;
	return INVAR_OK;
}

invar_status invar_loss_set_views(invar_loss *l, const float *views, uint64_t images)
{
	invar_status st = set_images(l, l->in.clean, images);

	if (st == INVAR_OK)
		l->in.views = views;
	return st;
}

invar_status invar_loss_set_decoder(invar_loss *l, const invar_adapter *decoder)
{
	l->in.decoder = decoder;
	return INVAR_OK;
}

invar_status invar_loss_set_vicinal(invar_loss *l, const float *vicinal)
{
	l->in.vicinal = vicinal;
	return INVAR_OK;
}

invar_status invar_loss_set_origin(invar_loss *l, const float *origin)
{
	l->in.origin = origin;
	return INVAR_OK;
}

invar_status invar_loss_set_draws(invar_loss *l, uint32_t group, const char *part,
                                  const float *directions, const uint32_t *first,
                                  const uint32_t *second)
{
	static const char *const parts[] = {"xz", "xx", "zz"};

	for (size_t i = 0; i < 3; i++)
		if (strcmp(parts[i], part) == 0 && group < INV_MAX_LOSS_GROUPS) {
			l->draws[group].directions[i] = directions;
			l->draws[group].permutations[i][0] = first;
			l->draws[group].permutations[i][1] = second;
			l->in.draws = l->draws;
			return INVAR_OK;
		}
	return inv_fail(INVAR_E_USE, "a loss has no draws '%.16s' for augmentation %u", part,
	                group);
}

invar_status invar_loss_compute(invar_loss *l)
{
	inv_loss_result_clear(&l->result);
	return inv_loss_evaluate(l->ctx, &l->in, l->options, &l->result);
}

double invar_loss_value(const invar_loss *l)
{
	return l->result.value;
}

size_t invar_loss_terms(const invar_loss *l)
{
	return l->result.term_count;
}

double invar_loss_term(const invar_loss *l, size_t i, const char **name)
{
	bool exists = i < l->result.term_count;

	if (name)
		*name = exists ? l->result.terms[i].name : NULL;
	return exists ? l->result.terms[i].value : NAN;
}

const float *invar_loss_gradient(const invar_loss *l, size_t i, const char **name,
                                 unsigned *rank, const uint64_t **shape)
{
	const inv_named_array *grad;

	if (i >= l->result.grad_count)
		return NULL;
	grad = &l->result.grads[i];
	if (name)
		*name = grad->name;
	if (rank)
		*rank = grad->rank;
	if (shape)
		*shape = grad->shape;
	return grad->data;
}
