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
#include "formats/npy.h"

enum { BLOCK_BYTES = 64 << 20, MAX_GROUPS = 256 };

static invar_status check_image_array(const invar_encoder *e, const inv_npy_source *in)
{
	char text[INV_SHAPE_TEXT];

	if (in->h->ndim != 4)
		return inv_fail(
			INVAR_E_MISMATCH,
			"%s: its shape is %s, but %s takes images (n, channels, height, width)",
			in->name, inv_shape_text(in->h->ndim, in->h->shape, text),
			invar_encoder_name(e));
	if (in->h->dtype == INV_F16 || in->h->dtype == INV_F32 || in->h->dtype == INV_F64)
		return INVAR_OK;
	return inv_fail(INVAR_E_MISMATCH,
	                "%s: contains %s but must contain floats, already normalised; to "
	                "normalise images of bytes, encode them as a data set npy:FILE",
	                in->name, inv_dtype_name(in->h->dtype));
}

/* Names the value by its position: [image, channel, row, column] or [image, column]. */
static invar_status check_finite_images(const char *name, const char *what, const float *x,
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

static invar_status encode_blocks(work *w)
{
	uint64_t shape[4] = {0, w->in->h->shape[1], w->in->h->shape[2], w->in->h->shape[3]};
	const char *name = w->in->name;

	for (uint64_t at = 0; at < w->images; at += w->block) {
		shape[0] = w->images - at < w->block ? w->images - at : w->block;
		INV_TRY(inv_progress(w->e->ctx, "features", at, w->images));
		INV_TRY(inv_npy_source_read(w->in, shape[0] * w->cells, w->x));
		INV_TRY(check_finite_images(name, "a pixel", w->x, shape[0], w->cells, at));
		INV_TRY(invar_encoder_run(w->e, w->x, shape, w->y));
		INV_TRY(check_finite_images(name, "a feature", w->y, shape[0], w->width, at));
		INV_TRY(inv_npy_put(w->out, w->y, shape[0] * w->width));
	}
	return inv_npy_source_end(w->in);
}

static invar_status write_features(work *w, const char *path, invar_dtype dtype)
{
	uint64_t shape[2] = {w->images, w->width}, group = w->e->last->group;
	uint64_t groups = BLOCK_BYTES / (group * (w->cells + w->width) * sizeof(float));
	invar_status st;

	/* As many groups as fit, at least one. */
	w->block = group * (groups < 1 ? 1 : groups > MAX_GROUPS ? MAX_GROUPS : groups);
	INV_TRY(inv_new_array(&w->x, w->block * w->cells));
	INV_TRY(inv_new_array(&w->y, w->block * w->width));
	INV_TRY(inv_npy_create_target(path, dtype == INVAR_FLOAT16 ? INV_F16 : INV_F32, 2,
	                              shape, &w->out));
	inv_test_stop("features:open %s", path);
	INV_TRY(encode_blocks(w));
	st = inv_npy_commit(w->out);
	w->out = NULL;
	return st;
}

invar_status inv_encoder_run_file(invar_encoder *e, const char *in, const char *out,
                                  invar_dtype dtype, uint64_t shape[4])
{
	inv_npy_source from;
	work w = {.e = e, .in = &from};
	invar_status st;

	INV_TRY_OR(done, inv_npy_source_open(e->ctx, in, &from));
	INV_TRY_OR(done, check_image_array(e, &from));
	memcpy(shape, from.h->shape, 4 * sizeof *shape);
	st = invar_encoder_width(e, shape, &w.width);
	if (st == INVAR_E_USE || st == INVAR_E_MISMATCH) /* the file is at fault */
		st = inv_context(INVAR_E_MISMATCH, "%s", from.name);
	INV_TRY_OR(done, st);
	w.images = shape[0];
	w.cells = shape[1] * shape[2] * shape[3];
	st = write_features(&w, out, dtype);
done:
	inv_npy_abort(w.out);
	inv_free(w.x);
	inv_free(w.y);
	inv_npy_source_close(&from);
	return st;
}
