/*
 * fuzz_run.c - any bytes as the run.json of a training that is to go on.
 *
 * What it takes from there are options, which are then held against their bounds and a
 * bank; those that pass can be written down and taken up again as they are.
 */
#include "adapter/run.h"
#include "adapter/train_options.h"
#include "base/memory.h"
#include "fuzz_file.h"

static void hold_against_bank(invar_train_opts *o)
{
	inv_npy array = {.h = {.rank = 2, .shape = {100, 8}}};
	inv_split split = {
		.name = (char[]){"train"}, .rows = 100, .copies = 3, .clean = &array};
	invar_context *ctx;
	invar_bank bank = {.path = (char[]){"bank"}, .dim = 8, .split_count = 1};
	const invar_bank *banks[] = {&bank};
	inv_train_plan plan = {0};

	require(invar_context_new(1, NULL, &ctx) == INVAR_OK);
	bank.ctx = ctx;
	bank.splits = &split;
	o->also = NULL; /* would be opened */
	if (inv_train_check(o, NULL, banks, 1, NULL, &plan) == INVAR_OK) {
		json_t *again = inv_fields_json(inv_train_table, o, 0);
		invar_train_opts same = *o;

		require(plan.shape.d == 8 && plan.images + plan.held_out <= 100);
		require(inv_fields_resume(inv_train_table, again, NULL, "again", &same) ==
		        INVAR_OK);
		require(same.epochs == o->epochs && same.hidden == o->hidden);
		if (same.also != o->also)
			inv_free((void *)(uintptr_t)same.also);
		json_decref(again);
	}
	invar_context_free(ctx);
}

static void take_options(const inv_run *r)
{
	static const char *const given[] = {"seed", "loss", NULL};
	const json_t *options = json_object_get(r->json, "options");
	const char *const *const ways[] = {NULL, given};

	for (int i = 0; i < 2; i++) {
		invar_train_opts o;
		const char *const *taken;

		invar_train_defaults(&o);
		if (inv_fields_resume(inv_train_table, options, ways[i], "fuzz", &o) == INVAR_OK) {
			taken = o.also;
			hold_against_bank(&o);
			o.also = taken;
		}
		inv_free((void *)(uintptr_t)o.also);
	}
}

/* The same for a training on images, whose encoder it recalls as well. */
static void recall_images(const char *folder)
{
	const char *weights = NULL;
	invar_dataset_opts dataset;
	invar_encoder_opts encoder;
	invar_encode_opts how;
	invar_recalled *r;

	invar_dataset_defaults(&dataset);
	invar_encoder_defaults(&encoder);
	invar_encode_defaults(&how);
	if (invar_train_images_recall(NULL, folder, NULL, &weights, &dataset, &encoder, &how,
	                              &r) == INVAR_OK)
		require(!weights || strlen(weights) < SIZE_MAX);
	invar_recalled_free(r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *folder = memory_folder();
	inv_run *r;

	put_file("run.json", data, size);
	recall_images(folder);
	if (inv_run_open(folder, INV_RUN_RESUME, &r) == INVAR_OK) {
		take_options(r);
		require(inv_run_save(r) == INVAR_OK);
		inv_run_close(r);
		require(inv_run_open(folder, INV_RUN_RESUME, &r) == INVAR_OK);
	}
	inv_run_close(r);
	return 0;
}
