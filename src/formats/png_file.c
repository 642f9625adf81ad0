/* SPDX-License-Identifier: Apache-2.0 */
/*
 * png_file.c - PNG files to 8-bit RGB and back, through libspng.
 *
 * Invariants of what is accepted:
 *   1. The size of the header passes inv_check_pixels before any pixel exists.
 *   2. Every critical chunk has its right CRC, and all rows are there.
 *   3. Palette entries that are used exist.
 * Grey becomes three equal channels, alpha is dropped, of 16 bits the upper 8
 * stay, and an orientation in an eXIf chunk is honoured.
 */
#include "formats/pixels.h"

#include <spng.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/*
 * A compressed byte expands to at most 1032 bytes, and a byte to 8 one-bit pixels.
 * Ancillary chunks (profiles, text) are ignored.
 */
enum { PER_BYTE = 1032 * 8, MAX_ANCILLARY = 1 << 24, LEVEL = 3 };

static invar_status fail_png(const char *name, int error)
{
	if (error == SPNG_EMEM)
		return inv_no_memory();
	return inv_fail(INVAR_E_FORMAT, "%s: is a damaged PNG file: %s", name,
	                spng_strerror(error));
}

static invar_status open_png(const void *bytes, uint64_t size, const char *name,
                             spng_ctx **png, struct spng_ihdr *header)
{
	int error;

	*png = NULL;
	if (!size)
		return inv_fail(INVAR_E_FORMAT, "%s: is empty, expected a PNG file", name);
	if (!(*png = spng_ctx_new(0)))
		return inv_no_memory();
	if ((error = spng_set_png_buffer(*png, bytes, size)) ||
	    (error = spng_set_chunk_limits(*png, MAX_ANCILLARY, MAX_ANCILLARY)) ||
	    (error = spng_get_ihdr(*png, header)))
		return fail_png(name, error);
	return inv_check_pixels(name, header->width, header->height, size, PER_BYTE);
}

/* Asked before decoding, so that it sees the chunks before the pixels only. */
static invar_status read_orientation(spng_ctx *png, const char *name, unsigned *out)
{
	struct spng_exif exif;
	int error = spng_get_exif(png, &exif);

	*out = error ? 1 : inv_exif_orientation((const uint8_t *)exif.data, exif.length);
	return error && error != SPNG_ECHUNKAVAIL ? fail_png(name, error) : INVAR_OK;
}

/* ---- Pixels ----------------------------------------------------------------------- */

static invar_status decode_as(spng_ctx *png, const char *name, int format, void *out,
                              size_t bytes)
{
	size_t want;
	int error = spng_decoded_image_size(png, format, &want);

	if (!error && want != bytes)
		return inv_fail(INVAR_E_FORMAT, "%s: decodes to %zu bytes, expected %zu", name,
		                want, bytes);
	if (!error)
		error = spng_decode_image(png, out, bytes, format, 0);
	if (!error)
		error = spng_decode_chunks(png); /* the CRC of the last chunk of pixels */
	return error ? fail_png(name, error) : INVAR_OK;
}

/*
 * Colours from the palette; libspng itself takes a missing colour for black. Rows have
 * indices of 1, 2, 4 or 8 bits, the leftmost in the highest bits.
 */
static invar_status decode_indexed(spng_ctx *png, const char *name, unsigned bits,
                                   inv_image *out)
{
	size_t row = ((size_t)out->width * bits + 7) / 8;
	unsigned per_byte = 8 / bits, mask = (1u << bits) - 1;
	struct spng_plte palette;
	int error = spng_get_plte(png, &palette);
	uint8_t *packed;
	invar_status st;

	if (error)
		return fail_png(name, error);
	INV_TRY(inv_new_array(&packed, row * out->height));
	INV_TRY_OR(done, decode_as(png, name, SPNG_FMT_PNG, packed, row * out->height));
	for (size_t y = 0; y < out->height; y++)
		for (size_t x = 0; x < out->width; x++) {
			unsigned shift = 8 - bits - (unsigned)(x % per_byte) * bits;
			unsigned index = packed[y * row + x / per_byte] >> shift & mask;
			uint8_t *to = out->pixels + (y * out->width + x) * INV_RGB;

			if (index >= palette.n_entries)
				INV_TRY_OR(
					done,
					inv_fail(INVAR_E_FORMAT,
				             "%s: is a damaged PNG file: colour %u of a palette of %u",
				             name, index, palette.n_entries));
			to[0] = palette.entries[index].red;
			to[1] = palette.entries[index].green;
			to[2] = palette.entries[index].blue;
		}
done:
	inv_free(packed);
	return st;
}

invar_status inv_png_decode(const void *bytes, uint64_t size, const char *name,
                            inv_image *out)
{
	struct spng_ihdr header;
	unsigned orientation;
	spng_ctx *png;
	invar_status st;

	INV_TRY_OR(done, open_png(bytes, size, name, &png, &header));
	INV_TRY_OR(done, read_orientation(png, name, &orientation));
	INV_TRY_OR(done, inv_image_shape(out, header.width, header.height, name));
	if (header.color_type == SPNG_COLOR_TYPE_INDEXED)
		INV_TRY_OR(done, decode_indexed(png, name, header.bit_depth, out));
	else
		INV_TRY_OR(done, decode_as(png, name, SPNG_FMT_RGB8, out->pixels,
		                           (size_t)out->width * out->height * INV_RGB));
	st = inv_image_orient(out, orientation, name);
done:
	spng_ctx_free(png);
	return st;
}

invar_status inv_png_size(const void *bytes, uint64_t size, const char *name,
                          uint32_t *width, uint32_t *height)
{
	struct spng_ihdr header;
	unsigned orientation;
	spng_ctx *png;
	invar_status st;

	INV_TRY_OR(done, open_png(bytes, size, name, &png, &header));
	INV_TRY_OR(done, read_orientation(png, name, &orientation));
	*width = orientation >= 5 ? header.height : header.width;
	*height = orientation >= 5 ? header.width : header.height;
done:
	spng_ctx_free(png);
	return st;
}

/* ---- Writing ---------------------------------------------------------------------- */

invar_status inv_png_encode(const uint8_t *rgb, uint32_t width, uint32_t height,
                            void **bytes, size_t *size)
{
	struct spng_ihdr header = {.width = width,
	                           .height = height,
	                           .bit_depth = 8,
	                           .color_type = SPNG_COLOR_TYPE_TRUECOLOR};
	spng_ctx *png = spng_ctx_new(SPNG_CTX_ENCODER);
	void *made = NULL;
	int error;

	*bytes = NULL;
	*size = 0;
	if (!png)
		return inv_no_memory();
	/* At LEVEL photographs are less than 1 % larger than at 6, and take half the time. */
	if (!(error = spng_set_option(png, SPNG_ENCODE_TO_BUFFER, 1)) &&
	    !(error = spng_set_option(png, SPNG_IMG_COMPRESSION_LEVEL, LEVEL)) &&
	    !(error = spng_set_ihdr(png, &header)) &&
	    !(error = spng_encode_image(png, rgb, (size_t)width * height * INV_RGB,
	                                SPNG_FMT_PNG, SPNG_ENCODE_FINALIZE)))
		made = spng_get_png_buffer(png, size, &error);
	/* libspng's buffer comes from malloc, and callers use inv_free. */
	if (made && (*bytes = inv_alloc(*size)))
		memcpy(*bytes, made, *size);
	free(made);
	spng_ctx_free(png);
	if (!error)
		return inv_check_memory(*bytes, *size);
	return inv_fail(error == SPNG_EMEM ? INVAR_E_NOMEM : INVAR_E_USE,
	                "cannot write %u x %u pixels as PNG: %s", width, height,
	                spng_strerror(error));
}
