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

invar_status inv_encoder_run_file(invar_encoder *e, const char *in, const char *out,
                                  invar_dtype dtype, uint64_t shape[4])
{
	uint64_t width, cells, group, groups, block, rows[2];
	inv_npy_source from;
	inv_npy_writer *to = NULL;
	float *x = NULL, *y = NULL;
	invar_status st;

	INV_TRY_OR(done, inv_npy_source_open(e->ctx, in, &from));
	INV_TRY_OR(done, check_image_array(e, &from));
	memcpy(shape, from.h->shape, 4 * sizeof *shape);
	st = invar_encoder_width(e, shape, &width);
	if (st == INVAR_E_USE || st == INVAR_E_MISMATCH) /* the file is at fault */
		st = inv_context(INVAR_E_MISMATCH, "%s", from.name);
	INV_TRY_OR(done, st);

	/* As many groups as fit, at least one. */
	cells = shape[1] * shape[2] * shape[3];
	group = e->last->group;
	groups = BLOCK_BYTES / (group * (cells + width) * sizeof(float));
	block = group * (groups < 1 ? 1 : groups > MAX_GROUPS ? MAX_GROUPS : groups);
	INV_TRY_OR(done, inv_new_array(&x, block * cells));
	INV_TRY_OR(done, inv_new_array(&y, block * width));
	rows[0] = shape[0];
	rows[1] = width;
	INV_TRY_OR(done, inv_npy_create_target(out, dtype == INVAR_FLOAT16 ? INV_F16 : INV_F32,
	                                       2, rows, &to));
	inv_test_stop("features:open %s", out);
	for (uint64_t at = 0; at < shape[0]; at += block) {
		uint64_t n = shape[0] - at < block ? shape[0] - at : block;
		const uint64_t some[4] = {n, shape[1], shape[2], shape[3]};

		INV_TRY_OR(done, inv_progress(e->ctx, "features", at, shape[0]));
		INV_TRY_OR(done, inv_npy_source_read(&from, n * cells, x));
		INV_TRY_OR(done, check_finite_images(from.name, "a pixel", x, n, cells, at));
		INV_TRY_OR(done, invar_encoder_run(e, x, some, y));
		INV_TRY_OR(done, check_finite_images(from.name, "a feature", y, n, width, at));
		INV_TRY_OR(done, inv_npy_put(to, y, n * width));
	}
	INV_TRY_OR(done, inv_npy_source_end(&from));
	st = inv_npy_commit(to);
	to = NULL;
done:
	inv_npy_abort(to);
	inv_free(x);
	inv_free(y);
	inv_npy_source_close(&from);
	return st;
}
