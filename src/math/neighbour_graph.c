/* SPDX-License-Identifier: Apache-2.0 */
/*
 * neighbour_graph.c - from lists of neighbours to a symmetric sparse matrix.
 *
 * Row i is the merge of two sorted lists: the rows that i lists, and those that list i.
 * The second come sorted from one pass over all lists in order of rows.
 */
#include "math/neighbour_graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

typedef struct entry {
	uint32_t to;
	size_t at; /* in the lists */
} entry;

typedef struct builder {
	const inv_lists *l;
	double sigma;        /* of weights by distance; 0: weights are 1, or: */
	const float *weight; /* [n, stride], NULL: not given */
	size_t *start;       /* [n + 1], of the lists turned around */
	size_t *listed_by;   /* [n * count]: places in the lists */
	entry *listed;       /* [count + 1], of one row, sorted */
	inv_graph *g;
	size_t used; /* entries of g */
} builder;

/* The entry of W at a place in the lists. */
static double weigh(const builder *b, size_t at)
{
	if (b->weight)
		return b->weight[at];
	return b->sigma > 0 ? exp(-b->l->squared[at] / (2 * b->sigma * b->sigma)) : 1;
}

static int by_column(const void *a, const void *b)
{
	uint32_t x = ((const entry *)a)->to, y = ((const entry *)b)->to;

	return (x > y) - (x < y);
}

/* One row of A: the merge of listed and listed_by, and the loop where it belongs. */
static void merge_row(builder *b, size_t i)
{
	const inv_lists *l = b->l;
	const entry *out = b->listed, *out_end = out + l->count;
	const size_t *in = b->listed_by + b->start[i], *in_end = b->listed_by + b->start[i + 1];
	bool loop = l->loops;

	for (size_t j = 0; j < l->count; j++)
		b->listed[j] = (entry){l->index[i * l->stride + j], i * l->stride + j};
	qsort(b->listed, l->count, sizeof *b->listed, by_column);
	while (out < out_end || in < in_end || loop) {
		size_t next = loop ? i : SIZE_MAX;
		double sum = 0;

		if (out < out_end && out->to < next)
			next = out->to;
		if (in < in_end && *in / l->stride < next)
			next = *in / l->stride;
		if (loop && next == i) {
			sum = 2; /* exp(0), both ways */
			loop = false;
		}
		if (out < out_end && out->to == next)
			sum += weigh(b, out++->at);
		if (in < in_end && *in / l->stride == next)
			sum += weigh(b, *in++);
		b->g->to[b->used] = (uint32_t)next;
		if (b->g->weight)
			b->g->weight[b->used] = sum / 2;
		b->used++;
	}
	b->g->start[i + 1] = b->used;
}

static invar_status build_graph(const inv_lists *l, double sigma, const float *weight,
                                inv_graph *g)
{
	size_t n = l->n, cells = n * l->count, entries = 2 * cells + n;
	builder b = {.l = l, .sigma = sigma, .weight = weight, .g = g};
	inv_arena arena = {0};
	invar_status st;

	*g = (inv_graph){.n = n};
	for (int round = 0; round < 2; round++) {
		b.start = inv_arena_take(&arena, n + 1, sizeof *b.start);
		b.listed_by = inv_arena_take(&arena, cells, sizeof *b.listed_by);
		b.listed = inv_arena_take(&arena, l->count + 1, sizeof *b.listed);
		if (!round)
			INV_TRY(inv_arena_commit(&arena));
	}
	INV_TRY_OR(fail, inv_new_zeros(&g->start, n + 1));
	INV_TRY_OR(fail, inv_new_array(&g->to, entries));
	if (sigma > 0 || weight)
		INV_TRY_OR(fail, inv_new_array(&g->weight, entries));

	/* Counting sort by the row that is listed: who lists it comes in order. */
	memset(b.start, 0, (n + 1) * sizeof *b.start);
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < l->count; j++)
			b.start[l->index[i * l->stride + j] + 1]++;
	for (size_t i = 0; i < n; i++)
		b.start[i + 1] += b.start[i];
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < l->count; j++)
			b.listed_by[b.start[l->index[i * l->stride + j]]++] = i * l->stride + j;
	memmove(b.start + 1, b.start, n * sizeof *b.start);
	b.start[0] = 0;
	for (size_t i = 0; i < n; i++)
		merge_row(&b, i);
	inv_arena_free(&arena);
	return INVAR_OK;
fail:
	inv_graph_free(g);
	inv_arena_free(&arena);
	return st;
}

invar_status inv_graph_union(const inv_lists *l, inv_graph *out)
{
	return build_graph(l, 0, NULL, out);
}

invar_status inv_graph_heat(const inv_lists *l, double sigma, inv_graph *out)
{
	return build_graph(l, sigma, NULL, out);
}

invar_status inv_graph_mean(const inv_lists *l, const float *weight, inv_graph *out)
{
	return build_graph(l, 0, weight, out);
}

void inv_graph_free(inv_graph *g)
{
	inv_free(g->start);
	inv_free(g->to);
	inv_free(g->weight);
	*g = (inv_graph){0};
}

/* ---- Components ------------------------------------------------------------------ */

/* The root of a row: the smallest row of its tree. Paths are halved on the way. */
static uint32_t root_of(uint32_t *parent, uint32_t i)
{
	while (parent[i] != i)
		i = parent[i] = parent[parent[i]];
	return i;
}

size_t inv_graph_components(const inv_graph *g, uint32_t *component)
{
	size_t count = 0;

	for (size_t i = 0; i < g->n; i++)
		component[i] = (uint32_t)i;
	for (size_t i = 0; i < g->n; i++)
		for (size_t e = g->start[i]; e < g->start[i + 1] && g->to[e] < i; e++) {
			uint32_t a, b;

			if (g->weight && !(g->weight[e] > 0))
				continue;
			a = root_of(component, (uint32_t)i);
			b = root_of(component, g->to[e]);
			component[a > b ? a : b] = a > b ? b : a;
		}
	/* A root comes before all rows of its tree, and parents before children. */
	for (size_t i = 0; i < g->n; i++)
		component[i] = component[i] == i ? (uint32_t)count++ : component[component[i]];
	return count;
}
