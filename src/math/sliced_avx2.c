/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sliced_avx2.c - joining, sorting and comparing the projections of four
 * directions at a time.
 *
 * The keys of four directions are the lanes of a vector, so a step of the sorting network
 * is a minimum and a maximum, without shuffling lanes. The network is bitonic with all
 * comparisons upwards; up to three of its stages are done on eight vectors in registers.
 */
#include <immintrin.h>
#include <math.h>

#include "math/sliced.h"
#include "math/sort.h"

typedef __m256d lanes;

static inline lanes load(const double *keys, size_t row)
{
	return _mm256_loadu_pd(keys + row * INV_SLICES);
}

static inline void store(double *keys, size_t row, lanes x)
{
	_mm256_storeu_pd(keys + row * INV_SLICES, x);
}

/* ---- Joining ------------------------------------------------------------------ */

/* Doubles that hold a float with 29 bits to spare; the row goes there. */
static inline lanes with_row(__m128 x, size_t row)
{
	return _mm256_or_pd(_mm256_cvtps_pd(x),
	                    _mm256_castsi256_pd(_mm256_set1_epi64x((long long)row)));
}

/* A minimum drops a NaN, so one makes its whole slice NaN. */
static void spoil_slices(__m128 faults, size_t n, double *keys)
{
	for (size_t r = 0; r < n; r++)
		store(keys, r, _mm256_or_pd(load(keys, r), _mm256_cvtps_pd(faults)));
}

static void join_keys_avx2(const inv_side *s, size_t column, double *keys)
{
	const float *a = s->a + column, *b = s->b ? s->b + column : NULL;
	__m128 faults = _mm_setzero_ps(); /* NaN in lanes that are not finite throughout */

	for (size_t r = 0; r < s->M; r++) {
		__m128 x = _mm_loadu_ps(a + s->rows_a[r] * s->stride_a);

		if (b)
			x = _mm_add_ps(x, _mm_loadu_ps(b + s->rows_b[r] * s->stride_b));
		faults = _mm_or_ps(faults, _mm_sub_ps(x, x));
		store(keys, r, with_row(x, r));
	}
	if (_mm_movemask_ps(_mm_cmpunord_ps(faults, faults)))
		spoil_slices(faults, s->M, keys);
}

/* ---- Sorting ------------------------------------------------------------------- */

static inline void in_order(lanes *low, lanes *high)
{
	lanes smaller = _mm256_min_pd(*low, *high);

	*high = _mm256_max_pd(*low, *high);
	*low = smaller;
}

/* Batcher's network for eight. */
static void sort_eight(double *keys, size_t from)
{
	static const unsigned char pairs[19][2] = {
		{0, 1}, {2, 3}, {4, 5}, {6, 7}, {0, 2}, {1, 3}, {4, 6}, {5, 7}, {1, 2}, {5, 6},
		{0, 4}, {1, 5}, {2, 6}, {3, 7}, {2, 4}, {3, 5}, {1, 2}, {3, 4}, {5, 6}};
	lanes x[8];

#pragma GCC unroll 8
	for (size_t i = 0; i < 8; i++)
		x[i] = load(keys, from + i);
#pragma GCC unroll 19
	for (size_t i = 0; i < 19; i++)
		in_order(&x[pairs[i][0]], &x[pairs[i][1]]);
#pragma GCC unroll 8
	for (size_t i = 0; i < 8; i++)
		store(keys, from + i, x[i]);
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
		lanes a = load(keys, at[0]), b = load(keys, at[1]);
		lanes c = load(keys, at[2]), d = load(keys, at[3]);

		in_order(&a, &d);
		in_order(&b, &c);
		in_order(&a, &b);
		in_order(&c, &d);
		store(keys, at[0], a);
		store(keys, at[1], b);
		store(keys, at[2], c);
		store(keys, at[3], d);
	}
}

/* Stages with strides 2k and k over rows [0, end). */
static void two_stages(double *keys, size_t end, size_t k)
{
	for (size_t from = 0; from < end; from += 4 * k)
		for (size_t i = from; i < from + k; i++) {
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

/* Stages with strides 4k, 2k and k. */
static void three_stages(double *keys, size_t end, size_t k)
{
	for (size_t from = 0; from < end; from += 8 * k)
		for (size_t i = from; i < from + k; i++) {
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
static void sort_keys_avx2(double *keys, size_t n)
{
	size_t size = inv_sort_room(n);

	for (size_t r = n; r < size; r++)
		store(keys, r, _mm256_set1_pd(INFINITY));
	for (size_t from = 0; from < n; from += 8)
		sort_eight(keys, from);
	for (size_t p = 8; p < n; p *= 2) {
		size_t end = 0;

		for (size_t from = 0; from + p < n; from += 2 * p, end = from)
			fold(keys, from, p);
		finish_merge(keys, end, p);
	}
}

/* ---- Comparing ------------------------------------------------------------------ */

/* The float that a key was made from. */
static inline lanes value_of(lanes key)
{
	const __m256i mask = _mm256_set1_epi64x(~(long long)INV_KEY_ROWS);

	return _mm256_and_pd(key, _mm256_castsi256_pd(mask));
}

static inline void scatter(const double *key, __m128 gap, float *out)
{
	float g[INV_SLICES];

	_mm_storeu_ps(g, gap);
#pragma GCC unroll 4
	for (size_t l = 0; l < INV_SLICES; l++)
		out[inv_key_row(key[l]) * INV_SLICES + l] = g[l];
}

static void compare_keys_avx2(const double *p, const double *q, size_t n, size_t repeat,
                              double sums[INV_SLICES], float *u, float *v)
{
	lanes sum = _mm256_setzero_pd();
	size_t left = repeat;

	for (size_t r = 0; r < n; r++) {
		const double *other = q + r * INV_SLICES;
		lanes gap = _mm256_sub_pd(value_of(load(p, 0)), value_of(load(other, 0)));

		sum = _mm256_fmadd_pd(gap, gap, sum);
		if (u) {
			scatter(p, _mm256_cvtpd_ps(gap), u);
			scatter(other, _mm256_cvtpd_ps(gap), v);
		}
		if (!--left) {
			p += INV_SLICES;
			left = repeat;
		}
	}
	_mm256_storeu_pd(sums, _mm256_add_pd(_mm256_loadu_pd(sums), sum));
}

static void spread_avx2(const float *u, const float *v, const uint32_t *back, size_t n,
                        float *out, size_t stride)
{
	for (size_t r = 0; r < n; r++)
		_mm_storeu_ps(out + r * stride, _mm_sub_ps(_mm_loadu_ps(u + r * INV_SLICES),
		                                           _mm_loadu_ps(v + back[r] * INV_SLICES)));
}

void inv_kernels_sliced_avx2(struct inv_kernels *k)
{
	k->join_keys = join_keys_avx2;
	k->sort_keys = sort_keys_avx2;
	k->compare_keys = compare_keys_avx2;
	k->spread = spread_avx2;
}
