/* SPDX-License-Identifier: Apache-2.0 */
/* kernels_ref.c - every kernel in plain C. */
#include <math.h>
#include <string.h>

#include "formats/dtype.h"
#include "math/bfloat16.h"
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

/* ---- Tokens ----------------------------------------------------------------------- */

static void norm_row(const inv_layer_norm *n, const float *x, float *y)
{
	double sum = 0, squares = 0, mean, scale;

	for (size_t j = 0; j < n->width; j++)
		sum += x[j];
	mean = sum / (double)n->width;
	for (size_t j = 0; j < n->width; j++)
		squares += (x[j] - mean) * (x[j] - mean);
	scale = 1 / sqrt(squares / (double)n->width + n->eps);
	for (size_t j = 0; j < n->width; j++)
		y[j] = (float)((x[j] - mean) * scale * n->weight[j] + n->bias[j]);
}

static void layer_norm_ref(const inv_layer_norm *n, size_t rows, size_t x_stride,
                           size_t y_stride, float *x, float *y)
{
	for (size_t i = 0; i < rows; i++) {
		float *row = x + i * x_stride;

		norm_row(n, row, y + i * y_stride);
		for (size_t j = 0; n->then && j < n->width; j++)
			row[j] += n->then[j];
	}
}

static void add_bias_ref(const float *bias, size_t rows, size_t width, size_t stride,
                         float *x)
{
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < width; j++)
			x[i * stride + j] += bias[j];
}

static void bias_gelu_ref(const float *bias, size_t rows, size_t width, float *x)
{
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < width; j++) {
			double t = x[i * width + j] + bias[j];

			x[i * width + j] = (float)(t * 0.5 * erfc(-t * M_SQRT1_2));
		}
}

static void bias_quick_gelu_ref(const float *bias, size_t rows, size_t width, float *x)
{
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < width; j++) {
			double t = x[i * width + j] + bias[j];

			x[i * width + j] = (float)(t / (1 + exp(-1.702 * t)));
		}
}

static void bias_tanh_gelu_ref(const float *bias, size_t rows, size_t width, float *x)
{
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < width; j++) {
			double t = x[i * width + j] + bias[j];

			x[i * width + j] =
				(float)(t / (1 + exp(-sqrt(8 / M_PI) * (t + 0.044715 * t * t * t))));
		}
}

static void bias_silu_ref(const float *bias, size_t rows, size_t width, float *x)
{
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < width; j++) {
			double t = x[i * width + j] + bias[j];

			x[i * width + j] = (float)(t / (1 + exp(-t)));
		}
}

static void bias_multiply_ref(const float *bias, const float *by, size_t rows, size_t width,
                              float *x)
{
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < width; j++)
			x[i * width + j] = (x[i * width + j] + bias[j]) * by[i * width + j];
}

static void rotate_ref(const float *cos, const float *sin, size_t heads, size_t half,
                       float *x)
{
	for (size_t h = 0; h < heads; h++, x += 2 * half)
		for (size_t j = 0; j < half; j++) {
			double a = x[j], b = x[half + j];

			x[j] = (float)(a * cos[j] - b * sin[j]);
			x[half + j] = (float)(b * cos[j] + a * sin[j]);
		}
}

/* ---- Strips and panels ------------------------------------------------------------ */

static void pack_strip_ref(const float *const row[INV_STRIP_ROWS], size_t k, float *strip)
{
	for (size_t l = 0; l < k; l++)
		for (size_t i = 0; i < INV_STRIP_ROWS; i++)
			strip[l * INV_STRIP_ROWS + i] = row[i][l];
}

static void pack_strips_ref(const float *a, size_t stride, size_t rows, size_t k,
                            float *strips)
{
	for (size_t i = 0; i < rows; i++) {
		float *strip = strips + i / INV_STRIP_ROWS * INV_STRIP_ROWS * k;

		for (size_t l = 0; l < k; l++)
			strip[l * INV_STRIP_ROWS + i % INV_STRIP_ROWS] = a[i * stride + l];
	}
}

static void pack_strips_turned_ref(const float *a, size_t stride, size_t rows, size_t k,
                                   float *strips)
{
	for (size_t i = 0; i < rows; i++) {
		float *strip = strips + i / INV_STRIP_ROWS * INV_STRIP_ROWS * k;

		for (size_t l = 0; l < k; l++)
			strip[l * INV_STRIP_ROWS + i % INV_STRIP_ROWS] = a[l * stride + i];
	}
}

static void fill_panels_ref(const float *x, size_t stride, size_t k, size_t columns,
                            float *panels, size_t step)
{
	size_t wide = (columns + INV_PANEL_COLS - 1) / INV_PANEL_COLS * INV_PANEL_COLS;

	for (size_t l = 0; l < k; l++)
		for (size_t j = 0; j < wide; j++)
			panels[j / INV_PANEL_COLS * step + l * INV_PANEL_COLS + j % INV_PANEL_COLS] =
				j < columns ? x[l * stride + j] : 0;
}

static void finish_cell(const inv_panel_product *p, size_t row, size_t column, float sum)
{
	if (p->bias)
		sum += p->bias[column];
	if (p->half && p->half_add)
		sum += inv_from_bfloat16(p->half[row * p->half_stride + column]);
	if (p->relu && sum < 0)
		sum = 0;
	if (p->mask && !(p->mask[row * p->mask_stride + column] > 0))
		sum = 0;
	if (p->mask)
		p->sums[column] += sum;
	if (p->half)
		p->half[row * p->half_stride + column] = inv_to_bfloat16(sum);
	else
		p->c[row * p->stride + column] = sum;
}

/* Number l of the sum for row i; and of the panels for column j. */
static const float *strip_cell(const inv_panel_product *p, size_t i, size_t l)
{
	size_t inside = i % INV_STRIP_ROWS;

	return p->row ? p->row + l
	              : p->strips + (i - inside) * p->k + l * INV_STRIP_ROWS + inside;
}

static const float *panel_cell(const inv_panel_product *p, size_t l, size_t j)
{
	size_t inside = j % INV_PANEL_COLS;

	return p->panel + (j - inside) * p->k + l * INV_PANEL_COLS + inside;
}

static void panel_product_ref(const inv_panel_product *p)
{
	for (size_t i = 0; i < p->rows; i++) {
		const float *from = p->from ? p->from + i * p->from_stride : p->c + i * p->stride;

		for (size_t j = 0; j < p->columns; j++) {
			double sum = 0;

			for (size_t l = 0; l < p->k; l++)
				sum += (double)*strip_cell(p, i, l) * *panel_cell(p, l, j);
			finish_cell(p, i, j, (float)(p->add ? from[j] + sum : sum));
		}
	}
}

/* ---- Pairs of bfloat16 ------------------------------------------------------------- */

static void to_pairs_ref(const float *x, size_t count, float *pairs)
{
	for (size_t i = 0; i < count; i += 2)
		inv_store_pair(x[i], i + 1 < count ? x[i + 1] : 0, pairs + i / 2);
}

static void pack_pair_strips_ref(const float *a, size_t stride, size_t rows, size_t k,
                                 float *strips)
{
	for (size_t i = 0; i < rows; i++) {
		float *strip = strips + i / INV_STRIP_ROWS * INV_STRIP_ROWS * ((k + 1) / 2);

		for (size_t l = 0; l < k; l += 2)
			inv_store_pair(a[i * stride + l], l + 1 < k ? a[i * stride + l + 1] : 0,
			               strip + l / 2 * INV_STRIP_ROWS + i % INV_STRIP_ROWS);
	}
}

static void fill_pair_panels_ref(const float *x, size_t stride, size_t k, size_t columns,
                                 float *panels, size_t step)
{
	size_t wide = (columns + INV_PANEL_COLS - 1) / INV_PANEL_COLS * INV_PANEL_COLS;

	for (size_t l = 0; l < k; l += 2)
		for (size_t j = 0; j < wide; j++)
			inv_store_pair(j < columns ? x[l * stride + j] : 0,
			               j < columns && l + 1 < k ? x[(l + 1) * stride + j] : 0,
			               panels + j / INV_PANEL_COLS * step + l / 2 * INV_PANEL_COLS +
			                   j % INV_PANEL_COLS);
}

static float flush(float x)
{
	return fabsf(x) < FLT_MIN ? copysignf(0, x) : x;
}

/* The order and the rounding of lanes.h's dot_pairs, in every bit. */
static float dot_pair(const float *a, const float *b, float sum)
{
	uint32_t x, y;

	memcpy(&x, a, sizeof x);
	memcpy(&y, b, sizeof y);
	sum = flush(fmaf(inv_from_bfloat16((uint16_t)(x >> 16)),
	                 inv_from_bfloat16((uint16_t)(y >> 16)), sum));
	return flush(fmaf(inv_from_bfloat16((uint16_t)x), inv_from_bfloat16((uint16_t)y), sum));
}

static void pair_panel_product_ref(const inv_panel_product *p)
{
	for (size_t i = 0; i < p->rows; i++) {
		const float *from = p->from ? p->from + i * p->from_stride : p->c + i * p->stride;

		for (size_t j = 0; j < p->columns; j++) {
			float sum = 0;

			for (size_t l = 0; l < p->k; l++)
				sum = dot_pair(strip_cell(p, i, l), panel_cell(p, l, j), sum);
			finish_cell(p, i, j, p->add ? from[j] + sum : sum);
		}
	}
}

/* ---- Bytes ------------------------------------------------------------------------- */

static int32_t dot_four(const float *a, const float *b, int32_t sum)
{
	uint8_t x[4];
	int8_t y[4];

	memcpy(x, a, sizeof x);
	memcpy(y, b, sizeof y);
	for (size_t i = 0; i < 4; i++)
		sum += x[i] * y[i];
	return sum;
}

static void byte_panel_product_ref(const inv_panel_product *p)
{
	for (size_t i = 0; i < p->rows; i++) {
		const float *from = p->from ? p->from + i * p->from_stride : p->c + i * p->stride;

		for (size_t j = 0; j < p->columns; j++) {
			int32_t sum = 0;

			if (p->add)
				memcpy(&sum, from + j, sizeof sum);
			for (size_t l = 0; l < p->k; l++)
				sum = dot_four(strip_cell(p, i, l), panel_cell(p, l, j), sum);
			if (p->column_scale)
				finish_cell(p, i, j, (float)sum * p->column_scale[j] * p->row_scale[i]);
			else
				memcpy(p->c + i * p->stride + j, &sum, sizeof sum);
		}
	}
}

static uint16_t largest_half_ref(const uint16_t *x, size_t count)
{
	uint16_t most = 0;

	for (size_t i = 0; i < count; i++)
		most = (x[i] & 0x7fff) > most ? x[i] & 0x7fff : most;
	return most;
}

static void halves_to_bytes_ref(const uint16_t *x, size_t count, float scale, uint8_t *out)
{
	for (size_t i = 0; i < count; i++) {
		float v = inv_from_bfloat16(x[i]) * scale;

		v = v > 0 ? v : 0;
		out[i] = (uint8_t)lrintf(v < 255 ? v : 255);
	}
}

/* ---- Edges of a graph -------------------------------------------------------------- */

static void attract_ref(const float *y, size_t self, const uint32_t *index,
                        const float *weight, size_t count, float force[2])
{
	float x0 = y[2 * self], x1 = y[2 * self + 1], f0 = 0, f1 = 0;

	for (size_t i = 0; i < count; i++) {
		float d0 = x0 - y[2 * (size_t)index[i]], d1 = x1 - y[2 * (size_t)index[i] + 1];
		float w = weight[i] / (1 + (d0 * d0 + d1 * d1));

		f0 += w * d0;
		f1 += w * d1;
	}
	force[0] = f0;
	force[1] = f1;
}

void inv_kernels_ref(struct inv_kernels *k)
{
	*k = (struct inv_kernels){
		.all_finite = all_finite_ref,
		.widen_half = widen_half_ref,
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
		.layer_norm = layer_norm_ref,
		.add_bias = add_bias_ref,
		.bias_gelu = bias_gelu_ref,
		.bias_quick_gelu = bias_quick_gelu_ref,
		.bias_tanh_gelu = bias_tanh_gelu_ref,
		.bias_silu = bias_silu_ref,
		.bias_multiply = bias_multiply_ref,
		.rotate = rotate_ref,
		.pack_strip = pack_strip_ref,
		.pack_strips = pack_strips_ref,
		.pack_strips_turned = pack_strips_turned_ref,
		.fill_panels = fill_panels_ref,
		.panel_product = panel_product_ref,
		.to_pairs = to_pairs_ref,
		.pack_pair_strips = pack_pair_strips_ref,
		.fill_pair_panels = fill_pair_panels_ref,
		.pair_panel_product = pair_panel_product_ref,
		.byte_panel_product = byte_panel_product_ref,
		.largest_half = largest_half_ref,
		.halves_to_bytes = halves_to_bytes_ref,
		.attract = attract_ref,
	};
	inv_kernels_sliced_ref(k);
	inv_kernels_fourier_ref(k);
	inv_kernels_maps_ref(k);
}
