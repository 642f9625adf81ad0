/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safetensors_write.c - the writer: tensors and metadata, in a fixed order.
 *
 * Wide types come first, names are sorted and the header is padded with spaces to a
 * multiple of 8, so equal contents give equal bytes and numbers lie aligned in a mapped
 * file.
 */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "formats/dtype.h"
#include "formats/npy.h"
#include "formats/safetensors.h"
#include "formats/utf8.h"

enum { LENGTH_BYTES = 8, PAD = 8, PIECE = 1 << 12, MAX_ITEM = 8 };

/* Takes value, also if it fails. jansson reports invalid UTF-8 like lack of memory. */
static invar_status put_unique(json_t *object, const char *key, json_t *value,
                               const char *path)
{
	invar_status st = INVAR_OK;

	if (!inv_is_utf8(key, strlen(key)))
		st = inv_fail(INVAR_E_USE, "%s: the name '%.200s' is not UTF-8 text", path, key);
	else if (json_object_get(object, key))
		st = inv_fail(INVAR_E_USE, "%s: the name '%.200s' is given twice", path, key);
	if (st != INVAR_OK) {
		json_decref(value);
		return st;
	}
	if (!value || json_object_set_new(object, key, value) != 0)
		return inv_no_memory();
	return INVAR_OK;
}

static invar_status put_text(json_t *object, const char *key, const char *text,
                             const char *path)
{
	if (!inv_is_utf8(text, strlen(text)))
		return inv_fail(INVAR_E_USE, "%s: the value of '%.200s' is not UTF-8 text", path,
		                key);
	return put_unique(object, key, json_string(text), path);
}

static int compare_metadata_keys(const void *a, const void *b)
{
	return strcmp(((const inv_metadata *)a)->key, ((const inv_metadata *)b)->key);
}

static int by_width_and_name(const void *a, const void *b)
{
	const inv_tensor_stored *x = a, *y = b;
	unsigned m = inv_safetensors_bits(x->type), n = inv_safetensors_bits(y->type);

	return m != n ? (m < n) - (m > n) : strcmp(x->name, y->name);
}

/* The caller's list does not change. NULL: no memory. */
static void *new_sorted_list(const void *list, size_t count, size_t size,
                             int (*order)(const void *, const void *))
{
	void *copy = inv_calloc(count, size);

	if (copy && count) {
		memcpy(copy, list, count * size);
		qsort(copy, count, size, order);
	}
	return copy;
}

static invar_status put_all_metadata(json_t *header, const inv_metadata *list, size_t count,
                                     const char *path)
{
	json_t *object = json_object();
	inv_metadata *m = new_sorted_list(list, count, sizeof *m, compare_metadata_keys);
	invar_status st;

	INV_TRY_OR(done, inv_check_memory(m, count * sizeof *m));
	if (!object)
		INV_TRY_OR(done, inv_no_memory());
	for (size_t i = 0; i < count; i++)
		INV_TRY_OR(done, put_text(object, m[i].key, m[i].value, path));
	st = put_unique(header, "__metadata__", json_incref(object), path);
done:
	json_decref(object);
	inv_free(m);
	return st;
}

static json_t *json_counts(const uint64_t *counts, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < n; i++)
		if (json_array_append_new(list, json_integer((json_int_t)counts[i])) != 0) {
			json_decref(list);
			list = NULL;
		}
	return list;
}

static bool count_bytes(const inv_tensor_stored *t, uint64_t *bytes)
{
	uint64_t cells, bits;

	if (!inv_shape_cells(t->ndim, t->shape, 1, &cells) ||
	    inv_mul_overflow(cells, inv_safetensors_bits(t->type), &bits))
		return false;
	*bytes = bits / 8;
	return true;
}

static invar_status put_tensor(json_t *header, const inv_tensor_stored *t, const char *path,
                               uint64_t *at)
{
	uint64_t bytes, range[2] = {*at, *at};
	json_t *info;
	invar_status st;

	if (t->ndim > INV_TENSOR_NDIM)
		return inv_fail(INVAR_E_USE,
		                "%s: tensor '%.200s' has %u dimensions, expected at most %d", path,
		                t->name, t->ndim, INV_TENSOR_NDIM);
	if (!count_bytes(t, &bytes) || inv_add_overflow(*at, bytes, &range[1]) ||
	    range[1] > INT64_MAX)
		return inv_fail(INVAR_E_USE,
		                "%s: tensor '%.200s' makes the file larger than 2^63 - 1 bytes",
		                path, t->name);
	*at = range[1];

	if (!(info = json_object()))
		return inv_no_memory();
	INV_TRY_OR(done, put_text(info, "dtype", t->type, path));
	INV_TRY_OR(done, put_unique(info, "shape", json_counts(t->shape, t->ndim), path));
	INV_TRY_OR(done, put_unique(info, "data_offsets", json_counts(range, 2), path));
	st = put_unique(header, t->name, json_incref(info), path);
done:
	json_decref(info);
	return st;
}

/* Gives the length, the JSON and its padding as one block; inv_free also if it fails. */
static invar_status make_header(const inv_tensor_stored *tensors, size_t count,
                                const inv_metadata *metadata, size_t metadata_count,
                                const char *path, unsigned char **out, size_t *bytes,
                                uint64_t *data_bytes)
{
	json_t *header = json_object();
	size_t length;
	uint64_t padded;
	invar_status st = INVAR_OK;

	*data_bytes = 0;
	if (!header)
		return inv_no_memory();
	if (metadata_count)
		INV_TRY_OR(done, put_all_metadata(header, metadata, metadata_count, path));
	for (size_t i = 0; i < count; i++) {
		if (strcmp(tensors[i].name, "__metadata__") == 0)
			INV_TRY_OR(done, inv_fail(INVAR_E_USE,
			                          "%s: a tensor cannot be called __metadata__", path));
		INV_TRY_OR(done, put_tensor(header, &tensors[i], path, data_bytes));
	}

	length = json_dumpb(header, NULL, 0, JSON_COMPACT);
	padded = (length + PAD - 1) / PAD * PAD;
	*bytes = LENGTH_BYTES + padded;
	INV_TRY_OR(done, inv_new_array(out, *bytes));
	memcpy(*out, &padded, LENGTH_BYTES);
	memset(*out + LENGTH_BYTES, ' ', padded);
	if (!length ||
	    json_dumpb(header, (char *)*out + LENGTH_BYTES, length, JSON_COMPACT) != length)
		st = inv_no_memory();
done:
	json_decref(header);
	return st;
}

static invar_status write_tensor(inv_writer *w, const inv_tensor_stored *t)
{
	size_t item = inv_safetensors_bits(t->type) / 8, used = 0;
	unsigned char piece[PIECE];
	inv_cell c = {0};
	uint64_t bytes;

	if (!count_bytes(t, &bytes) || !bytes)
		return INVAR_OK;
	if (inv_is_dense(t->ndim, t->shape, t->stride))
		return inv_writer_put(w, t->data, bytes);
	/* Numbers of whole bytes, gathered in pieces. */
	for (uint64_t i = 0; i < bytes / item; i++) {
		memcpy(piece + used, (const unsigned char *)t->data + c.offset * (int64_t)item,
		       item);
		inv_next_cell(t->ndim, t->shape, t->stride, &c);
		used += item;
		if (used > PIECE - MAX_ITEM) {
			INV_TRY(inv_writer_put(w, piece, used));
			used = 0;
		}
	}
	return used ? inv_writer_put(w, piece, used) : INVAR_OK;
}

invar_status inv_safetensors_store(const char *path, const inv_tensor_stored *tensors,
                                   size_t count, const inv_metadata *metadata,
                                   size_t metadata_count)
{
	inv_tensor_stored *t = new_sorted_list(tensors, count, sizeof *t, by_width_and_name);
	unsigned char *header = NULL;
	inv_writer *w = NULL;
	size_t bytes = 0;
	uint64_t data_bytes;
	invar_status st;

	INV_TRY(inv_check_memory(t, count * sizeof *t));
	for (size_t i = 0; i < count; i++)
		if (!inv_safetensors_bits(t[i].type))
			INV_TRY_OR(
				done,
				inv_fail(
					INVAR_E_USE,
					"%s: tensor '%.200s' has type %s, which safetensors does not support",
					path, t[i].name, t[i].type));
	INV_TRY_OR(done, make_header(t, count, metadata, metadata_count, path, &header, &bytes,
	                             &data_bytes));
	INV_TRY_OR(done, inv_writer_open(path, bytes + data_bytes, &w));
	INV_TRY_OR(done, inv_writer_put(w, header, bytes));
	for (size_t i = 0; i < count; i++)
		INV_TRY_OR(done, write_tensor(w, &t[i]));
	st = inv_writer_commit(w);
	w = NULL;
done:
	inv_writer_abort(w);
	inv_free(header);
	inv_free(t);
	return st;
}

invar_status inv_safetensors_save(const char *path, const inv_tensor_out *tensors,
                                  size_t count, const inv_metadata *metadata,
                                  size_t metadata_count)
{
	inv_tensor_stored *t;
	invar_status st;

	INV_TRY(inv_new_zeros(&t, count));
	for (size_t i = 0; i < count; i++) {
		const inv_tensor_out *from = &tensors[i];
		uint64_t stride = 1; /* may wrap; a size that does is rejected before it is used */

		t[i] = (inv_tensor_stored){
			.name = from->name, .type = "F32", .ndim = from->ndim, .data = from->data};
		for (unsigned k = from->ndim < INV_TENSOR_NDIM ? from->ndim : INV_TENSOR_NDIM;
		     k-- > 0; stride *= from->shape[k]) {
			t[i].shape[k] = from->shape[k];
			t[i].stride[k] = (int64_t)stride;
		}
	}
	st = inv_safetensors_store(path, t, count, metadata, metadata_count);
	inv_free(t);
	return st;
}
