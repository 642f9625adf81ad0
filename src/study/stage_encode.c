/* SPDX-License-Identifier: Apache-2.0 */
/* stage_encode.c - a bank from images, as a stage. */
#include <string.h>

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
	invar_encoder *encoder;     /* borrowed */
	const invar_dataset **sets; /* [count], borrowed */
	size_t count;
	invar_options *options;
	char *bank;
} encode_stage;

static void free_encode(void *own)
{
	encode_stage *e = own;

	invar_options_free(e->options);
	inv_free((void *)(uintptr_t)e->sets);
	inv_free(e->bank);
	inv_free(e);
}

/* The encoder by its name, its options and its weights. */
static invar_status describe_encoder(const encode_stage *e, json_t *inputs)
{
	const char *hex = NULL;
	invar_status st = inv_encoder_sha256(e->encoder, &hex);

	if (st == INVAR_OK &&
	    json_object_set_new(inputs, "encoder",
	                        json_pack("{s:o, s:s?, s:s*, s:o}", "name",
	                                  inv_json_path(invar_encoder_name(e->encoder)),
	                                  "sha256", hex, "version", e->encoder->version,
	                                  "options", inv_encoder_options_json(e->encoder))) !=
	        0)
		st = inv_bank_no_memory(e->bank);
	return st;
}

static invar_status describe_images(const encode_stage *e, json_t *inputs)
{
	json_t *all = json_array();
	char hex[INV_SHA256_HEX];
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < e->count && st == INVAR_OK; i++) {
		st = inv_dataset_fingerprint(e->sets[i], hex);
		if (st == INVAR_OK && json_array_append_new(all, json_string(hex)) != 0)
			st = inv_bank_no_memory(e->bank);
	}
	if (json_object_set_new(inputs, "images", all) != 0 && st == INVAR_OK)
		st = inv_bank_no_memory(e->bank);
	return st;
}

/* Only those of encoding: the paths of weights and images do not matter. */
static invar_status describe_options(const encode_stage *e, json_t *inputs)
{
	invar_options *o;
	invar_status st = inv_options_pick(e->options, inv_encode_declare, &o);

	if (st == INVAR_OK &&
	    json_object_set_new(inputs, "options", inv_options_json(o, 0)) != 0)
		st = inv_bank_no_memory(e->bank);
	invar_options_free(o);
	return st;
}

static invar_status describe_encode(void *own, json_t *inputs)
{
	const encode_stage *e = own;
	invar_status st = describe_encoder(e, inputs);

	if (st == INVAR_OK)
		st = describe_images(e, inputs);
	return st == INVAR_OK ? describe_options(e, inputs) : st;
}

static invar_status run_encode(void *own, const char *at)
{
	const encode_stage *e = own;
	invar_status st = INVAR_OK;

	for (size_t i = 0; i < e->count && st == INVAR_OK; i++)
		st = invar_encode(e->encoder, e->sets[i], e->options, at);
	return st;
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
                                   invar_encoder *e, const invar_dataset *const *sets,
                                   size_t count, const invar_options *o, const char *bank)
{
	encode_stage *own = inv_calloc(1, sizeof *own);
	invar_status st;

	if (!own)
		return inv_bank_no_memory(bank);
	*own = (encode_stage){.encoder = e, .count = count, .bank = inv_strdup(bank)};
	own->sets = inv_calloc(count + 1, sizeof(invar_dataset *));
	st = own->bank && own->sets ? inv_options_copy(o, &own->options)
	                            : inv_bank_no_memory(bank);
	if (st != INVAR_OK) {
		free_encode(own);
		return st;
	}
	memcpy(own->sets, sets, count * sizeof *sets);
	return inv_stages_add(s, name, says, NULL, bank, &encode_kind, own);
}
