/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sheet.h - a contact sheet: images in rows, each with a line or two below it.
 *
 * The sheet is written as SVG with embedded images; if the file name does not end in .svg,
 * as PNG rendered from that SVG by librsvg.
 */
#ifndef INV_SHEET_H
#define INV_SHEET_H

#include "invar.h"

typedef struct inv_sheet_cell {
	const uint8_t *rgb; /* [height, width, 3], borrowed; NULL leaves the place empty */
	uint32_t width, height;
	const char *caption; /* UTF-8, may be NULL, as may the smaller line below it */
	const char *detail;
} inv_sheet_cell;

typedef struct inv_sheet {
	const char *title;    /* may be NULL */
	const char *subtitle; /* smaller, below it; may be NULL */
	const inv_sheet_cell *cells;
	size_t count;
	size_t columns; /* 0: as many as make the sheet about square */
} inv_sheet;

/* Writes `path` atomically. */
invar_status inv_sheet_write(invar_context *ctx, const char *path, const inv_sheet *sheet);

/*
 * A copy with no more pixels than a sheet shows, to save memory; gives, free() it. NULL if
 * there is no memory.
 */
uint8_t *inv_sheet_thumbnail(const uint8_t *rgb, uint32_t *width, uint32_t *height);

#endif
