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

/* The first chunk of this name, or NULL. A chunk is a name, a length, and that many bytes,
 * padded to an even number. */
static const uint8_t *find_chunk(const uint8_t *bytes, uint64_t size, const char *name,
                                 uint64_t *length)
{
	uint64_t at = RIFF;

	while (at <= size && size - at >= CHUNK) {
		uint64_t left = size - at - CHUNK;

		*length = inv_tiff_number(bytes + at + 4, 4, false);
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
	if (size < RIFF || inv_tiff_number((const uint8_t *)bytes + 4, 4, false) > size - CHUNK)
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

invar_status inv_webp_decode(const void *bytes, uint64_t size, const char *name,
                             inv_image *out)
{
	WebPDecoderConfig config;
	WebPBitstreamFeatures pixels;
	VP8StatusCode error;
	const uint8_t *at = bytes; /* what is decoded: the file, or a frame of place[] */
	uint64_t length = size;
	uint32_t place[4] = {0}; /* x, y, width, height */
	size_t stride;

	INV_TRY(read_webp_header(bytes, size, name, &config));
	place[2] = (uint32_t)config.input.width;
	place[3] = (uint32_t)config.input.height;
	INV_TRY(inv_image_shape(out, place[2], place[3], name));
	stride = (size_t)out->width * INV_RGB;

	/*
	 * A frame begins with x / 2, y / 2, width - 1, height - 1, each in three bytes. Its
	 * pixels follow as chunks that libwebp decodes without a file around them.
	 */
	if (config.input.has_animation) {
		at = find_chunk(bytes, size, "ANMF", &length);
		if (!at || length < FRAME_HEADER)
			return fail_webp(name, VP8_STATUS_BITSTREAM_ERROR);
		for (size_t k = 0; k < 4; k++)
			place[k] = (uint32_t)inv_tiff_number(at + 3 * k, 3, false);
		place[0] *= 2;
		place[1] *= 2;
		place[2]++;
		place[3]++;
		at += FRAME_HEADER;
		length -= FRAME_HEADER;
		error = WebPGetFeatures(at, length, &pixels);
		if (error != VP8_STATUS_OK)
			return fail_webp(name, error);
		if ((uint32_t)pixels.width != place[2] || (uint32_t)pixels.height != place[3] ||
		    place[0] + place[2] > out->width || place[1] + place[3] > out->height)
			return fail_webp(name, VP8_STATUS_BITSTREAM_ERROR);
		/* Around the frame the image is transparent, which is black without alpha. */
		memset(out->pixels, 0, out->height * stride);
	}

	config.output.colorspace = MODE_RGB;
	config.output.is_external_memory = 1;
	config.output.u.RGBA.rgba =
		out->pixels + place[1] * stride + (size_t)place[0] * INV_RGB;
	config.output.u.RGBA.stride = (int)stride;
	config.output.u.RGBA.size = (place[3] - 1) * stride + (size_t)place[2] * INV_RGB;
	error = WebPDecode(at, length, &config);
	WebPFreeDecBuffer(&config.output);
	if (error != VP8_STATUS_OK)
		return fail_webp(name, error);
	return inv_image_orient(out, find_orientation(bytes, size), name);
}
