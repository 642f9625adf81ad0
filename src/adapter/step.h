/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step.h - one training step: forward, loss, backward, AdamW.
 *
 * The object owns everything a step touches, sized once; running a step allocates nothing.
 *
 * If there is a decoder, its parameters, gradients and moments follow those of E in the
 * same vectors, and the clean rows are mapped to codes even if the loss does not use them.
 * The loss is then alpha R + beta L.
 */
#ifndef INV_STEP_H
#define INV_STEP_H

#include "adapter/decoder.h"
#include "adapter/losses/loss.h"
#include "nn/mlp_steps.h"

enum { INV_TERM_NAME = 24 };

typedef struct inv_step_spec {
	inv_mlp_shape shape;
	const inv_loss *loss;
	const invar_options *options; /* of the loss */
	size_t N, s;                  /* N: images of a batch */
	size_t groups;                /* augmentations; 0 counts as one */
	inv_loss_frame frame;         /* for losses that need it; origin is borrowed */
	inv_mlp_shape decoder;        /* h = 0: none */
	double alpha, beta; /* weights of the reconstruction and, beside it, of the loss */
	bool residual;
	bool update;          /* false: measure only, without gradients and moments */
	bool without_moments; /* gradients, but no steps */
	double weight_decay;
	uint64_t seed;
} inv_step_spec;

typedef struct inv_step {
	const invar_context *ctx;
	struct inv_kernels kernels;
	inv_step_spec spec;
	inv_mlp_block blocks[INV_MLP_BLOCKS];
	size_t floats;                 /* of each of the four vectors below */
	size_t adapter_floats;         /* E's part of them, at their beginning */
	float *params, *grads, *m, *v; /* up to date after inv_step_collect */
	size_t front;           /* rows of codes for the decoder only, not for the loss */
	size_t rows;            /* front + R: those that E maps to codes */
	float *codes, *d_codes; /* [rows, w] */
	float *inputs; /* [rows, d] of a batch and vicinal rows; NULL without those */
	inv_mlp_steps *mlp;
	inv_decoder *decoder; /* NULL: none */
	inv_loss_shape loss_shape;
	inv_loss_work loss_work;
	const inv_loss_draws *draws; /* set by invar_loss; NULL: by seed and step */
	const float *vicinal;        /* the same for vicinal rows */
	char terms[INV_VALUE_TERMS][INV_TERM_NAME];
	size_t term_count;
	uint64_t t;     /* steps done */
	uint64_t total; /* of the training; 0: a step cannot be stopped midway */
	inv_arena arena;
} inv_step;

/* Parameters are left for the caller to fill; the moments are zero. */
invar_status inv_step_new(const invar_context *ctx, const inv_step_spec *spec,
                          inv_step **out);
size_t inv_step_memory(const inv_step *p);

/* rows [(s+1) N, d] as inv_batches_next gives them. */
invar_status inv_step_run(inv_step *p, const float *rows, double lr, inv_loss_value *out);
/* Brings params, m and v up to date. */
invar_status inv_step_collect(inv_step *p);
/* The loss of a batch with `params`, which are not changed; key keys its draws. */
invar_status inv_step_measure(inv_step *p, const float *params, const float *rows,
                              uint64_t key, inv_loss_value *out);
/* Value and gradients at p->params, without a step: for `invar loss`. */
invar_status inv_step_gradients(inv_step *p, const float *rows, inv_loss_value *out);
void inv_step_free(inv_step *p);

#endif
