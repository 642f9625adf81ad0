/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fourier.c - kernels on four doubles at a time, written once for every instruction set.
 *
 * Compiled for any machine and once more for AVX2: the vectors are the compiler's own, two
 * registers of SSE2 or NEON or one of AVX2, with the same operations in the same order.
 *
 * The FFT leaves frequencies in the order in which its stages produce them. A
 * convolution multiplies two spectra of that order and transforms back, so nothing is
 * ever reordered. Sequences lie side by side, one per lane: no stage moves values
 * between lanes.
 */
#include <stddef.h>

#include "math/kernels.h"

enum { LANES = INV_LANES, TAPS = INV_SPLINE_TAPS, WIDE = INV_SPLINE_WIDE };

typedef double lanes __attribute__((vector_size(LANES * sizeof(double)), may_alias));
/* The same at any address. */
typedef double loose
	__attribute__((vector_size(LANES * sizeof(double)), may_alias, aligned(8)));

/* (re, im) times root, or its conjugate with sign -1. */
static inline void turn_by(lanes *re, lanes *im, const double *root, double sign)
{
	double c = root[0], s = sign * root[1];
	lanes x = *re * c - *im * s;

	*im = *re * s + *im * c;
	*re = x;
}

/* ---- FFT: forward from the largest blocks to the smallest, back the other way ------ */

static void fourths(size_t n, size_t block, const double *roots, lanes *x)
{
	size_t h = block / 4, step = n / block;

	for (size_t s = 0; s < n; s += block)
		for (size_t j = 0; j < h; j++) {
			lanes *a = x + 2 * (s + j), *b = a + 2 * h, *c = b + 2 * h, *d = c + 2 * h;
			lanes t0r = a[0] + c[0], t0i = a[1] + c[1];
			lanes t1r = a[0] - c[0], t1i = a[1] - c[1];
			lanes t2r = b[0] + d[0], t2i = b[1] + d[1];
			lanes t3r = b[1] - d[1], t3i = d[0] - b[0]; /* -i (b - d) */
			lanes y1r = t1r + t3r, y1i = t1i + t3i, y2r = t0r - t2r, y2i = t0i - t2i;
			lanes y3r = t1r - t3r, y3i = t1i - t3i;

			turn_by(&y1r, &y1i, roots + 2 * j * step, 1);
			turn_by(&y2r, &y2i, roots + 4 * j * step, 1);
			turn_by(&y3r, &y3i, roots + 6 * j * step, 1);
			a[0] = t0r + t2r, a[1] = t0i + t2i;
			b[0] = y1r, b[1] = y1i;
			c[0] = y2r, c[1] = y2i;
			d[0] = y3r, d[1] = y3i;
		}
}

static void fourths_back(size_t n, size_t block, const double *roots, lanes *x)
{
	size_t h = block / 4, step = n / block;

	for (size_t s = 0; s < n; s += block)
		for (size_t j = 0; j < h; j++) {
			lanes *a = x + 2 * (s + j), *b = a + 2 * h, *c = b + 2 * h, *d = c + 2 * h;
			lanes y1r = b[0], y1i = b[1], y2r = c[0], y2i = c[1], y3r = d[0], y3i = d[1];
			lanes t0r, t0i, t1r, t1i, t2r, t2i, t3r, t3i;

			turn_by(&y1r, &y1i, roots + 2 * j * step, -1);
			turn_by(&y2r, &y2i, roots + 4 * j * step, -1);
			turn_by(&y3r, &y3i, roots + 6 * j * step, -1);
			t0r = a[0] + y2r, t0i = a[1] + y2i;
			t1r = a[0] - y2r, t1i = a[1] - y2i;
			t2r = y1r + y3r, t2i = y1i + y3i;
			t3r = y3i - y1i, t3i = y1r - y3r; /* i (y1 - y3) */
			a[0] = t0r + t2r, a[1] = t0i + t2i;
			b[0] = t1r + t3r, b[1] = t1i + t3i;
			c[0] = t0r - t2r, c[1] = t0i - t2i;
			d[0] = t1r - t3r, d[1] = t1i - t3i;
		}
}

static const double half_root_3 = 0.86602540378443864676;

/* The whole sequence in three thirds, turned after that, or with sign -1 back before. */
static inline void thirds(size_t n, const double *roots, double sign, lanes *x)
{
	const double side = sign * half_root_3;

	for (size_t j = 0, h = n / 3; j < h; j++) {
		lanes *a = x + 2 * j, *b = a + 2 * h, *c = b + 2 * h, sr, si, dr, di, mr, mi;

		if (sign < 0) {
			turn_by(&b[0], &b[1], roots + 2 * j, sign);
			turn_by(&c[0], &c[1], roots + 4 * j, sign);
		}
		sr = b[0] + c[0], si = b[1] + c[1];
		dr = (b[0] - c[0]) * side, di = (b[1] - c[1]) * side;
		mr = a[0] - sr * 0.5, mi = a[1] - si * 0.5;
		a[0] += sr, a[1] += si;
		b[0] = mr + di, b[1] = mi - dr;
		c[0] = mr - di, c[1] = mi + dr;
		if (sign > 0) {
			turn_by(&b[0], &b[1], roots + 2 * j, sign);
			turn_by(&c[0], &c[1], roots + 4 * j, sign);
		}
	}
}

static void pairs(size_t n, lanes *x)
{
	for (size_t s = 0; s < 2 * n; s += 4) {
		lanes re = x[s] - x[s + 2], im = x[s + 1] - x[s + 3];

		x[s] += x[s + 2], x[s + 1] += x[s + 3];
		x[s + 2] = re, x[s + 3] = im;
	}
}

static void fft(size_t n, const double *roots, double *values)
{
	lanes *x = (lanes *)(void *)values;
	size_t block = n;

	if (n % 3 == 0) {
		thirds(n, roots, 1, x);
		block = n / 3;
	}
	for (; block % 4 == 0; block /= 4)
		fourths(n, block, roots, x);
	if (block == 2)
		pairs(n, x);
}

static void fft_back(size_t n, const double *roots, double *values)
{
	lanes *x = (lanes *)(void *)values;
	size_t top = n % 3 ? n : n / 3, block = top;

	while (block % 4 == 0)
		block /= 4;
	if (block == 2) /* else 1: what is left of a power of two */
		pairs(n, x);
	for (block *= 4; block <= top; block *= 4)
		fourths_back(n, block, roots, x);
	if (n % 3 == 0)
		thirds(n, roots, -1, x);
}

static void multiply_spectra(const double *a, size_t count, double *values)
{
	const lanes *y = (const lanes *)(const void *)a;
	lanes *x = (lanes *)(void *)values;

	for (size_t i = 0; i < 2 * count; i += 2) {
		lanes re = x[i] * y[i] - x[i + 1] * y[i + 1];

		x[i + 1] = x[i] * y[i + 1] + x[i + 1] * y[i];
		x[i] = re;
	}
}

/* ---- Splines on a grid --------------------------------------------------------------- */

/* 120 times the coefficients of t^0 … t^5 in the weights of the six nodes. */
static const double pieces[TAPS][WIDE] __attribute__((aligned(64))) = {
	{1, 26, 66, 26, 1, 0},    {-5, -50, 0, 50, 5, 0},  {10, 20, -60, 20, 10, 0},
	{-10, 20, 0, -20, 10, 0}, {5, -20, 30, -20, 5, 0}, {-1, 5, -10, 10, -5, 1}};

/* Horner's scheme for all nodes at once; the slope's beside it. */
static void spline_weights(double t, double *weights, double *slopes)
{
	for (size_t k = 0; k < 2; k++) {
		const lanes *c = (const lanes *)(const void *)pieces + k;
		lanes w = c[2 * (TAPS - 1)], s = {0};

		for (size_t power = TAPS - 1; power-- > 0;) {
			s = s * t + w;
			w = w * t + c[2 * power];
		}
		((loose *)(void *)weights)[k] = w * (1.0 / 120);
		((loose *)(void *)slopes)[k] = s * (1.0 / 120);
	}
}

static void spread_spline(const inv_spline *s, double *grid, size_t stride)
{
	const loose *across = (const loose *)(const void *)s->across;
	lanes low = across[0], high = across[1];

	for (size_t i = 0; i < TAPS; i++) {
		loose *row = (loose *)(void *)(grid + i * stride);

		row[0] += low * s->down[i];
		row[1] += high * s->down[i];
	}
}

static inline double sum_lanes(const lanes *x)
{
	return ((*x)[0] + (*x)[1]) + ((*x)[2] + (*x)[3]);
}

static void gather_spline(const inv_spline *s, const double *grid, size_t stride,
                          double out[3])
{
	const loose *w = (const loose *)(const void *)s->across;
	const loose *v = (const loose *)(const void *)s->across_slope;
	lanes value[2] = {{0}}, slope[2] = {{0}}, all, across, down;

	for (size_t i = 0; i < TAPS; i++) {
		const loose *row = (const loose *)(const void *)(grid + i * stride);

		for (size_t k = 0; k < 2; k++) {
			value[k] += row[k] * s->down[i];
			slope[k] += row[k] * s->down_slope[i];
		}
	}
	all = value[0] * w[0] + value[1] * w[1];
	across = value[0] * v[0] + value[1] * v[1];
	down = slope[0] * w[0] + slope[1] * w[1];
	out[0] = sum_lanes(&all);
	out[1] = sum_lanes(&across);
	out[2] = sum_lanes(&down);
}

/* ---- A thin product, for principal components ---------------------------------------- */

static void thin_pass(const float *x, const double *centre, size_t width,
                      const double *directions, double *y, double *back)
{
	const lanes *v = (const lanes *)(const void *)directions;
	lanes *u = (lanes *)(void *)back;
	lanes *out = (lanes *)(void *)y;
	lanes low = {0}, high = {0};

	for (size_t i = 0; i < width; i++) {
		double value = x[i] - centre[i];

		low += v[2 * i] * value;
		high += v[2 * i + 1] * value;
	}
	for (size_t i = 0; i < width && back; i++) {
		double value = x[i] - centre[i];

		u[2 * i] += low * value;
		u[2 * i + 1] += high * value;
	}
	out[0] = low, out[1] = high;
}

#if defined(INV_BUILD_AVX2)
void inv_kernels_fourier_avx2(struct inv_kernels *k)
#else
void inv_kernels_fourier_ref(struct inv_kernels *k)
#endif
{
	k->fft = fft;
	k->fft_back = fft_back;
	k->multiply_spectra = multiply_spectra;
	k->spline_weights = spline_weights;
	k->spread_spline = spread_spline;
	k->gather_spline = gather_spline;
	k->thin_pass = thin_pass;
}
