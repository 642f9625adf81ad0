/* SPDX-License-Identifier: Apache-2.0 */
/*
 * panel_rows.h - a product of strips and a panel, strip by strip, written once for every
 * instruction set: the file that includes it defines multiply_strip.
 */
#include <string.h>

#include "math/kernels.h"

enum { R = INV_STRIP_ROWS, C = INV_PANEL_COLS };

/* Where a strip's sums go, and what they are added to. */
typedef struct place {
	const float *from, *bias, *mask;
	float *c, *sums;
	size_t from_stride, stride, mask_stride;
} place;

/* A constant number of rows of the strip a, times the panel. */
static inline __attribute__((always_inline)) void multiply_strip(const size_t rows,
                                                                 const float *a,
                                                                 const inv_panel_product *p,
                                                                 const place *at);

static void multiply_rows(size_t rows, const float *a, const inv_panel_product *p,
                          const place *at)
{
	switch (rows) {
	case 1:
		multiply_strip(1, a, p, at);
		break;
	case 2:
		multiply_strip(2, a, p, at);
		break;
	case 3:
		multiply_strip(3, a, p, at);
		break;
	case 4:
		multiply_strip(4, a, p, at);
		break;
	case 5:
		multiply_strip(5, a, p, at);
		break;
	default:
		multiply_strip(R, a, p, at);
	}
}

static void copy_rows(const float *x, size_t x_stride, size_t rows, size_t columns,
                      float *out, size_t stride)
{
	for (size_t i = 0; i < rows; i++)
		memcpy(out + i * stride, x + i * x_stride, columns * sizeof *out);
}

/* An incomplete panel goes through a separate tile. */
static void multiply_part(size_t rows, const float *a, const inv_panel_product *p,
                          const place *at)
{
	float tile[R * C], mask[R * C] = {0}, bias[C] = {0}, sums[C] = {0};
	const place within = {.from = tile,
	                      .bias = p->bias ? bias : NULL,
	                      .mask = p->mask ? mask : NULL,
	                      .c = tile,
	                      .sums = sums,
	                      .from_stride = C,
	                      .stride = C,
	                      .mask_stride = C};

	if (p->bias)
		copy_rows(p->bias, 0, 1, p->columns, bias, 0);
	if (p->add)
		copy_rows(at->from, at->from_stride, rows, p->columns, tile, C);
	if (p->mask) {
		copy_rows(at->mask, at->mask_stride, rows, p->columns, mask, C);
		copy_rows(p->sums, 0, 1, p->columns, sums, 0);
	}
	multiply_rows(rows, a, p, &within);
	copy_rows(tile, C, rows, p->columns, at->c, at->stride);
	if (p->mask)
		copy_rows(sums, 0, 1, p->columns, p->sums, 0);
}

static void panel_product(const inv_panel_product *p)
{
	place at = {.from = p->from ? p->from : p->c,
	            .bias = p->bias,
	            .mask = p->mask,
	            .c = p->c,
	            .sums = p->sums,
	            .from_stride = p->from ? p->from_stride : p->stride,
	            .stride = p->stride,
	            .mask_stride = p->mask_stride};

	for (size_t i = 0; i < p->rows; i += R) {
		size_t rows = p->rows - i < R ? p->rows - i : R;

		if (p->columns == C)
			multiply_rows(rows, p->strips + i * p->k, p, &at);
		else
			multiply_part(rows, p->strips + i * p->k, p, &at);
		at.c += R * at.stride;
		at.from += R * at.from_stride;
		if (at.mask)
			at.mask += R * at.mask_stride;
	}
}
