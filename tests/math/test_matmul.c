/* SPDX-License-Identifier: Apache-2.0 */
/* test_matmul.c - fast products against the triple loop, over odd sizes. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "math/matmul.h"
#include "math/openblas.h"

static const size_t shapes[][3] = {
	{1, 1, 1},     {1, 7, 3},      {5, 1, 9},     {3, 17, 64},    {33, 31, 1},
	{64, 48, 129}, {100, 130, 70}, {7, 1100, 40}, {391, 17, 386},
};

static float *draw(const char *purpose, size_t count)
{
	inv_stream s = inv_stream_of(3, purpose, 0);
	float *x = inv_alloc(count * sizeof *x);

	assert_non_null(x);
	inv_fill_normal(&s, 0, x, count);
	return x;
}

/* Sums of k products of N(0, 1), each rounded to float on the way. */
static void assert_product(const float *got, const float *want, const inv_matmul_spec *s)
{
	double limit = 1e-6 + 1e-7 * (double)s->k;

	for (size_t i = 0; i < s->m * s->n; i++)
		if (!(fabs((double)got[i] - want[i]) <= limit + 2e-6 * fabs((double)want[i])))
			fail_msg("m %zu n %zu k %zu ta %d tb %d: element %zu is %.9g, not %.9g", s->m,
			         s->n, s->k, s->transpose_a, s->transpose_b, i, got[i], want[i]);
}

static void check_spec(invar_context *ctx, const inv_matmul_spec *s)
{
	float *a = draw("a", s->m * s->k), *b = draw("b", s->k * s->n), *bias = draw("c", s->n);
	float *want = inv_calloc(s->m * s->n, sizeof(float));
	float *got = inv_calloc(s->m * s->n, sizeof(float));
	inv_matmul *plan;

	inv_matmul_ref(s, a, b, bias, want);
	assert_int_equal(inv_matmul_new(ctx, s, &plan), INVAR_OK);
	for (int again = 0; again < 2; again++) {
		assert_int_equal(inv_matmul_run(plan, a, b, bias, got), INVAR_OK);
		assert_product(got, want, s);
	}
	inv_matmul_free(plan);
	memset(got, 0, s->m * s->n * sizeof *got);
	inv_gemm(ctx, s, a, b, bias, got);
	assert_product(got, want, s);
	inv_free(a);
	inv_free(b);
	inv_free(bias);
	inv_free(want);
	inv_free(got);
}

static void plans_and_calls_equal_the_loop(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= 3; threads++) {
		invar_context *ctx;

		assert_int_equal(invar_context_new(threads, NULL, &ctx), INVAR_OK);
		for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
			for (unsigned bits = 0; bits < 16; bits++) {
				inv_matmul_spec s = {.m = shapes[i][0],
				                     .n = shapes[i][1],
				                     .k = shapes[i][2],
				                     .transpose_a = (bits & 1) != 0,
				                     .transpose_b = (bits & 2) != 0,
				                     .bias = (bits & 4) != 0,
				                     .relu = (bits & 8) != 0};

				check_spec(ctx, &s);
			}
		invar_context_free(ctx);
	}
}

/* A sum over k in two products, the second of which adds to the first. */
static void products_add_to_what_is_there(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		inv_matmul_spec s = {.m = shapes[i][0], .n = shapes[i][1], .k = shapes[i][2]};
		float *a = draw("a", s.m * s.k), *b = draw("b", s.k * s.n),
			  *c = draw("c", s.m * s.n);
		float *want = inv_calloc(s.m * s.n, sizeof *want);
		invar_context *ctx;
		inv_matmul *plan;

		inv_matmul_ref(&s, a, b, NULL, want);
		for (size_t j = 0; j < s.m * s.n; j++)
			want[j] = c[j] + 2 * want[j];
		s.add = true;
		assert_int_equal(invar_context_new(2, NULL, &ctx), INVAR_OK);
		assert_int_equal(inv_matmul_new(ctx, &s, &plan), INVAR_OK);
		assert_int_equal(inv_matmul_run(plan, a, b, NULL, c), INVAR_OK);
		inv_matmul_ref(&s, a, b, NULL, c);
		assert_product(c, want, &s);
		inv_matmul_free(plan);
		invar_context_free(ctx);
		inv_free(a);
		inv_free(b);
		inv_free(c);
		inv_free(want);
	}
}

/* The whole triple loop would take long; a cell of each tile and of each edge suffices. */
static void check_some_cells(const inv_matmul_spec *s, const float *a, const float *b,
                             const float *bias, const float *got)
{
	for (size_t i = 0; i < s->m; i += 53)
		for (size_t j = 0; j < s->n; j += 61) {
			double sum = s->bias ? (double)bias[j] : 0;

			for (size_t l = 0; l < s->k; l++)
				sum += (double)(s->transpose_a ? a[l * s->m + i] : a[i * s->k + l]) *
				       (s->transpose_b ? b[j * s->k + l] : b[l * s->n + j]);
			if (s->relu && sum < 0)
				sum = 0;
			assert_true(fabs(got[i * s->n + j] - sum) <= 1e-6 + 2e-7 * (double)s->k);
		}
}

/* So that training on one thread equals that on two, at the shapes of MaWa. */
static void the_bits_do_not_depend_on_the_threads(void **state)
{
	const inv_matmul_spec specs[] = {
		/* cut into tiles: by columns, by rows */
		{768, 1024, 384, .transpose_b = true, .bias = true, .relu = true},
		{768, 1024, 384, .transpose_a = false},
		{1536, 384, 512, .transpose_b = true, .bias = true},
		{384, 1024, 768, .transpose_a = true},
		{1024, 389, 700, .transpose_a = true},
		/* too small to be cut */
		{96, 512, 40, .transpose_b = true, .bias = true, .relu = true},
		{96, 40, 512, .transpose_b = true, .bias = true},
		{96, 512, 40, .transpose_a = false},
		{40, 512, 96, .transpose_a = true},
		{512, 40, 96, .transpose_a = true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
		const inv_matmul_spec *s = &specs[i];
		float *a = draw("a", s->m * s->k), *b = draw("b", s->k * s->n);
		float *bias = draw("c", s->n), *out[3];
		bool several = (double)s->m * (double)s->n * (double)s->k >= 1e8; /* tiles */

		assert_true(several == (i < 5));

		for (unsigned t = 0; t < 3; t++) {
			invar_context *ctx;
			inv_matmul *plan;

			out[t] = inv_calloc(s->m * s->n, sizeof(float));
			assert_int_equal(invar_context_new(t + 1, NULL, &ctx), INVAR_OK);
			assert_int_equal(inv_matmul_new(ctx, s, &plan), INVAR_OK);
			assert_int_equal(inv_matmul_run(plan, a, b, bias, out[t]), INVAR_OK);
			inv_matmul_free(plan);
			invar_context_free(ctx);
			assert_memory_equal(out[0], out[t], s->m * s->n * sizeof(float));
		}
		check_some_cells(s, a, b, bias, out[0]);
		inv_free(a);
		inv_free(b);
		inv_free(bias);
		for (unsigned t = 0; t < 3; t++)
			inv_free(out[t]);
	}
}

/* Some rows and some columns, enough of them to be packed. */
static void a_share_has_the_bits_of_the_whole(void **state)
{
	enum { M = 101, N = 77, K = 450 };
	static const size_t firsts[] = {0, 3, 40, 61};
	float *a = draw("a", M * K), *b = draw("b", N * K), *bias = draw("c", N);
	float whole[M * N], part[M * N];
	const inv_matmul_spec all = {M, N, K, .transpose_b = true, .bias = true, .relu = true};
	inv_matmul *plan;
	invar_context *ctx;

	(void)state;
	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	if (!(ctx->cpu & INV_CPU_PANELS)) { /* the libraries' order depends on the shape */
		invar_context_free(ctx);
		skip();
	}
	assert_int_equal(inv_matmul_new(ctx, &all, &plan), INVAR_OK);
	assert_int_equal(inv_matmul_run(plan, a, b, bias, whole), INVAR_OK);
	inv_matmul_free(plan);
	for (size_t f = 0; f < sizeof firsts / sizeof *firsts; f++)
		for (int rows = 0; rows < 2; rows++) {
			size_t first = firsts[f];
			inv_matmul_spec s = all;

			*(rows ? &s.m : &s.n) = 16;
			assert_true(inv_matmul_is_packed(ctx, &s));
			assert_int_equal(inv_matmul_new(ctx, &s, &plan), INVAR_OK);
			assert_int_equal(inv_matmul_run(plan, rows ? a + first * K : a,
			                                rows ? b : b + first * K,
			                                rows ? bias : bias + first, part),
			                 INVAR_OK);
			inv_matmul_free(plan);
			for (size_t i = 0; i < s.m; i++)
				assert_memory_equal(part + i * s.n,
				                    whole + (i + (rows ? first : 0)) * N +
				                        (rows ? 0 : first),
				                    s.n * sizeof *part);
		}
	invar_context_free(ctx);
	inv_free(a);
	inv_free(b);
	inv_free(bias);
}

typedef struct gathered {
	float *c;
	size_t n, cells;
} gathered;

static void gather(void *user, const float *part, size_t stride, size_t row, size_t rows,
                   size_t col, size_t cols)
{
	gathered *g = user;

	for (size_t i = 0; i < rows; i++)
		memcpy(g->c + (row + i) * g->n + col, part + i * stride, cols * sizeof *part);
#pragma omp atomic
	g->cells += rows * cols;
}

/* Every cell once, with the bits of the whole product, also from scratch that is shared. */
static void parts_make_up_the_whole(void **state)
{
	static const size_t sizes[][3] = {{700, 90, 500}, {90, 1700, 400}, {4, 9, 3}};

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		const inv_matmul_spec s = {sizes[i][0], sizes[i][1], sizes[i][2],
		                           .transpose_a = true};
		float *a = draw("a", s.m * s.k), *b = draw("b", s.k * s.n);
		float *c = inv_calloc(s.m * s.n, sizeof *c);
		float *spare = inv_calloc(s.m * s.n, sizeof *c);
		gathered g = {inv_calloc(s.m * s.n, sizeof *c), s.n, 0};
		inv_matmul *plans[3] = {NULL};
		invar_context *ctx;

		assert_int_equal(invar_context_new(2, NULL, &ctx), INVAR_OK);
		assert_int_equal(inv_matmul_new(ctx, &s, &plans[0]), INVAR_OK);
		assert_int_equal(inv_matmul_new(ctx, &s, &plans[2]), INVAR_OK);
		inv_matmul_share(plans, 3);
		assert_true(inv_matmul_memory(plans[0]) == 0 || inv_matmul_memory(plans[2]) == 0);
		assert_int_equal(inv_matmul_run(plans[0], a, b, NULL, c), INVAR_OK);
		assert_int_equal(inv_matmul_run_parts(plans[2], a, b, spare, gather, &g), INVAR_OK);
		assert_int_equal(g.cells, s.m * s.n);
		assert_memory_equal(g.c, c, s.m * s.n * sizeof *c);
		inv_matmul_free(plans[0]);
		inv_matmul_free(plans[2]);
		invar_context_free(ctx);
		inv_free(a);
		inv_free(b);
		inv_free(c);
		inv_free(spare);
		inv_free(g.c);
	}
}

/* The product, then the mask, then the sums, whichever way it is cut. */
static void masks_and_sums_are_those_of_separate_passes(void **state)
{
	static const size_t sizes[][3] = {
		{90, 1700, 400}, {1700, 90, 400}, {61, 37, 800}, {4, 9, 3}};

	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		const inv_matmul_spec s = {.m = sizes[i][0], .n = sizes[i][1], .k = sizes[i][2]};
		float *a = draw("a", s.m * s.k), *b = draw("b", s.k * s.n),
			  *mask = draw("m", s.m * s.n);
		float *c = inv_calloc(s.m * s.n, sizeof *c),
			  *got = inv_calloc(s.m * s.n, sizeof *c);
		float *sums = draw("s", s.n), *want = draw("s", s.n);
		invar_context *ctx;
		inv_matmul *plan;

		assert_int_equal(invar_context_new(2, NULL, &ctx), INVAR_OK);
		assert_int_equal(inv_matmul_new(ctx, &s, &plan), INVAR_OK);
		assert_int_equal(inv_matmul_run(plan, a, b, NULL, c), INVAR_OK);
		for (size_t j = 0; j < s.m * s.n; j++) {
			c[j] = mask[j] > 0 ? c[j] : 0;
			want[j % s.n] += c[j];
		}
		assert_int_equal(inv_matmul_run_masked(plan, a, b, mask, got, sums), INVAR_OK);
		assert_memory_equal(got, c, s.m * s.n * sizeof *c);
		assert_memory_equal(sums, want, s.n * sizeof *sums);
		inv_matmul_free(plan);
		invar_context_free(ctx);
		for (size_t f = 0; f < 7; f++)
			inv_free((float *[]){a, b, mask, c, got, sums, want}[f]);
	}
}

/* If a ReLU swallowed a NaN, `apply` would return a plausible number. */
static void a_nan_goes_through_the_one_shot_call(void **state)
{
	static const size_t sizes[][3] = {{5, 6, 7}, {70, 90, 40}};
	invar_context *ctx;

	(void)state;
	assert_int_equal(invar_context_new(2, NULL, &ctx), INVAR_OK);
	assert_int_equal(inv_openblas_need_for(ctx), INVAR_OK);
	for (size_t i = 0; i < 2; i++) {
		inv_matmul_spec s = {sizes[i][0],         sizes[i][1],  sizes[i][2],
		                     .transpose_b = true, .bias = true, .relu = true};
		float *a = draw("a", s.m * s.k), *b = draw("b", s.k * s.n), *bias = draw("c", s.n);
		float *c = inv_calloc(s.m * s.n, sizeof *c);

		a[2 * s.k + 3] = NAN;
		inv_gemm(ctx, &s, a, b, bias, c);
		assert_true(isnan(c[2 * s.n]) && isnan(c[3 * s.n - 1]) && !isnan(c[3 * s.n]));
		inv_free(a);
		inv_free(b);
		inv_free(bias);
		inv_free(c);
	}
	invar_context_free(ctx);
}

static void invar_cpu_ref_takes_the_loop(void **state)
{
	const inv_matmul_spec s = {5, 6, 7, .transpose_b = true, .bias = true, .relu = true};
	float *a = draw("a", 35), *b = draw("b", 42), *bias = draw("c", 6), want[30], got[30];
	invar_context *ctx;
	inv_matmul *plan;

	(void)state;
	setenv("INVAR_CPU", "ref", 1);
	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	unsetenv("INVAR_CPU");
	inv_matmul_ref(&s, a, b, bias, want);
	assert_int_equal(inv_matmul_new(ctx, &s, &plan), INVAR_OK);
	assert_int_equal(inv_matmul_run(plan, a, b, bias, got), INVAR_OK);
	assert_memory_equal(want, got, sizeof want);
	inv_matmul_free(plan);
	invar_context_free(ctx);
	inv_free(a);
	inv_free(b);
	inv_free(bias);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plans_and_calls_equal_the_loop),
		cmocka_unit_test(products_add_to_what_is_there),
		cmocka_unit_test(the_bits_do_not_depend_on_the_threads),
		cmocka_unit_test(a_share_has_the_bits_of_the_whole),
		cmocka_unit_test(parts_make_up_the_whole),
		cmocka_unit_test(masks_and_sums_are_those_of_separate_passes),
		cmocka_unit_test(a_nan_goes_through_the_one_shot_call),
		cmocka_unit_test(invar_cpu_ref_takes_the_loop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
