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
	double weight; /* of W, not of A */
} entry;

typedef struct builder {
	const inv_lists *l;
	double sigma;     /* 0: weights are 1 */
	size_t *start;    /* [n + 1], of the lists turned around */
	entry *listed_by; /* [n * count] */
	entry *listed;    /* [count + 1], of one row, sorted */
	inv_graph *g;
	size_t used; /* entries of g */
} builder;

static double weigh(const builder *b, double squared)
{
	return b->sigma > 0 ? exp(-squared / (2 * b->sigma * b->sigma)) : 1;
}

/* Counting sort by the row that is listed: who lists it comes in order. */
static void turn_lists_around(builder *b)
{
	const inv_lists *l = b->l;

	memset(b->start, 0, (l->n + 1) * sizeof *b->start);
	for (size_t i = 0; i < l->n; i++)
		for (size_t j = 0; j < l->count; j++)
			b->start[l->index[i * l->stride + j] + 1]++;
	for (size_t i = 0; i < l->n; i++)
		b->start[i + 1] += b->start[i];
	for (size_t i = 0; i < l->n; i++)
		for (size_t j = 0; j < l->count; j++) {
			size_t at = i * l->stride + j;

			b->listed_by[b->start[l->index[at]]++] =
				(entry){.to = (uint32_t)i, .weight = weigh(b, l->squared[at])};
		}
	memmove(b->start + 1, b->start, l->n * sizeof *b->start);
	b->start[0] = 0;
}

static int by_column(const void *a, const void *b)
{
	uint32_t x = ((const entry *)a)->to, y = ((const entry *)b)->to;

	return (x > y) - (x < y);
}

static size_t sort_listed(builder *b, size_t i)
{
	const inv_lists *l = b->l;
	size_t count = 0;

	for (size_t j = 0; j < l->count; j++) {
		size_t at = i * l->stride + j;

		b->listed[count++] =
			(entry){.to = l->index[at], .weight = weigh(b, l->squared[at])};
	}
	qsort(b->listed, count, sizeof *b->listed, by_column);
	return count;
}

static void add_entry(builder *b, size_t to, double sum)
{
	b->g->to[b->used] = (uint32_t)to;
	if (b->g->weight)
		b->g->weight[b->used] = sum / 2;
	b->used++;
}

/* One row of A: the merge of listed and listed_by, and the loop where it belongs. */
static void merge_row(builder *b, size_t i)
{
	const entry *out = b->listed, *out_end = out + sort_listed(b, i);
	const entry *in = b->listed_by + b->start[i];
	const entry *in_end = b->listed_by + b->start[i + 1];
	bool loop = b->l->loops;

	while (out < out_end || in < in_end || loop) {
		size_t next = loop ? i : SIZE_MAX;
		double sum = 0;

		if (out < out_end && out->to < next)
			next = out->to;
		if (in < in_end && in->to < next)
			next = in->to;
		if (loop && next == i) {
			sum = 2; /* exp(0), both ways */
			loop = false;
		}
		if (out < out_end && out->to == next)
			sum += out++->weight;
		if (in < in_end && in->to == next)
			sum += in++->weight;
		add_entry(b, next, sum);
	}
	b->g->start[i + 1] = b->used;
}

static invar_status allocate_builder(builder *b, inv_arena *a)
{
	const inv_lists *l = b->l;
	size_t cells = l->n * l->count, entries = 2 * cells + l->n;
	inv_graph *g = b->g;

	for (int round = 0; round < 2; round++) {
		invar_status st;

		b->start = inv_arena_take(a, l->n + 1, sizeof *b->start);
		b->listed_by = inv_arena_take(a, cells, sizeof *b->listed_by);
		b->listed = inv_arena_take(a, l->count + 1, sizeof *b->listed);
		if (!round && (st = inv_arena_commit(a)) != INVAR_OK)
			return st;
	}
	g->start = inv_calloc(l->n + 1, sizeof *g->start);
	g->to = inv_alloc(entries * sizeof *g->to);
	g->weight = b->sigma > 0 ? inv_alloc(entries * sizeof *g->weight) : NULL;
	if (!g->start || !g->to || (b->sigma > 0 && !g->weight))
		return inv_fail(INVAR_E_NOMEM, "not enough memory for a graph of %zu rows", l->n);
	return INVAR_OK;
}

static invar_status build(const inv_lists *l, double sigma, inv_graph *out)
{
	builder b = {.l = l, .sigma = sigma, .g = out};
	inv_arena arena = {0};
	invar_status st;

	*out = (inv_graph){.n = l->n};
	if ((st = allocate_builder(&b, &arena)) == INVAR_OK) {
		turn_lists_around(&b);
		for (size_t i = 0; i < l->n; i++)
			merge_row(&b, i);
	} else {
		inv_graph_free(out);
	}
	inv_arena_free(&arena);
	return st;
}

invar_status inv_graph_union(const inv_lists *l, inv_graph *out)
{
	return build(l, 0, out);
}

invar_status inv_graph_heat(const inv_lists *l, double sigma, inv_graph *out)
{
	return build(l, sigma, out);
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
