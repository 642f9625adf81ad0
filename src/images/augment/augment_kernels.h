/* SPDX-License-Identifier: Apache-2.0 */
/*
 * augment_kernels.h - the loops over pixels, by table, as in math/kernels.h.
 *
 * augment_kernels_ref.c is complete and plain; augment_kernels_lanes.c, compiled for AVX2
 * or NEON, has the same arithmetic in the same order, so that all give the same bits.
 */
#ifndef INV_AUGMENT_KERNELS_H
#define INV_AUGMENT_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Which position of the source the pixel (u, v) of the result shows:
 * x = xx u + xy v + x0, y = yx u + yy v + y0, in pixels of the source.
 */
typedef struct inv_pixel_map {
	double xx, xy, x0;
	double yx, yy, y0;
} inv_pixel_map;

/* Planes [planes, h, w] seen through a map of positions. */
typedef struct inv_view {
	const float *in;
	size_t planes, h, w;
	float *out;
	size_t out_h, out_w;
	inv_pixel_map at;
} inv_view;

#define INV_WARP_MARGIN (1.0 / 1024)
/*
 * The longest step from pixel to pixel, in pixels of the source: seven of them, rounded to
 * float twice, are off by at most 14 step 2^-24, which is below the margin.
 */
#define INV_WARP_STEP 1024.0
enum { INV_WARP_BLOCK = 8 };

/* The position of a block's first pixel along one axis: whole part and rest. */
typedef struct inv_block_start {
	int32_t whole;
	float rest;
} inv_block_start;

struct inv_augment_kernels {
	/*
	 * Pixels `from` to `to` of row v of all planes, bilinear, where all four
	 * neighbours lie inside with INV_WARP_MARGIN to spare; steps are at most
	 * INV_WARP_STEP. Positions are double at every eighth pixel and float between,
	 * which is exact to 2e-6 pixels if steps are a few pixels long.
	 */
	void (*warp_span)(const inv_view *view, size_t v, size_t from, size_t to);
	/*
	 * out[i] = row[at[i]] and its right neighbour mixed by share[i]. Both exist.
	 */
	void (*stretch_row)(const float *row, const int32_t *at, const float *share,
	                    size_t count, float *out);
	/* out = a + share (b - a) */
	void (*mix_rows)(const float *a, const float *b, float share, size_t count, float *out);
	/* y += scale x */
	void (*add_scaled)(const float *x, float scale, size_t count, float *y);
	/* out = x + (mean + std out) */
	void (*add_field)(const float *x, float mean, float std, size_t count, float *out);
	/* out = x scale + offset, clamped to [low, high] */
	void (*scale)(const float *x, float scale, float offset, float low, float high,
	              size_t count, float *out);
};

/* cpu: the context's INV_CPU_* flags. */
void inv_augment_kernels_init(struct inv_augment_kernels *k, unsigned cpu);

void inv_augment_kernels_ref(struct inv_augment_kernels *k);
void inv_augment_kernels_avx2(struct inv_augment_kernels *k);
void inv_augment_kernels_neon(struct inv_augment_kernels *k);

#endif
