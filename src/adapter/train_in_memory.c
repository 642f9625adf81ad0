/* SPDX-License-Identifier: Apache-2.0 */
/* train_in_memory.c - trainings without a run: invar_fit, and those of a trial. */
#include "adapter/train_in_memory.h"

#include <string.h>

#include "adapter/trainer.h"
#include "bank/class_view.h"

/* What only a run's folder can have; nothing there can be replaced or saved in time. */
static invar_status check_in_memory(const inv_trainer *t)
{
	static const char *const of_folders[] = {"resume", "decoder"};
	static const char *const unused[] = {"force", "checkpoint-seconds"};

	for (size_t i = 0; i < sizeof of_folders / sizeof *of_folders; i++)
		if (inv_option_flag(t->options, of_folders[i]))
			return inv_fail(INVAR_E_USE,
			                "@%s needs a run's folder; a training in memory has none",
			                of_folders[i]);
	for (size_t i = 0; i < sizeof unused / sizeof *unused; i++)
		if (inv_option_is_set(t->options, unused[i]))
			inv_log(t->ctx, INVAR_LOG_INFO,
			        "@%s is not used: a training in memory has no folder", unused[i]);
	return INVAR_OK;
}

static invar_status fit_bank(const invar_bank *bank, const invar_options *o,
                             invar_adapter **out)
{
	inv_trainer t = inv_trainer_begin("train");
	inv_mlp_form e = {.params = NULL};
	json_t *about = NULL;
	invar_status st;

	INV_TRY(inv_class_view_check(bank, o));
	INV_TRY(inv_trainer_check_trial(o));
	INV_TRY(inv_bank_source_open(bank, &t.source[0]));
	t.sources = 1;
	t.ctx = bank->ctx;
	INV_TRY_OR(done, inv_options_pick(o, inv_train_declare_method, &t.options));
	INV_TRY_OR(done, check_in_memory(&t));
	INV_TRY_OR(done, inv_trainer_check_options(&t));
	inv_trainer_announce_preset(&t);
	INV_TRY_OR(done, inv_trainer_build(&t));
	if (t.step) {
		inv_trainer_announce_steps(&t);
		t.step->total = inv_batches_steps(t.batches) * t.o.epochs;
	}
	INV_TRY_OR(done, inv_trainer_fit(&t));
	inv_trainer_announce_best(&t);
	if ((st = inv_trainer_form(&t, &e, &about)) == INVAR_OK)
		st = inv_adapter_make(&e, &t.o, &t.plan, out);
	else if (st == INVAR_E_CANCELLED)
		st = inv_trainer_interrupted(&t);
done:
	json_decref(about);
	inv_free(e.params);
	inv_trainer_clear(&t);
	return st;
}

invar_status invar_fit(invar_context *ctx, const float *clean, const float *copies,
                       uint64_t n, uint32_t c, uint32_t d, const invar_options *o,
                       invar_adapter **out)
{
	invar_options *defaults = NULL;
	invar_bank *bank = NULL;
	invar_status st;

	*out = NULL;
	if (o) {
		INV_TRY(inv_options_expect(o, "train"));
		INV_TRY(inv_options_check_parts(o));
	} else {
		INV_TRY(inv_options_begin("train", &defaults));
		INV_TRY_OR(done, inv_train_declare(defaults));
	}
	INV_TRY_OR(done, invar_bank_from_arrays(ctx, clean, copies, NULL, n, c, d, &bank));
	st = fit_bank(bank, o ? o : defaults, out);
done:
	invar_bank_close(bank);
	invar_options_free(defaults);
	return st;
}

invar_status inv_train_in_memory(const inv_memory_training *m, inv_mlp_form *out)
{
	invar_context quiet = *m->bank->ctx;
	invar_bank bank = *m->bank;
	inv_trainer t = inv_trainer_begin("trial");
	inv_train_plan *p = &t.plan;
	json_t *about = NULL;
	invar_status st;

	*out = (inv_mlp_form){.params = NULL};
	quiet.hooks.log = NULL;
	bank.ctx = t.ctx = &quiet;
	INV_TRY(inv_bank_source_open(&bank, &t.source[0]));
	t.sources = 1;
	INV_TRY_OR(done, inv_options_pick(m->options, inv_train_declare_method, &t.options));
	INV_TRY_OR(done, inv_trainer_check_options(&t));

	/* All given images are used for training, none for validation. */
	INV_TRY_OR(done, inv_new_array(&t.images, m->image_count));
	memcpy(t.images, m->images, m->image_count * sizeof *t.images);
	p->images = m->image_count;
	p->held_out = p->held_out_N = 0;
	if (p->loss)
		p->N = p->batch < p->images ? (uint32_t)p->batch : p->images;

	INV_TRY_OR(done, inv_trainer_build(&t));
	INV_TRY_OR(done, inv_trainer_fit(&t));
	st = inv_trainer_form(&t, out, &about);
done:
	json_decref(about);
	inv_trainer_clear(&t);
	return st;
}
