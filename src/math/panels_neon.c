/* SPDX-License-Identifier: Apache-2.0 */
/*
 * panels_neon.c - products of strips and panels: 6 x 16 sums in 24 of the 32 registers.
 *
 * Four loads of the panel and six numbers of the strip, each part of a multiply-add, feed
 * 24 of those. The terms of a sum are added in the order of panels_avx2.c, with the same
 * bits. All loops over rows and vectors are unrolled, or the sums would spill to memory.
 */
#include <arm_neon.h>

#include "math/panel_rows.h"
#include "math/transpose_neon.h"

enum { LANES = 4, ACROSS = INV_PANEL_COLS / LANES, AHEAD = 128 };

/* ---- Packing ------------------------------------------------------------------------ */

/* Rows 4 and 5 of a strip: pairs of their columns. */
static inline void store_last_two(float32x4_t a, float32x4_t b, float *out)
{
	float32x4_t low = vzip1q_f32(a, b), high = vzip2q_f32(a, b);

	vst1_f32(out, vget_low_f32(low));
	vst1_f32(out + R, vget_high_f32(low));
	vst1_f32(out + 2 * R, vget_low_f32(high));
	vst1_f32(out + 3 * R, vget_high_f32(high));
}

static void pack_strip(const float *const row[R], size_t k, float *out)
{
	size_t l = 0;

	for (; l + LANES <= k; l += LANES) {
		float32x4_t r[LANES];

#pragma GCC unroll 4
		for (int i = 0; i < LANES; i++)
			r[i] = vld1q_f32(row[i] + l);
		inv_transpose_four(r);
#pragma GCC unroll 4
		for (int i = 0; i < LANES; i++)
			vst1q_f32(out + (l + (size_t)i) * R, r[i]);
		store_last_two(vld1q_f32(row[4] + l), vld1q_f32(row[5] + l), out + l * R + LANES);
	}
	for (; l < k; l++)
		for (int i = 0; i < R; i++)
			out[l * R + (size_t)i] = row[i][l];
}

/* Missing rows of the last strip are copies of its first. */
static void pack_strips_neon(const float *a, size_t stride, size_t rows, size_t k,
                             float *strips)
{
	for (size_t i = 0; i < rows; i += R) {
		const float *row[R];

		for (size_t j = 0; j < R; j++)
			row[j] = a + (i + j < rows ? i + j : i) * stride;
		pack_strip(row, k, strips + i * k);
	}
}

/* `count` floats, then zeros up to `size`. */
static inline void copy_part(const float *x, size_t count, size_t size, float *out)
{
	memcpy(out, x, count * sizeof *out);
	memset(out + count, 0, (size - count) * sizeof *out);
}

static void pack_strips_turned_neon(const float *a, size_t stride, size_t rows, size_t k,
                                    float *strips)
{
	for (size_t l = 0; l < k; l++) {
		const float *row = a + l * stride;
		size_t i = 0;

		for (; i + R <= rows; i += R) {
			vst1q_f32(strips + i * k + l * R, vld1q_f32(row + i));
			vst1_f32(strips + i * k + l * R + LANES, vld1_f32(row + i + LANES));
		}
		if (i < rows)
			copy_part(row + i, rows - i, R, strips + i * k + l * R);
	}
}

static void fill_panels_neon(const float *x, size_t stride, size_t k, size_t columns,
                             float *panels, size_t step)
{
	for (size_t l = 0; l < k; l++) {
		const float *row = x + l * stride;
		float *out = panels + l * C;
		size_t j = 0;

		for (; j + C <= columns; j += C, out += step)
#pragma GCC unroll 4
			for (size_t v = 0; v < C; v += LANES)
				vst1q_f32(out + v, vld1q_f32(row + j + v));
		if (j < columns)
			copy_part(row + j, columns - j, C, out);
	}
}

/* ---- Products ----------------------------------------------------------------------- */

static inline float32x4_t keep_where(uint32x4_t on, float32x4_t x)
{
	return vreinterpretq_f32_u32(vandq_u32(on, vreinterpretq_u32_f32(x)));
}

/* Bias, ReLU and mask of four sums, whose place is `column`. */
static inline __attribute__((always_inline)) float32x4_t finish(const inv_panel_product *p,
                                                                const place *at, size_t row,
                                                                size_t column,
                                                                float32x4_t sum)
{
	if (at->bias)
		sum = vaddq_f32(sum, vld1q_f32(at->bias + column));
	if (p->relu)
		sum = keep_where(vmvnq_u32(vcltzq_f32(sum)), sum); /* NaN stays */
	if (at->mask) {
		const float *mask = at->mask + row * at->mask_stride + column;

		sum = keep_where(vcgtzq_f32(vld1q_f32(mask)), sum);
		vst1q_f32(at->sums + column, vaddq_f32(vld1q_f32(at->sums + column), sum));
	}
	return sum;
}

static inline __attribute__((always_inline)) void multiply_strip(const size_t rows,
                                                                 const float *a,
                                                                 const inv_panel_product *p,
                                                                 const place *at)
{
	const float *b = p->panel;
	float32x4_t sum[R][ACROSS];

#pragma GCC unroll 6
	for (size_t i = 0; i < rows; i++)
#pragma GCC unroll 4
		for (size_t v = 0; v < ACROSS; v++)
			sum[i][v] = vdupq_n_f32(0);
	for (size_t l = 0; l < p->k; l++, a += R, b += C) {
		float32x4_t x[ACROSS];

		__builtin_prefetch(a + AHEAD);
		__builtin_prefetch(b + p->k * C, 0, 2); /* the next panel, into the L2 cache */
#pragma GCC unroll 4
		for (size_t v = 0; v < ACROSS; v++)
			x[v] = vld1q_f32(b + v * LANES);
#pragma GCC unroll 6
		for (size_t i = 0; i < rows; i++)
#pragma GCC unroll 4
			for (size_t v = 0; v < ACROSS; v++)
				sum[i][v] = vfmaq_n_f32(sum[i][v], x[v], a[i]);
	}
#pragma GCC unroll 6
	for (size_t i = 0; i < rows; i++)
#pragma GCC unroll 4
		for (size_t v = 0; v < ACROSS; v++) {
			size_t column = v * LANES;
			float32x4_t x = sum[i][v];

			if (p->add)
				x = vaddq_f32(vld1q_f32(at->from + i * at->from_stride + column), x);
			vst1q_f32(at->c + i * at->stride + column, finish(p, at, i, column, x));
		}
}

/* The row times one panel, whose four vectors of sums stand side by side. */
static void multiply_row(const inv_panel_product *p)
{
	const place at = {.bias = p->bias, .mask = p->mask, .sums = p->sums};
	const float *from = p->from ? p->from : p->c;
	float32x4_t sum[ACROSS];

#pragma GCC unroll 4
	for (size_t v = 0; v < ACROSS; v++)
		sum[v] = vdupq_n_f32(0);
	for (size_t l = 0; l < p->k; l++)
#pragma GCC unroll 4
		for (size_t v = 0; v < ACROSS; v++)
			sum[v] =
				vfmaq_n_f32(sum[v], vld1q_f32(p->panel + l * C + v * LANES), p->strips[l]);
#pragma GCC unroll 4
	for (size_t v = 0; v < ACROSS; v++) {
		if (p->add)
			sum[v] = vaddq_f32(vld1q_f32(from + v * LANES), sum[v]);
		vst1q_f32(p->c + v * LANES, finish(p, &at, 0, v * LANES, sum[v]));
	}
}

static void row_product_neon(const inv_panel_product *p)
{
	for (size_t j = 0; j < p->columns; j += C) {
		const inv_panel_product panel = inv_panel_at(p, j);

		multiply_row(&panel);
	}
}

void inv_kernels_panels_neon(struct inv_kernels *k)
{
	k->pack_strips = pack_strips_neon;
	k->pack_strips_turned = pack_strips_turned_neon;
	k->fill_panels = fill_panels_neon;
	k->panel_product = panel_product;
	k->row_product = row_product_neon;
}
