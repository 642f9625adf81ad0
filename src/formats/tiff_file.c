/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tiff_file.c - reading TIFF through libtiff.
 *
 * libtiff decodes strips and tiles; samples become RGB here. Its own RGBA interface is not
 * used: it needs 4 bytes per pixel for the whole image, and rounds 16 bits differently from
 * Pillow. Divisions: Tags (what the directory claims), Opening, Header, Samples, Tiles.
 *
 * Invariants of what is accepted:
 *   1. Before libtiff sees the file, the tags of the first directory claim no more bytes
 *      than the file has, for libtiff copies even tags that it does not know.
 *   2. The size of the image, and that of a tile or strip, pass inv_check_pixels before any
 *      pixel exists. A strip decodes to at most 2^28 bytes, more only with one byte of
 *      file per 64, and no allocation of libtiff exceeds 32 MB + 2 bytes per byte of file.
 *   3. Every strip and tile is complete; a warning of the JPEG decoder is an error.
 *   4. Unsigned samples: grey and palettes of 1, 2, 4 and 8 bits, grey also of 16; RGB and
 *      CMYK of 8 and 16; YCbCr if the compression is JPEG. Uncompressed, LZW, deflate,
 *      PackBits, JPEG, CCITT, Zstandard.
 * Only the first page is read. Grey becomes three equal channels; of 16 bits the upper 8
 * stay, so v / 256, whatever the darkest and brightest value of the image; fewer than 8
 * bits are stretched to 0 ... 255. Alpha and other extra samples are dropped; colours
 * that were multiplied by alpha are divided by it first, as Pillow does. The orientation
 * is honoured. All other tags (GeoTIFF, profiles) are ignored.
 */
#include "formats/pixels.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <tiffio.h>

#include "base/memory.h"
#include "base/text.h"

enum {
	BIG_TIFF = 43,
	CLASSIC_ENTRY = 12,
	BIG_ENTRY = 20,
	SLACK = 1 << 16,      /* bytes of tags that may be shared or wrong without harm */
	FREE_ALLOC = 1 << 25, /* of one allocation by libtiff */
	FREE_STRIP = 1 << 28, /* bytes of a decoded strip or tile */
	STRIP_PER_BYTE = 64,
	MAX_SAMPLES = 64,
	MAX_INKS = 4,
	MAX_WANTED = MAX_INKS + 1, /* inks or colours, and alpha */
	/*
	 * Pixels per byte of file: a bit of CCITT may be a whole row, so only the absolute
	 * bound of inv_check_pixels is left.
	 */
	PER_BYTE = 1 << 26
};

typedef struct reader {
	const char *name;
	const uint8_t *bytes;
	uint64_t size, at;
	TIFF *tif;
	char error[200]; /* the first error of libtiff */

	uint32_t width, height;
	uint16_t bits, samples, photometric, compression, planar, orientation;
	bool premultiplied;
	unsigned colours;             /* samples that make the colour of a pixel */
	unsigned wanted;              /* those, and alpha if colours were multiplied by it */
	const uint16_t *map[INV_RGB]; /* of a palette, 1 << bits entries each */
	uint32_t tile_w, tile_h;      /* a strip is a tile as wide as the image */
	size_t tile_bytes, row_bytes; /* of one tile in one plane */
} reader;

/* ---- Tags ------------------------------------------------------------------------- */

static invar_status fail_truncated_tags(const char *name)
{
	return inv_fail(INVAR_E_FORMAT,
	                "%s: is a truncated or damaged TIFF file: its directory is not in it",
	                name);
}

/* The first directory is in the file, and its tags claim at most the size of the file. */
static invar_status check_tags(const uint8_t *bytes, uint64_t size, const char *name)
{
	static const uint8_t type_bytes[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4,
	                                     8, 4, 8, 4, 0, 0, 8, 8, 8};
	bool motorola, big; /* byte order; BigTIFF */
	unsigned count_bytes, entry;
	uint64_t at, count, claim, type, sum = 0;

	if (size < 8 || (memcmp(bytes, "II*\0", 4) != 0 && memcmp(bytes, "MM\0*", 4) != 0 &&
	                 memcmp(bytes, "II+\0", 4) != 0 && memcmp(bytes, "MM\0+", 4) != 0))
		return inv_fail(INVAR_E_FORMAT, "%s: is not a TIFF file", name);
	motorola = bytes[0] == 'M';
	big = inv_tiff_number(bytes + 2, 2, motorola) == BIG_TIFF;
	count_bytes = big ? 8 : 2;
	entry = big ? BIG_ENTRY : CLASSIC_ENTRY;
	if (big && size < 16)
		return fail_truncated_tags(name);
	at = big ? inv_tiff_number(bytes + 8, 8, motorola)
	         : inv_tiff_number(bytes + 4, 4, motorola);
	if (at > size || size - at < count_bytes)
		return fail_truncated_tags(name);
	count = inv_tiff_number(bytes + at, count_bytes, motorola);
	at += count_bytes;
	if (count > (size - at) / entry)
		return fail_truncated_tags(name);
	for (; count--; at += entry) {
		type = inv_tiff_number(bytes + at + 2, 2, motorola);
		claim = inv_tiff_number(bytes + at + 4, big ? 8 : 4, motorola);
		if (inv_mul_overflow(claim, type < sizeof type_bytes ? type_bytes[type] : 0,
		                     &claim) ||
		    inv_add_overflow(sum, claim, &sum) || sum > size + SLACK)
			return inv_fail(INVAR_E_FORMAT,
			                "%s: is a damaged TIFF file: its tags claim more than its "
			                "%" PRIu64 " bytes",
			                name, size);
	}
	return INVAR_OK;
}

/* ---- Opening ---------------------------------------------------------------------- */

static int keep_error(TIFF *tif, void *user, const char *module, const char *format,
                      va_list more)
{
	reader *r = user;

	(void)tif, (void)module;
	if (!*r->error)
		vsnprintf(r->error, sizeof r->error, format, more);
	return 1;
}

/*
 * Unknown tags and the like are harmless. The JPEG decoder warns of missing and damaged
 * data, and continues with grey.
 */
static int keep_warning(TIFF *tif, void *user, const char *module, const char *format,
                        va_list more)
{
	if (module && strcmp(module, "JPEGLib") == 0)
		keep_error(tif, user, module, format, more);
	return 1;
}

static tmsize_t read_from_memory(thandle_t user, void *to, tmsize_t count)
{
	reader *r = user;
	uint64_t left = r->at < r->size ? r->size - r->at : 0;
	size_t take = count < 0 ? 0 : (uint64_t)count < left ? (size_t)count : (size_t)left;

	if (take)
		memcpy(to, r->bytes + r->at, take);
	r->at += take;
	return (tmsize_t)take;
}

static tmsize_t write_nothing(thandle_t user, void *from, tmsize_t count)
{
	(void)user, (void)from, (void)count;
	return -1;
}

static toff_t seek(thandle_t user, toff_t to, int from)
{
	reader *r = user;

	r->at = from == SEEK_CUR ? r->at + to : from == SEEK_END ? r->size + to : to;
	return r->at;
}

static int close_nothing(thandle_t user)
{
	(void)user;
	return 0;
}

static toff_t tell_size(thandle_t user)
{
	return ((reader *)user)->size;
}

/* libtiff only reads what is mapped, although its types do not say so. */
static int map_memory(thandle_t user, void **base, toff_t *size)
{
	reader *r = user;

	*base = (void *)(uintptr_t)r->bytes;
	*size = r->size;
	return 1;
}

static void unmap_nothing(thandle_t user, void *base, toff_t size)
{
	(void)user, (void)base, (void)size;
}

static invar_status fail_tiff(const reader *r)
{
	static const char *const no_memory[] = {"Failed to allocate", "No space for",
	                                        "Out of memory", "Insufficient memory"};

	for (size_t i = 0; i < sizeof no_memory / sizeof *no_memory; i++)
		if (strstr(r->error, no_memory[i]))
			return inv_no_memory();
	return inv_fail(INVAR_E_FORMAT, "%s: is a truncated or damaged TIFF file: %s", r->name,
	                *r->error ? r->error : "a strip or tile is incomplete");
}

/* Mode c: a large strip stays one, so that each is decoded by one call. */
static invar_status open_tiff(reader *r)
{
	TIFFOpenOptions *o = TIFFOpenOptionsAlloc();
	uint64_t max = FREE_ALLOC + 2 * r->size;

	if (!o)
		return inv_no_memory();
	TIFFOpenOptionsSetMaxSingleMemAlloc(o, max > INT64_MAX ? INT64_MAX : (tmsize_t)max);
	TIFFOpenOptionsSetErrorHandlerExtR(o, keep_error, r);
	TIFFOpenOptionsSetWarningHandlerExtR(o, keep_warning, r);
	r->tif = TIFFClientOpenExt(r->name, "rc", r, read_from_memory, write_nothing, seek,
	                           close_nothing, tell_size, map_memory, unmap_nothing, o);
	TIFFOpenOptionsFree(o);
	return r->tif ? INVAR_OK : fail_tiff(r);
}

/* ---- Header ----------------------------------------------------------------------- */

/* Samples that make the colour of a pixel; 0: such pixels are not read. */
static unsigned count_colours(const reader *r)
{
	switch (r->photometric) {
	case PHOTOMETRIC_MINISWHITE:
	case PHOTOMETRIC_MINISBLACK:
	case PHOTOMETRIC_PALETTE:
		return 1;
	case PHOTOMETRIC_RGB:
		return INV_RGB;
	case PHOTOMETRIC_YCBCR:
		return r->compression == COMPRESSION_JPEG && r->planar == PLANARCONFIG_CONTIG
		           ? INV_RGB
		           : 0;
	case PHOTOMETRIC_SEPARATED:
		return MAX_INKS;
	default:
		return 0;
	}
}

static bool is_read(uint16_t compression)
{
	static const uint16_t known[] = {COMPRESSION_NONE,          COMPRESSION_LZW,
	                                 COMPRESSION_ADOBE_DEFLATE, COMPRESSION_DEFLATE,
	                                 COMPRESSION_PACKBITS,      COMPRESSION_JPEG,
	                                 COMPRESSION_CCITTRLE,      COMPRESSION_CCITTFAX3,
	                                 COMPRESSION_CCITTFAX4,     COMPRESSION_ZSTD};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i] == compression)
			return TIFFIsCODECConfigured(compression);
	return false;
}

static invar_status check_layout(const reader *r, uint16_t format)
{
	unsigned min = r->colours, max = min == 1 ? 2 : MAX_SAMPLES;
	bool few_bits = (r->bits == 1 || r->bits == 2 || r->bits == 4) && r->samples == 1;

	if (!is_read(r->compression))
		return inv_fail(INVAR_E_FORMAT,
		                "%s: is a TIFF file of compression %u, which is not supported; "
		                "save it with LZW or deflate",
		                r->name, r->compression);
	if (!r->colours)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: is a TIFF file of colour space %u, which is not supported; "
		                "save it as grey or RGB",
		                r->name, r->photometric);
	if (format != SAMPLEFORMAT_UINT)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: its samples are %s, but only unsigned integers are supported; "
		                "scale it to 8 or 16 bits",
		                r->name, format == SAMPLEFORMAT_INT ? "signed" : "not integers");
	if (r->bits != 8 && !few_bits &&
	    (r->bits != 16 || r->photometric == PHOTOMETRIC_PALETTE))
		return inv_fail(INVAR_E_FORMAT,
		                "%s: has %u %s per sample and %u %s per pixel, which is not "
		                "supported; scale it to 8 or 16 bits",
		                r->name, r->bits, inv_noun(r->bits, "bit", "bits"), r->samples,
		                inv_noun(r->samples, "sample", "samples"));
	/* Grey with many bands is a measurement of several colours: none is selected here. */
	if (r->photometric == PHOTOMETRIC_YCBCR)
		max = INV_RGB;
	if (r->samples < min || r->samples > max)
		return inv_fail(
			INVAR_E_FORMAT,
			"%s: has %u samples per pixel, expected %u to %u for its colour space; "
			"save the bands that matter as grey or RGB",
			r->name, r->samples, min, max);
	return INVAR_OK;
}

/* Sizes of tiles: products of libtiff, which are 0 where they overflow. */
static invar_status read_tiles(reader *r)
{
	bool tiled = TIFFIsTiled(r->tif);
	uint64_t bytes, rows;

	r->tile_w = r->width;
	r->tile_h = 0;
	if (tiled) {
		TIFFGetField(r->tif, TIFFTAG_TILEWIDTH, &r->tile_w);
		TIFFGetField(r->tif, TIFFTAG_TILELENGTH, &r->tile_h);
	} else {
		TIFFGetFieldDefaulted(r->tif, TIFFTAG_ROWSPERSTRIP, &r->tile_h);
		r->tile_h = r->tile_h < r->height ? r->tile_h : r->height;
	}
	INV_TRY(inv_check_pixels(r->name, r->tile_w, r->tile_h, r->size, PER_BYTE));
	bytes = tiled ? TIFFTileSize64(r->tif) : TIFFVStripSize64(r->tif, r->tile_h);
	rows = tiled ? TIFFTileRowSize64(r->tif) : TIFFScanlineSize64(r->tif);
	if (!rows || rows > bytes / r->tile_h ||
	    (bytes > FREE_STRIP && bytes / STRIP_PER_BYTE > r->size))
		return inv_fail(INVAR_E_FORMAT,
		                "%s: is a damaged TIFF file: strips or tiles of %" PRIu64
		                " bytes in a file of %" PRIu64,
		                r->name, bytes, r->size);
	r->tile_bytes = bytes;
	r->row_bytes = rows;
	return INVAR_OK;
}

static invar_status read_tiff_header(reader *r)
{
	uint16_t format = SAMPLEFORMAT_UINT, count = 0, *kinds = NULL, *map[INV_RGB] = {NULL};

	INV_TRY(check_tags(r->bytes, r->size, r->name));
	INV_TRY(open_tiff(r));
	TIFFGetField(r->tif, TIFFTAG_IMAGEWIDTH, &r->width);
	TIFFGetField(r->tif, TIFFTAG_IMAGELENGTH, &r->height);
	TIFFGetFieldDefaulted(r->tif, TIFFTAG_BITSPERSAMPLE, &r->bits);
	TIFFGetFieldDefaulted(r->tif, TIFFTAG_SAMPLESPERPIXEL, &r->samples);
	TIFFGetFieldDefaulted(r->tif, TIFFTAG_COMPRESSION, &r->compression);
	TIFFGetFieldDefaulted(r->tif, TIFFTAG_PLANARCONFIG, &r->planar);
	TIFFGetFieldDefaulted(r->tif, TIFFTAG_ORIENTATION, &r->orientation);
	TIFFGetFieldDefaulted(r->tif, TIFFTAG_SAMPLEFORMAT, &format);
	if (!TIFFGetField(r->tif, TIFFTAG_PHOTOMETRIC, &r->photometric))
		r->photometric = UINT16_MAX;
	r->colours = count_colours(r);

	INV_TRY(check_layout(r, format));
	INV_TRY(inv_check_pixels(r->name, r->width, r->height, r->size, PER_BYTE));
	if (r->photometric == PHOTOMETRIC_PALETTE) {
		if (!TIFFGetField(r->tif, TIFFTAG_COLORMAP, &map[0], &map[1], &map[2]) || !map[0] ||
		    !map[1] || !map[2])
			return inv_fail(INVAR_E_FORMAT, "%s: is a damaged TIFF file: it has no palette",
			                r->name);
		for (size_t k = 0; k < INV_RGB; k++)
			r->map[k] = map[k];
	}
	if (r->photometric == PHOTOMETRIC_YCBCR) /* before sizes are asked for */
		TIFFSetField(r->tif, TIFFTAG_JPEGCOLORMODE, JPEGCOLORMODE_RGB);
	r->premultiplied = r->samples > r->colours && r->colours != MAX_INKS &&
	                   r->photometric != PHOTOMETRIC_PALETTE &&
	                   TIFFGetField(r->tif, TIFFTAG_EXTRASAMPLES, &count, &kinds) &&
	                   count && kinds && kinds[0] == EXTRASAMPLE_ASSOCALPHA;
	r->wanted = r->colours + r->premultiplied;
	return read_tiles(r);
}

invar_status inv_tiff_size(const void *bytes, uint64_t size, const char *name,
                           uint32_t *width, uint32_t *height)
{
	reader r = {.name = name, .bytes = bytes, .size = size};
	invar_status st;

	INV_TRY_OR(done, read_tiff_header(&r));
	*width = r.orientation >= 5 ? r.height : r.width;
	*height = r.orientation >= 5 ? r.width : r.height;
done:
	if (r.tif)
		TIFFClose(r.tif);
	return st;
}

/* ---- Samples ---------------------------------------------------------------------- */

/* Sample i of a row: 8 bits as they are, the upper 8 of 16, fewer as a small number. */
static unsigned sample_at(const uint8_t *row, unsigned bits, size_t i)
{
	unsigned per_byte, shift;
	uint16_t wide;

	if (bits == 8)
		return row[i];
	if (bits == 16) {
		memcpy(&wide, row + 2 * i, sizeof wide); /* libtiff has put its bytes in order */
		return wide >> 8;
	}
	per_byte = 8 / bits;
	shift = 8 - bits - (unsigned)(i % per_byte) * bits;
	return row[i / per_byte] >> shift & ((1u << bits) - 1);
}

/* Pillow's RGBa to RGBA. */
static uint8_t divide(unsigned value, unsigned alpha)
{
	unsigned whole = alpha ? value * 255 / alpha : 0;

	return (uint8_t)(whole < 255 ? whole : 255);
}

static void put_pixel(const reader *r, const unsigned *v, uint8_t *to)
{
	unsigned n = r->colours, white = r->bits < 8 ? (1u << r->bits) - 1 : 255;

	if (n == MAX_INKS) {
		const uint8_t ink[MAX_INKS] = {(uint8_t)v[0], (uint8_t)v[1], (uint8_t)v[2],
		                               (uint8_t)v[3]};

		inv_cmyk_to_rgb(ink, to);
		return;
	}
	for (unsigned k = 0; k < INV_RGB; k++) {
		unsigned value = v[n == 1 ? 0 : k];

		if (r->photometric == PHOTOMETRIC_PALETTE) {
			to[k] = (uint8_t)(r->map[k][value] >> 8);
			continue;
		}
		if (r->photometric == PHOTOMETRIC_MINISWHITE)
			value = white - value;
		value = value * 255 / white;
		to[k] = r->premultiplied ? divide(value, v[n]) : (uint8_t)value;
	}
}

/* ---- Tiles ------------------------------------------------------------------------ */

static void put_tile(const reader *r, uint32_t x, uint32_t y, const uint8_t *buffer,
                     inv_image *out)
{
	bool planes = r->planar == PLANARCONFIG_SEPARATE && r->samples > 1;
	size_t rows = r->height - y < r->tile_h ? r->height - y : r->tile_h;
	size_t columns = r->width - x < r->tile_w ? r->width - x : r->tile_w;
	size_t stride = planes ? 1 : r->samples;
	unsigned v[MAX_WANTED];

	for (size_t j = 0; j < rows; j++) {
		const uint8_t *row = buffer + j * r->row_bytes;
		uint8_t *to = out->pixels + ((y + j) * (size_t)r->width + x) * INV_RGB;

		if (r->bits == 8 && stride == INV_RGB && r->wanted == INV_RGB) {
			memcpy(to, row, columns * INV_RGB);
			continue;
		}
		for (size_t i = 0; i < columns; i++, to += INV_RGB) {
			for (unsigned k = 0; k < r->wanted; k++)
				v[k] =
					sample_at(row + (planes ? k * r->tile_bytes : (size_t)k * r->bits / 8),
				              r->bits, i * stride);
			put_pixel(r, v, to);
		}
	}
}

static invar_status decode_tiles(reader *r, inv_image *out)
{
	unsigned planes = r->planar == PLANARCONFIG_SEPARATE ? r->wanted : 1;
	uint8_t *buffer;
	invar_status st;

	*r->error = '\0'; /* an error about a tag that libtiff skips does no harm */
	INV_TRY(inv_new_zeros(&buffer, planes * r->tile_bytes));
	/* 64 bits: a tile may end past 2^32 */
	for (uint64_t top = 0; top < r->height; top += r->tile_h)
		for (uint64_t left = 0; left < r->width; left += r->tile_w) {
			uint32_t x = (uint32_t)left, y = (uint32_t)top;
			uint32_t rows = r->height - y < r->tile_h ? r->height - y : r->tile_h;

			for (unsigned k = 0; k < planes; k++) {
				uint8_t *to = buffer + k * r->tile_bytes;
				uint16_t plane = (uint16_t)k;
				tmsize_t want = (tmsize_t)r->tile_bytes, got;

				if (TIFFIsTiled(r->tif)) {
					got = TIFFReadEncodedTile(
						r->tif, TIFFComputeTile(r->tif, x, y, 0, plane), to, want);
				} else {
					want = (tmsize_t)TIFFVStripSize64(r->tif, rows);
					got = TIFFReadEncodedStrip(r->tif, TIFFComputeStrip(r->tif, y, plane),
					                           to, want);
				}
				if (got != want || *r->error)
					INV_TRY_OR(done, fail_tiff(r));
			}
			put_tile(r, x, y, buffer, out);
		}
	st = INVAR_OK;
done:
	inv_free(buffer);
	return st;
}

invar_status inv_tiff_decode(const void *bytes, uint64_t size, const char *name,
                             inv_image *out)
{
	reader r = {.name = name, .bytes = bytes, .size = size};
	invar_status st;

	INV_TRY_OR(done, read_tiff_header(&r));
	INV_TRY_OR(done, inv_image_shape(out, r.width, r.height, name));
	INV_TRY_OR(done, decode_tiles(&r, out));
	st = inv_image_orient(out, r.orientation, name);
done:
	if (r.tif)
		TIFFClose(r.tif);
	return st;
}
