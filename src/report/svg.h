/* SPDX-License-Identifier: Apache-2.0 */
/*
 * svg.h - a picture as SVG text, and that text as a file, SVG or PNG.
 *
 * Colours are classes of one style sheet, so that a page can show the same picture on a
 * light and on a dark background: a browser picks by the reader's setting, librsvg draws
 * light, or dark where the picture is begun so.
 */
#ifndef INV_SVG_H
#define INV_SVG_H

#include <stdbool.h>
#include <stdio.h>

#include "invar.h"
#include "report/line_text.h"

#define INV_FONT "font-family=\"DejaVu Sans, Verdana, Helvetica, Arial, sans-serif\""

/* An embedded picture has no style sheet and no paper: the page around it has them. */
typedef enum inv_svg_theme { INV_SVG_LIGHT, INV_SVG_DARK, INV_SVG_EMBEDDED } inv_svg_theme;

typedef struct inv_svg {
	FILE *out;
	char *text; /* complete after inv_svg_end */
	size_t size;
	double width, height;
	unsigned serial; /* of pictures in one page, as ids must differ */
} inv_svg;

typedef enum inv_anchor { INV_START, INV_MIDDLE, INV_END } inv_anchor;

/* Colours of columns, marks and classes repeat after this many. */
enum { INV_COLOURS = 12 };

/* false if there is no memory. */
bool inv_svg_begin(inv_svg *s, double width, double height, inv_svg_theme theme);
/* The rules of all classes, as in the style sheet of a picture. */
void inv_svg_put_colours(FILE *out, bool dark);
/* .b0, .b1 …: the colours of columns as backgrounds, for marks in a page. */
void inv_svg_put_backgrounds(FILE *out, bool dark);
/* false if memory ran out; the text is freed by inv_svg_free in any case. */
bool inv_svg_end(inv_svg *s);
void inv_svg_free(inv_svg *s);

/*
 * One line of text. Names may contain any bytes: what XML cannot represent, or what changes
 * the direction of the text around it, becomes '?', and what does not fit into `room`
 * pixels ends in "…" (room 0: as long as it is). class is "ink" or "quiet".
 */
void inv_svg_text(const inv_svg *s, double x, double y, double size, inv_anchor anchor,
                  const char *class, double room, const char *text);
/* The same, turned by 90 degrees so that it reads upwards. */
void inv_svg_upward_text(const inv_svg *s, double x, double y, double size, double room,
                         const char *text);
/* Estimated: letters differ in width, and fonts do. */
double inv_svg_text_width(const char *text, double size);
void inv_base64(FILE *out, const void *bytes, size_t size);

/* Whether this build has librsvg; one without it has draw_svg_none.c. */
bool inv_can_draw(void);
/* Gives [height, width, 3], free() it; or NULL, with `capacity` bytes of the reason. */
uint8_t *inv_draw_svg(const char *svg, size_t size, uint32_t width, uint32_t height,
                      char *reason, size_t capacity);

/* Writes `path` atomically, as SVG where the name ends in .svg, else as PNG. */
invar_status inv_svg_save(invar_context *ctx, const inv_svg *s, const char *path);

#endif
