/* SPDX-License-Identifier: Apache-2.0 */
/* train_options.h - the settings that result from the options of a training and its
 * sources. */
#ifndef INV_TRAIN_OPTIONS_H
#define INV_TRAIN_OPTIONS_H

#include "adapter/losses/loss.h"
#include "bank/clean_statistics.h"
#include "bank/row_norms.h"
#include "base/options.h"
#include "encode/batches.h"
#include "nn/mlp.h"

/* The options of training itself, read once; a loss and a closed form read their own. */
typedef struct inv_train_settings {
	const invar_options *options;
	const char *preset, *loss, *init, *split, *keep;
	uint64_t epochs, batch, samples, copies, hidden, width, seed;
	bool residual; /* true if scaled */
	bool scaled, no_identity, decoder, resume, force;
	bool unit, unit_known; /* unknown: it depends on the norms of the rows */
	double lr, lr_min, weight_decay, validation, checkpoint_seconds;
	double alpha, beta; /* weights beside a decoder */
} inv_train_settings;

/* All options of invar_train and invar_train_images; those of the method alone. */
invar_status inv_train_declare(invar_options *o);
invar_status inv_train_declare_method(invar_options *o);
/* Texts are views of o. */
void inv_train_read(const invar_options *o, inv_train_settings *out);

typedef struct inv_train_plan {
	inv_source *source[INV_MAX_SOURCES]; /* with the requested split */
	uint32_t sources;
	const inv_loss *loss;                      /* NULL: --loss none */
	const struct inv_closed_form_kind *closed; /* where E starts; NULL: at random */
	inv_mlp_shape shape;
	bool residual;         /* as requested, or as the closed form requires */
	inv_mlp_shape decoder; /* h = 0: none */
	uint32_t s;            /* copies per step, image and source */
	uint32_t images;       /* for training */
	uint32_t held_out;     /* for validation */
	uint64_t batch;        /* images per batch as requested, or the loss's default */
	uint32_t N;            /* images per batch */
	uint32_t held_out_N;   /* images per validation batch */
	inv_row_norms norms;   /* of rows and copies, as they are in the sources */
	/* Of the clean training rows; without a mean if they are not needed. */
	inv_clean_statistics statistics;
} inv_train_plan;

/*
 * Checks the options and the sources against each other, with one message per rule.
 * Selects the split and the copies of the sources.
 */
invar_status inv_train_check(const inv_train_settings *o, inv_source *const *sources,
                             size_t count, inv_train_plan *out);

/* Would invar_train accept these options for features of d numbers? What depends on the
 * rows and copies of a bank is not checked. */
invar_status inv_train_check_options(const invar_options *o, uint32_t d);

#endif
