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

static callback *callback_of(const invar_encoder *e)
{
	return e->own;
}

static void close_callback(invar_encoder *e)
{
	callback *c = callback_of(e);

	if (!c)
		return;
	inv_free(c->name);
	inv_free(c->version);
	inv_free(c->normalize);
	inv_free(c);
}

static invar_status plan_callback(inv_encoder_plan *p)
{
	const callback *c = callback_of(p->encoder);

	p->width = c->is.width;
	p->group = c->batch < INV_GROUP ? INV_GROUP : c->batch; /* what is gathered at least */
	return INVAR_OK;
}

/* The caller's message, if it left one; otherwise that it failed. */
static invar_status report_callback(const callback *c, invar_status st, const char *message)
{
	if (st == INVAR_E_CANCELLED)
		return inv_fail(st, "%s", *message ? message : "interrupted");
	if (st < INVAR_OK || st > INVAR_E_CANCELLED)
		return inv_fail(INVAR_E_USE,
		                "the encoder %.60s returned %d, which is not an invar_status",
		                c->name, (int)st);
	return inv_fail(st, "the encoder %.60s failed%s%s", c->name, *message ? ": " : "",
	                message);
}

/*
 * Every bit of `out` was set before the call. That is a NaN which no computation gives, so
 * it shows whether the function filled all rows, in their full width.
 */
static invar_status check_filled(const callback *c, const float *out, size_t n)
{
	for (size_t i = 0; i < n * c->is.width; i++) {
		uint32_t bits;

		memcpy(&bits, &out[i], sizeof bits);
		if (bits == UINT32_MAX)
			return inv_fail(INVAR_E_MISMATCH,
			                "the encoder %.60s did not set value %zu of image %zu in a "
			                "batch of %zu; it must fill %" PRIu32 " numbers per image",
			                c->name, i % c->is.width, i / c->is.width, n, c->is.width);
	}
	return INVAR_OK;
}

static invar_status call_batch(const callback *c, inv_extent e, const float *x, size_t n,
                               float *out)
{
	uint64_t shape[4] = {n, e.c, e.h, e.w};
	char message[MESSAGE] = "";
	invar_status st;

	memset(out, 0xff, n * c->is.width * sizeof *out);
	st = c->is.run(c->is.user, x, shape, out, message, sizeof message);
	message[sizeof message - 1] = '\0';
	return st == INVAR_OK ? check_filled(c, out, n) : report_callback(c, st, message);
}

static invar_status run_callback(const inv_encoder_plan *p, const float *x, size_t n,
                                 unsigned thread, float *out)
{
	const callback *c = callback_of(p->encoder);
	size_t cells = inv_extent_cells(p->shape);

	(void)thread;
	for (size_t i = 0; i < n; i += c->batch)
		INV_TRY(call_batch(c, p->shape, x + i * cells, n - i < c->batch ? n - i : c->batch,
		                   out + i * p->width));
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
	return is->normalize ? inv_normalisation_parse(is->normalize, &n) : INVAR_OK;
}

/* Which resampling, as in the list of models. */
static invar_status find_named_filter(const invar_encoder_callback *is, inv_filter *out)
{
	*out = INV_BILINEAR;
	if (!is->filter || strcmp(is->filter, "bilinear") == 0)
		return INVAR_OK;
	*out = INV_BICUBIC;
	if (strcmp(is->filter, "bicubic") == 0)
		return INVAR_OK;
	return inv_fail(INVAR_E_USE,
	                "the encoder %.60s: the filter '%.30s' is not known; use bilinear or "
	                "bicubic",
	                is->name, is->filter);
}

static invar_status take_callback(invar_encoder *e, const invar_encoder_callback *is)
{
	callback *c;

	INV_TRY(check_callback(is));
	INV_TRY(find_named_filter(is, &e->input.filter));
	INV_TRY(inv_new(&c));
	e->own = c;
	INV_TRY(inv_new_text(&c->name, is->name));
	if (is->version)
		INV_TRY(inv_new_text(&c->version, is->version));
	if (is->normalize)
		INV_TRY(inv_new_text(&c->normalize, is->normalize));
	if (is->weights)
		INV_TRY(inv_new_text(&e->weights, is->weights));
	c->is = *is;
	c->batch = is->batch ? is->batch : STANDARD_BATCH;
	e->name = c->name;
	e->version = c->version;
	e->measures.width = is->width;
	e->input.side = is->side;
	e->input.resize = is->resize;
	e->input.normalisation = c->normalize;
	snprintf(e->about, sizeof e->about,
	         "%.80s, a function of the calling program, width %" PRIu32, is->name,
	         is->width);
	return inv_options_pick(NULL, inv_encoder_declare, &e->options);
}

invar_status invar_encoder_from_callback(invar_context *ctx,
                                         const invar_encoder_callback *given,
                                         invar_encoder **out)
{
	invar_encoder *e;
	invar_encoder_callback is = {0};
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&e));
	/* A program may know fewer members, or more. */
	memcpy(&is, given, given->size < sizeof is ? given->size : sizeof is);
	e->ctx = ctx;
	e->kind = &callback_kind;
	INV_TRY_OR(fail, take_callback(e, &is));
	*out = e;
	return INVAR_OK;
fail:
	invar_encoder_close(e);
	return st;
}
