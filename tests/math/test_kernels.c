/* SPDX-License-Identifier: Apache-2.0 */
/* test_kernels.c - each fast kernel against its plain one, over odd sizes. */
#include "support.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"
#include "base/rng.h"
#include "math/kernels.h"

enum { MOST = 515 };

static const size_t sizes[] = {0, 1, 3, 7, 8, 9, 15, 16, 17, 31, 33, 100, 255, 257, MOST};

typedef struct flavours {
	struct inv_kernels ref, fast;
} flavours;

static flavours both(void)
{
	flavours f;
	invar_context *ctx;

	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	inv_kernels_init(&f.ref, 0);
	inv_kernels_init(&f.fast, ctx->cpu);
	invar_context_free(ctx);
	return f;
}

static void draw(const char *purpose, float *x, size_t count)
{
	inv_stream s = inv_stream_of(7, purpose, 0);

	inv_fill_normal(&s, 0, x, count);
}

static void assert_near(const float *a, const float *b, size_t count, double rel)
{
	for (size_t i = 0; i < count; i++)
		if (!(fabs((double)a[i] - b[i]) <= rel * (fabs((double)b[i]) + 1e-6)))
			fail_msg("element %zu of %zu: %.9g is not %.9g", i, count, a[i], b[i]);
}

static void finite_is_seen_at_every_place(void **state)
{
	const float bad[] = {NAN, INFINITY, -INFINITY};
	float x[MOST];
	flavours f = both();

	(void)state;
	draw("finite", x, MOST);
	x[0] = FLT_MAX;
	x[1] = -0.0f;
	for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
		assert_true(f.fast.all_finite(x, sizes[n]));
		for (size_t i = 0; i < sizes[n]; i++) {
			float keep = x[i];

			x[i] = bad[i % 3];
			assert_false(f.fast.all_finite(x, sizes[n]));
			assert_false(f.ref.all_finite(x, sizes[n]));
			x[i] = keep;
		}
	}
}

static void every_half_widens_alike(void **state)
{
	uint16_t half[1 << 16];
	float *a = malloc(sizeof(float) << 16), *b = malloc(sizeof(float) << 16);
	flavours f = both();

	(void)state;
	for (unsigned i = 0; i < 1 << 16; i++)
		half[i] = (uint16_t)i;
	f.ref.widen_half(half, 1 << 16, a);
	f.fast.widen_half(half, 1 << 16, b);
	for (unsigned i = 0; i < 1 << 16; i++)
		assert_true(a[i] == b[i] || (isnan(a[i]) && isnan(b[i])));
	free(a);
	free(b);
}

static void sums_and_masks_agree(void **state)
{
	enum { ROWS = 5 };
	float h[ROWS * MOST], a[ROWS * MOST], b[ROWS * MOST], sa[MOST], sb[MOST];
	flavours f = both();

	(void)state;
	for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
		size_t width = sizes[n];

		draw("h", h, ROWS * width);
		draw("dh", a, ROWS * width);
		memcpy(b, a, sizeof a);
		h[0] = 0; /* relu'(0) = 0 */
		memset(sa, 0, sizeof sa);
		memset(sb, 0, sizeof sb);
		f.ref.relu_backward(h, ROWS, width, width, a, sa);
		f.fast.relu_backward(h, ROWS, width, width, b, sb);
		assert_memory_equal(a, b, ROWS * width * sizeof *a);
		assert_memory_equal(sa, sb, width * sizeof *sa);
		f.ref.column_sums(h, ROWS, width, sa);
		f.fast.column_sums(h, ROWS, width, sb);
		assert_memory_equal(sa, sb, width * sizeof *sa);
		f.ref.add(h, ROWS * width, a);
		f.fast.add(h, ROWS * width, b);
		assert_memory_equal(a, b, ROWS * width * sizeof *a);
	}
}

static void squared_errors_agree(void **state)
{
	float y[MOST], target[MOST], ga[MOST], gb[MOST];
	flavours f = both();

	(void)state;
	draw("y", y, MOST);
	draw("target", target, MOST);
	for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
		double a = f.ref.squared_error(y, target, sizes[n], 0.37f, ga);
		double b = f.fast.squared_error(y, target, sizes[n], 0.37f, gb);

		assert_true(fabs(a - b) <= 1e-13 * a);
		assert_memory_equal(ga, gb, sizes[n] * sizeof *ga);
	}
}

/* Fused multiply-adds round once, the plain kernel twice. */
static void adamw_agrees(void **state)
{
	const inv_adamw_rates r = {.keep = 0.9999f,
	                           .beta1 = 0.9f,
	                           .beta2 = 0.999f,
	                           .rest1 = 0.1f,
	                           .rest2 = 0.001f,
	                           .step = 1e-3f,
	                           .root = 0.5f,
	                           .eps = 1e-8f};
	float g[MOST], pa[MOST], pb[MOST], ma[MOST], mb[MOST], va[MOST], vb[MOST];
	flavours f = both();

	(void)state;
	for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
		draw("g", g, MOST);
		draw("p", pa, MOST);
		draw("m", ma, MOST);
		for (size_t i = 0; i < MOST; i++)
			va[i] = ma[i] * ma[i];
		memcpy(pb, pa, sizeof pa);
		memcpy(mb, ma, sizeof ma);
		memcpy(vb, va, sizeof va);
		f.ref.adamw(&r, g, sizes[n], pa, ma, va);
		f.fast.adamw(&r, g, sizes[n], pb, mb, vb);
		assert_near(pb, pa, MOST, 1e-5);
		assert_near(mb, ma, MOST, 1e-5);
		assert_near(vb, va, MOST, 1e-5);
	}
}

static void packing_agrees(void **state)
{
	static float x[INV_PAIR_COLS * MOST], a[INV_PAIR_COLS * MOST], b[INV_PAIR_COLS * MOST];
	const float *points[INV_PAIR_COLS];
	flavours f = both();

	(void)state;
	draw("points", x, INV_PAIR_COLS * MOST);
	for (size_t i = 0; i < INV_PAIR_COLS; i++)
		points[i] = x + (INV_PAIR_COLS - 1 - i) * MOST;
	for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
		f.ref.pack_points(points, sizes[n], a);
		f.fast.pack_points(points, sizes[n], b);
		assert_memory_equal(a, b, sizes[n] * INV_PAIR_COLS * sizeof *a);
	}
}

static void pair_distances_agree(void **state)
{
	static float x[INV_PAIR_ROWS * MOST], packed[INV_PAIR_COLS * MOST];
	float a[INV_PAIR_ROWS * INV_PAIR_COLS], b[INV_PAIR_ROWS * INV_PAIR_COLS];
	flavours f = both();

	(void)state;
	draw("x", x, INV_PAIR_ROWS * MOST);
	draw("packed", packed, INV_PAIR_COLS * MOST);
	for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
		f.ref.pair_distances(x, packed, sizes[n], sizes[n], a);
		f.fast.pair_distances(x, packed, sizes[n], sizes[n], b);
		assert_memory_equal(a, b, sizeof a); /* the same fused sum, in the same order */
	}
}

static void pair_sums_agree_and_leave_zeros_out(void **state)
{
	float d2[MOST], e2[MOST];
	flavours f = both();

	(void)state;
	draw("d2", d2, MOST);
	draw("e2", e2, MOST);
	for (size_t i = 0; i < MOST; i++) {
		d2[i] = i % 5 ? d2[i] * d2[i] : 0;
		e2[i] = e2[i] * e2[i];
	}
	for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
		inv_pair_sums a = {.d_min = INFINITY, .ratio_min = INFINITY}, b = a;
		const double *pa = &a.d, *pb = &b.d;

		f.ref.pair_sums(d2, e2, sizes[n], 0.7, 0.9, &a);
		f.fast.pair_sums(d2, e2, sizes[n], 0.7, 0.9, &b);
		assert_int_equal(a.pairs, b.pairs);
		assert_int_equal(a.zero_pairs, b.zero_pairs);
		assert_int_equal(a.zero_pairs, (sizes[n] + 4) / 5);
		for (size_t i = 0; i < 10; i++)
			assert_true(pa[i] == pb[i] || fabs(pa[i] - pb[i]) <= 1e-12 * (1 + fabs(pa[i])));
	}
}

static void squared_distances_agree(void **state)
{
	float x[MOST], y[MOST];
	flavours f = both();

	(void)state;
	draw("x", x, MOST);
	draw("y", y, MOST);
	for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
		double a = f.ref.squared_distance(x, y, sizes[n]);
		double b = f.fast.squared_distance(x, y, sizes[n]);

		assert_true(fabs(a - b) <= 1e-14 * a);
		assert_true(f.fast.squared_distance(x, x, sizes[n]) == 0);
	}
}

/* A product at exactly a half may round either way; all others are equal. */
static void whole_numbers_agree(void **state)
{
	float x[MOST], centre[MOST];
	int16_t a[MOST], b[MOST];
	flavours f = both();

	(void)state;
	draw("x", x, MOST);
	draw("centre", centre, MOST);
	for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
		double lost = f.ref.quantise(x, centre, sizes[n], 0.003, a);
		double rest = f.fast.quantise(x, centre, sizes[n], 0.003, b);

		assert_true(fabs(lost - rest) <= 1e-12 * lost);
		assert_true(lost <= 0.25 * 0.003 * 0.003 * (double)sizes[n] * (1 + 1e-9));
		assert_memory_equal(a, b, sizes[n] * sizeof *a);
	}
}

static void fill_whole(const char *purpose, int16_t *x, size_t count)
{
	inv_stream s = inv_stream_of(7, purpose, 0);
	inv_cursor c = inv_cursor_of(&s, 0);

	for (size_t i = 0; i < count; i++)
		x[i] = (int16_t)((int)inv_next_below(&c, 2001) - 1000);
}

static void integer_tiles_are_equal(void **state)
{
	static int16_t a[2 * INV_DOT_ROWS * MOST], b[2 * INV_DOT_COLS * MOST];
	int32_t sa[INV_DOT_ROWS * INV_DOT_COLS], sb[INV_DOT_ROWS * INV_DOT_COLS];
	flavours f = both();

	(void)state;
	fill_whole("a", a, sizeof a / sizeof *a);
	fill_whole("b", b, sizeof b / sizeof *b);
	a[0] = a[1] = b[0] = b[1] = -32000; /* one pair alone comes near 2^31 */
	for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
		for (size_t i = 0; i < INV_DOT_ROWS * INV_DOT_COLS; i++)
			sa[i] = sb[i] = (int32_t)i - 50;
		f.ref.dot_tile(a, b, sizes[n], sa);
		f.fast.dot_tile(a, b, sizes[n], sb);
		assert_memory_equal(sa, sb, sizeof sa);
	}
}

static void near_columns_agree(void **state)
{
	const inv_near t = {0.02f, 1.5f, 3, 0.9f, 1.1f};
	float scales[INV_DOT_COLS], squares[INV_DOT_COLS], a[INV_DOT_COLS], b[INV_DOT_COLS];
	uint32_t labels[INV_DOT_COLS];
	int32_t dots[INV_DOT_COLS];
	flavours f = both();

	(void)state;
	for (int round = 0; round < 100; round++) {
		inv_stream s = inv_stream_of(7, "near", (uint32_t)round);
		inv_cursor c = inv_cursor_of(&s, 0);
		unsigned bits;

		for (size_t j = 0; j < INV_DOT_COLS; j++) {
			scales[j] = inv_next_uniform(&c);
			squares[j] = j == 5 ? NAN : inv_next_uniform(&c);
			labels[j] = 2 + inv_next_below(&c, 3);
			dots[j] = (int32_t)inv_next_below(&c, 200) - 100;
		}
		bits = f.ref.near_columns(&t, dots, scales, squares, labels, a);
		assert_int_equal(bits, f.fast.near_columns(&t, dots, scales, squares, labels, b));
		assert_true(bits & 1u << 5); /* NaN is not above a limit */
		for (size_t j = 0; j < INV_DOT_COLS; j++)
			assert_true(a[j] == b[j] || j == 5);
	}
}

static void dots_and_largest_agree(void **state)
{
	float x[MOST], y[MOST];
	flavours f = both();

	(void)state;
	draw("x", x, MOST);
	draw("y", y, MOST);
	for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
		double a = f.ref.dot(x, y, sizes[n]), b = f.fast.dot(x, y, sizes[n]);

		assert_true(fabs(a - b) <= 1e-12);
		for (size_t i = 0; i < sizes[n]; i++) {
			float keep = x[i];

			x[i] = 10;
			assert_true(f.fast.largest(x, sizes[n]) == 10);
			x[i] = keep;
		}
		if (sizes[n])
			assert_true(f.fast.largest(x, sizes[n]) == f.ref.largest(x, sizes[n]));
	}
	for (size_t i = 0; i < MOST; i++)
		x[i] = -INFINITY;
	x[MOST / 2] = -3;
	assert_true(f.fast.largest(x, MOST) == -3);
}

/* 2 ulp, counted in those of the exact exponential. */
static void assert_exponential(float got, float argument)
{
	double exact = exp((double)argument);
	float ulp = nextafterf((float)exact, INFINITY) - (float)exact;

	if (!(fabs(got - exact) <= 2 * (double)ulp))
		fail_msg("exp(%.9g) is %.9g, not %.9g", argument, got, exact);
}

static void exponentials_are_within_two_ulp(void **state)
{
	enum { STEPS = 200000 };
	float *x = malloc(STEPS * sizeof *x);
	flavours f = both();

	(void)state;
	for (int flavour = 0; flavour < 2; flavour++) {
		const struct inv_kernels *k = flavour ? &f.fast : &f.ref;

		for (size_t i = 0; i < STEPS; i++)
			x[i] = (float)i * (-87.3f / STEPS);
		k->exp_shifted(0, 1, STEPS, x);
		for (size_t i = 0; i < STEPS; i++)
			assert_exponential(x[i], (float)i * (-87.3f / STEPS));
	}
	free(x);
}

static void exponentials_end_in_zero_and_keep_what_is_no_number(void **state)
{
	float x[] = {0, -87.29f, -87.31f, -1000, -INFINITY, NAN, -0.0f, -1e30f, NAN};
	flavours f = both();

	(void)state;
	f.fast.exp_shifted(0, 1, sizeof x / sizeof *x, x);
	assert_true(x[0] == 1 && x[6] == 1);
	assert_true(x[1] > 0 && x[2] == 0 && x[3] == 0 && x[4] == 0 && x[7] == 0);
	assert_true(isnan(x[5]) && isnan(x[8]));
}

static void exponentials_and_their_sums_agree(void **state)
{
	float x[MOST], weight[MOST], a[MOST], b[MOST];
	flavours f = both();

	(void)state;
	draw("x", x, MOST);
	draw("weight", weight, MOST);
	for (size_t i = 0; i < MOST; i++)
		x[i] = fabsf(x[i]);
	for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
		double sa, sb;

		memcpy(a, x, sizeof x);
		memcpy(b, x, sizeof x);
		sa = f.ref.exp_shifted(4, 7, sizes[n], a);
		sb = f.fast.exp_shifted(4, 7, sizes[n], b);
		assert_near(b, a, MOST, 3e-7); /* the rest is unchanged */
		assert_true(fabs(sa - sb) <= 3e-7 * sa);
		memcpy(a, x, sizeof x);
		memcpy(b, x, sizeof x);
		sa = f.ref.exp_weighted(weight, 0.7f, sizes[n], a);
		sb = f.fast.exp_weighted(weight, 0.7f, sizes[n], b);
		assert_near(b, a, MOST, 3e-7);
		assert_true(fabs(sa - sb) <= 3e-7 * (double)sizes[n]);
	}
}

static void squares_of_products_agree(void **state)
{
	float squares[MOST], x[MOST], a[MOST], b[MOST];
	flavours f = both();

	(void)state;
	draw("squares", squares, MOST);
	draw("x", x, MOST);
	for (size_t i = 0; i < MOST; i++)
		squares[i] = 10 + fabsf(squares[i]);
	for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++)
		for (size_t i = 0; i <= sizes[n]; i++) {
			memcpy(a, x, sizeof x);
			a[i % MOST] = i < sizes[n] ? (3 + squares[i]) / 2 : a[i % MOST];
			memcpy(b, a, sizeof a);
			assert_int_equal(f.ref.squares_of_products(3, squares, 1e-3f, sizes[n], a),
			                 i < sizes[n]);
			assert_int_equal(f.fast.squares_of_products(3, squares, 1e-3f, sizes[n], b),
			                 i < sizes[n]);
			assert_memory_equal(a, b, sizeof a);
		}
}

static void turning_agrees(void **state)
{
	static float x[64 * 64], a[64 * 64], b[64 * 64];
	flavours f = both();

	(void)state;
	draw("x", x, 64 * 64);
	for (size_t rows = 1; rows < 60; rows += 6)
		for (size_t cols = 1; cols < 60; cols += 7) {
			memset(a, 0, sizeof a);
			memset(b, 0, sizeof b);
			f.ref.transpose(x, rows, cols, cols + 2, rows + 1, a);
			f.fast.transpose(x, rows, cols, cols + 2, rows + 1, b);
			assert_memory_equal(a, b, sizeof a);
		}
}

static void mirrored_sums_agree(void **state)
{
	enum { SIDE = 61 };
	static float x[SIDE * SIDE], a[SIDE * SIDE], b[SIDE * SIDE];
	float scale[SIDE];
	flavours f = both();

	(void)state;
	draw("x", x, SIDE * SIDE);
	draw("scale", scale, SIDE);
	for (size_t cut = 0; cut < SIDE; cut++) {
		memcpy(a, x, sizeof x);
		memcpy(b, x, sizeof x);
		for (int flavour = 0; flavour < 2; flavour++) {
			const struct inv_kernels *k = flavour ? &f.fast : &f.ref;
			float *c = flavour ? b : a;

			k->add_mirrored(scale, scale, cut, cut, SIDE, c, c);
			k->add_mirrored(scale, scale + cut, cut, SIDE - cut, SIDE, c + cut,
			                c + cut * SIDE);
			k->add_mirrored(scale + cut, scale + cut, SIDE - cut, SIDE - cut, SIDE,
			                c + cut * SIDE + cut, c + cut * SIDE + cut);
		}
		assert_memory_equal(a, b, sizeof a);
		for (size_t i = 0; i < SIDE; i++)
			for (size_t j = 0; j < SIDE; j++) {
				float p = scale[i] * x[i * SIDE + j], q = scale[j] * x[j * SIDE + i];

				assert_true(b[i * SIDE + j] == b[j * SIDE + i]);
				assert_true(fabsf(b[i * SIDE + j] - (p + q)) < 1e-5f);
			}
	}
}

static void counts_agree(void **state)
{
	static uint32_t a[1 << 16], b[1 << 16];
	float x[MOST];
	flavours f = both();

	(void)state;
	draw("x", x, MOST);
	x[3] = NAN;
	for (size_t n = 0; n < sizeof sizes / sizeof *sizes; n++) {
		memset(a, 0, sizeof a);
		memset(b, 0, sizeof b);
		f.ref.count_upper(x, sizes[n], a);
		f.fast.count_upper(x, sizes[n], b);
		assert_memory_equal(a, b, sizeof a);
		for (uint32_t upper = 0x3f00; upper < 0x3f90; upper++) {
			f.ref.count_lower(x, sizes[n], upper, a);
			f.fast.count_lower(x, sizes[n], upper, b);
		}
		assert_memory_equal(a, b, sizeof a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finite_is_seen_at_every_place),
		cmocka_unit_test(every_half_widens_alike),
		cmocka_unit_test(sums_and_masks_agree),
		cmocka_unit_test(squared_errors_agree),
		cmocka_unit_test(adamw_agrees),
		cmocka_unit_test(packing_agrees),
		cmocka_unit_test(pair_distances_agree),
		cmocka_unit_test(pair_sums_agree_and_leave_zeros_out),
		cmocka_unit_test(squared_distances_agree),
		cmocka_unit_test(whole_numbers_agree),
		cmocka_unit_test(integer_tiles_are_equal),
		cmocka_unit_test(near_columns_agree),
		cmocka_unit_test(dots_and_largest_agree),
		cmocka_unit_test(exponentials_are_within_two_ulp),
		cmocka_unit_test(exponentials_end_in_zero_and_keep_what_is_no_number),
		cmocka_unit_test(exponentials_and_their_sums_agree),
		cmocka_unit_test(squares_of_products_agree),
		cmocka_unit_test(turning_agrees),
		cmocka_unit_test(mirrored_sums_agree),
		cmocka_unit_test(counts_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
