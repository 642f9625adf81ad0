/* SPDX-License-Identifier: Apache-2.0 */
/* image.c - one image file, recognised by its first bytes. */
#include "images/image.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/sha256.h"
#include "formats/jpeg_file.h"
#include "formats/png_file.h"
#include "images/fingerprint.h"

static bool is_png(const inv_map *map)
{
	return map->size >= 4 && memcmp(map->data, "\x89PNG", 4) == 0;
}

static invar_status check_kind(const char *path, const inv_map *map)
{
	if (!map->size)
		return inv_fail(INVAR_E_FORMAT, "%s: is empty, expected an image", path);
	if (is_png(map) || (map->size >= 2 && memcmp(map->data, "\xff\xd8", 2) == 0))
		return INVAR_OK;
	return inv_fail(INVAR_E_FORMAT, "%s: is neither a JPEG nor a PNG file", path);
}

/* A broken link, or something that is not a regular file. */
static bool is_no_file(const char *path)
{
	struct stat info;

	if (stat(path, &info) == 0)
		return !S_ISREG(info.st_mode);
	return errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
}

/*
 * Faults of the image itself are INVAR_E_FORMAT, so that it may be skipped. A file that
 * cannot be opened for other reasons (permission, too many open files, a disk error) says
 * nothing about the image and stays INVAR_E_IO.
 */
static invar_status open_image(const char *path, inv_map *map)
{
	invar_status st = inv_map_open(path, map);

	if (st == INVAR_OK)
		return check_kind(path, map);
	return st == INVAR_E_IO && is_no_file(path) ? INVAR_E_FORMAT : st;
}

static invar_status decode(const char *path, const inv_map *map, inv_image *out)
{
	return is_png(map) ? inv_png_decode(map->data, map->size, path, out)
	                   : inv_jpeg_decode(map->data, map->size, path, out);
}

invar_status inv_image_load(const char *path, inv_image *out)
{
	inv_map map;
	invar_status st = open_image(path, &map);

	if (st == INVAR_OK)
		st = decode(path, &map, out);
	inv_map_close(&map);
	return st;
}

/* ---- Fingerprints ----------------------------------------------------------------- */

invar_status inv_fingerprint_bytes(const void *data, uint64_t bytes, inv_fingerprint *out)
{
	unsigned char digest[INV_SHA256_BYTES];
	invar_status st = inv_sha256_digest(data, bytes, digest);

	if (st == INVAR_OK)
		memcpy(out->byte, digest, sizeof out->byte);
	return st;
}

invar_status inv_fingerprint_pixels(const inv_image *image, inv_fingerprint *out)
{
	return inv_fingerprint_bytes(
		image->pixels, (uint64_t)image->width * image->height * image->channels, out);
}

invar_status inv_fingerprint_file(const char *path, inv_image *image, inv_fingerprint *out)
{
	inv_map map;
	invar_status st = open_image(path, &map);

	if (st == INVAR_OK && image)
		st = decode(path, &map, image);
	if (st == INVAR_OK)
		st = inv_fingerprint_bytes(map.data, map.size, out);
	inv_map_close(&map);
	return st;
}

/* ---- Sizes ------------------------------------------------------------------------ */

invar_status inv_image_measure(const char *path, uint32_t *width, uint32_t *height)
{
	inv_map map;
	invar_status st = open_image(path, &map);

	if (st == INVAR_OK)
		st = is_png(&map) ? inv_png_size(map.data, map.size, path, width, height)
		                  : inv_jpeg_size(map.data, map.size, path, width, height);
	inv_map_close(&map);
	return st;
}
