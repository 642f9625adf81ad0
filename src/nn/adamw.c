/* SPDX-License-Identifier: Apache-2.0 */
/* adamw.c - the optimiser, once over the parameters, in whatever parts they come. */
#include "nn/adamw.h"

#include <math.h>

#include "base/threads.h"

enum { BLOCK = 1 << 16 };

typedef struct step_job {
	inv_adamw_update update;
	const float *grads;
	size_t count;
} step_job;

inv_adamw_update inv_adamw_begin(const struct inv_kernels *k, const inv_adamw *a, double lr,
                                 uint64_t t, float *params, float *m, float *v)
{
	double first = 1 - pow(a->beta1, (double)t), second = 1 - pow(a->beta2, (double)t);

	return (inv_adamw_update){.kernels = k,
	                          .rates = {.keep = (float)(1 - lr * a->weight_decay),
	                                    .beta1 = (float)a->beta1,
	                                    .beta2 = (float)a->beta2,
	                                    .rest1 = (float)(1 - a->beta1),
	                                    .rest2 = (float)(1 - a->beta2),
	                                    .step = (float)(lr / first),
	                                    .root = (float)sqrt(second),
	                                    .eps = (float)a->eps},
	                          .params = params,
	                          .m = m,
	                          .v = v};
}

void inv_adamw_take(void *update, const float *grads, size_t at, size_t count)
{
	const inv_adamw_update *u = update;

	u->kernels->adamw(&u->rates, grads, count, u->params + at, u->m + at, u->v + at);
}

static void adamw_block(void *user, size_t block, unsigned thread)
{
	step_job *j = user;
	size_t at = block * BLOCK;
	size_t count = j->count - at < BLOCK ? j->count - at : BLOCK;

	(void)thread;
	inv_adamw_take(&j->update, j->grads + at, at, count);
}

void inv_adamw_step(const invar_context *ctx, const struct inv_kernels *k,
                    const inv_adamw *a, double lr, uint64_t t, const float *grads,
                    size_t count, float *params, float *m, float *v)
{
	step_job j = {inv_adamw_begin(k, a, lr, t, params, m, v), grads, count};

	inv_parallel(ctx, inv_blocks(count, BLOCK), adamw_block, &j);
}

double inv_cosine_rate(double lr, double lr_min, uint64_t epoch, uint64_t epochs)
{
	return lr_min + (lr - lr_min) * (1 + cos(M_PI * (double)epoch / (double)epochs)) / 2;
}
