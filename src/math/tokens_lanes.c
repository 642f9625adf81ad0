/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tokens_lanes.c - the work on tokens between the products, over lanes.
 *
 * Widths need not be multiples of a vector: the last one of a row is loaded and stored
 * under a mask. Only that one, because masked stores are slow on some machines.
 */
#include <math.h>

#include "math/kernels.h"
#include "math/lanes.h"

enum { EIGHT = 8, SIXTEEN = 16 };

/* ---- Layer norm ------------------------------------------------------------------- */

/* Eight sums plus eight others. */
INLINE float sum_sixteen(const vec sum[2 * PARTS])
{
	vec both[PARTS];

#pragma GCC unroll 2
	for (size_t v = 0; v < PARTS; v++)
		both[v] = sum[v] + sum[PARTS + v];
	return sum_eight(both);
}

static float mean_of(const float *x, size_t width)
{
	vec sum[2 * PARTS] = {{0}};
	size_t j = 0;

	for (; j + SIXTEEN <= width; j += SIXTEEN)
#pragma GCC unroll 4
		for (size_t v = 0; v < 2 * PARTS; v++)
			sum[v] += load(x + j + v * LANES);
	for (; j < width; j += EIGHT)
#pragma GCC unroll 2
		for (size_t v = 0; v < PARTS; v++)
			sum[v] += load_where(lanes_before(width, j + v * LANES), x + j + v * LANES);
	return sum_sixteen(sum) / (float)width;
}

static float variance_of(const float *x, size_t width, float mean)
{
	vec sum[2 * PARTS] = {{0}};
	size_t j = 0;

	for (; j + SIXTEEN <= width; j += SIXTEEN)
#pragma GCC unroll 4
		for (size_t v = 0; v < 2 * PARTS; v++) {
			vec gap = load(x + j + v * LANES) - mean;

			sum[v] = madd(gap, gap, sum[v]);
		}
	for (; j < width; j += EIGHT)
#pragma GCC unroll 2
		for (size_t v = 0; v < PARTS; v++) {
			ints on = lanes_before(width, j + v * LANES);
			vec gap = keep(on, load_where(on, x + j + v * LANES) - mean);

			sum[v] = madd(gap, gap, sum[v]);
		}
	return sum_sixteen(sum) / (float)width;
}

static void layer_norm(const inv_layer_norm *n, size_t rows, size_t x_stride,
                       size_t y_stride, float *x, float *y)
{
	for (size_t i = 0; i < rows; i++, x += x_stride, y += y_stride) {
		const float mean = mean_of(x, n->width);
		const float by = 1 / sqrtf(variance_of(x, n->width, mean) + n->eps);
		size_t j = 0;

		for (; j + LANES <= n->width; j += LANES) {
			vec old = load(x + j);

			store(y + j, madd((old - mean) * by, load(n->weight + j), load(n->bias + j)));
			if (n->then)
				store(x + j, old + load(n->then + j));
		}
		for (; j < n->width; j++) {
			float old = x[j];

			y[j] = fmaf((old - mean) * by, n->weight[j], n->bias[j]);
			if (n->then)
				x[j] = old + n->then[j];
		}
	}
}

static void add_bias(const float *bias, size_t rows, size_t width, size_t stride, float *x)
{
	for (size_t i = 0; i < rows; i++, x += stride) {
		size_t j = 0;

		for (; j + LANES <= width; j += LANES)
			store(x + j, load(x + j) + load(bias + j));
		for (; j < width; j++)
			x[j] += bias[j];
	}
}

static void bias_multiply(const float *bias, const float *by, size_t rows, size_t width,
                          float *x)
{
	for (size_t i = 0; i < rows; i++, x += width, by += width) {
		size_t j = 0;

		for (; j + LANES <= width; j += LANES)
			store(x + j, (load(x + j) + load(bias + j)) * load(by + j));
		for (; j < width; j++)
			x[j] = (x[j] + bias[j]) * by[j];
	}
}

/* ---- Rotary positions ------------------------------------------------------------- */

static void rotate(const float *cos, const float *sin, size_t heads, size_t half, float *x)
{
	for (size_t h = 0; h < heads; h++, x += 2 * half) {
		size_t j = 0;

		for (; j + LANES <= half; j += LANES) {
			vec a = load(x + j), b = load(x + half + j), c = load(cos + j),
				s = load(sin + j);

			store(x + j, madd(a, c, -(b * s)));
			store(x + half + j, madd(b, c, a * s));
		}
		for (; j < half; j++) {
			float a = x[j], b = x[half + j];

			x[j] = fmaf(a, cos[j], -(b * sin[j]));
			x[half + j] = fmaf(b, cos[j], a * sin[j]);
		}
	}
}

void INV_OF_SET(inv_kernels_tokens)(struct inv_kernels *k)
{
	k->layer_norm = layer_norm;
	k->add_bias = add_bias;
	k->bias_multiply = bias_multiply;
	k->rotate = rotate;
}
