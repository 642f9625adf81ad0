/* SPDX-License-Identifier: Apache-2.0 */
/* image.c - one image file, recognised by its first bytes. */
#include "images/image.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/sha256.h"
#include "formats/pixels.h"

/* ---- Formats ---------------------------------------------------------------------- */

enum { MAX_STARTS = 4, MAX_ENDS = 2 };

typedef struct format {
	struct {
		size_t length;
		const char *bytes;
	} start[MAX_STARTS];       /* of its files */
	const char *end[MAX_ENDS]; /* of their names */
	inv_image_decoder *decode;
	inv_image_sizer *size;
} format;

static const format image_formats[] = {
	{{{2, "\xff\xd8"}}, {".jpg", ".jpeg"}, inv_jpeg_decode, inv_jpeg_size},
	{{{4, "\x89PNG"}}, {".png"}, inv_png_decode, inv_png_size},
	{{{4, "II*\0"}, {4, "MM\0*"}, {4, "II+\0"}, {4, "MM\0+"}},
     {".tif", ".tiff"},
     inv_tiff_decode,
     inv_tiff_size},
	{{{4, "RIFF"}}, {".webp"}, inv_webp_decode, inv_webp_size},
};

enum { FORMATS = sizeof image_formats / sizeof *image_formats };

bool inv_is_image_name(const char *name)
{
	const char *dot = strrchr(name, '.');

	for (size_t i = 0; dot && i < FORMATS; i++)
		for (size_t k = 0; k < MAX_ENDS && image_formats[i].end[k]; k++)
			if (strcasecmp(dot, image_formats[i].end[k]) == 0)
				return true;
	return false;
}

static invar_status find_image_format(const void *bytes, uint64_t size, const char *name,
                                      const format **out)
{
	*out = NULL;
	if (!size)
		return inv_fail(INVAR_E_FORMAT, "%s: is empty, expected an image", name);
	for (size_t i = 0; i < FORMATS; i++)
		for (size_t k = 0; k < MAX_STARTS && image_formats[i].start[k].length; k++)
			if (size >= image_formats[i].start[k].length &&
			    memcmp(bytes, image_formats[i].start[k].bytes,
			           image_formats[i].start[k].length) == 0) {
				*out = &image_formats[i];
				return INVAR_OK;
			}
	return inv_fail(INVAR_E_FORMAT, "%s: is not a " INV_IMAGE_FORMATS " file", name);
}

invar_status inv_image_decode(const void *bytes, uint64_t size, const char *name,
                              inv_image *out)
{
	const format *f;

	INV_TRY(find_image_format(bytes, size, name, &f));
	return f->decode(bytes, size, name, out);
}

invar_status inv_image_size(const void *bytes, uint64_t size, const char *name,
                            uint32_t *width, uint32_t *height)
{
	const format *f;

	INV_TRY(find_image_format(bytes, size, name, &f));
	return f->size(bytes, size, name, width, height);
}

/* ---- Files ------------------------------------------------------------------------ */

invar_status inv_image_map(const char *path, inv_map *map)
{
	invar_status st = inv_map_open(path, map);
	struct stat info;

	if (st != INVAR_E_IO)
		return st;
	/* A broken link, or something that is not a regular file. */
	if (stat(path, &info) == 0)
		return S_ISREG(info.st_mode) ? st : INVAR_E_FORMAT;
	return errno == ENOENT || errno == ENOTDIR || errno == ELOOP ? INVAR_E_FORMAT : st;
}

invar_status inv_image_load(const char *path, inv_image *out)
{
	inv_map map;
	invar_status st;

	INV_TRY(inv_image_map(path, &map));
	st = inv_image_decode(map.data, map.size, path, out);
	inv_map_close(&map);
	return st;
}

/* ---- Fingerprints ----------------------------------------------------------------- */

invar_status inv_fingerprint_bytes(const void *data, uint64_t bytes, inv_fingerprint *out)
{
	unsigned char digest[INV_SHA256_BYTES];

	INV_TRY(inv_sha256_digest(data, bytes, digest));
	memcpy(out->byte, digest, sizeof out->byte);
	return INVAR_OK;
}
