/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed.c - see packed.h.
 *
 * The panels of the columns at hand stay in the L3 cache while all rows use them; a block
 * of rows is finished over the whole sum before the next one, so that it is still in the
 * L2 cache when `then` sees it.
 */
#include "math/packed.h"

#include "base/threads.h"

/* SPACE: rows of sums are a cache line longer, so that they are not 4 KB apart. */
enum { MAX_COLUMNS = 1024, MAX_HEIGHT = 192, MAX_FLOATS = 2 << 20, SPACE = 16 };

/* The most columns that are packed at once. */
static size_t max_columns(size_t k)
{
	size_t fit = MAX_FLOATS / (k ? k : 1) / INV_PANEL_COLS * INV_PANEL_COLS;

	return fit < INV_PANEL_COLS ? INV_PANEL_COLS : fit < MAX_COLUMNS ? fit : MAX_COLUMNS;
}

/* The columns of equal blocks, all but the last. */
static size_t columns_of(size_t n, size_t k)
{
	size_t even = n ? inv_blocks(n, inv_blocks(n, max_columns(k))) : 0;

	return inv_blocks(even, INV_PANEL_COLS) * INV_PANEL_COLS;
}

/* Blocks of a smaller tile may be larger: 190 rows are one block, 258 two of 132. */
size_t inv_packed_room(size_t m, size_t n, size_t k, bool panels)
{
	size_t height = inv_panels_height(m < MAX_HEIGHT ? m : MAX_HEIGHT);
	size_t max = max_columns(k), columns = columns_of(n < max ? n : max, k);

	return (panels ? 0 : columns * k) + inv_panels_room() + height * (columns + SPACE);
}

/* A block of rows and the columns that are packed. */
static void multiply_block(const inv_packed_tile *t, const inv_panels *panels, size_t row,
                           size_t rows, size_t col, float *strips)
{
	float *sums = strips + inv_panels_room();
	const inv_panels_rows r = {
		.rows = rows,
		.a = t->a + (t->turned_a ? row : row * t->a_stride),
		.a_stride = t->a_stride,
		.turned = t->turned_a,
		.add = t->add,
		.bias = t->bias ? t->bias + col : NULL,
		.relu = t->relu,
		.mask = t->mask ? t->mask + row * t->c_stride + col : NULL,
		.mask_stride = t->c_stride,
		.column_sums = t->column_sums ? t->column_sums + col : NULL,
		.c = t->c ? t->c + row * t->c_stride + col : sums,
		.c_stride = t->c ? t->c_stride : panels->n + SPACE,
		.sums = t->c ? sums : NULL,
		.sums_stride = panels->n + SPACE,
	};

	inv_panels_multiply_rows(t->kernels, panels, &r, strips);
	if (t->then)
		t->then(t->user, r.c, r.c_stride, row, rows, col, panels->n);
}

void inv_packed_multiply(const inv_packed_tile *t, float *scratch)
{
	size_t columns = columns_of(t->n, t->k), height = inv_panels_height(t->m);
	float *strips = t->panels ? scratch : scratch + columns * t->k;

	for (size_t col = 0; col < t->n; col += columns) {
		size_t cols = t->n - col < columns ? t->n - col : columns;
		inv_panels panels = t->panels ? inv_panels_columns(t->panels, col, cols)
		                              : inv_panels_of(t->k, cols, scratch);

		if (!t->panels && t->turned_b)
			inv_panels_fill_turned(t->kernels, &panels, t->b + col * t->b_stride,
			                       t->b_stride);
		else if (!t->panels)
			inv_panels_fill(t->kernels, &panels, t->b + col, t->b_stride);
		for (size_t row = 0; row < t->m; row += height)
			multiply_block(t, &panels, row, t->m - row < height ? t->m - row : height, col,
			               strips);
	}
}
