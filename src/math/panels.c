/* SPDX-License-Identifier: Apache-2.0 */
/*
 * panels.c - see panels.h.
 *
 * Sums are cut into parts of at most MAX_SUM terms, so that a panel's part stays in the L1
 * cache while it is multiplied by all rows; rows into parts of at most MAX_ROWS, which stay
 * in the L2 cache as strips for all panels. The cut of the sum depends on k alone. Both are
 * counted in cells of 32 bits: floats, pairs of bfloat16, or fours of bytes.
 */
#include "math/panels.h"

#include <string.h>

#include "base/threads.h"

enum { MAX_SUM = 384, MAX_ROWS = INV_MAX_PANEL_ROWS, SLACK = 16 };
enum { SIDE = INV_SIDE_PANELS * INV_PANEL_COLS }; /* columns of a row product */

/* Terms of a sum in one cell; cells of a sum. */
static size_t terms(const inv_panels *w)
{
	return w->bytes ? 4 : w->pairs ? 2 : 1;
}

static size_t cells(const inv_panels *w)
{
	return inv_blocks(w->k, terms(w));
}

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

uint64_t inv_panels_floats(size_t k, size_t n)
{
	return (uint64_t)inv_blocks(n, INV_PANEL_COLS) * INV_PANEL_COLS * k;
}

uint64_t inv_pair_panels_floats(size_t k, size_t n)
{
	return inv_panels_floats(inv_blocks(k, 2), n);
}

size_t inv_panels_room(void)
{
	return MAX_SUM * MAX_ROWS + SLACK; /* pack_strips may write a little further */
}

/* The size of equal parts, each a multiple of `step` except the last. */
static size_t even_part(size_t whole, size_t max, size_t step)
{
	size_t parts = inv_blocks(whole, max);

	return parts ? inv_blocks(inv_blocks(whole, parts), step) * step : step;
}

/* Whole vectors of cells, which are packed fastest. */
static size_t sum_part(const inv_panels *w)
{
	return even_part(cells(w), MAX_SUM, terms(w) > 1 ? 8 : 1);
}

inv_panels inv_panels_of(size_t k, size_t n, float *at)
{
	return (inv_panels){
		.k = k, .n = n, .wide = inv_blocks(n, INV_PANEL_COLS) * INV_PANEL_COLS, .at = at};
}

inv_panels inv_pair_panels_of(size_t k, size_t n, float *at)
{
	inv_panels w = inv_panels_of(k, n, at);

	w.pairs = true;
	return w;
}

inv_panels inv_byte_panels_of(size_t k, size_t n, float *at)
{
	inv_panels w = inv_panels_of(k, n, at);

	w.bytes = true;
	return w;
}

inv_panels inv_panels_columns(const inv_panels *w, size_t first, size_t n)
{
	inv_panels part = *w;

	part.n = n;
	part.first += first;
	return part;
}

/* Cells [l, l + count) of W, columns from j on. */
static float *panel_at(const inv_panels *w, size_t l, size_t count, size_t j)
{
	return w->at + l * w->wide + (w->first + j) * count;
}

void inv_panels_fill(const struct inv_kernels *kernels, const inv_panels *w, const float *x,
                     size_t stride)
{
	size_t sum = sum_part(w), each = terms(w);

	for (size_t l = 0; l < cells(w); l += sum) {
		size_t rows = min(sum, cells(w) - l);

		(w->pairs ? kernels->fill_pair_panels : kernels->fill_panels)(
			x + each * l * stride, stride, min(each * rows, w->k - each * l), w->n,
			panel_at(w, l, rows, 0), rows * INV_PANEL_COLS);
	}
}

void inv_panels_fill_turned(const struct inv_kernels *kernels, const inv_panels *w,
                            const float *x, size_t stride)
{
	size_t sum = sum_part(w);
	float rounded[INV_PANEL_COLS * MAX_SUM];

	for (size_t l = 0; l < cells(w); l += sum)
		for (size_t j = 0; j < w->n; j += INV_PANEL_COLS) {
			size_t rows = min(sum, cells(w) - l), columns = min(INV_PANEL_COLS, w->n - j);
			const float *from = x + j * stride + l;
			float *panel = panel_at(w, l, rows, j);

			if (columns < INV_PANEL_COLS)
				memset(panel, 0, rows * INV_PANEL_COLS * sizeof *panel);
			for (size_t i = 0; w->pairs && i < columns; i++)
				kernels->to_pairs(x + (j + i) * stride + 2 * l, min(2 * rows, w->k - 2 * l),
				                  rounded + i * rows);
			kernels->transpose(w->pairs ? rounded : from, columns, rows,
			                   w->pairs ? rows : stride, INV_PANEL_COLS, panel);
		}
}

void inv_panels_read(const inv_panels *w, size_t first, size_t n, float *out)
{
	size_t sum = sum_part(w);

	for (size_t l = 0; l < w->k; l += sum)
		for (size_t j = first; j < first + n; j++) {
			size_t rows = min(sum, w->k - l), inside = j % INV_PANEL_COLS;
			const float *panel = panel_at(w, l, rows, j - inside) + inside;

			for (size_t i = 0; i < rows; i++)
				out[(l + i) * n + j - first] = panel[i * INV_PANEL_COLS];
		}
}

size_t inv_panels_height(size_t rows)
{
	return even_part(rows, MAX_ROWS, INV_STRIP_ROWS);
}

static void pack_part(const struct inv_kernels *kernels, const inv_panels *w,
                      const inv_panels_rows *r, size_t i, size_t l,
                      const inv_panel_product *p, float *strips)
{
	if (r->pack)
		r->pack(r->user, r->first + i, l, p->rows, p->k, strips);
	else if (w->pairs)
		kernels->pack_pair_strips(r->a + i * r->a_stride + 2 * l, r->a_stride, p->rows,
		                          min(2 * p->k, w->k - 2 * l), strips);
	else if (r->turned)
		kernels->pack_strips_turned(r->a + l * r->a_stride + i, r->a_stride, p->rows, p->k,
		                            strips);
	else
		kernels->pack_strips(r->a + i * r->a_stride + l, r->a_stride, p->rows, p->k,
		                     strips);
}

/*
 * A part of the sum. Between the first and the last, sums are kept apart from C: its rows
 * may be a multiple of 4 KB apart, and then share a few lines of the L1 cache.
 */
static inv_panel_product product_of(const inv_panels *w, const inv_panels_rows *r, size_t i,
                                    size_t l, size_t sum)
{
	bool first = l == 0, last = l + sum >= cells(w);
	float *c = r->half ? r->sums : r->c + i * r->c_stride;
	inv_panel_product p = {.rows = r->rows - i,
	                       .k = min(sum, cells(w) - l),
	                       .add = r->add || !first,
	                       .relu = r->relu && last,
	                       .bias = last ? r->bias : NULL,
	                       .mask = last && r->mask ? r->mask + i * r->mask_stride : NULL,
	                       .mask_stride = r->mask_stride,
	                       .c = last || !r->sums ? c : r->sums,
	                       .stride = last || !r->sums ? r->c_stride : r->sums_stride};

	if (last && w->bytes) {
		p.row_scale = r->row_scale + i;
		p.column_scale = r->column_scale;
	}
	if (last && r->half) {
		p.half = r->half + i * r->half_stride;
		p.half_stride = r->half_stride;
		p.half_add = r->half_add;
	}
	if (r->sums && !(first && last)) {
		p.from = first ? c : r->sums;
		p.from_stride = first ? r->c_stride : r->sums_stride;
	}
	return p;
}

void inv_panels_multiply_rows(const struct inv_kernels *kernels, const inv_panels *w,
                              const inv_panels_rows *r, float *scratch)
{
	size_t sum = sum_part(w), height = inv_panels_height(r->rows);
	void (*multiply)(const inv_panel_product *) = w->bytes   ? kernels->byte_panel_product
	                                              : w->pairs ? kernels->pair_panel_product
	                                                         : kernels->panel_product;
	bool one = r->rows == 1 && !r->turned && !r->pack;
	float rounded[MAX_SUM];

	for (size_t i = 0; i < r->rows; i += height)
		for (size_t l = 0; l < cells(w); l += sum) {
			inv_panel_product p = product_of(w, r, i, l, sum);

			p.rows = min(height, p.rows);
			p.columns = w->n;
			p.panel = panel_at(w, l, p.k, 0);
			p.sums = p.mask ? r->column_sums : NULL;
			p.strips = scratch;
			if (!one || w->n % SIDE)
				pack_part(kernels, w, r, i, l, &p, scratch);
			if (one && w->pairs)
				kernels->to_pairs(r->a + 2 * l, min(2 * p.k, w->k - 2 * l), rounded);
			if (one)
				p.row = w->pairs ? rounded : r->a + l;
			multiply(&p);
		}
}

void inv_panels_multiply(const struct inv_kernels *kernels, const inv_panels *w,
                         size_t rows, const float *a, size_t a_stride, bool add, float *c,
                         size_t c_stride, float *scratch)
{
	const inv_panels_rows r = {.rows = rows,
	                           .a = a,
	                           .a_stride = a_stride,
	                           .add = add,
	                           .c = c,
	                           .c_stride = c_stride};

	inv_panels_multiply_rows(kernels, w, &r, scratch);
}
