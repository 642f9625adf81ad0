/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npy_write.c - NumPy files, version 1, little-endian, C order.
 *
 * The header is byte for byte what np.save writes, so that a file from here
 * and one from NumPy have the same hash. Data is written in pieces of any size to an
 * atomic file or to a pipe; the number of elements is checked at the end.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/text.h"
#include "formats/npy.h"

enum { BLOCK = 8192, ALIGN = 64 };

struct inv_npy_writer {
	inv_writer *file; /* NULL where fd is written */
	int fd;
	char *name;
	inv_dtype dtype;
	uint64_t cells, done;
	uint64_t data_from; /* of a file that is filled in any order */
	uint16_t half[BLOCK];
};

static void free_npy_writer(inv_npy_writer *w)
{
	inv_free(w->name);
	inv_free(w);
}

void inv_npy_abort(inv_npy_writer *w)
{
	if (!w)
		return;
	inv_writer_abort(w->file);
	free_npy_writer(w);
}

static const char *descr_of(inv_dtype t)
{
	switch (t) {
	case INV_F16:
		return "<f2";
	case INV_F32:
		return "<f4";
	case INV_I64:
		return "<i8";
	case INV_U8:
		return "|u1";
	default:
		return NULL;
	}
}

/*
 * NumPy reserves 21 digits for the first count (it appends to files in place), then pads
 * with spaces and a newline to the next multiple of 64, by a full 64 if it is already at
 * one.
 */
size_t inv_npy_make_header(inv_dtype t, unsigned ndim, const uint64_t *shape,
                           char header[INV_NPY_HEADER])
{
	char text[INV_SHAPE_TEXT], first[32];
	int digits = ndim ? snprintf(first, sizeof first, "%" PRIu64, shape[0]) : 21;
	int n = snprintf(header + 10, INV_NPY_HEADER - 10,
	                 "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr_of(t),
	                 inv_shape_text(ndim, shape, text));
	size_t used = 10 + (size_t)n, total;

	total = ((used + (size_t)(21 - digits) + 1) / ALIGN + 1) * ALIGN;
	memset(header + used, ' ', total - used);
	header[total - 1] = '\n';
	memcpy(header, "\x93NUMPY\x01\x00", 8);
	header[8] = (char)((total - 10) & 0xff);
	header[9] = (char)((total - 10) >> 8);
	return total;
}

static invar_status write_bytes(inv_npy_writer *w, const void *data, size_t bytes)
{
	const char *at = data;

	if (w->file)
		return inv_writer_put(w->file, data, bytes);
	while (bytes) {
		ssize_t n = write(w->fd, at, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return inv_fail_errno(w->name, "cannot write");
		at += n;
		bytes -= (size_t)n;
	}
	return INVAR_OK;
}

/* uint8 is written only by inv_npy_put_bytes_at, so only to a file filled in any order. */
static invar_status new_writer(const char *name, int fd, inv_dtype dtype, bool any_order,
                               unsigned ndim, const uint64_t *shape, inv_npy_writer **out)
{
	inv_npy_writer *w;
	uint64_t cells;
	invar_status st;

	*out = NULL;
	if (!descr_of(dtype) || (dtype == INV_U8 && !any_order))
		return inv_fail(INVAR_E_USE,
		                "%s: cannot be written as %s, expected float32, float16 or int64",
		                name, inv_dtype_name(dtype));
	if (ndim > INV_NPY_NDIM)
		return inv_fail(INVAR_E_USE, "%s: has %u dimensions, expected at most %d", name,
		                ndim, INV_NPY_NDIM);
	if (!inv_shape_cells(ndim, shape, inv_dtype_size(dtype), &cells))
		return inv_fail(
			INVAR_E_USE,
			"%s: its shape needs more than 2^63 - 1 bytes, the maximum size of a file",
			name);

	INV_TRY(inv_new(&w));
	w->fd = fd;
	w->dtype = dtype;
	w->cells = cells;
	INV_TRY_OR(fail, inv_new_text(&w->name, name));
	*out = w;
	return INVAR_OK;
fail:
	inv_free(w);
	return st;
}

/* To path or to fd; the other one is NULL or -1. */
static invar_status create_npy(const char *path, int fd, const char *name, inv_dtype dtype,
                               unsigned ndim, const uint64_t *shape, inv_npy_writer **out)
{
	char header[INV_NPY_HEADER];
	inv_npy_writer *w;
	size_t bytes;
	invar_status st;

	*out = NULL;
	INV_TRY(new_writer(name, fd, dtype, false, ndim, shape, &w));
	bytes = inv_npy_make_header(dtype, ndim, shape, header);
	if (path)
		INV_TRY_OR(fail, inv_writer_open(path, bytes + w->cells * inv_dtype_size(dtype),
		                                 &w->file));
	INV_TRY_OR(fail, write_bytes(w, header, bytes));
	*out = w;
	return INVAR_OK;
fail:
	inv_npy_abort(w);
	return st;
}

invar_status inv_npy_create(const char *path, inv_dtype dtype, unsigned ndim,
                            const uint64_t *shape, inv_npy_writer **out)
{
	return create_npy(path, -1, path, dtype, ndim, shape, out);
}

invar_status inv_npy_create_stream(int fd, const char *name, inv_dtype dtype, unsigned ndim,
                                   const uint64_t *shape, inv_npy_writer **out)
{
	return create_npy(NULL, fd, name, dtype, ndim, shape, out);
}

static invar_status check_put(const inv_npy_writer *w, bool integers, size_t count)
{
	if (integers != inv_dtype_is_integer(w->dtype))
		return inv_fail(INVAR_E_USE, "%s: was started as %s but got %s", w->name,
		                inv_dtype_name(w->dtype), integers ? "integers" : "floats");
	if (count > w->cells - w->done)
		return inv_fail(INVAR_E_USE,
		                "%s: got more than the %" PRIu64 " %s that its shape holds",
		                w->name, w->cells, inv_noun(w->cells, "element", "elements"));
	return INVAR_OK;
}

/* A finite number too large for float16 would silently become Inf. */
static invar_status narrow(const inv_npy_writer *w, uint64_t first, const float *data,
                           size_t count, uint16_t *half)
{
	for (size_t i = 0; i < count; i++) {
		half[i] = inv_float_to_half(data[i]);
		if ((half[i] & 0x7fff) == 0x7c00 && !isinf(data[i]))
			return inv_fail(INVAR_E_NUMERIC,
			                "%s: element %" PRIu64
			                " is %.9g, but float16 holds at most 65504",
			                w->name, first + i, (double)data[i]);
	}
	return INVAR_OK;
}

invar_status inv_npy_put(inv_npy_writer *w, const float *data, size_t count)
{
	INV_TRY(check_put(w, false, count));
	if (w->dtype == INV_F32 && count)
		INV_TRY(write_bytes(w, data, count * sizeof *data));
	for (size_t done = 0, n; w->dtype == INV_F16 && done < count; done += n) {
		n = count - done < BLOCK ? count - done : BLOCK;
		INV_TRY(narrow(w, w->done + done, data + done, n, w->half));
		INV_TRY(write_bytes(w, w->half, n * sizeof *w->half));
	}
	w->done += count;
	return INVAR_OK;
}

invar_status inv_npy_put_int(inv_npy_writer *w, const int64_t *data, size_t count)
{
	INV_TRY(check_put(w, true, count));
	if (count)
		INV_TRY(write_bytes(w, data, count * sizeof *data));
	w->done += count;
	return INVAR_OK;
}

/* ---- In any order ----------------------------------------------------------------- */

typedef enum part_use { START, KEEP, JOIN } part_use;

static invar_status open_npy_part(const char *path, inv_dtype dtype, unsigned ndim,
                                  const uint64_t *shape, part_use use, inv_npy_writer **out)
{
	char header[INV_NPY_HEADER];
	inv_npy_writer *w;
	uint64_t bytes;
	invar_status st;

	*out = NULL;
	INV_TRY(new_writer(path, -1, dtype, true, ndim, shape, &w));
	w->done = w->cells; /* what is missing is not known here */
	w->data_from = inv_npy_make_header(dtype, ndim, shape, header);
	bytes = w->data_from + w->cells * inv_dtype_size(dtype);
	INV_TRY_OR(fail, use == JOIN ? inv_writer_join(path, bytes, &w->file)
	                             : inv_writer_take_up(path, bytes, use == KEEP, &w->file));
	if (use == START)
		INV_TRY_OR(fail, inv_writer_put_at(w->file, 0, header, w->data_from));
	*out = w;
	return INVAR_OK;
fail:
	if (use == JOIN)
		inv_npy_leave(w);
	else
		inv_npy_abort(w);
	return st;
}

invar_status inv_npy_take_up(const char *path, inv_dtype dtype, unsigned ndim,
                             const uint64_t *shape, bool keep, inv_npy_writer **out)
{
	return open_npy_part(path, dtype, ndim, shape, keep ? KEEP : START, out);
}

invar_status inv_npy_join(const char *path, inv_dtype dtype, unsigned ndim,
                          const uint64_t *shape, inv_npy_writer **out)
{
	return open_npy_part(path, dtype, ndim, shape, JOIN, out);
}

invar_status inv_npy_put_at(inv_npy_writer *w, uint64_t first, const float *data,
                            size_t count)
{
	uint64_t at = w->data_from + first * inv_dtype_size(w->dtype);
	uint16_t half[BLOCK];

	if (w->dtype == INV_F32)
		return inv_writer_put_at(w->file, at, data, count * sizeof *data);
	for (size_t done = 0, n; done < count; done += n) {
		n = count - done < BLOCK ? count - done : BLOCK;
		INV_TRY(narrow(w, first + done, data + done, n, half));
		INV_TRY(
			inv_writer_put_at(w->file, at + done * sizeof *half, half, n * sizeof *half));
	}
	return INVAR_OK;
}

invar_status inv_npy_put_bytes_at(inv_npy_writer *w, uint64_t first, const uint8_t *data,
                                  size_t count)
{
	return inv_writer_put_at(w->file, w->data_from + first, data, count);
}

invar_status inv_npy_sync(inv_npy_writer *w)
{
	return inv_writer_sync(w->file);
}

/* The header has the same length for any number of rows. */
invar_status inv_npy_shorten(inv_npy_writer *w, unsigned ndim, const uint64_t *shape,
                             uint64_t rows)
{
	uint64_t fewer[INV_NPY_NDIM];
	char header[INV_NPY_HEADER];

	memcpy(fewer, shape, ndim * sizeof *fewer);
	fewer[0] = rows;
	w->cells = w->done = w->cells / shape[0] * rows;
	INV_TRY(inv_writer_put_at(w->file, 0, header,
	                          inv_npy_make_header(w->dtype, ndim, fewer, header)));
	return inv_writer_shorten(w->file, w->data_from + w->cells * inv_dtype_size(w->dtype));
}

void inv_npy_leave(inv_npy_writer *w)
{
	if (!w)
		return;
	inv_writer_leave(w->file);
	free_npy_writer(w);
}

/* ---- The end ---------------------------------------------------------------------- */

invar_status inv_npy_commit(inv_npy_writer *w)
{
	invar_status st = INVAR_OK;

	if (w->done != w->cells) {
		st = inv_fail(INVAR_E_USE, "%s: got %" PRIu64 " %s, but its shape needs %" PRIu64,
		              w->name, w->done, inv_noun(w->done, "element", "elements"), w->cells);
		inv_npy_abort(w);
		return st;
	}
	if (w->file)
		st = inv_writer_commit(w->file);
	free_npy_writer(w);
	return st;
}

invar_status invar_array_write(invar_context *ctx, const char *path, const float *data,
                               unsigned ndim, const uint64_t *shape, invar_dtype dtype)
{
	inv_npy_writer *w;
	invar_status st;

	(void)ctx;
	INV_TRY(
		inv_npy_create(path, dtype == INVAR_FLOAT16 ? INV_F16 : INV_F32, ndim, shape, &w));
	INV_TRY_OR(fail, inv_npy_put(w, data, w->cells));
	return inv_npy_commit(w);
fail:
	inv_npy_abort(w);
	return st;
}
