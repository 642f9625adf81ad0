/* SPDX-License-Identifier: Apache-2.0 */
/* test_laplacian.c - graphs of neighbours and their spectra against dense matrices. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "math/laplacian.h"
#include "math/neighbours.h"

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

static void solve(const inv_graph *g, double *values, double *vectors, size_t *components)
{
	const inv_laplacian_spec s = {.g = g, .want = WANT, .check = go_on};

	if (inv_laplacian_smallest(&s, values, vectors, components) != INVAR_OK)
		fail_msg("%s", invar_last_error());
}

/* Against LAPACK; `vectors` too, unless the last eigenvalue continues beyond the pairs. */
static void check_graph(const inv_graph *g, size_t components, bool vectors)
{
	double wanted[WANT], got[WANT];
	double *a = inv_alloc(WANT * g->n * sizeof *a), *b = inv_alloc(WANT * g->n * sizeof *b);
	double *c = inv_alloc(WANT * g->n * sizeof *c), again[WANT];
	size_t found;

	assert_int_equal(inv_laplacian_smallest_ref(g, WANT, wanted, a), INVAR_OK);
	solve(g, got, b, &found);
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
	solve(g, again, c, &found);
	assert_memory_equal(got, again, sizeof got);
	assert_memory_equal(b, c, WANT * g->n * sizeof *b);
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

/* All eigenvalues occur as often as there are copies, which one start does not see. */
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

/* |L v - lambda v|, entry by entry. */
static double residual_of(const inv_graph *g, const double *degree, double lambda,
                          const double *v)
{
	double square = 0;

	for (size_t i = 0; i < g->n; i++) {
		double sum = (1 - lambda) * v[i];

		for (size_t e = g->start[i]; e < g->start[i + 1]; e++)
			sum -= (g->weight ? g->weight[e] : 1) * v[g->to[e]] /
			       sqrt(degree[i] * degree[g->to[e]]);
		square += sum * sum;
	}
	return sqrt(square);
}

static void check_pairs(const inv_graph *g)
{
	double values[WANT], *vectors = inv_alloc(WANT * g->n * sizeof *vectors);
	double *degree = inv_calloc(g->n, sizeof *degree);
	size_t components;

	for (size_t i = 0; i < g->n; i++)
		for (size_t e = g->start[i]; e < g->start[i + 1]; e++)
			degree[i] += g->weight ? g->weight[e] : 1;
	solve(g, values, vectors, &components);
	for (size_t i = 0; i < WANT; i++) {
		assert_true(residual_of(g, degree, values[i], vectors + i * g->n) < 1e-9);
		for (size_t j = 0; j <= i; j++) {
			double dot = 0;

			for (size_t r = 0; r < g->n; r++)
				dot += vectors[i * g->n + r] * vectors[j * g->n + r];
			assert_true(fabs(dot - (i == j)) < 1e-11);
		}
	}
	inv_free(degree);
	inv_free(vectors);
}

static void pairs_are_accurate_and_orthonormal(void **state)
{
	static const size_t sizes[] = {257, 515, 4003};

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		lists s = list_neighbours(draw(sizes[i]), sizes[i], 9, i % 2);
		inv_graph g;

		assert_int_equal(inv_graph_union(&s.l, &g), INVAR_OK);
		check_pairs(&g);
		inv_graph_free(&g);
		assert_int_equal(inv_graph_heat(&s.l, 0.8, &g), INVAR_OK);
		check_pairs(&g);
		inv_graph_free(&g);
		free_lists(&s);
	}
}

/* Eigenvalues that occur 12 times, in parts too large to be exhausted. */
static void many_equal_eigenvalues_are_not_lost(void **state)
{
	enum { EACH = 200, COPIES = 12 };
	lists one = list_copies(EACH, 1), s = list_copies(EACH, COPIES);
	double wanted[WANT], got[WANT];
	double *vectors = inv_alloc(WANT * s.l.n * sizeof *vectors);
	inv_graph g, part;
	size_t found;

	(void)state;
	assert_int_equal(inv_graph_union(&one.l, &part), INVAR_OK);
	assert_int_equal(inv_laplacian_smallest_ref(&part, WANT, wanted, vectors), INVAR_OK);
	assert_int_equal(inv_graph_union(&s.l, &g), INVAR_OK);
	solve(&g, got, vectors, &found);
	assert_int_equal(found, COPIES);
	for (size_t i = 0; i < WANT; i++)
		assert_true(fabs(got[i] - wanted[i / COPIES]) < 1e-9);
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
	inv_graph g;

	(void)state;
	assert_int_equal(inv_graph_union(&s.l, &g), INVAR_OK);
	for (int steps = 1; steps < 16; steps += 5) {
		int left = steps;
		const inv_laplacian_spec spec = {
			.g = &g, .want = WANT, .check = stop, .user = &left};
		size_t components;

		assert_int_equal(inv_laplacian_smallest(&spec, values, vectors, &components),
		                 INVAR_E_CANCELLED);
		assert_int_equal(left, 0);
	}
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

		solve(&g, values, vectors, &found);
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
		cmocka_unit_test(pairs_are_accurate_and_orthonormal),
		cmocka_unit_test(many_equal_eigenvalues_are_not_lost),
		cmocka_unit_test(a_search_can_be_stopped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
