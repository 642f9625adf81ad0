/* SPDX-License-Identifier: Apache-2.0 */
/* npy_source.c - see npy_source.h. */
#include "formats/npy_source.h"

#include <string.h>
#include <unistd.h>

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

invar_status inv_npy_create_target(const char *path, inv_dtype dtype, unsigned rank,
                                   const uint64_t *shape, inv_npy_writer **out)
{
	if (is_pipe(path))
		return inv_npy_create_stream(STDOUT_FILENO, "standard output", dtype, rank, shape,
		                             out);
	return inv_npy_create(path, dtype, rank, shape, out);
}
