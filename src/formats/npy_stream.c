/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npy_stream.c - a NumPy array read from a pipe.
 *
 * A pipe returns what it has, may be interrupted, and has no known size: the header is read
 * by its own length, the data on request, and the end is checked by trying to read one more
 * byte.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/test_stop.h"
#include "base/text.h"
#include "formats/npy.h"

enum { BLOCK_BYTES = 1 << 14 };

/* Fills `to` unless the pipe ends before; *got is the number of bytes read. */
static invar_status read_pipe(const inv_npy_stream *s, void *to, size_t bytes, size_t *got)
{
	*got = 0;
	while (*got < bytes) {
		ssize_t n;

		inv_test_stop("pipe:read");
		n = read(s->fd, (char *)to + *got, bytes - *got);
		if (n < 0 && errno == EINTR) {
			if (s->ctx && inv_progress(s->ctx, s->name, 0, 0) != INVAR_OK)
				return INVAR_E_CANCELLED;
			continue;
		}
		if (n < 0)
			return inv_fail_errno(s->name, "cannot read");
		if (n == 0)
			break;
		*got += (size_t)n;
	}
	return INVAR_OK;
}

invar_status inv_npy_stream_open(const invar_context *ctx, int fd, const char *name,
                                 inv_npy_stream *out)
{
	unsigned char first[INV_NPY_PRELUDE], *header;
	uint64_t total;
	size_t got;
	invar_status st;

	*out = (inv_npy_stream){.ctx = ctx, .fd = fd, .name = name};
	INV_TRY(read_pipe(out, first, sizeof first, &got));
	INV_TRY(inv_npy_prelude(first, got, name, &total));

	INV_TRY(inv_new_array(&header, total)); /* the prelude bounds it */
	memcpy(header, first, sizeof first);
	INV_TRY_OR(done, read_pipe(out, header + sizeof first, total - sizeof first, &got));
	INV_TRY_OR(done, inv_npy_parse(header, sizeof first + got, name, &out->h));
	if (out->h.fortran)
		st = inv_fail(INVAR_E_FORMAT,
		              "%s: is in Fortran order, which cannot be read by rows from a "
		              "pipe; save it in C order (np.ascontiguousarray)",
		              name);
	out->left = out->h.cells;
done:
	inv_free(header);
	return st;
}

invar_status inv_npy_stream_read(inv_npy_stream *s, uint64_t count, float *out)
{
	unsigned char block[BLOCK_BYTES];
	char text[INV_SHAPE_TEXT];
	size_t size = inv_dtype_size(s->h.dtype), got;
	uint64_t arrived;

	if (count > s->left)
		return inv_fail(INVAR_E_USE,
		                "%s: %" PRIu64 " %s requested, but %" PRIu64 " %s left", s->name,
		                count, inv_noun(count, "element was", "elements were"), s->left,
		                inv_noun(s->left, "is", "are"));
	while (count) {
		size_t n = count < BLOCK_BYTES / size ? count : BLOCK_BYTES / size;

		INV_TRY(read_pipe(s, block, n * size, &got));
		arrived = s->h.cells - s->left + got / size;
		if (got < n * size)
			return inv_fail(INVAR_E_FORMAT,
			                "%s: ends after %" PRIu64 " %s, expected %" PRIu64
			                " for shape %s",
			                s->name, arrived, inv_noun(arrived, "element", "elements"),
			                s->h.cells, inv_shape_text(s->h.ndim, s->h.shape, text));
		inv_widen(s->h.dtype, s->h.swap, block, n, out);
		out += n;
		count -= n;
		s->left -= n;
	}
	return INVAR_OK;
}

invar_status inv_npy_stream_end(inv_npy_stream *s)
{
	char text[INV_SHAPE_TEXT];
	char more;
	size_t got;

	if (s->left)
		return inv_fail(INVAR_E_USE, "%s: %" PRIu64 " %s left unread", s->name, s->left,
		                inv_noun(s->left, "element was", "elements were"));
	INV_TRY(read_pipe(s, &more, 1, &got));
	if (got)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: has extra data after the %" PRIu64 " elements of shape %s",
		                s->name, s->h.cells, inv_shape_text(s->h.ndim, s->h.shape, text));
	return INVAR_OK;
}

/* ---- Files or pipes --------------------------------------------------------------- */

static bool is_pipe(const char *path)
{
	return strcmp(path, "-") == 0;
}

invar_status inv_npy_source_open(const invar_context *ctx, const char *path,
                                 inv_npy_source *out)
{
	*out = (inv_npy_source){.name = is_pipe(path) ? "standard input" : path};
	if (is_pipe(path)) {
		out->h = &out->stream.h;
		return inv_npy_stream_open(ctx, STDIN_FILENO, out->name, &out->stream);
	}
	INV_TRY(inv_npy_open(path, &out->file));
	out->h = &out->file->h;
	return INVAR_OK;
}

invar_status inv_npy_source_read(inv_npy_source *in, uint64_t count, float *out)
{
	uint64_t first = in->done;

	in->done += count;
	return in->file ? inv_npy_read_once(in->file, first, count, out)
	                : inv_npy_stream_read(&in->stream, count, out);
}

invar_status inv_npy_source_end(inv_npy_source *in)
{
	return in->file ? INVAR_OK : inv_npy_stream_end(&in->stream);
}

void inv_npy_source_close(inv_npy_source *in)
{
	inv_npy_close(in->file);
	in->file = NULL;
}

invar_status inv_npy_create_target(const char *path, inv_dtype dtype, unsigned ndim,
                                   const uint64_t *shape, inv_npy_writer **out)
{
	if (is_pipe(path))
		return inv_npy_create_stream(STDOUT_FILENO, "standard output", dtype, ndim, shape,
		                             out);
	return inv_npy_create(path, dtype, ndim, shape, out);
}
