/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_run.c - any bytes as the run.json of a training to resume.
 *
 * Its options are checked against their bounds and a bank; those that pass can be written
 * and read again unchanged.
 */
#include "adapter/train_options.h"
#include "base/memory.h"
#include "fuzz_file.h"
#include "run/run.h"

/* What was written is read back unchanged. */
static void take_up_again(const invar_options *o)
{
	json_t *written = inv_options_used_json(o, 0), *again;
	invar_options *same;

	require(invar_options_new("train", &same) == INVAR_OK);
	require(inv_options_resume(same, written, "again", false) == INVAR_OK);
	again = inv_options_used_json(same, 0);
	require(json_equal(written, again));
	json_decref(written);
	json_decref(again);
	invar_options_free(same);
}

static void hold_against_bank(const invar_options *o)
{
	inv_npy array = {.h = {.ndim = 2, .shape = {100, 8}}};
	inv_split split = {
		.name = (char[]){"train"}, .rows = 100, .copies = 3, .clean = &array};
	invar_context *ctx;
	invar_bank bank = {.path = (char[]){"bank"}, .dim = 8, .split_count = 1};
	inv_source *source;
	inv_train_settings settings;
	inv_train_plan plan = {0};

	require(invar_context_new(1, NULL, &ctx) == INVAR_OK);
	bank.ctx = ctx;
	bank.splits = &split;
	inv_train_read(o, &settings);
	require(inv_bank_source_open(&bank, &source) == INVAR_OK);
	if (inv_train_check(&settings, &source, 1, &plan) == INVAR_OK) {
		require(plan.shape.d == 8 && plan.images + plan.held_out <= 100);
		take_up_again(o);
	}
	inv_source_close(source);
	invar_context_free(ctx);
}

/* With nothing set, and with two options that the run must agree with. */
static void take_options(const inv_run *r)
{
	const json_t *saved = json_object_get(r->json, "options");

	for (int given = 0; given < 2; given++) {
		invar_options *o;

		require(invar_options_new("train", &o) == INVAR_OK);
		if (given) {
			require(invar_options_set(o, "seed", "0") == INVAR_OK);
			require(invar_options_set(o, "loss", "mawa") == INVAR_OK);
		}
		if (inv_options_resume(o, saved, "fuzz", false) == INVAR_OK)
			hold_against_bank(o);
		invar_options_free(o);
	}
}

/* The same for a training on images, with the options of its encoder. */
static void recall_images(const char *folder)
{
	invar_options *o;

	require(invar_options_new("train", &o) == INVAR_OK);
	(void)!invar_train_images_options(o, folder);
	invar_options_free(o);
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
