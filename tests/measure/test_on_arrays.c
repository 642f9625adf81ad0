/* SPDX-License-Identifier: Apache-2.0 */
/* test_on_arrays.c - claims about neighbours, collisions and probes on given arrays. */
#include <math.h>
#include <string.h>

#include "support.h"

enum { N = 400, Q = 150, DIM = 7, K = 5, CLASSES = 4 };

static float gallery[N * DIM], queries[Q * DIM];
static int64_t labels[N], query_labels[Q];

/* Clusters that overlap a little; the labels 5, 15, 25 … are not their own numbers. */
static int fill(void **state)
{
	uint32_t x = 12345;

	for (size_t i = 0; i < N + Q; i++) {
		float *row = i < N ? gallery + i * DIM : queries + (i - N) * DIM;
		int64_t label = (int64_t)(i % CLASSES) * 10 + 5;

		*(i < N ? &labels[i] : &query_labels[i - N]) = label;
		for (size_t j = 0; j < DIM; j++) {
			x = x * 1664525u + 1013904223u;
			row[j] = (float)(x >> 8) / 0x1p24f * 2 + (j == i % CLASSES ? 1.5f : 0);
		}
	}
	return test_context_open(state);
}

static double squared(const float *a, const float *b)
{
	double sum = 0;

	for (size_t j = 0; j < DIM; j++)
		sum += ((double)a[j] - b[j]) * ((double)a[j] - b[j]);
	return sum;
}

static void neighbours_are_those_of_the_plain_loop(void **state)
{
	static uint32_t index[Q * K];
	static double distance[Q * K];

	(void)state;
	assert_int_equal(
		invar_neighbours(test_ctx, gallery, N, queries, Q, DIM, K, index, distance),
		INVAR_OK);
	for (size_t q = 0; q < Q; q++)
		for (size_t k = 0; k < K; k++) {
			double d = squared(queries + q * DIM, gallery + index[q * K + k] * DIM);
			size_t nearer = 0;

			assert_true(fabs(sqrt(d) - distance[q * K + k]) <= 1e-12 * sqrt(d));
			for (size_t i = 0; i < N; i++)
				nearer += squared(queries + q * DIM, gallery + i * DIM) < d;
			assert_int_equal(nearer, k);
		}
}

static void collisions_are_those_of_the_plain_loop(void **state)
{
	uint32_t made_of[Q];
	double rate, without;
	size_t hits = 0, fewer = 0;

	(void)state;
	for (size_t q = 0; q < Q; q++) {
		double own = INFINITY, other = INFINITY, rest = INFINITY;

		made_of[q] = (uint32_t)(q % CLASSES);
		for (size_t i = 0; i < N; i++) {
			double d = squared(queries + q * DIM, gallery + i * DIM);

			if (labels[i] != query_labels[q])
				other = fmin(other, d);
			else
				own = fmin(own, d);
			if (labels[i] == query_labels[q] && i != made_of[q])
				rest = fmin(rest, d);
		}
		hits += other < own;
		fewer += other < rest;
	}
	assert_in_range(hits, 1, Q - 1);
	assert_int_equal(invar_collision_rate(test_ctx, gallery, labels, N, queries,
	                                      query_labels, Q, DIM, NULL, &rate),
	                 INVAR_OK);
	assert_true(rate == (double)hits / Q);
	assert_int_equal(invar_collision_rate(test_ctx, gallery, labels, N, queries,
	                                      query_labels, Q, DIM, made_of, &without),
	                 INVAR_OK);
	assert_true(without == (double)fewer / Q);
}

static void a_linear_probe_learns_the_clusters(void **state)
{
	int64_t predicted[Q], again[Q];
	size_t right = 0;

	(void)state;
	assert_int_equal(invar_linear_probe(test_ctx, gallery, labels, N, queries, Q, DIM, 3000,
	                                    1, predicted),
	                 INVAR_OK);
	assert_int_equal(
		invar_linear_probe(test_ctx, gallery, labels, N, queries, Q, DIM, 3000, 1, again),
		INVAR_OK);
	assert_memory_equal(predicted, again, sizeof predicted);
	for (size_t q = 0; q < Q; q++)
		right += predicted[q] == query_labels[q];
	assert_in_range(right, Q * 8 / 10, Q);
}

static void a_linear_probe_does_not_depend_on_the_scale(void **state)
{
	static float small_gallery[N * DIM], small_queries[Q * DIM];
	int64_t predicted[Q], again[Q];
	size_t differ = 0;

	(void)state;
	for (size_t i = 0; i < N * DIM; i++)
		small_gallery[i] = 1e-3f * gallery[i] + 0.25f;
	for (size_t i = 0; i < Q * DIM; i++)
		small_queries[i] = 1e-3f * queries[i] + 0.25f;
	assert_int_equal(invar_linear_probe(test_ctx, gallery, labels, N, queries, Q, DIM, 100,
	                                    1, predicted),
	                 INVAR_OK);
	assert_int_equal(invar_linear_probe(test_ctx, small_gallery, labels, N, small_queries,
	                                    Q, DIM, 100, 1, again),
	                 INVAR_OK);
	for (size_t q = 0; q < Q; q++)
		differ += predicted[q] != again[q];
	assert_in_range(differ, 0, Q / 50); /* rows at a border, by rounding */
}

static void what_makes_no_sense_is_refused(void **state)
{
	uint32_t index[1], beyond[] = {N};
	double distance[1];
	float nan_row[DIM] = {0, NAN};
	int64_t none = -1, same[2] = {3, 3}, predicted;

	(void)state;
	assert_int_equal(
		invar_neighbours(test_ctx, gallery, 3, queries, 1, DIM, 4, index, distance),
		INVAR_E_USE);
	test_assert_error("k must be 1 to 3");
	assert_int_equal(
		invar_neighbours(test_ctx, gallery, 0, queries, 1, DIM, 1, index, distance),
		INVAR_E_USE);
	test_assert_error("gallery must not be empty");
	assert_int_equal(
		invar_neighbours(test_ctx, gallery, N, nan_row, 1, DIM, 1, index, distance),
		INVAR_E_NUMERIC);
	test_assert_error("queries: row 0");
	assert_int_equal(invar_collision_rate(test_ctx, gallery, labels, N, queries, &none, 1,
	                                      DIM, NULL, distance),
	                 INVAR_E_USE);
	test_assert_error("remove rows without a label");
	assert_int_equal(invar_collision_rate(test_ctx, gallery, labels, N, queries,
	                                      query_labels, 1, DIM, beyond, distance),
	                 INVAR_E_USE);
	test_assert_error("refers to row 400");
	assert_int_equal(
		invar_linear_probe(test_ctx, gallery, same, 2, queries, 1, DIM, 1, 0, &predicted),
		INVAR_E_MISMATCH);
	test_assert_error("at least two");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(neighbours_are_those_of_the_plain_loop),
		cmocka_unit_test(collisions_are_those_of_the_plain_loop),
		cmocka_unit_test(a_linear_probe_learns_the_clusters),
		cmocka_unit_test(a_linear_probe_does_not_depend_on_the_scale),
		cmocka_unit_test(what_makes_no_sense_is_refused),
	};

	return cmocka_run_group_tests(tests, fill, test_context_close);
}
