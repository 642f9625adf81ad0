/* image.c - one image file, told by its first bytes. */
#include "images/image.h"

#include <stdbool.h>
#include <string.h>

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

invar_status inv_image_load(const char *path, inv_image *out)
{
	inv_map map;
	invar_status st = inv_map_open(path, &map);

	if (st == INVAR_OK)
		st = check_kind(path, &map);
	if (st == INVAR_OK)
		st = is_png(&map) ? inv_png_decode(map.data, map.size, path, out)
		                  : inv_jpeg_decode(map.data, map.size, path, out);
	inv_map_close(&map);
	return st;
}

invar_status inv_image_measure(const char *path, uint32_t *width, uint32_t *height)
{
	inv_map map;
	invar_status st = inv_map_open(path, &map);

	if (st == INVAR_OK)
		st = check_kind(path, &map);
	if (st == INVAR_OK)
		st = is_png(&map) ? inv_png_size(map.data, map.size, path, width, height)
		                  : inv_jpeg_size(map.data, map.size, path, width, height);
	inv_map_close(&map);
	return st;
}
