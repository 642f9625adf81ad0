/* SPDX-License-Identifier: Apache-2.0 */
/* draw_svg.c - librsvg and cairo render an SVG. */
#include "report/svg.h"

#include <librsvg/rsvg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* From cairo's words of 0xXXRRGGBB to bytes R, G, B. */
static uint8_t *take_pixels(cairo_surface_t *surface, uint32_t width, uint32_t height)
{
	const uint8_t *data = cairo_image_surface_get_data(surface);
	size_t stride = (size_t)cairo_image_surface_get_stride(surface);
	uint8_t *rgb = malloc((size_t)width * height * 3);

	for (size_t y = 0; rgb && y < height; y++)
		for (size_t x = 0; x < width; x++) {
			uint32_t word;
			uint8_t *to = rgb + (y * width + x) * 3;

			memcpy(&word, data + y * stride + x * sizeof word, sizeof word);
			to[0] = (uint8_t)(word >> 16);
			to[1] = (uint8_t)(word >> 8);
			to[2] = (uint8_t)word;
		}
	return rgb;
}

/* NULL with GLib's reason, or without one where memory ran out. */
static uint8_t *draw_handle(const char *svg, size_t size, uint32_t width, uint32_t height,
                            GError **reason)
{
	GInputStream *in = g_memory_input_stream_new_from_data(svg, (gssize)size, NULL);
	RsvgHandle *handle = rsvg_handle_new_from_stream_sync(
		in, NULL, RSVG_HANDLE_FLAG_UNLIMITED, NULL, reason);
	cairo_surface_t *surface =
		cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)width, (int)height);
	cairo_t *canvas = cairo_create(surface);
	RsvgRectangle whole = {0, 0, width, height};
	uint8_t *rgb = NULL;

	if (handle && cairo_status(canvas) == CAIRO_STATUS_SUCCESS &&
	    rsvg_handle_render_document(handle, canvas, &whole, reason)) {
		cairo_surface_flush(surface);
		rgb = take_pixels(surface, width, height);
	}
	cairo_destroy(canvas);
	cairo_surface_destroy(surface);
	if (handle)
		g_object_unref(handle);
	g_object_unref(in);
	return rgb;
}

bool inv_can_draw(void)
{
	return true;
}

uint8_t *inv_draw_svg(const char *svg, size_t size, uint32_t width, uint32_t height,
                      char *reason, size_t capacity)
{
	GError *error = NULL;
	uint8_t *rgb = draw_handle(svg, size, width, height, &error);

	if (!rgb)
		snprintf(reason, capacity, "%s", error ? error->message : "not enough memory");
	g_clear_error(&error);
	return rgb;
}
