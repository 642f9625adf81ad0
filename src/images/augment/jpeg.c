/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg.c - the artefacts of JPEG compression.
 *
 * The tensor is converted back to pixels, rounded to 8 bits, compressed and
 * decompressed by libjpeg-turbo (colour at half resolution, the slow and exact
 * DCT: what Pillow does by default) and normalised again. One or three channels.
 */
#include <math.h>
#include <turbojpeg.h>

#include "base/memory.h"
#include "images/augment/op.h"

enum { QUALITY = INV_OWN_KEY };
enum { MAX_SIDE = 65500 };

static const inv_key keys[] = {
	{"quality", INV_KEY_RANGE, 30, 90, 1, 100, NULL, "JPEG quality, 1 to 100"},
};

static const char *const columns[] = {"quality"};

/* Whole numbers, both ends included. */
static void draw_jpeg(const inv_value *v, inv_extent in, inv_cursor *c, float *row)
{
	double low = ceil(v[QUALITY].low), high = floor(v[QUALITY].high);

	(void)in;
	row[0] = (float)(low + floor((double)inv_next_uniform(c) * (high - low + 1)));
}

static const char *refuse_jpeg(const inv_value *v, inv_extent in)
{
	if (floor(v[QUALITY].high) < ceil(v[QUALITY].low))
		return "quality has no whole number in its range";
	if (in.c != 1 && in.c != 3)
		return "images must have one or three channels";
	return in.h > MAX_SIDE || in.w > MAX_SIDE ? "sides can be at most 65500 pixels" : NULL;
}

static const char *refuse_jpeg_row(const inv_value *v, inv_extent in, const float *row)
{
	(void)v;
	(void)in;
	return row[0] >= 1 && row[0] <= 100 && row[0] == floorf(row[0])
	           ? NULL
	           : "quality must be a whole number from 1 to 100";
}

static invar_status compress_and_decode(inv_extent shape, int quality, uint8_t *bytes,
                                        uint8_t *file, size_t size)
{
	bool grey = shape.c == 1;
	int w = (int)shape.w, h = (int)shape.h, format = grey ? TJPF_GRAY : TJPF_RGB;
	tjhandle packer = tjInitCompress(), unpacker = tjInitDecompress();
	unsigned long length = (unsigned long)size;
	bool failed = !packer || !unpacker ||
	              tjCompress2(packer, bytes, w, 0, h, format, &file, &length,
	                          grey ? TJSAMP_GRAY : TJSAMP_420, quality,
	                          TJFLAG_ACCURATEDCT | TJFLAG_NOREALLOC) != 0 ||
	              tjDecompress2(unpacker, file, length, bytes, w, 0, h, format,
	                            TJFLAG_ACCURATEDCT) != 0;

	if (packer)
		tjDestroy(packer);
	if (unpacker)
		tjDestroy(unpacker);
	return failed ? inv_fail(INVAR_E_NOMEM, "libjpeg-turbo cannot compress %d x %d pixels",
	                         w, h)
	              : INVAR_OK;
}

static invar_status apply_jpeg(const inv_op_call *call, float *out)
{
	inv_extent s = call->shape;
	size_t cells = inv_extent_cells(s), plane = s.h * s.w;
	size_t size = tjBufSize((int)s.w, (int)s.h, s.c == 1 ? TJSAMP_GRAY : TJSAMP_420);
	uint8_t *bytes;
	invar_status st;

	INV_TRY(inv_new_array(&bytes, cells + size));
	for (size_t c = 0; c < s.c; c++) {
		inv_pixel_scale p = inv_pixels_of(call->tools, c);

		for (size_t i = 0; i < plane; i++) {
			float level = (call->in[c * plane + i] * p.std + p.mean) * 255;

			bytes[i * s.c + c] = !(level > 0)   ? 0
			                     : level >= 255 ? 255
			                                    : (uint8_t)(level + 0.5f);
		}
	}
	INV_TRY_OR(end, compress_and_decode(s, (int)call->row[0], bytes, bytes + cells, size));
	for (size_t c = 0; c < s.c; c++) {
		inv_pixel_scale p = inv_pixels_of(call->tools, c);

		for (size_t i = 0; i < plane; i++)
			out[c * plane + i] = ((float)bytes[i * s.c + c] / 255 - p.mean) / p.std;
	}
end:
	inv_free(bytes);
	return st;
}

const inv_op inv_op_jpeg = {
	.name = "jpeg",
	.class_name = "jpeg",
	.help = "compresses the image as JPEG",
	.keys = keys,
	.key_count = sizeof keys / sizeof *keys,
	.columns = columns,
	.column_count = sizeof columns / sizeof *columns,
	.draw = draw_jpeg,
	.refuse = refuse_jpeg,
	.refuse_row = refuse_jpeg_row,
	.apply = apply_jpeg,
};
