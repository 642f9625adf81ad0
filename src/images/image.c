/* image.c - one image file, told by its first bytes. */
#include "images/image.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "formats/jpeg.h"
#include "formats/png.h"

static bool is_png(const inv_map *map)
{
	return map->size >= 4 && memcmp(map->data, "\x89PNG", 4) == 0;
}

static invar_status check_kind(const char *path, const inv_map *map)
{
	if (!map->size)
		return inv_fail(INVAR_E_FORMAT, "%s: is empty, an image was expected", path);
	if (is_png(map) || (map->size >= 2 && memcmp(map->data, "\xff\xd8", 2) == 0))
		return INVAR_OK;
	return inv_fail(INVAR_E_FORMAT, "%s: is neither a JPEG nor a PNG file", path);
}

/* A link that leads nowhere, or something that no program could read an image from. */
static bool is_no_file(const char *path)
{
	struct stat info;

	if (stat(path, &info) == 0)
		return !S_ISREG(info.st_mode);
	return errno == ENOENT || errno == ENOTDIR || errno == ELOOP;
}

/*
 * What is wrong with the image itself is INVAR_E_FORMAT, so that it may be passed over. A
 * file that cannot be opened for other reasons (permission, too many open files, a fault
 * of the disk) says nothing about the image and stays INVAR_E_IO.
 */
static invar_status open_image(const char *path, inv_map *map)
{
	invar_status st = inv_map_open(path, map);

	if (st == INVAR_OK)
		return check_kind(path, map);
	return st == INVAR_E_IO && is_no_file(path) ? INVAR_E_FORMAT : st;
}

invar_status inv_image_load(const char *path, inv_image *out)
{
	inv_map map;
	invar_status st = open_image(path, &map);

	if (st == INVAR_OK)
		st = is_png(&map) ? inv_png_decode(map.data, map.size, path, out)
		                  : inv_jpeg_decode(map.data, map.size, path, out);
	inv_map_close(&map);
	return st;
}

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
