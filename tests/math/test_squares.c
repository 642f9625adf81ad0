/* SPDX-License-Identifier: Apache-2.0 */
/* test_squares.c - squared distances against differences in double. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "math/squares.h"

enum { N = 203, D = 37 };

typedef struct cloud {
	float x[N * D], d2[N * N];
} cloud;

static void fill(cloud *c)
{
	inv_stream s = inv_stream_of(5, "squares", 0);

	inv_fill_normal(&s, 0, c->x, N * D);
}

static void measure(cloud *c, unsigned threads, bool plain)
{
	invar_context *ctx;
	inv_squares *p;

	assert_int_equal(invar_context_new(threads, NULL, &ctx), INVAR_OK);
	if (plain)
		ctx->cpu = 0;
	assert_int_equal(inv_squares_new(ctx, N, D, &p), INVAR_OK);
	inv_squares_run(p, c->x, c->d2);
	inv_squares_free(p);
	invar_context_free(ctx);
}

static double exact(const cloud *c, size_t i, size_t j)
{
	double sum = 0;

	for (size_t k = 0; k < D; k++) {
		double gap = (double)c->x[i * D + k] - c->x[j * D + k];

		sum += gap * gap;
	}
	return sum;
}

static void assert_exact(const cloud *c, double rel)
{
	for (size_t i = 0; i < N; i++)
		for (size_t j = 0; j < N; j++) {
			double want = exact(c, i, j), got = c->d2[i * N + j];

			if (!(fabs(got - want) <= rel * want) || (got == 0) != (want == 0))
				fail_msg("rows %zu and %zu: %.9g, not %.9g", i, j, got, want);
			assert_true(c->d2[j * N + i] == c->d2[i * N + j]);
		}
}

static void distances_are_right(void **state)
{
	cloud *c = malloc(sizeof *c);

	(void)state;
	fill(c);
	measure(c, 2, false);
	assert_exact(c, 2e-6);
	measure(c, 2, true);
	assert_exact(c, 2e-6);
	free(c);
}

static void a_far_mean_costs_nothing(void **state)
{
	cloud *c = malloc(sizeof *c);

	(void)state;
	fill(c);
	for (size_t i = 0; i < N * D; i++)
		c->x[i] += 1000;
	measure(c, 2, false);
	assert_exact(c, 2e-6);
	free(c);
}

/* Pairs, triples, and pairs at 1e-7 to 1 of the cloud's size from each other. */
static void near_rows_keep_their_digits_and_equal_ones_are_at_zero(void **state)
{
	cloud *c = malloc(sizeof *c);

	(void)state;
	fill(c);
	for (size_t i = 0; i < 20; i++) {
		memcpy(c->x + (100 + i) * D, c->x + i * D, D * sizeof *c->x);
		memcpy(c->x + (150 + i) * D, c->x + i * D, D * sizeof *c->x);
		c->x[(150 + i) * D + i] += powf(10, -(float)i / 3);
	}
	measure(c, 2, false);
	assert_exact(c, 1e-3);
	for (size_t i = 0; i < 20; i++)
		assert_true(c->d2[i * N + 100 + i] == 0);
	free(c);
}

static void tiny_distances_are_not_zero(void **state)
{
	cloud *c = calloc(1, sizeof *c);

	(void)state;
	c->x[0] = 1e-30f;
	measure(c, 1, false);
	assert_true(c->d2[1] > 0 && c->d2[N + 2] == 0);
	free(c);
}

static void the_bits_do_not_depend_on_the_threads(void **state)
{
	cloud *a = malloc(sizeof *a), *b = malloc(sizeof *b);

	(void)state;
	fill(a);
	fill(b);
	measure(a, 1, false);
	for (unsigned threads = 2; threads <= 4; threads++) {
		measure(b, threads, false);
		assert_memory_equal(a->d2, b->d2, sizeof a->d2);
	}
	free(a);
	free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(distances_are_right),
		cmocka_unit_test(a_far_mean_costs_nothing),
		cmocka_unit_test(near_rows_keep_their_digits_and_equal_ones_are_at_zero),
		cmocka_unit_test(tiny_distances_are_not_zero),
		cmocka_unit_test(the_bits_do_not_depend_on_the_threads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
