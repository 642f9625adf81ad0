/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recall.c - what a run on images was begun with, for those who go on with it.
 *
 * run.json keeps every option under "images", "options"; see inv_live_options. Only what
 * was not given anew is taken from there. Whether the rest says the same in other words
 * ("rotation" for "rotation:degrees=-180..180") is known once it has come to something:
 * what the bank of clean features says of itself is held against that.
 */
#include <string.h>

#include "base/fields.h"
#include "base/memory.h"
#include "run/run.h"

struct invar_recalled {
	json_t *options;
};

static invar_status find_options(const inv_run *r, json_t **out)
{
	const json_t *images = json_object_get(r->json, "images");

	if (!json_is_object(images))
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: was begun on a bank, so it cannot go on with images", r->path);
	*out = json_incref(json_object_get(images, "options"));
	return INVAR_OK;
}

static invar_status load(const char *run, json_t **out)
{
	inv_run *r;
	invar_status st = inv_run_open(run, INV_RUN_RESUME, &r);

	if (st == INVAR_OK)
		st = find_options(r, out);
	inv_run_close(r);
	return st;
}

static inv_fields table(const invar_field *(*fields)(size_t *count))
{
	inv_fields f = {0};

	f.field = fields(&f.count);
	return f;
}

/* A caller of an older header has shorter structs: theirs come in, and go out again. */
static invar_status take(const json_t *options, const char *run, const char *const *given,
                         const char **weights, invar_dataset_opts *dataset,
                         invar_encoder_opts *encoder, invar_encode_opts *how)
{
	static const invar_field weights_field = {
		.name = "weights", .type = INVAR_FIELD_TEXT, .flags = INVAR_FIELD_OPTIONAL};
	invar_dataset_opts d = {0};
	invar_encoder_opts e = {0};
	invar_encode_opts h = {0};
	size_t ds = dataset->size < sizeof d ? dataset->size : sizeof d;
	size_t es = encoder->size < sizeof e ? encoder->size : sizeof e;
	size_t hs = how->size < sizeof h ? how->size : sizeof h;
	invar_status st =
		inv_fields_recall((inv_fields){&weights_field, 1}, options, given, run, weights);

	memcpy(&d, dataset, ds);
	memcpy(&e, encoder, es);
	memcpy(&h, how, hs);
	if (st == INVAR_OK)
		st = inv_fields_recall(table(invar_dataset_fields), options, given, run, &d);
	if (st == INVAR_OK)
		st = inv_fields_recall(table(invar_encoder_fields), options, given, run, &e);
	if (st == INVAR_OK)
		st = inv_fields_recall(table(invar_images_fields), options, given, run, &h);
	memcpy(dataset, &d, ds);
	memcpy(encoder, &e, es);
	memcpy(how, &h, hs);
	return st;
}

invar_status invar_train_images_recall(invar_context *ctx, const char *run,
                                       const char *const *given, const char **weights,
                                       invar_dataset_opts *dataset,
                                       invar_encoder_opts *encoder, invar_encode_opts *how,
                                       invar_recalled **out)
{
	invar_recalled *r = inv_calloc(1, sizeof *r);
	invar_status st;

	(void)ctx;
	*out = r;
	if (!r)
		return inv_fail(INVAR_E_NOMEM, "%s: no memory for its options", run);
	st = load(run, &r->options);
	return st == INVAR_OK ? take(r->options, run, given, weights, dataset, encoder, how)
	                      : st;
}

void invar_recalled_free(invar_recalled *r)
{
	if (!r)
		return;
	json_decref(r->options);
	inv_free(r);
}
