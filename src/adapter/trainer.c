/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trainer.c - a run from its options to its adapter, on banks or on images.
 *
 * This file combines sources, options and the run's folder; the epochs are in
 * train_epochs.c. With the loss none there are no steps: the closed form from which
 * training would start becomes the adapter. What a trial found before (measure/trial.h) is
 * among the options and goes into run.json.
 */
#include "adapter/trainer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "adapter/closed_forms/closed_form.h"
#include "adapter/presets.h"
#include "adapter/scaled.h"
#include "adapter/spread.h"
#include "adapter/strength.h"
#include "bank/bank_ranks.h"
#include "bank/class_view.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/processes.h"
#include "base/text.h"
#include "run/run.h"

_Static_assert((int)INV_MAX_SOURCES == (int)INV_MAX_LOSS_GROUPS,
               "a source is an augmentation");

/* ---- Setting up ------------------------------------------------------------------- */

/* Held-out images are drawn once; both lists keep the order of the source. */
static invar_status choose_images(inv_trainer *t)
{
	uint32_t rows = (uint32_t)t->plan.source[0]->rows, train = 0, held = t->plan.images;
	uint32_t *shuffled = inv_calloc(rows, sizeof *shuffled);
	inv_stream stream = inv_stream_of(t->o.seed, "validation/images", 0);

	t->images = inv_calloc(rows, sizeof *t->images);
	if (!shuffled || !t->images) {
		inv_free(shuffled);
		return inv_fail(INVAR_E_NOMEM, "not enough memory for a list of %" PRIu32 " images",
		                rows);
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

/* Held-out images are measured in the frame of the training images. */
static invar_status measure_clean(inv_trainer *t)
{
	const inv_source *from = t->plan.source[0];
	inv_clean_statistics *c = &t->plan.statistics;
	invar_status st;

	if (!t->o.scaled)
		return INVAR_OK;
	st = inv_clean_statistics_of(from->bank, from->stored, t->images, t->plan.images, c);
	if (st != INVAR_OK)
		return st;
	if (!(t->origin = inv_alloc(from->dim * sizeof *t->origin)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for the mean of the features");
	for (size_t l = 0; l < from->dim; l++)
		t->origin[l] = (float)(c->mean[l] / c->sigma);
	return INVAR_OK;
}

static inv_loss_frame frame_of(const inv_trainer *t)
{
	const inv_clean_statistics *c = &t->plan.statistics;

	if (!t->o.scaled)
		return (inv_loss_frame){0};
	return (inv_loss_frame){.distance = c->distance / (c->sigma * c->sigma),
	                        .origin = t->origin};
}

static inv_step_spec step_spec(const inv_trainer *t, bool update)
{
	return (inv_step_spec){
		.shape = t->plan.shape,
		.loss = t->plan.loss,
		.options = t->options,
		.N = update ? t->plan.N : t->plan.held_out_N,
		.s = t->plan.s,
		.groups = t->plan.sources,
		.frame = frame_of(t),
		.decoder = t->plan.decoder,
		.alpha = t->o.alpha,
		.beta = t->o.beta,
		.residual = t->plan.residual,
		.update = update,
		.weight_decay = t->o.weight_decay,
		.seed = t->o.seed,
	};
}

static inv_batch_plan batch_plan(const inv_trainer *t, bool train)
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
		.scale = t->o.scaled ? &t->plan.statistics : NULL,
	};

	memcpy(plan.source, t->plan.source, sizeof plan.source);
	return plan;
}

static invar_status build_steps(inv_trainer *t)
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
		return inv_fail(INVAR_E_NOMEM, "not enough memory for the best epoch");
	t->params = t->step->params;
	t->floats = t->step->floats;
	return INVAR_OK;
}

invar_status inv_trainer_build(inv_trainer *t)
{
	inv_mlp_shape s = t->plan.shape;
	invar_status st = t->images ? INVAR_OK : choose_images(t);

	t->floats = inv_mlp_floats(s);
	if (st == INVAR_OK)
		st = measure_clean(t);
	if (st == INVAR_OK && t->plan.loss)
		st = build_steps(t);
	if (st == INVAR_OK && !t->plan.loss &&
	    !(t->params = inv_alloc(t->floats * sizeof *t->params)))
		st = inv_fail(INVAR_E_NOMEM, "not enough memory for the adapter");
	if (st != INVAR_OK)
		return st;
	inv_mlp_init(s, t->o.seed, t->plan.residual || t->plan.closed, t->params);
	if (t->plan.decoder.h)
		inv_decoder_init(t->plan.decoder, t->o.seed, t->params + inv_mlp_floats(s));
	t->at = (inv_progress_state){.best = INFINITY};
	return INVAR_OK;
}

/* ---- Initial E ------------------------------------------------------------- */

invar_status inv_trainer_fit_closed(inv_trainer *t, json_t **about)
{
	const inv_source *from = t->plan.source[0];
	const inv_closed_form_spec spec = {.options = t->options,
	                                   .bank = from->bank,
	                                   .split = from->stored,
	                                   .copies = from->copies,
	                                   .images = t->images,
	                                   .image_count = t->plan.images,
	                                   .seed = t->o.seed};
	inv_closed_form c;
	invar_status st = inv_closed_form_fit(t->plan.closed, &spec, &c);

	*about = NULL;
	if (st != INVAR_OK)
		return st;
	if (t->o.scaled)
		inv_scaled_closed_form(&t->plan.statistics, &c);
	inv_closed_form_export(&c, t->plan.shape, t->plan.residual, t->params);
	*about = json_incref(c.about);
	inv_closed_form_clear(&c);
	return INVAR_OK;
}

/* A checkpoint already contains the closed form; without one it is fitted again. */
static invar_status begin_closed(inv_trainer *t)
{
	json_t *about;
	invar_status st;

	if (!t->plan.closed || t->at.t)
		return INVAR_OK;
	if ((st = inv_trainer_fit_closed(t, &about)) != INVAR_OK)
		return st == INVAR_E_CANCELLED ? inv_trainer_interrupted(t) : st;
	inv_trainer_announce_closed(t);
	if (!t->run) {
		json_decref(about);
		return INVAR_OK;
	}
	json_object_set_new(t->run->json, "closed", about);
	return inv_run_save(t->run);
}

/* ---- The whole ------------------------------------------------------------- */

/*
 * Both come after training, so that checkpoints hold E itself: first the spread, then the
 * strength, which moves features along the line to their final codes.
 */
invar_status inv_trainer_complete(const inv_trainer *t, const inv_mlp_form *e,
                                  inv_mlp_form *out, json_t **about)
{
	const inv_spread_spec spec = {.options = t->options,
	                              .source = t->plan.source,
	                              .sources = t->plan.sources,
	                              .images = t->images,
	                              .image_count = t->plan.images};
	double strength = inv_option_number(t->options, "strength");
	inv_mlp_form moved = {.params = NULL};
	invar_status st = INVAR_OK;

	*out = (inv_mlp_form){.params = NULL};
	*about = NULL;
	if (inv_spread_wanted(t->options))
		st = inv_spread_apply(&spec, e, out, about);
	if (st != INVAR_OK || strength == 1)
		return st;
	st = inv_strength_apply(t->ctx, out->params ? out : e, strength, &moved);
	inv_free(out->params);
	*out = moved;
	return st;
}

/*
 * Writes the decoder, if any, then E; in memory E becomes *made. params take the features
 * as they are.
 */
static invar_status save_files(inv_trainer *t, float *params, invar_adapter **made)
{
	const inv_mlp_form e = {t->plan.shape, t->plan.residual, params}, *last;
	inv_mlp_form complete = {.params = NULL};
	json_t *about = NULL;
	invar_status st;

	INV_TRY(inv_trainer_check_weights(t, params));
	if (t->plan.decoder.h && t->run)
		INV_TRY(inv_decoder_save(
			t->run->decoder_path,
			&(inv_mlp_form){t->plan.decoder, false, params + t->step->adapter_floats},
			&t->o, &t->plan));

	if ((st = inv_trainer_complete(t, &e, &complete, &about)) == INVAR_E_CANCELLED)
		st = inv_trainer_interrupted(t);
	if (st != INVAR_OK)
		goto done;
	last = complete.params ? &complete : &e;
	if (!t->run) {
		if (made)
			st = inv_adapter_make(last, &t->o, &t->plan, made);
		goto done;
	}
	if (about)
		json_object_set(t->run->json, "spread", about);
	st = inv_adapter_save(t->run->adapter_path, last, &t->o, &t->plan);
done:
	json_decref(about);
	inv_free(complete.params);
	return st;
}

static invar_status save_adapter(inv_trainer *t, invar_adapter **made)
{
	float *params = t->best ? t->best : t->params, *folded;
	invar_status st;

	inv_trainer_announce_best(t);
	if (!t->o.scaled)
		return save_files(t, params, made);
	if (!(folded = inv_alloc(t->floats * sizeof *folded)))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for the adapter");
	memcpy(folded, params, t->floats * sizeof *folded);
	inv_scaled_fold(&t->plan.statistics, t->plan.shape, true, folded);
	if (t->plan.decoder.h)
		inv_scaled_fold(&t->plan.statistics, t->plan.decoder, false,
		                folded + t->step->adapter_floats);
	st = save_files(t, folded, made);
	inv_free(folded);
	return st;
}

/*
 * Measures the norms of the rows, which must exist. If the option unit is not known, it
 * becomes true where all of them are 1: in the options as well, so that it is recorded and
 * resumed with its value. A decoder is trained on codes that are not normalised.
 */
static invar_status settle_unit(inv_trainer *t)
{
	inv_row_norms *n = &t->plan.norms;
	invar_status st = INVAR_OK;

	*n = (inv_row_norms){0};
	for (uint32_t g = 0; g < t->plan.sources && st == INVAR_OK; g++)
		st = inv_source_norms(t->plan.source[g],
		                      t->plan.loss ? t->plan.s : t->plan.source[g]->copies, n);
	if (st != INVAR_OK)
		return st;
	if (!t->o.unit_known && inv_row_norms_are_one(n) && !t->o.decoder) {
		inv_log(t->ctx, INVAR_LOG_INFO,
		        "all rows of %s have norm 1: E normalises features and codes (@unit)",
		        t->plan.source[0]->split);
		if ((st = invar_options_set(t->options, "unit", "true")) != INVAR_OK)
			return st;
		inv_train_read(t->options, &t->o); /* whose texts are views of the options */
		t->o.batch = t->plan.loss ? t->plan.batch : t->o.batch;
	}
	t->o.unit_known = true;
	for (uint32_t g = 0; g < t->plan.sources && t->o.unit; g++)
		inv_source_normalise(t->plan.source[g]);
	return INVAR_OK;
}

/* Settles the options; the batch size becomes the one that is used. */
invar_status inv_trainer_check_options(inv_trainer *t)
{
	bool known = t->o.unit_known; /* of a run that is resumed */
	invar_status st;

	inv_train_read(t->options, &t->o);
	t->o.unit_known = t->o.unit_known || known;
	if ((st = inv_train_check(&t->o, t->source, t->sources, &t->plan)) != INVAR_OK)
		return st;
	t->o.batch = t->plan.loss ? t->plan.batch : t->o.batch;
	return inv_source_is_encoded(t->source[0]) ? INVAR_OK : settle_unit(t);
}

static invar_status resume_options(inv_trainer *t, const json_t *run, const char *path)
{
	const json_t *saved = json_object_get(run, "options");

	if (!json_object_get(saved, "preset"))
		INV_TRY(invar_options_set(t->options, "preset", INV_FIRST_PRESET));
	INV_TRY(inv_options_resume(t->options, saved, path, false));
	/* A run of an earlier version that has seen its rows is not normalised. */
	t->o.unit_known = json_object_get(saved, "unit") || json_object_get(run, "inputs");
	return inv_trainer_check_options(t);
}

/* What run.json says, to all ranks. */
static invar_status resume_run(inv_trainer *t, const char *path)
{
	char *text = t->run ? inv_json_text(t->run->json, 0) : NULL;
	json_t *run = NULL;
	invar_status st;

	if (t->run)
		inv_run_compare_version(t->ctx, t->run);
	INV_TRY_OR(done, inv_broadcast_text(t->ctx, &text));
	run = text ? json_loads(text, 0, NULL) : NULL;
	st = run ? resume_options(t, run, path)
	         : inv_fail(INVAR_E_NOMEM, "%s: not enough memory", path);
done:
	json_decref(run);
	inv_free(text);
	return st;
}

/* Rank 0 has the run's folder. */
static invar_status open_run(inv_trainer *t, const char *path)
{
	bool resume = inv_option_flag(t->options, "resume");
	bool force = inv_option_flag(t->options, "force");
	inv_run_mode mode = resume ? INV_RUN_RESUME : force ? INV_RUN_REPLACE : INV_RUN_FRESH;

	if (resume && force)
		return inv_fail(INVAR_E_USE, "@resume and @force cannot be used together");
	/* All checks come before anything is created or removed. */
	if (!resume)
		INV_TRY(inv_trainer_check_options(t));
	if (inv_process_rank(t->ctx) == 0)
		INV_TRY(inv_run_open(path, mode, &t->run));
	if (resume)
		return resume_run(t, path);
	inv_trainer_announce_preset(t);
	return INVAR_OK;
}

/* Ranks that read other rows would silently train something else. */
static invar_status compare_sources(const inv_trainer *t)
{
	for (uint32_t g = 0; g < t->plan.sources; g++) {
		const inv_source *from = t->plan.source[g];

		if (!from->unlimited && !from->bank->in_memory)
			INV_TRY(inv_bank_agree(t->ctx, from->stored, from->copies));
	}
	return INVAR_OK;
}

/*
 * Encoded rows are written to the run's folder, so its run.json must be the first file
 * there. Unreadable images have no row, so the options are checked again.
 */
static invar_status prepare_source(inv_trainer *t)
{
	char *called = inv_join(t->run->path, INV_RUN_CLEAN);
	invar_status st =
		called ? INVAR_OK : inv_fail(INVAR_E_NOMEM, "%s: not enough memory", t->run->path);

	if (st == INVAR_OK && !t->o.resume) {
		st = inv_run_begin(t->run, &t->plan, &t->o);
		t->begun = st == INVAR_OK;
	}
	if (st == INVAR_OK)
		st = inv_source_prepare(t->source[0], t->o.seed, t->run->clean_path, called);
	inv_free(called);
	if (st == INVAR_E_CANCELLED)
		return inv_trainer_interrupted(t);
	if (st == INVAR_OK)
		st = inv_train_check(&t->o, t->source, t->sources, &t->plan);
	if (st == INVAR_OK && (st = settle_unit(t)) == INVAR_E_CANCELLED)
		return inv_trainer_interrupted(t);
	return st;
}

/* Are the counters of a checkpoint within this run? */
static bool is_within(const inv_trainer *t)
{
	uint64_t steps = inv_batches_steps(t->batches);

	return t->at.epoch <= t->o.epochs && t->at.step < steps &&
	       t->at.t == t->at.epoch * steps + t->at.step;
}

/* Rank 0 has read a checkpoint, perhaps. */
static invar_status broadcast_state(inv_trainer *t)
{
	size_t bytes = t->floats * sizeof(float);

	INV_TRY(inv_broadcast(t->ctx, &t->at, sizeof t->at));
	INV_TRY(inv_broadcast(t->ctx, &t->step->t, sizeof t->step->t));
	INV_TRY(inv_broadcast(t->ctx, t->step->params, bytes));
	INV_TRY(inv_broadcast(t->ctx, t->step->m, bytes));
	INV_TRY(inv_broadcast(t->ctx, t->step->v, bytes));
	return t->best ? inv_broadcast(t->ctx, t->best, bytes) : INVAR_OK;
}

static invar_status restore(inv_trainer *t)
{
	bool resumed = t->step && t->o.resume;

	if (t->run && resumed && inv_exists(t->run->checkpoint_path))
		INV_TRY(inv_checkpoint_load(t->run->checkpoint_path, t->step, t->best, &t->at));
	if (t->run && t->step && !is_within(t))
		return inv_fail(INVAR_E_FORMAT,
		                "%s: its epoch %" PRIu64 ", step %" PRIu64 " and %" PRIu64
		                " steps done do not belong to this run",
		                t->run->checkpoint_path, t->at.epoch, t->at.step, t->at.t);
	if (resumed)
		INV_TRY(broadcast_state(t));
	if (t->run && resumed)
		inv_trainer_announce_resume(t);
	return t->run ? inv_run_open_log(t->run, t->at.epoch) : INVAR_OK;
}

/* The message is saved in run.json; the checkpoint is unchanged. */
static invar_status note_failure(inv_trainer *t, invar_status st)
{
	char sentence[1024];

	snprintf(sentence, sizeof sentence, "%s", invar_last_error());
	json_object_set_new(t->run->json, "error", json_string(sentence));
	inv_run_finish(t->ctx, t->run, &t->start, t->at.t, "failed");
	return inv_fail(st, "%s", sentence);
}

/* Everything up to a complete run.json, which is kept from here on. */
static invar_status prepare_run(inv_trainer *t, const char *path)
{
	invar_status st = open_run(t, path);

	if (st == INVAR_OK && inv_source_is_encoded(t->source[0]))
		st = prepare_source(t);
	if (st == INVAR_OK)
		st = compare_sources(t);
	if (st == INVAR_OK)
		st = inv_trainer_build(t);
	if (st != INVAR_OK || !t->run)
		return st;
	if (inv_options_record(t->options, "trial"))
		json_object_set(t->run->json, "trial", inv_options_record(t->options, "trial"));
	st = inv_run_describe(t->run, &t->plan, &t->o);
	t->begun = t->begun || st == INVAR_OK;
	return st;
}

/* From the first step, or the checkpoint, to E: in the run's folder, or *made in memory. */
static invar_status make_adapter(inv_trainer *t, invar_adapter **made)
{
	INV_TRY(restore(t));
	if (t->step)
		inv_trainer_announce_steps(t);
	INV_TRY(begin_closed(t));
	t->epoch_started = t->saved = inv_wall_seconds();
	if (t->step)
		INV_TRY(inv_trainer_run_epochs(t));
	return save_adapter(t, made);
}

static invar_status run_training(inv_trainer *t, const char *path)
{
	invar_status st = prepare_run(t, path);

	if (st == INVAR_OK)
		st = make_adapter(t, NULL);
	if (st != INVAR_OK)
		return st == INVAR_E_CANCELLED || !t->begun ? st : note_failure(t, st);
	if (!t->run) { /* rank 0 asks all for their usage */
		double peak_mb, cpu_seconds;

		return inv_context_usage(t->ctx, &peak_mb, &cpu_seconds);
	}
	if ((st = inv_run_finish(t->ctx, t->run, &t->start, t->at.t, "finished")) != INVAR_OK)
		return st;
	return inv_run_publish(t->run);
}

void inv_trainer_clear(inv_trainer *t)
{
	inv_batches_free(t->batches);
	inv_batches_free(t->held_out);
	if (!t->step)
		inv_free(t->params);
	inv_step_free(t->step);
	inv_step_free(t->judge);
	inv_run_close(t->run);
	for (size_t g = 0; g < t->sources; g++)
		inv_source_close(t->source[g]);
	inv_clean_statistics_clear(&t->plan.statistics);
	inv_free(t->origin);
	inv_free(t->images);
	inv_free(t->best);
	invar_options_free(t->options);
}

/* Runs the training if its sources could be opened, and frees them and all it has made. */
static invar_status train(inv_trainer *t, invar_status st, const invar_options *o,
                          const char *run)
{
	if (st == INVAR_OK)
		st = inv_options_pick(o, inv_train_declare_method, &t->options);
	if (st == INVAR_OK) {
		t->ctx = t->source[0]->ctx;
		st = run_training(t, run);
	}
	inv_trainer_clear(t);
	return st;
}

/* keep-structure without a trial; see invar_trial_settle. */
static invar_status check_trial(const invar_options *o)
{
	if (inv_option_number(o, "keep-structure") <= 0 || inv_options_record(o, "trial"))
		return INVAR_OK;
	return inv_fail(INVAR_E_USE, "@keep-structure is found in the trial, so @trial "
	                             "cannot be false; leave one of them out");
}

invar_status invar_train(invar_bank *const *banks, size_t count, const invar_options *o,
                         const char *run)
{
	inv_trainer t = {.validation = NAN, .start = inv_run_start_now()};
	invar_status st;

	if (!count || count > INV_MAX_SOURCES)
		return inv_fail(INVAR_E_USE, "a training takes 1 to %d banks, not %zu",
		                INV_MAX_SOURCES, count);
	if ((st = inv_options_expect(o, "train")) != INVAR_OK ||
	    (st = inv_options_check_parts(o)) != INVAR_OK)
		return st;
	for (size_t i = 0; i < count; i++)
		if ((st = inv_class_view_check(banks[i], o)) != INVAR_OK)
			return st;
	if (!inv_option_flag(o, "resume"))
		INV_TRY(check_trial(o));
	for (; t.sources < count && st == INVAR_OK; t.sources++)
		st = inv_bank_source_open(banks[t.sources], &t.source[t.sources]);
	return train(&t, st, o, run);
}

/* What only a run's folder can have; nothing there can be replaced or saved in time. */
static invar_status check_in_memory(const inv_trainer *t)
{
	static const char *const of_folders[] = {"resume", "decoder"};
	static const char *const unused[] = {"force", "checkpoint-seconds"};

	for (size_t i = 0; i < sizeof of_folders / sizeof *of_folders; i++)
		if (inv_option_flag(t->options, of_folders[i]))
			return inv_fail(INVAR_E_USE,
			                "@%s needs a run's folder; a training in memory "
			                "has none",
			                of_folders[i]);
	for (size_t i = 0; i < sizeof unused / sizeof *unused; i++)
		if (inv_option_is_set(t->options, unused[i]))
			inv_log(t->ctx, INVAR_LOG_INFO,
			        "@%s is not used: a training in memory has no "
			        "folder",
			        unused[i]);
	return INVAR_OK;
}

static invar_status fit_bank(const invar_bank *bank, const invar_options *o,
                             invar_adapter **out)
{
	inv_trainer t = {.validation = NAN, .ctx = bank->ctx};
	invar_status st;

	*out = NULL;
	INV_TRY(inv_class_view_check(bank, o));
	INV_TRY(check_trial(o));
	INV_TRY(inv_bank_source_open(bank, &t.source[0]));
	t.sources = 1;
	INV_TRY_OR(done, inv_options_pick(o, inv_train_declare_method, &t.options));
	INV_TRY_OR(done, check_in_memory(&t));
	INV_TRY_OR(done, inv_trainer_check_options(&t));
	inv_trainer_announce_preset(&t);
	INV_TRY_OR(done, inv_trainer_build(&t));
	INV_TRY_OR(done, make_adapter(&t, out));
done:
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
	INV_TRY_OR(done, fit_bank(bank, o ? o : defaults, out));
done:
	invar_bank_close(bank);
	invar_options_free(defaults);
	return st;
}

/* Stored copies of held-out images are what a trial is measured on. */
static invar_status check_no_trial(const invar_options *o)
{
	bool dial = inv_option_number(o, "keep-structure") > 0;

	if (!dial && !(inv_option_is_set(o, "trial") && inv_option_flag(o, "trial")))
		return INVAR_OK;
	return inv_fail(INVAR_E_USE, "@%s needs a bank with copies, not @images",
	                dial ? "keep-structure" : "trial");
}

invar_status invar_train_images(invar_encoder *e, const invar_dataset *d,
                                const invar_options *o, const char *run)
{
	inv_trainer t = {.validation = NAN, .sources = 1, .start = inv_run_start_now()};
	const invar_context *ctx = NULL;
	inv_processes *processes = d->ctx->processes;
	invar_status st = inv_options_expect(o, "train");

	if (inv_process_rank(d->ctx))
		return INVAR_OK;
	if (inv_process_count(d->ctx) > 1)
		inv_log(d->ctx, INVAR_LOG_WARNING,
		        "rank 0 trains alone: copies are made while it trains");
	inv_context_share(d->ctx, NULL);
	if (st == INVAR_OK)
		st = check_no_trial(o);
	if (st == INVAR_OK)
		st = inv_image_source_open(e, d, o, &t.source[0]);
	if (st == INVAR_OK)
		ctx = t.source[0]->ctx;
	st = train(&t, st, o, run);
	inv_context_share(d->ctx, processes);
	if (st == INVAR_OK && inv_option_flag(o, "trial") && !inv_option_flag(o, "resume"))
		inv_log(ctx, INVAR_LOG_INFO,
		        "no trial was made: it needs a bank with copies, not @images");
	return st;
}

/*
 * run.json keeps every option under "images", "options"; see inv_source_options. Only
 * options that were not set again are taken from there. Whether the others mean the same
 * ("rotation" and "rotation:degrees=-180..180") is checked once the images are open,
 * against the record in the bank of clean features.
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
