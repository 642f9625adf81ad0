/* SPDX-License-Identifier: Apache-2.0 */
/* parameters.c - see parameters.h. */
#include "encoders/parameters.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/text.h"
#include "formats/weights.h"

enum { MAX_GROWTH = 16, MAX_WRAPS = 16 };
#define SMALL ((uint64_t)256 << 20) /* bytes that any file may use */

typedef struct parameter {
	const char *name; /* without prefixes; views */
	const inv_weight_about *weight;
	bool outside, taken;
} parameter;

struct inv_parameters {
	invar_context *ctx;
	inv_weights *weights;
	size_t count;
	parameter *list; /* sorted by name, inside before outside */
	json_t *config;
};

/* Prefixes around a whole network, in the order in which they usually nest. */
static const char *const wrappers[] = {"_orig_mod.",
                                       "module.",
                                       "model.",
                                       "backbone.",
                                       "vit.",
                                       "dinov2.",
                                       "dinov2_with_registers.",
                                       "vision_model.",
                                       "resnet.",
                                       "visual.",
                                       NULL};

static bool begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

/*
 * If some names start with a wrapper, the others are outside the network. No real file
 * reaches the limit; without it a long hostile name would take long.
 */
static void unwrap_names(inv_parameters *p)
{
	size_t found = 1;

	for (int round = 0; found && round < MAX_WRAPS; round++) {
		found = 0;
		for (size_t k = 0; wrappers[k]; k++) {
			size_t wrapped = 0;

			for (size_t i = 0; i < p->count; i++)
				wrapped += !p->list[i].outside && begins(p->list[i].name, wrappers[k]);
			for (size_t i = 0; wrapped && i < p->count; i++)
				if (!p->list[i].outside && begins(p->list[i].name, wrappers[k]))
					p->list[i].name += strlen(wrappers[k]);
				else
					p->list[i].outside = true;
			found += wrapped;
		}
	}
}

static int compare_parameters(const void *a, const void *b)
{
	const parameter *x = a, *y = b;
	int order = strcmp(x->name, y->name);

	return order ? order : x->outside - y->outside;
}

invar_status inv_parameters_beside(const inv_parameters *p, const char *file, json_t **out)
{
	const char *path = inv_parameters_path(p), *slash = strrchr(path, '/');
	char *folder, *beside = NULL;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new_text(&folder, slash ? path : "."));
	if (slash)
		folder[slash - path] = '\0';
	INV_TRY_OR(done, inv_new_path(&beside, slash == path ? "/" : folder, file));
	if (inv_exists(beside))
		st = inv_json_load(beside, out);
done:
	inv_free(beside);
	inv_free(folder);
	return st;
}

invar_status inv_parameters_open(invar_context *ctx, const char *path, const char *key,
                                 inv_parameters **out)
{
	inv_parameters *p;
	uint64_t bytes = 0;
	invar_status st;

	*out = NULL;
	INV_TRY(inv_new(&p));
	p->ctx = ctx;
	INV_TRY_OR(fail, inv_weights_open(ctx, path, key, &p->weights));
	p->count = inv_weights_count(p->weights);

	/* Tensors may share a storage: a small file must not become a network that fills
	 * memory. */
	for (size_t i = 0; i < p->count; i++)
		bytes += inv_weights_at(p->weights, i)->cells * sizeof(float); /* fit the file */
	if (bytes > SMALL && bytes / MAX_GROWTH > p->weights->map.size)
		INV_TRY_OR(fail,
		           inv_fail(INVAR_E_FORMAT,
		                    "%s: its tensors share their storage and would need "
		                    "%" PRIu64 " MB of memory, more than %d times the size of "
		                    "the file; no real network does this",
		                    inv_parameters_path(p), bytes >> 20, MAX_GROWTH));

	INV_TRY_OR(fail, inv_parameters_beside(p, "config.json", &p->config));
	INV_TRY_OR(fail, inv_new_zeros(&p->list, p->count));
	for (size_t i = 0; i < p->count; i++) {
		p->list[i].weight = inv_weights_at(p->weights, i);
		p->list[i].name = p->list[i].weight->name;
	}
	unwrap_names(p);
	qsort(p->list, p->count, sizeof *p->list, compare_parameters);
	*out = p;
	return INVAR_OK;
fail:
	inv_parameters_close(p);
	return st;
}

void inv_parameters_close(inv_parameters *p)
{
	if (!p)
		return;
	json_decref(p->config);
	inv_weights_close(p->weights);
	inv_free(p->list);
	inv_free(p);
}

const char *inv_parameters_path(const inv_parameters *p)
{
	return inv_weights_path(p->weights);
}

const json_t *inv_parameters_config(const inv_parameters *p)
{
	return p->config;
}

/* The first of its name: the one inside, if there is one. */
static parameter *find_parameter(const inv_parameters *p, const char *name)
{
	size_t low = 0, high = p->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(p->list[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < p->count && strcmp(p->list[low].name, name) == 0 ? &p->list[low] : NULL;
}

const inv_weight_about *inv_parameters_find(const inv_parameters *p, const char *format,
                                            ...)
{
	char name[INV_PARAMETER_NAME];
	const parameter *found;
	va_list args;
	int length;

	va_start(args, format);
	length = vsnprintf(name, sizeof name, format, args);
	va_end(args);
	found = length >= 0 && length < (int)sizeof name ? find_parameter(p, name) : NULL;
	return found ? found->weight : NULL;
}

const inv_weight_about *inv_parameters_find_inside(const inv_parameters *p,
                                                   const char *name)
{
	const parameter *found = find_parameter(p, name);

	return found && !found->outside ? found->weight : NULL;
}

/* ---- Taking ----------------------------------------------------------------------- */

static const char *tensor_shape_text(unsigned ndim, const uint64_t *shape, char *out,
                                     size_t size)
{
	size_t used = (size_t)snprintf(out, size, "[");

	for (unsigned i = 0; i < ndim && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%" PRIu64, i ? ", " : "",
		                         shape[i]);
	if (used < size)
		snprintf(out + used, size - used, "]");
	return out;
}

invar_status inv_parameters_check(const inv_parameters *p, const char *name, unsigned ndim,
                                  const uint64_t *shape)
{
	char found[INV_PARAMETER_NAME], wanted[INV_PARAMETER_NAME];
	const parameter *a = find_parameter(p, name);
	const inv_weight_about *w = a ? a->weight : NULL;
	unsigned skip = 0;

	if (!w)
		return inv_fail(INVAR_E_MISMATCH, "%s: has no tensor '%.200s'",
		                inv_parameters_path(p), name);
	while (w->ndim - skip > ndim && w->shape[skip] == 1)
		skip++;
	if (w->ndim - skip != ndim || memcmp(w->shape + skip, shape, ndim * sizeof *shape) != 0)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: its tensor '%.200s' has shape %s but must have shape %s",
		                inv_parameters_path(p), name,
		                tensor_shape_text(w->ndim, w->shape, found, sizeof found),
		                tensor_shape_text(ndim, shape, wanted, sizeof wanted));
	/* Integers belong to a quantised network, whose numbers are not usable as weights. */
	if (w->type[0] != 'F' && strcmp(w->type, "BF16") != 0)
		return inv_fail(INVAR_E_MISMATCH,
		                "%s: its tensor '%.200s' contains %s but must contain floats; "
		                "quantised weights are not supported",
		                inv_parameters_path(p), name, w->type);
	return INVAR_OK;
}

invar_status inv_parameters_take(inv_parameters *p, const char *name, unsigned ndim,
                                 const uint64_t *shape, float *out)
{
	parameter *a = find_parameter(p, name);

	INV_TRY(inv_parameters_check(p, name, ndim, shape));
	a->taken = true;
	return inv_weights_read(p->weights, a->weight, out);
}

void inv_parameters_ignore(inv_parameters *p, const char *beginning)
{
	for (size_t i = 0; i < p->count; i++)
		if (begins(p->list[i].name, beginning))
			p->list[i].taken = true;
}

invar_status inv_parameters_finish(const inv_parameters *p, const char *family,
                                   const char *const *own)
{
	const char *first = NULL;
	size_t left = 0;

	for (size_t i = 0; i < p->count; i++) {
		const parameter *a = &p->list[i];

		if (a->taken || a->outside)
			continue;
		for (const char *const *o = own; *o; o++)
			if (begins(a->name, *o))
				return inv_fail(INVAR_E_MISMATCH,
				                "%s: has a tensor '%.200s', which no known %s has",
				                inv_parameters_path(p), a->name, family);
		first = first ? first : a->name;
		left++;
	}
	if (left)
		inv_log(p->ctx, INVAR_LOG_INFO,
		        "%s: %zu %s not part of the %s and ignored; the first is %.200s",
		        inv_parameters_path(p), left, inv_noun(left, "tensor is", "tensors are"),
		        family, first);
	return INVAR_OK;
}
