/* SPDX-License-Identifier: Apache-2.0 */
/*
 * callback_encoder.c - F is a function of the caller: PyTorch, a GPU, a remote service.
 *
 * The function sees batches of prepared images and fills rows of features. It is called by
 * the thread that called the library and by no other, outside of parallel loops, so that it
 * may use threads, a device or an interpreter lock of its own. Batches are cut by row
 * number: a resumed encoding calls it with the same batches as an uninterrupted one.
 *
 * What the library cannot know about the function is what the caller says: name, version,
 * width and the preparation of images. bank.json records all of them.
 */
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "encoders/encoder.h"

enum { STANDARD_BATCH = 64, MAX_BATCH = 256, MESSAGE = 600 };
#define MAX_WIDTH ((uint32_t)1 << 24) /* as in a bank */

typedef struct callback {
	invar_encoder_callback is; /* its texts are owned */
	char *name, *version, *normalize;
	uint32_t batch;
} callback;

static void close_callback(invar_encoder *e)
{
	callback *c = e->own;

	if (!c)
		return;
	inv_free(c->name);
	inv_free(c->version);
	inv_free(c->normalize);
	inv_free(c);
}

static invar_status plan_callback(inv_encoder_plan *p)
{
	const callback *c = p->encoder->own;

	p->width = c->is.width;
	p->group = c->batch < INV_GROUP ? INV_GROUP : c->batch; /* what is gathered at least */
	return INVAR_OK;
}

static invar_status run_callback(const inv_encoder_plan *p, const float *x, size_t n,
                                 unsigned thread, float *out)
{
	const callback *c = p->encoder->own;
	size_t cells = inv_extent_cells(p->shape), width = c->is.width, batch;

	(void)thread;
	for (; n; n -= batch, x += batch * cells, out += batch * width) {
		uint64_t shape[4] = {0, p->shape.c, p->shape.h, p->shape.w};
		char message[MESSAGE] = "";
		invar_status st;

		shape[0] = batch = n < c->batch ? n : c->batch;
		memset(out, 0xff, batch * width * sizeof *out);
		st = c->is.run(c->is.user, x, shape, out, message, sizeof message);
		message[sizeof message - 1] = '\0';
		if (st == INVAR_E_CANCELLED)
			return inv_fail(st, "%s", *message ? message : "interrupted");
		if (st < INVAR_OK || st > INVAR_E_CANCELLED)
			return inv_fail(INVAR_E_USE,
			                "the encoder %.60s returned %d, which is not an invar_status",
			                c->name, (int)st);
		if (st != INVAR_OK)
			return inv_fail(st, "the encoder %.60s failed%s%s", c->name,
			                *message ? ": " : "", message);

		/* All bits set is a NaN that no computation gives: the value was left out. */
		for (size_t i = 0; i < batch * width; i++) {
			uint32_t bits;

			memcpy(&bits, &out[i], sizeof bits);
			if (bits == UINT32_MAX)
				return inv_fail(INVAR_E_MISMATCH,
				                "the encoder %.60s did not set value %zu of image %zu in a "
				                "batch of %zu; it must fill %zu numbers per image",
				                c->name, i % width, i / width, batch, width);
		}
	}
	return INVAR_OK;
}

static const inv_encoder_kind callback_kind = {
	.family = "callback",
	.about = "a function of the calling program",
	.close = close_callback,
	.plan = plan_callback,
	.run = run_callback,
	.by_caller = true,
};

/* ---- Opening ---------------------------------------------------------------------- */

static invar_status check_callback(const invar_encoder_callback *is)
{
	inv_normalisation n;

	if (!is->run)
		return inv_fail(INVAR_E_USE, "an encoder needs a function to call");
	if (!is->name || !*is->name)
		return inv_fail(INVAR_E_USE,
		                "the encoder has no name: give one, so that its features can be "
		                "distinguished from others");
	if (!is->width || is->width > MAX_WIDTH)
		return inv_fail(INVAR_E_USE,
		                "the encoder %.60s: its features must have 1 to %" PRIu32
		                " numbers, not %" PRIu32,
		                is->name, MAX_WIDTH, is->width);
	if (is->side > INV_MAX_SIDE || is->resize > INV_MAX_SIDE ||
	    (is->resize && is->resize < is->side))
		return inv_fail(INVAR_E_USE,
		                "the encoder %.60s: images resized to %" PRIu32
		                " and cropped to %" PRIu32 " are not possible; sides are up to %d, "
		                "and the crop is the smaller one",
		                is->name, is->resize, is->side, INV_MAX_SIDE);
	if (is->batch > MAX_BATCH || (is->batch & (is->batch - 1)))
		return inv_fail(INVAR_E_USE,
		                "the encoder %.60s: a batch of %" PRIu32
		                " images is not possible; use a power of two up to %d",
		                is->name, is->batch, MAX_BATCH);
	if (is->filter && strcmp(is->filter, "bilinear") != 0 &&
	    strcmp(is->filter, "bicubic") != 0)
		return inv_fail(
			INVAR_E_USE,
			"the encoder %.60s: the filter '%.30s' is not known; use bilinear or "
			"bicubic",
			is->name, is->filter);
	return is->normalize ? inv_normalisation_parse(is->normalize, &n) : INVAR_OK;
}

invar_status invar_encoder_from_callback(invar_context *ctx,
                                         const invar_encoder_callback *given,
                                         invar_encoder **out)
{
	invar_encoder *e;
	invar_encoder_callback is = {0};
	callback *c;
	invar_status st;

	*out = NULL;
	/* A program may know fewer members, or more. */
	memcpy(&is, given, given->size < sizeof is ? given->size : sizeof is);
	INV_TRY(check_callback(&is));
	INV_TRY(inv_new(&e));
	e->ctx = ctx;
	e->kind = &callback_kind;
	INV_TRY_OR(fail, inv_new(&c));
	e->own = c;
	c->is = is;
	c->batch = is.batch ? is.batch : STANDARD_BATCH;
	INV_TRY_OR(fail, inv_new_text(&c->name, is.name));
	if (is.version)
		INV_TRY_OR(fail, inv_new_text(&c->version, is.version));
	if (is.normalize)
		INV_TRY_OR(fail, inv_new_text(&c->normalize, is.normalize));
	if (is.weights)
		INV_TRY_OR(fail, inv_new_text(&e->weights, is.weights));
	e->name = c->name;
	e->version = c->version;
	e->measures.width = is.width;
	e->input.side = is.side;
	e->input.resize = is.resize;
	e->input.filter =
		is.filter && strcmp(is.filter, "bicubic") == 0 ? INV_BICUBIC : INV_BILINEAR;
	e->input.normalisation = c->normalize;
	snprintf(e->about, sizeof e->about,
	         "%.80s, a function of the calling program, width %" PRIu32, is.name, is.width);
	INV_TRY_OR(fail, inv_options_pick(NULL, inv_encoder_declare, &e->options));
	*out = e;
	return INVAR_OK;
fail:
	invar_encoder_close(e);
	return st;
}
