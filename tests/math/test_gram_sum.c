/* SPDX-License-Identifier: Apache-2.0 */
/* test_gram_sum.c - sums of X^T X and X^T Y against plain loops in double. */
#include "support.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "math/gram_sum.h"

typedef struct shape {
	size_t rows, a, b, r; /* X is [a, b] columns wide, Y r */
} shape;

static const shape shapes[] = {
	{1, 1, 1, 1}, {7, 3, 5, 2}, {33, 257, 3, 4}, {130, 255, 300, 259}, {300, 1, 258, 17},
};

static float *draw(const char *purpose, size_t count)
{
	inv_stream s = inv_stream_of(5, purpose, 0);
	float *x = inv_alloc((count + 1) * sizeof *x);

	assert_non_null(x);
	inv_fill_normal(&s, 0, x, count);
	return x;
}

/* Twice, to test that it adds to existing sums. */
static void sum_twice(invar_context *ctx, const inv_gram_part *x, const shape *s,
                      const float *y, double *gram, double *cross)
{
	inv_gram_sum *sum;

	assert_int_equal(inv_gram_sum_new(ctx, &sum), INVAR_OK);
	for (int i = 0; i < 2; i++) {
		inv_gram_sum_add(sum, x, 2, s->rows, gram);
		inv_gram_sum_add_cross(sum, x, 2, s->rows, y, s->r, cross);
	}
	inv_gram_sum_free(sum);
}

static void assert_near(const double *got, const double *want, size_t rows, size_t cols,
                        bool lower, double limit)
{
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; j < (lower ? i + 1 : cols); j++)
			if (!(fabs(got[i * cols + j] - want[i * cols + j]) <= limit))
				fail_msg("element %zu, %zu is %.9g, not %.9g", i, j, got[i * cols + j],
				         want[i * cols + j]);
}

/* Sums of n products of N(0, 1) in float: roundings of 6e-8, of sums that grow as sqrt(n).
 */
static void check_shape(const shape *s)
{
	size_t p = s->a + s->b;
	float *a = draw("a", s->rows * s->a), *b = draw("b", s->rows * s->b);
	float *y = draw("y", s->rows * s->r);
	const inv_gram_part x[] = {{a, s->a}, {b, s->b}};
	double *gram[3], *cross[3], limit = 4e-6 * (double)(s->rows + 10);

	for (int i = 0; i < 3; i++) {
		gram[i] = inv_calloc(p * p, sizeof(double));
		cross[i] = inv_calloc(p * s->r, sizeof(double));
	}
	for (int i = 0; i < 2; i++) {
		inv_gram_sum_ref(x, 2, s->rows, gram[0]);
		inv_gram_sum_cross_ref(x, 2, s->rows, y, s->r, cross[0]);
	}
	for (unsigned threads = 1; threads <= 2; threads++) {
		invar_context *ctx;

		assert_int_equal(invar_context_new(threads, NULL, &ctx), INVAR_OK);
		sum_twice(ctx, x, s, y, gram[threads], cross[threads]);
		invar_context_free(ctx);
	}
	assert_near(gram[1], gram[0], p, p, true, limit);
	assert_near(cross[1], cross[0], p, s->r, false, limit);
	assert_memory_equal(gram[1], gram[2], p * p * sizeof(double));
	assert_memory_equal(cross[1], cross[2], p * s->r * sizeof(double));
	for (int i = 0; i < 3; i++) {
		inv_free(gram[i]);
		inv_free(cross[i]);
	}
	inv_free(a);
	inv_free(b);
	inv_free(y);
}

static void sums_equal_the_loops_on_any_threads(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		check_shape(&shapes[i]);
}

static void columns_are_summed_in_double(void **state)
{
	const float x[] = {1e8f, 1, 1, 2, -1e8f, 3};
	double sums[2] = {0.5, 0};

	(void)state;
	inv_column_sums_add(x, 3, 2, sums);
	assert_true(sums[0] == 1.5);
	assert_true(sums[1] == 6);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_equal_the_loops_on_any_threads),
		cmocka_unit_test(columns_are_summed_in_double),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
