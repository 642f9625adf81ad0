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

#include "report/draw_svg.h"

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
	SHARPNESS = 2,   /* pixels of the PNG for one of the SVG */
	MAX_SIDE = 30000 /* cairo has 32767 */
};

#define FONT "font-family=\"DejaVu Sans, Verdana, Helvetica, Arial, sans-serif\""
#define PAPER "#fbfaf8"
#define INK "#2b2b2b"
#define QUIET "#8a8781"
#define LINE "#dedbd5"

typedef struct layout {
	const inv_sheet *sheet;
	double scale;     /* SVG pixels per image pixel */
	double box;       /* side of the square cell of an image */
	double cell, row; /* width and height of a cell with its text */
	double head;      /* what the title takes */
	bool captions, details;
	size_t columns;
	double width, height; /* of the whole sheet */
} layout;

/* ---- Layout --------------------------------------------------------------------- */

static uint32_t largest_side(const inv_sheet *s)
{
	uint32_t side = 1;

	for (size_t i = 0; i < s->count; i++) {
		side = s->cells[i].width > side ? s->cells[i].width : side;
		side = s->cells[i].height > side ? s->cells[i].height : side;
	}
	return side;
}

static void scale_pictures(layout *l)
{
	uint32_t side = largest_side(l->sheet);

	l->scale = side <= BOX ? floor((double)BOX / side) : 0;
	l->box = side <= BOX ? l->scale * side : BOX;
	l->cell = l->box > NARROW ? l->box : NARROW;
}

/* SVG pixels per pixel of this image. */
static double picture_scale(const layout *l, const inv_sheet_cell *c)
{
	uint32_t side = c->width > c->height ? c->width : c->height;

	return l->scale > 0 ? l->scale : side > BOX ? (double)BOX / side : 1;
}

static size_t square_columns(const layout *l)
{
	double n = (double)l->sheet->count;
	double columns = ceil(sqrt(n * (l->row + GAP) / (l->cell + GAP)));

	return columns < 1 ? 1 : columns > n && n >= 1 ? (size_t)n : (size_t)columns;
}

static layout lay_out(const inv_sheet *s)
{
	layout l = {.sheet = s};
	size_t rows;

	scale_pictures(&l);
	for (size_t i = 0; i < s->count; i++) {
		l.captions |= s->cells[i].caption != NULL;
		l.details |= s->cells[i].detail != NULL;
	}
	l.row = l.box + (l.captions || l.details ? 4 : 0) + (l.captions ? CAPTION_LINE : 0) +
	        (l.details ? DETAIL_LINE : 0);
	l.columns = s->columns ? s->columns : square_columns(&l);
	rows = (s->count + l.columns - 1) / l.columns;
	l.head = (s->title ? TITLE_LINE : 0) + (s->subtitle ? SUBTITLE_LINE : 0);
	l.head += l.head > 0 ? HEAD_GAP : 0;
	l.width = 2 * MARGIN + (double)l.columns * (l.cell + GAP) - GAP;
	l.height = 2 * MARGIN + l.head + (double)rows * (l.row + GAP) - (rows ? GAP : 0);
	return l;
}

/* ---- Text --------------------------------------------------------------------------- */

static bool is_whole_character(const char *text, size_t *bytes)
{
	unsigned char c = (unsigned char)*text;
	size_t length = c < 0x80                ? 1
	                : c >= 0xc2 && c < 0xe0 ? 2
	                : c >= 0xe0 && c < 0xf0 ? 3
	                                        : 4;

	*bytes = 1;
	if ((c >= 0x80 && c < 0xc2) || c > 0xf4 || c < 0x20 || c == 0x7f)
		return false;
	for (size_t i = 1; i < length; i++)
		if (((unsigned char)text[i] & 0xc0) != 0x80)
			return false;
	if ((c == 0xe0 && (unsigned char)text[1] < 0xa0) ||
	    (c == 0xed && (unsigned char)text[1] >= 0xa0) ||
	    (c == 0xef && (unsigned char)text[1] == 0xbf && (unsigned char)text[2] >= 0xbe) ||
	    (c == 0xf0 && (unsigned char)text[1] < 0x90) ||
	    (c == 0xf4 && (unsigned char)text[1] >= 0x90))
		return false; /* overlong, a surrogate, no character, or beyond the last one */
	*bytes = length;
	return true;
}

static void put_character(FILE *out, const char *text, size_t bytes)
{
	if (*text == '<')
		fputs("&lt;", out);
	else if (*text == '>')
		fputs("&gt;", out);
	else if (*text == '&')
		fputs("&amp;", out);
	else if (*text == '"')
		fputs("&quot;", out);
	else
		fwrite(text, 1, bytes, out);
}

/* File names may contain any bytes: what XML cannot represent becomes '?', long names end
 * in "…". */
static void put_text(FILE *out, const char *text, size_t max)
{
	size_t bytes, length = 0;

	for (const char *at = text; *at; at += bytes, length++)
		is_whole_character(at, &bytes);
	for (size_t i = 0; *text && i < max; text += bytes, i++) {
		if (i + 1 == max && length > max) {
			fputs("…", out);
			return;
		}
		if (is_whole_character(text, &bytes))
			put_character(out, text, bytes);
		else
			putc('?', out);
	}
}

/* A line that fits into `width`, by the average width of a letter of this size. */
static void put_line(FILE *out, double x, double y, double width, double size,
                     const char *style, const char *text)
{
	double letters = width / (0.58 * size);

	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.0f\" %s>", x, y, size, style);
	put_text(out, text, letters < 2 ? 2 : (size_t)letters);
	fputs("</text>\n", out);
}

/* ---- Pictures -------------------------------------------------------------------------
 */

static void put_base64(FILE *out, const uint8_t *bytes, size_t size)
{
	static const char digit[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < size; i += 3) {
		uint32_t three = (uint32_t)bytes[i] << 16;

		three |= i + 1 < size ? (uint32_t)bytes[i + 1] << 8 : 0;
		three |= i + 2 < size ? bytes[i + 2] : 0;
		putc(digit[three >> 18], out);
		putc(digit[three >> 12 & 63], out);
		putc(i + 1 < size ? digit[three >> 6 & 63] : '=', out);
		putc(i + 2 < size ? digit[three & 63] : '=', out);
	}
}

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

/* Pixels as squares, which not every drawer of SVG would make of them by itself. */
static uint8_t *grow(const inv_sheet_cell *c, uint32_t k)
{
	size_t width = (size_t)c->width * k, height = (size_t)c->height * k;
	uint8_t *large = malloc(width * height * 3);

	for (size_t y = 0; large && y < height; y++)
		for (size_t x = 0; x < width; x++)
			memcpy(large + (y * width + x) * 3, c->rgb + (y / k * c->width + x / k) * 3, 3);
	return large;
}

/* The embedded version of an image; rgb is NULL if there is no memory. */
static inv_sheet_cell resample(const inv_sheet_cell *c, double scale)
{
	inv_sheet_cell to = {.width = c->width, .height = c->height};
	double sharp = scale * SHARPNESS;
	uint32_t k = (uint32_t)(sharp < 1 ? 1 / sharp : sharp);

	if (sharp < 1) {
		to.width = (c->width + k - 1) / k;
		to.height = (c->height + k - 1) / k;
		to.rgb = shrink(c, k, to.width, to.height);
		return to;
	}
	if (scale < 2)
		k = 1; /* pixels this small are smoothed by the drawing */
	to.width *= k;
	to.height *= k;
	to.rgb = grow(c, k);
	return to;
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

static invar_status put_png(invar_context *ctx, FILE *out, const inv_sheet_cell *c,
                            double scale)
{
	inv_sheet_cell shown = resample(c, scale);
	void *png = NULL;
	size_t size = 0;
	invar_status st;

	if (!shown.rgb)
		return INVAR_E_NOMEM;
	st = invar_png_encode(ctx, shown.rgb, shown.width, shown.height, &png, &size);
	if (st == INVAR_OK)
		put_base64(out, png, size);
	invar_free(png);
	free((void *)(uintptr_t)shown.rgb);
	return st;
}

static invar_status put_picture(invar_context *ctx, FILE *out, const layout *l,
                                const inv_sheet_cell *c, double x, double y)
{
	double scale = picture_scale(l, c);
	double width = c->width * scale, height = c->height * scale;
	invar_status st;

	x += floor((l->cell - width) / 2);
	y += floor((l->box - height) / 2);
	fprintf(out,
	        "<image x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" "
	        "preserveAspectRatio=\"none\" xlink:href=\"data:image/png;base64,",
	        x, y, width, height);
	st = put_png(ctx, out, c, scale);
	fputs("\"/>\n", out);
	fprintf(out,
	        "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill=\"none\" "
	        "stroke=\"" LINE "\"/>\n",
	        x - 0.5, y - 0.5, width + 1, height + 1);
	return st;
}

static invar_status put_cell(invar_context *ctx, FILE *out, const layout *l, size_t i)
{
	const inv_sheet_cell *c = &l->sheet->cells[i];
	double x = MARGIN + (double)(i % l->columns) * (l->cell + GAP);
	double y = MARGIN + l->head + (double)(i / l->columns) * (l->row + GAP);
	double middle = x + l->cell / 2, line = y + l->box + 4;
	invar_status st = INVAR_OK;

	if (c->rgb && c->width && c->height)
		st = put_picture(ctx, out, l, c, x, y);
	if (c->caption)
		put_line(out, middle, line + CAPTION_LINE - 4, l->cell + GAP / 2, 11,
		         FONT " text-anchor=\"middle\" fill=\"" INK "\"", c->caption);
	line += l->captions ? CAPTION_LINE : 0;
	if (c->detail)
		put_line(out, middle, line + DETAIL_LINE - 4, l->cell + GAP / 2, 9,
		         FONT " text-anchor=\"middle\" fill=\"" QUIET "\"", c->detail);
	return st;
}

/* ---- The sheet -------------------------------------------------------------------------
 */

static void put_head(FILE *out, const layout *l)
{
	double inner = l->width - 2 * MARGIN;
	double y = MARGIN + TITLE_LINE - 9;

	fprintf(out,
	        "<svg xmlns=\"http://www.w3.org/2000/svg\" "
	        "xmlns:xlink=\"http://www.w3.org/1999/xlink\" "
	        "width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\">\n"
	        "<rect width=\"100%%\" height=\"100%%\" fill=\"" PAPER "\"/>\n",
	        ceil(l->width), ceil(l->height), ceil(l->width), ceil(l->height));
	if (l->sheet->title)
		put_line(out, MARGIN, y, inner, 18, FONT " fill=\"" INK "\"", l->sheet->title);
	y = MARGIN + (l->sheet->title ? TITLE_LINE : 0) + SUBTITLE_LINE - 6;
	if (l->sheet->subtitle)
		put_line(out, MARGIN, y, inner, 11, FONT " fill=\"" QUIET "\"", l->sheet->subtitle);
}

static invar_status write_svg(invar_context *ctx, const layout *l, char **text,
                              size_t *size)
{
	FILE *out = open_memstream(text, size);
	invar_status st = INVAR_OK;
	bool failed;

	if (!out)
		return INVAR_E_NOMEM;
	put_head(out, l);
	for (size_t i = 0; i < l->sheet->count && st == INVAR_OK; i++)
		st = put_cell(ctx, out, l, i);
	fputs("</svg>\n", out);
	failed = ferror(out) != 0;
	if (fclose(out) != 0 || failed)
		return INVAR_E_NOMEM;
	return st;
}

static invar_status write_png(invar_context *ctx, const char *path, const layout *l,
                              const char *svg, size_t size, char *fault, size_t capacity)
{
	double sharpness =
		l->width > MAX_SIDE / SHARPNESS || l->height > MAX_SIDE / SHARPNESS ? 1 : SHARPNESS;
	uint32_t width = (uint32_t)(ceil(l->width) * sharpness);
	uint32_t height = (uint32_t)(ceil(l->height) * sharpness);
	char reason[256];
	uint8_t *rgb = inv_draw_svg(svg, size, width, height, reason, sizeof reason);
	void *png = NULL;
	size_t bytes = 0;
	invar_status st;

	if (!rgb) {
		snprintf(fault, capacity,
		         "%s: cannot render the sheet: %s; a file name ending in .svg needs no "
		         "rendering",
		         path, reason);
		return INVAR_E_NOMEM;
	}
	st = invar_png_encode(ctx, rgb, width, height, &png, &bytes);
	if (st == INVAR_OK)
		st = invar_file_write(ctx, path, png, bytes);
	invar_free(png);
	free(rgb);
	return st;
}

static bool is_svg(const char *path)
{
	size_t length = strlen(path);

	return length >= 4 && strcmp(path + length - 4, ".svg") == 0;
}

invar_status inv_sheet_write(invar_context *ctx, const char *path, const inv_sheet *sheet,
                             char *fault, size_t capacity)
{
	layout l = lay_out(sheet);
	char *svg = NULL;
	size_t size = 0;
	invar_status st;

	*fault = '\0';
	if (l.width > MAX_SIDE || l.height > MAX_SIDE) {
		snprintf(fault, capacity,
		         "%s: a sheet of %.0f x %.0f pixels is too large, at most %d per side are "
		         "possible; show fewer images",
		         path, l.width, l.height, MAX_SIDE);
		return INVAR_E_USE;
	}
	st = write_svg(ctx, &l, &svg, &size);
	if (st == INVAR_E_NOMEM)
		snprintf(fault, capacity, "%s: not enough memory for the sheet", path);
	if (st == INVAR_OK && is_svg(path))
		st = invar_file_write(ctx, path, svg, size);
	else if (st == INVAR_OK)
		st = write_png(ctx, path, &l, svg, size, fault, capacity);
	free(svg);
	return st;
}
