/* SPDX-License-Identifier: Apache-2.0 */
/* activations_lanes.c - exponentials and their sums, and the activations of MLPs. */
#include <math.h>

#include "math/kernels.h"
#include "math/lanes.h"

/* Exponentials are summed eight or more at a time. */
enum { WIDE = LANES < 8 ? 8 : LANES, VECTORS = WIDE / LANES };

/* ---- Exponentials ------------------------------------------------------------------- */

/*
 * exp(x) for x <= 0, within 2 ulp; 0 below -87.3, where results would lose bits. x is split
 * into n log 2 + r, the exponential of r is a polynomial, n goes into the exponent. A NaN
 * stays a NaN: max returns its second argument if either is NaN.
 */
INLINE vec exp_of(vec x)
{
	const vec lowest = splat(-87.3f);
	const ints on = ~(x < lowest);
	vec n, r, y;

	x = max(lowest, x);
	n = nearest(x * 1.44269504f);
	r = madd(n, splat(-0.693359375f), x);
	r = madd(n, splat(2.12194440e-4f), r);
	y = splat(1.9875691500e-4f);
	y = madd(y, r, splat(1.3981999507e-3f));
	y = madd(y, r, splat(8.3334519073e-3f));
	y = madd(y, r, splat(4.1665795894e-2f));
	y = madd(y, r, splat(1.6666665459e-1f));
	y = madd(y, r, splat(5.0000001201e-1f));
	y = madd(r * r, y, r) + 1.0f;
	return keep(on, y * (vec)((to_ints(n) + 127) << 23));
}

/* WIDE exponentials, times the weights if `weighted`; adds them to the sums. */
INLINE void exp_wide(const vec x[VECTORS], const bool weighted, const float *weight,
                     float *out, four sums[2])
{
	vec y[VECTORS];

#pragma GCC unroll 2
	for (size_t v = 0; v < VECTORS; v++) {
		y[v] = exp_of(x[v]);
		if (weighted)
			y[v] = load(weight + v * LANES) * y[v];
		store(out + v * LANES, y[v]);
	}
#pragma GCC unroll 4
	for (size_t i = 0; i < WIDE / 4; i++)
		sums[i % 2] = add4(sums[i % 2], widen4(quad_of(y, i)));
}

/* exp(scale (x - shift)), with a tail of zeros, which add nothing. */
INLINE double exp_all(const bool weighted, const float *weight, float shift, float scale,
                      size_t count, float *x)
{
	four sums[2] = {splat4(0), splat4(0)};
	float tail[WIDE], tail_weight[WIDE];
	vec y[VECTORS];
	size_t i = 0;

	for (; i + WIDE <= count; i += WIDE) {
#pragma GCC unroll 2
		for (size_t v = 0; v < VECTORS; v++)
			y[v] = (load(x + i + v * LANES) - shift) * scale;
		exp_wide(y, weighted, weighted ? weight + i : NULL, x + i, sums);
	}
	for (size_t j = 0; j < WIDE; j++) {
		tail[j] = i + j < count ? scale * (x[i + j] - shift) : -INFINITY;
		tail_weight[j] = weighted && i + j < count ? weight[i + j] : 0;
	}
	for (size_t v = 0; v < VECTORS; v++)
		y[v] = load(tail + v * LANES);
	exp_wide(y, weighted, tail_weight, tail, sums);
	memcpy(x + i, tail, (count - i) * sizeof *x);
	return sum4(add4(sums[0], sums[1]));
}

static double exp_shifted(float shift, float scale, size_t count, float *x)
{
	return exp_all(false, NULL, shift, scale, count, x);
}

/* x - 0 is x. */
static double exp_weighted(const float *weight, float scale, size_t count, float *x)
{
	return exp_all(true, weight, 0, -scale, count, x);
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

void INV_OF_SET(inv_kernels_activations)(struct inv_kernels *k)
{
	k->exp_shifted = exp_shifted;
	k->exp_weighted = exp_weighted;
	k->bias_gelu = bias_gelu;
	k->bias_quick_gelu = bias_quick_gelu;
	k->bias_tanh_gelu = bias_tanh_gelu;
	k->bias_silu = bias_silu;
}
