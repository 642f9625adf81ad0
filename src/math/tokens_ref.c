/* SPDX-License-Identifier: Apache-2.0 */
/* tokens_ref.c - the work on tokens between the products, in plain C. */
#include <math.h>

#include "math/kernels.h"

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

void inv_kernels_tokens_ref(struct inv_kernels *k)
{
	k->layer_norm = layer_norm_ref;
	k->add_bias = add_bias_ref;
	k->bias_gelu = bias_gelu_ref;
	k->bias_quick_gelu = bias_quick_gelu_ref;
}
