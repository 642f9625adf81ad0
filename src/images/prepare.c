/* SPDX-License-Identifier: Apache-2.0 */
/* prepare.c - see prepare.h. */
#include "images/prepare.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Of a resized image, before its centre is cut out. */
#define MAX_PIXELS ((uint64_t)1 << 26)

struct inv_preparer {
	inv_preparation p;
	inv_resizer *resizer;
	uint8_t *plane, *resized; /* one channel of three equal ones; the right size */
	size_t plane_bytes, resized_bytes;
};

invar_status inv_side_parse(const char *text, size_t *side)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	*side = 0;
	if (strcmp(text, "native") == 0)
		return INVAR_OK;
	if (*text < '0' || *text > '9' || *end || value < 1 || value > INV_MAX_SIDE)
		return inv_fail(INVAR_E_USE, "the size '%.40s' must be native or 1 to %d", text,
		                INV_MAX_SIDE);
	*side = value;
	return INVAR_OK;
}

/* A strip one pixel wide would be enlarged beyond any memory. */
static invar_status resized_size(const inv_preparation *p, uint32_t height, uint32_t width,
                                 const char *name, size_t *h, size_t *w)
{
	size_t shorter = p->resize ? p->resize : p->side;

	*h = height;
	*w = width;
	if (!height || !width)
		return inv_fail(INVAR_E_FORMAT, "%s: has no pixels", name);
	if (p->side && p->stretch)
		*h = *w = shorter;
	else if (p->side)
		inv_shorter_side(height, width, shorter, h, w);
	if ((uint64_t)*h * *w > MAX_PIXELS && p->side)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: has %" PRIu32 " x %" PRIu32
		                " pixels, too narrow a strip to be resized to %zu",
		                name, width, height, shorter);
	return INVAR_OK;
}

invar_status inv_prepared_size(const inv_preparation *p, uint32_t height, uint32_t width,
                               const char *name, size_t *h, size_t *w)
{
	INV_TRY(resized_size(p, height, width, name, h, w));
	if (p->side)
		*h = *w = p->side;
	return INVAR_OK;
}

invar_status inv_preparer_new(unsigned cpu, const inv_preparation *p, inv_preparer **out)
{
	inv_preparer *r;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&r));
	r->p = *p;
	st = inv_resizer_new(cpu, p->filter, &r->resizer);
	if (st == INVAR_OK)
		*out = r;
	else
		inv_preparer_free(r);
	return st;
}

void inv_preparer_free(inv_preparer *r)
{
	if (!r)
		return;
	inv_resizer_free(r->resizer);
	inv_free(r->plane);
	inv_free(r->resized);
	inv_free(r);
}

static invar_status grow_prepared(uint8_t **bytes, size_t *size, size_t wanted)
{
	if (*size >= wanted)
		return INVAR_OK;
	inv_free(*bytes);
	*size = 0;
	INV_TRY(inv_new_array(bytes, wanted));
	*size = wanted;
	return INVAR_OK;
}

invar_status inv_prepare(inv_preparer *r, const inv_image *image, const char *name,
                         float *out)
{
	const uint8_t *pixels = image->pixels;
	size_t c = r->p.channels, count = (size_t)image->height * image->width;
	size_t h, w, out_h, out_w, corner;

	INV_TRY(resized_size(&r->p, image->height, image->width, name, &h, &w));
	if (c == 1) { /* all channels of a grey image are equal */
		INV_TRY(grow_prepared(&r->plane, &r->plane_bytes, count));
		for (size_t i = 0; i < count; i++)
			r->plane[i] = pixels[INV_RGB * i];
		pixels = r->plane;
	}
	if (h != image->height || w != image->width) {
		INV_TRY(grow_prepared(&r->resized, &r->resized_bytes, h * w * c));
		INV_TRY(inv_resizer_run(r->resizer, pixels, image->height, image->width, c, h, w,
		                        r->resized));
		pixels = r->resized;
	}
	out_h = r->p.side ? r->p.side : h;
	out_w = r->p.side ? r->p.side : w;
	corner = inv_centre_offset(h, out_h) * w + inv_centre_offset(w, out_w);
	inv_normalise_bytes(&r->p.normalisation, pixels + corner * c, out_h, out_w, w, c, out);
	return INVAR_OK;
}

/*
 * Where a pixel [y, x] of the result comes from: for a quarter turn [x, n - 1 - y], for two
 * [n - 1 - y, n - 1 - x], for three [n - 1 - x, y].
 */
void inv_rot90(const float *in, size_t planes, size_t side, unsigned quarters, float *out)
{
	size_t last = side - 1, plane = side * side;

	if (quarters % 4 == 0) {
		memcpy(out, in, planes * plane * sizeof *out);
		return;
	}
	for (size_t p = 0; p < planes; p++, in += plane)
		for (size_t y = 0; y < side; y++)
			for (size_t x = 0; x < side; x++)
				*out++ = quarters % 4 == 1   ? in[x * side + last - y]
				         : quarters % 4 == 2 ? in[(last - y) * side + last - x]
				                             : in[(last - x) * side + y];
}
