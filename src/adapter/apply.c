/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply.c - E over a NumPy file or a pipe, block by block.
 *
 * A block is a fixed number of rows counted from the first, so a file and
 * a pipe give the same bytes, and memory stays flat for any length.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "adapter/adapter.h"
#include "adapter/compatibility.h"
#include "base/file.h"
#include "base/threads.h"
#include "formats/npy_source.h"

enum { BLOCK_ROWS = 4096, NAME = 500 };

static invar_status check_shape(const invar_adapter *e, const inv_npy_source *in)
{
	char text[INV_SHAPE_TEXT];
	unsigned rank = in->h->rank;

	if ((rank == 2 || rank == 3) && in->h->shape[rank - 1] == e->s.d)
		return INVAR_OK;
	return inv_fail(INVAR_E_MISMATCH,
	                "%s: its shape is %s but %s takes (n, %zu) or (n, c, %zu)", in->name,
	                inv_shape_text(rank, in->h->shape, text), e->path, e->s.d, e->s.d);
}

static invar_status open_target(const invar_adapter *e, const inv_npy_source *in,
                                const char *path, invar_dtype dtype, inv_npy_writer **out)
{
	inv_dtype type = dtype == INVAR_FLOAT16 ? INV_F16 : INV_F32;
	uint64_t shape[INV_NPY_RANK];

	memcpy(shape, in->h->shape, sizeof shape);
	shape[in->h->rank - 1] = e->s.w;
	return inv_npy_create_target(path, type, in->h->rank, shape, out);
}

/* Names the element by its index in the array: [image, column] or [image, copy, column]. */
static invar_status check_finite(const inv_npy_header *h, const float *x, uint64_t rows,
                                 size_t width, uint64_t before, const char *name)
{
	uint64_t copies = h->rank == 3 ? h->shape[1] : 1, i = 0;
	char copy[40] = "";

	while (i < rows * width && isfinite(x[i]))
		i++;
	if (i == rows * width)
		return INVAR_OK;
	if (h->rank == 3)
		snprintf(copy, sizeof copy, ", copy %" PRIu64, (before + i / width) % copies);
	return inv_fail(INVAR_E_NUMERIC, "%s: row %" PRIu64 "%s, column %" PRIu64 " is %s",
	                name, (before + i / width) / copies, copy, i % width,
	                isnan(x[i]) ? "NaN" : "infinite");
}

static invar_status pump(const invar_adapter *e, inv_npy_source *in, inv_npy_writer *out,
                         float *x, float *y)
{
	uint64_t rows = e->s.d ? in->h->cells / e->s.d : 0;
	bool warned = e->unit;
	char what[NAME];
	invar_status st = INVAR_OK;

	snprintf(what, sizeof what, "those of %.400s", in->name);

	for (uint64_t at = 0; at < rows && st == INVAR_OK; at += BLOCK_ROWS) {
		uint64_t now = rows - at < BLOCK_ROWS ? rows - at : BLOCK_ROWS;

		if ((st = inv_progress(e->ctx, "apply", at, rows)) == INVAR_OK &&
		    (st = inv_npy_source_read(in, now * e->s.d, x)) == INVAR_OK &&
		    (st = check_finite(in->h, x, now, e->s.d, at, in->name)) == INVAR_OK) {
			inv_row_norms n = {0};

			if (!warned)
				inv_row_norms_add_rows(x, now, e->s.d, &n);
			warned = warned || inv_compatibility_warn_norms(e, &n, what);
		}
		if (st == INVAR_OK && (st = inv_adapter_apply_finite(e, x, now, y)) == INVAR_OK &&
		    (st = check_finite(in->h, y, now, e->s.w, at, "the codes")) == INVAR_OK)
			st = inv_npy_put(out, y, now * e->s.w);
	}
	return st == INVAR_OK ? inv_npy_source_end(in) : st;
}

static invar_status apply_to(const invar_adapter *e, inv_npy_source *in, const char *path,
                             invar_dtype dtype)
{
	inv_npy_writer *out = NULL;
	float *x = inv_alloc(BLOCK_ROWS * e->s.d * sizeof *x);
	float *y = inv_alloc(BLOCK_ROWS * e->s.w * sizeof *y);
	invar_status st =
		x && y ? open_target(e, in, path, dtype, &out)
			   : inv_fail(INVAR_E_NOMEM, "not enough memory to apply %s", e->path);

	if (st == INVAR_OK && (st = pump(e, in, out, x, y)) == INVAR_OK) {
		st = inv_npy_commit(out);
		out = NULL;
	}
	inv_npy_abort(out);
	inv_free(x);
	inv_free(y);
	return st;
}

invar_status inv_adapter_apply_file(const invar_adapter *e, const char *in, const char *out,
                                    invar_dtype dtype)
{
	inv_npy_source from;
	invar_status st = inv_npy_source_open(e->ctx, in, &from);

	if (st == INVAR_OK)
		st = check_shape(e, &from);
	if (st == INVAR_OK) {
		inv_compatibility_warn_file(e, in);
		st = apply_to(e, &from, out, dtype);
	}
	inv_npy_source_close(&from);
	return st;
}
