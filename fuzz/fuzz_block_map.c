/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_block_map.c - any bytes as the map of an unfinished split.
 *
 * The first two bytes are the numbers of blocks and arrays that the caller expects. An
 * accepted map has as many of both, can be marked and saved, and reads back as it was
 * saved.
 */
#include "bank/block_map.h"
#include "fuzz_file.h"

/* One letter per block, for all arrays. */
static char *list_blocks(const inv_block_map *d)
{
	uint64_t blocks = inv_block_map_blocks(d);
	char *list = calloc(inv_block_map_arrays(d) * blocks + 1, 1);

	for (size_t i = 0; i < inv_block_map_arrays(d); i++)
		for (uint64_t b = 0; b < blocks; b++)
			list[i * blocks + b] = inv_block_map_has(d, i, b) ? '1' : '0';
	return list;
}

static void save_and_read_back(inv_block_map *d, const char *path, uint64_t rows,
                               size_t arrays)
{
	char *before, *after;

	inv_block_map_mark(d, arrays - 1, inv_block_map_blocks(d) - 1);
	before = list_blocks(d);
	require(inv_block_map_save(d) == INVAR_OK && inv_block_map_is_begun(path));
	inv_block_map_close(d, false);
	require(inv_block_map_open(path, rows, arrays, &d) == INVAR_OK);
	after = list_blocks(d);
	require(strcmp(before, after) == 0);
	inv_block_map_close(d, true);
	free(before);
	free(after);
}

static void take_up(const char *path, uint64_t rows, size_t arrays)
{
	char belongs[INV_SHA256_HEX], *list;
	bool begun = inv_block_map_is_begun(path);
	inv_block_map *d;

	memset(belongs, 'e', sizeof belongs - 1);
	belongs[sizeof belongs - 1] = '\0';
	if (inv_block_map_open(path, rows, arrays, &d) != INVAR_OK)
		return;
	require(inv_block_map_arrays(d) >= arrays);
	require(inv_block_map_blocks(d) == (rows + INV_BLOCK_ROWS - 1) / INV_BLOCK_ROWS);
	list = list_blocks(d);
	require(begun || !strchr(list, '1'));
	free(list);
	for (size_t i = 0; i < arrays; i++)
		if (inv_block_map_expect(d, i, belongs) != INVAR_OK)
			inv_block_map_forget(d, i);
	if (arrays && inv_block_map_blocks(d))
		save_and_read_back(d, path, rows, arrays);
	else
		inv_block_map_close(d, true);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[FUZZ_PATH];
	int fd;

	if (size < 2)
		return 0;
	fd = memory_file(data + 2, size - 2, path);
	take_up(path, (uint64_t)data[0] * INV_BLOCK_ROWS, data[1]);
	close(fd);
	return 0;
}
