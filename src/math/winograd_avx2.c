/* SPDX-License-Identifier: Apache-2.0 */
/*
 * winograd_avx2.c - the two transforms of F(4x4, 3x3), eight channels at a time.
 *
 * Compiled for AVX2 alone: elsewhere convolutions are oneDNN's.
 */
#include "math/lanes.h"
#include "math/winograd.h"

enum { TILE = INV_WINOGRAD_TILE, WINDOW = INV_WINOGRAD_WINDOW };

/* Powers of the two points, each exact. */
static const float a = INV_WINOGRAD_A, a2 = INV_WINOGRAD_A * INV_WINOGRAD_A,
				   a3 = INV_WINOGRAD_A * INV_WINOGRAD_A * INV_WINOGRAD_A;
static const float b = INV_WINOGRAD_B, b2 = INV_WINOGRAD_B * INV_WINOGRAD_B,
				   b3 = INV_WINOGRAD_B * INV_WINOGRAD_B * INV_WINOGRAD_B;

/* Bt d of one column or row. */
static inline void transform_in(const vec d[WINDOW], vec out[WINDOW])
{
	vec even_a = d[4] - b2 * d[2], odd_a = a * (d[3] - b2 * d[1]);
	vec even_b = d[4] - a2 * d[2], odd_b = b * (d[3] - a2 * d[1]);

	out[0] = a2 * b2 * d[0] - (a2 + b2) * d[2] + d[4];
	out[1] = even_a + odd_a;
	out[2] = even_a - odd_a;
	out[3] = even_b + odd_b;
	out[4] = even_b - odd_b;
	out[5] = a2 * b2 * d[1] - (a2 + b2) * d[3] + d[5];
}

/* At m of one column or row. */
static inline void transform_out(const vec m[WINDOW], vec out[TILE])
{
	vec even_a = m[1] + m[2], odd_a = m[1] - m[2];
	vec even_b = m[3] + m[4], odd_b = m[3] - m[4];

	out[0] = m[0] + even_a + even_b;
	out[1] = a * odd_a + b * odd_b;
	out[2] = a2 * even_a + b2 * even_b;
	out[3] = a3 * odd_a + b3 * odd_b + m[5];
}

static inline vec pixel(const float *plane, const inv_winograd_tile *t, long y, long x)
{
	if (y < 0 || x < 0 || y >= t->height || x >= t->width)
		return (vec){0};
	return load(plane + (y * t->width + x) * INV_WINOGRAD_BLOCK);
}

void inv_winograd_in_avx2(const float *plane, inv_winograd_tile t, float *v, size_t apart)
{
	bool inside = t.top >= 0 && t.left >= 0 && t.top + WINDOW <= t.height &&
	              t.left + WINDOW <= t.width;
	const float *at = plane + (t.top * t.width + t.left) * INV_WINOGRAD_BLOCK;
	vec half[WINDOW][WINDOW]; /* [column][row] */

	for (long x = 0; x < WINDOW; x++) {
		vec d[WINDOW];

		for (long y = 0; y < WINDOW; y++)
			d[y] = inside ? load(at + (y * t.width + x) * INV_WINOGRAD_BLOCK)
			              : pixel(plane, &t, t.top + y, t.left + x);
		transform_in(d, half[x]);
	}
	for (size_t y = 0; y < WINDOW; y++) {
		vec d[WINDOW], out[WINDOW];

		for (size_t x = 0; x < WINDOW; x++)
			d[x] = half[x][y];
		transform_in(d, out);
		for (size_t x = 0; x < WINDOW; x++)
			store(v + (y * WINDOW + x) * apart, out[x]);
	}
}

void inv_winograd_out_avx2(const float *m, size_t apart, const float *bias, bool add,
                           bool relu, inv_winograd_tile t, float *plane)
{
	const vec shift = load(bias), zero = {0};
	vec half[WINDOW][TILE]; /* [column][row] */

	for (size_t x = 0; x < WINDOW; x++) {
		vec d[WINDOW];

		for (size_t y = 0; y < WINDOW; y++)
			d[y] = load(m + (y * WINDOW + x) * apart);
		transform_out(d, half[x]);
	}
	for (long y = 0; y < TILE && t.top + y < t.height; y++) {
		float *to = plane + ((t.top + y) * t.width + t.left) * INV_WINOGRAD_BLOCK;
		vec d[WINDOW], out[TILE];

		for (size_t x = 0; x < WINDOW; x++)
			d[x] = half[x][y];
		transform_out(d, out);
		for (long x = 0; x < TILE && t.left + x < t.width; x++) {
			vec r = out[x] + shift;

			if (add)
				r += load(to + x * INV_WINOGRAD_BLOCK);
			if (relu)
				r = max(r, zero);
			store(to + x * INV_WINOGRAD_BLOCK, r);
		}
	}
}
