/* kernels_ref.c - every kernel in plain C. */
#include <math.h>

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
	};
	inv_kernels_sliced_ref(k);
}
