/* SPDX-License-Identifier: Apache-2.0 */
/* arrays.c - shapes spelled out, and the first NaN named by its place. */
#include "cli/arrays.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

invar_status inv_array_look(inv_session *s, const char *path, inv_given_array *g)
{
	size_t fill = 1;

	g->path = path;
	if (!path)
		return INVAR_OK;
	INV_TRY(invar_array_open(s->ctx, path, &g->array));
	snprintf(g->shape, sizeof g->shape, "[");
	for (unsigned i = 0; i < g->array->h.ndim && fill < sizeof g->shape; i++)
		fill += (size_t)snprintf(g->shape + fill, sizeof g->shape - fill, "%s%llu",
		                         i ? ", " : "", (unsigned long long)g->array->h.shape[i]);
	if (fill < sizeof g->shape)
		snprintf(g->shape + fill, sizeof g->shape - fill, "]");
	return INVAR_OK;
}

invar_status inv_array_look_rows(inv_session *s, const char *path, inv_given_array *g)
{
	const uint64_t *shape;

	INV_TRY(inv_array_look(s, path, g));
	shape = g->array->h.shape;
	if (g->array->h.ndim != 2 || !shape[0] || !shape[1] || shape[1] > UINT32_MAX)
		return inv_array_refuse(g, "must be [n, width]");
	return INVAR_OK;
}

invar_status inv_array_refuse(const inv_given_array *g, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	return inv_fail(INVAR_E_MISMATCH, "%s has shape %s, but %s", g->path, g->shape, text);
}

void inv_array_drop(inv_given_array *g)
{
	invar_array_close(g->array);
	inv_free(g->data);
}

invar_status inv_array_take(inv_given_array *g)
{
	const uint64_t *shape;
	uint64_t count, at = 0, stride;
	char place[128] = "";
	size_t fill = 0;

	if (!g->array)
		return INVAR_OK;
	shape = g->array->h.shape;
	count = stride = g->array->h.cells;
	INV_TRY(inv_new_array(&g->data, count + 1));
	INV_TRY(invar_array_read(g->array, 0, count, g->data));
	while (at < count && isfinite(g->data[at]))
		at++;
	if (at == count)
		return INVAR_OK;
	for (unsigned i = 0; i < g->array->h.ndim && fill < sizeof place; i++) {
		stride /= shape[i];
		fill += (size_t)snprintf(place + fill, sizeof place - fill, "%s%llu", i ? ", " : "",
		                         (unsigned long long)(at / stride % shape[i]));
	}
	return inv_fail(INVAR_E_NUMERIC, "%s: its element [%s] is %s", g->path, place,
	                isnan(g->data[at]) ? "NaN" : "infinite");
}
