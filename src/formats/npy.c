/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npy.c - NumPy files mapped into memory, read in any range of C order.
 *
 * A C-ordered range is contiguous and is converted in place. In Fortran order neighbours
 * are a column apart, so a range is first gathered into a small block, which is then
 * converted the same way.
 */
#include "formats/npy.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

enum { BLOCK = 512, WIDEST = 8 }; /* elements per gather, bytes of the widest */
enum { LET_GO_BYTES = 1 << 20 };  /* worth a system call */

static invar_status view_npy(inv_npy *a, const unsigned char *bytes, uint64_t size)
{
	uint64_t have, want;
	char text[INV_SHAPE_TEXT];

	INV_TRY(inv_npy_parse(bytes, size, a->path, &a->h));
	a->data = bytes + a->h.data_from;
	have = size - a->h.data_from;
	want = a->h.cells * inv_dtype_size(a->h.dtype); /* the parser has checked the product */
	if (have == want)
		return INVAR_OK;
	return inv_fail(
		INVAR_E_FORMAT,
		"%s: has %" PRIu64 " %s of data, expected %" PRIu64 " for shape %s of %s", a->path,
		have, inv_noun(have, "byte", "bytes"), want,
		inv_shape_text(a->h.ndim, a->h.shape, text), inv_dtype_name(a->h.dtype));
}

invar_status inv_npy_open(const char *path, inv_npy **out)
{
	invar_status st;
	inv_npy *a;

	*out = NULL;
	INV_TRY(inv_new(&a));
	INV_TRY_OR(fail, inv_new_text(&a->path, path));
	INV_TRY_OR(fail, inv_map_open(path, &a->map));
	INV_TRY_OR(fail, view_npy(a, a->map.data, a->map.size));
	*out = a;
	return INVAR_OK;
fail:
	inv_npy_close(a);
	return st;
}

invar_status inv_npy_view(const unsigned char *bytes, uint64_t size, const char *name,
                          inv_npy **out)
{
	invar_status st;
	inv_npy *a;

	*out = NULL;
	INV_TRY(inv_new(&a));
	INV_TRY_OR(fail, inv_new_text(&a->path, name));
	INV_TRY_OR(fail, view_npy(a, bytes, size));
	*out = a;
	return INVAR_OK;
fail:
	inv_npy_close(a);
	return st;
}

invar_status inv_npy_wrap(const void *data, inv_dtype dtype, unsigned ndim,
                          const uint64_t *shape, const char *name, inv_npy **out)
{
	invar_status st;
	inv_npy *a;

	*out = NULL;
	INV_TRY(inv_new(&a));
	INV_TRY_OR(fail, inv_new_text(&a->path, name));
	a->h = (inv_npy_header){.dtype = dtype, .ndim = ndim};
	memcpy(a->h.shape, shape, ndim * sizeof *shape);
	a->data = data;
	if (!inv_shape_cells(ndim, shape, inv_dtype_size(dtype), &a->h.cells))
		INV_TRY_OR(fail, inv_fail(INVAR_E_USE, "%s: has more than 2^63 - 1 bytes", name));
	INV_TRY_OR(fail, inv_new_array(&a->header, INV_NPY_HEADER));
	a->h.data_from = inv_npy_make_header(dtype, ndim, shape, a->header);
	*out = a;
	return INVAR_OK;
fail:
	inv_npy_close(a);
	return st;
}

uint64_t inv_npy_bytes(const inv_npy *a)
{
	return a->h.data_from + a->h.cells * inv_dtype_size(a->h.dtype);
}

invar_status inv_npy_sha256(const inv_npy *a, uint64_t from, uint64_t bytes,
                            char hex[INV_SHA256_HEX])
{
	uint64_t head = from < a->h.data_from ? a->h.data_from - from : 0; /* of the header */

	if (!a->header)
		return inv_sha256(a->data - a->h.data_from + from, bytes, hex);
	head = head < bytes ? head : bytes;
	return inv_sha256_pair(head ? a->header + from : a->header, head,
	                       a->data + (from + head - a->h.data_from), bytes - head, hex);
}

void inv_npy_close(inv_npy *a)
{
	if (!a)
		return;
	inv_map_close(&a->map);
	inv_free(a->header);
	inv_free(a->path);
	inv_free(a);
}

static invar_status check_range(const inv_npy *a, uint64_t first, uint64_t count)
{
	if (first <= a->h.cells && count <= a->h.cells - first)
		return INVAR_OK;
	return inv_fail(INVAR_E_USE,
	                "%s: %" PRIu64 " %s from number %" PRIu64
	                " on %s requested, but it has %" PRIu64,
	                a->path, count, inv_noun(count, "element", "elements"), first,
	                inv_noun(count, "was", "were"), a->h.cells);
}

/* The place in an array in Fortran order while its elements are visited in C order. */
typedef struct walk {
	uint64_t index[INV_NPY_NDIM];
	uint64_t stride[INV_NPY_NDIM]; /* in elements; the first axis is the dense one */
	uint64_t at;                   /* sum of index times stride */
} walk;

static walk start_walk(const inv_npy_header *h, uint64_t first)
{
	walk w = {.at = 0};

	for (unsigned k = 0; k < h->ndim; k++)
		w.stride[k] = k ? w.stride[k - 1] * h->shape[k - 1] : 1;
	for (unsigned k = h->ndim; k-- > 0;) {
		w.index[k] = first % h->shape[k];
		w.at += w.index[k] * w.stride[k];
		first /= h->shape[k];
	}
	return w;
}

/* Counts up like an odometer: the last axis turns fastest. */
static void next_in_c_order(const inv_npy_header *h, walk *w)
{
	for (unsigned k = h->ndim; k-- > 0;) {
		w->at += w->stride[k];
		if (++w->index[k] < h->shape[k])
			return;
		w->at -= w->stride[k] * h->shape[k];
		w->index[k] = 0;
	}
}

static void gather_fortran(const inv_npy *a, walk *w, size_t count, unsigned char *block)
{
	size_t size = inv_dtype_size(a->h.dtype);

	for (size_t i = 0; i < count; i++) {
		memcpy(block + i * size, a->data + w->at * size, size);
		next_in_c_order(&a->h, w);
	}
}

static const unsigned char *element(const inv_npy *a, uint64_t first)
{
	return a->data + first * inv_dtype_size(a->h.dtype);
}

invar_status inv_npy_read(const inv_npy *a, uint64_t first, uint64_t count, float *out)
{
	unsigned char block[BLOCK * WIDEST];
	walk w;

	INV_TRY(check_range(a, first, count));
	if (count == 0)
		return INVAR_OK;
	if (!a->h.fortran) {
		inv_widen(a->h.dtype, a->h.swap, element(a, first), count, out);
		return INVAR_OK;
	}
	w = start_walk(&a->h, first);
	for (uint64_t done = 0, n; done < count; done += n) {
		n = count - done < BLOCK ? count - done : BLOCK;
		gather_fortran(a, &w, n, block);
		inv_widen(a->h.dtype, a->h.swap, block, n, out + done);
	}
	return INVAR_OK;
}

invar_status inv_npy_read_int(const inv_npy *a, uint64_t first, uint64_t count,
                              int64_t *out)
{
	unsigned char block[BLOCK * WIDEST];
	bool fits = true;
	walk w;

	INV_TRY(check_range(a, first, count));
	if (!inv_dtype_is_integer(a->h.dtype))
		return inv_fail(INVAR_E_FORMAT, "%s: contains %s, expected integers", a->path,
		                inv_dtype_name(a->h.dtype));
	if (count == 0)
		return INVAR_OK;
	if (!a->h.fortran) {
		fits = inv_widen_int(a->h.dtype, a->h.swap, element(a, first), count, out);
	} else {
		w = start_walk(&a->h, first);
		for (uint64_t done = 0, n; fits && done < count; done += n) {
			n = count - done < BLOCK ? count - done : BLOCK;
			gather_fortran(a, &w, n, block);
			fits = inv_widen_int(a->h.dtype, a->h.swap, block, n, out + done);
		}
	}
	if (fits)
		return INVAR_OK;
	return inv_fail(INVAR_E_FORMAT,
	                "%s: contains a uint64 above %" PRId64 ", the largest supported value",
	                a->path, INT64_MAX);
}

/* ---- The public interface --------------------------------------------------------- */

invar_status invar_array_open(invar_context *ctx, const char *path, invar_array **out)
{
	(void)ctx;
	return inv_npy_open(path, out);
}

const uint64_t *invar_array_shape(const invar_array *a, unsigned *dims)
{
	*dims = a->h.ndim;
	return a->h.shape;
}

invar_status inv_npy_read_once(const inv_npy *a, uint64_t first, uint64_t count, float *out)
{
	size_t item = inv_dtype_size(a->h.dtype);

	INV_TRY(inv_npy_read(a, first, count, out));
	if (!a->h.fortran && count >= LET_GO_BYTES / item)
		inv_map_let_go(&a->map, a->data + first * item, count * item);
	return INVAR_OK;
}

invar_status invar_array_read(const invar_array *a, uint64_t first, uint64_t count,
                              float *out)
{
	return inv_npy_read_once(a, first, count, out);
}

void invar_array_close(invar_array *a)
{
	inv_npy_close(a);
}
