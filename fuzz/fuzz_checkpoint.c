/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_checkpoint.c - any bytes as the checkpoint of a small training.
 *
 * What loads is saved again, and loads from there as the same state.
 */
#include "adapter/checkpoint.h"
#include "base/memory.h"
#include "fuzz_file.h"

enum { D = 3, HIDDEN = 2 };

static void save_and_load(inv_step *p, const float *best, const inv_progress_state *at)
{
	inv_progress_state again = {0};
	float *other = inv_calloc(p->floats, sizeof *other);
	char path[2 * FUZZ_PATH];

	snprintf(path, sizeof path, "%s/checkpoint", memory_folder());
	require(inv_checkpoint_save(path, p, best, at, NULL) == INVAR_OK);
	require(inv_checkpoint_load(path, p, other, &again) == INVAR_OK);
	require(again.epoch == at->epoch && again.step == at->step && again.t == at->t);
	require(memcmp(other, best, p->floats * sizeof *best) == 0);
	inv_free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	inv_step_spec spec = {.shape = {D, HIDDEN, D},
	                      .loss = inv_loss_find("mawa"),
	                      .N = 2,
	                      .s = 1,
	                      .update = true};
	char path[FUZZ_PATH];
	int fd = memory_file(data, size, path);
	inv_progress_state at = {0};
	invar_options *o;
	invar_context *ctx;
	inv_step *p;
	float *best;

	require(invar_options_new("loss", &o) == INVAR_OK);
	spec.options = o;
	require(invar_context_new(1, NULL, &ctx) == INVAR_OK);
	require(inv_step_new(ctx, &spec, &p) == INVAR_OK);
	best = inv_calloc(p->floats, sizeof *best);
	if (inv_checkpoint_load(path, p, best, &at) == INVAR_OK)
		save_and_load(p, best, &at);
	inv_free(best);
	inv_step_free(p);
	invar_options_free(o);
	invar_context_free(ctx);
	close(fd);
	return 0;
}
