/* SPDX-License-Identifier: Apache-2.0 */
/* train_in_memory.c - see train_in_memory.h. */
#include "adapter/train_in_memory.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "adapter/scaled.h"
#include "adapter/trainer.h"
#include "base/memory.h"
#include "nn/adamw.h"

/* All given images are used for training, none for validation. */
static invar_status take_images(inv_trainer *t, const inv_memory_training *m)
{
	inv_train_plan *p = &t->plan;

	if (!(t->images = inv_calloc(m->image_count, sizeof *t->images)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for a list of %" PRIu32 " images",
		                m->image_count);
	memcpy(t->images, m->images, m->image_count * sizeof *t->images);
	p->images = m->image_count;
	p->held_out = p->held_out_N = 0;
	if (p->loss)
		p->N = p->batch < p->images ? (uint32_t)p->batch : p->images;
	return INVAR_OK;
}

static invar_status open_training(inv_trainer *t, const inv_memory_training *m)
{
	json_t *about = NULL;
	invar_status st = inv_bank_source_open(m->bank, &t->source[0]);

	if (st != INVAR_OK)
		return st;
	t->sources = 1;
	t->ctx = m->bank->ctx;
	st = inv_options_pick(m->options, inv_train_declare_method, &t->options);
	if (st == INVAR_OK)
		st = inv_trainer_check_options(t);
	if (st == INVAR_OK)
		st = take_images(t, m);
	if (st == INVAR_OK)
		st = inv_trainer_build(t);
	if (st == INVAR_OK && t->plan.closed)
		st = inv_trainer_fit_closed(t, &about);
	json_decref(about);
	if (st == INVAR_OK && t->step)
		st = inv_batches_start(t->batches, 0, 0);
	return st;
}

static invar_status run_steps(inv_trainer *t)
{
	uint64_t steps = inv_batches_steps(t->batches), total = steps * t->o.epochs;
	invar_status st = INVAR_OK;

	for (uint64_t i = 0; i < total && st == INVAR_OK; i++) {
		double lr = inv_cosine_rate(t->o.lr, t->o.lr_min, i / steps, t->o.epochs);

		st = inv_trainer_step(t, lr);
		if (st == INVAR_OK)
			st = inv_progress(t->ctx, "trial", i + 1, total);
		if (t->at.step == steps) {
			t->at.epoch++;
			t->at.step = 0;
		}
	}
	if (st == INVAR_OK)
		st = inv_step_collect(t->step);
	return st == INVAR_OK ? inv_trainer_check_weights(t, t->params) : st;
}

static invar_status take_form(const inv_trainer *t, inv_mlp_form *out)
{
	size_t floats = inv_mlp_floats(t->plan.shape);
	inv_mlp_form complete;
	json_t *about;
	invar_status st;

	*out = (inv_mlp_form){t->plan.shape, t->plan.residual,
	                      inv_alloc(floats * sizeof *out->params)};
	if (!out->params)
		return inv_fail(INVAR_E_NOMEM, "not enough memory for an adapter");
	memcpy(out->params, t->params, floats * sizeof *out->params);
	if (t->o.scaled)
		inv_scaled_fold(&t->plan.statistics, t->plan.shape, true, out->params);
	st = inv_trainer_complete(t, out, &complete, &about);
	json_decref(about);
	if (st != INVAR_OK || complete.params) {
		inv_free(out->params);
		*out = complete;
	}
	return st;
}

invar_status inv_train_in_memory(const inv_memory_training *m, inv_mlp_form *out)
{
	invar_context quiet = *m->bank->ctx;
	invar_bank bank = *m->bank;
	const inv_memory_training own = {.bank = &bank,
	                                 .options = m->options,
	                                 .images = m->images,
	                                 .image_count = m->image_count};
	inv_trainer t = {.validation = NAN};
	invar_status st;

	quiet.hooks.log = NULL;
	bank.ctx = &quiet;
	*out = (inv_mlp_form){.params = NULL};
	st = open_training(&t, &own);
	if (st == INVAR_OK && t.step)
		st = run_steps(&t);
	if (st == INVAR_OK)
		st = take_form(&t, out);
	inv_trainer_clear(&t);
	return st;
}
