/* SPDX-License-Identifier: Apache-2.0 */
/* test_neighbours_on_arrays.c - claims about nearest neighbours of given arrays. */
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

static void what_makes_no_sense_is_refused(void **state)
{
	uint32_t index[1];
	double distance[1];
	float nan_row[DIM] = {0, NAN};

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
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(neighbours_are_those_of_the_plain_loop),
		cmocka_unit_test(what_makes_no_sense_is_refused),
	};

	return cmocka_run_group_tests(tests, fill, test_context_close);
}
