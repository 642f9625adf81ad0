/* SPDX-License-Identifier: Apache-2.0 */
/* convnet_steps.h - a described network: convnet.c builds it, convnet_plan.c runs it. */
#ifndef INV_CONVNET_STEPS_H
#define INV_CONVNET_STEPS_H

#include "encoders/convnet.h"

enum { INV_MAX_STEPS = 2048 }; /* ResNet-1202 has 1203 */

typedef struct inv_step {
	size_t from, to, channel;
	inv_window window;
	size_t channels, outputs;
	bool add, relu;
	float *weights, *bias; /* NULL: the largest of each window */
} inv_step;

struct inv_convnet {
	const char *family;
	inv_parameters *parameters; /* while it is described */
	double eps;                 /* of batch norms */
	invar_status status;
	size_t step_count, value_count, last;
	inv_step steps[INV_MAX_STEPS];
	size_t channels[INV_MAX_STEPS + 1]; /* of values */
};

#endif
