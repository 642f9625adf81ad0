/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels_avx2.c - the kernels for AVX2, FMA and F16C.
 *
 * Only files with this suffix are compiled with those flags. Tails shorter than a vector
 * run the same arithmetic one by one, so a value does not depend on where its
 * array ends.
 */
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "math/exp_avx2.h"
#include "math/kernels.h"
#include "math/transpose_avx2.h"

enum { LANES = 8 };

static bool all_finite_avx2(const float *x, size_t count)
{
	const __m256i exponent = _mm256_set1_epi32(0x7f800000);
	__m256i bad = _mm256_setzero_si256();
	size_t i = 0;

	for (; i + LANES <= count; i += LANES) {
		__m256i bits = _mm256_loadu_si256((const __m256i *)(x + i));

		bits = _mm256_and_si256(bits, exponent);
		bad = _mm256_or_si256(bad, _mm256_cmpeq_epi32(bits, exponent));
	}
	for (; i < count; i++)
		if (!isfinite(x[i]))
			return false;
	return _mm256_testz_si256(bad, bad);
}

static void widen_half_avx2(const uint16_t *half, size_t count, float *out)
{
	size_t i = 0;

	for (; i + LANES <= count; i += LANES)
		_mm256_storeu_ps(out + i,
		                 _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(half + i))));
	for (; i < count; i++)
		out[i] = _cvtsh_ss(half[i]);
}

static void narrow_half_avx2(const float *x, size_t count, uint16_t *half)
{
	size_t i = 0;

	for (; i + LANES <= count; i += LANES)
		_mm_storeu_si128((__m128i *)(half + i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i),
		                                                        _MM_FROUND_TO_NEAREST_INT));
	for (; i < count; i++)
		half[i] = _cvtss_sh(x[i], _MM_FROUND_TO_NEAREST_INT);
}

static void add_avx2(const float *x, size_t count, float *y)
{
	size_t i = 0;

	for (; i + LANES <= count; i += LANES)
		_mm256_storeu_ps(y + i,
		                 _mm256_add_ps(_mm256_loadu_ps(y + i), _mm256_loadu_ps(x + i)));
	for (; i < count; i++)
		y[i] += x[i];
}

static void column_sums_avx2(const float *x, size_t rows, size_t width, float *sums)
{
	for (size_t i = 0; i < rows; i++)
		add_avx2(x + i * width, width, sums);
}

static void relu_backward_row(const float *h, size_t width, float *dh, float *sums)
{
	const __m256 zero = _mm256_setzero_ps();
	size_t j = 0;

	for (; j + LANES <= width; j += LANES) {
		__m256 on = _mm256_cmp_ps(_mm256_loadu_ps(h + j), zero, _CMP_GT_OQ);
		__m256 g = _mm256_and_ps(_mm256_loadu_ps(dh + j), on);

		_mm256_storeu_ps(dh + j, g);
		_mm256_storeu_ps(sums + j, _mm256_add_ps(_mm256_loadu_ps(sums + j), g));
	}
	for (; j < width; j++) {
		dh[j] = h[j] > 0 ? dh[j] : 0;
		sums[j] += dh[j];
	}
}

static void relu_backward_avx2(const float *h, size_t rows, size_t width, size_t stride,
                               float *dh, float *sums)
{
	for (size_t i = 0; i < rows; i++)
		relu_backward_row(h + i * stride, width, dh + i * stride, sums);
}

static double sum_lanes(__m256d a)
{
	double lane[4];

	_mm256_storeu_pd(lane, a);
	return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

static double squared_error_avx2(const float *y, const float *target, size_t count,
                                 float scale, float *grad)
{
	const __m256 by = _mm256_set1_ps(scale);
	__m256d low = _mm256_setzero_pd(), high = low;
	double sum;
	size_t i = 0;

	for (; i + LANES <= count; i += LANES) {
		__m256 error = _mm256_sub_ps(_mm256_loadu_ps(y + i), _mm256_loadu_ps(target + i));
		__m256d a = _mm256_cvtps_pd(_mm256_castps256_ps128(error));
		__m256d b = _mm256_cvtps_pd(_mm256_extractf128_ps(error, 1));

		low = _mm256_fmadd_pd(a, a, low);
		high = _mm256_fmadd_pd(b, b, high);
		_mm256_storeu_ps(grad + i, _mm256_mul_ps(by, error));
	}
	sum = sum_lanes(_mm256_add_pd(low, high));
	for (; i < count; i++) {
		float error = y[i] - target[i];

		sum += (double)error * error;
		grad[i] = scale * error;
	}
	return sum;
}

static void adamw_one(const inv_adamw_rates *r, float g, float *p, float *m, float *v)
{
	*m = fmaf(r->beta1, *m, r->rest1 * g);
	*v = fmaf(r->beta2, *v, r->rest2 * g * g);
	*p = fmaf(*p, r->keep, -(r->step * *m / (sqrtf(*v) / r->root + r->eps)));
}

static void adamw_avx2(const inv_adamw_rates *r, const float *grad, size_t count, float *p,
                       float *m, float *v)
{
	const __m256 b1 = _mm256_set1_ps(r->beta1), c1 = _mm256_set1_ps(r->rest1);
	const __m256 b2 = _mm256_set1_ps(r->beta2), c2 = _mm256_set1_ps(r->rest2);
	const __m256 keep = _mm256_set1_ps(r->keep), step = _mm256_set1_ps(r->step);
	const __m256 root = _mm256_set1_ps(r->root), eps = _mm256_set1_ps(r->eps);
	size_t i = 0;

	for (; i + LANES <= count; i += LANES) {
		__m256 g = _mm256_loadu_ps(grad + i);
		__m256 mi = _mm256_fmadd_ps(b1, _mm256_loadu_ps(m + i), _mm256_mul_ps(c1, g));
		__m256 vi = _mm256_fmadd_ps(b2, _mm256_loadu_ps(v + i),
		                            _mm256_mul_ps(_mm256_mul_ps(c2, g), g));
		__m256 below = _mm256_add_ps(_mm256_div_ps(_mm256_sqrt_ps(vi), root), eps);
		__m256 move = _mm256_div_ps(_mm256_mul_ps(step, mi), below);

		_mm256_storeu_ps(m + i, mi);
		_mm256_storeu_ps(v + i, vi);
		_mm256_storeu_ps(p + i, _mm256_fmsub_ps(_mm256_loadu_ps(p + i), keep, move));
	}
	for (; i < count; i++)
		adamw_one(r, grad[i], p + i, m + i, v + i);
}

static void turn_eight(const float *const points[LANES], size_t k, float *packed)
{
	__m256 r[LANES];

#pragma GCC unroll 8
	for (int i = 0; i < LANES; i++)
		r[i] = _mm256_loadu_ps(points[i] + k);
	inv_transpose_block(r);
#pragma GCC unroll 8
	for (int i = 0; i < LANES; i++)
		_mm256_storeu_ps(packed + (k + (size_t)i) * INV_PAIR_COLS, r[i]);
}

static void pack_points_avx2(const float *const points[INV_PAIR_COLS], size_t width,
                             float *packed)
{
	size_t k = 0;

	for (; k + LANES <= width; k += LANES) {
		turn_eight(points, k, packed);
		turn_eight(points + LANES, k, packed + LANES);
	}
	for (; k < width; k++)
		for (size_t j = 0; j < INV_PAIR_COLS; j++)
			packed[k * INV_PAIR_COLS + j] = points[j][k];
}

/*
 * 6 x 16 distances in 12 accumulators; subtraction and FMA share no port on
 * Zen. All loops over the rows are unrolled, or the accumulators would spill to memory.
 */
static void add_distances(const float *x, const float *packed, size_t from, size_t end,
                          size_t stride, float *out)
{
	__m256 left[INV_PAIR_ROWS], right[INV_PAIR_ROWS];

#pragma GCC unroll 6
	for (int i = 0; i < INV_PAIR_ROWS; i++)
		left[i] = right[i] = _mm256_setzero_ps();
	for (size_t k = from; k < end; k++) {
		__m256 a = _mm256_loadu_ps(packed + k * INV_PAIR_COLS);
		__m256 b = _mm256_loadu_ps(packed + k * INV_PAIR_COLS + LANES);

#pragma GCC unroll 6
		for (int i = 0; i < INV_PAIR_ROWS; i++) {
			__m256 xi = _mm256_broadcast_ss(x + (size_t)i * stride + k);
			__m256 gap_a = _mm256_sub_ps(xi, a), gap_b = _mm256_sub_ps(xi, b);

			left[i] = _mm256_fmadd_ps(gap_a, gap_a, left[i]);
			right[i] = _mm256_fmadd_ps(gap_b, gap_b, right[i]);
		}
	}
#pragma GCC unroll 6
	for (int i = 0; i < INV_PAIR_ROWS; i++) {
		float *to = out + i * INV_PAIR_COLS;

		_mm256_storeu_ps(to, _mm256_add_ps(_mm256_loadu_ps(to), left[i]));
		_mm256_storeu_ps(to + LANES, _mm256_add_ps(_mm256_loadu_ps(to + LANES), right[i]));
	}
}

static void pair_distances_avx2(const float *x, const float *packed, size_t d,
                                size_t stride, float *out)
{
	memset(out, 0, INV_PAIR_ROWS * INV_PAIR_COLS * sizeof *out);
	for (size_t from = 0; from < d; from += INV_PAIR_SUM)
		add_distances(x, packed, from, from + INV_PAIR_SUM < d ? from + INV_PAIR_SUM : d,
		              stride, out);
}

/* Four pairs at a time in double; a pair with d = 0 is masked out of every sum. */
typedef struct lanes {
	__m256d d, e, dd, ee, de, gap, d_min, d_max, ratio_min, ratio_max;
} lanes;

static lanes lanes_start(const inv_pair_sums *s)
{
	__m256d zero = _mm256_setzero_pd();

	return (lanes){zero,
	               zero,
	               zero,
	               zero,
	               zero,
	               zero,
	               _mm256_set1_pd(s->d_min),
	               _mm256_set1_pd(s->d_max),
	               _mm256_set1_pd(s->ratio_min),
	               _mm256_set1_pd(s->ratio_max)};
}

static inline unsigned lanes_add(lanes *l, __m128 d2, __m128 e2, __m256d shift_d,
                                 __m256d shift_e)
{
	const __m256d inf = _mm256_set1_pd(INFINITY);
	__m256d d = _mm256_sqrt_pd(_mm256_cvtps_pd(d2));
	__m256d e = _mm256_sqrt_pd(_mm256_cvtps_pd(e2));
	__m256d on = _mm256_cmp_pd(d, _mm256_setzero_pd(), _CMP_NEQ_UQ);
	__m256d ratio = _mm256_div_pd(e, d);
	__m256d gap = _mm256_and_pd(on, _mm256_sub_pd(e, d));

	l->d_min = _mm256_min_pd(l->d_min, _mm256_blendv_pd(inf, d, on));
	l->d_max = _mm256_max_pd(l->d_max, d);
	l->ratio_min = _mm256_min_pd(l->ratio_min, _mm256_blendv_pd(inf, ratio, on));
	l->ratio_max = _mm256_max_pd(l->ratio_max, _mm256_and_pd(on, ratio));
	l->gap = _mm256_fmadd_pd(gap, gap, l->gap);
	d = _mm256_and_pd(on, _mm256_sub_pd(d, shift_d));
	e = _mm256_and_pd(on, _mm256_sub_pd(e, shift_e));
	l->d = _mm256_add_pd(l->d, d);
	l->e = _mm256_add_pd(l->e, e);
	l->dd = _mm256_fmadd_pd(d, d, l->dd);
	l->ee = _mm256_fmadd_pd(e, e, l->ee);
	l->de = _mm256_fmadd_pd(d, e, l->de);
	return (unsigned)__builtin_popcount((unsigned)_mm256_movemask_pd(on));
}

static void lanes_fold(const lanes *l, inv_pair_sums *s)
{
	double low[4], high[4], small[4], large[4];

	s->d += sum_lanes(l->d);
	s->e += sum_lanes(l->e);
	s->dd += sum_lanes(l->dd);
	s->ee += sum_lanes(l->ee);
	s->de += sum_lanes(l->de);
	s->gap += sum_lanes(l->gap);
	_mm256_storeu_pd(low, l->d_min);
	_mm256_storeu_pd(high, l->d_max);
	_mm256_storeu_pd(small, l->ratio_min);
	_mm256_storeu_pd(large, l->ratio_max);
	for (int i = 0; i < 4; i++) {
		s->d_min = fmin(s->d_min, low[i]);
		s->d_max = fmax(s->d_max, high[i]);
		s->ratio_min = fmin(s->ratio_min, small[i]);
		s->ratio_max = fmax(s->ratio_max, large[i]);
	}
}

static void pair_sums_avx2(const float *d2, const float *e2, size_t count, double shift_d,
                           double shift_e, inv_pair_sums *s)
{
	const __m256d sd = _mm256_set1_pd(shift_d), se = _mm256_set1_pd(shift_e);
	float tail_d[4] = {0}, tail_e[4] = {0};
	lanes l = lanes_start(s);
	uint64_t on = 0;
	size_t i = 0;

	for (; i + 4 <= count; i += 4)
		on += lanes_add(&l, _mm_loadu_ps(d2 + i), _mm_loadu_ps(e2 + i), sd, se);
	if (i < count) {
		for (size_t j = i; j < count; j++) {
			tail_d[j - i] = d2[j];
			tail_e[j - i] = e2[j];
		}
		on += lanes_add(&l, _mm_loadu_ps(tail_d), _mm_loadu_ps(tail_e), sd, se);
	}
	lanes_fold(&l, s);
	s->pairs += on;
	s->zero_pairs += count - on;
}

static double squared_distance_avx2(const float *a, const float *b, size_t count)
{
	__m256d sum[4];
	double total;
	size_t i = 0;

#pragma GCC unroll 4
	for (int v = 0; v < 4; v++)
		sum[v] = _mm256_setzero_pd();
	for (; i + 16 <= count; i += 16) {
#pragma GCC unroll 4
		for (int v = 0; v < 4; v++) {
			__m256d x = _mm256_cvtps_pd(_mm_loadu_ps(a + i + 4 * v));
			__m256d y = _mm256_cvtps_pd(_mm_loadu_ps(b + i + 4 * v));
			__m256d gap = _mm256_sub_pd(x, y);

			sum[v] = _mm256_fmadd_pd(gap, gap, sum[v]);
		}
	}
	total = sum_lanes(
		_mm256_add_pd(_mm256_add_pd(sum[0], sum[1]), _mm256_add_pd(sum[2], sum[3])));
	for (; i < count; i++)
		total = fma((double)a[i] - b[i], (double)a[i] - b[i], total);
	return total;
}

/* Four values to integers; adds the squares of the rounding errors. */
static inline __m128i quantise_four(const float *x, const float *centre, __m256d scale,
                                    __m256d inverse, __m256d *lost)
{
	__m256d value = _mm256_sub_pd(_mm256_cvtps_pd(_mm_loadu_ps(x)),
	                              _mm256_cvtps_pd(_mm_loadu_ps(centre)));
	__m256d whole = _mm256_round_pd(_mm256_mul_pd(value, inverse),
	                                _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
	__m256d rest = _mm256_fnmadd_pd(scale, whole, value);

	*lost = _mm256_fmadd_pd(rest, rest, *lost);
	return _mm256_cvtpd_epi32(whole);
}

static double quantise_avx2(const float *x, const float *centre, size_t count, double scale,
                            int16_t *out)
{
	const __m256d by = _mm256_set1_pd(scale), inverse = _mm256_set1_pd(1 / scale);
	__m256d low = _mm256_setzero_pd(), high = low;
	double sum;
	size_t i = 0;

	for (; i + LANES <= count; i += LANES) {
		__m128i a = quantise_four(x + i, centre + i, by, inverse, &low);
		__m128i b = quantise_four(x + i + 4, centre + i + 4, by, inverse, &high);

		_mm_storeu_si128((__m128i *)(out + i), _mm_packs_epi32(a, b));
	}
	sum = sum_lanes(_mm256_add_pd(low, high));
	for (; i < count; i++) {
		double value = (double)x[i] - centre[i], whole = nearbyint(value * (1 / scale));
		double rest = fma(-scale, whole, value);

		out[i] = (int16_t)whole;
		sum = fma(rest, rest, sum);
	}
	return sum;
}

/* Two values at once: a query's pair is 32 bits, multiplied by eight pairs of a vector. */
static inline __m256i pair_of(const int16_t *a)
{
	return _mm256_castps_si256(_mm256_broadcast_ss((const float *)(const void *)a));
}

/*
 * 6 x 16 sums in 12 accumulators, 16 products per instruction: twice what FMA
 * does, and additions use other ports.
 */
static void dot_tile_avx2(const int16_t *a, const int16_t *b, size_t pairs, int32_t *sums)
{
	__m256i left[INV_DOT_ROWS], right[INV_DOT_ROWS];
	__m256i *rows = (__m256i *)(void *)sums;

#pragma GCC unroll 6
	for (int i = 0; i < INV_DOT_ROWS; i++) {
		left[i] = _mm256_loadu_si256(rows + 2 * i);
		right[i] = _mm256_loadu_si256(rows + 2 * i + 1);
	}
	for (size_t k = 0; k < pairs; k++, a += 2 * INV_DOT_ROWS, b += 2 * INV_DOT_COLS) {
		__m256i p = _mm256_loadu_si256((const __m256i *)(const void *)b);
		__m256i q = _mm256_loadu_si256((const __m256i *)(const void *)b + 1);

#pragma GCC unroll 6
		for (int i = 0; i < INV_DOT_ROWS; i++) {
			__m256i x = pair_of(a + 2 * i);

			left[i] = _mm256_add_epi32(left[i], _mm256_madd_epi16(x, p));
			right[i] = _mm256_add_epi32(right[i], _mm256_madd_epi16(x, q));
		}
	}
#pragma GCC unroll 6
	for (int i = 0; i < INV_DOT_ROWS; i++) {
		_mm256_storeu_si256(rows + 2 * i, left[i]);
		_mm256_storeu_si256(rows + 2 * i + 1, right[i]);
	}
}

static unsigned near_columns_avx2(const inv_near *t, const int32_t *dots,
                                  const float *scales, const float *squares,
                                  const uint32_t *labels, float *near)
{
	const __m256 scale = _mm256_set1_ps(t->scale), square = _mm256_set1_ps(t->square);
	const __m256 same = _mm256_set1_ps(t->same), other = _mm256_set1_ps(t->other);
	const __m256i label = _mm256_set1_epi32((int)t->label);
	unsigned bits = 0;

	for (unsigned j = 0; j < INV_DOT_COLS; j += LANES) {
		__m256 dot = _mm256_cvtepi32_ps(_mm256_loadu_si256((const __m256i *)(dots + j)));
		__m256 by = _mm256_mul_ps(scale, _mm256_loadu_ps(scales + j));
		__m256 value =
			_mm256_fnmadd_ps(by, dot, _mm256_add_ps(_mm256_loadu_ps(squares + j), square));
		__m256i own =
			_mm256_cmpeq_epi32(label, _mm256_loadu_si256((const __m256i *)(labels + j)));
		__m256 limit = _mm256_blendv_ps(other, same, _mm256_castsi256_ps(own));

		_mm256_storeu_ps(near + j, value);
		bits |= (unsigned)_mm256_movemask_ps(_mm256_cmp_ps(value, limit, _CMP_NGT_UQ)) << j;
	}
	return bits;
}

static double dot_avx2(const float *a, const float *b, size_t count)
{
	__m256d sum[4];
	double total;
	size_t i = 0;

#pragma GCC unroll 4
	for (int v = 0; v < 4; v++)
		sum[v] = _mm256_setzero_pd();
	for (; i + 16 <= count; i += 16) {
#pragma GCC unroll 4
		for (int v = 0; v < 4; v++) {
			__m256d x = _mm256_cvtps_pd(_mm_loadu_ps(a + i + 4 * v));
			__m256d y = _mm256_cvtps_pd(_mm_loadu_ps(b + i + 4 * v));

			sum[v] = _mm256_fmadd_pd(x, y, sum[v]);
		}
	}
	total = sum_lanes(
		_mm256_add_pd(_mm256_add_pd(sum[0], sum[1]), _mm256_add_pd(sum[2], sum[3])));
	for (; i < count; i++)
		total = fma((double)a[i], b[i], total);
	return total;
}

static float largest_avx2(const float *x, size_t count)
{
	__m256 a = _mm256_set1_ps(x[0]), b = a;
	float lane[LANES], max = x[0];
	size_t i = 0;

	for (; i + 2 * LANES <= count; i += 2 * LANES) {
		a = _mm256_max_ps(a, _mm256_loadu_ps(x + i));
		b = _mm256_max_ps(b, _mm256_loadu_ps(x + i + LANES));
	}
	_mm256_storeu_ps(lane, _mm256_max_ps(a, b));
	for (size_t l = 0; l < LANES; l++)
		max = lane[l] > max ? lane[l] : max;
	for (; i < count; i++)
		max = x[i] > max ? x[i] : max;
	return max;
}

static inline void add_eight(__m256 x, __m256d *low, __m256d *high)
{
	*low = _mm256_add_pd(*low, _mm256_cvtps_pd(_mm256_castps256_ps128(x)));
	*high = _mm256_add_pd(*high, _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1)));
}

static double exp_shifted_avx2(float shift, float scale, size_t count, float *x)
{
	const __m256 from = _mm256_set1_ps(shift), by = _mm256_set1_ps(scale);
	__m256d low = _mm256_setzero_pd(), high = low;
	float tail[LANES];
	size_t i = 0;

	for (; i + LANES <= count; i += LANES) {
		__m256 gap = _mm256_sub_ps(_mm256_loadu_ps(x + i), from);
		__m256 y = exp_eight(_mm256_mul_ps(by, gap));

		_mm256_storeu_ps(x + i, y);
		add_eight(y, &low, &high);
	}
	for (size_t j = 0; j < LANES; j++)
		tail[j] = i + j < count ? scale * (x[i + j] - shift) : -INFINITY;
	_mm256_storeu_ps(tail, exp_eight(_mm256_loadu_ps(tail)));
	memcpy(x + i, tail, (count - i) * sizeof *x);
	add_eight(_mm256_loadu_ps(tail), &low, &high);
	return sum_lanes(_mm256_add_pd(low, high));
}

static double exp_weighted_avx2(const float *weight, float scale, size_t count, float *x)
{
	const __m256 by = _mm256_set1_ps(-scale);
	__m256d low = _mm256_setzero_pd(), high = low;
	float tail[LANES], tail_weight[LANES];
	size_t i = 0;

	for (; i + LANES <= count; i += LANES) {
		__m256 y = exp_eight(_mm256_mul_ps(by, _mm256_loadu_ps(x + i)));

		y = _mm256_mul_ps(_mm256_loadu_ps(weight + i), y);
		_mm256_storeu_ps(x + i, y);
		add_eight(y, &low, &high);
	}
	for (size_t j = 0; j < LANES; j++) {
		tail[j] = i + j < count ? -scale * x[i + j] : -INFINITY;
		tail_weight[j] = i + j < count ? weight[i + j] : 0;
	}
	_mm256_storeu_ps(tail, _mm256_mul_ps(_mm256_loadu_ps(tail_weight),
	                                     exp_eight(_mm256_loadu_ps(tail))));
	memcpy(x + i, tail, (count - i) * sizeof *x);
	add_eight(_mm256_loadu_ps(tail), &low, &high);
	return sum_lanes(_mm256_add_pd(low, high));
}

static bool squares_of_products_avx2(float square, const float *squares, float near,
                                     size_t count, float *x)
{
	const __m256 own = _mm256_set1_ps(square), share = _mm256_set1_ps(near);
	const __m256 minus_two = _mm256_set1_ps(-2);
	__m256 found = _mm256_setzero_ps();
	bool in_tail = false;
	size_t i = 0;

	for (; i + LANES <= count; i += LANES) {
		__m256 both = _mm256_add_ps(own, _mm256_loadu_ps(squares + i));
		__m256 y = _mm256_fmadd_ps(minus_two, _mm256_loadu_ps(x + i), both);

		_mm256_storeu_ps(x + i, y);
		found =
			_mm256_or_ps(found, _mm256_cmp_ps(y, _mm256_mul_ps(share, both), _CMP_LE_OQ));
	}
	for (; i < count; i++) {
		float both = square + squares[i];

		x[i] = fmaf(-2, x[i], both);
		in_tail |= x[i] <= near * both;
	}
	return in_tail || _mm256_movemask_ps(found);
}

static inline void load_block(const float *x, size_t stride, __m256 r[LANES])
{
#pragma GCC unroll 8
	for (int i = 0; i < LANES; i++)
		r[i] = _mm256_loadu_ps(x + (size_t)i * stride);
}

static inline void store_block(const __m256 r[LANES], size_t stride, float *x)
{
#pragma GCC unroll 8
	for (int i = 0; i < LANES; i++)
		_mm256_storeu_ps(x + (size_t)i * stride, r[i]);
}

static void transpose_avx2(const float *x, size_t rows, size_t cols, size_t x_stride,
                           size_t out_stride, float *out)
{
	size_t whole_rows = rows - rows % LANES, whole_cols = cols - cols % LANES;

	for (size_t j = 0; j < whole_cols; j += LANES)
		for (size_t i = 0; i < whole_rows; i += LANES) {
			__m256 r[LANES];

			load_block(x + i * x_stride + j, x_stride, r);
			inv_transpose_block(r);
			store_block(r, out_stride, out + j * out_stride + i);
		}
	for (size_t i = 0; i < rows; i++)
		for (size_t j = i < whole_rows ? whole_cols : 0; j < cols; j++)
			out[j * out_stride + i] = x[i * x_stride + j];
}

static inline void mirror_block(const float *row_scale, const float *col_scale,
                                size_t stride, float *x, float *y)
{
	const __m256 by_col = _mm256_loadu_ps(col_scale);
	__m256 r[LANES], s[LANES];

	load_block(x, stride, r);
	load_block(y, stride, s);
	inv_transpose_block(s);
#pragma GCC unroll 8
	for (int i = 0; i < LANES; i++)
		s[i] = _mm256_add_ps(_mm256_mul_ps(_mm256_set1_ps(row_scale[i]), r[i]),
		                     _mm256_mul_ps(by_col, s[i]));
	store_block(s, stride, x);
	inv_transpose_block(s);
	store_block(s, stride, y);
}

static void add_mirrored_avx2(const float *row_scale, const float *col_scale, size_t rows,
                              size_t cols, size_t stride, float *x, float *y)
{
	size_t whole_rows = rows - rows % LANES, whole_cols = cols - cols % LANES;

	for (size_t i = 0; i < whole_rows; i += LANES)
		for (size_t j = x == y ? i : 0; j < whole_cols; j += LANES)
			mirror_block(row_scale + i, col_scale + j, stride, x + i * stride + j,
			             y + j * stride + i);
	for (size_t i = 0; i < rows; i++) {
		size_t from = i < whole_rows ? whole_cols : 0;

		for (size_t j = x == y && i > from ? i : from; j < cols; j++) {
			float sum = row_scale[i] * x[i * stride + j] + col_scale[j] * y[j * stride + i];

			x[i * stride + j] = y[j * stride + i] = sum;
		}
	}
}

/* Few values have the requested upper bits: eight at a time are skipped. */
static void count_lower_avx2(const float *x, size_t count, uint32_t upper, uint32_t *counts)
{
	const __m256i wanted = _mm256_set1_epi32((int)upper);
	size_t i = 0;

	for (; i + LANES <= count; i += LANES) {
		__m256i bits = _mm256_slli_epi32(_mm256_loadu_si256((const __m256i *)(x + i)), 1);
		__m256i same = _mm256_cmpeq_epi32(_mm256_srli_epi32(bits, 17), wanted);
		unsigned on = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(same));

		for (; on; on &= on - 1) {
			uint16_t lower;

			memcpy(&lower, x + i + __builtin_ctz(on), sizeof lower);
			counts[lower]++;
		}
	}
	for (; i < count; i++) {
		uint32_t bits;

		memcpy(&bits, x + i, sizeof bits);
		if ((bits & 0x7fffffff) >> 16 == upper)
			counts[bits & 0xffff]++;
	}
}

void inv_kernels_avx2(struct inv_kernels *k)
{
	k->all_finite = all_finite_avx2;
	k->widen_half = widen_half_avx2;
	k->narrow_half = narrow_half_avx2;
	k->add = add_avx2;
	k->column_sums = column_sums_avx2;
	k->relu_backward = relu_backward_avx2;
	k->squared_error = squared_error_avx2;
	k->adamw = adamw_avx2;
	k->pack_points = pack_points_avx2;
	k->pair_distances = pair_distances_avx2;
	k->pair_sums = pair_sums_avx2;
	k->squared_distance = squared_distance_avx2;
	k->quantise = quantise_avx2;
	k->dot_tile = dot_tile_avx2;
	k->near_columns = near_columns_avx2;
	k->dot = dot_avx2;
	k->largest = largest_avx2;
	k->exp_shifted = exp_shifted_avx2;
	k->exp_weighted = exp_weighted_avx2;
	k->squares_of_products = squares_of_products_avx2;
	k->transpose = transpose_avx2;
	k->add_mirrored = add_mirrored_avx2;
	k->count_lower = count_lower_avx2;
}
