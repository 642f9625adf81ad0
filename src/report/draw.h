/* SPDX-License-Identifier: Apache-2.0 */
/*
 * draw.h - renders an SVG with librsvg; draw_none.c replaces draw.c in a build without it.
 */
#ifndef INV_DRAW_H
#define INV_DRAW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool inv_can_draw(void);

/* Gives [height, width, 3], free() it; NULL with the reason in `reason`, `capacity` bytes.
 */
uint8_t *inv_draw_svg(const char *svg, size_t size, uint32_t width, uint32_t height,
                      char *reason, size_t capacity);

#endif
