/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels_neon.c - the kernels for NEON, which every 64-bit ARM processor has.
 *
 * Vectors have four floats, but sums are cut as in kernels_avx2.c, into those of eight or
 * sixteen numbers side by side, and added up in its order: both give the same bits.
 */
#include <arm_neon.h>
#include <math.h>
#include <string.h>

#include "math/exp_neon.h"
#include "math/kernels.h"
#include "math/transpose_neon.h"

enum { LANES = 4, WIDE = 8 }; /* floats of a vector; of one of AVX2 */

static bool all_finite_neon(const float *x, size_t count)
{
	const uint32x4_t exponent = vdupq_n_u32(0x7f800000);
	uint32x4_t bad = vdupq_n_u32(0);
	size_t i = 0;

	for (; i + LANES <= count; i += LANES) {
		uint32x4_t bits = vandq_u32(vreinterpretq_u32_f32(vld1q_f32(x + i)), exponent);

		bad = vorrq_u32(bad, vceqq_u32(bits, exponent));
	}
	for (; i < count; i++)
		if (!isfinite(x[i]))
			return false;
	return vmaxvq_u32(bad) == 0;
}

static void widen_half_neon(const uint16_t *half, size_t count, float *out)
{
	uint16_t rest[LANES] = {0};
	float wide[LANES];
	size_t i = 0;

	for (; i + LANES <= count; i += LANES)
		vst1q_f32(out + i, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(half + i))));
	memcpy(rest, half + i, (count - i) * sizeof *rest);
	vst1q_f32(wide, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(rest))));
	memcpy(out + i, wide, (count - i) * sizeof *out);
}

static void narrow_half_neon(const float *x, size_t count, uint16_t *half)
{
	float rest[LANES] = {0};
	uint16_t narrow[LANES];
	size_t i = 0;

	for (; i + LANES <= count; i += LANES)
		vst1_u16(half + i, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(x + i))));
	memcpy(rest, x + i, (count - i) * sizeof *rest);
	vst1_u16(narrow, vreinterpret_u16_f16(vcvt_f16_f32(vld1q_f32(rest))));
	memcpy(half + i, narrow, (count - i) * sizeof *half);
}

static void add_neon(const float *x, size_t count, float *y)
{
	size_t i = 0;

	for (; i + LANES <= count; i += LANES)
		vst1q_f32(y + i, vaddq_f32(vld1q_f32(y + i), vld1q_f32(x + i)));
	for (; i < count; i++)
		y[i] += x[i];
}

static void column_sums_neon(const float *x, size_t rows, size_t width, float *sums)
{
	for (size_t i = 0; i < rows; i++)
		add_neon(x + i * width, width, sums);
}

static inline float32x4_t keep_where(uint32x4_t on, float32x4_t x)
{
	return vreinterpretq_f32_u32(vandq_u32(on, vreinterpretq_u32_f32(x)));
}

static void relu_backward_row(const float *h, size_t width, float *dh, float *sums)
{
	size_t j = 0;

	for (; j + LANES <= width; j += LANES) {
		float32x4_t g = keep_where(vcgtzq_f32(vld1q_f32(h + j)), vld1q_f32(dh + j));

		vst1q_f32(dh + j, g);
		vst1q_f32(sums + j, vaddq_f32(vld1q_f32(sums + j), g));
	}
	for (; j < width; j++) {
		dh[j] = h[j] > 0 ? dh[j] : 0;
		sums[j] += dh[j];
	}
}

static void relu_backward_neon(const float *h, size_t rows, size_t width, size_t stride,
                               float *dh, float *sums)
{
	for (size_t i = 0; i < rows; i++)
		relu_backward_row(h + i * stride, width, dh + i * stride, sums);
}

/* ---- Sums in double: those of eight floats side by side ----------------------------- */

enum { PAIRS = WIDE / 2 }; /* vectors of two doubles */

static inline void clear(float64x2_t *sums, int count)
{
	for (int v = 0; v < count; v++)
		sums[v] = vdupq_n_f64(0);
}

static inline float64x2_t widen(const float *x)
{
	return vcvt_f64_f32(vld1_f32(x));
}

/* The lower and the upper four are added, then the first two, then the last two. */
static inline double sum_eight(const float64x2_t s[PAIRS])
{
	return vaddvq_f64(vaddq_f64(s[0], s[2])) + vaddvq_f64(vaddq_f64(s[1], s[3]));
}

static inline void add_four(float32x4_t x, float64x2_t sums[2])
{
	sums[0] = vaddq_f64(sums[0], vcvt_f64_f32(vget_low_f32(x)));
	sums[1] = vaddq_f64(sums[1], vcvt_high_f64_f32(x));
}

/* Of sixteen floats: quarters in pairs. */
static inline double sum_sixteen(const float64x2_t s[2 * PAIRS])
{
	float64x2_t first = vaddq_f64(vaddq_f64(s[0], s[2]), vaddq_f64(s[4], s[6]));
	float64x2_t second = vaddq_f64(vaddq_f64(s[1], s[3]), vaddq_f64(s[5], s[7]));

	return vaddvq_f64(first) + vaddvq_f64(second);
}

static double squared_error_neon(const float *y, const float *target, size_t count,
                                 float scale, float *grad)
{
	float64x2_t sums[PAIRS];
	double sum;
	size_t i = 0;

	clear(sums, PAIRS);
	for (; i + WIDE <= count; i += WIDE)
		for (int half = 0; half < 2; half++) {
			size_t at = i + (size_t)half * LANES;
			float32x4_t error = vsubq_f32(vld1q_f32(y + at), vld1q_f32(target + at));
			float64x2_t a = vcvt_f64_f32(vget_low_f32(error));
			float64x2_t b = vcvt_high_f64_f32(error);

			sums[2 * half] = vfmaq_f64(sums[2 * half], a, a);
			sums[2 * half + 1] = vfmaq_f64(sums[2 * half + 1], b, b);
			vst1q_f32(grad + at, vmulq_n_f32(error, scale));
		}
	sum = sum_eight(sums);
	for (; i < count; i++) {
		float error = y[i] - target[i];

		sum += (double)error * error;
		grad[i] = scale * error;
	}
	return sum;
}

static double squared_distance_neon(const float *a, const float *b, size_t count)
{
	float64x2_t sums[2 * PAIRS];
	double total;
	size_t i = 0;

	clear(sums, 2 * PAIRS);
	for (; i + 2 * WIDE <= count; i += 2 * WIDE)
#pragma GCC unroll 8
		for (size_t v = 0; v < 2 * PAIRS; v++) {
			float64x2_t gap = vsubq_f64(widen(a + i + 2 * v), widen(b + i + 2 * v));

			sums[v] = vfmaq_f64(sums[v], gap, gap);
		}
	total = sum_sixteen(sums);
	for (; i < count; i++)
		total = fma((double)a[i] - b[i], (double)a[i] - b[i], total);
	return total;
}

static double dot_neon(const float *a, const float *b, size_t count)
{
	float64x2_t sums[2 * PAIRS];
	double total;
	size_t i = 0;

	clear(sums, 2 * PAIRS);
	for (; i + 2 * WIDE <= count; i += 2 * WIDE)
#pragma GCC unroll 8
		for (size_t v = 0; v < 2 * PAIRS; v++)
			sums[v] = vfmaq_f64(sums[v], widen(a + i + 2 * v), widen(b + i + 2 * v));
	total = sum_sixteen(sums);
	for (; i < count; i++)
		total = fma((double)a[i], b[i], total);
	return total;
}

/* ---- AdamW ----------------------------------------------------------------------------
 */

static void adamw_one(const inv_adamw_rates *r, float g, float *p, float *m, float *v)
{
	*m = fmaf(r->beta1, *m, r->rest1 * g);
	*v = fmaf(r->beta2, *v, r->rest2 * g * g);
	*p = fmaf(*p, r->keep, -(r->step * *m / (sqrtf(*v) / r->root + r->eps)));
}

static void adamw_neon(const inv_adamw_rates *r, const float *grad, size_t count, float *p,
                       float *m, float *v)
{
	const float32x4_t root = vdupq_n_f32(r->root), eps = vdupq_n_f32(r->eps);
	size_t i = 0;

	for (; i + LANES <= count; i += LANES) {
		float32x4_t g = vld1q_f32(grad + i);
		float32x4_t mi = vfmaq_n_f32(vmulq_n_f32(g, r->rest1), vld1q_f32(m + i), r->beta1);
		float32x4_t vi =
			vfmaq_n_f32(vmulq_f32(vmulq_n_f32(g, r->rest2), g), vld1q_f32(v + i), r->beta2);
		float32x4_t below = vaddq_f32(vdivq_f32(vsqrtq_f32(vi), root), eps);
		float32x4_t move = vdivq_f32(vmulq_n_f32(mi, r->step), below);

		vst1q_f32(m + i, mi);
		vst1q_f32(v + i, vi);
		vst1q_f32(p + i, vfmaq_n_f32(vnegq_f32(move), vld1q_f32(p + i), r->keep));
	}
	for (; i < count; i++)
		adamw_one(r, grad[i], p + i, m + i, v + i);
}

/* ---- Distances ------------------------------------------------------------------------
 */

static void turn_four(const float *const points[LANES], size_t k, float *packed)
{
	float32x4_t r[LANES];

	for (int i = 0; i < LANES; i++)
		r[i] = vld1q_f32(points[i] + k);
	inv_transpose_four(r);
	for (int i = 0; i < LANES; i++)
		vst1q_f32(packed + (k + (size_t)i) * INV_PAIR_COLS, r[i]);
}

static void pack_points_neon(const float *const points[INV_PAIR_COLS], size_t width,
                             float *packed)
{
	size_t k = 0;

	for (; k + LANES <= width; k += LANES)
		for (size_t j = 0; j < INV_PAIR_COLS; j += LANES)
			turn_four(points + j, k, packed + j);
	for (; k < width; k++)
		for (size_t j = 0; j < INV_PAIR_COLS; j++)
			packed[k * INV_PAIR_COLS + j] = points[j][k];
}

/*
 * 6 x 16 distances in 24 of the 32 registers; all loops over rows and vectors are unrolled,
 * or the accumulators would spill to memory.
 */
enum { ACROSS = INV_PAIR_COLS / LANES };

static void add_distances(const float *x, const float *packed, size_t from, size_t end,
                          size_t stride, float *out)
{
	float32x4_t sum[INV_PAIR_ROWS][ACROSS];

#pragma GCC unroll 6
	for (int i = 0; i < INV_PAIR_ROWS; i++)
#pragma GCC unroll 4
		for (int v = 0; v < ACROSS; v++)
			sum[i][v] = vdupq_n_f32(0);
	for (size_t k = from; k < end; k++) {
		float32x4_t point[ACROSS];

#pragma GCC unroll 4
		for (int v = 0; v < ACROSS; v++)
			point[v] = vld1q_f32(packed + k * INV_PAIR_COLS + v * LANES);
#pragma GCC unroll 6
		for (int i = 0; i < INV_PAIR_ROWS; i++) {
			const float32x4_t xi = vld1q_dup_f32(x + (size_t)i * stride + k);

#pragma GCC unroll 4
			for (int v = 0; v < ACROSS; v++) {
				float32x4_t gap = vsubq_f32(xi, point[v]);

				sum[i][v] = vfmaq_f32(sum[i][v], gap, gap);
			}
		}
	}
#pragma GCC unroll 6
	for (int i = 0; i < INV_PAIR_ROWS; i++)
#pragma GCC unroll 4
		for (int v = 0; v < ACROSS; v++) {
			float *to = out + i * INV_PAIR_COLS + v * LANES;

			vst1q_f32(to, vaddq_f32(vld1q_f32(to), sum[i][v]));
		}
}

static void pair_distances_neon(const float *x, const float *packed, size_t d,
                                size_t stride, float *out)
{
	memset(out, 0, INV_PAIR_ROWS * INV_PAIR_COLS * sizeof *out);
	for (size_t from = 0; from < d; from += INV_PAIR_SUM)
		add_distances(x, packed, from, from + INV_PAIR_SUM < d ? from + INV_PAIR_SUM : d,
		              stride, out);
}

/* Two pairs at a time in double; a pair with d = 0 is masked out of every sum. */
typedef struct lanes {
	float64x2_t d, e, dd, ee, de, gap, d_min, d_max, ratio_min, ratio_max;
} lanes;

static lanes lanes_start(const inv_pair_sums *s)
{
	return (lanes){.d_min = vdupq_n_f64(s->d_min),
	               .d_max = vdupq_n_f64(s->d_max),
	               .ratio_min = vdupq_n_f64(s->ratio_min),
	               .ratio_max = vdupq_n_f64(s->ratio_max)};
}

static inline float64x2_t keep_two(uint64x2_t on, float64x2_t x)
{
	return vreinterpretq_f64_u64(vandq_u64(on, vreinterpretq_u64_f64(x)));
}

static inline unsigned lanes_add(lanes *l, const float *d2, const float *e2, double shift_d,
                                 double shift_e)
{
	const float64x2_t inf = vdupq_n_f64(INFINITY);
	float64x2_t d = vsqrtq_f64(widen(d2)), e = vsqrtq_f64(widen(e2));
	uint64x2_t zero = vceqzq_f64(d), on = vceqzq_u64(zero);
	float64x2_t ratio = vdivq_f64(e, d), gap = keep_two(on, vsubq_f64(e, d));

	l->d_min = vminnmq_f64(l->d_min, vbslq_f64(on, d, inf));
	l->d_max = vmaxnmq_f64(l->d_max, d);
	l->ratio_min = vminnmq_f64(l->ratio_min, vbslq_f64(on, ratio, inf));
	l->ratio_max = vmaxnmq_f64(l->ratio_max, keep_two(on, ratio));
	l->gap = vfmaq_f64(l->gap, gap, gap);
	d = keep_two(on, vsubq_f64(d, vdupq_n_f64(shift_d)));
	e = keep_two(on, vsubq_f64(e, vdupq_n_f64(shift_e)));
	l->d = vaddq_f64(l->d, d);
	l->e = vaddq_f64(l->e, e);
	l->dd = vfmaq_f64(l->dd, d, d);
	l->ee = vfmaq_f64(l->ee, e, e);
	l->de = vfmaq_f64(l->de, d, e);
	return (unsigned)(vgetq_lane_u64(on, 0) & 1) + (unsigned)(vgetq_lane_u64(on, 1) & 1);
}

static inline double sum_both(float64x2_t a, float64x2_t b)
{
	return vaddvq_f64(a) + vaddvq_f64(b);
}

static void lanes_fold(const lanes l[2], inv_pair_sums *s)
{
	s->d += sum_both(l[0].d, l[1].d);
	s->e += sum_both(l[0].e, l[1].e);
	s->dd += sum_both(l[0].dd, l[1].dd);
	s->ee += sum_both(l[0].ee, l[1].ee);
	s->de += sum_both(l[0].de, l[1].de);
	s->gap += sum_both(l[0].gap, l[1].gap);
	for (int i = 0; i < 2; i++) {
		s->d_min = fmin(s->d_min, vminnmvq_f64(l[i].d_min));
		s->d_max = fmax(s->d_max, vmaxnmvq_f64(l[i].d_max));
		s->ratio_min = fmin(s->ratio_min, vminnmvq_f64(l[i].ratio_min));
		s->ratio_max = fmax(s->ratio_max, vmaxnmvq_f64(l[i].ratio_max));
	}
}

static void pair_sums_neon(const float *d2, const float *e2, size_t count, double shift_d,
                           double shift_e, inv_pair_sums *s)
{
	float tail_d[LANES] = {0}, tail_e[LANES] = {0};
	lanes l[2] = {lanes_start(s), lanes_start(s)};
	uint64_t on = 0;
	size_t i = 0;

	for (; i + LANES <= count; i += LANES)
		for (size_t half = 0; half < 2; half++)
			on +=
				lanes_add(&l[half], d2 + i + 2 * half, e2 + i + 2 * half, shift_d, shift_e);
	memcpy(tail_d, d2 + i, (count - i) * sizeof *d2);
	memcpy(tail_e, e2 + i, (count - i) * sizeof *e2);
	for (size_t half = 0; half < 2 && i < count; half++)
		on += lanes_add(&l[half], tail_d + 2 * half, tail_e + 2 * half, shift_d, shift_e);
	lanes_fold(l, s);
	s->pairs += on;
	s->zero_pairs += count - on;
}

/* ---- 16-bit integers --------------------------------------------------------------------
 */

/* Two values to integers; adds the squares of the rounding errors. */
static inline int32x2_t quantise_two(const float *x, const float *centre, double scale,
                                     double inverse, float64x2_t *lost)
{
	float64x2_t value = vsubq_f64(widen(x), widen(centre));
	float64x2_t whole = vrndnq_f64(vmulq_n_f64(value, inverse));
	float64x2_t rest = vfmsq_n_f64(value, whole, scale);

	*lost = vfmaq_f64(*lost, rest, rest);
	return vmovn_s64(vcvtq_s64_f64(whole));
}

static double quantise_neon(const float *x, const float *centre, size_t count, double scale,
                            int16_t *out)
{
	const double inverse = 1 / scale;
	float64x2_t lost[PAIRS];
	double sum;
	size_t i = 0;

	clear(lost, PAIRS);
	for (; i + WIDE <= count; i += WIDE)
		for (size_t half = 0; half < PAIRS; half += 2) {
			size_t at = i + 2 * half;
			int32x2_t a = quantise_two(x + at, centre + at, scale, inverse, &lost[half]);
			int32x2_t b =
				quantise_two(x + at + 2, centre + at + 2, scale, inverse, &lost[half + 1]);

			vst1_s16(out + at, vqmovn_s32(vcombine_s32(a, b)));
		}
	sum = sum_eight(lost);
	for (; i < count; i++) {
		double value = (double)x[i] - centre[i], whole = nearbyint(value * inverse);
		double rest = fma(-scale, whole, value);

		out[i] = (int16_t)whole;
		sum = fma(rest, rest, sum);
	}
	return sum;
}

/* 6 x 16 sums in 24 registers; the pairs of b are taken apart as they are loaded. */
static void dot_tile_neon(const int16_t *a, const int16_t *b, size_t pairs, int32_t *sums)
{
	int32x4_t sum[INV_DOT_ROWS][4];

#pragma GCC unroll 6
	for (int i = 0; i < INV_DOT_ROWS; i++)
#pragma GCC unroll 4
		for (int v = 0; v < 4; v++)
			sum[i][v] = vld1q_s32(sums + i * INV_DOT_COLS + v * LANES);
	for (size_t k = 0; k < pairs; k++, a += 2 * INV_DOT_ROWS, b += 2 * INV_DOT_COLS) {
		const int16x8x2_t p = vld2q_s16(b), q = vld2q_s16(b + INV_DOT_COLS);

#pragma GCC unroll 6
		for (int i = 0; i < INV_DOT_ROWS; i++)
#pragma GCC unroll 2
			for (int of = 0; of < 2; of++) {
				int16_t x = a[2 * i + of];

				sum[i][0] = vmlal_n_s16(sum[i][0], vget_low_s16(p.val[of]), x);
				sum[i][1] = vmlal_high_n_s16(sum[i][1], p.val[of], x);
				sum[i][2] = vmlal_n_s16(sum[i][2], vget_low_s16(q.val[of]), x);
				sum[i][3] = vmlal_high_n_s16(sum[i][3], q.val[of], x);
			}
	}
#pragma GCC unroll 6
	for (int i = 0; i < INV_DOT_ROWS; i++)
#pragma GCC unroll 4
		for (int v = 0; v < 4; v++)
			vst1q_s32(sums + i * INV_DOT_COLS + v * LANES, sum[i][v]);
}

/* One bit per lane. */
static inline unsigned bits_of(uint32x4_t on)
{
	static const uint32_t place[LANES] = {1, 2, 4, 8};

	return vaddvq_u32(vandq_u32(on, vld1q_u32(place)));
}

static unsigned near_columns_neon(const inv_near *t, const int32_t *dots,
                                  const float *scales, const float *squares,
                                  const uint32_t *labels, float *near)
{
	const float32x4_t square = vdupq_n_f32(t->square);
	const float32x4_t same = vdupq_n_f32(t->same), other = vdupq_n_f32(t->other);
	const uint32x4_t label = vdupq_n_u32(t->label);
	unsigned bits = 0;

	for (unsigned j = 0; j < INV_DOT_COLS; j += LANES) {
		float32x4_t dot = vcvtq_f32_s32(vld1q_s32(dots + j));
		float32x4_t by = vmulq_n_f32(vld1q_f32(scales + j), t->scale);
		float32x4_t value = vfmsq_f32(vaddq_f32(vld1q_f32(squares + j), square), by, dot);
		uint32x4_t own = vceqq_u32(label, vld1q_u32(labels + j));
		float32x4_t limit = vbslq_f32(own, same, other);

		vst1q_f32(near + j, value);
		bits |= bits_of(vmvnq_u32(vcgtq_f32(value, limit))) << j;
	}
	return bits;
}

/* ---- Exponentials and maxima
 * -------------------------------------------------------------- */

static float largest_neon(const float *x, size_t count)
{
	float32x4_t a = vdupq_n_f32(x[0]), b = a;
	size_t i = 0;
	float max;

	for (; i + 2 * LANES <= count; i += 2 * LANES) {
		a = vmaxnmq_f32(a, vld1q_f32(x + i));
		b = vmaxnmq_f32(b, vld1q_f32(x + i + LANES));
	}
	max = vmaxnmvq_f32(vmaxnmq_f32(a, b));
	for (; i < count; i++)
		max = x[i] > max ? x[i] : max;
	return max;
}

/* Eight at once, `count` of them real; the others are 0 and add nothing. */
static void finish_tail(float tail[WIDE], const float *weight, size_t count, float *x,
                        float64x2_t sums[PAIRS])
{
	for (size_t half = 0; half < 2; half++) {
		float32x4_t y = exp_four(vld1q_f32(tail + half * LANES));

		if (weight)
			y = vmulq_f32(vld1q_f32(weight + half * LANES), y);
		vst1q_f32(tail + half * LANES, y);
		add_four(y, sums + 2 * half);
	}
	memcpy(x, tail, count * sizeof *x);
}

static double exp_shifted_neon(float shift, float scale, size_t count, float *x)
{
	const float32x4_t from = vdupq_n_f32(shift);
	float64x2_t sums[PAIRS];
	float tail[WIDE];
	size_t i = 0;

	clear(sums, PAIRS);
	for (; i + WIDE <= count; i += WIDE)
#pragma GCC unroll 2
		for (size_t half = 0; half < 2; half++) {
			float *at = x + i + half * LANES;
			float32x4_t y = exp_four(vmulq_n_f32(vsubq_f32(vld1q_f32(at), from), scale));

			vst1q_f32(at, y);
			add_four(y, sums + 2 * half);
		}
	for (size_t j = 0; j < WIDE; j++)
		tail[j] = i + j < count ? scale * (x[i + j] - shift) : -INFINITY;
	finish_tail(tail, NULL, count - i, x + i, sums);
	return sum_eight(sums);
}

static double exp_weighted_neon(const float *weight, float scale, size_t count, float *x)
{
	float tail[WIDE], tail_weight[WIDE];
	float64x2_t sums[PAIRS];
	size_t i = 0;

	clear(sums, PAIRS);
	for (; i + WIDE <= count; i += WIDE)
#pragma GCC unroll 2
		for (size_t half = 0; half < 2; half++) {
			size_t at = i + half * LANES;
			float32x4_t y = exp_four(vmulq_n_f32(vld1q_f32(x + at), -scale));

			y = vmulq_f32(vld1q_f32(weight + at), y);
			vst1q_f32(x + at, y);
			add_four(y, sums + 2 * half);
		}
	for (size_t j = 0; j < WIDE; j++) {
		tail[j] = i + j < count ? -scale * x[i + j] : -INFINITY;
		tail_weight[j] = i + j < count ? weight[i + j] : 0;
	}
	finish_tail(tail, tail_weight, count - i, x + i, sums);
	return sum_eight(sums);
}

/* ---- Matrices of all pairs
 * ------------------------------------------------------------------ */

static bool squares_of_products_neon(float square, const float *squares, float near,
                                     size_t count, float *x)
{
	const float32x4_t own = vdupq_n_f32(square);
	uint32x4_t found = vdupq_n_u32(0);
	bool in_tail = false;
	size_t i = 0;

	for (; i + LANES <= count; i += LANES) {
		float32x4_t both = vaddq_f32(own, vld1q_f32(squares + i));
		float32x4_t y = vfmaq_n_f32(both, vld1q_f32(x + i), -2);

		vst1q_f32(x + i, y);
		found = vorrq_u32(found, vcleq_f32(y, vmulq_n_f32(both, near)));
	}
	for (; i < count; i++) {
		float both = square + squares[i];

		x[i] = fmaf(-2, x[i], both);
		in_tail |= x[i] <= near * both;
	}
	return in_tail || vmaxvq_u32(found);
}

static inline void load_block(const float *x, size_t stride, float32x4_t r[LANES])
{
	for (int i = 0; i < LANES; i++)
		r[i] = vld1q_f32(x + (size_t)i * stride);
}

static inline void store_block(const float32x4_t r[LANES], size_t stride, float *x)
{
	for (int i = 0; i < LANES; i++)
		vst1q_f32(x + (size_t)i * stride, r[i]);
}

static void transpose_neon(const float *x, size_t rows, size_t cols, size_t x_stride,
                           size_t out_stride, float *out)
{
	size_t whole_rows = rows - rows % LANES, whole_cols = cols - cols % LANES;

	for (size_t j = 0; j < whole_cols; j += LANES)
		for (size_t i = 0; i < whole_rows; i += LANES) {
			float32x4_t r[LANES];

			load_block(x + i * x_stride + j, x_stride, r);
			inv_transpose_four(r);
			store_block(r, out_stride, out + j * out_stride + i);
		}
	for (size_t i = 0; i < rows; i++)
		for (size_t j = i < whole_rows ? whole_cols : 0; j < cols; j++)
			out[j * out_stride + i] = x[i * x_stride + j];
}

static inline void mirror_block(const float *row_scale, const float *col_scale,
                                size_t stride, float *x, float *y)
{
	const float32x4_t by_col = vld1q_f32(col_scale);
	float32x4_t r[LANES], s[LANES];

	load_block(x, stride, r);
	load_block(y, stride, s);
	inv_transpose_four(s);
	for (int i = 0; i < LANES; i++)
		s[i] = vaddq_f32(vmulq_n_f32(r[i], row_scale[i]), vmulq_f32(by_col, s[i]));
	store_block(s, stride, x);
	inv_transpose_four(s);
	store_block(s, stride, y);
}

static void add_mirrored_neon(const float *row_scale, const float *col_scale, size_t rows,
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

static void count_if(const float *x, uint32_t upper, uint32_t *counts)
{
	uint32_t bits;

	memcpy(&bits, x, sizeof bits);
	if ((bits & 0x7fffffff) >> 16 == upper)
		counts[bits & 0xffff]++;
}

/* Few values have the requested upper bits: four at a time are skipped. */
static void count_lower_neon(const float *x, size_t count, uint32_t upper, uint32_t *counts)
{
	const uint32x4_t wanted = vdupq_n_u32(upper);
	size_t i = 0;

	for (; i + LANES <= count; i += LANES) {
		uint32x4_t bits = vshlq_n_u32(vreinterpretq_u32_f32(vld1q_f32(x + i)), 1);

		if (vmaxvq_u32(vceqq_u32(vshrq_n_u32(bits, 17), wanted)))
			for (size_t l = 0; l < LANES; l++)
				count_if(x + i + l, upper, counts);
	}
	for (; i < count; i++)
		count_if(x + i, upper, counts);
}

void inv_kernels_neon(struct inv_kernels *k)
{
	k->all_finite = all_finite_neon;
	k->widen_half = widen_half_neon;
	k->narrow_half = narrow_half_neon;
	k->add = add_neon;
	k->column_sums = column_sums_neon;
	k->relu_backward = relu_backward_neon;
	k->squared_error = squared_error_neon;
	k->adamw = adamw_neon;
	k->pack_points = pack_points_neon;
	k->pair_distances = pair_distances_neon;
	k->pair_sums = pair_sums_neon;
	k->squared_distance = squared_distance_neon;
	k->quantise = quantise_neon;
	k->dot_tile = dot_tile_neon;
	k->near_columns = near_columns_neon;
	k->dot = dot_neon;
	k->largest = largest_neon;
	k->exp_shifted = exp_shifted_neon;
	k->exp_weighted = exp_weighted_neon;
	k->squares_of_products = squares_of_products_neon;
	k->transpose = transpose_neon;
	k->add_mirrored = add_mirrored_neon;
	k->count_lower = count_lower_neon;
}
