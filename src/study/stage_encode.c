/* SPDX-License-Identifier: Apache-2.0 */
/* stage_encode.c - a bank from images, as a stage. */
#include "bank/bank_contents.h"
#include "base/options.h"
#include "encode/encode_options.h"
#include "encoders/encoder.h"
#include "images/dataset.h"
#include "study/stage.h"

/*
 * The encoder by its name, its options and its weights, the images by their contents; of
 * the options only those of encoding: the paths of weights and images do not matter.
 */
static invar_status describe_encode(const inv_stage_work *w, json_t *inputs)
{
	char images[INV_SHA256_HEX];
	const char *weights = NULL;
	invar_options *o;
	invar_status st;

	INV_TRY(inv_encoder_sha256(w->encoder, &weights));
	INV_TRY(inv_dataset_fingerprint(w->dataset, images));
	INV_TRY(inv_json_put(inputs, "encoder",
	                     json_pack("{s:o, s:s?, s:s*, s:o}", "name",
	                               inv_json_path(invar_encoder_name(w->encoder)), "sha256",
	                               weights, "version", w->encoder->version, "options",
	                               inv_encoder_options_json(w->encoder))));
	INV_TRY(inv_json_put(inputs, "images", json_pack("[s]", images)));
	INV_TRY(inv_options_pick(w->options, inv_encode_declare, &o));
	st = inv_json_put(inputs, "options", inv_options_json(o, 0));
	invar_options_free(o);
	return st;
}

static invar_status run_encode_stage(const inv_stage_work *w, const char *at)
{
	return invar_encode(w->encoder, w->dataset, w->options, at);
}

static const inv_stage_kind encode_kind = {.describe = describe_encode,
                                           .run = run_encode_stage,
                                           .list = inv_stamp_list_bank,
                                           .refuse_foreign = inv_bank_refuse_foreign,
                                           .remove = inv_bank_remove};

invar_status inv_stages_add_encode(inv_stages *s, const char *name, const char *says,
                                   invar_encoder *e, const invar_dataset *d,
                                   const invar_options *o, const char *bank)
{
	inv_stage_work w = {.encoder = e, .dataset = d};

	INV_TRY(inv_options_copy(o, &w.options));
	return inv_stages_add(s, name, says, NULL, bank, &encode_kind, &w);
}
