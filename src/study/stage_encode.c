/* SPDX-License-Identifier: Apache-2.0 */
/* stage_encode.c - a bank from images, as a stage. */
#include "bank/bank.h"
#include "bank/bank_contents.h"
#include "base/memory.h"
#include "base/options.h"
#include "base/sha256.h"
#include "encode/encode_options.h"
#include "encoders/encoder.h"
#include "images/dataset.h"
#include "study/stage.h"

typedef struct encode_stage {
	invar_encoder *encoder;       /* borrowed */
	const invar_dataset *dataset; /* borrowed */
	invar_options *options;
} encode_stage;

static void free_encode(void *own)
{
	encode_stage *e = own;

	invar_options_free(e->options);
	inv_free(e);
}

/*
 * The encoder by its name, its options and its weights, the images by their contents; of
 * the options only those of encoding: the paths of weights and images do not matter.
 */
static invar_status describe_encode(void *own, json_t *inputs)
{
	const encode_stage *e = own;
	char images[INV_SHA256_HEX];
	const char *weights = NULL;
	invar_options *o;
	json_t *encoder;
	bool whole;

	INV_TRY(inv_encoder_sha256(e->encoder, &weights));
	INV_TRY(inv_dataset_fingerprint(e->dataset, images));
	INV_TRY(inv_options_pick(e->options, inv_encode_declare, &o));
	encoder = json_pack("{s:o, s:s?, s:s*, s:o}", "name",
	                    inv_json_path(invar_encoder_name(e->encoder)), "sha256", weights,
	                    "version", e->encoder->version, "options",
	                    inv_encoder_options_json(e->encoder));
	whole = json_object_set_new(inputs, "encoder", encoder) == 0 &&
	        json_object_set_new(inputs, "images", json_pack("[s]", images)) == 0 &&
	        json_object_set_new(inputs, "options", inv_options_json(o, 0)) == 0;
	invar_options_free(o);
	return whole ? INVAR_OK : inv_no_memory();
}

static invar_status run_encode(void *own, const char *at)
{
	const encode_stage *e = own;

	return invar_encode(e->encoder, e->dataset, e->options, at);
}

static invar_status list_encode(void *own, const char *bank, inv_stage_file *each,
                                void *user)
{
	return inv_stamp_list_bank(((const encode_stage *)own)->encoder->ctx, bank, each, user);
}

static invar_status refuse_foreign(void *own, const char *bank)
{
	(void)own;
	return inv_bank_refuse_foreign(bank);
}

static invar_status remove_bank(void *own, const char *bank, const char *to)
{
	(void)own;
	return inv_bank_remove(bank, to);
}

static const inv_stage_kind encode_kind = {.describe = describe_encode,
                                           .run = run_encode,
                                           .free = free_encode,
                                           .list = list_encode,
                                           .refuse_foreign = refuse_foreign,
                                           .remove = remove_bank};

invar_status inv_stages_add_encode(inv_stages *s, const char *name, const char *says,
                                   invar_encoder *e, const invar_dataset *d,
                                   const invar_options *o, const char *bank)
{
	encode_stage *own = inv_calloc(1, sizeof *own);
	invar_status st;

	if (!own)
		return inv_no_memory();
	*own = (encode_stage){.encoder = e, .dataset = d};
	if ((st = inv_options_copy(o, &own->options)) != INVAR_OK) {
		free_encode(own);
		return st;
	}
	return inv_stages_add(s, name, says, NULL, bank, &encode_kind, own);
}
