/* SPDX-License-Identifier: Apache-2.0 */
/*
 * classifier.h - training a classifier on rows and their labels, and predicting with it.
 *
 * LC is one linear layer, NC has one hidden ReLU layer, EC two. Trained as the
 * paper's: cross-entropy, Adam without decay, 1e-3 with a cosine down to 4e-4 updated once
 * per epoch, batches of 256 (all rows if there are fewer) in a new order every epoch, the
 * last incomplete one dropped, PyTorch's initialisation. Everything is drawn by the seed;
 * the same bits on any number of threads.
 *
 * These rates suit inputs of about unit spread: smaller ones leave a classifier close to
 * its initial values. With `standardise` training sees (x - mean) / spread, with one mean
 * vector and one number for the spread (the root mean square over all dimensions) of the
 * rows it is trained on, so that x and a x + b give the same classifier up to rounding. The
 * first layer is then rewritten to take x itself: predicting does not differ.
 */
#ifndef INV_CLASSIFIER_H
#define INV_CLASSIFIER_H

#include "nn/layers.h"

typedef struct inv_classifier_spec {
	size_t inputs, hidden, classes;
	size_t hidden_layers; /* 0, 1 or 2, each `hidden` wide */
	uint64_t epochs, seed;
	const char *stage; /* what progress is called */
	bool standardise;  /* the inputs; without, as published */
} inv_classifier_spec;

/*
 * Rows of a batch; and with fewer steps in all, a classifier of small features is still
 * close to its initial values.
 */
enum { INV_CLASSIFIER_BATCH = 256, INV_CLASSIFIER_FEW_STEPS = 250 };
uint64_t inv_classifier_steps(uint64_t rows); /* of an epoch */

inv_layers_shape inv_classifier_shape(const inv_classifier_spec *spec);
size_t inv_classifier_floats(const inv_classifier_spec *spec); /* of its parameters */

/* x [rows, inputs], labels below `classes`; params [inv_classifier_floats]. */
invar_status inv_classifier_train(const invar_context *ctx, const inv_classifier_spec *spec,
                                  const float *x, const uint32_t *labels, uint32_t rows,
                                  float *params);

/* The class of the largest logit of each row; of equal ones, the lower class. */
invar_status inv_classifier_predict(const invar_context *ctx,
                                    const inv_classifier_spec *spec, const float *params,
                                    const float *x, uint64_t rows, uint32_t *classes);

/*
 * The parts of training. A fit owns all memory that a step uses, sized once for batches of
 * N rows; a step allocates nothing.
 */
typedef struct inv_fit {
	const invar_context *ctx;
	struct inv_kernels kernels;
	inv_layers_shape shape;
	size_t N, floats;
	float *grads, *m, *v;     /* [floats], laid out as the parameters */
	float *logits, *d_logits; /* [N, classes] */
	double *row_loss;         /* [N] */
	uint64_t t;               /* steps done */
	inv_layers *pass;
	inv_arena arena;
} inv_fit;

invar_status inv_fit_new(const invar_context *ctx, const inv_classifier_spec *spec,
                         size_t N, inv_fit **out);
/* The loss of a batch, and its gradients in f->grads. */
invar_status inv_fit_gradients(inv_fit *f, const float *params, const float *x,
                               const uint32_t *labels, double *loss);
/* The same, each layer updated as soon as its gradient is known. */
invar_status inv_fit_step(inv_fit *f, float *params, const float *x, const uint32_t *labels,
                          double lr, double *loss);
void inv_fit_free(inv_fit *f);

#endif
