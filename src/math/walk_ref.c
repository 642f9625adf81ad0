/* SPDX-License-Identifier: Apache-2.0 */
/* walk_ref.c - a sparse product with eight vectors at once, in plain C. */
#include "math/kernels.h"

enum { LANES = INV_WALK_LANES };

static void walk_step_ref(const inv_walk_step *s, const double *x, double *y)
{
	for (size_t i = 0; i < s->n; i++) {
		double sum[LANES] = {0};

		for (size_t e = s->start[i]; e < s->start[i + 1]; e++)
			for (size_t l = 0; l < LANES; l++)
				sum[l] += (s->weight ? s->weight[e] : 1) * x[s->to[e] * LANES + l];
		for (size_t l = 0; l < LANES; l++) {
			size_t at = i * LANES + l;
			double now = s->scale * (s->inverse[i] * sum[l] - s->centre * x[at]);

			y[at] = s->minus != 0 ? now - s->minus * y[at] : now;
		}
	}
}

void inv_kernels_walk_ref(struct inv_kernels *k)
{
	k->walk_step = walk_step_ref;
}
