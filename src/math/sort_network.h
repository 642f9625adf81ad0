/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sort_network.h - the sorting network, written once for every instruction set.
 *
 * The keys of INV_SLICES directions are the lanes of a vector, so a step of the network is
 * a minimum and a maximum, without shuffling lanes. The network is bitonic with all
 * comparisons upwards; up to three of its stages are done on eight vectors in registers.
 */
#include <math.h>

#include "math/kernels.h"
#include "math/lanes.h"
#include "math/sort.h"

INLINE four keys_of(const double *keys, size_t row)
{
	return load4(keys + row * INV_SLICES);
}

INLINE void set_keys(double *keys, size_t row, four x)
{
	store4(keys + row * INV_SLICES, x);
}

INLINE void in_order(four *low, four *high)
{
	four smaller = min4(*low, *high);

	*high = max4(*low, *high);
	*low = smaller;
}

/* Batcher's network for eight. */
static void sort_eight(double *keys, size_t from)
{
	static const unsigned char pairs[19][2] = {
		{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2}, {1, 3}, {4, 6}, {5, 7}, {1, 2}, {5, 6},
		{0, 4}, {1, 5}, {2, 6}, {3, 7}, {2, 4}, {3, 5}, {1, 2}, {3, 4}, {5, 6}};
	four x[8];

#pragma GCC unroll 8
	for (size_t i = 0; i < 8; i++)
		x[i] = keys_of(keys, from + i);
#pragma GCC unroll 19
	for (size_t i = 0; i < 19; i++)
		in_order(&x[pairs[i][0]], &x[pairs[i][1]]);
#pragma GCC unroll 8
	for (size_t i = 0; i < 8; i++)
		set_keys(keys, from + i, x[i]);
}

/*
 * Two sorted runs of p become one bitonic sequence: its first stage compares i with
 * 2p - 1 - i, its second each half's i with i + p/2.
 */
static void fold(double *keys, size_t from, size_t p)
{
	size_t half = p / 2;

	for (size_t i = 0; i < half; i++) {
		size_t at[4] = {from + i, from + half + i, from + 3 * half - 1 - i,
		                from + 2 * p - 1 - i};
		four a = keys_of(keys, at[0]), b = keys_of(keys, at[1]);
		four c = keys_of(keys, at[2]), d = keys_of(keys, at[3]);

		in_order(&a, &d);
		in_order(&b, &c);
		in_order(&a, &b);
		in_order(&c, &d);
		set_keys(keys, at[0], a);
		set_keys(keys, at[1], b);
		set_keys(keys, at[2], c);
		set_keys(keys, at[3], d);
	}
}

/* Stages with strides 2k and k over rows [0, end). */
static void two_stages(double *keys, size_t end, size_t k)
{
	for (size_t from = 0; from < end; from += 4 * k)
		for (size_t i = from; i < from + k; i++) {
			four x[4];

#pragma GCC unroll 4
			for (size_t j = 0; j < 4; j++)
				x[j] = keys_of(keys, i + j * k);
			in_order(&x[0], &x[2]);
			in_order(&x[1], &x[3]);
			in_order(&x[0], &x[1]);
			in_order(&x[2], &x[3]);
#pragma GCC unroll 4
			for (size_t j = 0; j < 4; j++)
				set_keys(keys, i + j * k, x[j]);
		}
}

/* Stages with strides 4k, 2k and k. */
static void three_stages(double *keys, size_t end, size_t k)
{
	for (size_t from = 0; from < end; from += 8 * k)
		for (size_t i = from; i < from + k; i++) {
			four x[8];

#pragma GCC unroll 8
			for (size_t j = 0; j < 8; j++)
				x[j] = keys_of(keys, i + j * k);
#pragma GCC unroll 4
			for (size_t j = 0; j < 4; j++)
				in_order(&x[j], &x[j + 4]);
#pragma GCC unroll 2
			for (size_t j = 0; j < 8; j += 4) {
				in_order(&x[j], &x[j + 2]);
				in_order(&x[j + 1], &x[j + 3]);
				in_order(&x[j], &x[j + 1]);
				in_order(&x[j + 2], &x[j + 3]);
			}
#pragma GCC unroll 8
			for (size_t j = 0; j < 8; j++)
				set_keys(keys, i + j * k, x[j]);
		}
}

/* The stages of a merge that fold() leaves: strides p/4 down to 1, p >= 8. */
static void finish_merge(double *keys, size_t end, size_t p)
{
	unsigned stages = 0;
	size_t k = p / 4;

	for (size_t i = k; i; i /= 2)
		stages++;
	for (; stages % 3; stages -= 2, k /= 4)
		two_stages(keys, end, k / 2);
	for (; stages; stages -= 3, k /= 8)
		three_stages(keys, end, k / 4);
}

/* Padding is infinite and comes last, where upward comparisons leave it. */
static void sort_keys(double *keys, size_t n)
{
	size_t size = inv_sort_room(n);

	for (size_t r = n; r < size; r++)
		set_keys(keys, r, splat4(INFINITY));
	for (size_t from = 0; from < n; from += 8)
		sort_eight(keys, from);
	for (size_t p = 8; p < n; p *= 2) {
		size_t end = 0;

		for (size_t from = 0; from + p < n; from += 2 * p, end = from)
			fold(keys, from, p);
		finish_merge(keys, end, p);
	}
}
