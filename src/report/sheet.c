/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sheet.c - lays out a contact sheet as SVG and draws it as PNG.
 *
 * If all images are small, they are enlarged by one whole factor, so that pixels stay
 * square and sizes can be compared; otherwise images that are too large shrink to the box.
 * Embedded images have about as many pixels as the sheet shows.
 */
#include "report/sheet.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "formats/pixels.h"
#include "report/svg.h"

enum {
	BOX = 136,       /* maximum side of an image, in SVG pixels */
	NARROW = 96,     /* least width of a cell, for the sake of its text */
	MARGIN = 32,     /* around everything */
	GAP = 16,        /* between cells */
	TITLE_LINE = 26, /* heights of lines of text */
	SUBTITLE_LINE = 18,
	HEAD_GAP = 14,
	CAPTION_LINE = 15,
	DETAIL_LINE = 13,
	SHARPNESS = 2 /* pixels of an embedded image for one of the SVG */
};

/* Means over squares of k x k pixels; those at the far edges may be smaller. */
static uint8_t *shrink(const inv_sheet_cell *c, uint32_t k, uint32_t width, uint32_t height)
{
	uint8_t *small = malloc((size_t)width * height * 3);

	for (size_t i = 0; small && i < (size_t)width * height * 3; i++) {
		uint32_t channel = (uint32_t)(i % 3), x0 = (uint32_t)(i / 3 % width) * k;
		uint32_t y0 = (uint32_t)(i / 3 / width) * k;
		uint32_t x1 = x0 + k < c->width ? x0 + k : c->width;
		uint32_t y1 = y0 + k < c->height ? y0 + k : c->height;
		uint64_t sum = 0, count = (uint64_t)(x1 - x0) * (y1 - y0);

		for (uint32_t y = y0; y < y1; y++)
			for (uint32_t x = x0; x < x1; x++)
				sum += c->rgb[((size_t)y * c->width + x) * 3 + channel];
		small[i] = (uint8_t)((sum + count / 2) / count);
	}
	return small;
}

uint8_t *inv_sheet_thumbnail(const uint8_t *rgb, uint32_t *width, uint32_t *height)
{
	const inv_sheet_cell whole = {.rgb = rgb, .width = *width, .height = *height};
	uint32_t side = *width > *height ? *width : *height;
	uint32_t k = side / (BOX * SHARPNESS) > 1 ? side / (BOX * SHARPNESS) : 1;

	*width = (*width + k - 1) / k;
	*height = (*height + k - 1) / k;
	return shrink(&whole, k, *width, *height);
}

/* In the middle of a cell [height, width] at (x, y). */
static invar_status put_picture(const inv_svg *svg, const inv_sheet_cell *c, double zoom,
                                double x, double y, double cell_width, double cell_height)
{
	uint32_t side = c->width > c->height ? c->width : c->height;
	/* SVG pixels per pixel of the image, then embedded pixels. */
	double scale = zoom > 0 ? zoom : side > BOX ? (double)BOX / side : 1;
	double sharp = scale * SHARPNESS, width = c->width * scale, height = c->height * scale;
	uint32_t k = (uint32_t)(sharp < 1 ? 1 / sharp : sharp);
	uint32_t columns = (c->width + k - 1) / k, rows = (c->height + k - 1) / k;
	uint8_t *shown;
	void *png = NULL;
	size_t size = 0;
	invar_status st;

	if (sharp < 1) {
		shown = shrink(c, k, columns, rows);
	} else {
		k = scale < 2 ? 1 : k; /* pixels this small are smoothed by the drawing */
		columns = c->width * k;
		rows = c->height * k;
		/* Pixels as squares, which not every drawer of SVG would make of them by itself. */
		shown = malloc((size_t)columns * rows * 3);
		for (size_t i = 0; shown && i < (size_t)columns * rows; i++)
			memcpy(shown + 3 * i,
			       c->rgb + (i / columns / k * c->width + i % columns / k) * 3, 3);
	}
	st = shown ? inv_png_encode(shown, columns, rows, &png, &size) : inv_no_memory();
	free(shown);
	INV_TRY(st);
	x += floor((cell_width - width) / 2);
	y += floor((cell_height - height) / 2);
	fprintf(svg->out,
	        "<image x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
	        "preserveAspectRatio=\"none\" xlink:href=\"data:image/png;base64,",
	        x, y, width, height);
	inv_base64(svg->out, png, size);
	fprintf(svg->out,
	        "\"/>\n<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
	        "class=\"iv-line-stroke\"/>\n",
	        x - 0.5, y - 0.5, width + 1, height + 1);
	invar_free(png);
	return INVAR_OK;
}

invar_status inv_sheet_write(invar_context *ctx, const char *path, const inv_sheet *sheet)
{
	double zoom, box, cell, row; /* box: side of an image; cell, row: with its text */
	double head = (sheet->title ? TITLE_LINE : 0) + (sheet->subtitle ? SUBTITLE_LINE : 0);
	double inner, y = MARGIN + TITLE_LINE - 9;
	size_t columns = sheet->columns, rows;
	bool captions = false, details = false;
	inv_svg svg = {0};
	uint32_t side = 1;
	invar_status st;

	for (size_t i = 0; i < sheet->count; i++) {
		const inv_sheet_cell *c = &sheet->cells[i];

		side = c->width > side ? c->width : side;
		side = c->height > side ? c->height : side;
		captions |= c->caption != NULL;
		details |= c->detail != NULL;
	}
	zoom = side <= BOX ? floor((double)BOX / side) : 0;
	box = side <= BOX ? zoom * side : BOX;
	cell = box > NARROW ? box : NARROW;
	row = box + (captions || details ? 4 : 0) + (captions ? CAPTION_LINE : 0) +
	      (details ? DETAIL_LINE : 0);
	if (!columns) { /* about square */
		double wanted = ceil(sqrt((double)sheet->count * (row + GAP) / (cell + GAP)));

		columns = wanted > (double)sheet->count ? sheet->count : (size_t)wanted;
		columns = columns ? columns : 1;
	}
	rows = (sheet->count + columns - 1) / columns;
	head += head > 0 ? HEAD_GAP : 0;
	inner = (double)columns * (cell + GAP) - GAP;
	if (!inv_svg_begin(&svg, 2 * MARGIN + inner,
	                   2 * MARGIN + head + (double)rows * (row + GAP) - (rows ? GAP : 0),
	                   INV_SVG_LIGHT))
		return inv_no_memory();

	if (sheet->title)
		inv_svg_text(&svg, MARGIN, y, 18, INV_START, "ink", inner, sheet->title);
	y = MARGIN + (sheet->title ? TITLE_LINE : 0) + SUBTITLE_LINE - 6;
	if (sheet->subtitle)
		inv_svg_text(&svg, MARGIN, y, 11, INV_START, "quiet", inner, sheet->subtitle);
	for (size_t i = 0; i < sheet->count; i++) {
		const inv_sheet_cell *c = &sheet->cells[i];
		double left = MARGIN + (double)(i % columns) * (cell + GAP);
		double top = MARGIN + head + (double)(i / columns) * (row + GAP);
		double middle = left + cell / 2, line = top + box + 4;

		if (c->rgb && c->width && c->height)
			INV_TRY_OR(done, put_picture(&svg, c, zoom, left, top, cell, box));
		if (c->caption)
			inv_svg_text(&svg, middle, line + CAPTION_LINE - 4, 11, INV_MIDDLE, "ink",
			             cell + GAP / 2, c->caption);
		line += captions ? CAPTION_LINE : 0;
		if (c->detail)
			inv_svg_text(&svg, middle, line + DETAIL_LINE - 4, 9, INV_MIDDLE, "quiet",
			             cell + GAP / 2, c->detail);
	}
	INV_TRY_OR(done, inv_svg_end(&svg) ? INVAR_OK : inv_no_memory());
	st = inv_svg_save(ctx, &svg, path);
done:
	inv_svg_free(&svg);
	return st;
}
