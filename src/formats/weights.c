/* SPDX-License-Identifier: Apache-2.0 */
/* weights.c - see weights.h. */
#include "formats/weights.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "formats/safetensors.h"
#include "formats/strides.h"

enum { MAX_GROWTH = 16 };

static const inv_weights_format *const formats[] = {
	&inv_weights_torch_zip, /* TorchScript as well */
	&inv_weights_torch_legacy,
	&inv_weights_safetensors, /* last: it has no magic number of its own */
	NULL,
};

/* ---- Opening ---------------------------------------------------------------------- */

/* A folder stands for the weights in it. */
static invar_status find_file(const char *path, char **out)
{
	static const char *const names[] = {"model.safetensors", "pytorch_model.bin", NULL};

	*out = NULL;
	if (!inv_is_folder(path)) {
		*out = inv_strdup(path);
	} else {
		for (size_t i = 0; names[i]; i++) {
			char *inside = inv_join(path, names[i]);

			if (inside && inv_exists(inside)) {
				*out = inside;
				return INVAR_OK;
			}
			inv_free(inside);
		}
		return inv_fail(INVAR_E_IO,
		                "%s: is a folder without model.safetensors or pytorch_model.bin; "
		                "give the weight file itself",
		                path);
	}
	return *out ? INVAR_OK
	            : inv_fail(INVAR_E_NOMEM, "%s: not enough memory for its name", path);
}

static invar_status open_format(inv_weights *w)
{
	for (size_t i = 0; formats[i]; i++)
		if (formats[i]->recognise(&w->map)) {
			w->format = formats[i];
			return w->format->open(w);
		}
	return inv_fail(INVAR_E_FORMAT,
	                "%s: is neither a safetensors file nor a PyTorch checkpoint", w->path);
}

/* w has its path and its bytes, or st says why not. */
static invar_status finish_opening(inv_weights *w, invar_status st, const char *key,
                                   inv_weights **out)
{
	w->wanted_key = key;
	if (st == INVAR_OK)
		st = open_format(w);
	w->wanted_key = NULL;
	if (st != INVAR_OK) {
		inv_weights_close(w);
		return st;
	}
	*out = w;
	return INVAR_OK;
}

invar_status inv_weights_open(invar_context *ctx, const char *path, const char *key,
                              inv_weights **out)
{
	inv_weights *w = inv_calloc(1, sizeof *w);
	invar_status st;

	*out = NULL;
	if (!w)
		return inv_fail(INVAR_E_NOMEM, "%s: not enough memory for its tensors", path);
	w->ctx = ctx;
	if ((st = find_file(path, &w->path)) == INVAR_OK)
		st = inv_map_open(w->path, &w->map);
	return finish_opening(w, st, key, out);
}

invar_status inv_weights_view(const void *bytes, uint64_t size, const char *name,
                              const char *key, inv_weights **out)
{
	inv_weights *w = inv_calloc(1, sizeof *w);

	*out = NULL;
	if (!w || !(w->path = inv_strdup(name))) {
		inv_free(w);
		return inv_fail(INVAR_E_NOMEM, "%s: not enough memory for its tensors", name);
	}
	w->map = (inv_map){.data = bytes, .size = size};
	w->borrowed = true;
	return finish_opening(w, INVAR_OK, key, out);
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

/* ---- Looking ---------------------------------------------------------------------- */

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

const inv_weight_about *inv_weights_find(const inv_weights *w, const char *name)
{
	size_t low = 0, high = w->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(w->list[middle].of.name, name);

		if (order == 0)
			return &w->list[middle].of;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
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

/* One element after the other. */
static void read_strided(const inv_weight *t, inv_dtype dtype, float *out)
{
	int64_t bytes = (int64_t)inv_dtype_size(dtype);
	inv_cell c = {0};

	for (uint64_t i = 0; i < t->of.cells; i++) {
		inv_widen(dtype, false, t->data + c.offset * bytes, 1, out + i);
		inv_next_cell(t->of.rank, t->of.shape, t->stride, &c);
	}
}

invar_status inv_weights_read(const inv_weights *w, const inv_weight_about *of, float *out)
{
	const inv_weight *t = (const inv_weight *)(const void *)of; /* its first member */
	inv_dtype dtype;

	if (!find_dtype(of->type, &dtype))
		return inv_fail(INVAR_E_FORMAT,
		                "%s: tensor '%.200s' has type %s, which cannot be read as floats",
		                w->path, of->name, of->type);
	if (inv_is_dense(of->rank, of->shape, t->stride)) {
		inv_widen(dtype, false, t->data, of->cells, out);
		if (!w->borrowed)
			inv_map_let_go(&w->map, t->data, of->cells * inv_dtype_size(dtype));
	} else {
		read_strided(t, dtype, out);
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

/*
 * Tensors may share a storage, and each is written on its own: a small file must not
 * become a disk full of copies.
 */
static invar_status check_growth(const inv_weights *w, const char *path)
{
	uint64_t all = 0;

	for (size_t i = 0; i < w->count; i++) {
		const inv_weight_about *t = &w->list[i].of;

		/* Neither can overflow: cells fit the file, and tensors are counted in memory. */
		all += t->cells / 8 * inv_safetensors_bits(t->type);
		if (all / MAX_GROWTH > w->map.size)
			return inv_fail(INVAR_E_FORMAT,
			                "%s: would be more than %d times as large as %s, whose tensors "
			                "share their storage",
			                path, MAX_GROWTH, w->path);
	}
	return INVAR_OK;
}

invar_status inv_weights_save(const inv_weights *w, const char *path)
{
	static const inv_metadata format = {"format", "pt"};
	inv_tensor_stored *list;
	invar_status st = check_growth(w, path);

	if (st != INVAR_OK)
		return st;
	if (!(list = inv_calloc(w->count, sizeof *list)))
		return inv_fail(INVAR_E_NOMEM, "%s: not enough memory for the list of its tensors",
		                path);
	for (size_t i = 0; i < w->count; i++) {
		const inv_weight *t = &w->list[i];

		list[i] = (inv_tensor_stored){
			.name = t->of.name, .type = t->of.type, .rank = t->of.rank, .data = t->data};
		memcpy(list[i].shape, t->of.shape, sizeof t->of.shape);
		memcpy(list[i].stride, t->stride, sizeof t->stride);
	}
	st = inv_safetensors_store(path, list, w->count, &format, 1);
	inv_free(list);
	return st;
}
