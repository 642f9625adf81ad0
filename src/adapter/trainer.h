/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trainer.h - the state of a training.
 *
 * trainer.c sets it up and finishes it in a run's folder; train_in_memory.c has trainings
 * without one; train_epochs.c has the steps and train_messages.c the messages.
 *
 * All randomness is keyed by (seed, epoch, image), so the state between two steps is the
 * weights, the moments, three counters and the sums of the epoch so far. A checkpoint holds
 * exactly that, which makes a resumed run the same run, byte for byte.
 */
#ifndef INV_TRAINER_H
#define INV_TRAINER_H

#include "adapter/checkpoint.h"
#include "adapter/compose.h"
#include "adapter/provenance.h"
#include "adapter/step.h"
#include "adapter/train_options.h"
#include "encode/batches.h"
#include "run/run.h"

typedef struct inv_trainer {
	const invar_context *ctx;
	const char *title;                   /* of its progress */
	inv_source *source[INV_MAX_SOURCES]; /* ours */
	size_t sources;
	invar_options *options;
	inv_train_settings o; /* the values of options, read once */
	inv_train_plan plan;
	inv_run *run;     /* NULL: in memory, or another process writes it */
	bool begun;       /* run.json is ours */
	uint32_t *images; /* the training rows, then the held-out rows */
	float *origin;    /* mean / sigma, if the training is scaled; see loss.h */
	float *params;    /* the current E, then D; the step's, or ours without steps */
	size_t floats;    /* of params */
	inv_step *step;   /* NULL with --loss none */
	inv_step *judge;  /* measures the held-out images; NULL without them */
	inv_batches *batches, *held_out;
	float *best; /* parameters; NULL unless --keep best */
	inv_progress_state at;
	double validation;             /* of the last epoch; NaN without */
	double wall_start, cpu_start;  /* clock readings when it began */
	double epoch_started, saved_at; /* of the wall clock */
} inv_trainer;

inv_trainer inv_trainer_begin(const char *title);
/* Reads t->options and checks them with the sources, whose rows it normalises if wanted. */
invar_status inv_trainer_check_options(inv_trainer *t);
/* Draws held-out images unless t->images is given; makes what the steps need. */
invar_status inv_trainer_build(inv_trainer *t);
/*
 * From the first step, or the checkpoint, to the last: the closed form that E starts with,
 * then all remaining epochs.
 */
invar_status inv_trainer_fit(inv_trainer *t);
/*
 * E for features as they are, with the spread and the strength of the options. Gives
 * out->params, and what run.json says of the spread, NULL: nothing.
 */
invar_status inv_trainer_form(const inv_trainer *t, inv_mlp_form *out, json_t **about);
/* Frees all but t itself. */
void inv_trainer_clear(inv_trainer *t);

/* All remaining epochs, with log and checkpoints. */
invar_status inv_trainer_run_epochs(inv_trainer *t);
/* Weights that are not finite are never written, so saved files stay valid. */
invar_status inv_trainer_check_weights(const inv_trainer *t, const float *params,
                                       size_t count);
/* Fails with INVAR_E_CANCELLED, once run.json, if there is one, says so. */
invar_status inv_trainer_interrupted(inv_trainer *t);
/* What depends on the clock or a signal is decided once for all who train together. */
invar_status inv_trainer_decide(const inv_trainer *t, bool *decision);

/* keep-structure needs a trial, which comes before a training; see invar_trial_settle. */
invar_status inv_trainer_check_trial(const invar_options *o);

/* For the log. */
void inv_trainer_announce_preset(const inv_trainer *t);
void inv_trainer_announce_steps(const inv_trainer *t);
void inv_trainer_announce_closed(const inv_trainer *t);
void inv_trainer_announce_resume(const inv_trainer *t);
/* Which epoch is kept, also for run.json. */
void inv_trainer_announce_best(const inv_trainer *t);

#endif
