/* SPDX-License-Identifier: Apache-2.0 */
/* live_copies.c - see live_copies.h. */
#include "encode/live_copies.h"

#include <inttypes.h>
#include <string.h>

#include "bank/fingerprints.h"
#include "base/memory.h"
#include "encode/encode_options.h"

/* ---- Opening ---------------------------------------------------------------------- */

invar_status inv_live_open(invar_encoder *e, const invar_dataset *d, const invar_options *o,
                           uint64_t seed, inv_live **out)
{
	inv_encode_settings mine;
	inv_live *f;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&f));
	f->encoder = e;
	inv_kernels_init(&f->kernels, e->ctx->cpu);
	pthread_mutex_init(&f->lock, NULL);
	atomic_init(&f->cancelled, false);
	INV_TRY_OR(fail, inv_encode_read(o, &f->kept, &mine));
	mine.copies = mine.augment ? "0" : NULL; /* none are stored */
	mine.dtype = "float32";
	mine.seed = seed;
	INV_TRY_OR(fail, inv_encoding_open(e, d, &mine, &f->of));
	*out = f;
	return INVAR_OK;
fail:
	inv_live_close(f);
	return st;
}

void inv_live_close(inv_live *f)
{
	if (!f)
		return;
	inv_pipeline_free(f->pipeline);
	inv_npy_close(f->known);
	inv_encoding_close(&f->of);
	invar_options_free(f->kept);
	pthread_mutex_destroy(&f->lock);
	inv_free(f->index);
	inv_free(f);
}

invar_status inv_live_select(inv_live *f, const char *split, uint64_t *images)
{
	*images = 0;
	INV_TRY(inv_dataset_need_split(f->of.dataset, split, &f->split));
	*images = f->split->count;
	return INVAR_OK;
}

/* Takes `some`. */
static bool update_and_free(json_t *all, json_t *some)
{
	bool fine = some && json_object_update(all, some) == 0;

	json_decref(some);
	return fine;
}

json_t *inv_live_options(const inv_live *f)
{
	const char *weights = f->encoder->weights;
	json_t *all = json_object();

	/* A path that is not UTF-8 cannot be stored in JSON, and must be given again. */
	json_object_set_new(all, "images", json_string(f->of.dataset->text));
	json_object_set_new(all, "weights", weights ? json_string(weights) : json_null());
	if (update_and_free(all, inv_options_json(f->of.dataset->options, 0)) &&
	    update_and_free(all, inv_encoder_options_json(f->encoder)) &&
	    update_and_free(all, inv_encode_json(&f->of.opts, 0)))
		return all;
	json_decref(all);
	return NULL;
}

/* ---- The clean features ----------------------------------------------------------- */

invar_status inv_live_encode_clean(inv_live *f, const char *folder, invar_bank **out)
{
	/* Encoding sees a const context; its hooks are only called. */
	invar_context *ctx = f->encoder->ctx;
	const json_t *entry;
	char *split, *path;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_encode_into(f->encoder, f->of.dataset, &f->of.opts, folder, true));
	INV_TRY(inv_bank_open(ctx, folder, out));
	if (!inv_bank_split(*out, f->split->name))
		return INVAR_E_MISMATCH;

	/* Rows of the bank to indices of images: those that could not be read have no row. */
	entry = json_object_get(json_object_get((*out)->json, "splits"), f->split->name);
	INV_TRY(inv_images_without(f->split, json_object_get(entry, "left_out"), &f->index,
	                           &f->rows));

	split = inv_join(folder, f->split->name);
	path = split ? inv_join(split, "fingerprints.npy") : NULL;
	st = path ? inv_fingerprints_open(path, f->rows, &f->known) : inv_no_memory();
	inv_free(path);
	inv_free(split);
	INV_TRY(st);
	return f->of.augment ? inv_pipeline_new(&f->of, &f->pipeline) : INVAR_OK;
}

/* ---- Copies ----------------------------------------------------------------------- */

typedef struct batch {
	inv_live *f;
	uint32_t N;
	uint32_t first; /* copy number of the pass's first array */
	const inv_images *images;
	const uint32_t *rows; /* [N] of the clean bank */
	float *out;
} batch;

static invar_status put_copies(void *user, size_t array, uint64_t row, size_t rows,
                               const float *out, const float *params)
{
	const batch *b = user;
	size_t width = b->f->of.width;

	(void)params;
	if (!b->f->kernels.all_finite(out, rows * width))
		return inv_fail(INVAR_E_NUMERIC,
		                "%s: the features of a copy of an image of %s are not finite",
		                b->f->of.dataset->text, b->f->split->name);
	memcpy(b->out + ((b->first + array) * b->N + row) * width, out,
	       rows * width * sizeof *out);
	return INVAR_OK;
}

static invar_status compare_seen(void *user, uint64_t row, size_t rows,
                                 const inv_fingerprint *print)
{
	const batch *b = user;

	for (uint64_t i = row; i < row + rows && b->f->known; i++)
		INV_TRY(inv_fingerprints_compare(b->f->known, b->rows[i], b->f->of.dataset,
		                                 b->images, i, &print[i - row]));
	return INVAR_OK;
}

static invar_status check_live_cancel(void *user)
{
	const batch *b = user;

	return atomic_load(&b->f->cancelled)
	           ? inv_fail(INVAR_E_CANCELLED, "copies are no longer needed")
	           : INVAR_OK;
}

invar_status inv_live_fill(inv_live *f, uint32_t epoch, const uint32_t *rows, uint32_t N,
                           uint32_t s, float *out)
{
	inv_images images = *f->split;
	batch b = {.f = f, .N = N, .images = &images, .rows = rows, .out = out};
	inv_pipeline_plan plan = {.images = &images,
	                          .count = N,
	                          .epoch = epoch,
	                          .user = &b,
	                          .see = compare_seen,
	                          .put = put_copies,
	                          .tick = check_live_cancel};
	uint32_t *index;
	invar_status st;

	INV_TRY(inv_new_array(&index, N));
	for (uint32_t i = 0; i < N; i++)
		index[i] = f->index[rows[i]];
	images.index = index;
	images.count = N;
	pthread_mutex_lock(&f->lock);
	INV_TRY_OR(end, check_live_cancel(&b));
	for (; b.first < s; b.first += (uint32_t)plan.arrays) {
		for (plan.arrays = 0; plan.arrays < INV_WALK_ARRAYS && b.first + plan.arrays < s;
		     plan.arrays++)
			plan.copy[plan.arrays] = (int32_t)(b.first + plan.arrays);
		INV_TRY_OR(end, inv_pipeline_run(f->pipeline, &plan));
	}
	st = inv_encoding_check_weights(&f->of);
end:
	pthread_mutex_unlock(&f->lock);
	inv_free(index);
	return st;
}
