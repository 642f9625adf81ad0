/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tokens_lanes.c - the work on tokens between the products, over lanes.
 *
 * Widths need not be multiples of a vector: the last one of a row is loaded and stored
 * under a mask. Only that one, because masked stores are slow on some machines.
 */
#include <math.h>

#include "math/exp_lanes.h"
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

/*
 * Phi(t) - 1/2 is t times an even function of t, here a polynomial of degree 14 in t^2
 * about the middle of [0, 5.4^2], where its coefficients are small; fitted by reweighted
 * least squares, off by at most 3e-8. Below -5.4 Phi is 0.
 */
enum { GELU_TERMS = 15 };
#define GELU_END 5.4
static const float gelu_series[GELU_TERMS] = {
	0.13092811405658722f,    -0.06532805413007736f,   0.048499591648578644f,
	-0.039206814020872116f,  0.0321165956556797f,     -0.025746457278728485f,
	0.019645143300294876f,   -0.013963320292532444f,  0.00965119618922472f,
	-0.0067153386771678925f, 0.0036589212249964476f,  -0.0011864100815728307f,
	0.0008749347180128098f,  -0.0010283689480274916f, 0.0003928584628738463f,
};

/* t Phi(t) */
INLINE vec gelu(vec t)
{
	const vec end = splat((float)GELU_END), start = splat((float)-GELU_END);
	const vec unit = splat((float)(2 / (GELU_END * GELU_END)));
	vec x = max(start, min(end, t)); /* NaN stays one */
	vec s = madd(x * x, unit, splat(-1)), y = splat(gelu_series[GELU_TERMS - 1]);

#pragma GCC unroll 14
	for (int i = GELU_TERMS - 2; i >= 0; i--)
		y = madd(y, s, splat(gelu_series[i]));
	return t * keep(~(t < start), madd(y, x, splat(0.5f)));
}

/* t / (1 + exp(-a)) where a has the sign of t, using only exponentials of numbers <= 0. */
INLINE vec times_sigmoid(vec t, vec a)
{
	vec e = exp_of((vec)((ints)a | INT32_MIN));

	return t * (blend_negative((ints)t, e, splat(1)) / (e + 1.0f));
}

INLINE vec quick_gelu(vec t)
{
	return times_sigmoid(t, t * 1.702f);
}

/* (1 + tanh u) / 2 is sigmoid(2 u), u = sqrt(2 / pi) (t + 0.044715 t^3). */
INLINE vec tanh_gelu(vec t)
{
	return times_sigmoid(t,
	                     t * madd(t * t, splat(0.0713548162726f), splat(1.59576912161f)));
}

INLINE vec silu(vec t)
{
	return times_sigmoid(t, t);
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

static void bias_tanh_gelu(const float *bias, size_t rows, size_t width, float *x)
{
	activate(tanh_gelu, bias, rows, width, x);
}

static void bias_silu(const float *bias, size_t rows, size_t width, float *x)
{
	activate(silu, bias, rows, width, x);
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
	k->bias_gelu = bias_gelu;
	k->bias_quick_gelu = bias_quick_gelu;
	k->bias_tanh_gelu = bias_tanh_gelu;
	k->bias_silu = bias_silu;
	k->bias_multiply = bias_multiply;
	k->rotate = rotate;
}
