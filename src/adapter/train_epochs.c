/* SPDX-License-Identifier: Apache-2.0 */
/* train_epochs.c - steps, validation, the log and checkpoints; see trainer.h. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "adapter/trainer.h"
#include "base/clock.h"
#include "base/processes.h"
#include "base/test_stop.h"
#include "nn/adamw.h"

invar_status inv_trainer_interrupted(inv_trainer *t)
{
	if (!t->run)
		return inv_fail(INVAR_E_CANCELLED, "interrupted; a training in memory cannot be "
		                                   "resumed");
	INV_TRY(inv_run_finish(t->ctx, t->run, &t->start, t->at.t, "interrupted"));
	return inv_fail(INVAR_E_CANCELLED, "interrupted; %s can be resumed with @resume",
	                t->run->path);
}

invar_status inv_trainer_check_weights(const inv_trainer *t, const float *params)
{
	struct inv_kernels kernels;

	inv_kernels_init(&kernels, t->ctx->cpu);
	if (kernels.all_finite(params, t->floats))
		return INVAR_OK;
	return inv_fail(INVAR_E_NUMERIC,
	                "the weights are no longer finite after epoch %" PRIu64
	                ", step %" PRIu64 "; a smaller @lr may help",
	                t->at.epoch, t->at.step);
}

static invar_status save_checkpoint(inv_trainer *t)
{
	INV_TRY(inv_step_collect(t->step));
	INV_TRY(inv_trainer_check_weights(t, t->params));
	if (!t->run)
		return INVAR_OK;
	INV_TRY(inv_run_sync_log(t->run));
	t->saved = inv_wall_seconds();
	return inv_checkpoint_save(t->run->checkpoint_path, t->step, t->best, &t->at,
	                           t->run->made_with);
}

/* Interrupted between two steps: saves, so that --resume continues here. */
static invar_status stop_here(inv_trainer *t)
{
	INV_TRY(save_checkpoint(t));
	return inv_trainer_interrupted(t);
}

invar_status inv_trainer_step(inv_trainer *t, double lr)
{
	const float *rows;
	inv_loss_value value;
	invar_status st = inv_batches_next(t->batches, &rows);

	if (st != INVAR_OK)
		return st;
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

static void keep_if_best(inv_trainer *t)
{
	if (!t->best || !(t->validation < t->at.best))
		return;
	t->at.best = t->validation;
	t->at.best_epoch = t->at.epoch + 1;
	memcpy(t->best, t->step->params, t->step->floats * sizeof *t->best);
}

/* Mean loss over the full batches of held-out images, the same ones every epoch. */
static invar_status validate(inv_trainer *t)
{
	uint32_t steps = inv_batches_steps(t->held_out);
	double sum = 0;
	invar_status st = inv_step_collect(t->step);

	for (uint32_t i = 0; i < steps && st == INVAR_OK; i++) {
		inv_loss_value value = {0};
		const float *rows;

		if ((st = inv_batches_next(t->held_out, &rows)) == INVAR_OK)
			st = inv_step_measure(t->judge, t->step->params, rows, i, &value);
		sum += value.value;
	}
	if (st != INVAR_OK)
		return inv_context(st, "validation after epoch %" PRIu64, t->at.epoch);
	t->validation = sum / steps;
	keep_if_best(t);
	return INVAR_OK;
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

/* What depends on the clock or a signal is rank 0's decision. */
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
	      inv_wall_seconds() - t->saved >= t->o.checkpoint_seconds;
	INV_TRY(inv_broadcast(t->ctx, &due, sizeof due));
	return due ? save_checkpoint(t) : INVAR_OK;
}

invar_status inv_trainer_run_epochs(inv_trainer *t)
{
	uint64_t steps = inv_batches_steps(t->batches), total = steps * t->o.epochs;

	/* Several ranks stop between two steps only. */
	t->step->total = inv_process_count(t->ctx) > 1 ? 0 : total;
	INV_TRY(inv_batches_start(t->batches, (uint32_t)t->at.epoch, (uint32_t)t->at.step));
	if (t->held_out)
		INV_TRY(inv_batches_start(t->held_out, (uint32_t)t->at.epoch, 0));
	while (t->at.epoch < t->o.epochs) {
		double lr = inv_cosine_rate(t->o.lr, t->o.lr_min, t->at.epoch, t->o.epochs);
		invar_status st = inv_trainer_step(t, lr);
		bool stop;

		if (st == INVAR_E_CANCELLED)
			return stop_here(t);
		if (st == INVAR_OK && t->at.step == steps)
			st = end_epoch(t, lr);
		if (st != INVAR_OK)
			return st;
		stop = inv_progress(t->ctx, "train", t->at.t, total) != INVAR_OK;
		INV_TRY(inv_broadcast(t->ctx, &stop, sizeof stop));
		if (stop && t->at.epoch < t->o.epochs)
			return stop_here(t);
	}
	return INVAR_OK;
}
