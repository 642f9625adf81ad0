/* SPDX-License-Identifier: Apache-2.0 */
/*
 * webp_file.c - reading WebP through libwebp.
 *
 * The chunks of the RIFF file are walked here for the orientation and for the first frame
 * of an animation, which libwebp leaves to its libwebpdemux.
 *
 * Invariants of what is accepted:
 *   1. The size of the header passes inv_check_pixels before any pixel exists. (A file of
 *      one colour needs no bits for its pixels, so only the absolute bound is left.)
 *   2. The data is complete.
 *   3. The first frame of an animation is within its image.
 * Lossy and lossless; pixels are those of libwebp's defaults (smooth upsampling of
 * chroma, no dithering). An animation gives its first frame. Alpha is dropped, and
 * the EXIF orientation is honoured.
 */
#include "formats/pixels.h"

#include <stdbool.h>
#include <string.h>
#include <webp/decode.h>

#include "base/memory.h"

enum { RIFF = 12, CHUNK = 8, EXIF_PREFIX = 6, FRAME_HEADER = 16, PER_BYTE = 1 << 26 };

static invar_status fail_webp(const char *name, VP8StatusCode error)
{
	switch (error) {
	case VP8_STATUS_OUT_OF_MEMORY:
		return inv_no_memory();
	case VP8_STATUS_NOT_ENOUGH_DATA:
	case VP8_STATUS_SUSPENDED:
		return inv_fail(INVAR_E_FORMAT, "%s: is a truncated WebP file", name);
	case VP8_STATUS_UNSUPPORTED_FEATURE:
		return inv_fail(INVAR_E_FORMAT,
		                "%s: is a WebP file of a kind that libwebp cannot decode", name);
	default:
		return inv_fail(INVAR_E_FORMAT, "%s: is a damaged WebP file", name);
	}
}

static uint32_t little32(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static uint32_t little24(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16;
}

/* The first chunk of this name, or NULL. A chunk is a name, a length, and that many bytes,
 * padded to an even number. */
static const uint8_t *find_chunk(const uint8_t *bytes, uint64_t size, const char *name,
                                 uint64_t *length)
{
	uint64_t at = RIFF;

	while (at <= size && size - at >= CHUNK) {
		uint64_t left = size - at - CHUNK;

		*length = little32(bytes + at + 4);
		if (*length > left)
			break;
		if (memcmp(bytes + at, name, 4) == 0)
			return bytes + at + CHUNK;
		at += CHUNK + *length + (*length & 1);
	}
	return NULL;
}

static unsigned find_orientation(const uint8_t *bytes, uint64_t size)
{
	uint64_t length;
	const uint8_t *body = find_chunk(bytes, size, "EXIF", &length);
	bool prefixed;

	if (!body)
		return 1;
	prefixed = length >= EXIF_PREFIX && memcmp(body, "Exif\0\0", EXIF_PREFIX) == 0;
	return inv_exif_orientation(body + (prefixed ? EXIF_PREFIX : 0),
	                            length - (prefixed ? EXIF_PREFIX : 0));
}

static invar_status read_webp_header(const void *bytes, uint64_t size, const char *name,
                                     WebPDecoderConfig *config)
{
	VP8StatusCode error;

	if (!WebPInitDecoderConfig(config))
		return inv_fail(INVAR_E_MISMATCH,
		                "the installed libwebp is older than the one compiled against");
	error = WebPGetFeatures(bytes, size, &config->input);
	if (error != VP8_STATUS_OK)
		return fail_webp(name, error);
	/* Chunks after the pixels may be missing, and with them the orientation. */
	if (size < RIFF || little32((const uint8_t *)bytes + 4) > size - CHUNK)
		return fail_webp(name, VP8_STATUS_NOT_ENOUGH_DATA);
	return inv_check_pixels(name, (uint32_t)config->input.width,
	                        (uint32_t)config->input.height, size, PER_BYTE);
}

invar_status inv_webp_size(const void *bytes, uint64_t size, const char *name,
                           uint32_t *width, uint32_t *height)
{
	WebPDecoderConfig config;
	bool swap;

	INV_TRY(read_webp_header(bytes, size, name, &config));
	swap = find_orientation(bytes, size) >= 5;
	*width = (uint32_t)(swap ? config.input.height : config.input.width);
	*height = (uint32_t)(swap ? config.input.width : config.input.height);
	return INVAR_OK;
}

/* What is decoded: a whole file, or a frame and its place in the image. */
typedef struct frame {
	const uint8_t *bytes;
	uint64_t size;
	uint32_t x, y, width, height;
} frame;

static invar_status decode_frame(const frame *f, const char *name,
                                 WebPDecoderConfig *config, inv_image *out)
{
	size_t stride = (size_t)out->width * INV_RGB;
	VP8StatusCode error;

	config->output.colorspace = MODE_RGB;
	config->output.is_external_memory = 1;
	config->output.u.RGBA.rgba = out->pixels + f->y * stride + (size_t)f->x * INV_RGB;
	config->output.u.RGBA.stride = (int)stride;
	config->output.u.RGBA.size = (f->height - 1) * stride + (size_t)f->width * INV_RGB;
	error = WebPDecode(f->bytes, f->size, config);
	WebPFreeDecBuffer(&config->output);
	return error == VP8_STATUS_OK ? INVAR_OK : fail_webp(name, error);
}

/*
 * A frame begins with its place and size: x / 2, y / 2, width - 1, height - 1, each in
 * three bytes. Its pixels follow as chunks that libwebp decodes without a file around them.
 */
static invar_status find_first_frame(const void *bytes, uint64_t size, const char *name,
                                     const inv_image *canvas, frame *out)
{
	WebPBitstreamFeatures pixels;
	VP8StatusCode error;
	uint64_t length;
	const uint8_t *at = find_chunk(bytes, size, "ANMF", &length);

	if (!at || length < FRAME_HEADER)
		return fail_webp(name, VP8_STATUS_BITSTREAM_ERROR);
	*out = (frame){.bytes = at + FRAME_HEADER,
	               .size = length - FRAME_HEADER,
	               .x = 2 * little24(at),
	               .y = 2 * little24(at + 3),
	               .width = little24(at + 6) + 1,
	               .height = little24(at + 9) + 1};
	error = WebPGetFeatures(out->bytes, out->size, &pixels);
	if (error != VP8_STATUS_OK)
		return fail_webp(name, error);
	if ((uint32_t)pixels.width != out->width || (uint32_t)pixels.height != out->height ||
	    out->x + out->width > canvas->width || out->y + out->height > canvas->height)
		return fail_webp(name, VP8_STATUS_BITSTREAM_ERROR);
	return INVAR_OK;
}

invar_status inv_webp_decode(const void *bytes, uint64_t size, const char *name,
                             inv_image *out)
{
	WebPDecoderConfig config;
	frame f;

	INV_TRY(read_webp_header(bytes, size, name, &config));
	INV_TRY(inv_image_shape(out, (uint32_t)config.input.width,
	                        (uint32_t)config.input.height, name));
	f = (frame){bytes, size, 0, 0, out->width, out->height};
	if (config.input.has_animation) {
		INV_TRY(find_first_frame(bytes, size, name, out, &f));
		/* Around the frame the image is transparent, which is black without alpha. */
		memset(out->pixels, 0, (size_t)out->width * out->height * INV_RGB);
	}
	INV_TRY(decode_frame(&f, name, &config, out));
	return inv_image_orient(out, find_orientation(bytes, size), name);
}
