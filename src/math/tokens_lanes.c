/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tokens_lanes.c - the work on tokens between the products, over lanes.
 *
 * Widths need not be multiples of a vector: the last one of a row is loaded and stored
 * under a mask. Only that one, because masked stores are slow on some machines.
 */
#include <math.h>

#include "math/exp_lanes.h"
#include "math/gelu_series.h"
#include "math/kernels.h"

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

/* ---- Activations ------------------------------------------------------------------ */

/* t Phi(t), see gelu_series.h. */
INLINE vec gelu(vec t)
{
	const vec end = splat((float)INV_GELU_END), start = splat((float)-INV_GELU_END);
	const vec unit = splat((float)(2 / (INV_GELU_END * INV_GELU_END)));
	vec x = max(start, min(end, t)); /* NaN stays one */
	vec s = madd(x * x, unit, splat(-1)), y = splat(inv_gelu_series[INV_GELU_TERMS - 1]);

#pragma GCC unroll 14
	for (int i = INV_GELU_TERMS - 2; i >= 0; i--)
		y = madd(y, s, splat(inv_gelu_series[i]));
	return t * keep(~(t < start), madd(y, x, splat(0.5f)));
}

/* t / (1 + exp(-1.702 t)), using only exponentials of numbers <= 0. */
INLINE vec quick_gelu(vec t)
{
	vec e = exp_of((vec)((ints)(t * 1.702f) | INT32_MIN));

	return t * (blend_negative((ints)t, e, splat(1)) / (e + 1.0f));
}

typedef vec activation(vec t);

/* Two vectors at a time, whose steps need not wait for each other. */
INLINE void activate(activation *of, const float *bias, size_t rows, size_t width, float *x)
{
	for (size_t i = 0; i < rows; i++, x += width) {
		size_t j = 0;

		for (; j + 2 * LANES <= width; j += 2 * LANES) {
			vec a = load(x + j) + load(bias + j);
			vec b = load(x + j + LANES) + load(bias + j + LANES);

			store(x + j, of(a));
			store(x + j + LANES, of(b));
		}
		for (; j < width; j += LANES) {
			ints on = lanes_before(width, j);

			store_where(on, x + j, of(load_where(on, x + j) + load_where(on, bias + j)));
		}
	}
}

static void bias_gelu(const float *bias, size_t rows, size_t width, float *x)
{
	activate(gelu, bias, rows, width, x);
}

static void bias_quick_gelu(const float *bias, size_t rows, size_t width, float *x)
{
	activate(quick_gelu, bias, rows, width, x);
}

void INV_OF_SET(inv_kernels_tokens)(struct inv_kernels *k)
{
	k->layer_norm = layer_norm;
	k->add_bias = add_bias;
	k->bias_gelu = bias_gelu;
	k->bias_quick_gelu = bias_quick_gelu;
}
