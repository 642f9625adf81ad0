/* SPDX-License-Identifier: Apache-2.0 */
/* panels_ref.c - products of strips and panels, in plain C. */
#include "math/kernels.h"

static void pack_strips_ref(const float *a, size_t stride, size_t rows, size_t k,
                            float *strips)
{
	for (size_t i = 0; i < rows; i++) {
		float *strip = strips + i / INV_STRIP_ROWS * INV_STRIP_ROWS * k;

		for (size_t l = 0; l < k; l++)
			strip[l * INV_STRIP_ROWS + i % INV_STRIP_ROWS] = a[i * stride + l];
	}
}

static void pack_strips_turned_ref(const float *a, size_t stride, size_t rows, size_t k,
                                   float *strips)
{
	for (size_t i = 0; i < rows; i++) {
		float *strip = strips + i / INV_STRIP_ROWS * INV_STRIP_ROWS * k;

		for (size_t l = 0; l < k; l++)
			strip[l * INV_STRIP_ROWS + i % INV_STRIP_ROWS] = a[l * stride + i];
	}
}

static void fill_panels_ref(const float *x, size_t stride, size_t k, size_t columns,
                            float *panels, size_t step)
{
	size_t wide = (columns + INV_PANEL_COLS - 1) / INV_PANEL_COLS * INV_PANEL_COLS;

	for (size_t l = 0; l < k; l++)
		for (size_t j = 0; j < wide; j++)
			panels[j / INV_PANEL_COLS * step + l * INV_PANEL_COLS + j % INV_PANEL_COLS] =
				j < columns ? x[l * stride + j] : 0;
}

static void finish(const inv_panel_product *p, size_t row, size_t column, float sum)
{
	if (p->bias)
		sum += p->bias[column];
	if (p->relu && sum < 0)
		sum = 0;
	if (p->mask && !(p->mask[row * p->mask_stride + column] > 0))
		sum = 0;
	if (p->mask)
		p->sums[column] += sum;
	p->c[row * p->stride + column] = sum;
}

static void panel_product_ref(const inv_panel_product *p)
{
	for (size_t i = 0; i < p->rows; i++) {
		const float *strip = p->strips + i / INV_STRIP_ROWS * INV_STRIP_ROWS * p->k;
		const float *from = p->from ? p->from + i * p->from_stride : p->c + i * p->stride;

		for (size_t j = 0; j < p->columns; j++) {
			double sum = 0;

			for (size_t l = 0; l < p->k; l++)
				sum += (double)strip[l * INV_STRIP_ROWS + i % INV_STRIP_ROWS] *
				       p->panel[l * INV_PANEL_COLS + j];
			finish(p, i, j, (float)(p->add ? from[j] + sum : sum));
		}
	}
}

static void row_product_ref(const inv_panel_product *p)
{
	const float *from = p->from ? p->from : p->c;

	for (size_t j = 0; j < p->columns; j++) {
		size_t inside = j % INV_PANEL_COLS;
		const float *panel = p->panel + (j - inside) * p->k + inside;
		double sum = 0;

		for (size_t l = 0; l < p->k; l++)
			sum += (double)p->strips[l] * panel[l * INV_PANEL_COLS];
		finish(p, 0, j, (float)(p->add ? from[j] + sum : sum));
	}
}

void inv_kernels_panels_ref(struct inv_kernels *k)
{
	k->pack_strips = pack_strips_ref;
	k->pack_strips_turned = pack_strips_turned_ref;
	k->fill_panels = fill_panels_ref;
	k->panel_product = panel_product_ref;
	k->row_product = row_product_ref;
}
