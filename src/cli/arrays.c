/* SPDX-License-Identifier: Apache-2.0 */
/* arrays.c - shapes spelled out, and the first NaN named by its place. */
#include "cli/arrays.h"
#include "formats/npy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void spell_shape(inv_given_array *g)
{
	size_t fill = 1;

	snprintf(g->shape, sizeof g->shape, "[");
	for (unsigned i = 0; i < g->array->h.rank && fill < sizeof g->shape; i++)
		fill += (size_t)snprintf(g->shape + fill, sizeof g->shape - fill, "%s%llu",
		                         i ? ", " : "", (unsigned long long)g->array->h.shape[i]);
	if (fill < sizeof g->shape)
		snprintf(g->shape + fill, sizeof g->shape - fill, "]");
}

invar_status inv_array_look(inv_session *s, const char *path, inv_given_array *g)
{
	invar_status st;

	g->path = path;
	if (!path || (st = invar_array_open(s->ctx, path, &g->array)) != INVAR_OK)
		return path ? st : INVAR_OK;
	spell_shape(g);
	return INVAR_OK;
}

void inv_array_drop(inv_given_array *g)
{
	invar_array_close(g->array);
	free(g->data);
}

/* Names the first NaN or Inf by its place, "[3, 0, 7]". */
static invar_status check_finite(const inv_given_array *g, uint64_t count)
{
	const uint64_t *shape = g->array->h.shape;
	unsigned rank = g->array->h.rank;
	uint64_t at = 0, stride = count;
	char place[128] = "";
	size_t fill = 0;

	while (at < count && isfinite(g->data[at]))
		at++;
	if (at == count)
		return INVAR_OK;
	for (unsigned i = 0; i < rank && fill < sizeof place; i++) {
		stride /= shape[i];
		fill += (size_t)snprintf(place + fill, sizeof place - fill, "%s%llu", i ? ", " : "",
		                         (unsigned long long)(at / stride % shape[i]));
	}
	return inv_fail(INVAR_E_NUMERIC, "%s: its element [%s] is %s", g->path, place,
	                isnan(g->data[at]) ? "NaN" : "infinite");
}

invar_status inv_array_take(inv_given_array *g)
{
	uint64_t count;
	invar_status st;

	if (!g->array)
		return INVAR_OK;
	count = g->array->h.cells;
	if (count > SIZE_MAX / sizeof *g->data ||
	    !(g->data = malloc(count ? (size_t)count * sizeof *g->data : 1)))
		return inv_no_memory();
	st = invar_array_read(g->array, 0, count, g->data);
	return st == INVAR_OK ? check_finite(g, count) : st;
}
