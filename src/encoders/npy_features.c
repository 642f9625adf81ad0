/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npy_features.c - F over a NumPy file or a pipe, block by block.
 *
 * A block is a whole number of the plan's groups, counted from the first image, so a file
 * and a pipe give the same bytes as one call on all of it, and memory stays flat for any
 * length.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/test_stop.h"
#include "encoders/encoder.h"
#include "formats/npy_source.h"

enum { BLOCK_BYTES = 64 << 20, MAX_GROUPS = 256 };

static invar_status check_source(const invar_encoder *e, const inv_npy_source *in)
{
	char text[INV_SHAPE_TEXT];

	if (in->h->rank != 4)
		return inv_fail(
			INVAR_E_MISMATCH,
			"%s: its shape is %s, but %s takes images (n, channels, height, width)",
			in->name, inv_shape_text(in->h->rank, in->h->shape, text),
			invar_encoder_name(e));
	if (in->h->dtype == INV_F16 || in->h->dtype == INV_F32 || in->h->dtype == INV_F64)
		return INVAR_OK;
	return inv_fail(INVAR_E_MISMATCH,
	                "%s: contains %s but must contain floats, already normalised; to "
	                "normalise images of bytes, encode them as a data set npy:FILE",
	                in->name, inv_dtype_name(in->h->dtype));
}

/* Names the value by its position: [image, channel, row, column] or [image, column]. */
static invar_status check_finite(const char *name, const char *what, const float *x,
                                 uint64_t images, uint64_t each, uint64_t before)
{
	for (uint64_t i = 0; i < images * each; i++)
		if (!isfinite(x[i]))
			return inv_fail(INVAR_E_NUMERIC,
			                "%s: image %" PRIu64 " has %s that is %s (value %" PRIu64 ")",
			                name, before + i / each, what, isnan(x[i]) ? "NaN" : "infinite",
			                i % each);
	return INVAR_OK;
}

typedef struct work {
	invar_encoder *e;
	inv_npy_source *in;
	inv_npy_writer *out;
	uint64_t cells, width, images, block;
	float *x, *y;
} work;

static invar_status pump(work *w)
{
	uint64_t shape[4] = {0, w->in->h->shape[1], w->in->h->shape[2], w->in->h->shape[3]};
	invar_status st = INVAR_OK;

	for (uint64_t at = 0; at < w->images && st == INVAR_OK; at += w->block) {
		shape[0] = w->images - at < w->block ? w->images - at : w->block;
		if ((st = inv_progress(w->e->ctx, "features", at, w->images)) == INVAR_OK &&
		    (st = inv_npy_source_read(w->in, shape[0] * w->cells, w->x)) == INVAR_OK &&
		    (st = check_finite(w->in->name, "a pixel", w->x, shape[0], w->cells, at)) ==
		        INVAR_OK &&
		    (st = invar_encoder_run(w->e, w->x, shape, w->y)) == INVAR_OK &&
		    (st = check_finite(w->in->name, "a feature", w->y, shape[0], w->width, at)) ==
		        INVAR_OK)
			st = inv_npy_put(w->out, w->y, shape[0] * w->width);
	}
	return st == INVAR_OK ? inv_npy_source_end(w->in) : st;
}

/* As many groups as fit, at least one. */
static uint64_t choose_block(const work *w)
{
	uint64_t group = w->e->last->group;
	uint64_t groups = BLOCK_BYTES / (group * (w->cells + w->width) * sizeof(float));

	groups = groups < 1 ? 1 : groups > MAX_GROUPS ? MAX_GROUPS : groups;
	return group * groups;
}

static invar_status write_features(work *w, const char *path, invar_dtype dtype)
{
	uint64_t shape[2] = {w->images, w->width};
	invar_status st;

	w->block = choose_block(w);
	w->x = inv_alloc(w->block * w->cells * sizeof *w->x);
	w->y = inv_alloc(w->block * w->width * sizeof *w->y);
	if (!w->x || !w->y)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for %" PRIu64 " images of %s",
		                w->block, w->in->name);
	st = inv_npy_create_target(path, dtype == INVAR_FLOAT16 ? INV_F16 : INV_F32, 2, shape,
	                           &w->out);
	inv_test_stop("features:open %s", path);
	if (st == INVAR_OK && (st = pump(w)) == INVAR_OK) {
		st = inv_npy_commit(w->out);
		w->out = NULL;
	}
	return st;
}

invar_status inv_encoder_run_file(invar_encoder *e, const char *in, const char *out,
                                  invar_dtype dtype, uint64_t shape[4])
{
	inv_npy_source from;
	work w = {.e = e, .in = &from};
	invar_status st = inv_npy_source_open(e->ctx, in, &from);

	if (st == INVAR_OK)
		st = check_source(e, &from);
	if (st == INVAR_OK) {
		memcpy(shape, from.h->shape, 4 * sizeof *shape);
		st = invar_encoder_width(e, shape, &w.width);
		if (st == INVAR_E_USE || st == INVAR_E_MISMATCH) /* the file is at fault */
			st = inv_context(INVAR_E_MISMATCH, "%s", from.name);
	}
	if (st == INVAR_OK) {
		w.images = shape[0];
		w.cells = shape[1] * shape[2] * shape[3];
		st = write_features(&w, out, dtype);
	}
	inv_npy_abort(w.out);
	inv_free(w.x);
	inv_free(w.y);
	inv_npy_source_close(&from);
	return st;
}
