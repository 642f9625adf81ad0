/*
 * kernels_avx2.c - the loops over pixels for AVX2 and FMA.
 *
 * The two neighbours of a pixel in a row lie side by side, so a pixel costs two
 * loads of 64 bits a plane instead of four elements of a gather. Positions are
 * computed once for all planes. A last piece shorter than a vector is computed
 * as a vector that ends where the row ends, over pixels that are there already.
 */
#include <immintrin.h>
#include <math.h>

#include "images/augment/kernels.h"

enum { LANES = 8 };

/* Left and right neighbours of 8 places. */
typedef struct pairs {
	__m256 left, right;
} pairs;

static inline __m128 two_pairs(const float *p, int32_t i, int32_t j)
{
	__m128 first = _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)(p + i)));

	return _mm_loadh_pi(first, (const __m64 *)(p + j));
}

static inline pairs load_pairs(const float *p, const int32_t at[LANES])
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

/* Places and shares of 8 pixels of a row. */
typedef struct spots {
	__m256 fx, fy;
	int32_t at[LANES];
} spots;

/* Four places along one axis: whole part as integers, the rest as floats. */
static inline __m128i split(__m256d place, __m128 *rest)
{
	__m256d whole = _mm256_floor_pd(place);

	*rest = _mm256_cvtpd_ps(_mm256_sub_pd(place, whole));
	return _mm256_cvttpd_epi32(whole);
}

static inline __m256i split_eight(double step, double start, __m256d low, __m256d high,
                                  __m256 *rest)
{
	__m256d steps = _mm256_set1_pd(step), base = _mm256_set1_pd(start);
	__m128 rest_low, rest_high;
	__m128i a = split(_mm256_fmadd_pd(steps, low, base), &rest_low);
	__m128i b = split(_mm256_fmadd_pd(steps, high, base), &rest_high);

	*rest = _mm256_set_m128(rest_high, rest_low);
	return _mm256_set_m128i(b, a);
}

static inline void find_spots(const inv_view *view, double row_x, double row_y, size_t u,
                              spots *s)
{
	__m256d low = _mm256_add_pd(_mm256_set1_pd((double)u), _mm256_set_pd(3, 2, 1, 0));
	__m256d high = _mm256_add_pd(low, _mm256_set1_pd(4));
	__m256i x = split_eight(view->at.xx, row_x, low, high, &s->fx);
	__m256i y = split_eight(view->at.yx, row_y, low, high, &s->fy);
	__m256i at = _mm256_mullo_epi32(y, _mm256_set1_epi32((int32_t)view->w));

	_mm256_storeu_si256((__m256i *)s->at, _mm256_add_epi32(at, x));
}

static inline void warp_eight(const inv_view *view, double row_x, double row_y, size_t u,
                              float *out)
{
	size_t plane = view->h * view->w, out_plane = view->out_h * view->out_w;
	const float *p = view->in;
	spots s;

	find_spots(view, row_x, row_y, u, &s);
	for (size_t c = 0; c < view->planes; c++, p += plane, out += out_plane) {
		pairs top = load_pairs(p, s.at), bottom = load_pairs(p + view->w, s.at);
		__m256 above = mix(top.left, top.right, s.fx);
		__m256 below = mix(bottom.left, bottom.right, s.fx);

		_mm256_storeu_ps(out + u, mix(above, below, s.fy));
	}
}

static void warp_span_avx2(const inv_view *view, size_t v, size_t from, size_t to)
{
	struct inv_image_kernels plain;
	double row_x = fma(view->at.xy, (double)v, view->at.x0);
	double row_y = fma(view->at.yy, (double)v, view->at.y0);
	float *row = view->out + v * view->out_w;
	size_t u = from;

	if (to - from < LANES) {
		inv_image_kernels_ref(&plain);
		plain.warp_span(view, v, from, to);
		return;
	}
	for (; u + LANES <= to; u += LANES)
		warp_eight(view, row_x, row_y, u, row);
	if (u < to)
		warp_eight(view, row_x, row_y, to - LANES, row);
}

/* ---- Rows -------------------------------------------------------------------- */

static void stretch_row_avx2(const float *row, const int32_t *at, const float *share,
                             size_t count, float *out)
{
	size_t i = 0;

	for (; i + LANES <= count; i += LANES) {
		pairs p = load_pairs(row, at + i);

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

void inv_image_kernels_avx2(struct inv_image_kernels *k)
{
	k->warp_span = warp_span_avx2;
	k->stretch_row = stretch_row_avx2;
	k->mix_rows = mix_rows_avx2;
	k->add_scaled = add_scaled_avx2;
	k->add_field = add_field_avx2;
	k->scale = scale_avx2;
}
