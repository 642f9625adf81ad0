/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk_neon.c - a sparse product with eight vectors at once, as in walk_avx2.c: the even
 * and the odd entries of a row have sums of their own.
 */
#include "math/kernels.h"

#include <arm_neon.h>

enum { LANES = INV_WALK_LANES, PARTS = LANES / 2 };

typedef struct lanes {
	float64x2_t part[PARTS];
} lanes;

static inline lanes load(const double *x, size_t row)
{
	lanes r;

#pragma GCC unroll 4
	for (size_t v = 0; v < PARTS; v++)
		r.part[v] = vld1q_f64(x + row * LANES + 2 * v);
	return r;
}

static inline void add_row(lanes *sum, const double *x, size_t row)
{
	lanes r = load(x, row);

#pragma GCC unroll 4
	for (size_t v = 0; v < PARTS; v++)
		sum->part[v] = vaddq_f64(sum->part[v], r.part[v]);
}

static inline void add_weighted(lanes *sum, double weight, const double *x, size_t row)
{
	lanes r = load(x, row);

#pragma GCC unroll 4
	for (size_t v = 0; v < PARTS; v++)
		sum->part[v] = vfmaq_n_f64(sum->part[v], r.part[v], weight);
}

static inline lanes zero(void)
{
	const float64x2_t none = vdupq_n_f64(0);

	return (lanes){{none, none, none, none}};
}

static lanes sum_row(const inv_walk_step *s, size_t i, const double *x)
{
	size_t e = s->start[i], end = s->start[i + 1];
	lanes a = zero(), b = zero();

	for (; e + 2 <= end; e += 2)
		if (s->weight) {
			add_weighted(&a, s->weight[e], x, s->to[e]);
			add_weighted(&b, s->weight[e + 1], x, s->to[e + 1]);
		} else {
			add_row(&a, x, s->to[e]);
			add_row(&b, x, s->to[e + 1]);
		}
	if (e < end && s->weight)
		add_weighted(&a, s->weight[e], x, s->to[e]);
	else if (e < end)
		add_row(&a, x, s->to[e]);
#pragma GCC unroll 4
	for (size_t v = 0; v < PARTS; v++)
		a.part[v] = vaddq_f64(a.part[v], b.part[v]);
	return a;
}

static void walk_step_neon(const inv_walk_step *s, const double *x, double *y)
{
	const double less = -s->scale * s->centre;

	for (size_t i = 0; i < s->n; i++) {
		const double more = s->scale * s->inverse[i];
		lanes sum = sum_row(s, i, x), own = load(x, i);

#pragma GCC unroll 4
		for (size_t v = 0; v < PARTS; v++) {
			double *to = y + i * LANES + 2 * v;
			float64x2_t now =
				vfmaq_n_f64(vmulq_n_f64(own.part[v], less), sum.part[v], more);

			if (s->minus != 0)
				now = vfmsq_n_f64(now, vld1q_f64(to), s->minus);
			vst1q_f64(to, now);
		}
	}
}

void inv_kernels_walk_neon(struct inv_kernels *k)
{
	k->walk_step = walk_step_neon;
}
