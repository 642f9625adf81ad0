/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sliced_avx512.c - the sorting network with two rows of keys per vector.
 *
 * Rows follow each other, so a vector of two rows is compared with another one as one row
 * is: half the instructions. Only where rows are compared with their neighbours do the
 * halves of a vector have to be swapped. Stages are those of sort_network.h; a sort has
 * one result.
 */
#include <immintrin.h>
#include <math.h>

#include "math/sliced.h"
#include "math/sort.h"

enum { ROWS = 2, SWAP = 0x4e, UPPER = 0xf0 };

typedef __m512d lanes;

static inline lanes load(const double *keys, size_t row)
{
	return _mm512_loadu_pd(keys + row * INV_SLICES);
}

static inline void store(double *keys, size_t row, lanes x)
{
	_mm512_storeu_pd(keys + row * INV_SLICES, x);
}

static inline void in_order(lanes *low, lanes *high)
{
	lanes smaller = _mm512_min_pd(*low, *high);

	*high = _mm512_max_pd(*low, *high);
	*low = smaller;
}

/* The two rows of a vector in reverse. */
static inline lanes turned(lanes x)
{
	return _mm512_shuffle_f64x2(x, x, SWAP);
}

/* The two rows of a vector in order. */
static inline lanes sort_both(lanes x)
{
	lanes other = turned(x);

	return _mm512_mask_max_pd(_mm512_min_pd(x, other), UPPER, x, other);
}

/* Compares a row of the lower with one of the upper vector, from the outside in. */
static inline void fold_two(lanes *low, lanes *high)
{
	lanes back = turned(*high);

	in_order(low, &back);
	*high = turned(back);
}

/* Stages with strides 4, 2 and 1 over eight rows that lie in four vectors. */
static inline void last_stages(lanes x[4])
{
	in_order(&x[0], &x[2]);
	in_order(&x[1], &x[3]);
	in_order(&x[0], &x[1]);
	in_order(&x[2], &x[3]);
#pragma GCC unroll 4
	for (int i = 0; i < 4; i++)
		x[i] = sort_both(x[i]);
}

/* Batcher's network for eight, for two eights at once: one in each half of the vectors. */
static void sort_eights(double *keys, size_t from)
{
	static const unsigned char pairs[19][2] = {
		{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2}, {1, 3}, {4, 6}, {5, 7}, {1, 2}, {5, 6},
		{0, 4}, {1, 5}, {2, 6}, {3, 7}, {2, 4}, {3, 5}, {1, 2}, {3, 4}, {5, 6}};
	double *at = keys + from * INV_SLICES, *next = at + 8 * INV_SLICES;
	lanes x[8];

#pragma GCC unroll 8
	for (size_t i = 0; i < 8; i++)
		x[i] =
			_mm512_insertf64x4(_mm512_castpd256_pd512(_mm256_loadu_pd(at + i * INV_SLICES)),
		                       _mm256_loadu_pd(next + i * INV_SLICES), 1);
#pragma GCC unroll 19
	for (size_t i = 0; i < 19; i++)
		in_order(&x[pairs[i][0]], &x[pairs[i][1]]);
#pragma GCC unroll 8
	for (size_t i = 0; i < 8; i++) {
		_mm256_storeu_pd(at + i * INV_SLICES, _mm512_castpd512_pd256(x[i]));
		_mm256_storeu_pd(next + i * INV_SLICES, _mm512_extractf64x4_pd(x[i], 1));
	}
}

static void fold(double *keys, size_t from, size_t p)
{
	size_t half = p / 2;

	for (size_t i = 0; i < half; i += ROWS) {
		size_t at[4] = {from + i, from + half + i, from + 3 * half - ROWS - i,
		                from + 2 * p - ROWS - i};
		lanes a = load(keys, at[0]), b = load(keys, at[1]);
		lanes c = load(keys, at[2]), d = load(keys, at[3]);

		fold_two(&a, &d);
		fold_two(&b, &c);
		in_order(&a, &b);
		in_order(&c, &d);
		store(keys, at[0], a);
		store(keys, at[1], b);
		store(keys, at[2], c);
		store(keys, at[3], d);
	}
}

static void two_stages(double *keys, size_t end, size_t k)
{
	for (size_t from = 0; from < end; from += 4 * k)
		for (size_t i = from; i < from + k; i += ROWS) {
			lanes x[4];

#pragma GCC unroll 4
			for (size_t j = 0; j < 4; j++)
				x[j] = load(keys, i + j * k);
			in_order(&x[0], &x[2]);
			in_order(&x[1], &x[3]);
			in_order(&x[0], &x[1]);
			in_order(&x[2], &x[3]);
#pragma GCC unroll 4
			for (size_t j = 0; j < 4; j++)
				store(keys, i + j * k, x[j]);
		}
}

static void three_stages(double *keys, size_t end, size_t k)
{
	for (size_t from = 0; from < end; from += 8 * k)
		for (size_t i = from; i < from + k; i += ROWS) {
			lanes x[8];

#pragma GCC unroll 8
			for (size_t j = 0; j < 8; j++)
				x[j] = load(keys, i + j * k);
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
				store(keys, i + j * k, x[j]);
		}
}

/* Strides 2 and 1, or only 1. */
static void short_stages(double *keys, size_t end, bool two)
{
	for (size_t from = 0; from < end; from += 4) {
		lanes a = load(keys, from), b = load(keys, from + ROWS);

		if (two)
			in_order(&a, &b);
		store(keys, from, sort_both(a));
		store(keys, from + ROWS, sort_both(b));
	}
}

static void last_three(double *keys, size_t end)
{
	for (size_t from = 0; from < end; from += 8) {
		lanes x[4];

#pragma GCC unroll 4
		for (size_t j = 0; j < 4; j++)
			x[j] = load(keys, from + ROWS * j);
		last_stages(x);
#pragma GCC unroll 4
		for (size_t j = 0; j < 4; j++)
			store(keys, from + ROWS * j, x[j]);
	}
}

/* Strides p/4 down to 1. */
static void finish_merge(double *keys, size_t end, size_t p)
{
	unsigned stages = 0;
	size_t k = p / 4;

	for (size_t i = k; i; i /= 2)
		stages++;
	for (; stages % 3; stages -= 2, k /= 4)
		if (k / 2 > 1)
			two_stages(keys, end, k / 2);
		else
			short_stages(keys, end, true);
	for (; stages; stages -= 3, k /= 8)
		if (k / 4 > 1)
			three_stages(keys, end, k / 4);
		else
			last_three(keys, end);
}

static void sort_keys_avx512(double *keys, size_t n)
{
	size_t size = inv_sort_room(n);

	if (size < 16) {
		struct inv_kernels plain;

		inv_kernels_init(&plain, 0);
		plain.sort_keys(keys, n);
		return;
	}
	for (size_t r = n; r < size; r++)
		_mm256_storeu_pd(keys + r * INV_SLICES, _mm256_set1_pd(INFINITY));
	for (size_t from = 0; from < n; from += 16)
		sort_eights(keys, from);
	for (size_t p = 8; p < n; p *= 2) {
		size_t end = 0;

		for (size_t from = 0; from + p < n; from += 2 * p, end = from)
			fold(keys, from, p);
		finish_merge(keys, end, p);
	}
}

void inv_kernels_sliced_avx512(struct inv_kernels *k)
{
	k->sort_keys = sort_keys_avx512;
}
