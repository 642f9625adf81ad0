/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sliced_avx2.c - joining, sorting and comparing the projections of four
 * directions at a time.
 *
 * The keys of four directions are the lanes of a vector; see sort_network.h.
 */
#include <immintrin.h>
#include <math.h>

#include "math/sliced.h"

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

static inline lanes infinite(void)
{
	return _mm256_set1_pd(INFINITY);
}

#include "math/sort_network.h"

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
	k->sort_keys = sort_keys;
	k->compare_keys = compare_keys_avx2;
	k->spread = spread_avx2;
}
