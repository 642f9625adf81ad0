/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sliced_lanes.c - joining, sorting and comparing the projections of four directions at a
 * time, whose keys are the lanes of `four`; see sort_network.h.
 */
#include <math.h>

#include "math/sliced.h"
#include "math/sort_network.h"

typedef int32_t quad_bits __attribute__((vector_size(16)));

/* A minimum may drop a NaN, so one makes its whole slice NaN. */
static void spoil_slices(quad faults, size_t n, double *keys)
{
	for (size_t r = 0; r < n; r++)
		set_keys(keys, r, or4(keys_of(keys, r), widen4(faults)));
}

/* Doubles that hold a float have 29 bits to spare; the row goes there. */
static void join_keys(const inv_side *s, size_t column, double *keys)
{
	const float *a = s->a + column, *b = s->b ? s->b + column : NULL;
	quad faults = {0}; /* NaN in lanes that are not finite throughout */
	bool fault = false;

	for (size_t r = 0; r < s->M; r++) {
		quad x = load_quad(a + s->rows_a[r] * s->stride_a);

		if (b)
			x += load_quad(b + s->rows_b[r] * s->stride_b);
		faults = (quad)((quad_bits)faults | (quad_bits)(x - x));
		set_keys(keys, r, or4(widen4(x), bits4(r)));
	}
	for (size_t l = 0; l < INV_SLICES; l++)
		fault |= isnan(faults[l]);
	if (fault)
		spoil_slices(faults, s->M, keys);
}

/* ---- Comparing ------------------------------------------------------------------ */

/* The float that a key was made from. */
INLINE four value_of(four key)
{
	return and4(key, bits4(~(uint64_t)INV_KEY_ROWS));
}

INLINE void scatter(const double *key, quad gap, float *out)
{
	float g[INV_SLICES];

	store_quad(g, gap);
#pragma GCC unroll 4
	for (size_t l = 0; l < INV_SLICES; l++)
		out[inv_key_row(key[l]) * INV_SLICES + l] = g[l];
}

static void compare_keys(const double *p, const double *q, size_t n, size_t repeat,
                         double sums[INV_SLICES], float *u, float *v)
{
	four sum = splat4(0);
	size_t left = repeat;

	for (size_t r = 0; r < n; r++, q += INV_SLICES) {
		four gap = sub4(value_of(load4(p)), value_of(load4(q)));

		sum = madd4(gap, gap, sum);
		if (u) {
			scatter(p, narrow4(gap), u);
			scatter(q, narrow4(gap), v);
		}
		if (!--left) {
			p += INV_SLICES;
			left = repeat;
		}
	}
	store4(sums, add4(load4(sums), sum));
}

static void spread(const float *u, const float *v, const uint32_t *back, size_t n,
                   float *out, size_t stride)
{
	for (size_t r = 0; r < n; r++)
		store_quad(out + r * stride,
		           load_quad(u + r * INV_SLICES) - load_quad(v + back[r] * INV_SLICES));
}

void INV_OF_SET(inv_kernels_sliced)(struct inv_kernels *k)
{
	k->join_keys = join_keys;
	k->sort_keys = sort_keys;
	k->compare_keys = compare_keys;
	k->spread = spread;
}
