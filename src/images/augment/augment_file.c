/* SPDX-License-Identifier: Apache-2.0 */
/*
 * augment_file.c - a SPEC applied to a NumPy file of tensors, block by block.
 *
 * Draws depend on the index of an image alone, so blocks of any size give the same bytes.
 * Only rows of parameters that come from a file or go to one are kept for all images.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "formats/npy.h"
#include "images/augment/augment.h"

enum { BLOCK_BYTES = 32 << 20, MIN_PER_THREAD = 2 };

typedef struct file_work {
	const invar_augment *a;
	inv_draw draw;
	inv_npy_source *in;
	inv_npy_writer *out;
	uint64_t shape[4], result[4]; /* of all images */
	uint64_t cells, result_cells; /* of one */
	uint64_t block;               /* images at once */
	bool given;                   /* params come from a file */
	float *x, *y;
	float *params; /* [n, columns]; NULL: drawn by the blocks themselves */
} file_work;

static invar_status augment_blocks(const file_work *w)
{
	uint64_t images = w->shape[0];

	for (uint64_t at = 0; at < images; at += w->block) {
		uint64_t now = images - at < w->block ? images - at : w->block;
		uint64_t shape[4] = {now, w->shape[1], w->shape[2], w->shape[3]};
		float *params = w->params ? w->params + at * w->a->spec.columns : NULL;
		inv_draw draw = w->draw;

		INV_TRY(inv_progress(w->a->ctx, "augment", at, images));
		INV_TRY(inv_npy_source_read(w->in, now * w->cells, w->x));
		for (uint64_t i = 0; i < now * w->cells; i++)
			if (!isfinite(w->x[i])) /* it would spread to neighbouring pixels */
				return inv_fail(INVAR_E_NUMERIC,
				                "%s: image %" PRIu64
				                " has a pixel that is %s (element %" PRIu64 ")",
				                w->in->name, at + i / w->cells,
				                isnan(w->x[i]) ? "NaN" : "infinite", i % w->cells);
		draw.first += at;
		if (params && !w->given)
			INV_TRY(inv_augment_draw(w->a, &draw, shape, params));
		INV_TRY(inv_augment_apply(w->a, &draw, w->x, shape, params, w->y));
		INV_TRY(inv_npy_put(w->out, w->y, now * w->result_cells));
	}
	return inv_npy_source_end(w->in);
}

invar_status inv_augment_apply_file(const invar_augment *a, const invar_options *o,
                                    const char *in, const char *params, const char *out,
                                    const char *params_out)
{
	inv_npy_source from;
	file_work w = {.a = a, .in = &from, .given = params};
	uint64_t least = (uint64_t)MIN_PER_THREAD * a->ctx->threads, fit;
	invar_options *kept;
	invar_status st;

	INV_TRY(inv_draw_read(o, &kept, &w.draw));
	INV_TRY_OR(end, inv_npy_source_open(a->ctx, in, &from));
	if (from.h->ndim != 4)
		INV_TRY_OR(end, inv_fail(INVAR_E_MISMATCH,
		                         "%s has %u dimensions, but images are [n, c, h, w]",
		                         from.name, from.h->ndim));
	memcpy(w.shape, from.h->shape, sizeof w.shape);
	INV_TRY_OR(end, invar_augment_result(a, w.shape, w.result));
	w.cells = w.shape[1] * w.shape[2] * w.shape[3];
	w.result_cells = w.result[1] * w.result[2] * w.result[3];
	if (w.draw.first > UINT32_MAX || w.shape[0] > UINT32_MAX - w.draw.first)
		INV_TRY_OR(end, inv_fail(INVAR_E_USE, "image indices must be below 2^32"));

	/* As many images at once as fit, but some for every thread. */
	fit = BLOCK_BYTES / ((w.cells + w.result_cells) * sizeof(float));
	w.block = fit < least ? least : fit;
	w.block = w.block < w.shape[0] ? w.block : w.shape[0];
	INV_TRY_OR(end, inv_new_array(&w.x, w.block * w.cells));
	INV_TRY_OR(end, inv_new_array(&w.y, w.block * w.result_cells));
	if ((params || params_out) && w.shape[0])
		INV_TRY_OR(end, inv_new_array(&w.params, w.shape[0] * a->spec.columns));
	if (params)
		INV_TRY_OR(end, inv_augment_params_load(a, params, w.shape, w.params));
	INV_TRY_OR(end, inv_npy_create_target(out, INV_F32, 4, w.result, &w.out));
	INV_TRY_OR(end, augment_blocks(&w));
	st = inv_npy_commit(w.out);
	w.out = NULL;
	if (st == INVAR_OK && params_out)
		st = inv_augment_params_save(a, o, w.shape, w.params, params_out);
end:
	inv_npy_abort(w.out);
	inv_npy_source_close(&from);
	invar_options_free(kept);
	inv_free(w.x);
	inv_free(w.y);
	inv_free(w.params);
	return st;
}
