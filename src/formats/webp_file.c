/* SPDX-License-Identifier: Apache-2.0 */
/*
 * webp_file.c - reading WebP through libwebp, see webp_file.h for the invariants.
 *
 * The chunks of the RIFF file are walked here for the orientation, which libwebp leaves to
 * its libwebpdemux.
 */
#include "formats/webp_file.h"

#include <stdbool.h>
#include <string.h>
#include <webp/decode.h>

#include "base/memory.h"
#include "formats/exif.h"

enum { RIFF = 12, CHUNK = 8, EXIF_PREFIX = 6, PER_BYTE = 1 << 26 };

static invar_status fail(const char *name, VP8StatusCode error)
{
	switch (error) {
	case VP8_STATUS_OUT_OF_MEMORY:
		return inv_fail(INVAR_E_NOMEM, "%s: not enough memory to decode it", name);
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

/* A chunk is a name, a length, and as many bytes, padded to an even number. */
static unsigned find_orientation(const uint8_t *bytes, uint64_t size)
{
	uint64_t at = RIFF;

	while (at <= size && size - at >= CHUNK) {
		const uint8_t *body = bytes + at + CHUNK;
		uint64_t length = little32(bytes + at + 4), left = size - at - CHUNK;

		if (length > left)
			break;
		if (memcmp(bytes + at, "EXIF", 4) == 0) {
			bool prefixed =
				length >= EXIF_PREFIX && memcmp(body, "Exif\0\0", EXIF_PREFIX) == 0;
			size_t skip = prefixed ? EXIF_PREFIX : 0;

			return inv_exif_orientation(body + skip, length - skip);
		}
		at += CHUNK + length + (length & 1);
	}
	return 1;
}

static invar_status read_header(const void *bytes, uint64_t size, const char *name,
                                WebPDecoderConfig *config)
{
	VP8StatusCode error;

	if (!WebPInitDecoderConfig(config))
		return inv_fail(INVAR_E_MISMATCH,
		                "the installed libwebp is older than the one compiled against");
	error = WebPGetFeatures(bytes, size, &config->input);
	if (error != VP8_STATUS_OK)
		return fail(name, error);
	/* Chunks after the pixels may be missing, and with them the orientation. */
	if (size < RIFF || little32((const uint8_t *)bytes + 4) > size - CHUNK)
		return fail(name, VP8_STATUS_NOT_ENOUGH_DATA);
	if (config->input.has_animation)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: is an animation; save the frame that matters as PNG", name);
	return inv_check_pixels(name, (uint32_t)config->input.width,
	                        (uint32_t)config->input.height, size, PER_BYTE);
}

invar_status inv_webp_size(const void *bytes, uint64_t size, const char *name,
                           uint32_t *width, uint32_t *height)
{
	WebPDecoderConfig config;
	invar_status st = read_header(bytes, size, name, &config);
	bool swap;

	if (st != INVAR_OK)
		return st;
	swap = find_orientation(bytes, size) >= 5;
	*width = (uint32_t)(swap ? config.input.height : config.input.width);
	*height = (uint32_t)(swap ? config.input.width : config.input.height);
	return INVAR_OK;
}

static invar_status decode_to(const void *bytes, uint64_t size, const char *name,
                              WebPDecoderConfig *config, inv_image *out)
{
	VP8StatusCode error;

	config->output.colorspace = MODE_RGB;
	config->output.is_external_memory = 1;
	config->output.u.RGBA.rgba = out->pixels;
	config->output.u.RGBA.stride = (int)(out->width * INV_RGB);
	config->output.u.RGBA.size = (size_t)out->width * out->height * INV_RGB;
	error = WebPDecode(bytes, size, config);
	WebPFreeDecBuffer(&config->output);
	return error == VP8_STATUS_OK ? INVAR_OK : fail(name, error);
}

invar_status inv_webp_decode(const void *bytes, uint64_t size, const char *name,
                             inv_image *out)
{
	WebPDecoderConfig config;
	invar_status st = read_header(bytes, size, name, &config);

	if (st == INVAR_OK)
		st = inv_image_shape(out, (uint32_t)config.input.width,
		                     (uint32_t)config.input.height, name);
	if (st == INVAR_OK)
		st = decode_to(bytes, size, name, &config, out);
	if (st == INVAR_OK)
		st = inv_image_orient(out, find_orientation(bytes, size), name);
	return st;
}
