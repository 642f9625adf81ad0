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
#include "formats/npy.h"

enum { BLOCK_ROWS = 4096, NAME = 500 };

/* Names the element by its index in the array: [image, column] or [image, copy, column]. */
static invar_status check_finite_array(const inv_npy_header *h, const float *x,
                                       uint64_t rows, size_t width, uint64_t before,
                                       const char *name)
{
	uint64_t copies = h->ndim == 3 ? h->shape[1] : 1, i = 0;
	char copy[40] = "";

	while (i < rows * width && isfinite(x[i]))
		i++;
	if (i == rows * width)
		return INVAR_OK;
	if (h->ndim == 3)
		snprintf(copy, sizeof copy, ", copy %" PRIu64, (before + i / width) % copies);
	return inv_fail(INVAR_E_NUMERIC, "%s: row %" PRIu64 "%s, column %" PRIu64 " is %s",
	                name, (before + i / width) / copies, copy, i % width,
	                isnan(x[i]) ? "NaN" : "infinite");
}

/* All rows of `in`; x and y are scratch memory for a block of features and of codes. */
static invar_status apply_blocks(const invar_adapter *e, inv_npy_source *in, float *x,
                                 float *y, inv_npy_writer *out)
{
	uint64_t rows = e->s.d ? in->h->cells / e->s.d : 0;
	bool warned = e->unit;
	char what[NAME];

	snprintf(what, sizeof what, "those of %.400s", in->name);
	for (uint64_t at = 0; at < rows; at += BLOCK_ROWS) {
		uint64_t now = rows - at < BLOCK_ROWS ? rows - at : BLOCK_ROWS;
		inv_row_norms n = {0};

		INV_TRY(inv_progress(e->ctx, "apply", at, rows));
		INV_TRY(inv_npy_source_read(in, now * e->s.d, x));
		INV_TRY(check_finite_array(in->h, x, now, e->s.d, at, in->name));
		if (!warned)
			inv_row_norms_add_rows(x, now, e->s.d, &n);
		warned = warned || inv_compatibility_warn_norms(e, &n, what);
		INV_TRY(inv_adapter_apply_finite(e, x, now, y));
		INV_TRY(check_finite_array(in->h, y, now, e->s.w, at, "the codes"));
		INV_TRY(inv_npy_put(out, y, now * e->s.w));
	}
	return inv_npy_source_end(in);
}

invar_status inv_adapter_apply_file(const invar_adapter *e, const char *in_path,
                                    const char *out_path, invar_dtype dtype)
{
	inv_npy_source in;
	inv_npy_writer *out = NULL;
	float *x = NULL, *y = NULL;
	uint64_t shape[INV_NPY_NDIM];
	unsigned dims;
	invar_status st;

	INV_TRY_OR(done, inv_npy_source_open(e->ctx, in_path, &in));
	dims = in.h->ndim;
	if ((dims != 2 && dims != 3) || in.h->shape[dims - 1] != e->s.d) {
		char text[INV_SHAPE_TEXT];

		INV_TRY_OR(done,
		           inv_fail(INVAR_E_MISMATCH,
		                    "%s: its shape is %s but %s takes (n, %zu) or (n, c, %zu)",
		                    in.name, inv_shape_text(dims, in.h->shape, text), e->path,
		                    e->s.d, e->s.d));
	}
	inv_compatibility_warn_file(e, in_path);
	memcpy(shape, in.h->shape, sizeof shape);
	shape[dims - 1] = e->s.w;
	INV_TRY_OR(done, inv_new_array(&x, BLOCK_ROWS * e->s.d));
	INV_TRY_OR(done, inv_new_array(&y, BLOCK_ROWS * e->s.w));
	INV_TRY_OR(done,
	           inv_npy_create_target(out_path, dtype == INVAR_FLOAT16 ? INV_F16 : INV_F32,
	                                 dims, shape, &out));
	INV_TRY_OR(done, apply_blocks(e, &in, x, y, out));
	st = inv_npy_commit(out);
	out = NULL;
done:
	inv_npy_abort(out);
	inv_npy_source_close(&in);
	inv_free(x);
	inv_free(y);
	return st;
}
