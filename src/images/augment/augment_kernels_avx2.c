/* SPDX-License-Identifier: Apache-2.0 */
/*
 * augment_kernels_avx2.c - the loops over pixels for AVX2 and FMA.
 *
 * The two neighbours of a pixel in a row lie side by side, so a pixel costs two
 * loads of 64 bits per plane instead of four elements of a gather. Positions are
 * computed once for all planes. Blocks begin at multiples of 8, so that a pixel's
 * position does not depend on where its span begins; of a block that reaches beyond
 * its span, only the pixels inside are stored.
 */
#include <immintrin.h>
#include <math.h>

#include "images/augment/augment_kernels.h"

enum { LANES = INV_WARP_BLOCK, ROWS_AHEAD = 8 };

/* Left and right neighbours of 8 positions. */
typedef struct pairs {
	__m256 left, right;
} pairs;

static inline __m128 two_pairs(const float *p, int64_t i, int64_t j)
{
	__m128 first = _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(p + i)));

	return _mm_loadh_pi(first, (const __m64 *)(p + j));
}

static inline pairs load_pairs(const float *p, const int64_t at[LANES])
{
	__m256 even = _mm256_set_m128(two_pairs(p, at[4], at[5]), two_pairs(p, at[0], at[1]));
	__m256 odd = _mm256_set_m128(two_pairs(p, at[6], at[7]), two_pairs(p, at[2], at[3]));

	return (pairs){_mm256_shuffle_ps(even, odd, _MM_SHUFFLE(2, 0, 2, 0)),
	               _mm256_shuffle_ps(even, odd, _MM_SHUFFLE(3, 1, 3, 1))};
}

static inline __m256 mix(__m256 a, __m256 b, __m256 share)
{
	return _mm256_fmadd_ps(share, _mm256_sub_ps(b, a), a);
}

/* ---- Warps ------------------------------------------------------------------- */

/* Positions of the 8 pixels of a block: offsets of the left upper neighbours, and weights.
 */
typedef struct spots {
	__m256 fx, fy;
	int64_t at[LANES];
} spots;

static inline __m256i find_axis(double step, double start, __m256 lanes, __m256 *share)
{
	double whole = floor(start);
	__m256 rest = _mm256_set1_ps((float)(start - whole));
	__m256 at = _mm256_fmadd_ps(_mm256_set1_ps((float)step), lanes, rest);
	__m256 steps = _mm256_floor_ps(at);

	*share = _mm256_sub_ps(at, steps);
	return _mm256_add_epi32(_mm256_cvtps_epi32(steps), _mm256_set1_epi32((int32_t)whole));
}

static inline void store_wide(__m256i x, int64_t out[LANES])
{
	_mm256_storeu_si256((__m256i *)out, _mm256_cvtepi32_epi64(_mm256_castsi256_si128(x)));
	_mm256_storeu_si256((__m256i *)(out + 4),
	                    _mm256_cvtepi32_epi64(_mm256_extracti128_si256(x, 1)));
}

/* Lanes outside [low, high) repeat one inside, so that they read valid memory. */
static inline void find_spots(const inv_view *view, double x, double y, int low, int high,
                              spots *s)
{
	const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
	__m256i held = _mm256_min_epi32(_mm256_max_epi32(lane, _mm256_set1_epi32(low)),
	                                _mm256_set1_epi32(high - 1));
	__m256 lanes = _mm256_cvtepi32_ps(held);
	__m256i px = find_axis(view->at.xx, x, lanes, &s->fx);
	__m256i py = find_axis(view->at.yx, y, lanes, &s->fy);
	__m256i at = _mm256_mullo_epi32(py, _mm256_set1_epi32((int32_t)view->w));

	store_wide(_mm256_add_epi32(at, px), s->at);
}

static inline __m256 warp_plane(const float *p, size_t width, const spots *s)
{
	pairs top = load_pairs(p, s->at), bottom = load_pairs(p + width, s->at);
	__m256 above = mix(top.left, top.right, s->fx);
	__m256 below = mix(bottom.left, bottom.right, s->fx);

	return mix(above, below, s->fy);
}

/* What the same pixels of a later row will read lies at a constant distance. */
static inline void prefetch_row(const float *p, const spots *s, ptrdiff_t distance)
{
	for (int i = 0; i < LANES; i += 2)
		_mm_prefetch((const char *)(p + s->at[i] + distance), _MM_HINT_T0);
}

static void warp_whole(const inv_view *view, const spots *s, ptrdiff_t distance, float *out)
{
	const float *p = view->in;

	for (size_t c = 0; c < view->planes; c++) {
		prefetch_row(p, s, distance);
		_mm256_storeu_ps(out, warp_plane(p, view->w, s));
		p += view->h * view->w;
		out += view->out_h * view->out_w;
	}
}

static void warp_part(const inv_view *view, const spots *s, int low, int high, float *out)
{
	const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
	__m256i mask = _mm256_and_si256(_mm256_cmpgt_epi32(lane, _mm256_set1_epi32(low - 1)),
	                                _mm256_cmpgt_epi32(_mm256_set1_epi32(high), lane));
	const float *p = view->in;

	for (size_t c = 0; c < view->planes; c++) {
		_mm256_maskstore_ps(out, mask, warp_plane(p, view->w, s));
		p += view->h * view->w;
		out += view->out_h * view->out_w;
	}
}

static void warp_span_avx2(const inv_view *view, size_t v, size_t from, size_t to)
{
	double row_x = fma(view->at.xy, (double)v, view->at.x0);
	double row_y = fma(view->at.yy, (double)v, view->at.y0);
	float *row = view->out + v * view->out_w;
	ptrdiff_t distance = (ptrdiff_t)(ROWS_AHEAD * view->at.xy) +
	                     (ptrdiff_t)(ROWS_AHEAD * view->at.yy) * (ptrdiff_t)view->w;

	for (size_t u = from / LANES * LANES; u < to; u += LANES) {
		int low = u < from ? (int)(from - u) : 0;
		int high = to - u < LANES ? (int)(to - u) : LANES;
		spots s;

		find_spots(view, fma(view->at.xx, (double)u, row_x),
		           fma(view->at.yx, (double)u, row_y), low, high, &s);
		if (low == 0 && high == LANES)
			warp_whole(view, &s, distance, row + u);
		else
			warp_part(view, &s, low, high, row + u);
	}
}

/* ---- Rows -------------------------------------------------------------------- */

static void stretch_row_avx2(const float *row, const int32_t *at, const float *share,
                             size_t count, float *out)
{
	size_t i = 0;

	for (; i + LANES <= count; i += LANES) {
		int64_t wide[LANES];
		pairs p;

		store_wide(_mm256_loadu_si256((const __m256i *)(at + i)), wide);
		p = load_pairs(row, wide);
		_mm256_storeu_ps(out + i, mix(p.left, p.right, _mm256_loadu_ps(share + i)));
	}
	for (; i < count; i++)
		out[i] = fmaf(share[i], row[at[i] + 1] - row[at[i]], row[at[i]]);
}

static void mix_rows_avx2(const float *a, const float *b, float share, size_t count,
                          float *out)
{
	const __m256 shares = _mm256_set1_ps(share);
	size_t i = 0;

	for (; i + LANES <= count; i += LANES)
		_mm256_storeu_ps(out + i,
		                 mix(_mm256_loadu_ps(a + i), _mm256_loadu_ps(b + i), shares));
	for (; i < count; i++)
		out[i] = fmaf(share, b[i] - a[i], a[i]);
}

static void add_scaled_avx2(const float *x, float scale, size_t count, float *y)
{
	const __m256 scales = _mm256_set1_ps(scale);
	size_t i = 0;

	for (; i + LANES <= count; i += LANES)
		_mm256_storeu_ps(
			y + i, _mm256_fmadd_ps(scales, _mm256_loadu_ps(x + i), _mm256_loadu_ps(y + i)));
	for (; i < count; i++)
		y[i] = fmaf(scale, x[i], y[i]);
}

static void add_field_avx2(const float *x, float mean, float std, size_t count, float *out)
{
	const __m256 means = _mm256_set1_ps(mean), stds = _mm256_set1_ps(std);
	size_t i = 0;

	for (; i + LANES <= count; i += LANES) {
		__m256 field = _mm256_fmadd_ps(stds, _mm256_loadu_ps(out + i), means);

		_mm256_storeu_ps(out + i, _mm256_add_ps(_mm256_loadu_ps(x + i), field));
	}
	for (; i < count; i++)
		out[i] = x[i] + fmaf(std, out[i], mean);
}

static void scale_avx2(const float *x, float scale, float offset, float low, float high,
                       size_t count, float *out)
{
	const __m256 lows = _mm256_set1_ps(low), highs = _mm256_set1_ps(high);
	const __m256 scales = _mm256_set1_ps(scale), offsets = _mm256_set1_ps(offset);
	size_t i = 0;

	for (; i + LANES <= count; i += LANES) {
		__m256 y = _mm256_fmadd_ps(_mm256_loadu_ps(x + i), scales, offsets);

		/* In this order NaN stays NaN, as in the plain loop. */
		_mm256_storeu_ps(out + i, _mm256_min_ps(highs, _mm256_max_ps(lows, y)));
	}
	for (; i < count; i++) {
		float y = fmaf(x[i], scale, offset);

		out[i] = y < low ? low : y > high ? high : y;
	}
}

void inv_augment_kernels_avx2(struct inv_augment_kernels *k)
{
	k->warp_span = warp_span_avx2;
	k->stretch_row = stretch_row_avx2;
	k->mix_rows = mix_rows_avx2;
	k->add_scaled = add_scaled_avx2;
	k->add_field = add_field_avx2;
	k->scale = scale_avx2;
}
