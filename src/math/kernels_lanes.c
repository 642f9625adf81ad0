/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernels_lanes.c - the kernels over lanes, see lanes.h.
 *
 * Tails shorter than a vector run the same arithmetic one by one, so a value does not
 * depend on where its array ends.
 */
#include <math.h>

#include "math/kernels.h"
#include "math/lanes.h"

enum { QUAD = 4, EIGHT = 8, SIXTEEN = 16 };

static bool all_finite(const float *x, size_t count)
{
	const int32_t exponent = 0x7f800000;
	ints bad = {0};
	size_t i = 0;

	for (; i + LANES <= count; i += LANES)
		bad |= (load_ints(x + i) & exponent) == exponent;
	for (; i < count; i++)
		if (!isfinite(x[i]))
			return false;
	return !lane_bits(bad);
}

static void widen_half(const uint16_t *half, size_t count, float *out)
{
	uint16_t rest[LANES] = {0};
	float wide[LANES];
	size_t i = 0;

	for (; i + LANES <= count; i += LANES)
		store(out + i, load_half(half + i));
	if (i == count)
		return;
	memcpy(rest, half + i, (count - i) * sizeof *rest);
	store(wide, load_half(rest));
	memcpy(out + i, wide, (count - i) * sizeof *out);
}

static void add(const float *x, size_t count, float *y)
{
	size_t i = 0;

	for (; i + LANES <= count; i += LANES)
		store(y + i, load(y + i) + load(x + i));
	for (; i < count; i++)
		y[i] += x[i];
}

static void column_sums(const float *x, size_t rows, size_t width, float *sums)
{
	for (size_t i = 0; i < rows; i++)
		add(x + i * width, width, sums);
}

static void relu_backward(const float *h, size_t rows, size_t width, size_t stride,
                          float *dh, float *sums)
{
	for (size_t i = 0; i < rows; i++, h += stride, dh += stride) {
		size_t j = 0;

		for (; j + LANES <= width; j += LANES) {
			vec g = keep(load(h + j) > 0.0f, load(dh + j));

			store(dh + j, g);
			store(sums + j, load(sums + j) + g);
		}
		for (; j < width; j++) {
			dh[j] = h[j] > 0 ? dh[j] : 0;
			sums[j] += dh[j];
		}
	}
}

/* ---- Sums in double ----------------------------------------------------------------- */

static double squared_error(const float *y, const float *target, size_t count, float scale,
                            float *grad)
{
	four sums[2] = {splat4(0), splat4(0)};
	double sum;
	size_t i = 0;

	for (; i + EIGHT <= count; i += EIGHT) {
		vec error[PARTS];

#pragma GCC unroll 2
		for (size_t v = 0; v < PARTS; v++) {
			const size_t at = i + v * LANES;

			error[v] = load(y + at) - load(target + at);
			store(grad + at, error[v] * scale);
		}
#pragma GCC unroll 2
		for (size_t half = 0; half < 2; half++) {
			four wide = widen4(quad_of(error, half));

			sums[half] = madd4(wide, wide, sums[half]);
		}
	}
	sum = sum4(add4(sums[0], sums[1]));
	for (; i < count; i++) {
		float error = y[i] - target[i];

		sum += (double)error * error;
		grad[i] = scale * error;
	}
	return sum;
}

static inline double sum_sixteen(const four s[4])
{
	return sum4(add4(add4(s[0], s[1]), add4(s[2], s[3])));
}

static double squared_distance(const float *a, const float *b, size_t count)
{
	four sums[4] = {splat4(0), splat4(0), splat4(0), splat4(0)};
	double total;
	size_t i = 0;

	for (; i + SIXTEEN <= count; i += SIXTEEN)
#pragma GCC unroll 4
		for (size_t v = 0; v < 4; v++) {
			const size_t at = i + v * QUAD;
			four gap = sub4(widen4(load_quad(a + at)), widen4(load_quad(b + at)));

			sums[v] = madd4(gap, gap, sums[v]);
		}
	total = sum_sixteen(sums);
	for (; i < count; i++)
		total = fma((double)a[i] - b[i], (double)a[i] - b[i], total);
	return total;
}

static double dot(const float *a, const float *b, size_t count)
{
	four sums[4] = {splat4(0), splat4(0), splat4(0), splat4(0)};
	double total;
	size_t i = 0;

	for (; i + SIXTEEN <= count; i += SIXTEEN)
#pragma GCC unroll 4
		for (size_t v = 0; v < 4; v++) {
			const size_t at = i + v * QUAD;

			sums[v] = madd4(widen4(load_quad(a + at)), widen4(load_quad(b + at)), sums[v]);
		}
	total = sum_sixteen(sums);
	for (; i < count; i++)
		total = fma((double)a[i], b[i], total);
	return total;
}

static double quantise(const float *x, const float *centre, size_t count, double scale,
                       int16_t *out)
{
	const four less = splat4(-scale), inverse = splat4(1 / scale);
	four lost[2] = {splat4(0), splat4(0)};
	double sum;
	size_t i = 0;

	for (; i + EIGHT <= count; i += EIGHT) {
		four whole[2];

#pragma GCC unroll 2
		for (size_t half = 0; half < 2; half++) {
			const size_t at = i + half * QUAD;
			four value = sub4(widen4(load_quad(x + at)), widen4(load_quad(centre + at))),
				 rest;

			whole[half] = nearest4(mul4(value, inverse));
			rest = madd4(less, whole[half], value);
			lost[half] = madd4(rest, rest, lost[half]);
		}
		store_shorts(out + i, whole[0], whole[1]);
	}
	sum = sum4(add4(lost[0], lost[1]));
	for (; i < count; i++) {
		double value = (double)x[i] - centre[i], whole = nearbyint(value * (1 / scale));
		double rest = fma(-scale, whole, value);

		out[i] = (int16_t)whole;
		sum = fma(rest, rest, sum);
	}
	return sum;
}

/* ---- AdamW -------------------------------------------------------------------------- */

static void adamw(const inv_adamw_rates *r, const float *grad, size_t count, float *p,
                  float *m, float *v)
{
	const vec beta1 = splat(r->beta1), rest1 = splat(r->rest1), keep_rate = splat(r->keep);
	const vec beta2 = splat(r->beta2), rest2 = splat(r->rest2), step = splat(r->step);
	const vec under = splat(r->root), eps = splat(r->eps);
	size_t i = 0;

	for (; i + LANES <= count; i += LANES) {
		vec g = load(grad + i);
		vec mi = madd(beta1, load(m + i), rest1 * g);
		vec vi = madd(beta2, load(v + i), rest2 * g * g);
		vec move = step * mi / (root(vi) / under + eps);

		store(m + i, mi);
		store(v + i, vi);
		store(p + i, madd(load(p + i), keep_rate, -move));
	}
	for (; i < count; i++) {
		float g = grad[i];

		m[i] = fmaf(r->beta1, m[i], r->rest1 * g);
		v[i] = fmaf(r->beta2, v[i], r->rest2 * g * g);
		p[i] = fmaf(p[i], r->keep, -(r->step * m[i] / (sqrtf(v[i]) / r->root + r->eps)));
	}
}

/* ---- Distances ---------------------------------------------------------------------- */

enum { R = INV_PAIR_ROWS, C = INV_PAIR_COLS, ACROSS = C / LANES };

static void pack_points(const float *const points[C], size_t width, float *packed)
{
	size_t k = 0;

	for (; k + LANES <= width; k += LANES)
		for (size_t j = 0; j < C; j += LANES) {
			vec r[LANES];

#pragma GCC unroll 8
			for (size_t i = 0; i < LANES; i++)
				r[i] = load(points[j + i] + k);
			transpose_block(r);
#pragma GCC unroll 8
			for (size_t i = 0; i < LANES; i++)
				store(packed + (k + i) * C + j, r[i]);
		}
	for (; k < width; k++)
		for (size_t j = 0; j < C; j++)
			packed[k * C + j] = points[j][k];
}

/*
 * 6 x 16 distances in 12 registers of AVX2, where subtraction and FMA share no port, or in
 * 24 of NEON. All loops over rows and vectors are unrolled, or the sums would spill to
 * memory.
 */
static void add_distances(const float *x, const float *packed, size_t from, size_t end,
                          size_t stride, float *out)
{
	vec sum[R][ACROSS] = {{{0}}};

	for (size_t k = from; k < end; k++) {
		vec point[ACROSS];

#pragma GCC unroll 4
		for (size_t v = 0; v < ACROSS; v++)
			point[v] = load(packed + k * C + v * LANES);
#pragma GCC unroll 6
		for (size_t i = 0; i < R; i++)
#pragma GCC unroll 4
			for (size_t v = 0; v < ACROSS; v++) {
				vec gap = x[i * stride + k] - point[v];

				sum[i][v] = madd(gap, gap, sum[i][v]);
			}
	}
#pragma GCC unroll 6
	for (size_t i = 0; i < R; i++)
#pragma GCC unroll 4
		for (size_t v = 0; v < ACROSS; v++, out += LANES)
			store(out, load(out) + sum[i][v]);
}

static void pair_distances(const float *x, const float *packed, size_t d, size_t stride,
                           float *out)
{
	memset(out, 0, R * C * sizeof *out);
	for (size_t from = 0; from < d; from += INV_PAIR_SUM)
		add_distances(x, packed, from, from + INV_PAIR_SUM < d ? from + INV_PAIR_SUM : d,
		              stride, out);
}

/* Four pairs at a time in double; a pair with d = 0 is masked out of every sum. */
typedef struct sums_of_four {
	four pairs, d, e, dd, ee, de, gap, d_min, d_max, ratio_min, ratio_max;
} sums_of_four;

INLINE void add_four_pairs(sums_of_four *s, quad d2, quad e2, four shift_d, four shift_e)
{
	const four inf = splat4(INFINITY);
	four d = root4(widen4(d2)), e = root4(widen4(e2)), on = nonzero4(d);
	four ratio = div4(e, d), gap = and4(on, sub4(e, d));

	s->pairs = add4(s->pairs, and4(on, splat4(1)));
	s->d_min = min4(s->d_min, blend4(on, d, inf));
	s->d_max = max4(s->d_max, d);
	s->ratio_min = min4(s->ratio_min, blend4(on, ratio, inf));
	s->ratio_max = max4(s->ratio_max, and4(on, ratio));
	s->gap = madd4(gap, gap, s->gap);
	d = and4(on, sub4(d, shift_d));
	e = and4(on, sub4(e, shift_e));
	s->d = add4(s->d, d);
	s->e = add4(s->e, e);
	s->dd = madd4(d, d, s->dd);
	s->ee = madd4(e, e, s->ee);
	s->de = madd4(d, e, s->de);
}

static void add_sums(const sums_of_four *f, size_t count, inv_pair_sums *s)
{
	double low[4], high[4], small[4], large[4];
	uint64_t pairs_on = (uint64_t)sum4(f->pairs);

	s->pairs += pairs_on;
	s->zero_pairs += count - pairs_on;
	s->d += sum4(f->d);
	s->e += sum4(f->e);
	s->dd += sum4(f->dd);
	s->ee += sum4(f->ee);
	s->de += sum4(f->de);
	s->gap += sum4(f->gap);
	store4(low, f->d_min);
	store4(high, f->d_max);
	store4(small, f->ratio_min);
	store4(large, f->ratio_max);
	for (int i = 0; i < QUAD; i++) {
		s->d_min = fmin(s->d_min, low[i]);
		s->d_max = fmax(s->d_max, high[i]);
		s->ratio_min = fmin(s->ratio_min, small[i]);
		s->ratio_max = fmax(s->ratio_max, large[i]);
	}
}

static void pair_sums(const float *d2, const float *e2, size_t count, double shift_d,
                      double shift_e, inv_pair_sums *s)
{
	const four sd = splat4(shift_d), se = splat4(shift_e), zero = splat4(0);
	const four d_min = splat4(s->d_min), d_max = splat4(s->d_max);
	const four ratio_min = splat4(s->ratio_min), ratio_max = splat4(s->ratio_max);
	sums_of_four f = {zero, zero,  zero,  zero,      zero,     zero,
	                  zero, d_min, d_max, ratio_min, ratio_max};
	float tail_d[QUAD] = {0}, tail_e[QUAD] = {0};
	size_t i = 0;

	for (; i + QUAD <= count; i += QUAD)
		add_four_pairs(&f, load_quad(d2 + i), load_quad(e2 + i), sd, se);
	memcpy(tail_d, d2 + i, (count - i) * sizeof *d2);
	memcpy(tail_e, e2 + i, (count - i) * sizeof *e2);
	if (i < count)
		add_four_pairs(&f, load_quad(tail_d), load_quad(tail_e), sd, se);
	add_sums(&f, count, s);
}

static unsigned near_columns(const inv_near *t, const int32_t *dots, const float *scales,
                             const float *squares, const uint32_t *labels, float *near)
{
	const vec scale = splat(t->scale), square = splat(t->square);
	const vec same = splat(t->same), other = splat(t->other);
	const int32_t label = (int32_t)t->label;
	unsigned above = 0;

	for (unsigned j = 0; j < INV_DOT_COLS; j += LANES) {
		vec by = scale * load(scales + j);
		vec value = madd(-by, to_floats(load_ints(dots + j)), load(squares + j) + square);
		vec limit = blend(load_ints(labels + j) == label, same, other);

		store(near + j, value);
		above |= lane_bits(value > limit) << j;
	}
	return ~above & ((1u << INV_DOT_COLS) - 1);
}

/* ---- Maxima -------------------------------------------------------- */

static float largest(const float *x, size_t count)
{
	vec a = splat(x[0]), b = a;
	float lane[LANES], highest = x[0];
	size_t i = 0;

	for (; i + 2 * LANES <= count; i += 2 * LANES) {
		a = max(a, load(x + i));
		b = max(b, load(x + i + LANES));
	}
	store(lane, max(a, b));
	for (size_t l = 0; l < LANES; l++)
		highest = lane[l] > highest ? lane[l] : highest;
	for (; i < count; i++)
		highest = x[i] > highest ? x[i] : highest;
	return highest;
}

/* ---- Matrices of all pairs ---------------------------------------------------------- */

static bool squares_of_products(float square, const float *squares, float near,
                                size_t count, float *x)
{
	bool in_tail = false;
	ints found = {0};
	size_t i = 0;

	for (; i + LANES <= count; i += LANES) {
		vec both = square + load(squares + i);
		vec y = madd(splat(-2), load(x + i), both);

		store(x + i, y);
		found |= y <= near * both;
	}
	for (; i < count; i++) {
		float both = square + squares[i];

		x[i] = fmaf(-2, x[i], both);
		in_tail |= x[i] <= near * both;
	}
	return in_tail || lane_bits(found);
}

INLINE void load_block(const float *x, size_t stride, vec r[LANES])
{
#pragma GCC unroll 8
	for (size_t i = 0; i < LANES; i++)
		r[i] = load(x + i * stride);
}

INLINE void store_block(const vec r[LANES], size_t stride, float *x)
{
#pragma GCC unroll 8
	for (size_t i = 0; i < LANES; i++)
		store(x + i * stride, r[i]);
}

static void transpose(const float *x, size_t rows, size_t cols, size_t x_stride,
                      size_t out_stride, float *out)
{
	size_t whole_rows = rows - rows % LANES, whole_cols = cols - cols % LANES;

	for (size_t j = 0; j < whole_cols; j += LANES)
		for (size_t i = 0; i < whole_rows; i += LANES) {
			vec r[LANES];

			load_block(x + i * x_stride + j, x_stride, r);
			transpose_block(r);
			store_block(r, out_stride, out + j * out_stride + i);
		}
	for (size_t i = 0; i < rows; i++)
		for (size_t j = i < whole_rows ? whole_cols : 0; j < cols; j++)
			out[j * out_stride + i] = x[i * x_stride + j];
}

static inline void mirror_block(const float *row_scale, const float *col_scale,
                                size_t stride, float *x, float *y)
{
	const vec by_col = load(col_scale);
	vec r[LANES], s[LANES];

	load_block(x, stride, r);
	load_block(y, stride, s);
	transpose_block(s);
#pragma GCC unroll 8
	for (int i = 0; i < LANES; i++)
		s[i] = row_scale[i] * r[i] + by_col * s[i];
	store_block(s, stride, x);
	transpose_block(s);
	store_block(s, stride, y);
}

static void add_mirrored(const float *row_scale, const float *col_scale, size_t rows,
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

/* Few values have the requested upper bits: vectors without one are skipped. */
static void count_lower(const float *x, size_t count, uint32_t upper, uint32_t *counts)
{
	size_t i = 0;

	for (; i + LANES <= count; i += LANES) {
		unsigned on = lane_bits(((words)load_ints(x + i) << 1) >> 17 == upper);

		if (__builtin_expect(!on, 1))
			continue;
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

/* Points lie as pairs (x, y), so an edge costs one load of 64 bits; a gather takes longer.
 */
static void attract(const float *y, size_t self, const uint32_t *index, const float *weight,
                    size_t count, float force[2])
{
	const vec x0 = splat(y[2 * self]), x1 = splat(y[2 * self + 1]);
	vec f0[PARTS] = {{0}}, f1[PARTS] = {{0}};

	for (size_t i = 0; i < count; i += INV_EDGES)
#pragma GCC unroll 2
		for (size_t v = 0; v < PARTS; v++, index += LANES, weight += LANES) {
			vec at0, at1, d0, d1, w;

			load_twos(y, 2, (const int32_t *)index, &at0, &at1);
			d0 = x0 - at0, d1 = x1 - at1;
			w = load(weight) / (1.0f + madd(d0, d0, d1 * d1));
			f0[v] = madd(w, d0, f0[v]);
			f1[v] = madd(w, d1, f1[v]);
		}
	force[0] = sum_eight(f0);
	force[1] = sum_eight(f1);
}

void INV_OF_SET(inv_kernels)(struct inv_kernels *k)
{
	k->all_finite = all_finite;
	k->widen_half = widen_half;
	k->add = add;
	k->column_sums = column_sums;
	k->relu_backward = relu_backward;
	k->squared_error = squared_error;
	k->adamw = adamw;
	k->pack_points = pack_points;
	k->pair_distances = pair_distances;
	k->pair_sums = pair_sums;
	k->squared_distance = squared_distance;
	k->quantise = quantise;
	k->near_columns = near_columns;
	k->dot = dot;
	k->largest = largest;
	k->squares_of_products = squares_of_products;
	k->transpose = transpose;
	k->add_mirrored = add_mirrored;
	k->count_lower = count_lower;
	k->attract = attract;
}
