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

invar_status inv_dataset_survey(const invar_dataset *d, const char *split, int decode,
                                invar_figures **out)
{
	uint32_t least[2] = {UINT32_MAX, UINT32_MAX}, most[2] = {0}; /* width, height */
	uint64_t broken = 0, total;
	survey *v;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&v));
	v->dataset = d;
	v->decode = decode;
	INV_TRY_OR(end, inv_dataset_need_split(d, split, &v->split));
	INV_TRY_OR(end, inv_new_zeros(&v->scratch, d->ctx->threads));
	total = v->split->count;
	for (v->first = 0; v->first < total; v->first += CHUNK) {
		INV_TRY_OR(end, inv_progress(d->ctx, v->split->name, v->first, total));
		v->count = total - v->first < CHUNK ? total - v->first : CHUNK;
		inv_parallel(d->ctx, inv_blocks(v->count, BLOCK), survey_block, v);
		for (size_t i = 0; i < v->count; i++) {
			const uint32_t size[2] = {v->width[i], v->height[i]};

			for (size_t k = 0; k < 2 && v->status[i] == INVAR_OK; k++) {
				least[k] = size[k] < least[k] ? size[k] : least[k];
				most[k] = size[k] > most[k] ? size[k] : most[k];
			}
			if (v->status[i] == INVAR_OK)
				continue;
			/* A broken image is examined again, on this thread, for its message. */
			st = survey_image(v, v->first + i, &v->scratch[0], &v->width[i], &v->height[i]);
			if (!inv_is_broken(st) || !d->opts.skip_broken)
				INV_TRY_OR(end, inv_refuse_broken(d, st, invar_last_error()));
			inv_log(d->ctx, INVAR_LOG_WARNING, "skipped: %s", invar_last_error());
			broken++;
		}
	}
	st = inv_figures_new(
		(const inv_figure[]){
			{"count", (double)total},
			{"broken", (double)broken},
			{"min-width", broken < total ? (double)least[0] : 0},
			{"max-width", (double)most[0]},
			{"min-height", broken < total ? (double)least[1] : 0},
			{"max-height", (double)most[1]},
		},
		6, out);
end:
	for (unsigned i = 0; v->scratch && i < d->ctx->threads; i++)
		inv_image_clear(&v->scratch[i]);
	inv_free(v->scratch);
	inv_free(v);
	return st;
}
