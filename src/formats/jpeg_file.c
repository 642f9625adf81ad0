/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jpeg_file.c - reading JPEG through libturbojpeg.
 *
 * The segments before the image data are parsed here: this gives the size and the
 * orientation without a decoder, and the decoder's own header call rejects some sampling
 * factors that it can decode.
 *
 * Invariants of what is accepted:
 *   1. The size of the frame header passes inv_check_pixels before any pixel
 *      exists; 8 bits per sample; 1, 3 or 4 components; Huffman codes.
 *   2. The data is complete: a decoder warning is an error, except for stray bytes
 *      between segments, which change no pixel.
 *   3. At most 500 scans, so that a small progressive file cannot take hours.
 * Pixels are those of libjpeg-turbo's defaults (slow integer DCT, smooth
 * upsampling of chroma). Grey becomes three equal channels, CMYK and YCCK are
 * taken as Adobe writes them (inverted) and converted as Pillow does, and the
 * EXIF orientation is honoured.
 */
#include "formats/pixels.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <turbojpeg.h>

#include "base/memory.h"
#include "base/text.h"

enum {
	FIRST_ARITHMETIC = 0xc9,
	SOI = 0xd8,
	EOI = 0xd9,
	SOS = 0xda,
	APP1 = 0xe1,
	FRAME = 8, /* least length of a frame header */
	CMYK = 4,
	/* A block of 8 x 8 takes a bit at least; sampling may stretch it over 2 x 2. */
	PER_BYTE = 8 * 64 * 4,
	TAIL = 1 << 16 /* where the end marker must be found */
};

typedef struct header {
	uint32_t width, height;
	unsigned process, precision, components, orientation;
} header;

/* ---- Segments --------------------------------------------------------------------- */

static unsigned big16(const uint8_t *at)
{
	return (unsigned)at[0] << 8 | at[1];
}

/* The marker at or after *at, which moves past it; 0 at the end of the file. */
static unsigned next_marker(const uint8_t *bytes, uint64_t size, uint64_t *at)
{
	while (*at < size && bytes[*at] != 0xff)
		++*at;
	while (*at < size && bytes[*at] == 0xff)
		++*at;
	return *at < size ? bytes[(*at)++] : 0;
}

/* Reads segments up to the frame header; on the way the orientation. */
static invar_status find_frame_header(const uint8_t *bytes, uint64_t size, const char *name,
                                      header *h)
{
	uint64_t at = 2;
	unsigned marker, length;
	const uint8_t *body;

	*h = (header){.orientation = 1};
	if (size < 2 || bytes[0] != 0xff || bytes[1] != SOI)
		return inv_fail(INVAR_E_FORMAT, "%s: is not a JPEG file", name);
	while (!h->components) {
		marker = next_marker(bytes, size, &at);
		if (marker == 0x01 || (marker >= 0xd0 && marker <= 0xd7)) /* without a length */
			continue;
		if (!marker || marker == EOI || marker == SOS)
			return inv_fail(
				INVAR_E_FORMAT,
				"%s: is a truncated or damaged JPEG file: it has no frame header", name);
		length = size - at >= 2 ? big16(bytes + at) : 0;
		if (length < 2 || length > size - at)
			return inv_fail(
				INVAR_E_FORMAT,
				"%s: is a truncated or damaged JPEG file: a segment of %u %s at "
				"byte %" PRIu64 " of %" PRIu64,
				name, length, inv_noun(length, "byte", "bytes"), at, size);
		body = bytes + at + 2;
		at += length;
		if (marker == APP1 && length > 8 && memcmp(body, "Exif\0\0", 6) == 0)
			h->orientation = inv_exif_orientation(body + 6, length - 8);
		if (marker < 0xc0 || marker > 0xcf || marker == 0xc4 || marker == 0xc8 ||
		    marker == 0xcc) /* not a frame header */
			continue;
		if (length >= FRAME)
			*h = (header){.width = big16(body + 3),
			              .height = big16(body + 1),
			              .process = marker,
			              .precision = body[0],
			              .components = body[5],
			              .orientation = h->orientation};
		if (!h->components)
			return inv_fail(INVAR_E_FORMAT,
			                "%s: is a damaged JPEG file: it has no components", name);
	}
	return INVAR_OK;
}

static invar_status read_jpeg_header(const void *bytes, uint64_t size, const char *name,
                                     header *h)
{
	INV_TRY(find_frame_header(bytes, size, name, h));
	if (h->process >= FIRST_ARITHMETIC)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: uses arithmetic coding, which is not supported", name);
	if (h->precision != 8)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: has %u %s per sample, but only 8 are supported", name,
		                h->precision, inv_noun(h->precision, "bit", "bits"));
	if (h->components != 1 && h->components != INV_RGB && h->components != CMYK)
		return inv_fail(INVAR_E_FORMAT, "%s: has %u components, expected 1, 3 or 4", name,
		                h->components);
	return inv_check_pixels(name, h->width, h->height, size, PER_BYTE);
}

invar_status inv_jpeg_size(const void *bytes, uint64_t size, const char *name,
                           uint32_t *width, uint32_t *height)
{
	header h;

	INV_TRY(read_jpeg_header(bytes, size, name, &h));
	*width = h.orientation >= 5 ? h.height : h.width;
	*height = h.orientation >= 5 ? h.width : h.height;
	return INVAR_OK;
}

/* ---- Pixels ----------------------------------------------------------------------- */

static invar_status decode_to(const uint8_t *bytes, uint64_t size, const char *name,
                              const header *h, int format, uint8_t *out)
{
	tjhandle tj = tjInitDecompress();
	uint64_t from = size > TAIL ? size - TAIL : 0;
	bool good;
	invar_status st = INVAR_OK;

	if (!tj)
		return inv_no_memory();
	good = tjDecompress2(tj, bytes, (unsigned long)size, out, (int)h->width, 0,
	                     (int)h->height, format, TJFLAG_LIMITSCANS) == 0;
	/* Stray bytes are harmless; only the first warning is known, so the end is checked. */
	if (!good && tjGetErrorCode(tj) == TJERR_WARNING &&
	    strstr(tjGetErrorStr2(tj), "extraneous bytes before marker"))
		for (uint64_t i = size; i-- > from + 1 && !good;)
			good = bytes[i - 1] == 0xff && bytes[i] == EOI;
	if (!good)
		st = inv_fail(INVAR_E_FORMAT, "%s: is a truncated or damaged JPEG file: %s", name,
		              tjGetErrorStr2(tj));
	tjDestroy(tj);
	return st;
}

static invar_status decode_cmyk(const uint8_t *bytes, uint64_t size, const char *name,
                                const header *h, uint8_t *rgb)
{
	size_t pixels = (size_t)h->width * h->height;
	uint8_t *cmyk;
	invar_status st;

	INV_TRY(inv_new_array(&cmyk, pixels * CMYK));
	INV_TRY_OR(done, decode_to(bytes, size, name, h, TJPF_CMYK, cmyk));
	for (size_t i = 0; i < pixels; i++) {
		uint8_t ink[CMYK];

		for (size_t k = 0; k < CMYK; k++) /* Adobe stores inks inverted */
			ink[k] = (uint8_t)(255 - cmyk[CMYK * i + k]);
		inv_cmyk_to_rgb(ink, rgb + INV_RGB * i);
	}
done:
	inv_free(cmyk);
	return st;
}

invar_status inv_jpeg_decode(const void *bytes, uint64_t size, const char *name,
                             inv_image *out)
{
	header h;

	INV_TRY(read_jpeg_header(bytes, size, name, &h));
	INV_TRY(inv_image_shape(out, h.width, h.height, name));
	INV_TRY(h.components == CMYK ? decode_cmyk(bytes, size, name, &h, out->pixels)
	                             : decode_to(bytes, size, name, &h, TJPF_RGB, out->pixels));
	return inv_image_orient(out, h.orientation, name);
}

/* ---- Writing ---------------------------------------------------------------------- */

invar_status inv_jpeg_encode(const uint8_t *rgb, uint32_t width, uint32_t height,
                             unsigned quality, void **bytes, size_t *size)
{
	tjhandle tj = tjInitCompress();
	unsigned char *made = NULL;
	unsigned long length = 0;
	invar_status st = INVAR_OK;

	*bytes = NULL;
	if (!tj)
		return inv_no_memory();
	if (tjCompress2(tj, rgb, (int)width, 0, (int)height, TJPF_RGB, &made, &length,
	                TJSAMP_420, (int)quality, 0) != 0)
		INV_TRY_OR(done,
		           inv_fail(INVAR_E_USE,
		                    "cannot write %" PRIu32 " x %" PRIu32 " pixels as JPEG: %s",
		                    width, height, tjGetErrorStr2(tj)));
	*bytes = inv_alloc(length); /* libjpeg-turbo has an allocator of its own */
	INV_TRY_OR(done, inv_check_memory(*bytes, length));
	memcpy(*bytes, made, *size = length);
done:
	tjFree(made);
	tjDestroy(tj);
	return st;
}
