/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_ref.c - every kernel in plain C. */
#include <math.h>
#include <string.h>

#include "formats/dtype.h"
#include "math/kernels.h"
#include "math/sliced.h"

static bool all_finite_ref(const float *x, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!isfinite(x[i]))
			return false;
	return true;
}

static void widen_half_ref(const uint16_t *half, size_t count, float *out)
{
	for (size_t i = 0; i < count; i++)
		out[i] = inv_half_to_float(half[i]);
}

static void narrow_half_ref(const float *x, size_t count, uint16_t *half)
{
	for (size_t i = 0; i < count; i++)
		half[i] = inv_float_to_half(x[i]);
}

static void add_ref(const float *x, size_t count, float *y)
{
	for (size_t i = 0; i < count; i++)
		y[i] += x[i];
}

static void column_sums_ref(const float *x, size_t rows, size_t width, float *sums)
{
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < width; j++)
			sums[j] += x[i * width + j];
}

static void relu_backward_ref(const float *h, size_t rows, size_t width, size_t stride,
                              float *dh, float *sums)
{
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < width; j++) {
			size_t at = i * stride + j;

			dh[at] = h[at] > 0 ? dh[at] : 0;
			sums[j] += dh[at];
		}
}

static double squared_error_ref(const float *y, const float *target, size_t count,
                                float scale, float *grad)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++) {
		float error = y[i] - target[i];

		sum += (double)error * error;
		grad[i] = scale * error;
	}
	return sum;
}

static void adamw_ref(const inv_adamw_rates *r, const float *grad, size_t count, float *p,
                      float *m, float *v)
{
	for (size_t i = 0; i < count; i++) {
		float g = grad[i];

		m[i] = r->beta1 * m[i] + r->rest1 * g;
		v[i] = r->beta2 * v[i] + r->rest2 * g * g;
		p[i] = p[i] * r->keep - r->step * m[i] / (sqrtf(v[i]) / r->root + r->eps);
	}
}

static void pack_points_ref(const float *const points[INV_PAIR_COLS], size_t width,
                            float *packed)
{
	for (size_t k = 0; k < width; k++)
		for (size_t j = 0; j < INV_PAIR_COLS; j++)
			packed[k * INV_PAIR_COLS + j] = points[j][k];
}

static void pair_distances_ref(const float *x, const float *packed, size_t d, size_t stride,
                               float *out)
{
	for (size_t i = 0; i < INV_PAIR_ROWS; i++)
		for (size_t j = 0; j < INV_PAIR_COLS; j++) {
			float total = 0;

			for (size_t from = 0; from < d; from += INV_PAIR_SUM) {
				size_t end = from + INV_PAIR_SUM < d ? from + INV_PAIR_SUM : d;
				float sum = 0;

				for (size_t k = from; k < end; k++) {
					float gap = x[i * stride + k] - packed[k * INV_PAIR_COLS + j];

					sum = fmaf(gap, gap, sum);
				}
				total += sum;
			}
			out[i * INV_PAIR_COLS + j] = total;
		}
}

static void pair_sums_ref(const float *d2, const float *e2, size_t count, double shift_d,
                          double shift_e, inv_pair_sums *s)
{
	for (size_t i = 0; i < count; i++) {
		double d = sqrt((double)d2[i]), e = sqrt((double)e2[i]);

		if (d2[i] == 0) {
			s->zero_pairs++;
			continue;
		}
		s->pairs++;
		s->d_min = fmin(s->d_min, d);
		s->d_max = fmax(s->d_max, d);
		s->ratio_min = fmin(s->ratio_min, e / d);
		s->ratio_max = fmax(s->ratio_max, e / d);
		s->gap += (e - d) * (e - d);
		d -= shift_d;
		e -= shift_e;
		s->d += d;
		s->e += e;
		s->dd += d * d;
		s->ee += e * e;
		s->de += d * e;
	}
}

static double squared_distance_ref(const float *a, const float *b, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
	return sum;
}

static double quantise_ref(const float *x, const float *centre, size_t count, double scale,
                           int16_t *out)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++) {
		double value = (double)x[i] - centre[i], whole = nearbyint(value * (1 / scale));
		double rest = value - scale * whole;

		out[i] = (int16_t)whole;
		sum += rest * rest;
	}
	return sum;
}

static void dot_tile_ref(const int16_t *a, const int16_t *b, size_t pairs, int32_t *sums)
{
	for (size_t k = 0; k < pairs; k++)
		for (size_t i = 0; i < INV_DOT_ROWS; i++)
			for (size_t j = 0; j < INV_DOT_COLS; j++) {
				const int16_t *p = a + 2 * (k * INV_DOT_ROWS + i);
				const int16_t *q = b + 2 * (k * INV_DOT_COLS + j);

				sums[i * INV_DOT_COLS + j] += p[0] * q[0] + p[1] * q[1];
			}
}

static unsigned near_columns_ref(const inv_near *t, const int32_t *dots,
                                 const float *scales, const float *squares,
                                 const uint32_t *labels, float *near)
{
	unsigned bits = 0;

	for (unsigned j = 0; j < INV_DOT_COLS; j++) {
		near[j] = fmaf(-(t->scale * scales[j]), (float)dots[j], squares[j] + t->square);
		if (!(near[j] > (labels[j] == t->label ? t->same : t->other)))
			bits |= 1u << j;
	}
	return bits;
}

static double dot_ref(const float *a, const float *b, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += (double)a[i] * b[i];
	return sum;
}

static float largest_ref(const float *x, size_t count)
{
	float max = x[0];

	for (size_t i = 1; i < count; i++)
		max = x[i] > max ? x[i] : max;
	return max;
}

static float exp_or_zero(float x)
{
	return x < -87.3f ? 0 : (float)exp((double)x);
}

static double exp_shifted_ref(float shift, float scale, size_t count, float *x)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++) {
		x[i] = exp_or_zero(scale * (x[i] - shift));
		sum += x[i];
	}
	return sum;
}

static double exp_weighted_ref(const float *weight, float scale, size_t count, float *x)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++) {
		x[i] = weight[i] * exp_or_zero(-scale * x[i]);
		sum += x[i];
	}
	return sum;
}

static bool squares_of_products_ref(float square, const float *squares, float near,
                                    size_t count, float *x)
{
	bool found = false;

	for (size_t i = 0; i < count; i++) {
		float both = square + squares[i];

		x[i] = fmaf(-2, x[i], both);
		found |= x[i] <= near * both;
	}
	return found;
}

static void transpose_ref(const float *x, size_t rows, size_t cols, size_t x_stride,
                          size_t out_stride, float *out)
{
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < cols; j++)
			out[j * out_stride + i] = x[i * x_stride + j];
}

static void add_mirrored_ref(const float *row_scale, const float *col_scale, size_t rows,
                             size_t cols, size_t stride, float *x, float *y)
{
	for (size_t i = 0; i < rows; i++)
		for (size_t j = x == y ? i : 0; j < cols; j++) {
			float sum = row_scale[i] * x[i * stride + j] + col_scale[j] * y[j * stride + i];

			x[i * stride + j] = y[j * stride + i] = sum;
		}
}

static uint32_t bits_of(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof bits);
	return bits & 0x7fffffff;
}

static void count_upper_ref(const float *x, size_t count, uint32_t *counts)
{
	for (size_t i = 0; i < count; i++)
		counts[bits_of(x[i]) >> 16]++;
}

static void count_lower_ref(const float *x, size_t count, uint32_t upper, uint32_t *counts)
{
	for (size_t i = 0; i < count; i++)
		if (bits_of(x[i]) >> 16 == upper)
			counts[bits_of(x[i]) & 0xffff]++;
}

void inv_kernels_ref(struct inv_kernels *k)
{
	*k = (struct inv_kernels){
		.all_finite = all_finite_ref,
		.widen_half = widen_half_ref,
		.narrow_half = narrow_half_ref,
		.add = add_ref,
		.column_sums = column_sums_ref,
		.relu_backward = relu_backward_ref,
		.squared_error = squared_error_ref,
		.adamw = adamw_ref,
		.pack_points = pack_points_ref,
		.pair_distances = pair_distances_ref,
		.pair_sums = pair_sums_ref,
		.squared_distance = squared_distance_ref,
		.quantise = quantise_ref,
		.dot_tile = dot_tile_ref,
		.near_columns = near_columns_ref,
		.dot = dot_ref,
		.largest = largest_ref,
		.exp_shifted = exp_shifted_ref,
		.exp_weighted = exp_weighted_ref,
		.squares_of_products = squares_of_products_ref,
		.transpose = transpose_ref,
		.add_mirrored = add_mirrored_ref,
		.count_upper = count_upper_ref,
		.count_lower = count_lower_ref,
	};
	inv_kernels_sliced_ref(k);
	inv_kernels_tokens_ref(k);
	inv_kernels_panels_ref(k);
	inv_kernels_fourier_ref(k);
}
