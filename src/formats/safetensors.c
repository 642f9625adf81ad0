/* SPDX-License-Identifier: Apache-2.0 */
/*
 * safetensors.c - the strict reader, see safetensors.h for the invariants.
 *
 * jansson reads the header: it rejects what is not UTF-8, duplicate keys, NUL
 * in strings, integers beyond 64 bits and nesting beyond its limit. What is
 * checked here: that the entries mean something, and that together they cover
 * the data exactly. Tensors stay where the file is mapped until they are read.
 */
#include "formats/safetensors.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"

enum { LENGTH_BYTES = 8, MAX_HEADER = 100000000, MAX_VALUES = 1000000 };

typedef struct entry {
	inv_tensor tensor;
	uint64_t begin, end; /* bytes of the data */
} entry;

struct inv_safetensors {
	char *path;
	inv_map map;
	const unsigned char *data; /* views the mapped file, or the argument of _view */
	uint64_t data_bytes;
	json_t *header;
	const json_t *metadata; /* views header; NULL if none */
	size_t count;
	entry *entries; /* by name order */
};

static const struct {
	const char *name;
	unsigned bits;
} known[] = {
	{"BOOL", 8},        {"U8", 8},          {"I8", 8},      {"F8_E5M2", 8}, {"F8_E4M3", 8},
	{"F8_E5M2FNUZ", 8}, {"F8_E4M3FNUZ", 8}, {"F8_E8M0", 8}, {"F4", 4},      {"F6_E2M3", 6},
	{"F6_E3M2", 6},     {"I16", 16},        {"U16", 16},    {"F16", 16},    {"BF16", 16},
	{"I32", 32},        {"U32", 32},        {"F32", 32},    {"C64", 64},    {"F64", 64},
	{"I64", 64},        {"U64", 64},
};

unsigned inv_safetensors_bits(const char *type)
{
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (strcmp(type, known[i].name) == 0)
			return known[i].bits;
	return 0;
}

/* ---- The header as JSON ----------------------------------------------------------- */

static invar_status parse_header(inv_safetensors *f, const unsigned char *bytes,
                                 uint64_t size)
{
	const unsigned char *header = bytes + LENGTH_BYTES;
	json_error_t error;
	uint64_t length, left, values = 0;

	if (size < LENGTH_BYTES)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: has %" PRIu64 " %s, but a safetensors file has at least %d",
		                f->path, size, inv_noun(size, "byte", "bytes"), LENGTH_BYTES);
	memcpy(&length, bytes, sizeof length);
	left = size - LENGTH_BYTES < MAX_HEADER ? size - LENGTH_BYTES : (uint64_t)MAX_HEADER;
	if (length > left)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: is not a safetensors file, or is truncated: its header should "
		                "have %" PRIu64 " bytes, but at most %" PRIu64 " are left",
		                f->path, length, left);
	if (length == 0 || *header != '{')
		return inv_fail(
			INVAR_E_FORMAT,
			"%s: is not a safetensors file (its header does not start with '{')", f->path);

	/*
	 * A value takes up to a hundred times its text in memory. Commas and opening brackets
	 * count values: about ten per tensor, and no network has a million.
	 */
	for (uint64_t i = 0; i < length; i++)
		values += header[i] == ',' || header[i] == '{' || header[i] == '[';
	if (values > MAX_VALUES)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: its header has %" PRIu64 " values, more than the supported %d",
		                f->path, values, MAX_VALUES);

	f->header = json_loadb((const char *)header, length, JSON_REJECT_DUPLICATES, &error);
	if (!f->header && !*error.text) /* jansson has a text for every other error */
		return inv_no_memory();
	if (!f->header)
		return inv_fail(INVAR_E_FORMAT, "%s: its header is not JSON: position %d: %s",
		                f->path, error.position, error.text);
	f->data = header + length;
	f->data_bytes = size - LENGTH_BYTES - length;
	return INVAR_OK;
}

/* ---- One tensor ------------------------------------------------------------------- */

static invar_status bad_entry(const inv_safetensors *f, const entry *e, const char *what)
{
	return inv_fail(INVAR_E_FORMAT, "%s: tensor '%.200s': %s", f->path, e->tensor.name,
	                what);
}

/* jansson keeps 2.0 and 1e0 apart from integers and refuses 02, so this is strict. */
static bool take_count(const json_t *value, uint64_t *out)
{
	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return false;
	*out = (uint64_t)json_integer_value(value);
	return true;
}

/*
 * Some types have 4 or 6 bits per item, so we count bits; zeros count as ones in the
 * overflow check, so that it does not depend on their position.
 */
static invar_status check_tensor_bytes(const inv_safetensors *f, entry *e)
{
	uint64_t bits = inv_safetensors_bits(e->tensor.type);
	uint64_t item = bits, have = e->end - e->begin;
	bool empty = false;

	for (unsigned i = 0; i < e->tensor.ndim; i++) {
		uint64_t n = e->tensor.shape[i];

		empty |= n == 0;
		if (inv_mul_overflow(bits, n ? n : 1, &bits))
			return bad_entry(f, e, "its shape has more than 2^64 bits");
	}
	e->tensor.cells = empty ? 0 : bits / item;
	bits = empty ? 0 : bits;
	if (bits % 8)
		return bad_entry(f, e,
		                 "its elements do not fill whole bytes, as the format requires");
	if (bits / 8 != have)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: tensor '%.200s': has %" PRIu64 " %s, expected %" PRIu64
		                " for %" PRIu64 " %s of %s",
		                f->path, e->tensor.name, have, inv_noun(have, "byte", "bytes"),
		                bits / 8, e->tensor.cells,
		                inv_noun(e->tensor.cells, "element", "elements"), e->tensor.type);
	e->tensor.data = f->data + e->begin;
	return INVAR_OK;
}

static invar_status take_entry(const inv_safetensors *f, const char *name,
                               const json_t *info, entry *e)
{
	const json_t *shape = json_object_get(info, "shape");
	const json_t *offsets = json_object_get(info, "data_offsets");
	size_t ndim = json_array_size(shape);

	e->tensor.name = name;
	if (!json_is_object(info))
		return bad_entry(f, e, "is not an object of dtype, shape and data_offsets");

	e->tensor.type = json_string_value(json_object_get(info, "dtype"));
	if (!e->tensor.type)
		return bad_entry(f, e, "has no dtype, expected a string");
	if (!inv_safetensors_bits(e->tensor.type))
		return inv_fail(INVAR_E_FORMAT,
		                "%s: tensor '%.200s': its dtype is '%.40s', expected F32 or "
		                "another of the format's",
		                f->path, name, e->tensor.type);

	if (!json_is_array(shape))
		return bad_entry(f, e, "has no shape, expected a list of counts");
	if (ndim > INV_TENSOR_NDIM)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: tensor '%.200s': has %zu dimensions, expected at most %d",
		                f->path, name, ndim, INV_TENSOR_NDIM);
	e->tensor.ndim = (unsigned)ndim;
	for (size_t i = 0; i < ndim; i++)
		if (!take_count(json_array_get(shape, i), &e->tensor.shape[i]))
			return bad_entry(f, e, "its shape is not a list of counts");

	if (json_array_size(offsets) != 2 ||
	    !take_count(json_array_get(offsets, 0), &e->begin) ||
	    !take_count(json_array_get(offsets, 1), &e->end))
		return bad_entry(f, e, "has no data_offsets, expected a list of two counts");
	if (e->begin > e->end || e->end > f->data_bytes)
		return inv_fail(INVAR_E_FORMAT,
		                "%s: tensor '%.200s': its bytes are %" PRIu64 " to %" PRIu64
		                " but the file has %" PRIu64 " bytes of data",
		                f->path, name, e->begin, e->end, f->data_bytes);
	return check_tensor_bytes(f, e);
}

/* ---- All tensors together --------------------------------------------------------- */

static int compare_tensor_names(const void *a, const void *b)
{
	return strcmp(((const entry *)a)->tensor.name, ((const entry *)b)->tensor.name);
}

static int compare_offsets(const void *a, const void *b)
{
	const entry *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->end > y->end) - (x->end < y->end); /* empty ones first */
}

invar_status inv_safetensors_view(const unsigned char *bytes, uint64_t size,
                                  const char *name, inv_safetensors **out)
{
	inv_safetensors *f;
	const char *key;
	json_t *value;
	uint64_t at = 0;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&f));
	INV_TRY_OR(fail, inv_new_text(&f->path, name));
	INV_TRY_OR(fail, parse_header(f, bytes, size));
	value = json_object_get(f->header, "__metadata__");
	f->metadata = value;
	if (value && !json_is_object(value))
		INV_TRY_OR(fail,
		           inv_fail(INVAR_E_FORMAT,
		                    "%s: its __metadata__ is not an object of strings", f->path));
	json_object_foreach ((json_t *)(uintptr_t)f->metadata, key, value)
		if (!json_is_string(value))
			INV_TRY_OR(
				fail,
				inv_fail(INVAR_E_FORMAT,
			             "%s: the value of '%.200s' in its __metadata__ is not a string",
			             f->path, key));

	INV_TRY_OR(fail, inv_new_zeros(&f->entries, json_object_size(f->header)));
	json_object_foreach (f->header, key, value)
		if (strcmp(key, "__metadata__") != 0)
			INV_TRY_OR(fail, take_entry(f, key, value, &f->entries[f->count++]));
	qsort(f->entries, f->count, sizeof *f->entries, compare_offsets);
	for (size_t i = 0; i < f->count; at = f->entries[i++].end) {
		const entry *e = &f->entries[i];

		if (e->begin != at)
			INV_TRY_OR(fail, inv_fail(INVAR_E_FORMAT,
			                          "%s: tensor '%.200s': begins at byte %" PRIu64
			                          ", expected %" PRIu64 " (no gap, no overlap)",
			                          f->path, e->tensor.name, e->begin, at));
	}
	if (at != f->data_bytes)
		INV_TRY_OR(fail,
		           inv_fail(INVAR_E_FORMAT,
		                    "%s: has %" PRIu64 " %s of data, but its tensors need %" PRIu64,
		                    f->path, f->data_bytes,
		                    inv_noun(f->data_bytes, "byte", "bytes"), at));
	qsort(f->entries, f->count, sizeof *f->entries, compare_tensor_names);
	*out = f;
	return INVAR_OK;
fail:
	inv_safetensors_close(f);
	return st;
}

invar_status inv_safetensors_open(const char *path, inv_safetensors **out)
{
	inv_map map;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_map_open(path, &map));
	INV_TRY_OR(fail, inv_safetensors_view(map.data, map.size, path, out));
	(*out)->map = map;
	return INVAR_OK;
fail:
	inv_map_close(&map);
	return st;
}

void inv_safetensors_close(inv_safetensors *f)
{
	if (!f)
		return;
	json_decref(f->header);
	inv_map_close(&f->map);
	inv_free(f->entries);
	inv_free(f->path);
	inv_free(f);
}

/* ---- Queries ---------------------------------------------------------------------- */

size_t inv_safetensors_count(const inv_safetensors *f)
{
	return f->count;
}

const inv_tensor *inv_safetensors_at(const inv_safetensors *f, size_t i)
{
	return i < f->count ? &f->entries[i].tensor : NULL;
}

const inv_tensor *inv_safetensors_find(const inv_safetensors *f, const char *name)
{
	entry key = {.tensor = {.name = name}};
	const entry *e = bsearch(&key, f->entries, f->count, sizeof key, compare_tensor_names);

	return e ? &e->tensor : NULL;
}

const char *inv_safetensors_metadata(const inv_safetensors *f, const char *key)
{
	return json_string_value(json_object_get(f->metadata, key));
}

invar_status inv_safetensors_all_metadata(const inv_safetensors *f, inv_metadata **out,
                                          size_t *count)
{
	const char *key;
	json_t *value;

	*count = 0;
	INV_TRY(inv_new_zeros(out, json_object_size(f->metadata) + 1));
	json_object_foreach ((json_t *)(uintptr_t)f->metadata, key, value)
		(*out)[(*count)++] = (inv_metadata){key, json_string_value(value)};
	return INVAR_OK;
}

invar_status inv_safetensors_read(const inv_safetensors *f, const inv_tensor *t, float *out)
{
	static const struct {
		const char *name;
		inv_dtype dtype;
	} floats[] = {{"F16", INV_F16}, {"BF16", INV_BF16}, {"F32", INV_F32}, {"F64", INV_F64}};
	size_t k = 0, count = sizeof floats / sizeof *floats;

	while (k < count && strcmp(t->type, floats[k].name) != 0)
		k++;
	if (k == count)
		return inv_fail(
			INVAR_E_FORMAT,
			"%s: tensor '%.200s': contains %s, expected one of F16, BF16, F32 and F64",
			f->path, t->name, t->type);
	inv_widen(floats[k].dtype, false, t->data, t->cells, out);
	for (uint64_t i = 0; i < t->cells; i++)
		if (!isfinite(out[i]))
			return inv_fail(INVAR_E_NUMERIC,
			                "%s: tensor '%.200s': element %" PRIu64
			                " is %g, expected a finite number",
			                f->path, t->name, i, (double)out[i]);
	return INVAR_OK;
}
