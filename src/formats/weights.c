/* SPDX-License-Identifier: Apache-2.0 */
/* weights.c - see weights.h. */
#include "formats/weights.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/memory.h"
#include "formats/dtype.h"
#include "formats/safetensors.h"

enum { MAX_GROWTH = 16 };

/* ---- safetensors as weights ------------------------------------------------------- */

/* After 8 bytes, the length, a header in JSON. */
static bool has_json_header(const inv_map *file)
{
	return file->size >= 9 && file->data[8] == '{';
}

static invar_status open_safetensors(inv_weights *w)
{
	inv_safetensors *f;

	if (w->wanted_key)
		return inv_fail(INVAR_E_USE,
		                "%s: is a safetensors file, which has only one dictionary; leave "
		                "out @key %.60s",
		                w->path, w->wanted_key);
	INV_TRY(inv_safetensors_view(w->map.data, w->map.size, w->path, &f));
	w->own = f;
	w->count = inv_safetensors_count(f);
	INV_TRY(inv_new_zeros(&w->list, w->count));
	for (size_t i = 0; i < w->count; i++) {
		const inv_tensor *from = inv_safetensors_at(f, i);
		inv_weight *to = &w->list[i];
		int64_t stride = 1;

		to->of = (inv_weight_about){.name = from->name,
		                            .type = from->type,
		                            .ndim = from->ndim,
		                            .cells = from->cells};
		memcpy(to->of.shape, from->shape, from->ndim * sizeof *from->shape);
		to->data = from->data;
		for (unsigned k = from->ndim; k-- > 0; stride *= (int64_t)from->shape[k])
			to->stride[k] = stride;
	}
	return INVAR_OK;
}

static void close_safetensors(inv_weights *w)
{
	inv_safetensors_close(w->own);
}

static const inv_weights_format safetensors = {
	.name = "safetensors",
	.recognise = has_json_header,
	.open = open_safetensors,
	.close = close_safetensors,
};

/* ---- Opening ---------------------------------------------------------------------- */

static const inv_weights_format *const formats[] = {
	&inv_weights_torch_zip, /* TorchScript as well */
	&inv_weights_torch_legacy,
	&safetensors, /* last: it has no magic number of its own */
	NULL,
};

/* In a folder, the weights in it. */
static invar_status find_weight_file(const char *path, char **out)
{
	static const char *const names[] = {"model.safetensors", "pytorch_model.bin", NULL};

	if (!inv_is_folder(path))
		return inv_new_text(out, path);
	for (size_t i = 0; names[i]; i++) {
		INV_TRY(inv_new_path(out, path, names[i]));
		if (inv_exists(*out))
			return INVAR_OK;
		inv_free(*out);
		*out = NULL;
	}
	return inv_fail(INVAR_E_IO,
	                "%s: is a folder without model.safetensors or pytorch_model.bin; "
	                "give the weight file itself",
	                path);
}

/* By the first format that recognises the file; w has its path and its bytes. */
static invar_status read_weight_file(inv_weights *w, const char *key)
{
	const char *suffix = strrchr(w->path, '.');
	invar_status st;

	for (size_t i = 0; formats[i]; i++)
		if (formats[i]->recognise(&w->map)) {
			w->format = formats[i];
			w->wanted_key = key;
			st = w->format->open(w);
			w->wanted_key = NULL;
			return st;
		}
	if (suffix && strcasecmp(suffix, ".onnx") == 0)
		return inv_fail(
			INVAR_E_FORMAT,
			"%s: is an ONNX model, whose weights are not listed; 'invar encode' and "
			"'invar features' run it",
			w->path);
	return inv_fail(INVAR_E_FORMAT,
	                "%s: is neither a safetensors file nor a PyTorch checkpoint", w->path);
}

invar_status inv_weights_open(invar_context *ctx, const char *path, const char *key,
                              inv_weights **out)
{
	inv_map map = {0};
	char *file = NULL;
	invar_status st;

	(void)ctx;
	*out = NULL;
	INV_TRY_OR(done, find_weight_file(path, &file));
	INV_TRY_OR(done, inv_map_open(file, &map));
	INV_TRY_OR(done, inv_weights_view(map.data, map.size, file, key, out));
	(*out)->map = map;
	(*out)->borrowed = false;
done:
	if (st != INVAR_OK)
		inv_map_close(&map);
	inv_free(file);
	return st;
}

invar_status inv_weights_view(const void *bytes, uint64_t size, const char *name,
                              const char *key, inv_weights **out)
{
	inv_weights *w;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&w));
	w->map = (inv_map){.data = bytes, .size = size};
	w->borrowed = true;
	INV_TRY_OR(fail, inv_new_text(&w->path, name));
	INV_TRY_OR(fail, read_weight_file(w, key));
	*out = w;
	return INVAR_OK;
fail:
	inv_weights_close(w);
	return st;
}

void inv_weights_close(inv_weights *w)
{
	if (!w)
		return;
	if (w->format && w->format->close)
		w->format->close(w);
	if (!w->borrowed)
		inv_map_close(&w->map);
	inv_free(w->list);
	inv_free(w->key);
	inv_free(w->keys);
	inv_free(w->path);
	inv_free(w);
}

/* ---- Queries ---------------------------------------------------------------------- */

const char *inv_weights_format_name(const inv_weights *w)
{
	return w->format->name;
}

const char *inv_weights_key(const inv_weights *w)
{
	return w->key ? w->key : "";
}

const char *inv_weights_keys(const inv_weights *w)
{
	return w->keys ? w->keys : "";
}

const char *inv_weights_path(const inv_weights *w)
{
	return w->path;
}

size_t inv_weights_count(const inv_weights *w)
{
	return w->count;
}

const inv_weight_about *inv_weights_at(const inv_weights *w, size_t i)
{
	return i < w->count ? &w->list[i].of : NULL;
}

static int compare_to_weight(const void *name, const void *weight)
{
	return strcmp(name, ((const inv_weight *)weight)->of.name);
}

const inv_weight_about *inv_weights_find(const inv_weights *w, const char *name)
{
	const inv_weight *found =
		w->count ? bsearch(name, w->list, w->count, sizeof *w->list, compare_to_weight)
				 : NULL;

	return found ? &found->of : NULL;
}

/* ---- Reading ---------------------------------------------------------------------- */

static bool find_dtype(const char *type, inv_dtype *out)
{
	static const struct {
		const char *name;
		inv_dtype dtype;
	} readable[] = {
		{"F16", INV_F16}, {"BF16", INV_BF16}, {"F32", INV_F32},
		{"F64", INV_F64}, {"I8", INV_I8},     {"I16", INV_I16},
		{"I32", INV_I32}, {"I64", INV_I64},   {"U8", INV_U8},
	};

	for (size_t i = 0; i < sizeof readable / sizeof *readable; i++)
		if (strcmp(type, readable[i].name) == 0) {
			*out = readable[i].dtype;
			return true;
		}
	return false;
}

invar_status inv_weights_read(const inv_weights *w, const inv_weight_about *of, float *out)
{
	const inv_weight *t = (const inv_weight *)(const void *)of; /* its first member */
	inv_cell c = {0};
	inv_dtype dtype;
	size_t bytes;

	if (!find_dtype(of->type, &dtype))
		return inv_fail(INVAR_E_FORMAT,
		                "%s: tensor '%.200s' has type %s, which cannot be read as floats",
		                w->path, of->name, of->type);
	bytes = inv_dtype_size(dtype);
	if (inv_is_dense(of->ndim, of->shape, t->stride)) {
		inv_widen(dtype, false, t->data, of->cells, out);
		if (!w->borrowed)
			inv_map_let_go(&w->map, t->data, of->cells * bytes);
	} else {
		for (uint64_t i = 0; i < of->cells; i++) {
			inv_widen(dtype, false, t->data + c.offset * (int64_t)bytes, 1, out + i);
			inv_next_cell(of->ndim, of->shape, t->stride, &c);
		}
	}
	for (uint64_t i = 0; i < of->cells; i++)
		if (!isfinite(out[i]))
			return inv_fail(INVAR_E_NUMERIC,
			                "%s: tensor '%.200s': element %" PRIu64
			                " is not a finite number",
			                w->path, of->name, i);
	return INVAR_OK;
}

/* ---- Writing ---------------------------------------------------------------------- */

invar_status inv_weights_save(const inv_weights *w, const char *path)
{
	static const inv_metadata format = {"format", "pt"};
	inv_tensor_stored *list;
	uint64_t total = 0;
	invar_status st;

	/*
	 * Tensors may share a storage, and each is written in full: a small file must not fill
	 * a disk. Nothing overflows: cells fit the file, and tensors are counted in memory.
	 */
	for (size_t i = 0; i < w->count; i++) {
		total += w->list[i].of.cells / 8 * inv_safetensors_bits(w->list[i].of.type);
		if (total / MAX_GROWTH > w->map.size)
			return inv_fail(INVAR_E_FORMAT,
			                "%s: would be more than %d times as large as %s, whose tensors "
			                "share their storage",
			                path, MAX_GROWTH, w->path);
	}
	INV_TRY(inv_new_zeros(&list, w->count));
	for (size_t i = 0; i < w->count; i++) {
		const inv_weight *t = &w->list[i];

		list[i] = (inv_tensor_stored){
			.name = t->of.name, .type = t->of.type, .ndim = t->of.ndim, .data = t->data};
		memcpy(list[i].shape, t->of.shape, sizeof t->of.shape);
		memcpy(list[i].stride, t->stride, sizeof t->stride);
	}
	st = inv_safetensors_store(path, list, w->count, &format, 1);
	inv_free(list);
	return st;
}
