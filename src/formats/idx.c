/* SPDX-License-Identifier: Apache-2.0 */
/* idx.c - reading idx files, see idx.h for the invariants. */
#include "formats/idx.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <zlib.h>

#include "base/memory.h"
#include "base/text.h"

enum {
	PRELUDE = 4,
	LONGEST = PRELUDE + 4 * INV_IDX_NDIM, /* header bytes */
	TYPE_U8 = 8,
	MAX_RATIO = 1032, /* plain bytes that deflate makes of one */
	GZIP_WINDOW = 15 + 16
};

static const char *type_name(unsigned type)
{
	switch (type) {
	case 0x09:
		return "int8";
	case 0x0b:
		return "int16";
	case 0x0c:
		return "int32";
	case 0x0d:
		return "float32";
	case 0x0e:
		return "float64";
	}
	return "an unknown type";
}

/* Fills ndim, shape and cells from the first bytes of the (unpacked) file. */
static invar_status parse_idx_header(inv_idx *x, const uint8_t *bytes, uint64_t size)
{
	if (size < PRELUDE || bytes[0] || bytes[1])
		return inv_fail(INVAR_E_FORMAT,
		                "%s: is not an idx file (it does not start with two zero bytes)",
		                x->path);
	if (bytes[2] != TYPE_U8)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: contains %s (0x%02x), but only uint8 (0x08) is supported",
		                x->path, type_name(bytes[2]), bytes[2]);
	if (bytes[3] < 1 || bytes[3] > INV_IDX_NDIM)
		return inv_fail(INVAR_E_FORMAT, "%s: has %u dimensions, expected 1 to %d", x->path,
		                bytes[3], INV_IDX_NDIM);
	if (size < PRELUDE + 4u * bytes[3])
		return inv_fail(INVAR_E_FORMAT, "%s: ends inside its header", x->path);

	x->ndim = bytes[3];
	x->cells = 1;
	for (unsigned k = 0; k < INV_IDX_NDIM; k++) {
		const uint8_t *at = bytes + PRELUDE + 4 * k;

		x->shape[k] = k < x->ndim ? (uint64_t)at[0] << 24 | (uint64_t)at[1] << 16 |
		                                (uint64_t)at[2] << 8 | at[3]
		                          : 1;
		if (!x->shape[k])
			return inv_fail(INVAR_E_FORMAT, "%s: its dimension %u is 0", x->path, k);
		if (inv_mul_overflow(x->cells, x->shape[k], &x->cells) || x->cells > INT64_MAX)
			return inv_fail(INVAR_E_FORMAT, "%s: its dimensions are too large", x->path);
	}
	return INVAR_OK;
}

static uint64_t header_bytes(const inv_idx *x)
{
	return PRELUDE + 4u * x->ndim;
}

static invar_status wrong_size(const inv_idx *x, uint64_t have, const char *more)
{
	return inv_fail(INVAR_E_FORMAT,
	                "%s: has %s%" PRIu64 " %s of data, but its header says %" PRIu64,
	                x->path, more, have, inv_noun(have, "byte", "bytes"), x->cells);
}

/* ---- gzip ------------------------------------------------------------------------- */

/* Fills `capacity` bytes, or fewer if the stream is shorter; *ended: it was complete. */
static invar_status gunzip(const inv_idx *x, const uint8_t *bytes, uint64_t size,
                           uint8_t *out, uint64_t capacity, uint64_t *got, bool *ended)
{
	z_stream z = {0};
	uint64_t in = 0, done = 0;
	int code = inflateInit2(&z, GZIP_WINDOW);

	while (code == Z_OK && done < capacity) {
		uint64_t have = size - in < UINT_MAX ? size - in : UINT_MAX;
		uint64_t want = capacity - done < UINT_MAX ? capacity - done : UINT_MAX;

		z.next_in = (z_const Bytef *)(uintptr_t)(bytes + in);
		z.avail_in = (uInt)have;
		z.next_out = out + done;
		z.avail_out = (uInt)want;
		code = inflate(&z, Z_NO_FLUSH);
		in += have - z.avail_in;
		done += want - z.avail_out;
	}
	inflateEnd(&z);
	*got = done;
	*ended = code == Z_STREAM_END && in == size;
	if (code == Z_MEM_ERROR)
		return inv_no_memory();
	if (code == Z_STREAM_END && in != size)
		return inv_fail(INVAR_E_FORMAT, "%s: has %" PRIu64 " %s after its gzip stream",
		                x->path, size - in, inv_noun(size - in, "byte", "bytes"));
	if (code != Z_OK && code != Z_STREAM_END)
		return inv_fail(INVAR_E_FORMAT, "%s: its gzip stream is truncated or damaged",
		                x->path);
	return INVAR_OK;
}

/* Inflates twice: only the header, then everything into memory of that size. */
static invar_status read_gzipped_idx(inv_idx *x, const uint8_t *bytes, uint64_t size)
{
	uint8_t header[LONGEST] = {0};
	uint64_t got, total;
	bool ended;

	INV_TRY(gunzip(x, bytes, size, header, sizeof header, &got, &ended));
	INV_TRY(parse_idx_header(x, header, got));
	total = header_bytes(x) + x->cells;
	if (total / MAX_RATIO > size)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: its header says %" PRIu64 " bytes, more than its %" PRIu64
		                " compressed bytes can expand to",
		                x->path, x->cells, size);
	INV_TRY(inv_new_array(&x->owned, total + 1)); /* one more, to see the stream's end */
	INV_TRY(gunzip(x, bytes, size, x->owned, total + 1, &got, &ended));
	if (got != total || !ended)
		return wrong_size(x, (got < total ? got : total) - header_bytes(x),
		                  got > total ? "more than " : "");
	x->data = x->owned + header_bytes(x);
	return INVAR_OK;
}

/* ---- Opening ---------------------------------------------------------------------- */

static invar_status read_idx(inv_idx *x, const uint8_t *bytes, uint64_t size)
{
	if (!size)
		return inv_fail(INVAR_E_FORMAT, "%s: is empty, expected an idx file", x->path);
	if (size >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b)
		return read_gzipped_idx(x, bytes, size);

	INV_TRY(parse_idx_header(x, bytes, size));
	if (size - header_bytes(x) != x->cells)
		return wrong_size(x, size - header_bytes(x), "");
	x->data = bytes + header_bytes(x);
	return INVAR_OK;
}

invar_status inv_idx_view(const uint8_t *bytes, uint64_t size, const char *name,
                          inv_idx **out)
{
	invar_status st;
	inv_idx *x;

	*out = NULL;
	INV_TRY(inv_new(&x));
	INV_TRY_OR(fail, inv_new_text(&x->path, name));
	INV_TRY_OR(fail, read_idx(x, bytes, size));
	*out = x;
	return INVAR_OK;
fail:
	inv_idx_close(x);
	return st;
}

invar_status inv_idx_open(const char *path, inv_idx **out)
{
	invar_status st;
	inv_map map;

	*out = NULL;
	INV_TRY(inv_map_open(path, &map));
	st = inv_idx_view(map.data, map.size, path, out);
	if (st == INVAR_OK && !(*out)->owned)
		(*out)->map = map;
	else
		inv_map_close(&map);
	return st;
}

void inv_idx_close(inv_idx *x)
{
	if (!x)
		return;
	inv_map_close(&x->map);
	inv_free(x->owned);
	inv_free(x->path);
	inv_free(x);
}
