/* SPDX-License-Identifier: Apache-2.0 */
/* test_laplacian.c - graphs of neighbours and their spectra against dense matrices. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "math/laplacian.h"
#include "math/neighbours.h"
#include "math/openblas.h"

enum { W = 5, WANT = 50 };

typedef struct lists {
	inv_lists l;
	float *x;
	uint32_t *index;
	double *squared;
} lists;

static float *draw(size_t n)
{
	const inv_stream s = inv_stream_of(5, "laplacian test", 0);
	float *x = inv_alloc(n * W * sizeof *x);

	inv_fill_normal(&s, 0, x, n * W);
	return x;
}

/* Takes x. */
static lists list_neighbours(float *x, size_t n, size_t k, bool loops)
{
	lists s = {.x = x,
	           .index = inv_alloc(n * k * sizeof *s.index),
	           .squared = inv_alloc(n * k * sizeof *s.squared)};

	inv_nearest_others_ref(x, n, W, 0, n, k, s.index, s.squared);
	s.l = (inv_lists){.n = n,
	                  .count = k,
	                  .stride = k,
	                  .index = s.index,
	                  .squared = s.squared,
	                  .loops = loops};
	return s;
}

static void free_lists(lists *s)
{
	inv_free(s->x);
	inv_free(s->index);
	inv_free(s->squared);
}

/* ---- Graphs ---------------------------------------------------------------------- */

static double listed(const inv_lists *l, size_t i, size_t j, double sigma)
{
	if (i == j)
		return l->loops;
	for (size_t k = 0; k < l->count; k++)
		if (l->index[i * l->stride + k] == j)
			return exp(-l->squared[i * l->stride + k] / (2 * sigma * sigma));
	return 0;
}

static double entry(const inv_graph *g, size_t i, size_t j)
{
	for (size_t e = g->start[i]; e < g->start[i + 1]; e++)
		if (g->to[e] == j)
			return g->weight ? g->weight[e] : 1;
	return 0;
}

static void graphs_equal_their_definition(void **state)
{
	enum { M = 61 };

	(void)state;
	for (int loops = 0; loops < 2; loops++) {
		lists s = list_neighbours(draw(M), M, 4, loops);
		inv_graph either, heat;

		assert_int_equal(inv_graph_union(&s.l, &either), INVAR_OK);
		assert_int_equal(inv_graph_heat(&s.l, 0.7, &heat), INVAR_OK);
		for (size_t i = 0; i < M; i++)
			for (size_t j = 0; j < M; j++) {
				double a = listed(&s.l, i, j, 0.7), b = listed(&s.l, j, i, 0.7);

				assert_true(entry(&either, i, j) == (a > 0 || b > 0));
				assert_true(fabs(entry(&heat, i, j) - (a + b) / 2) < 1e-15);
			}
		for (size_t e = 1; e < either.start[1]; e++)
			assert_true(either.to[e - 1] < either.to[e]);
		inv_graph_free(&heat);
		inv_graph_free(&either);
		free_lists(&s);
	}
}

/* ---- Spectra --------------------------------------------------------------------- */

/* The sum of squares over the pairs, damped: equal vectors up to signs and turns. */
static double signature(const double *values, const double *vectors, size_t n, size_t i)
{
	double sum = 0;

	for (size_t p = 0; p < WANT; p++)
		sum += exp(-values[p]) * vectors[p * n + i] * vectors[p * n + i];
	return sum;
}

static invar_status go_on(void *user)
{
	(void)user;
	return INVAR_OK;
}

static void solve(unsigned threads, const inv_graph *g, double *values, double *vectors,
                  size_t *components)
{
	const inv_laplacian_spec s = {.g = g, .want = WANT, .check = go_on};
	invar_context *ctx;

	assert_int_equal(invar_context_new(threads, NULL, &ctx), INVAR_OK);
	if (inv_laplacian_smallest(ctx, &s, values, vectors, components) != INVAR_OK)
		fail_msg("%s", invar_last_error());
	invar_context_free(ctx);
}

/* Against LAPACK; `vectors` too, unless the last eigenvalue continues beyond the pairs. */
static void check_graph(const inv_graph *g, size_t components, bool vectors)
{
	double wanted[WANT], got[WANT];
	double *a = inv_alloc(WANT * g->n * sizeof *a), *b = inv_alloc(WANT * g->n * sizeof *b);
	double *c = inv_alloc(WANT * g->n * sizeof *c), again[WANT];
	size_t found;

	assert_int_equal(inv_laplacian_smallest_ref(g, WANT, wanted, a), INVAR_OK);
	solve(2, g, got, b, &found);
	assert_int_equal(found, components);
	for (size_t i = 0; i < WANT; i++) {
		if (fabs(got[i] - wanted[i]) > 1e-9)
			fail_msg("n = %zu: eigenvalue %zu is %.12g, not %.12g", g->n, i, got[i],
			         wanted[i]);
		assert_true(i >= components || got[i] == 0);
	}
	for (size_t i = 0; i < g->n && vectors; i++)
		assert_true(fabs(signature(wanted, a, g->n, i) - signature(got, b, g->n, i)) <
		            1e-6);
	for (unsigned threads = 1; threads <= 4; threads += 3) {
		solve(threads, g, again, c, &found);
		assert_memory_equal(got, again, sizeof got);
		assert_memory_equal(b, c, WANT * g->n * sizeof *b);
	}
	inv_free(a);
	inv_free(b);
	inv_free(c);
}

static void check_both(const lists *s, size_t components, bool vectors)
{
	inv_graph g;

	assert_int_equal(inv_graph_union(&s->l, &g), INVAR_OK);
	check_graph(&g, components, vectors);
	inv_graph_free(&g);
	assert_int_equal(inv_graph_heat(&s->l, 0.8, &g), INVAR_OK);
	check_graph(&g, components, vectors);
	inv_graph_free(&g);
}

static void every_size_equals_lapack(void **state)
{
	static const size_t sizes[] = {50, 51, 255, 257, 513};

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		lists s = list_neighbours(draw(sizes[i]), sizes[i], 9, i % 2);

		check_both(&s, 1, true);
		free_lists(&s);
	}
}

/* `copies` times the same cloud, moved by powers of 2 so that distances stay the same. */
static lists list_copies(size_t each, size_t copies)
{
	float *x = draw(copies * each);

	for (size_t i = 0; i < copies * each * W; i++)
		x[i] = i < each * W ? rintf(x[i] * 64) / 64 : x[i - each * W];
	for (size_t i = 0; i < copies * each; i++)
		x[i * W] += 1024 * (float)(i / each);
	return list_neighbours(x, copies * each, 9, true);
}

/* All eigenvalues occur as often as there are copies, which one start does not see: 7
 * times is within the width of a block, 12 times is not. */
static void equal_components_keep_equal_eigenvalues(void **state)
{
	static const size_t each[] = {45, 30}, copies[] = {7, 12};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		lists s = list_copies(each[i], copies[i]);

		check_both(&s, copies[i], false);
		free_lists(&s);
	}
}

/* ---- Blocks and ARPACK ----------------------------------------------------------- */

typedef struct blocks {
	double *degree, *null;
	uint32_t *component;
	inv_walk w;
} blocks;

static blocks blocks_of(const inv_graph *g)
{
	blocks b = {.degree = inv_calloc(g->n, sizeof *b.degree),
	            .null = inv_calloc(g->n, sizeof *b.null),
	            .component = inv_calloc(g->n, sizeof *b.component)};
	double *sums = inv_calloc(g->n, sizeof *sums);
	size_t components = inv_graph_components(g, b.component);

	for (size_t i = 0; i < g->n; i++) {
		for (size_t e = g->start[i]; e < g->start[i + 1]; e++)
			b.degree[i] += g->weight ? g->weight[e] : 1;
		sums[b.component[i]] += b.degree[i];
	}
	for (size_t i = 0; i < g->n; i++)
		b.null[i] = sqrt(b.degree[i] / sums[b.component[i]]);
	b.w = (inv_walk){.g = g,
	                 .degree = b.degree,
	                 .null = b.null,
	                 .component = b.component,
	                 .components = components,
	                 .tolerance = 1e-9,
	                 .check = go_on};
	inv_free(sums);
	return b;
}

/* Whether blocks alone find all pairs. */
static bool try_blocks(const inv_graph *g, size_t want, double *values, double *vectors)
{
	blocks b = blocks_of(g);
	invar_context *ctx;
	bool found;

	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	assert_int_equal(inv_openblas_need(1), INVAR_OK);
	assert_int_equal(inv_block_lanczos(ctx, &b.w, want, values, vectors, &found), INVAR_OK);
	invar_context_free(ctx);
	inv_free(b.degree);
	inv_free(b.null);
	inv_free(b.component);
	return found;
}

/* |N v - lambda v|, entry by entry. */
static double residual_of(const inv_graph *g, double lambda, const double *v)
{
	blocks b = blocks_of(g);
	double square = 0;

	for (size_t i = 0; i < g->n; i++) {
		double sum = -lambda * v[i];

		for (size_t e = g->start[i]; e < g->start[i + 1]; e++)
			sum += (g->weight ? g->weight[e] : 1) * v[g->to[e]] /
			       sqrt(b.degree[i] * b.degree[g->to[e]]);
		square += sum * sum;
	}
	inv_free(b.degree);
	inv_free(b.null);
	inv_free(b.component);
	return sqrt(square);
}

static void check_blocks(const inv_graph *g)
{
	const inv_laplacian_spec s = {.g = g, .want = WANT, .check = go_on};
	double values[WANT - 1], wanted[WANT];
	double *a = inv_alloc(WANT * g->n * sizeof *a), *b = inv_alloc(WANT * g->n * sizeof *b);
	invar_context *ctx;
	size_t components;

	assert_true(try_blocks(g, WANT - 1, values, a));
	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	assert_int_equal(inv_laplacian_smallest_arpack(ctx, &s, wanted, b, &components),
	                 INVAR_OK);
	for (size_t i = 0; i + 1 < WANT; i++) {
		assert_true(fabs(1 - values[i] - wanted[i + 1]) < 1e-10);
		assert_true(residual_of(g, values[i], a + i * g->n) < 1e-9);
		for (size_t j = 0; j <= i; j++) {
			double dot = 0;

			for (size_t r = 0; r < g->n; r++)
				dot += a[i * g->n + r] * a[j * g->n + r];
			assert_true(fabs(dot - (i == j)) < 1e-11);
		}
	}
	invar_context_free(ctx);
	inv_free(a);
	inv_free(b);
}

/* The fast way itself, without its fallback, against ARPACK. */
static void blocks_find_what_arpack_finds(void **state)
{
	static const size_t sizes[] = {257, 515, 4003};

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		lists s = list_neighbours(draw(sizes[i]), sizes[i], 9, i % 2);
		inv_graph g;

		assert_int_equal(inv_graph_union(&s.l, &g), INVAR_OK);
		check_blocks(&g);
		inv_graph_free(&g);
		assert_int_equal(inv_graph_heat(&s.l, 0.8, &g), INVAR_OK);
		check_blocks(&g);
		inv_graph_free(&g);
		free_lists(&s);
	}
}

/*
 * Eigenvalues that occur 12 times, in parts too large to be exhausted: eight vectors see
 * eight of each. If blocks do not say so, they must have found all the same.
 */
static void many_equal_eigenvalues_are_not_lost(void **state)
{
	enum { EACH = 200, COPIES = 12, OTHERS = WANT - COPIES };
	lists one = list_copies(EACH, 1), s = list_copies(EACH, COPIES);
	double wanted[WANT], got[WANT], alone[OTHERS];
	double *vectors = inv_alloc(WANT * s.l.n * sizeof *vectors);
	inv_graph g, part;
	size_t found;

	(void)state;
	assert_int_equal(inv_graph_union(&one.l, &part), INVAR_OK);
	assert_int_equal(inv_laplacian_smallest_ref(&part, WANT, wanted, vectors), INVAR_OK);
	assert_int_equal(inv_graph_union(&s.l, &g), INVAR_OK);
	solve(2, &g, got, vectors, &found);
	assert_int_equal(found, COPIES);
	for (size_t i = 0; i < WANT; i++)
		assert_true(fabs(got[i] - wanted[i / COPIES]) < 1e-9);
	if (try_blocks(&g, OTHERS, alone, vectors))
		for (size_t i = 0; i < OTHERS; i++)
			assert_true(fabs(1 - alone[i] - wanted[1 + i / COPIES]) < 1e-9);
	else
		print_message("blocks left it to ARPACK\n");
	inv_graph_free(&g);
	inv_graph_free(&part);
	inv_free(vectors);
	free_lists(&one);
	free_lists(&s);
}

static invar_status stop(void *user)
{
	return --*(int *)user ? INVAR_OK : inv_fail(INVAR_E_CANCELLED, "enough");
}

static void a_search_can_be_stopped(void **state)
{
	lists s = list_neighbours(draw(515), 515, 9, false);
	double values[WANT], *vectors = inv_alloc(WANT * 515 * sizeof *vectors);
	invar_context *ctx;
	inv_graph g;

	(void)state;
	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	assert_int_equal(inv_graph_union(&s.l, &g), INVAR_OK);
	for (int steps = 1; steps < 16; steps += 5) {
		int left = steps;
		const inv_laplacian_spec spec = {
			.g = &g, .want = WANT, .check = stop, .user = &left};
		size_t components;

		assert_int_equal(inv_laplacian_smallest(ctx, &spec, values, vectors, &components),
		                 INVAR_E_CANCELLED);
		assert_int_equal(left, 0);
	}
	invar_context_free(ctx);
	inv_graph_free(&g);
	inv_free(vectors);
	free_lists(&s);
}

/* 40 cliques of 8: 40 zeros, then one eigenvalue 280 times. */
static void cliques_come_out_right(void **state)
{
	enum { CLIQUES = 40, EACH = 8 };
	float *x = draw(CLIQUES * EACH);
	lists s;
	inv_graph g;

	(void)state;
	for (size_t i = 0; i < CLIQUES * EACH; i++)
		x[i * W] += 1000 * (float)(i / EACH);
	s = list_neighbours(x, CLIQUES * EACH, EACH - 1, false);
	assert_int_equal(inv_graph_union(&s.l, &g), INVAR_OK);
	{
		double values[WANT], *vectors = inv_alloc(WANT * g.n * sizeof *vectors);
		size_t found;

		solve(2, &g, values, vectors, &found);
		assert_int_equal(found, CLIQUES);
		for (size_t i = 0; i < WANT; i++)
			assert_true(fabs(values[i] - (i < CLIQUES ? 0 : 8.0 / 7)) < 1e-9);
		inv_free(vectors);
	}
	inv_graph_free(&g);
	free_lists(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(graphs_equal_their_definition),
		cmocka_unit_test(every_size_equals_lapack),
		cmocka_unit_test(equal_components_keep_equal_eigenvalues),
		cmocka_unit_test(cliques_come_out_right),
		cmocka_unit_test(blocks_find_what_arpack_finds),
		cmocka_unit_test(many_equal_eigenvalues_are_not_lost),
		cmocka_unit_test(a_search_can_be_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
