/* SPDX-License-Identifier: Apache-2.0 */
/* loss_object.c - invar_loss: the arrays of a loss, set by name, then its results. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "adapter/evaluate_loss.h"
#include "base/memory.h"
#include "base/words.h"
#include "formats/npy.h"

struct invar_loss {
	const invar_context *ctx;
	invar_options *options;
	inv_loss_input in;
	inv_loss_result result;
};

invar_status invar_loss_new(const invar_adapter *e, const invar_options *o,
                            invar_loss **out)
{
	invar_status st;
	invar_loss *l;

	*out = NULL;
	INV_TRY(inv_options_expect(o, "loss"));
	INV_TRY(inv_new(&l));
	INV_TRY_OR(fail, inv_options_copy(o, &l->options));
	l->ctx = e->ctx;
	l->in = (inv_loss_input){.adapter = e, .dim = (uint32_t)e->s.d};
	*out = l;
	return INVAR_OK;
fail:
	inv_free(l);
	return st;
}

void invar_loss_free(invar_loss *l)
{
	if (!l)
		return;
	inv_loss_result_clear(&l->result);
	invar_options_free(l->options);
	inv_free(l);
}

static invar_status wrong_shape(const char *name, const char *want, unsigned dims,
                                const uint64_t *shape)
{
	char text[INV_SHAPE_TEXT];

	return inv_fail(INVAR_E_MISMATCH, "%s has shape %s, but must be %s", name,
	                inv_shape_text(dims, shape, text), want);
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

static invar_status set_copies(inv_loss_input *in, const float *data, unsigned dims,
                               const uint64_t *shape)
{
	uint64_t groups = dims == 4 ? shape[0] : 1;

	if (dims != 3 && dims != 4)
		return wrong_shape("copies", "(images, samples, features)", dims, shape);
	shape += dims == 4;
	if (!groups || groups > INV_MAX_LOSS_GROUPS)
		return inv_fail(INVAR_E_USE, "a loss takes 1 to %d augmentations, not %" PRIu64,
		                INV_MAX_LOSS_GROUPS, groups);
	if (!in->clean || shape[0] != in->images || shape[1] > UINT32_MAX ||
	    shape[2] != in->dim)
		return inv_fail(INVAR_E_MISMATCH,
		                "copies of %" PRIu64 " images, of %" PRIu64
		                " features each, do not match the clean rows, (%" PRIu64
		                ", %" PRIu32 "), which are set first",
		                shape[0], shape[2], in->clean ? in->images : 0, in->dim);
	in->aug = data;
	in->groups = (uint32_t)groups;
	in->samples = (uint32_t)shape[1];
	return INVAR_OK;
}

invar_status invar_loss_set(invar_loss *l, const char *name, const float *data,
                            unsigned dims, const uint64_t *shape)
{
	inv_loss_input *in = &l->in;
	bool are_rows = dims == 2 && shape[1] == in->dim;

	INV_TRY(inv_require_word("the array", "clean|copies|views|vicinal|origin", name));
	if (strcmp(name, "copies") == 0)
		return set_copies(in, data, dims, shape);
	if (strcmp(name, "origin") == 0) {
		if (dims != 1 || shape[0] != in->dim)
			return wrong_shape(name, "one row of features", dims, shape);
		in->origin = data;
		return INVAR_OK;
	}

	if (!are_rows)
		return wrong_shape(name, "rows of features as wide as the adapter's", dims, shape);
	if (strcmp(name, "clean") == 0) {
		INV_TRY(set_images(l, in->views, shape[0]));
		in->clean = data;
	} else if (strcmp(name, "views") == 0) {
		if (shape[0] % 2)
			return wrong_shape(name, "pairs of rows", dims, shape);
		INV_TRY(set_images(l, in->clean, shape[0] / 2));
		in->views = data;
	} else {
		if (!in->clean || shape[0] != in->images)
			return wrong_shape(name, "as many rows as there are clean ones", dims, shape);
		in->vicinal = data;
	}
	return INVAR_OK;
}

invar_status invar_loss_set_decoder(invar_loss *l, const invar_adapter *decoder)
{
	l->in.decoder = decoder;
	return INVAR_OK;
}

invar_status invar_loss_compute(invar_loss *l)
{
	inv_loss_result_clear(&l->result);
	return inv_loss_evaluate(l->ctx, &l->in, l->options, &l->result);
}

double invar_loss_value(const invar_loss *l, const char *term)
{
	if (!term)
		return l->result.value;
	for (size_t i = 0; i < l->result.term_count; i++)
		if (strcmp(l->result.terms[i].name, term) == 0)
			return l->result.terms[i].value;
	return NAN;
}

const float *invar_loss_gradient(const invar_loss *l, size_t i, const char **name,
                                 unsigned *dims, const uint64_t **shape)
{
	const inv_named_array *grad;

	if (i >= l->result.grad_count)
		return NULL;
	grad = &l->result.grads[i];
	if (name)
		*name = grad->name;
	if (dims)
		*dims = grad->ndim;
	if (shape)
		*shape = grad->shape;
	return grad->data;
}
