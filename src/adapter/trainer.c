/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trainer.c - invar_train: epochs, the log, checkpoints, resuming.
 *
 * All randomness is keyed by (seed, epoch, image), so the state between two
 * steps is the weights, the moments, three counters and the sums of the epoch
 * so far. A checkpoint holds exactly that, which makes a resumed run the same
 * run, byte for byte.
 *
 * With the loss none there are no steps: the closed form that a training would
 * have begun with becomes the adapter.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "adapter/adapter.h"
#include "adapter/checkpoint.h"
#include "adapter/closed_forms/closed_form.h"
#include "adapter/provenance.h"
#include "adapter/spread.h"
#include "adapter/step.h"
#include "adapter/train_options.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/rng.h"
#include "base/text.h"
#include "encode/batches.h"
#include "nn/adamw.h"
#include "run/run.h"

_Static_assert((int)INV_MAX_SOURCES == (int)INV_MAX_LOSS_GROUPS,
               "a bank is an augmentation");

typedef struct trainer {
	const invar_context *ctx;
	const invar_bank *bank[INV_MAX_SOURCES];
	size_t banks;
	invar_bank *clean; /* encoded from images, in the run; NULL on banks */
	inv_live *fresh;   /* makes the copies; NULL: the banks have them */
	invar_options *options;
	inv_train_settings o; /* what options says, read once */
	inv_train_plan plan;
	inv_run *run;
	bool begun;       /* run.json is ours */
	uint32_t *images; /* the rows that train, then the rows held out */
	float *params;    /* E as it is now, then D: the step's, or our own without steps */
	size_t floats;    /* of params */
	inv_step *step;   /* NULL with --loss none */
	inv_step *judge;  /* measures the held-out images; NULL without them */
	inv_batches *batches, *held_out;
	float *best; /* parameters; NULL unless --keep best */
	inv_progress_state at;
	double validation; /* of the last epoch; NaN without */
	inv_run_start start;
	double epoch_started, saved; /* clock readings */
} trainer;

/* ---- Setting up ------------------------------------------------------------------- */

/* Held-out images are drawn once; both lists keep the order of the bank. */
static invar_status choose_images(trainer *t)
{
	uint32_t rows = (uint32_t)t->plan.split->rows, train = 0, held = t->plan.images;
	uint32_t *shuffled = inv_calloc(rows, sizeof *shuffled);
	inv_stream stream = inv_stream_of(t->o.seed, "validation/images", 0);

	t->images = inv_calloc(rows, sizeof *t->images);
	if (!shuffled || !t->images) {
		inv_free(shuffled);
		return inv_fail(INVAR_E_NOMEM, "no memory for a list of %" PRIu32 " images", rows);
	}
	inv_permutation(&stream, 0, shuffled, rows);
	for (uint32_t i = 0; i < rows; i++)
		if (shuffled[i] >= t->plan.held_out)
			t->images[train++] = i;
		else
			t->images[held++] = i;
	inv_free(shuffled);
	return INVAR_OK;
}

static inv_step_spec step_spec(const trainer *t, bool update)
{
	return (inv_step_spec){
		.shape = t->plan.shape,
		.loss = t->plan.loss,
		.options = t->options,
		.N = update ? t->plan.N : t->plan.held_out_N,
		.s = t->plan.s,
		.groups = t->plan.sources,
		.decoder = t->plan.decoder,
		.alpha = t->o.alpha,
		.beta = t->o.beta,
		.residual = t->plan.residual,
		.update = update,
		.weight_decay = t->o.weight_decay,
		.seed = t->o.seed,
	};
}

static inv_batch_plan batch_plan(const trainer *t, bool train)
{
	inv_batch_plan plan = {
		.sources = t->plan.sources,
		.images = t->images + (train ? 0 : t->plan.images),
		.image_count = train ? t->plan.images : t->plan.held_out,
		.N = train ? t->plan.N : t->plan.held_out_N,
		.s = t->plan.s,
		.seed = t->o.seed,
		.purpose = train ? "train" : "validation",
		.same_every_epoch = !train,
		.epochs = (uint32_t)t->o.epochs,
		.fresh = t->fresh,
	};

	memcpy(plan.source, t->plan.source, sizeof plan.source);
	return plan;
}

static invar_status build_steps(trainer *t)
{
	inv_step_spec spec = step_spec(t, true), judge = step_spec(t, false);
	inv_batch_plan batches = batch_plan(t, true), held_out = batch_plan(t, false);
	invar_status st = inv_step_new(t->ctx, &spec, &t->step);

	if (st == INVAR_OK && t->plan.held_out)
		st = inv_step_new(t->ctx, &judge, &t->judge);
	if (st == INVAR_OK)
		st = inv_batches_new(&batches, &t->batches);
	if (st == INVAR_OK && t->plan.held_out)
		st = inv_batches_new(&held_out, &t->held_out);
	if (st != INVAR_OK)
		return st;
	if (strcmp(t->o.keep, "best") == 0 &&
	    !(t->best = inv_calloc(t->step->floats, sizeof *t->best)))
		return inv_fail(INVAR_E_NOMEM, "no memory for the best epoch");
	t->params = t->step->params;
	t->floats = t->step->floats;
	return INVAR_OK;
}

static invar_status build(trainer *t)
{
	inv_mlp_shape s = t->plan.shape;
	invar_status st = choose_images(t);

	t->floats = inv_mlp_floats(s);
	if (st == INVAR_OK && t->plan.loss)
		st = build_steps(t);
	if (st == INVAR_OK && !t->plan.loss &&
	    !(t->params = inv_alloc(t->floats * sizeof *t->params)))
		st = inv_fail(INVAR_E_NOMEM, "no memory for the adapter");
	if (st != INVAR_OK)
		return st;
	inv_mlp_init(s, t->o.seed, t->plan.residual || t->plan.closed, t->params);
	if (t->plan.decoder.h)
		inv_decoder_init(t->plan.decoder, t->o.seed, t->params + inv_mlp_floats(s));
	t->at = (inv_progress_state){.best = INFINITY};
	return INVAR_OK;
}

/* Fewer than so many steps leave an adapter near where it began. */
enum { FEW_STEPS = 100 };

static void announce_length(const trainer *t)
{
	const inv_train_plan *p = &t->plan;
	uint64_t steps = inv_batches_steps(t->batches), all = steps * t->o.epochs;

	inv_log(t->ctx, INVAR_LOG_INFO,
	        "%s on %" PRIu32 " %s of %s, (%zu, %zu, %zu)%s%s, %" PRIu64 " %s per epoch",
	        p->loss->name, p->images, inv_noun(p->images, "image", "images"),
	        p->split->name, p->shape.d, p->shape.h, p->shape.w,
	        t->plan.residual ? " residual" : "", p->decoder.h ? " with a decoder" : "",
	        steps, inv_noun(steps, "step", "steps"));
	if (all < FEW_STEPS)
		inv_log(t->ctx, INVAR_LOG_INFO,
		        "%" PRIu64 " %s in total %s few; try about %" PRIu64
		        " epochs for this many images",
		        all, inv_noun(all, "step", "steps"), inv_noun(all, "is", "are"),
		        (3 * FEW_STEPS + steps - 1) / steps);
}

static void announce_steps(const trainer *t)
{
	const inv_train_plan *p = &t->plan;
	size_t memory = inv_step_memory(t->step) + inv_batches_memory(t->batches);

	if (t->judge)
		memory += inv_step_memory(t->judge) + inv_batches_memory(t->held_out);
	if (p->N < t->o.batch)
		inv_log(t->ctx, INVAR_LOG_INFO, "batches have %" PRIu32 " %s: there are no more",
		        p->N, inv_noun(p->N, "image", "images"));
	if (p->s < t->o.samples && p->s == p->loss->max_samples)
		inv_log(t->ctx, INVAR_LOG_INFO, "%" PRIu32 " %s per image: %s takes no more", p->s,
		        inv_noun(p->s, "sample", "samples"), p->loss->name);
	else if (p->s < t->o.samples)
		inv_log(t->ctx, INVAR_LOG_INFO,
		        "%" PRIu32 " %s per image: there are no more copies", p->s,
		        inv_noun(p->s, "sample", "samples"));
	announce_length(t);
	inv_log(t->ctx, INVAR_LOG_DETAIL, "working memory %zu MB, kernels %s, %u %s",
	        memory >> 20, invar_context_cpu(t->ctx), t->ctx->threads,
	        inv_noun(t->ctx->threads, "thread", "threads"));
}

static void announce_closed(const trainer *t)
{
	const inv_train_plan *p = &t->plan;

	if (p->closed->needs_copies)
		inv_log(t->ctx, INVAR_LOG_INFO,
		        "%s fitted to %" PRIu32 " %s of %s and %" PRIu32 " %s of each",
		        p->closed->name, p->images, inv_noun(p->images, "image", "images"),
		        p->split->name, p->source[0].copies,
		        inv_noun(p->source[0].copies, "copy", "copies"));
}

/* ---- Where E begins -------------------------------------------------------- */

static invar_status interrupted(trainer *t)
{
	invar_status st = inv_run_finish(t->run, &t->start, t->at.t, "interrupted");

	if (st != INVAR_OK)
		return st;
	return inv_fail(INVAR_E_CANCELLED, "interrupted; %s can be resumed with @resume",
	                t->run->path);
}

/* A checkpoint has left the beginning behind; without one it is fitted anew. */
static invar_status begin_closed(trainer *t)
{
	const inv_closed_form_spec spec = {.options = t->options,
	                                   .bank = t->bank[0],
	                                   .split = t->plan.split,
	                                   .copies = t->plan.source[0].copies,
	                                   .images = t->images,
	                                   .image_count = t->plan.images,
	                                   .seed = t->o.seed};
	inv_closed_form c;
	invar_status st;

	if (!t->plan.closed || t->at.t)
		return INVAR_OK;
	st = inv_closed_form_fit(t->plan.closed, &spec, &c);
	if (st != INVAR_OK)
		return st == INVAR_E_CANCELLED ? interrupted(t) : st;
	inv_closed_form_export(&c, t->plan.shape, t->plan.residual, t->params);
	announce_closed(t);
	json_object_set(t->run->json, "closed", c.about);
	inv_closed_form_clear(&c);
	return inv_run_save(t->run);
}

/* ---- Epochs ---------------------------------------------------------------- */

/* Weights that are not finite are never written: what was saved before stays good. */
static invar_status check_weights(const trainer *t, const float *params)
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

static invar_status save_checkpoint(trainer *t)
{
	invar_status st = check_weights(t, t->params);

	if (st == INVAR_OK)
		st = inv_run_sync_log(t->run);

	t->saved = inv_wall_seconds();
	if (st == INVAR_OK)
		st = inv_checkpoint_save(t->run->checkpoint_path, t->step, t->best, &t->at,
		                         t->run->made_with);
	return st;
}

/* Interrupted between two steps: save, so that --resume goes on right here. */
static invar_status stop_here(trainer *t)
{
	invar_status st = save_checkpoint(t);

	return st == INVAR_OK ? interrupted(t) : st;
}

static invar_status one_step(trainer *t, double lr)
{
	const float *rows;
	inv_loss_value value;
	invar_status st = inv_batches_next(t->batches, &rows);

	if (st != INVAR_OK)
		return st;
	if ((st = inv_step_run(t->step, rows, lr, &value)) != INVAR_OK)
		return inv_context(st, "epoch %" PRIu64 ", step %" PRIu64 "%s", t->at.epoch,
		                   t->at.step,
		                   t->at.t ? " (a smaller learning rate may help)" : "");
	t->at.t = t->step->t;
	t->at.step++;
	t->at.loss_sum += value.value;
	for (size_t i = 0; i < t->step->term_count; i++)
		t->at.term_sum[i] += value.term[i];
	return INVAR_OK;
}

static void keep_if_best(trainer *t)
{
	if (!t->best || !(t->validation < t->at.best))
		return;
	t->at.best = t->validation;
	t->at.best_epoch = t->at.epoch + 1;
	memcpy(t->best, t->step->params, t->step->floats * sizeof *t->best);
}

/* Mean loss over the full batches of held-out images, the same ones every epoch. */
static invar_status validate(trainer *t)
{
	uint32_t steps = inv_batches_steps(t->held_out);
	double sum = 0;
	invar_status st = INVAR_OK;

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

static invar_status log_epoch(trainer *t, double lr)
{
	double steps = (double)t->at.step, now = inv_wall_seconds();
	json_t *line = json_object(), *terms = json_object();
	invar_status st;

	for (size_t i = 0; i < t->step->term_count; i++)
		json_object_set_new(terms, t->step->terms[i],
		                    inv_json_number(t->at.term_sum[i] / steps));
	json_object_set_new(line, "epoch", json_integer((json_int_t)t->at.epoch));
	json_object_set_new(line, "loss", inv_json_number(t->at.loss_sum / steps));
	json_object_set_new(line, "terms", terms);
	if (t->judge)
		json_object_set_new(line, "validation", inv_json_number(t->validation));
	json_object_set_new(line, "lr", inv_json_number(lr));
	json_object_set_new(line, "seconds", inv_json_number(now - t->epoch_started));
	st = inv_run_log(t->run, line);
	inv_log(t->ctx, INVAR_LOG_DETAIL, "epoch %" PRIu64 ": loss %.6g", t->at.epoch,
	        t->at.loss_sum / steps);
	json_decref(line);
	t->epoch_started = now;
	return st;
}

static invar_status end_epoch(trainer *t, double lr)
{
	invar_status st = t->judge ? validate(t) : INVAR_OK;

	if (st == INVAR_OK)
		st = log_epoch(t, lr);
	t->at.epoch++;
	t->at.step = 0;
	t->at.loss_sum = 0;
	memset(t->at.term_sum, 0, sizeof t->at.term_sum);
	if (st == INVAR_OK && (t->at.epoch == t->o.epochs ||
	                       inv_wall_seconds() - t->saved >= t->o.checkpoint_seconds))
		st = save_checkpoint(t);
	return st;
}

static invar_status train_epochs(trainer *t)
{
	uint64_t steps = inv_batches_steps(t->batches), total = steps * t->o.epochs;
	invar_status st =
		inv_batches_start(t->batches, (uint32_t)t->at.epoch, (uint32_t)t->at.step);

	t->step->total = total;
	if (st == INVAR_OK && t->held_out)
		st = inv_batches_start(t->held_out, (uint32_t)t->at.epoch, 0);
	while (st == INVAR_OK && t->at.epoch < t->o.epochs) {
		double lr = inv_cosine_rate(t->o.lr, t->o.lr_min, t->at.epoch, t->o.epochs);

		if ((st = one_step(t, lr)) == INVAR_E_CANCELLED)
			return stop_here(t);
		if (st == INVAR_OK && t->at.step == steps)
			st = end_epoch(t, lr);
		if (st == INVAR_OK && inv_progress(t->ctx, "train", t->at.t, total) != INVAR_OK &&
		    t->at.epoch < t->o.epochs)
			return stop_here(t);
	}
	return st;
}

/* ---- The whole ------------------------------------------------------------- */

static void announce_best(const trainer *t)
{
	if (!t->best || !t->at.best_epoch)
		return;
	inv_log(t->ctx, INVAR_LOG_INFO,
	        "epoch %" PRIu64 " of %" PRIu64
	        " is kept: its validation loss is the lowest, %.6g",
	        t->at.best_epoch, t->o.epochs, t->at.best);
	json_object_set_new(t->run->json, "kept_epoch",
	                    json_integer((json_int_t)t->at.best_epoch));
}

/* The spread follows all training: E itself is what checkpoints hold. */
static invar_status save_with_spread(trainer *t, const inv_mlp_form *e)
{
	const inv_spread_spec spec = {.options = t->options,
	                              .source = t->plan.source,
	                              .sources = t->plan.sources,
	                              .images = t->images,
	                              .image_count = t->plan.images};
	inv_mlp_form stretched = {0};
	json_t *about;
	invar_status st = inv_spread_apply(&spec, e, &stretched, &about);

	if (st == INVAR_E_CANCELLED)
		st = interrupted(t);
	if (st == INVAR_OK) {
		json_object_set_new(t->run->json, "spread", about);
		st = inv_adapter_save(t->run->adapter_path, stretched.s, stretched.params,
		                      stretched.residual, &t->o, &t->plan);
	}
	inv_free(stretched.params);
	return st;
}

static invar_status save_adapter(trainer *t)
{
	float *params = t->best ? t->best : t->params;
	const inv_mlp_form e = {t->plan.shape, t->plan.residual, params};
	invar_status st = check_weights(t, params);

	announce_best(t);
	if (st == INVAR_OK && t->plan.decoder.h)
		st = inv_adapter_save(t->run->decoder_path, t->plan.decoder,
		                      params + t->step->adapter_floats, false, &t->o, &t->plan);
	if (st != INVAR_OK)
		return st;
	if (inv_spread_wanted(t->options))
		return save_with_spread(t, &e);
	return inv_adapter_save(t->run->adapter_path, t->plan.shape, params, t->plan.residual,
	                        &t->o, &t->plan);
}

/* What the options come to; run.json gets the batch size that the loss chose. */
static invar_status check_options(trainer *t)
{
	invar_status st;

	inv_train_read(t->options, &t->o);
	if (t->fresh && t->o.samples && !inv_live_augments(t->fresh))
		return inv_fail(INVAR_E_USE,
		                "training on images needs to know what to be invariant to: give an "
		                "@augment SPEC");
	if ((st = inv_train_check(&t->o, t->bank, t->banks, t->fresh, &t->plan)) != INVAR_OK)
		return st;
	t->o.batch = t->plan.loss ? t->plan.batch : t->o.batch;
	return INVAR_OK;
}

static invar_status open_run(trainer *t, const char *path)
{
	bool resume = inv_option_flag(t->options, "resume");
	bool force = inv_option_flag(t->options, "force");
	inv_run_mode mode = resume ? INV_RUN_RESUME : force ? INV_RUN_REPLACE : INV_RUN_FRESH;
	invar_status st;

	if (resume && force)
		return inv_fail(INVAR_E_USE, "@resume and @force exclude each other");
	/* What can be refused is refused before anything is made or removed. */
	if (!resume && (st = check_options(t)) != INVAR_OK)
		return st;
	if ((st = inv_run_open(path, mode, &t->run)) != INVAR_OK || !resume)
		return st;
	inv_run_compare_version(t->ctx, t->run);
	st = inv_options_resume(t->options, json_object_get(t->run->json, "options"), path,
	                        false);
	return st == INVAR_OK ? check_options(t) : st;
}

/*
 * Copies made from images need clean features as well: a bank of its own in the run's
 * folder takes the place of the outline that the options were held against.
 */
static invar_status encode_clean(trainer *t)
{
	invar_status st = INVAR_OK;

	inv_live_set_seed(t->fresh, t->o.seed); /* which may be that of the run */
	if (!t->o.resume)
		st = inv_run_begin(t->run, &t->plan, &t->o);
	if (st != INVAR_OK)
		return st;
	t->begun = !t->o.resume;
	st = inv_live_encode_clean(t->fresh, t->run->clean_path, &t->clean);
	if (st == INVAR_E_CANCELLED)
		return interrupted(t);
	t->bank[0] = t->clean;
	if (st == INVAR_OK)
		st = inv_train_check(&t->o, t->bank, t->banks, t->fresh, &t->plan);
	return st;
}

static void announce_resume(const trainer *t)
{
	if (!t->at.t)
		inv_log(t->ctx, INVAR_LOG_INFO, "%s has no checkpoint yet and starts again",
		        t->run->path);
	else if (t->at.epoch == t->o.epochs)
		inv_log(t->ctx, INVAR_LOG_INFO, "%s is finished already", t->run->path);
	else
		inv_log(t->ctx, INVAR_LOG_INFO,
		        "%s resumes after %" PRIu64 " of %" PRIu64 " %s and %" PRIu64 " %s",
		        t->run->path, t->at.epoch, t->o.epochs,
		        inv_noun(t->o.epochs, "epoch", "epochs"), t->at.step,
		        inv_noun(t->at.step, "step", "steps"));
}

/* Do the counters of a checkpoint name a place in this run? */
static bool is_within(const trainer *t)
{
	uint64_t steps = inv_batches_steps(t->batches);

	return t->at.epoch <= t->o.epochs && t->at.step < steps &&
	       t->at.t == t->at.epoch * steps + t->at.step;
}

static invar_status restore(trainer *t)
{
	invar_status st = INVAR_OK;

	if (t->step && t->o.resume && inv_exists(t->run->checkpoint_path))
		st = inv_checkpoint_load(t->run->checkpoint_path, t->step, t->best, &t->at);
	if (st == INVAR_OK && t->step && !is_within(t))
		st = inv_fail(INVAR_E_FORMAT,
		              "%s: its epoch %" PRIu64 ", step %" PRIu64 " and %" PRIu64
		              " steps done do not belong to this run",
		              t->run->checkpoint_path, t->at.epoch, t->at.step, t->at.t);
	if (st == INVAR_OK && t->step && t->o.resume)
		announce_resume(t);
	return st == INVAR_OK ? inv_run_open_log(t->run, t->at.epoch) : st;
}

/* The sentence survives in run.json; the checkpoint stays as it was. */
static invar_status note_failure(trainer *t, invar_status st)
{
	char sentence[1024];

	snprintf(sentence, sizeof sentence, "%s", invar_last_error());
	json_object_set_new(t->run->json, "error", json_string(sentence));
	inv_run_finish(t->run, &t->start, t->at.t, "failed");
	return inv_fail(st, "%s", sentence);
}

/* Up to a run.json that describes it all; what it says is kept from here on. */
static invar_status prepare_run(trainer *t, const char *path)
{
	invar_status st = open_run(t, path);

	if (st == INVAR_OK && t->fresh)
		st = encode_clean(t);
	if (st == INVAR_OK)
		st = build(t);
	if (st == INVAR_OK)
		st = inv_run_describe(t->run, &t->plan, &t->o);
	t->begun = t->begun || st == INVAR_OK;
	return st;
}

static invar_status fill_run(trainer *t)
{
	invar_status st = restore(t);

	if (st == INVAR_OK && t->step)
		announce_steps(t);
	if (st == INVAR_OK)
		st = begin_closed(t);
	t->epoch_started = t->saved = inv_wall_seconds();
	if (st == INVAR_OK && t->step)
		st = train_epochs(t);
	if (st == INVAR_OK)
		st = save_adapter(t);
	return st;
}

static invar_status run_training(trainer *t, const char *path)
{
	invar_status st = prepare_run(t, path);

	if (st == INVAR_OK)
		st = fill_run(t);
	if (st != INVAR_OK)
		return st == INVAR_E_CANCELLED || !t->begun ? st : note_failure(t, st);
	if ((st = inv_run_finish(t->run, &t->start, t->at.t, "finished")) != INVAR_OK)
		return st;
	return inv_run_publish(t->run);
}

/* Runs the training that t was given and frees all that it has made. */
static invar_status train(trainer *t, const invar_options *o, const char *run)
{
	invar_status st = inv_options_pick(o, inv_train_declare_method, &t->options);

	t->start = (inv_run_start){inv_wall_seconds(), inv_cpu_seconds()};
	if (st == INVAR_OK)
		st = run_training(t, run);
	inv_batches_free(t->batches);
	inv_batches_free(t->held_out);
	if (!t->step)
		inv_free(t->params);
	inv_step_free(t->step);
	inv_step_free(t->judge);
	inv_run_close(t->run);
	invar_bank_close(t->clean);
	inv_free(t->images);
	inv_free(t->best);
	invar_options_free(t->options);
	return st;
}

invar_status invar_train(invar_bank *const *banks, size_t count, const invar_options *o,
                         const char *run)
{
	trainer t = {.validation = NAN};
	invar_status st;

	if (!count || count > INV_MAX_SOURCES)
		return inv_fail(INVAR_E_USE, "a training takes 1 to %d banks, not %zu",
		                INV_MAX_SOURCES, count);
	if ((st = inv_options_expect(o, "train")) != INVAR_OK ||
	    (st = inv_options_check_parts(o)) != INVAR_OK)
		return st;
	for (; t.banks < count; t.banks++)
		t.bank[t.banks] = banks[t.banks];
	t.ctx = banks[0]->ctx;
	return train(&t, o, run);
}

invar_status invar_train_images(invar_encoder *e, const invar_dataset *d,
                                const invar_options *o, const char *run)
{
	trainer t = {.validation = NAN, .banks = 1};
	invar_status st = inv_options_expect(o, "train");

	if (st == INVAR_OK)
		st = inv_live_open(e, d, inv_option_text(o, "split"), o,
		                   inv_option_count(o, "seed"), &t.fresh);
	if (st == INVAR_OK) {
		t.bank[0] = inv_live_outline(t.fresh);
		t.ctx = t.bank[0]->ctx;
		st = train(&t, o, run);
	}
	inv_live_close(t.fresh);
	return st;
}

/*
 * run.json keeps every option under "images", "options"; see inv_live_options. Only what
 * was not given anew is taken from there. Whether the rest says the same in other words
 * ("rotation" for "rotation:degrees=-180..180") is known once the images are open: what
 * the bank of clean features says of itself is compared with that.
 */
invar_status invar_train_images_options(invar_options *o, const char *run)
{
	inv_run *r;
	invar_status st = inv_options_expect(o, "train");
	const json_t *images;

	if (st == INVAR_OK)
		st = inv_run_open(run, INV_RUN_RESUME, &r);
	if (st != INVAR_OK)
		return st;
	images = json_object_get(r->json, "images");
	st = json_is_object(images)
	         ? inv_options_resume(o, json_object_get(images, "options"), run, true)
	         : inv_fail(INVAR_E_MISMATCH,
	                    "%s: was started on a bank, so it cannot be resumed with images",
	                    r->path);
	inv_run_close(r);
	return st;
}
