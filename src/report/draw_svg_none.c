/* SPDX-License-Identifier: Apache-2.0 */
/* draw_svg_none.c - replaces draw_svg.c in a build without librsvg (-Drsvg=disabled). */
#include "report/svg.h"

bool inv_can_draw(void)
{
	return false;
}

uint8_t *inv_draw_svg(const char *svg, size_t size, uint32_t width, uint32_t height,
                      char *reason, size_t capacity)
{
	(void)svg;
	(void)size;
	(void)width;
	(void)height;
	snprintf(reason, capacity, "this invar was built without librsvg");
	return NULL;
}
