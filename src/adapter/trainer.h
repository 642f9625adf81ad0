/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trainer.h - the state of a training, shared by its parts.
 *
 * trainer.c sets it up, in a run's folder or in memory, and finishes it; train_epochs.c has
 * the steps; train_messages.c the messages; train_in_memory.c is what the trial trains.
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
	inv_source *source[INV_MAX_SOURCES]; /* ours */
	size_t sources;
	invar_options *options;
	inv_train_settings o; /* the values of options, read once */
	inv_train_plan plan;
	inv_run *run;     /* NULL: in memory, or rank 0 writes it */
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
	double validation; /* of the last epoch; NaN without */
	inv_run_start start;
	double epoch_started, saved; /* clock readings */
} inv_trainer;

/* Reads t->options and checks them with the sources, whose rows it normalises if wanted. */
invar_status inv_trainer_check_options(inv_trainer *t);
/* Draws held-out images unless t->images is given; makes what the steps need. */
invar_status inv_trainer_build(inv_trainer *t);
/* The closed form that E starts with becomes t->params; gives what run.json says of it. */
invar_status inv_trainer_fit_closed(inv_trainer *t, json_t **about);
/*
 * E with the spread and the strength of the options; gives out->params, NULL if E stays as
 * it is, and what run.json says of the spread.
 */
invar_status inv_trainer_complete(const inv_trainer *t, const inv_mlp_form *e,
                                  inv_mlp_form *out, json_t **about);
/* One step at this rate; counts it. */
invar_status inv_trainer_step(inv_trainer *t, double lr);
/* Frees all but t itself. */
void inv_trainer_clear(inv_trainer *t);

/* All remaining epochs, with log and checkpoints. */
invar_status inv_trainer_run_epochs(inv_trainer *t);
/* Weights that are not finite are never written, so saved files stay valid. */
invar_status inv_trainer_check_weights(const inv_trainer *t, const float *params);
/* Fails with INVAR_E_CANCELLED, once run.json, if there is one, says so. */
invar_status inv_trainer_interrupted(inv_trainer *t);

/* For the log. */
void inv_trainer_announce_preset(const inv_trainer *t);
void inv_trainer_announce_steps(const inv_trainer *t);
void inv_trainer_announce_closed(const inv_trainer *t);
void inv_trainer_announce_resume(const inv_trainer *t);
/* Which epoch is kept, also for run.json. */
void inv_trainer_announce_best(const inv_trainer *t);

#endif
