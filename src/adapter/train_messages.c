/* SPDX-License-Identifier: Apache-2.0 */
/* train_messages.c - the messages of a training while it runs. */
#include <inttypes.h>

#include "adapter/closed_forms/closed_form.h"
#include "adapter/presets.h"
#include "adapter/trainer.h"
#include "base/text.h"

/* With fewer steps an adapter stays close to its initial values. */
enum { FEW_STEPS = 100 };

static void announce_length(const inv_trainer *t)
{
	const inv_train_plan *p = &t->plan;
	uint64_t steps = inv_batches_steps(t->batches), all = steps * t->o.epochs;

	inv_log(t->ctx, INVAR_LOG_INFO,
	        "%s on %" PRIu32 " %s of %s, (%zu, %zu, %zu)%s%s, %" PRIu64 " %s per epoch",
	        p->loss->name, p->images, inv_noun(p->images, "image", "images"),
	        p->source[0]->split, p->shape.d, p->shape.h, p->shape.w,
	        t->o.scaled   ? " scaled residual"
	        : p->residual ? " residual"
	                      : "",
	        p->decoder.h ? " with a decoder" : "", steps, inv_noun(steps, "step", "steps"));
	if (all < FEW_STEPS && !p->loss->by_epochs)
		inv_log(t->ctx, INVAR_LOG_INFO,
		        "%" PRIu64 " %s in total %s few; try about %" PRIu64
		        " epochs for this many images",
		        all, inv_noun(all, "step", "steps"), inv_noun(all, "is", "are"),
		        (3 * FEW_STEPS + steps - 1) / steps);
}

/* Only if the preset was not set; a closed form alone does not use presets. */
void inv_trainer_announce_preset(const inv_trainer *t)
{
	const char *conflict = inv_preset_conflict(t->options);

	if (t->plan.loss && conflict && !inv_option_is_set(t->options, "preset"))
		inv_log(t->ctx, INVAR_LOG_INFO,
		        "using preset %s: the default, " INV_DEFAULT_PRESET
		        ", does not fit the option %s",
		        t->o.preset, conflict);
}

void inv_trainer_announce_steps(const inv_trainer *t)
{
	const inv_train_plan *p = &t->plan;
	size_t memory = inv_step_memory(t->step) + inv_batches_memory(t->batches);

	if (t->judge)
		memory += inv_step_memory(t->judge) + inv_batches_memory(t->held_out);
	if (p->N < t->o.batch)
		inv_log(t->ctx, INVAR_LOG_INFO,
		        "using batches of %" PRIu32 " %s: there are no more", p->N,
		        inv_noun(p->N, "image", "images"));
	if (p->s < t->o.samples && p->s == p->loss->max_samples)
		inv_log(t->ctx, INVAR_LOG_INFO, "%" PRIu32 " %s per image: %s takes no more", p->s,
		        inv_noun(p->s, "sample", "samples"), p->loss->name);
	else if (p->s < t->o.samples)
		inv_log(t->ctx, INVAR_LOG_INFO,
		        "%" PRIu32 " %s per image: there are no more copies", p->s,
		        inv_noun(p->s, "sample", "samples"));
	announce_length(t);
	inv_log(t->ctx, INVAR_LOG_DETAIL, "working memory %zu MB, kernels %s, %u %s",
	        memory >> 20, inv_context_cpu(t->ctx), t->ctx->threads,
	        inv_noun(t->ctx->threads, "thread", "threads"));
}

/* Recipes give all adapters the same options, so this is no error. */
static void announce_unused(const inv_trainer *t)
{
	static const char *const of_steps[] = {"epochs",       "batch-size", "lr",
	                                       "lr-min",       "samples",    "validation",
	                                       "weight-decay", "keep"};

	for (size_t i = 0; i < sizeof of_steps / sizeof *of_steps; i++)
		if (inv_option_is_set(t->options, of_steps[i]))
			inv_log(t->ctx, INVAR_LOG_INFO, "@%s is not used: a closed form has no steps",
			        of_steps[i]);
}

void inv_trainer_announce_closed(const inv_trainer *t)
{
	const inv_train_plan *p = &t->plan;

	announce_unused(t);
	if (p->closed->needs_copies)
		inv_log(t->ctx, INVAR_LOG_INFO,
		        "%s fitted to %" PRIu32 " %s of %s, with %" PRIu32 " %s per image",
		        p->closed->name, p->images, inv_noun(p->images, "image", "images"),
		        p->source[0]->split, p->source[0]->copies,
		        inv_noun(p->source[0]->copies, "copy", "copies"));
}

void inv_trainer_announce_resume(const inv_trainer *t)
{
	if (!t->at.t)
		inv_log(t->ctx, INVAR_LOG_INFO,
		        "%s has no checkpoint yet; starting from the beginning", t->run->path);
	else if (t->at.epoch == t->o.epochs)
		inv_log(t->ctx, INVAR_LOG_INFO, "%s is already finished", t->run->path);
	else
		inv_log(t->ctx, INVAR_LOG_INFO,
		        "%s resumes after %" PRIu64 " of %" PRIu64 " %s and %" PRIu64 " %s",
		        t->run->path, t->at.epoch, t->o.epochs,
		        inv_noun(t->o.epochs, "epoch", "epochs"), t->at.step,
		        inv_noun(t->at.step, "step", "steps"));
}

void inv_trainer_announce_best(const inv_trainer *t)
{
	if (!t->best || !t->at.best_epoch)
		return;
	inv_log(t->ctx, INVAR_LOG_INFO,
	        "epoch %" PRIu64 " of %" PRIu64
	        " is kept: its validation loss is the lowest, %.6g",
	        t->at.best_epoch, t->o.epochs, t->at.best);
	if (t->run)
		json_object_set_new(t->run->json, "kept_epoch",
		                    json_integer((json_int_t)t->at.best_epoch));
}
