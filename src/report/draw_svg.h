/* SPDX-License-Identifier: Apache-2.0 */
/*
 * draw_svg.h - renders an SVG with librsvg; a build without it has draw_svg_none.c.
 */
#ifndef INV_DRAW_SVG_H
#define INV_DRAW_SVG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool inv_can_draw(void);

/* Gives [height, width, 3], free() it; NULL with the reason in `reason`, `capacity` bytes.
 */
uint8_t *inv_draw_svg(const char *svg, size_t size, uint32_t width, uint32_t height,
                      char *reason, size_t capacity);

#endif
