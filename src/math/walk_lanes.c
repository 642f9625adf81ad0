/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk_lanes.c - a sparse product with eight vectors at once, and attraction by eight
 * edges.
 *
 * An entry of the matrix loads one cache line: the eight numbers of a row. Two entries at a
 * time have sums of their own, as one addition takes as long as the loads of two entries.
 */
#include "math/kernels.h"
#include "math/lanes.h"

enum { HALF = INV_WALK_LANES / 2 };

typedef struct row {
	four low, high;
} row;

INLINE row load_row(const double *x, size_t i)
{
	return (row){load4(x + i * INV_WALK_LANES), load4(x + i * INV_WALK_LANES + HALF)};
}

INLINE row add_row(row sum, row x)
{
	return (row){add4(sum.low, x.low), add4(sum.high, x.high)};
}

INLINE row add_scaled(row sum, double scale, row x)
{
	const four by = splat4(scale);

	return (row){madd4(by, x.low, sum.low), madd4(by, x.high, sum.high)};
}

static row sum_row(const inv_walk_step *s, size_t i, const double *x)
{
	size_t e = s->start[i], end = s->start[i + 1];
	row a = {splat4(0), splat4(0)}, b = a;

	if (s->weight) {
		for (; e + 2 <= end; e += 2) {
			a = add_scaled(a, s->weight[e], load_row(x, s->to[e]));
			b = add_scaled(b, s->weight[e + 1], load_row(x, s->to[e + 1]));
		}
		if (e < end)
			a = add_scaled(a, s->weight[e], load_row(x, s->to[e]));
	} else {
		for (; e + 2 <= end; e += 2) {
			a = add_row(a, load_row(x, s->to[e]));
			b = add_row(b, load_row(x, s->to[e + 1]));
		}
		if (e < end)
			a = add_row(a, load_row(x, s->to[e]));
	}
	return add_row(a, b);
}

static void walk_step(const inv_walk_step *s, const double *x, double *y)
{
	const four less = splat4(-s->scale * s->centre);

	for (size_t i = 0; i < s->n; i++, y += INV_WALK_LANES) {
		const row sum = sum_row(s, i, x), own = load_row(x, i);
		row now = {mul4(less, own.low), mul4(less, own.high)};

		now = add_scaled(now, s->scale * s->inverse[i], sum);
		if (s->minus != 0)
			now = add_scaled(now, -s->minus, load_row(y, 0));
		store4(y, now.low);
		store4(y + HALF, now.high);
	}
}

/* Points lie as pairs (x, y), so an edge costs one load of 64 bits; a gather takes longer.
 */
static void attract(const float *y, size_t self, const uint32_t *index, const float *weight,
                    size_t count, float force[2])
{
	const vec x0 = splat(y[2 * self]), x1 = splat(y[2 * self + 1]);
	vec f0[PARTS] = {{0}}, f1[PARTS] = {{0}};

	for (size_t i = 0; i < count; i += INV_EDGES)
#pragma GCC unroll 2
		for (size_t v = 0; v < PARTS; v++, index += LANES, weight += LANES) {
			vec at0, at1, d0, d1, w;

			load_twos(y, 2, (const int32_t *)index, &at0, &at1);
			d0 = x0 - at0, d1 = x1 - at1;
			w = load(weight) / (1.0f + madd(d0, d0, d1 * d1));
			f0[v] = madd(w, d0, f0[v]);
			f1[v] = madd(w, d1, f1[v]);
		}
	force[0] = sum_eight(f0);
	force[1] = sum_eight(f1);
}

void INV_OF_SET(inv_kernels_walk)(struct inv_kernels *k)
{
	k->walk_step = walk_step;
	k->attract = attract;
}
