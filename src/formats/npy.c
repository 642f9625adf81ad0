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

invar_status inv_npy_view(const unsigned char *bytes, uint64_t size, const char *name,
                          inv_npy **out)
{
	char text[INV_SHAPE_TEXT];
	uint64_t have, want;
	invar_status st;
	inv_npy *a;

	*out = NULL;
	INV_TRY(inv_new(&a));
	INV_TRY_OR(fail, inv_new_text(&a->path, name));
	INV_TRY_OR(fail, inv_npy_parse(bytes, size, name, &a->h));
	a->data = bytes + a->h.data_from;
	have = size - a->h.data_from;
	want = a->h.cells * inv_dtype_size(a->h.dtype); /* the parser has checked the product */
	if (have != want)
		INV_TRY_OR(fail, inv_fail(INVAR_E_FORMAT,
		                          "%s: has %" PRIu64 " %s of data, expected %" PRIu64
		                          " for shape %s of %s",
		                          name, have, inv_noun(have, "byte", "bytes"), want,
		                          inv_shape_text(a->h.ndim, a->h.shape, text),
		                          inv_dtype_name(a->h.dtype)));
	*out = a;
	return INVAR_OK;
fail:
	inv_npy_close(a);
	return st;
}

invar_status inv_npy_open(const char *path, inv_npy **out)
{
	invar_status st;
	inv_map map;

	*out = NULL;
	INV_TRY(inv_map_open(path, &map));
	INV_TRY_OR(fail, inv_npy_view(map.data, map.size, path, out));
	(*out)->map = map;
	return INVAR_OK;
fail:
	inv_map_close(&map);
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

/* To floats or to integers; the other one is NULL. False: an integer is too large. */
static bool convert_elements(const inv_npy *a, uint64_t first, uint64_t count,
                             float *floats, int64_t *integers)
{
	const inv_npy_header *h = &a->h;
	size_t size = inv_dtype_size(h->dtype);
	const unsigned char *from = a->data + first * size;
	unsigned char block[BLOCK * WIDEST];
	int64_t stride[INV_NPY_NDIM];
	inv_cell c = {0};

	/* In Fortran order the first axis is the dense one. */
	for (unsigned k = 0; k < h->ndim && h->fortran; k++)
		stride[k] = k ? stride[k - 1] * (int64_t)h->shape[k - 1] : 1;
	for (unsigned k = h->ndim; k-- > 0 && h->fortran && count; first /= h->shape[k]) {
		c.at[k] = first % h->shape[k];
		c.offset += (int64_t)c.at[k] * stride[k];
	}
	for (uint64_t done = 0, n; done < count; done += n) {
		n = !h->fortran || count - done < BLOCK ? count - done : BLOCK;
		for (size_t i = 0; i < n && h->fortran; i++) {
			memcpy(block + i * size, a->data + (uint64_t)c.offset * size, size);
			inv_next_cell(h->ndim, h->shape, stride, &c);
			from = block;
		}
		if (floats)
			inv_widen(h->dtype, h->swap, from, n, floats + done);
		else if (!inv_widen_int(h->dtype, h->swap, from, n, integers + done))
			return false;
	}
	return true;
}

invar_status inv_npy_read(const inv_npy *a, uint64_t first, uint64_t count, float *out)
{
	INV_TRY(check_range(a, first, count));
	convert_elements(a, first, count, out, NULL);
	return INVAR_OK;
}

invar_status inv_npy_read_int(const inv_npy *a, uint64_t first, uint64_t count,
                              int64_t *out)
{
	INV_TRY(check_range(a, first, count));
	if (!inv_dtype_is_integer(a->h.dtype))
		return inv_fail(INVAR_E_FORMAT, "%s: contains %s, expected integers", a->path,
		                inv_dtype_name(a->h.dtype));
	if (convert_elements(a, first, count, NULL, out))
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
