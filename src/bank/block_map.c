/* SPDX-License-Identifier: Apache-2.0 */
/* block_map.c - see block_map.h for what the map says and when. */
#include "bank/block_map.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"

enum { HEADER = 64, NAME = INV_SHA256_HEX, MAX_ARRAYS = 100002 };
#define MAX_BYTES ((size_t)1 << 30)
#define MAGIC "invar-done 1: "

struct inv_block_map {
	int fd;
	bool joined; /* another process holds the lock */
	char *path;
	uint64_t blocks;
	size_t arrays;
	size_t line; /* bytes of an array's line: name, blank, blocks, newline */
	char *text;  /* HEADER, then the lines */
};

static char *array_line(const inv_block_map *d, size_t i)
{
	return d->text + HEADER + i * d->line;
}

static char *array_blocks(const inv_block_map *d, size_t i)
{
	return array_line(d, i) + NAME;
}

static size_t bytes_of(const inv_block_map *d)
{
	return HEADER + d->arrays * d->line;
}

uint64_t inv_block_map_blocks(const inv_block_map *d)
{
	return d->blocks;
}

size_t inv_block_map_arrays(const inv_block_map *d)
{
	return d->arrays;
}

bool inv_block_map_has(const inv_block_map *d, size_t i, uint64_t block)
{
	return array_blocks(d, i)[block] == '1';
}

bool inv_block_map_any(const inv_block_map *d, size_t i)
{
	return memchr(array_blocks(d, i), '1', d->blocks) != NULL;
}

void inv_block_map_mark(inv_block_map *d, size_t i, uint64_t block)
{
	array_blocks(d, i)[block] = '1';
}

void inv_block_map_forget(inv_block_map *d, size_t i)
{
	memset(array_blocks(d, i), '0', d->blocks);
}

/* ---- Opening ---------------------------------------------------------------------- */

static void write_header(uint64_t blocks, char header[HEADER + 1])
{
	char text[HEADER];

	snprintf(text, sizeof text, MAGIC "%" PRIu64 " blocks of %d rows", blocks,
	         INV_BLOCK_ROWS);
	snprintf(header, HEADER + 1, "%-*s\n", HEADER - 1, text);
}

static void begin_line(const inv_block_map *d, size_t i)
{
	char *line = array_line(d, i);

	memset(line, '-', NAME - 1);
	line[NAME - 1] = ' ';
	memset(line + NAME, '0', d->blocks);
	line[d->line - 1] = '\n';
}

/* A line that is not ours or is incomplete is ignored. */
static bool is_line(const inv_block_map *d, size_t i)
{
	const char *line = array_line(d, i);

	if (strspn(line, "0123456789abcdef-") != NAME - 1 || line[NAME - 1] != ' ' ||
	    line[d->line - 1] != '\n')
		return false;
	for (uint64_t b = 0; b < d->blocks; b++)
		if (line[NAME + b] != '0' && line[NAME + b] != '1')
			return false;
	return true;
}

static invar_status fail_other_rows(const inv_block_map *d)
{
	return inv_fail(INVAR_E_MISMATCH,
	                "%s: this split was started with different images or labels; choose "
	                "the same ones to resume it, or remove this file to start again",
	                d->path);
}

/* Whether text that is not our map is another one, and not the rest of a first save. */
static bool is_other_map(const char *text, size_t bytes)
{
	return memchr(text, MAGIC[0], bytes) != NULL;
}

invar_status inv_block_map_share(inv_block_map *d, bool shared)
{
	if (flock(d->fd, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0 || errno != EWOULDBLOCK)
		return INVAR_OK;
	return inv_fail(INVAR_E_IO, "%s: another process is encoding this split", d->path);
}

static invar_status open_block_map(const char *path, uint64_t rows, size_t arrays,
                                   bool joined, inv_block_map **out)
{
	inv_block_map *d;
	char header[HEADER + 1], *text = NULL;
	size_t bytes = 0, there;
	invar_status st;
	bool ours;

	*out = NULL;
	INV_TRY(inv_new(&d));
	d->fd = -1;
	d->joined = joined;
	d->blocks = (rows + INV_BLOCK_ROWS - 1) / INV_BLOCK_ROWS;
	d->line = NAME + (size_t)d->blocks + 1;
	INV_TRY_OR(fail, inv_new_text(&d->path, path));
	/* Not through a link, and not into a pipe, which could block. */
	d->fd = open(
		path, O_RDWR | (joined ? 0 : O_CREAT) | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
	if (d->fd < 0)
		INV_TRY_OR(fail, inv_fail_errno(path, "cannot write"));
	INV_TRY_OR(fail, inv_block_map_share(d, joined));
	INV_TRY_OR(fail, inv_file_load(path, MAX_BYTES, &text, &bytes));

	/* The existing file: none, a map of the same number of blocks, or an error. */
	write_header(d->blocks, header);
	ours = bytes >= HEADER && memcmp(text, header, HEADER) == 0;
	if (!ours && is_other_map(text, bytes))
		INV_TRY_OR(fail, fail_other_rows(d));
	there = ours ? (bytes - HEADER) / d->line : 0;
	d->arrays = there > arrays ? there : arrays;
	if (d->arrays > MAX_ARRAYS)
		INV_TRY_OR(fail, inv_no_memory());
	INV_TRY_OR(fail, inv_new_zeros(&d->text, bytes_of(d) + 1));
	memcpy(d->text, header, HEADER);
	for (size_t i = 0; i < d->arrays; i++) {
		if (i < there)
			memcpy(array_line(d, i), text + HEADER + i * d->line, d->line);
		if (!is_line(d, i))
			begin_line(d, i);
	}
	inv_free(text);
	*out = d;
	return INVAR_OK;
fail:
	inv_free(text);
	inv_block_map_close(d, false);
	return st;
}

invar_status inv_block_map_open(const char *path, uint64_t rows, size_t arrays,
                                inv_block_map **out)
{
	return open_block_map(path, rows, arrays, false, out);
}

invar_status inv_block_map_join(const char *path, uint64_t rows, size_t arrays,
                                inv_block_map **out)
{
	return open_block_map(path, rows, arrays, true, out);
}

invar_status inv_block_map_expect(inv_block_map *d, size_t i,
                                  const char belongs[INV_SHA256_HEX])
{
	char *line = array_line(d, i);

	if (memcmp(line, belongs, NAME - 1) == 0)
		return INVAR_OK;
	if (inv_block_map_any(d, i))
		return fail_other_rows(d);
	begin_line(d, i);
	memcpy(line, belongs, NAME - 1);
	return INVAR_OK;
}

static invar_status write_map_bytes(inv_block_map *d, size_t from, size_t end)
{
	while (from < end) {
		ssize_t n = pwrite(d->fd, d->text + from, end - from, (off_t)from);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return inv_fail_errno(d->path, "cannot write");
		from += (size_t)n;
	}
	return INVAR_OK;
}

invar_status inv_block_map_save_one(inv_block_map *d, size_t i, uint64_t block)
{
	size_t at = (size_t)(array_blocks(d, i) + block - d->text);

	return write_map_bytes(d, at, at + 1);
}

invar_status inv_block_map_sync(inv_block_map *d)
{
	return fdatasync(d->fd) == 0 ? INVAR_OK
	                             : inv_fail_errno(d->path, "cannot flush to disk");
}

invar_status inv_block_map_load(inv_block_map *d)
{
	char *text;
	size_t bytes;
	invar_status st = INVAR_OK;

	INV_TRY(inv_file_load(d->path, MAX_BYTES, &text, &bytes));
	if (bytes == bytes_of(d))
		memcpy(d->text, text, bytes);
	else
		st = fail_other_rows(d);
	for (size_t i = 0; i < d->arrays; i++)
		if (!is_line(d, i))
			begin_line(d, i);
	inv_free(text);
	return st;
}

invar_status inv_block_map_save(inv_block_map *d)
{
	size_t bytes = bytes_of(d);

	INV_TRY(write_map_bytes(d, 0, bytes));
	/* A file that was not a map may have been longer; data past our end is not ours. */
	return ftruncate(d->fd, (off_t)bytes) == 0 && fdatasync(d->fd) == 0
	           ? INVAR_OK
	           : inv_fail_errno(d->path, "cannot flush to disk");
}

void inv_block_map_close(inv_block_map *d, bool remove)
{
	bool begun = false;

	if (!d)
		return;
	for (size_t i = 0; d->text && i < d->arrays && !begun; i++)
		begun = inv_block_map_any(d, i);
	if (d->fd >= 0 && d->text && !d->joined && (remove || !begun))
		unlink(d->path);
	if (d->fd >= 0)
		close(d->fd);
	inv_free(d->text);
	inv_free(d->path);
	inv_free(d);
}

bool inv_block_map_is_begun(const char *path)
{
	inv_block_map d = {0};
	char header[HEADER + 1];
	size_t bytes;
	bool begun = false;

	if (!inv_exists(path) || inv_file_load(path, MAX_BYTES, &d.text, &bytes) != INVAR_OK)
		return false;
	/* A map, by the number of blocks in its header, or another file. */
	if (bytes >= HEADER && sscanf(d.text, MAGIC "%" SCNu64, &d.blocks) == 1 &&
	    d.blocks <= bytes) {
		write_header(d.blocks, header);
		d.line = NAME + (size_t)d.blocks + 1;
	}
	if (d.line && memcmp(d.text, header, HEADER) == 0)
		d.arrays = (bytes - HEADER) / d.line;
	else
		begun = is_other_map(d.text, bytes);
	for (size_t i = 0; i < d.arrays && !begun; i++)
		begun = is_line(&d, i) && inv_block_map_any(&d, i);
	inv_free(d.text);
	return begun;
}
