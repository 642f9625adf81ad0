/* SPDX-License-Identifier: Apache-2.0 */
/* weights_safetensors.c - a safetensors file as weights; its rules are in safetensors.h. */
#include <string.h>

#include "base/memory.h"
#include "formats/safetensors.h"
#include "formats/weights.h"

enum { HEAD = 9 }; /* bytes of the length, and '{' */

static bool has_json_header(const inv_map *file)
{
	return file->size >= HEAD && file->data[HEAD - 1] == '{';
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

const inv_weights_format inv_weights_safetensors = {
	.name = "safetensors",
	.recognise = has_json_header,
	.open = open_safetensors,
	.close = close_safetensors,
};
