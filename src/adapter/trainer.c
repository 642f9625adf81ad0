/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trainer.c - a run from its options to its adapter, on banks or on images.
 *
 * This file combines sources, options and the run's folder; the epochs are in
 * train_epochs.c. With the loss none there are no steps: the closed form from which
 * training would start becomes the adapter. What a trial found before (measure/trial.h) is
 * among the options and goes into run.json.
 *
 * Of several ranks all train; rank 0 alone has the run's folder, and sends the others what
 * it reads there.
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
#include "bank/bank.h"
#include "bank/class_view.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/processes.h"
#include "base/text.h"
#include "images/spec.h"
#include "run/run.h"

_Static_assert((int)INV_MAX_SOURCES == (int)INV_MAX_LOSS_GROUPS,
               "a source is an augmentation");

/* ---- Setting up ------------------------------------------------------------------- */

inv_trainer inv_trainer_begin(const char *title)
{
	return (inv_trainer){.title = title,
	                     .validation = NAN,
	                     .wall_start = inv_wall_seconds(),
	                     .cpu_start = inv_cpu_seconds()};
}

/* Steps and batches that train, or that measure the held-out images. */
static invar_status open_steps(const inv_trainer *t, bool train, inv_step **step,
                               inv_batches **batches)
{
	const inv_train_plan *p = &t->plan;
	const inv_clean_statistics *c = &p->statistics;
	uint32_t N = train ? p->N : p->held_out_N;
	inv_step_spec spec = {
		.shape = p->shape,
		.loss = p->loss,
		.options = t->options,
		.N = N,
		.s = p->s,
		.groups = p->sources,
		.decoder = p->decoder,
		.alpha = t->o.alpha,
		.beta = t->o.beta,
		.residual = p->residual,
		.update = train,
		.weight_decay = t->o.weight_decay,
		.seed = t->o.seed,
	};
	inv_batch_plan rows = {
		.sources = p->sources,
		.images = t->images + (train ? 0 : p->images),
		.image_count = train ? p->images : p->held_out,
		.N = N,
		.s = p->s,
		.seed = t->o.seed,
		.purpose = train ? "train" : "validation",
		.same_every_epoch = !train,
		.epochs = (uint32_t)t->o.epochs,
		.scale = t->o.scaled ? c : NULL,
	};

	if (t->o.scaled)
		spec.frame = (inv_loss_frame){.distance = c->distance / (c->sigma * c->sigma),
		                              .origin = t->origin};
	memcpy(rows.source, p->source, sizeof rows.source);
	INV_TRY(inv_step_new(t->ctx, &spec, step));
	return inv_batches_new(&rows, batches);
}

invar_status inv_trainer_build(inv_trainer *t)
{
	inv_train_plan *p = &t->plan;
	inv_clean_statistics *c = &p->statistics;
	const inv_source *from = p->source[0];

	if (!t->images) { /* held-out ones are drawn once; both lists keep their order */
		uint32_t rows = (uint32_t)from->rows, train = 0, held = p->images, *shuffled;
		inv_stream stream = inv_stream_of(t->o.seed, "validation/images", 0);

		INV_TRY(inv_new_array(&t->images, rows));
		INV_TRY(inv_new_array(&shuffled, rows));
		inv_permutation(&stream, 0, shuffled, rows);
		for (uint32_t i = 0; i < rows; i++)
			t->images[shuffled[i] >= p->held_out ? train++ : held++] = i;
		inv_free(shuffled);
	}
	if (t->o.scaled) { /* also for held-out images, in the frame of the training images */
		INV_TRY(inv_clean_statistics_of(from->bank, from->stored, t->images, p->images, c));
		INV_TRY(inv_new_array(&t->origin, from->dim));
		for (size_t l = 0; l < from->dim; l++)
			t->origin[l] = (float)(c->mean[l] / c->sigma);
	}
	if (p->loss) {
		INV_TRY(open_steps(t, true, &t->step, &t->batches));
		if (p->held_out)
			INV_TRY(open_steps(t, false, &t->judge, &t->held_out));
		t->params = t->step->params;
		t->floats = t->step->floats;
		if (p->held_out && strcmp(t->o.keep, "best") == 0)
			INV_TRY(inv_new_zeros(&t->best, t->floats));
	} else {
		t->floats = inv_mlp_floats(p->shape);
		INV_TRY(inv_new_array(&t->params, t->floats));
	}
	inv_mlp_init(p->shape, t->o.seed, p->residual || p->closed, t->params);
	if (p->decoder.h)
		inv_decoder_init(p->decoder, t->o.seed, t->params + inv_mlp_floats(p->shape));
	t->at = (inv_progress_state){.best = INFINITY};
	return INVAR_OK;
}

/*
 * Measures the norms of the rows, which must exist. If the option unit is not known, it
 * becomes true where all of them are 1: in the options as well, so that it is recorded and
 * resumed with its value. A decoder is trained on codes that are not normalised.
 */
static invar_status settle_unit(inv_trainer *t)
{
	inv_train_plan *p = &t->plan;

	p->norms = (inv_row_norms){0};
	for (uint32_t g = 0; g < p->sources; g++)
		INV_TRY(inv_source_norms(p->source[g], p->loss ? p->s : p->source[g]->copies,
		                         &p->norms));
	if (!t->o.unit_known && inv_row_norms_are_one(&p->norms) && !t->o.decoder) {
		inv_log(t->ctx, INVAR_LOG_INFO,
		        "all rows of %s have norm 1: E normalises features and codes (@unit)",
		        p->source[0]->split);
		INV_TRY(invar_options_set(t->options, "unit", "true"));
		inv_train_read(t->options, &t->o); /* whose texts are views of the options */
		t->o.batch = p->loss ? p->batch : t->o.batch;
	}
	t->o.unit_known = true;
	for (uint32_t g = 0; g < p->sources && t->o.unit; g++)
		inv_source_normalise(p->source[g]);
	return INVAR_OK;
}

/* Settles the options; the batch size becomes the one that is used. */
invar_status inv_trainer_check_options(inv_trainer *t)
{
	bool known = t->o.unit_known; /* of a run that is resumed */

	inv_train_read(t->options, &t->o);
	t->o.unit_known = t->o.unit_known || known;
	INV_TRY(inv_train_check(&t->o, t->source, t->sources, &t->plan));
	t->o.batch = t->plan.loss ? t->plan.batch : t->o.batch;
	return inv_source_is_encoded(t->source[0]) ? INVAR_OK : settle_unit(t);
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

/* ---- From the first step to E ------------------------------------------------------ */

invar_status inv_trainer_decide(const inv_trainer *t, bool *decision)
{
	return inv_broadcast(t->ctx, decision, sizeof *decision);
}

invar_status inv_trainer_fit(inv_trainer *t)
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
	invar_status st;

	/* A checkpoint already contains the closed form; without one it is fitted again. */
	if (t->plan.closed && !t->at.t) {
		st = inv_closed_form_fit(t->plan.closed, &spec, &c);
		if (st == INVAR_E_CANCELLED)
			return inv_trainer_interrupted(t);
		INV_TRY(st);
		if (t->o.scaled)
			inv_scaled_closed_form(&t->plan.statistics, &c);
		inv_closed_form_export(&c, t->plan.shape, t->plan.residual, t->params);
		inv_trainer_announce_closed(t);
		if (t->run) {
			json_object_set(t->run->json, "closed", c.about);
			st = inv_run_save(t->run);
		}
		inv_closed_form_clear(&c);
		INV_TRY(st);
	}
	t->epoch_started = t->saved_at = inv_wall_seconds();
	return t->step ? inv_trainer_run_epochs(t) : INVAR_OK;
}

/*
 * Spread and strength come after training, so that checkpoints hold E itself: first the
 * spread, then the strength, which moves features along the line to their final codes.
 */
invar_status inv_trainer_form(const inv_trainer *t, inv_mlp_form *out, json_t **about)
{
	const inv_train_plan *p = &t->plan;
	const inv_spread_spec spread = {.options = t->options,
	                                .source = p->source,
	                                .sources = p->sources,
	                                .images = t->images,
	                                .image_count = p->images};
	double strength = inv_option_number(t->options, "strength");
	size_t floats = inv_mlp_floats(p->shape);
	inv_mlp_form moved;
	invar_status st;

	*about = NULL;
	*out = (inv_mlp_form){.s = p->shape, .residual = p->residual};
	INV_TRY(inv_new_array(&out->params, floats));
	memcpy(out->params, t->best ? t->best : t->params, floats * sizeof *out->params);
	if (t->o.scaled)
		inv_scaled_fold(&p->statistics, p->shape, true, out->params);
	INV_TRY_OR(fail, inv_trainer_check_weights(t, out->params, floats));
	if (inv_spread_wanted(t->options)) {
		INV_TRY_OR(fail, inv_spread_apply(&spread, out, &moved, about));
		inv_free(out->params);
		*out = moved;
	}
	if (strength != 1) {
		INV_TRY_OR(fail, inv_compose_strength(t->ctx, out, strength, &moved));
		inv_free(out->params);
		*out = moved;
	}
	return INVAR_OK;
fail:
	json_decref(*about);
	*about = NULL;
	inv_free(out->params);
	*out = (inv_mlp_form){.params = NULL};
	return st;
}

/* ---- A run's folder ------------------------------------------------------------------- */

/* What a checkpoint has no part of: the decoder for features as they are, then E. */
static invar_status save_run(inv_trainer *t)
{
	const inv_train_plan *p = &t->plan;
	inv_mlp_form e, d = {.s = p->decoder};
	json_t *about;
	invar_status st;

	inv_trainer_announce_best(t);
	if (p->decoder.h && t->run) {
		size_t floats = inv_mlp_floats(d.s);

		INV_TRY(inv_new_array(&d.params, floats));
		memcpy(d.params, (t->best ? t->best : t->params) + t->step->adapter_floats,
		       floats * sizeof *d.params);
		if (t->o.scaled)
			inv_scaled_fold(&p->statistics, d.s, false, d.params);
		st = inv_trainer_check_weights(t, d.params, floats);
		if (st == INVAR_OK)
			st = inv_decoder_save(t->run->decoder_path, &d, &t->o, p);
		inv_free(d.params);
		INV_TRY(st);
	}
	if ((st = inv_trainer_form(t, &e, &about)) == INVAR_E_CANCELLED)
		return inv_trainer_interrupted(t);
	INV_TRY(st);
	if (t->run && about)
		json_object_set(t->run->json, "spread", about);
	if (t->run)
		st = inv_adapter_save(t->run->adapter_path, &e, &t->o, p);
	json_decref(about);
	inv_free(e.params);
	return st;
}

/* What run.json says, to all ranks. */
static invar_status resume_run(inv_trainer *t, const char *path)
{
	char *text = t->run ? inv_json_text(t->run->json, 0) : NULL;
	json_t *run = NULL, *saved;
	invar_status st;

	if (t->run)
		inv_run_compare_version(t->ctx, t->run);
	INV_TRY_OR(done, inv_broadcast_text(t->ctx, &text));
	if (!text || !(run = json_loads(text, 0, NULL)))
		INV_TRY_OR(done, inv_no_memory());
	saved = json_object_get(run, "options");
	if (!json_object_get(saved, "preset"))
		INV_TRY_OR(done, invar_options_set(t->options, "preset", INV_FIRST_PRESET));
	INV_TRY_OR(done, inv_options_resume(t->options, saved, path, false));
	/* A run of an earlier version that has seen its rows is not normalised. */
	t->o.unit_known = json_object_get(saved, "unit") || json_object_get(run, "inputs");
	st = inv_trainer_check_options(t);
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

/*
 * Encoded rows are written to the run's folder, so its run.json must be the first file
 * there. Unreadable images have no row, so the options are checked again.
 */
static invar_status prepare_images(inv_trainer *t)
{
	char *called = inv_join(t->run->path, INV_RUN_CLEAN);
	invar_status st;

	INV_TRY(inv_check_memory(called, strlen(t->run->path) + sizeof INV_RUN_CLEAN + 1));
	if (!t->o.resume) {
		INV_TRY_OR(done, inv_run_begin(t->run, &t->plan, &t->o));
		t->begun = true;
	}
	INV_TRY_OR(done,
	           inv_source_prepare(t->source[0], t->o.seed, t->run->clean_path, called));
	INV_TRY_OR(done, inv_train_check(&t->o, t->source, t->sources, &t->plan));
	st = settle_unit(t);
done:
	inv_free(called);
	return st == INVAR_E_CANCELLED ? inv_trainer_interrupted(t) : st;
}

/* Everything up to a complete run.json, which is kept from here on. */
static invar_status prepare_run(inv_trainer *t, const char *path)
{
	const char *note;

	INV_TRY(open_run(t, path));
	if (inv_source_is_encoded(t->source[0]))
		INV_TRY(prepare_images(t));
	/* Ranks that read other rows would silently train something else. */
	for (uint32_t g = 0; g < t->plan.sources; g++) {
		const inv_source *from = t->plan.source[g];

		if (!from->unlimited && !from->bank->in_memory)
			INV_TRY(inv_bank_agree(t->ctx, from->stored, from->copies));
	}
	INV_TRY(inv_trainer_build(t));
	if (!t->run)
		return INVAR_OK;
	note = inv_augment_corner_note(invar_bank_field(t->source[0]->bank, "augment"));
	if (note && !inv_option_flag(t->options, "resume"))
		inv_log(t->ctx, INVAR_LOG_INFO, "%s", note);
	if (inv_options_record(t->options, "trial"))
		json_object_set(t->run->json, "trial", inv_options_record(t->options, "trial"));
	INV_TRY(inv_run_describe(t->run, &t->plan, &t->o));
	t->begun = true;
	return INVAR_OK;
}

/* Loads the checkpoint of a run that is resumed, if there is one, on all ranks. */
static invar_status restore(inv_trainer *t)
{
	bool resumed = t->step && t->o.resume;
	uint64_t steps = t->step ? inv_batches_steps(t->batches) : 0;

	if (t->run && resumed && inv_exists(t->run->checkpoint_path))
		INV_TRY(inv_checkpoint_load(t->run->checkpoint_path, t->step, t->best, &t->at));
	if (t->run && t->step &&
	    (t->at.epoch > t->o.epochs || t->at.step >= steps ||
	     t->at.t != t->at.epoch * steps + t->at.step))
		return inv_fail(INVAR_E_FORMAT,
		                "%s: its epoch %" PRIu64 ", step %" PRIu64 " and %" PRIu64
		                " steps done do not belong to this run",
		                t->run->checkpoint_path, t->at.epoch, t->at.step, t->at.t);
	if (resumed) {
		size_t bytes = t->floats * sizeof(float);

		INV_TRY(inv_broadcast(t->ctx, &t->at, sizeof t->at));
		INV_TRY(inv_broadcast(t->ctx, &t->step->t, sizeof t->step->t));
		INV_TRY(inv_broadcast(t->ctx, t->step->params, bytes));
		INV_TRY(inv_broadcast(t->ctx, t->step->m, bytes));
		INV_TRY(inv_broadcast(t->ctx, t->step->v, bytes));
		if (t->best)
			INV_TRY(inv_broadcast(t->ctx, t->best, bytes));
	}
	if (t->run && resumed)
		inv_trainer_announce_resume(t);
	return t->run ? inv_run_open_log(t->run, t->at.epoch) : INVAR_OK;
}

/*
 * Saves run.json with this state. Times add up over all the programs that worked on a run.
 * Of a run that has not finished, the other ranks may be gone.
 */
static invar_status finish_run(const inv_trainer *t, const char *state)
{
	const invar_context *all = strcmp(state, "finished") == 0 ? t->ctx : NULL;
	double peak_mb, cpu_seconds, wall_seconds = inv_wall_seconds() - t->wall_start;
	json_t *json = t->run ? t->run->json : NULL;

	INV_TRY(inv_context_usage(all, &peak_mb, &cpu_seconds));
	if (!t->run)
		return INVAR_OK;
	wall_seconds += json_number_value(json_object_get(json, "wall_seconds"));
	cpu_seconds += json_number_value(json_object_get(json, "cpu_seconds")) - t->cpu_start;
	json_object_set_new(json, "wall_seconds", json_real(wall_seconds));
	json_object_set_new(json, "cpu_seconds", json_real(cpu_seconds));
	json_object_set_new(json, "peak_memory_mb", json_integer((json_int_t)peak_mb));
	if (inv_process_count(t->ctx) > 1)
		json_object_set_new(json, "ranks",
		                    json_integer((json_int_t)inv_process_count(t->ctx)));
	json_object_set_new(json, "steps", json_integer((json_int_t)t->at.t));
	json_object_set_new(json, "state", json_string(state));
	return inv_run_save(t->run);
}

invar_status inv_trainer_interrupted(inv_trainer *t)
{
	if (!t->run)
		return inv_fail(INVAR_E_CANCELLED,
		                "interrupted; a training in memory cannot be resumed");
	INV_TRY(finish_run(t, "interrupted"));
	return inv_fail(INVAR_E_CANCELLED, "interrupted; %s can be resumed with @resume",
	                t->run->path);
}

/* Runs the training and frees it. */
static invar_status train_run(inv_trainer *t, const invar_options *o, const char *path)
{
	invar_status st;

	INV_TRY_OR(done, inv_options_pick(o, inv_train_declare_method, &t->options));
	t->ctx = t->source[0]->ctx;
	INV_TRY_OR(failed, prepare_run(t, path));
	INV_TRY_OR(failed, restore(t));
	if (t->step) {
		inv_trainer_announce_steps(t);
		if (inv_process_count(t->ctx) == 1) /* several stop between two steps only */
			t->step->total = inv_batches_steps(t->batches) * t->o.epochs;
	}
	INV_TRY_OR(failed, inv_trainer_fit(t));
	INV_TRY_OR(failed, save_run(t));
	INV_TRY_OR(done, finish_run(t, "finished"));
	if (t->run)
		st = inv_run_publish(t->run);
	goto done;
failed:
	/* The message is saved in run.json; the checkpoint is unchanged. */
	if (st != INVAR_E_CANCELLED && t->begun) {
		char message[1024];

		snprintf(message, sizeof message, "%s", invar_last_error());
		json_object_set_new(t->run->json, "error", json_string(message));
		finish_run(t, "failed");
		inv_fail(st, "%s", message);
	}
done:
	inv_trainer_clear(t);
	return st;
}

/* ---- Trainings on banks and on images ------------------------------------------------- */

invar_status inv_trainer_check_trial(const invar_options *o)
{
	if (inv_option_number(o, "keep-structure") <= 0 || inv_options_record(o, "trial"))
		return INVAR_OK;
	return inv_fail(INVAR_E_USE, "@keep-structure is found in the trial, so @trial "
	                             "cannot be false; leave one of them out");
}

invar_status invar_train(invar_bank *const *banks, size_t count, const invar_options *o,
                         const char *run)
{
	inv_trainer t = inv_trainer_begin("train");
	invar_status st;

	if (!count || count > INV_MAX_SOURCES)
		return inv_fail(INVAR_E_USE, "a training takes 1 to %d banks, not %zu",
		                INV_MAX_SOURCES, count);
	INV_TRY(inv_options_expect(o, "train"));
	INV_TRY(inv_options_check_parts(o));
	for (size_t i = 0; i < count; i++)
		INV_TRY(inv_class_view_check(banks[i], o));
	if (!inv_option_flag(o, "resume"))
		INV_TRY(inv_trainer_check_trial(o));
	for (; t.sources < count; t.sources++)
		INV_TRY_OR(fail, inv_bank_source_open(banks[t.sources], &t.source[t.sources]));
	return train_run(&t, o, run);
fail:
	inv_trainer_clear(&t);
	return st;
}

/* Copies are made while rank 0 trains, which it does alone. */
invar_status invar_train_images(invar_encoder *e, const invar_dataset *d,
                                const invar_options *o, const char *run)
{
	inv_trainer t = inv_trainer_begin("train");
	inv_processes *processes = d->ctx->processes;
	bool dial, trial;
	invar_status st;

	if (inv_process_rank(d->ctx))
		return INVAR_OK;
	INV_TRY(inv_options_expect(o, "train"));
	if (inv_process_count(d->ctx) > 1)
		inv_log(d->ctx, INVAR_LOG_WARNING,
		        "rank 0 trains alone: copies are made while it trains");
	dial = inv_option_number(o, "keep-structure") > 0;
	trial = inv_option_flag(o, "trial");
	if (dial || (trial && inv_option_is_set(o, "trial")))
		return inv_fail(INVAR_E_USE, "@%s needs a bank with copies, not @data",
		                dial ? "keep-structure" : "trial");

	inv_context_share(d->ctx, NULL);
	INV_TRY_OR(done, inv_image_source_open(e, d, o, &t.source[0]));
	t.sources = 1;
	INV_TRY_OR(done, train_run(&t, o, run));
	if (trial && !inv_option_flag(o, "resume"))
		inv_log(d->ctx, INVAR_LOG_INFO,
		        "no trial was made: it needs a bank with copies, not @data");
done:
	inv_context_share(d->ctx, processes);
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
	invar_status st;
	const json_t *images;

	INV_TRY(inv_options_expect(o, "train"));
	INV_TRY(inv_run_open(run, INV_RUN_RESUME, &r));
	images = json_object_get(r->json, "images");
	st = json_is_object(images)
	         ? inv_options_resume(o, json_object_get(images, "options"), run, true)
	         : inv_fail(INVAR_E_MISMATCH,
	                    "%s: was started on a bank, so it cannot be resumed with images",
	                    r->path);
	inv_run_close(r);
	return st;
}
