/* SPDX-License-Identifier: Apache-2.0 */
/* weights_safetensors.c - a safetensors file as weights; see safetensors.h for its rules.
 */
#include <string.h>

#include "base/memory.h"
#include "formats/safetensors.h"
#include "formats/weights.h"

enum { HEAD = 9 }; /* bytes of the length, and '{' */

static bool recognise(const inv_map *file)
{
	return file->size >= HEAD && file->data[HEAD - 1] == '{';
}

static void take(const inv_tensor *from, inv_weight *to)
{
	int64_t stride = 1;

	to->of.name = from->name;
	to->of.type = from->type;
	to->of.rank = from->rank;
	to->of.cells = from->cells;
	memcpy(to->of.shape, from->shape, from->rank * sizeof *from->shape);
	to->data = from->data;
	for (unsigned i = from->rank; i-- > 0; stride *= (int64_t)from->shape[i])
		to->stride[i] = stride;
}

static invar_status open_file(inv_weights *w)
{
	inv_safetensors *f;
	invar_status st;

	if (w->wanted_key)
		return inv_fail(INVAR_E_USE,
		                "%s: is a safetensors file, which has only one dictionary; leave "
		                "out @key %.60s",
		                w->path, w->wanted_key);
	if ((st = inv_safetensors_view(w->map.data, w->map.size, w->path, &f)) != INVAR_OK)
		return st;
	w->own = f;
	w->count = inv_safetensors_count(f);
	if (!(w->list = inv_calloc(w->count ? w->count : 1, sizeof *w->list)))
		return inv_fail(INVAR_E_NOMEM, "%s: not enough memory for its tensors", w->path);
	for (size_t i = 0; i < w->count; i++)
		take(inv_safetensors_at(f, i), &w->list[i]);
	return INVAR_OK;
}

static void close_file(inv_weights *w)
{
	inv_safetensors_close(w->own);
}

const inv_weights_format inv_weights_safetensors = {
	.name = "safetensors",
	.recognise = recognise,
	.open = open_file,
	.close = close_file,
};
