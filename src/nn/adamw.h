/* SPDX-License-Identifier: Apache-2.0 */
/* adamw.h - AdamW and the cosine schedule, with PyTorch's meaning of both. */
#ifndef INV_ADAMW_H
#define INV_ADAMW_H

#include "base/context.h"
#include "math/kernels.h"

typedef struct inv_adamw {
	double beta1, beta2, eps, weight_decay; /* 0.9, 0.999, 1e-8; 0 decay is plain Adam */
} inv_adamw;

/* Step t = 1, 2, … of `count` parameters, cut into blocks over the threads. */
void inv_adamw_step(const invar_context *ctx, const struct inv_kernels *k,
                    const inv_adamw *a, double lr, uint64_t t, const float *grads,
                    size_t count, float *params, float *m, float *v);

/* One step whose gradients come in parts. */
typedef struct inv_adamw_update {
	const struct inv_kernels *kernels;
	inv_adamw_rates rates;
	float *params, *m, *v;
} inv_adamw_update;

inv_adamw_update inv_adamw_begin(const struct inv_kernels *k, const inv_adamw *a, double lr,
                                 uint64_t t, float *params, float *m, float *v);
/* The parameters from `at` on; an inv_gradient_fn, its user being the update. */
void inv_adamw_take(void *update, const float *grads, size_t at, size_t count);

/* The rate of an epoch: lr_min + (lr - lr_min) (1 + cos(pi e / epochs)) / 2. */
double inv_cosine_rate(double lr, double lr_min, uint64_t epoch, uint64_t epochs);

#endif
