/* SPDX-License-Identifier: Apache-2.0 */
/* draw_svg.c - librsvg and cairo render an SVG. */
#include "report/svg.h"

#include <librsvg/rsvg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool inv_can_draw(void)
{
	return true;
}

uint8_t *inv_draw_svg(const char *svg, size_t size, uint32_t width, uint32_t height,
                      char *reason, size_t capacity)
{
	GError *error = NULL;
	GInputStream *in = g_memory_input_stream_new_from_data(svg, (gssize)size, NULL);
	RsvgHandle *handle = rsvg_handle_new_from_stream_sync(
		in, NULL, RSVG_HANDLE_FLAG_UNLIMITED, NULL, &error);
	cairo_surface_t *surface =
		cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)width, (int)height);
	cairo_t *canvas = cairo_create(surface);
	RsvgRectangle whole = {0, 0, width, height};
	uint8_t *rgb = NULL;

	if (handle && cairo_status(canvas) == CAIRO_STATUS_SUCCESS &&
	    rsvg_handle_render_document(handle, canvas, &whole, &error)) {
		cairo_surface_flush(surface);
		rgb = malloc((size_t)width * height * 3);
	}
	/* From cairo's words of 0xXXRRGGBB to bytes R, G, B. */
	for (size_t i = 0; rgb && i < (size_t)width * height; i++) {
		const uint8_t *data = cairo_image_surface_get_data(surface);
		size_t stride = (size_t)cairo_image_surface_get_stride(surface);
		uint32_t word;

		memcpy(&word, data + i / width * stride + i % width * sizeof word, sizeof word);
		rgb[3 * i] = (uint8_t)(word >> 16);
		rgb[3 * i + 1] = (uint8_t)(word >> 8);
		rgb[3 * i + 2] = (uint8_t)word;
	}
	if (!rgb)
		snprintf(reason, capacity, "%s", error ? error->message : "not enough memory");
	cairo_destroy(canvas);
	cairo_surface_destroy(surface);
	if (handle)
		g_object_unref(handle);
	g_object_unref(in);
	g_clear_error(&error);
	return rgb;
}
