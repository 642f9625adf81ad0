/* SPDX-License-Identifier: Apache-2.0 */
/* sliced_ref.c - the kernels of sliced distances in plain C. */
#include "math/sliced.h"

#include <math.h>
#include <string.h>

static float value_of(const inv_side *s, size_t r, size_t column)
{
	float a = s->a[s->rows_a[r] * s->stride_a + column];

	return s->b ? a + s->b[s->rows_b[r] * s->stride_b + column] : a;
}

static void join_keys_ref(const inv_side *s, size_t column, double *keys)
{
	for (size_t r = 0; r < s->M; r++)
		for (size_t l = 0; l < INV_SLICES; l++)
			keys[r * INV_SLICES + l] = inv_key(value_of(s, r, column + l), (uint32_t)r);
}

/* Sinks the key at `at` in a heap of n keys with stride INV_SLICES. */
static void sink(double *keys, size_t at, size_t n)
{
	double key = keys[at * INV_SLICES];

	for (size_t child; (child = 2 * at + 1) < n; at = child) {
		if (child + 1 < n && keys[(child + 1) * INV_SLICES] > keys[child * INV_SLICES])
			child++;
		if (!(keys[child * INV_SLICES] > key))
			break;
		keys[at * INV_SLICES] = keys[child * INV_SLICES];
	}
	keys[at * INV_SLICES] = key;
}

static void heap_sort(double *keys, size_t n)
{
	for (size_t i = n / 2; i-- > 0;)
		sink(keys, i, n);
	for (size_t end = n; end-- > 1;) {
		double largest = keys[0];

		keys[0] = keys[end * INV_SLICES];
		keys[end * INV_SLICES] = largest;
		sink(keys, 0, end);
	}
}

static void sort_keys_ref(double *keys, size_t n)
{
	for (size_t l = 0; l < INV_SLICES; l++)
		heap_sort(keys + l, n);
}

/* |gap|^p, and the slope sign(gap) |gap|^(p - 1) up to a factor. */
static double power_of(double gap, double p, float *slope)
{
	double size = fabs(gap), rest;

	if (p == 2) {
		*slope = (float)gap;
		return gap * gap;
	}
	rest = p == 1 ? size > 0 : pow(size, p - 1);
	*slope = (float)copysign(rest, gap);
	return size * rest;
}

void inv_compare_keys_power(const double *p, const double *q, size_t n, size_t repeat,
                            double power, double sums[INV_SLICES], float *u, float *v)
{
	for (size_t r = 0; r < n; r++)
		for (size_t l = 0; l < INV_SLICES; l++) {
			double a = p[r / repeat * INV_SLICES + l], b = q[r * INV_SLICES + l];
			float slope;

			sums[l] += power_of(inv_key_value(a) - inv_key_value(b), power, &slope);
			if (u)
				u[inv_key_row(a) * INV_SLICES + l] = slope;
			if (u)
				v[inv_key_row(b) * INV_SLICES + l] = slope;
		}
}

static void compare_keys_ref(const double *p, const double *q, size_t n, size_t repeat,
                             double sums[INV_SLICES], float *u, float *v)
{
	inv_compare_keys_power(p, q, n, repeat, 2, sums, u, v);
}

static void spread_ref(const float *u, const float *v, const uint32_t *back, size_t n,
                       float *out, size_t stride)
{
	for (size_t r = 0; r < n; r++)
		for (size_t l = 0; l < INV_SLICES; l++)
			out[r * stride + l] = u[r * INV_SLICES + l] - v[back[r] * INV_SLICES + l];
}

void inv_kernels_sliced_ref(struct inv_kernels *k)
{
	k->normal = inv_fill_normal;
	k->join_keys = join_keys_ref;
	k->sort_keys = sort_keys_ref;
	k->compare_keys = compare_keys_ref;
	k->spread = spread_ref;
}
