/* SPDX-License-Identifier: Apache-2.0 */
/*
 * study_cost.h - how long stages take and how large their files are, before they run.
 *
 * A training is estimated from one measured step of its loss at its shapes, closed forms
 * from their number of multiplications and the measured speed of matrix products, and
 * measurements by the library (inv_eval_forecast). Expect a factor of two.
 */
#ifndef INV_STUDY_COST_H
#define INV_STUDY_COST_H

#include "study/study.h"

/* What is known about a bank, made or not. */
typedef struct inv_cost_rows {
	uint64_t train, test, all;    /* images: to train on, to measure, of all splits */
	uint64_t copies, test_copies; /* per image */
	uint64_t classes;
	bool views; /* of those to measure */
	uint32_t d; /* 0: unknown */
} inv_cost_rows;

typedef struct inv_cost {
	double seconds, bytes; /* NaN: unknown */
} inv_cost;

/* Multiplications and additions per second of matrix products; 0: unknown. */
double inv_cost_speed(invar_context *ctx);

/* With its trial, if there is one. */
inv_cost inv_cost_train(invar_context *ctx, const inv_cost_rows *rows, double speed,
                        const invar_options *train);
/* Of an adapter trained with these options; cached: it is not the first on its bank. */
inv_cost inv_cost_eval(invar_context *ctx, const inv_cost_rows *rows, double speed,
                       const invar_options *eval, const invar_options *train, bool cached);
inv_cost inv_cost_diagnose(invar_context *ctx, const inv_cost_rows *rows, double speed,
                           const invar_options *diagnose);

#endif
