/* SPDX-License-Identifier: Apache-2.0 */
/* train_epochs.c - steps, validation, the log and checkpoints; see trainer.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "adapter/trainer.h"
#include "base/clock.h"
#include "base/test_stop.h"
#include "nn/adamw.h"

invar_status inv_trainer_check_weights(const inv_trainer *t, const float *params,
                                       size_t count)
{
	struct inv_kernels kernels;

	inv_kernels_init(&kernels, t->ctx->cpu);
	if (kernels.all_finite(params, count))
		return INVAR_OK;
	return inv_fail(INVAR_E_NUMERIC,
	                "the weights are no longer finite after epoch %" PRIu64
	                ", step %" PRIu64 "; a smaller @lr may help",
	                t->at.epoch, t->at.step);
}

static invar_status save_checkpoint(inv_trainer *t)
{
	INV_TRY(inv_step_collect(t->step));
	INV_TRY(inv_trainer_check_weights(t, t->params, t->floats));
	if (!t->run)
		return INVAR_OK;
	INV_TRY(inv_run_sync_log(t->run));
	t->saved_at = inv_wall_seconds();
	return inv_checkpoint_save(t->run->checkpoint_path, t->step, t->best, &t->at,
	                           t->run->made_with);
}

/* One step at this rate; counts it. */
static invar_status train_step(inv_trainer *t, double lr)
{
	const float *rows;
	inv_loss_value value;
	invar_status st;

	INV_TRY(inv_batches_next(t->batches, &rows));
	if ((st = inv_step_run(t->step, rows, lr, &value)) != INVAR_OK)
		return inv_context(
			st, "epoch %" PRIu64 ", step %" PRIu64 "%s", t->at.epoch, t->at.step,
			st == INVAR_E_NUMERIC && t->at.t ? " (a smaller learning rate may help)" : "");
	inv_test_stop("train:step %" PRIu64, t->step->t);
	t->at.t = t->step->t;
	t->at.step++;
	t->at.loss_sum += value.value;
	for (size_t i = 0; i < t->step->term_count; i++)
		t->at.term_sum[i] += value.term[i];
	return INVAR_OK;
}

/* Mean loss over the full batches of held-out images, the same ones every epoch. */
static invar_status validate(inv_trainer *t)
{
	uint32_t steps = inv_batches_steps(t->held_out);
	inv_loss_value value;
	const float *rows;
	double sum = 0;
	invar_status st;

	INV_TRY_OR(fail, inv_step_collect(t->step));
	for (uint32_t i = 0; i < steps; i++) {
		INV_TRY_OR(fail, inv_batches_next(t->held_out, &rows));
		INV_TRY_OR(fail, inv_step_measure(t->judge, t->step->params, rows, i, &value));
		sum += value.value;
	}
	t->validation = sum / steps;
	if (t->best && t->validation < t->at.best) {
		t->at.best = t->validation;
		t->at.best_epoch = t->at.epoch + 1;
		memcpy(t->best, t->step->params, t->step->floats * sizeof *t->best);
	}
	return INVAR_OK;
fail:
	return inv_context(st, "validation after epoch %" PRIu64, t->at.epoch);
}

static invar_status log_epoch(inv_trainer *t, double lr)
{
	double steps = (double)t->at.step, now = inv_wall_seconds();
	double seconds = now - t->epoch_started;
	json_t *line, *terms;
	invar_status st;

	t->epoch_started = now;
	inv_log(t->ctx, INVAR_LOG_DETAIL, "epoch %" PRIu64 ": loss %.6g", t->at.epoch,
	        t->at.loss_sum / steps);
	if (!t->run)
		return INVAR_OK;
	line = json_object();
	terms = json_object();
	for (size_t i = 0; i < t->step->term_count; i++)
		json_object_set_new(terms, t->step->terms[i],
		                    inv_json_number(t->at.term_sum[i] / steps));
	json_object_set_new(line, "epoch", json_integer((json_int_t)t->at.epoch));
	json_object_set_new(line, "loss", inv_json_number(t->at.loss_sum / steps));
	json_object_set_new(line, "terms", terms);
	if (t->judge)
		json_object_set_new(line, "validation", inv_json_number(t->validation));
	json_object_set_new(line, "lr", inv_json_number(lr));
	json_object_set_new(line, "seconds", inv_json_number(seconds));
	st = inv_run_log(t->run, line);
	json_decref(line);
	return st;
}

static invar_status end_epoch(inv_trainer *t, double lr)
{
	bool due;

	if (t->judge)
		INV_TRY(validate(t));
	INV_TRY(log_epoch(t, lr));
	t->at.epoch++;
	inv_test_stop("train:epoch %" PRIu64, t->at.epoch);
	t->at.step = 0;
	t->at.loss_sum = 0;
	memset(t->at.term_sum, 0, sizeof t->at.term_sum);
	due = t->at.epoch == t->o.epochs ||
	      inv_wall_seconds() - t->saved_at >= t->o.checkpoint_seconds;
	INV_TRY(inv_trainer_decide(t, &due));
	return due ? save_checkpoint(t) : INVAR_OK;
}

invar_status inv_trainer_run_epochs(inv_trainer *t)
{
	uint64_t steps = inv_batches_steps(t->batches), total = steps * t->o.epochs;

	INV_TRY(inv_batches_start(t->batches, (uint32_t)t->at.epoch, (uint32_t)t->at.step));
	if (t->held_out)
		INV_TRY(inv_batches_start(t->held_out, (uint32_t)t->at.epoch, 0));
	while (t->at.epoch < t->o.epochs) {
		double lr = inv_cosine_rate(t->o.lr, t->o.lr_min, t->at.epoch, t->o.epochs);
		invar_status st = train_step(t, lr);
		bool stop = st == INVAR_E_CANCELLED;

		if (!stop) {
			INV_TRY(st);
			if (t->at.step == steps)
				INV_TRY(end_epoch(t, lr));
			stop = inv_progress(t->ctx, t->title, t->at.t, total) != INVAR_OK;
			INV_TRY(inv_trainer_decide(t, &stop));
		}
		/* Between two steps: what is saved can be resumed here. */
		if (stop && t->at.epoch < t->o.epochs) {
			INV_TRY(save_checkpoint(t));
			return inv_trainer_interrupted(t);
		}
	}
	return INVAR_OK;
}
