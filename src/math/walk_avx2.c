/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk_avx2.c - a sparse product with eight vectors at once.
 *
 * An entry of the matrix loads one cache line: the eight numbers of a row. Two entries at a
 * time have sums of their own, as one addition takes as long as the loads of two entries.
 */
#include "math/kernels.h"

#include <immintrin.h>

enum { LANES = INV_WALK_LANES, HALF = 4 };

typedef struct lanes {
	__m256d low, high;
} lanes;

static inline lanes load(const double *x, size_t row)
{
	return (lanes){_mm256_load_pd(x + row * LANES), _mm256_load_pd(x + row * LANES + HALF)};
}

static inline void add_row(lanes *sum, const double *x, size_t row)
{
	lanes r = load(x, row);

	sum->low = _mm256_add_pd(sum->low, r.low);
	sum->high = _mm256_add_pd(sum->high, r.high);
}

static inline void add_weighted(lanes *sum, double weight, const double *x, size_t row)
{
	__m256d w = _mm256_set1_pd(weight);
	lanes r = load(x, row);

	sum->low = _mm256_fmadd_pd(w, r.low, sum->low);
	sum->high = _mm256_fmadd_pd(w, r.high, sum->high);
}

static lanes sum_row(const inv_walk_step *s, size_t i, const double *x)
{
	size_t e = s->start[i], end = s->start[i + 1];
	lanes a = {_mm256_setzero_pd(), _mm256_setzero_pd()}, b = a;

	if (s->weight) {
		for (; e + 2 <= end; e += 2) {
			add_weighted(&a, s->weight[e], x, s->to[e]);
			add_weighted(&b, s->weight[e + 1], x, s->to[e + 1]);
		}
		if (e < end)
			add_weighted(&a, s->weight[e], x, s->to[e]);
	} else {
		for (; e + 2 <= end; e += 2) {
			add_row(&a, x, s->to[e]);
			add_row(&b, x, s->to[e + 1]);
		}
		if (e < end)
			add_row(&a, x, s->to[e]);
	}
	return (lanes){_mm256_add_pd(a.low, b.low), _mm256_add_pd(a.high, b.high)};
}

static void walk_step_avx2(const inv_walk_step *s, const double *x, double *y)
{
	const __m256d less = _mm256_set1_pd(-s->scale * s->centre);
	const __m256d minus = _mm256_set1_pd(s->minus);

	for (size_t i = 0; i < s->n; i++) {
		const __m256d more = _mm256_set1_pd(s->scale * s->inverse[i]);
		lanes sum = sum_row(s, i, x), own = load(x, i);
		__m256d low = _mm256_fmadd_pd(more, sum.low, _mm256_mul_pd(less, own.low));
		__m256d high = _mm256_fmadd_pd(more, sum.high, _mm256_mul_pd(less, own.high));

		if (s->minus != 0) {
			lanes old = load(y, i);

			low = _mm256_fnmadd_pd(minus, old.low, low);
			high = _mm256_fnmadd_pd(minus, old.high, high);
		}
		_mm256_store_pd(y + i * LANES, low);
		_mm256_store_pd(y + i * LANES + HALF, high);
	}
}

void inv_kernels_walk_avx2(struct inv_kernels *k)
{
	k->walk_step = walk_step_avx2;
}
