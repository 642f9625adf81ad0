/* SPDX-License-Identifier: Apache-2.0 */
/*
 * survey.c - the sizes of all images of a split, from their headers or, on
 * request, by decoding every one of them.
 */
#include <string.h>

#include "base/figures.h"
#include "base/memory.h"
#include "base/threads.h"
#include "images/dataset.h"

enum { CHUNK = 4096, BLOCK = 16 }; /* images per progress report, images per block */

typedef struct survey {
	const invar_dataset *dataset;
	const inv_images *split;
	bool decode;
	uint64_t first, count; /* of the chunk */
	inv_image *scratch;    /* one per thread */
	invar_status status[CHUNK];
	uint32_t width[CHUNK], height[CHUNK];
} survey;

typedef struct findings {
	uint64_t count, broken; /* images examined; of these, skipped */
	uint32_t min_width, max_width, min_height, max_height;
} findings;

static invar_status survey_image(const survey *v, uint64_t row, inv_image *scratch,
                                 uint32_t *width, uint32_t *height)
{
	if (!v->decode)
		return inv_images_measure(v->dataset, v->split, row, width, height);
	INV_TRY(inv_images_read(v->dataset, v->split, row, scratch));
	*width = scratch->width;
	*height = scratch->height;
	return INVAR_OK;
}

static void survey_block(void *user, size_t block, unsigned thread)
{
	survey *v = user;
	size_t first = block * BLOCK, end = first + BLOCK;

	for (size_t i = first; i < end && i < v->count; i++)
		v->status[i] =
			survey_image(v, v->first + i, &v->scratch[thread], &v->width[i], &v->height[i]);
}

static void widen_findings(findings *out, uint32_t width, uint32_t height)
{
	bool first = out->count == out->broken;

	if (first || width < out->min_width)
		out->min_width = width;
	if (first || width > out->max_width)
		out->max_width = width;
	if (first || height < out->min_height)
		out->min_height = height;
	if (first || height > out->max_height)
		out->max_height = height;
}

/* In order, on the caller's thread; a broken image is examined again for its message. */
static invar_status take_survey_chunk(survey *v, findings *out)
{
	for (size_t i = 0; i < v->count; i++) {
		invar_status st = v->status[i];

		if (st != INVAR_OK) {
			st = survey_image(v, v->first + i, &v->scratch[0], &v->width[i], &v->height[i]);
			if (!inv_is_broken(st) || !v->dataset->opts.skip_broken)
				return inv_refuse_broken(v->dataset, st, invar_last_error());
			inv_log(v->dataset->ctx, INVAR_LOG_WARNING, "skipped: %s", invar_last_error());
			out->broken++;
		} else {
			widen_findings(out, v->width[i], v->height[i]);
		}
		out->count++;
	}
	return INVAR_OK;
}

static invar_status survey_split(survey *v, findings *out)
{
	invar_context *ctx = v->dataset->ctx;

	for (v->first = 0; v->first < v->split->count; v->first += CHUNK) {
		uint64_t left = v->split->count - v->first;

		INV_TRY(inv_progress(ctx, v->split->name, v->first, v->split->count));
		v->count = left < CHUNK ? left : CHUNK;
		inv_parallel(ctx, inv_blocks(v->count, BLOCK), survey_block, v);
		INV_TRY(take_survey_chunk(v, out));
	}
	return INVAR_OK;
}

invar_status inv_dataset_survey(const invar_dataset *d, const char *split, int decode,
                                invar_figures **out)
{
	findings f = {0};
	survey *v;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&v));
	v->dataset = d;
	v->decode = decode;
	INV_TRY_OR(end, inv_dataset_need_split(d, split, &v->split));
	INV_TRY_OR(end, inv_new_zeros(&v->scratch, d->ctx->threads));
	INV_TRY_OR(end, survey_split(v, &f));
	st = inv_figures_new(
		(const inv_figure[]){
			{"count", (double)f.count},
			{"broken", (double)f.broken},
			{"min-width", (double)f.min_width},
			{"max-width", (double)f.max_width},
			{"min-height", (double)f.min_height},
			{"max-height", (double)f.max_height},
		},
		6, out);
end:
	for (unsigned i = 0; v->scratch && i < d->ctx->threads; i++)
		inv_image_clear(&v->scratch[i]);
	inv_free(v->scratch);
	inv_free(v);
	return st;
}
