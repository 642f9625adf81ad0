/* SPDX-License-Identifier: Apache-2.0 */
/* test_places.c - rankings against the plain loops, with ties and extremes. */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "math/places.h"

enum { MAX_ROWS = 700, MAX_WIDTH = 70 };

typedef struct cloud {
	size_t n, m, w, views; /* rows of a query */
	float rows[MAX_ROWS * MAX_WIDTH], q[MAX_ROWS * MAX_WIDTH];
	uint32_t row_class[MAX_ROWS], class[MAX_ROWS], own[MAX_ROWS];
} cloud;

static cloud c; /* too large for a stack */

/* Some rows have no class, and there is a class that no row has. */
static void draw_views(size_t n, size_t m, size_t w, size_t views, uint32_t classes)
{
	inv_stream s = inv_stream_of(n * 1000 + w, "cloud", 0);
	inv_cursor cursor = inv_cursor_of(&s, 2);

	c.n = n;
	c.m = m;
	c.w = w;
	c.views = views;
	assert_in_range(m * views, 1, MAX_ROWS);
	inv_fill_normal(&s, 0, c.rows, n * w);
	inv_fill_normal(&s, 1, c.q, m * views * w);
	for (size_t i = 0; i < n; i++) {
		uint32_t class = inv_next_below(&cursor, classes + 1);

		c.row_class[i] = class < classes ? class : INV_PLACES_NO_CLASS;
	}
	for (size_t i = 0; i < m; i++) {
		c.class[i] = i % 9 ? inv_next_below(&cursor, classes + 1) : INV_PLACES_NO_CLASS;
		c.own[i] = inv_next_below(&cursor, (uint32_t)n);
	}
}

static void draw(size_t n, size_t m, size_t w, uint32_t classes)
{
	draw_views(n, m, w, 1, classes);
}

static void scale_by(float factor)
{
	for (size_t i = 0; i < c.n * c.w; i++)
		c.rows[i] *= factor;
	for (size_t i = 0; i < c.m * c.views * c.w; i++)
		c.q[i] *= factor;
}

/* Rounded to few values, there are ties and duplicates everywhere, all exact. */
static void make_coarse(void)
{
	for (size_t i = 0; i < c.n * c.w; i++)
		c.rows[i] = rintf(c.rows[i]);
	for (size_t i = 0; i < c.m * c.views * c.w; i++)
		c.q[i] = rintf(c.q[i]);
}

static void find(unsigned threads, inv_distance distance, bool by_class, bool leave_own_out,
                 inv_place *out)
{
	const inv_gallery g = {c.rows, c.n, c.w, by_class ? c.row_class : NULL};
	const inv_place_queries q = {c.q, c.m, c.own, by_class ? c.class : NULL, leave_own_out};
	invar_context *ctx;
	inv_places *p;

	assert_int_equal(invar_context_new(threads, NULL, &ctx), INVAR_OK);
	assert_int_equal(inv_places_new(ctx, &g, distance, c.views, &p), INVAR_OK);
	inv_places_find(p, &q, out);
	inv_places_free(p);
	invar_context_free(ctx);
}

static void check(inv_distance distance, bool leave_own_out)
{
	static inv_place found[MAX_ROWS], two[MAX_ROWS], alone[MAX_ROWS], wanted[MAX_ROWS];
	static double size[MAX_ROWS];
	const inv_gallery g = {c.rows, c.n, c.w, c.row_class};
	const inv_place_queries q = {c.q, c.m, c.own, c.class, leave_own_out};

	find(1, distance, true, leave_own_out, found);
	find(2, distance, true, leave_own_out, two);
	find(2, distance, false, false, alone); /* without classes products are in float */
	inv_places_ref(&g, distance, c.views, &q, size, wanted);
	for (size_t i = 0; i < c.m; i++) {
		if (alone[i].own != wanted[i].own)
			fail_msg("n %zu, w %zu, distance %d, query %zu: %u, not %u", c.n, c.w, distance,
			         i, alone[i].own, wanted[i].own);
		if (found[i].own != wanted[i].own || found[i].first != wanted[i].first ||
		    !(fabs(found[i].precision - wanted[i].precision) <= 1e-12 ||
		      (isnan(found[i].precision) && isnan(wanted[i].precision))))
			fail_msg("n %zu, w %zu, distance %d, query %zu: %u %u %.17g, not %u %u %.17g",
			         c.n, c.w, distance, i, found[i].own, found[i].first,
			         found[i].precision, wanted[i].own, wanted[i].first,
			         wanted[i].precision);
		assert_memory_equal(&found[i], &two[i], sizeof *found);
	}
}

static void check_all(void)
{
	for (int distance = 0; distance < INV_DISTANCES; distance++) {
		check((inv_distance)distance, false);
		check((inv_distance)distance, true);
	}
}

static void equal_to_plain_loops_at_odd_sizes(void **state)
{
	static const size_t ns[] = {1, 2, 15, 255, 256, 257, 513, 699};
	static const size_t ws[] = {1, 3, 16, 67};

	(void)state;
	for (size_t i = 0; i < sizeof ns / sizeof *ns; i++)
		for (size_t k = 0; k < sizeof ws / sizeof *ws; k++) {
			draw(ns[i], 1 + ns[i] % 130, ws[k], 1 + (uint32_t)i);
			check_all();
		}
}

/* The nearest of a query's rows decides, by image and by class. */
static void queries_of_several_rows(void **state)
{
	static const size_t ns[] = {1, 2, 257, 511}, ws[] = {1, 3, 67};

	(void)state;
	for (size_t i = 0; i < sizeof ns / sizeof *ns; i++)
		for (size_t k = 0; k < sizeof ws / sizeof *ws; k++)
			for (size_t views = 2; views <= 5; views *= 2) {
				draw_views(ns[i], 1 + ns[i] % 130, ws[k], views, 1 + (uint32_t)i);
				check_all();
			}
	draw_views(300, 40, 3, 4, 4);
	make_coarse();
	check(INV_L2, false);
	check(INV_L2, true);
	/* Rows of very different lengths, one of zeros, and one that is a gallery row. */
	draw_views(200, 50, 20, 4, 3);
	for (size_t i = 0; i < c.m; i++)
		for (size_t k = 0; k < c.w; k++) {
			c.q[(4 * i + 1) * c.w + k] *= 1e6f;
			c.q[(4 * i + 2) * c.w + k] = 0;
			c.q[(4 * i + 3) * c.w + k] = c.rows[3 * i * c.w + k];
		}
	check_all();
}

/*
 * By L2 all distances are whole numbers. By cosine equal rows tie, and so do rows whose
 * products with the query are 0; other ties are of rounding, which 2 and 4 avoid: rows of
 * one value and its negative have lengths that are powers of two.
 */
static void ties_go_by_row(void **state)
{
	(void)state;
	draw(300, 40, 3, 4);
	make_coarse();
	check(INV_L2, false);
	check(INV_L2, true);
	draw(300, 40, 16, 4);
	for (size_t i = 0; i < c.n * c.w; i++)
		c.rows[i] = c.rows[i] > 0 ? 1 : -1;
	for (size_t i = 0; i < c.m * c.w; i++)
		c.q[i] = c.q[i] > 0 ? 1 : -1;
	check_all();
}

/* A copy nearer than float precision, a cloud far from 0, rows of zeros. */
static void near_rows_are_measured_directly(void **state)
{
	(void)state;
	draw(500, 60, 24, 5);
	for (size_t i = 0; i < c.m; i++)
		for (size_t k = 0; k < c.w; k++) {
			float x = c.q[i * c.w + k];

			c.rows[2 * i * c.w + k] = nextafterf(x, 9);
			c.rows[(2 * i + 1) * c.w + k] = k ? x : nextafterf(x, -9);
		}
	check_all();
	for (size_t i = 0; i < c.n * c.w; i++)
		c.rows[i] += 1000;
	for (size_t i = 0; i < c.m * c.w; i++)
		c.q[i] += 1000;
	check(INV_L2, false);
	memset(c.rows, 0, 7 * c.w * sizeof *c.rows);
	memset(c.q, 0, 2 * c.w * sizeof *c.q);
	check_all();
}

static void sizes_of_features_do_not_matter(void **state)
{
	(void)state;
	draw(200, 30, 20, 3);
	scale_by(1e-30f);
	check_all();
	draw(200, 30, 20, 3);
	scale_by(1e30f);
	check_all();
}

static void rows_of_no_class_have_no_precision(void **state)
{
	inv_place found[40];

	(void)state;
	draw(50, 40, 5, 3);
	find(1, INV_L2, true, false, found);
	assert_true(isnan(found[0].precision) && found[0].first == 0); /* no class */
	for (size_t i = 0; i < c.m; i++)
		if (c.class[i] == 3) /* no row of that class */
			assert_true(isnan(found[i].precision) && found[i].first == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_to_plain_loops_at_odd_sizes),
		cmocka_unit_test(queries_of_several_rows),
		cmocka_unit_test(ties_go_by_row),
		cmocka_unit_test(near_rows_are_measured_directly),
		cmocka_unit_test(sizes_of_features_do_not_matter),
		cmocka_unit_test(rows_of_no_class_have_no_precision),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
