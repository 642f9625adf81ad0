/* SPDX-License-Identifier: Apache-2.0 */
/* test_neighbours.c - neighbours against the plain loops, with ties and extremes. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "math/neighbours.h"

enum { MOST = 700, WIDE = 70, MAX_K = 60 };

typedef struct cloud {
	size_t n, m, w;
	float rows[MOST * WIDE], q[MOST * WIDE];
	uint32_t row_class[MOST], class[MOST], leave_out[MOST];
} cloud;

static cloud c; /* too large for a stack */

static invar_context *context(unsigned threads)
{
	invar_context *ctx;

	assert_int_equal(invar_context_new(threads, NULL, &ctx), INVAR_OK);
	return ctx;
}

static void draw(size_t n, size_t m, size_t w, uint32_t classes)
{
	inv_stream s = inv_stream_of(n * 1000 + w, "cloud", 0);
	inv_cursor cursor = inv_cursor_of(&s, 2);

	c.n = n;
	c.m = m;
	c.w = w;
	inv_fill_normal(&s, 0, c.rows, n * w);
	inv_fill_normal(&s, 1, c.q, m * w);
	for (size_t i = 0; i < n; i++)
		c.row_class[i] = inv_next_below(&cursor, classes);
	for (size_t i = 0; i < m; i++) {
		c.class[i] = inv_next_below(&cursor, classes);
		c.leave_out[i] = inv_next_below(&cursor, (uint32_t)n);
	}
}

/* Rounded to few values, there are ties and duplicates everywhere, all exact. */
static void make_coarse(void)
{
	for (size_t i = 0; i < c.n * c.w; i++)
		c.rows[i] = rintf(c.rows[i]);
	for (size_t i = 0; i < c.m * c.w; i++)
		c.q[i] = rintf(c.q[i]);
}

/* The flavours add in different orders, so the last digits may differ. */
static void assert_near(double a, double b)
{
	if (!(a == b || fabs(a - b) <= 1e-13 * b))
		fail_msg("n %zu, m %zu, w %zu: %.17g is not %.17g", c.n, c.m, c.w, a, b);
}

static void check_classes(unsigned threads, bool leave_out)
{
	static double own[MOST], other[MOST], own_ref[MOST], other_ref[MOST];
	const uint32_t *left = leave_out ? c.leave_out : NULL;
	invar_context *ctx = context(threads);
	inv_neighbours *p;

	assert_int_equal(inv_neighbours_new(ctx, c.rows, c.n, c.w, c.row_class, 1, &p),
	                 INVAR_OK);
	inv_nearest_by_class(p, c.q, c.class, left, c.m, own, other);
	inv_nearest_by_class_ref(c.rows, c.row_class, c.n, c.w, c.q, c.class, left, c.m,
	                         own_ref, other_ref);
	for (size_t i = 0; i < c.m; i++) {
		assert_near(own[i], own_ref[i]);
		assert_near(other[i], other_ref[i]);
	}
	inv_neighbours_free(p);
	invar_context_free(ctx);
}

static void check_nearest(unsigned threads, size_t k)
{
	static uint32_t index[MOST * MAX_K], index_ref[MOST * MAX_K];
	static double squared[MOST * MAX_K], squared_ref[MOST * MAX_K];
	invar_context *ctx = context(threads);
	inv_neighbours *p;

	k = k < c.n ? k : c.n;
	assert_int_equal(inv_neighbours_new(ctx, c.rows, c.n, c.w, NULL, k, &p), INVAR_OK);
	inv_nearest(p, c.q, c.m, index, squared);
	inv_nearest_ref(c.rows, c.n, c.w, c.q, c.m, k, index_ref, squared_ref);
	for (size_t i = 0; i < c.m * k; i++) {
		assert_near(squared[i], squared_ref[i]);
		if (index[i] != index_ref[i])
			fail_msg("n %zu, m %zu, w %zu, k %zu: place %zu has row %u, not %u", c.n, c.m,
			         c.w, k, i, index[i], index_ref[i]);
	}
	inv_neighbours_free(p);
	invar_context_free(ctx);
}

/* The gallery's own rows; k at most what is left without one of them. */
static void check_others(unsigned threads, size_t k)
{
	static uint32_t index[MOST * MAX_K], index_ref[MOST * MAX_K];
	static double squared[MOST * MAX_K], squared_ref[MOST * MAX_K];
	size_t first = c.n / 3, m = c.n - first;
	invar_context *ctx = context(threads);
	inv_neighbours *p;

	k = k < c.n ? k : c.n - 1;
	if (k) {
		assert_int_equal(inv_neighbours_new(ctx, c.rows, c.n, c.w, NULL, k, &p), INVAR_OK);
		inv_nearest_others(p, first, m, index, squared);
		inv_nearest_others_ref(c.rows, c.n, c.w, first, m, k, index_ref, squared_ref);
		for (size_t i = 0; i < m * k; i++) {
			assert_near(squared[i], squared_ref[i]);
			assert_int_equal(index[i], index_ref[i]);
			assert_int_not_equal(index[i], first + i / k);
		}
		inv_neighbours_free(p);
	}
	invar_context_free(ctx);
}

static void check_all(unsigned threads)
{
	static const size_t ks[] = {1, 2, 5, 20, MAX_K};

	check_classes(threads, false);
	check_classes(threads, true);
	for (size_t i = 0; i < sizeof ks / sizeof *ks; i++)
		check_nearest(threads, ks[i]);
	check_others(threads, 20);
}

/* Around the edges of panels (16), groups (6), shortlists (32) and pairs (2). */
static void every_size_equals_the_loops(void **state)
{
	static const size_t rows[] = {1, 2, 7, 15, 16, 17, 31, 33, 100, 260};
	static const size_t queries[] = {1, 5, 6, 7, 13, 50, 97};
	static const size_t widths[] = {1, 2, 3, 16, 33, WIDE};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t k = 0; k < sizeof queries / sizeof *queries; k++) {
			draw(rows[i], queries[k], widths[(i + k) % 6], 1 + (uint32_t)i % 5);
			check_all(2);
		}
	draw(MOST, MOST, WIDE, 7);
	check_all(2);
}

static void ties_and_duplicates_come_out_right(void **state)
{
	static const size_t widths[] = {1, 2, 3, 5, 8};

	(void)state;
	for (size_t i = 0; i < sizeof widths / sizeof *widths; i++) {
		draw(500, 200, widths[i], 4);
		make_coarse();
		check_all(2);
	}
	draw(300, 40, 9, 3);
	for (size_t i = 1; i < c.n; i++) /* the same row all over */
		memcpy(c.rows + i * c.w, c.rows, c.w * sizeof *c.rows);
	check_all(2);
	memcpy(c.q, c.rows, c.w * sizeof *c.q);
	check_all(2);
}

/* The filter is at its worst, or all numbers are equal; answers stay correct. */
static void extremes_come_out_right(void **state)
{
	(void)state;
	draw(400, 60, 12, 3);
	for (size_t i = 0; i < c.n * c.w; i++) /* far from the origin, close together */
		c.rows[i] = 1000 + 1e-3f * c.rows[i];
	for (size_t i = 0; i < c.m * c.w; i++)
		c.q[i] = 1000 + 1e-3f * c.q[i];
	check_all(2);
	draw(400, 60, 12, 3); /* one row far longer than the others */
	c.rows[7 * c.w] = 1e9f;
	check_all(2);
	draw(400, 60, 12, 3); /* queries far too large and far too small */
	for (size_t i = 0; i < c.n * c.w; i++)
		c.rows[i] *= 1e-30f;
	c.q[0] = 3e38f;
	c.q[c.w] = -3e38f;
	check_all(2);
	draw(400, 60, 12, 3);
	for (size_t i = 0; i < c.n * c.w; i++)
		c.rows[i] *= 1e37f;
	check_all(2);
	memset(c.rows, 0, sizeof c.rows);
	memset(c.q, 0, sizeof c.q);
	check_all(2);
}

static void one_and_many_threads_give_the_same_bits(void **state)
{
	static double own[2][MOST], other[2][MOST], squared[2][MOST * 20];
	static uint32_t index[2][MOST * 20];

	(void)state;
	draw(600, MOST, 37, 5);
	for (unsigned threads = 1; threads <= 4; threads++) {
		unsigned at = threads > 1;
		invar_context *ctx = context(threads);
		inv_neighbours *p;

		assert_int_equal(inv_neighbours_new(ctx, c.rows, c.n, c.w, c.row_class, 20, &p),
		                 INVAR_OK);
		inv_nearest_by_class(p, c.q, c.class, NULL, c.m, own[at], other[at]);
		inv_nearest(p, c.q, c.m, index[at], squared[at]);
		if (at) {
			assert_memory_equal(own[0], own[1], sizeof own[0]);
			assert_memory_equal(other[0], other[1], sizeof other[0]);
			assert_memory_equal(index[0], index[1], sizeof index[0]);
			assert_memory_equal(squared[0], squared[1], sizeof squared[0]);
		}
		inv_neighbours_free(p);
		invar_context_free(ctx);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_size_equals_the_loops),
		cmocka_unit_test(ties_and_duplicates_come_out_right),
		cmocka_unit_test(extremes_come_out_right),
		cmocka_unit_test(one_and_many_threads_give_the_same_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
