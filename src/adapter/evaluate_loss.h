/* SPDX-License-Identifier: Apache-2.0 */
/* evaluate_loss.h - a loss on given arrays: its input and its result. */
#ifndef INV_EVALUATE_LOSS_H
#define INV_EVALUATE_LOSS_H

#include "adapter/adapter.h"
#include "adapter/losses/loss.h"

typedef struct inv_loss_input {
	const invar_adapter *adapter;
	const float *clean; /* [images, dim] */
	const float *aug;   /* [groups, images, samples, dim]; NULL with samples 0 */
	uint64_t images;
	uint32_t dim;
	uint32_t samples;
	uint32_t groups;              /* augmentations, each with samples; 0 counts as 1 */
	const float *views;           /* SimCLR: [2 images, dim] instead of aug and clean */
	const invar_adapter *decoder; /* from codes to features; NULL: none */
	const inv_loss_draws *draws;  /* [groups]; NULL: drawn by the seed */
	const float *vicinal;         /* keep: [images, dim]; NULL: drawn by the seed */
	const float *origin;          /* keep: [dim]; NULL: zeros */
} inv_loss_input;

typedef struct inv_named_value {
	char *name;
	double value;
} inv_named_value;

typedef struct inv_named_array {
	char *name; /* "0_weight", "codes" */
	unsigned ndim;
	uint64_t shape[2];
	float *data;
} inv_named_array;

/* Free the contents with inv_loss_result_clear. */
typedef struct inv_loss_result {
	double value;
	size_t term_count, grad_count;
	inv_named_value *terms;
	inv_named_array *grads;
} inv_loss_result;

/* The options of "loss". */
invar_status inv_loss_options_declare(invar_options *o);
invar_status inv_loss_evaluate(const invar_context *ctx, const inv_loss_input *in,
                               const invar_options *o, inv_loss_result *out);
void inv_loss_result_clear(inv_loss_result *r);

#endif
