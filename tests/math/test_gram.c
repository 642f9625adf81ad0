/* SPDX-License-Identifier: Apache-2.0 */
/* test_gram.c - A Aᵀ against the triple loop, symmetric, on any number of threads. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "math/gram.h"

/* Within a tile, at its edge, and several of them with a rest. */
static const size_t sizes[][2] = {{1, 1},   {2, 3},    {7, 24},  {191, 5},
                                  {192, 9}, {193, 17}, {401, 64}};

static float *draw(size_t count)
{
	inv_stream s = inv_stream_of(3, "gram", 0);
	float *x = inv_alloc(count * sizeof *x);

	assert_non_null(x);
	inv_fill_normal(&s, 0, x, count);
	return x;
}

static void run(const invar_context *ctx, size_t m, size_t k, const float *a, float *c)
{
	inv_gram *p;

	assert_int_equal(inv_gram_new(ctx, m, k, &p), INVAR_OK);
	inv_gram_run(p, a, c, NULL, NULL);
	inv_gram_run(p, a, c, NULL, NULL);
	inv_gram_free(p);
}

static void check(const invar_context *ctx, size_t m, size_t k)
{
	const inv_matmul_spec spec = {.m = m, .n = m, .k = k, .transpose_b = true};
	float *a = draw(m * k), *got = inv_alloc(m * m * sizeof *got);
	float *want = inv_alloc(m * m * sizeof *want);

	run(ctx, m, k, a, got);
	inv_matmul_ref(&spec, a, a, NULL, want);
	for (size_t i = 0; i < m; i++)
		for (size_t j = 0; j < m; j++) {
			assert_true(fabsf(got[i * m + j] - want[i * m + j]) < 1e-5f * (float)(k + 1));
			assert_true(got[i * m + j] == got[j * m + i]);
		}
	inv_free(a);
	inv_free(got);
	inv_free(want);
}

static void the_product_is_right_and_symmetric(void **state)
{
	invar_context *ctx;

	(void)state;
	assert_int_equal(invar_context_new(2, NULL, &ctx), INVAR_OK);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		check(ctx, sizes[i][0], sizes[i][1]);
	ctx->cpu = 0;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		check(ctx, sizes[i][0], sizes[i][1]);
	invar_context_free(ctx);
}

static void the_bits_do_not_depend_on_the_threads(void **state)
{
	enum { M = 700, K = 130 };
	float *a = draw(M * K), *c[4];

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		invar_context *ctx;

		c[i] = inv_alloc(M * M * sizeof *c[i]);
		assert_int_equal(invar_context_new(i + 1, NULL, &ctx), INVAR_OK);
		run(ctx, M, K, a, c[i]);
		assert_memory_equal(c[0], c[i], M * M * sizeof *c[i]);
		invar_context_free(ctx);
	}
	for (unsigned i = 0; i < 4; i++)
		inv_free(c[i]);
	inv_free(a);
}

enum { SIDE = 450 };

static void add_place(void *user, size_t row, size_t rows, size_t col, size_t cols)
{
	float *c = user;

	for (size_t i = row; i < row + rows; i++)
		for (size_t j = i > col ? i : col; j < col + cols; j++)
			c[i * SIDE + j] = (float)(i * SIDE + j);
}

static void what_is_made_of_a_tile_is_mirrored(void **state)
{
	float *a = draw(SIDE * 3), *c = inv_calloc(SIDE * SIDE, sizeof *c);
	invar_context *ctx;
	inv_gram *p;

	(void)state;
	assert_int_equal(invar_context_new(2, NULL, &ctx), INVAR_OK);
	assert_int_equal(inv_gram_new(ctx, SIDE, 3, &p), INVAR_OK);
	inv_gram_run(p, a, c, add_place, c);
	for (size_t i = 0; i < SIDE; i++)
		for (size_t j = i; j < SIDE; j++) {
			assert_true(c[i * SIDE + j] == (float)(i * SIDE + j));
			assert_true(c[j * SIDE + i] == c[i * SIDE + j]);
		}
	inv_gram_free(p);
	invar_context_free(ctx);
	inv_free(a);
	inv_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_product_is_right_and_symmetric),
		cmocka_unit_test(the_bits_do_not_depend_on_the_threads),
		cmocka_unit_test(what_is_made_of_a_tile_is_mirrored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
