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
#include "formats/npy.h"
#include "formats/safetensors.h"
#include "formats/strides.h"
#include "formats/utf8.h"

enum { LENGTH_BYTES = 8, PAD = 8, PIECE = 1 << 12, MAX_ITEM = 8 };

/* jansson reports invalid UTF-8 and lack of memory in the same way; this tells them apart.
 */
static bool is_utf8(const char *text)
{
	return inv_is_utf8(text, strlen(text));
}

/* Takes value, also where it fails. */
static invar_status put(json_t *object, const char *key, json_t *value, const char *path)
{
	invar_status st = INVAR_OK;

	if (!is_utf8(key))
		st = inv_fail(INVAR_E_USE, "%s: the name '%.200s' is not UTF-8 text", path, key);
	else if (json_object_get(object, key))
		st = inv_fail(INVAR_E_USE, "%s: the name '%.200s' is given twice", path, key);
	if (st != INVAR_OK) {
		json_decref(value);
		return st;
	}
	if (!value || json_object_set_new(object, key, value) != 0)
		return inv_fail(INVAR_E_NOMEM, "%s: not enough memory for its header", path);
	return INVAR_OK;
}

static invar_status put_text(json_t *object, const char *key, const char *text,
                             const char *path)
{
	if (!is_utf8(text))
		return inv_fail(INVAR_E_USE, "%s: the value of '%.200s' is not UTF-8 text", path,
		                key);
	return put(object, key, json_string(text), path);
}

static int by_key(const void *a, const void *b)
{
	return strcmp(((const inv_metadata *)a)->key, ((const inv_metadata *)b)->key);
}

static int by_width_and_name(const void *a, const void *b)
{
	const inv_tensor_stored *x = a, *y = b;
	unsigned m = inv_safetensors_bits(x->type), n = inv_safetensors_bits(y->type);

	return m != n ? (m < n) - (m > n) : strcmp(x->name, y->name);
}

/* Sorted copies: the caller's lists stay as they are. */
static void *sorted(const void *list, size_t count, size_t size,
                    int (*order)(const void *, const void *))
{
	void *copy = inv_calloc(count, size);

	if (copy && count) {
		memcpy(copy, list, count * size);
		qsort(copy, count, size, order);
	}
	return copy;
}

static invar_status put_metadata(json_t *header, const inv_metadata *list, size_t count,
                                 const char *path)
{
	json_t *object = json_object();
	inv_metadata *m = sorted(list, count, sizeof *m, by_key);
	invar_status st = INVAR_OK;

	if (!object || !m)
		st = inv_fail(INVAR_E_NOMEM, "%s: not enough memory for its metadata", path);
	for (size_t i = 0; i < count && st == INVAR_OK; i++)
		st = put_text(object, m[i].key, m[i].value, path);
	inv_free(m);
	if (st == INVAR_OK)
		return put(header, "__metadata__", object, path);
	json_decref(object);
	return st;
}

static json_t *list_of(const uint64_t *counts, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; list && i < n; i++)
		if (json_array_append_new(list, json_integer((json_int_t)counts[i])) != 0) {
			json_decref(list);
			list = NULL;
		}
	return list;
}

static invar_status put_tensor_info(json_t *header, const inv_tensor_stored *t,
                                    const uint64_t range[2], const char *path)
{
	json_t *info = json_object();
	invar_status st;

	if (!info)
		return inv_fail(INVAR_E_NOMEM, "%s: not enough memory for its header", path);
	if ((st = put_text(info, "dtype", t->type, path)) == INVAR_OK &&
	    (st = put(info, "shape", list_of(t->shape, t->rank), path)) == INVAR_OK &&
	    (st = put(info, "data_offsets", list_of(range, 2), path)) == INVAR_OK)
		return put(header, t->name, info, path);
	json_decref(info);
	return st;
}

static bool count_bytes(const inv_tensor_stored *t, uint64_t *bytes)
{
	uint64_t cells, bits;

	if (!inv_shape_cells(t->rank, t->shape, 1, &cells) ||
	    inv_mul_overflow(cells, inv_safetensors_bits(t->type), &bits))
		return false;
	*bytes = bits / 8;
	return true;
}

static invar_status put_tensor(json_t *header, const inv_tensor_stored *t, const char *path,
                               uint64_t *at)
{
	uint64_t bytes, range[2] = {*at, *at};

	if (t->rank > INV_TENSOR_RANK)
		return inv_fail(INVAR_E_USE,
		                "%s: tensor '%.200s' has %u dimensions, expected at most %d", path,
		                t->name, t->rank, INV_TENSOR_RANK);
	if (!count_bytes(t, &bytes) || inv_add_overflow(*at, bytes, &range[1]) ||
	    range[1] > INT64_MAX)
		return inv_fail(INVAR_E_USE,
		                "%s: tensor '%.200s' makes the file larger than 2^63 - 1 bytes",
		                path, t->name);
	*at = range[1];
	return put_tensor_info(header, t, range, path);
}

/* Gives the length, the JSON and its padding as one block; inv_free. */
static invar_status finish_header(json_t *header, const char *path, unsigned char **out,
                                  size_t *bytes)
{
	size_t length = json_dumpb(header, NULL, 0, JSON_COMPACT);
	size_t padded = (length + PAD - 1) / PAD * PAD;
	uint64_t claim = padded;

	*out = length ? inv_alloc(LENGTH_BYTES + padded) : NULL;
	if (!*out)
		return inv_fail(INVAR_E_NOMEM, "%s: not enough memory for its header", path);
	memcpy(*out, &claim, LENGTH_BYTES);
	memset(*out + LENGTH_BYTES, ' ', padded);
	*bytes = LENGTH_BYTES + padded;
	if (json_dumpb(header, (char *)*out + LENGTH_BYTES, length, JSON_COMPACT) == length)
		return INVAR_OK;
	inv_free(*out);
	*out = NULL;
	return inv_fail(INVAR_E_NOMEM, "%s: not enough memory for its header", path);
}

static invar_status make_header(const inv_tensor_stored *tensors, size_t count,
                                const inv_metadata *metadata, size_t metadata_count,
                                const char *path, unsigned char **out, size_t *bytes,
                                uint64_t *data_bytes)
{
	json_t *header = json_object();
	invar_status st = INVAR_OK;

	*data_bytes = 0;
	if (!header)
		return inv_fail(INVAR_E_NOMEM, "%s: not enough memory for its header", path);
	if (metadata_count)
		st = put_metadata(header, metadata, metadata_count, path);
	for (size_t i = 0; i < count && st == INVAR_OK; i++) {
		if (strcmp(tensors[i].name, "__metadata__") == 0)
			st = inv_fail(INVAR_E_USE, "%s: a tensor cannot be called __metadata__", path);
		else
			st = put_tensor(header, &tensors[i], path, data_bytes);
	}
	if (st == INVAR_OK)
		st = finish_header(header, path, out, bytes);
	json_decref(header);
	return st;
}

/* Numbers of whole bytes, gathered in pieces. */
static invar_status write_strided(inv_writer *w, const inv_tensor_stored *t, uint64_t bytes)
{
	size_t item = inv_safetensors_bits(t->type) / 8, used = 0;
	unsigned char piece[PIECE];
	inv_cell c = {0};
	invar_status st = INVAR_OK;

	for (uint64_t i = 0; i < bytes / item && st == INVAR_OK; i++) {
		memcpy(piece + used, (const unsigned char *)t->data + c.offset * (int64_t)item,
		       item);
		inv_next_cell(t->rank, t->shape, t->stride, &c);
		used += item;
		if (used > PIECE - MAX_ITEM) {
			st = inv_writer_put(w, piece, used);
			used = 0;
		}
	}
	return st == INVAR_OK && used ? inv_writer_put(w, piece, used) : st;
}

static invar_status write_file(const char *path, const unsigned char *header, size_t bytes,
                               const inv_tensor_stored *tensors, size_t count,
                               uint64_t data_bytes)
{
	inv_writer *w;
	invar_status st = inv_writer_open(path, bytes + data_bytes, &w);

	if (st != INVAR_OK)
		return st;
	st = inv_writer_put(w, header, bytes);
	for (size_t i = 0; i < count && st == INVAR_OK; i++) {
		const inv_tensor_stored *t = &tensors[i];
		uint64_t size;

		if (!count_bytes(t, &size) || !size)
			continue;
		st = inv_is_dense(t->rank, t->shape, t->stride) ? inv_writer_put(w, t->data, size)
		                                                : write_strided(w, t, size);
	}
	if (st == INVAR_OK)
		return inv_writer_commit(w);
	inv_writer_abort(w);
	return st;
}

static invar_status check_types(const char *path, const inv_tensor_stored *t, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!inv_safetensors_bits(t[i].type))
			return inv_fail(
				INVAR_E_USE,
				"%s: tensor '%.200s' has type %s, which safetensors does not support", path,
				t[i].name, t[i].type);
	return INVAR_OK;
}

invar_status inv_safetensors_store(const char *path, const inv_tensor_stored *tensors,
                                   size_t count, const inv_metadata *metadata,
                                   size_t metadata_count)
{
	inv_tensor_stored *t = sorted(tensors, count, sizeof *t, by_width_and_name);
	unsigned char *header = NULL;
	size_t bytes = 0;
	uint64_t data_bytes;
	invar_status st;

	if (!t)
		return inv_fail(INVAR_E_NOMEM, "%s: not enough memory for the list of its tensors",
		                path);
	if ((st = check_types(path, t, count)) == INVAR_OK &&
	    (st = make_header(t, count, metadata, metadata_count, path, &header, &bytes,
	                      &data_bytes)) == INVAR_OK)
		st = write_file(path, header, bytes, t, count, data_bytes);
	inv_free(header);
	inv_free(t);
	return st;
}

static inv_tensor_stored dense_floats(const inv_tensor_out *t)
{
	inv_tensor_stored s = {
		.name = t->name, .type = "F32", .rank = t->rank, .data = t->data};
	uint64_t stride = 1; /* may wrap; what is too large is refused before it is used */

	for (unsigned i = t->rank < INV_TENSOR_RANK ? t->rank : INV_TENSOR_RANK; i-- > 0;) {
		s.shape[i] = t->shape[i];
		s.stride[i] = (int64_t)stride;
		stride *= t->shape[i];
	}
	return s;
}

invar_status inv_safetensors_save(const char *path, const inv_tensor_out *tensors,
                                  size_t count, const inv_metadata *metadata,
                                  size_t metadata_count)
{
	inv_tensor_stored *t = inv_calloc(count, sizeof *t);
	invar_status st;

	if (!t)
		return inv_fail(INVAR_E_NOMEM, "%s: not enough memory for the list of its tensors",
		                path);
	for (size_t i = 0; i < count; i++)
		t[i] = dense_floats(&tensors[i]);
	st = inv_safetensors_store(path, t, count, metadata, metadata_count);
	inv_free(t);
	return st;
}
