/* SPDX-License-Identifier: Apache-2.0 */
/* test_structure.c - structure against golden values, the plain loops and itself. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "golden.h"
#include "measure/structure.h"
#include "run/results.h"

static invar_context *context(unsigned threads)
{
	invar_context *ctx;

	assert_int_equal(invar_context_new(threads, NULL, &ctx), INVAR_OK);
	return ctx;
}

static void check_case(const char *root, const char *name, const char *suffix)
{
	static const char *const names[] = {"pairs", "zero_pairs", "L1",   "L2",    "m",
	                                    "b",     "R2",         "RMSD", "NRMSD", "CVRMSD"};
	golden *g = golden_open(root, name);
	invar_context *ctx = context(2);
	size_t shape[GOLDEN_NDIM], wide[GOLDEN_NDIM];
	const float *x = golden_f32(g, "x", shape), *e = golden_f32(g, "e", wide);
	inv_structure r;
	double got[10];

	assert_int_equal(inv_structure_measure(ctx, x, (uint32_t)shape[1], e, (uint32_t)wide[1],
	                                       shape[0], &r),
	                 INVAR_OK);
	memcpy(got,
	       (double[]){(double)r.pairs, (double)r.zero_pairs, r.l1, r.l2, r.m, r.b, r.r2,
	                  r.rmsd, r.nrmsd, r.cvrmsd},
	       sizeof got);
	for (size_t i = 0; i < 10; i++) {
		char full[40];

		snprintf(full, sizeof full, "%s%s", names[i], suffix);
		golden_check_value(g, full, got[i]);
	}
	invar_context_free(ctx);
	golden_close(g);
}

static void golden_points(void **state)
{
	(void)state;
	for (const char *const *root = golden_roots(); *root; root++) {
		check_case(*root, "structure", "");
		check_case(*root, "structure_duplicates", "_drop");
	}
}

/* ---- The definition: two passes over all pairs in double ------------------------- */

static double distance(const float *a, const float *b, uint32_t width)
{
	double sum = 0;

	for (uint32_t k = 0; k < width; k++)
		sum += ((double)a[k] - b[k]) * ((double)a[k] - b[k]);
	return sqrt(sum);
}

typedef struct moments {
	double d_mean, e_mean, dd, ee, de, gap, d_min, d_max;
} moments;

static void first_pass(const float *x, uint32_t d, const float *e, uint32_t w, uint64_t n,
                       moments *m, inv_structure *out)
{
	for (uint64_t i = 0; i < n; i++)
		for (uint64_t j = i + 1; j < n; j++) {
			double dist = distance(x + i * d, x + j * d, d);
			double code = distance(e + i * w, e + j * w, w);

			if (dist == 0) {
				out->zero_pairs++;
				continue;
			}
			out->pairs++;
			out->l1 = fmin(out->l1, code / dist);
			out->l2 = fmax(out->l2, code / dist);
			m->d_min = fmin(m->d_min, dist);
			m->d_max = fmax(m->d_max, dist);
			m->d_mean += dist;
			m->e_mean += code;
			m->gap += (code - dist) * (code - dist);
		}
}

static void second_pass(const float *x, uint32_t d, const float *e, uint32_t w, uint64_t n,
                        moments *m)
{
	for (uint64_t i = 0; i < n; i++)
		for (uint64_t j = i + 1; j < n; j++) {
			double dist = distance(x + i * d, x + j * d, d);
			double a = dist - m->d_mean;
			double b = distance(e + i * w, e + j * w, w) - m->e_mean;

			if (dist == 0)
				continue;
			m->dd += a * a;
			m->ee += b * b;
			m->de += a * b;
		}
}

static void structure_ref(const float *x, uint32_t d, const float *e, uint32_t w, uint64_t n,
                          inv_structure *out)
{
	moments m = {.d_min = INFINITY};
	double pairs;

	*out = (inv_structure){.l1 = INFINITY};
	first_pass(x, d, e, w, n, &m, out);
	pairs = (double)out->pairs;
	m.d_mean /= pairs;
	m.e_mean /= pairs;
	second_pass(x, d, e, w, n, &m);
	out->m = m.de / m.dd;
	out->b = m.e_mean - out->m * m.d_mean;
	out->r2 = m.de * m.de / (m.dd * m.ee);
	out->rmsd = sqrt(m.gap / pairs);
	out->nrmsd = out->rmsd / (m.d_max - m.d_min);
	out->cvrmsd = out->rmsd / m.d_mean;
}

static float *draw(const char *purpose, size_t count)
{
	inv_stream s = inv_stream_of(11, purpose, 0);
	float *x = inv_alloc(count * sizeof *x);

	inv_fill_normal(&s, 0, x, count);
	return x;
}

static void assert_alike(const inv_structure *a, const inv_structure *b)
{
	const double *pa = &a->l1, *pb = &b->l1;

	assert_int_equal(a->pairs, b->pairs);
	assert_int_equal(a->zero_pairs, b->zero_pairs);
	for (int i = 0; i < 8; i++)
		if (pa[i] != pb[i] && !(fabs(pa[i] - pb[i]) <= 1e-5 * (1 + fabs(pb[i]))) &&
		    !(isnan(pa[i]) && isnan(pb[i])))
			fail_msg("number %d is %.9g, not %.9g", i, pa[i], pb[i]);
}

/* Around the edges of bands (96), strips (128), groups (6) and vectors (16). */
static void every_size_equals_the_loops(void **state)
{
	static const size_t rows[] = {2,  3,  5,   6,   7,   15,  17, 95,
	                              96, 97, 127, 128, 129, 193, 260};
	static const uint32_t widths[][2] = {{1, 1}, {3, 5}, {8, 2}, {17, 16}, {40, 33}};
	invar_context *ctx = context(2);

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t k = 0; k < sizeof widths / sizeof *widths; k++) {
			uint32_t d = widths[k][0], w = widths[k][1];
			float *x = draw("x", rows[i] * d), *e = draw("e", rows[i] * w);
			inv_structure fast, ref;

			if (rows[i] > 5) { /* equal points: left out and counted */
				memcpy(x, x + 2 * d, d * sizeof *x);
				memcpy(x + (rows[i] - 1) * d, x + 2 * d, d * sizeof *x);
			}
			assert_int_equal(inv_structure_measure(ctx, x, d, e, w, rows[i], &fast),
			                 INVAR_OK);
			structure_ref(x, d, e, w, rows[i], &ref);
			assert_alike(&fast, &ref);
			inv_free(x);
			inv_free(e);
		}
	invar_context_free(ctx);
}

static void one_and_many_threads_give_the_same_bits(void **state)
{
	enum { N = 700, D = 19 };
	float *x = draw("x", N * D), *e = draw("e", N * D);
	inv_structure first, r;

	(void)state;
	for (unsigned threads = 1; threads <= 4; threads++) {
		invar_context *ctx = context(threads);

		assert_int_equal(inv_structure_measure(ctx, x, D, e, D, N, &r), INVAR_OK);
		if (threads == 1)
			first = r;
		assert_memory_equal(&first, &r, sizeof r);
		invar_context_free(ctx);
	}
	inv_free(x);
	inv_free(e);
}

static void an_isometry_is_seen_as_one(void **state)
{
	enum { N = 150, D = 12 };
	float *x = draw("x", N * D), *e = inv_alloc(N * D * sizeof *e);
	invar_context *ctx = context(2);
	inv_structure r;

	(void)state;
	for (size_t i = 0; i < N; i++) /* a permutation of coordinates, mirrored and shifted */
		for (size_t k = 0; k < D; k++)
			e[i * D + k] = 3 - x[i * D + (k + 5) % D];
	assert_int_equal(inv_structure_measure(ctx, x, D, e, D, N, &r), INVAR_OK);
	assert_true(fabs(r.l1 - 1) < 1e-5 && fabs(r.l2 - 1) < 1e-5 && fabs(r.r2 - 1) < 1e-6);
	assert_true(r.rmsd < 1e-5);
	inv_free(x);
	inv_free(e);
	invar_context_free(ctx);
}

static void what_cannot_be_measured_is_said(void **state)
{
	float x[6] = {1, 2, 1, 2, 1, 2};
	invar_context *ctx = context(1);
	inv_structure r;

	(void)state;
	assert_int_equal(inv_structure_measure(ctx, x, 2, x, 2, 1, &r), INVAR_E_USE);
	test_assert_error("at least 2 rows");
	assert_int_equal(inv_structure_measure(ctx, x, 2, x, 2, 3, &r), INVAR_E_NUMERIC);
	test_assert_error("distance 0");
	invar_context_free(ctx);
}

/* The same numbers by their names, for programs. */
static void results_name_the_numbers(void **state)
{
	const float x[8] = {0, 0, 3, 4, 0, 0, 6, 8}, e[8] = {1, 0, 1, 5, 1, 0, 1, 10};
	invar_context *ctx = context(1);
	inv_structure s;
	invar_results *r;

	(void)state;
	assert_int_equal(inv_structure_measure(ctx, x, 2, e, 2, 4, &s), INVAR_OK);
	assert_int_equal(invar_structure(ctx, x, 2, e, 2, 4, &r), INVAR_OK);
	assert_true(invar_results_value(r, "structure.L1", "E")->value == s.l1);
	assert_true(invar_results_value(r, "structure.CVRMSD", "E")->value == s.cvrmsd);
	assert_int_equal(invar_results_value(r, "structure.m", "E")->count, s.pairs);
	assert_true(invar_results_value(r, "structure.zero_pairs", "E")->value == 1);
	invar_results_free(r);
	assert_int_equal(invar_structure(ctx, x, 2, e, 2, 1, &r), INVAR_E_USE);
	assert_null(r);
	invar_context_free(ctx);
}

/* One dimension, x the squares 0, 1, 4, …: every distance tells which pair it is of. */
static void check_pairs(uint64_t n, size_t shown)
{
	float *x = inv_calloc(n, sizeof *x), *e = inv_calloc(n, sizeof *e);
	const inv_structure s = {.m = 2, .b = 0, .r2 = 1};
	uint64_t all = n * (n - 1) / 2;
	const inv_points *p;
	invar_results *r;
	double last = -1;

	for (uint64_t i = 0; i < n; i++) {
		x[i] = (float)(i * i);
		e[i] = 2 * x[i];
	}
	assert_int_equal(inv_results_new(&r), INVAR_OK);
	inv_results_add_column(r, "1", "run", "run");
	assert_int_equal(inv_structure_show(r, "1", x, 1, e, 1, n, &s), INVAR_OK);
	p = inv_results_points(r, "structure.distances", "1");
	assert_int_equal(p->count, shown);
	assert_int_equal(p->total, all);
	for (size_t k = 0, seen = 0; k < shown; k++) {
		uint64_t at = k * all / shown, i = 0;

		for (seen = 0; seen + (n - 1 - i) <= at; i++)
			seen += n - 1 - i;
		last = (double)x[i + 1 + (at - seen)] - x[i];
		assert_true(fabs(p->x[k] - last) <= 1e-6 * last && p->y[k] == 2 * p->x[k]);
	}
	assert_int_equal(p->line_count, 2);
	assert_true(p->lines[0].slope == 2 && p->lines[1].slope == 1);
	invar_results_free(r);
	inv_free(x);
	inv_free(e);
}

static void pairs_are_spread_over_all(void **state)
{
	(void)state;
	check_pairs(2, 1);
	check_pairs(5, 10);
	check_pairs(71, 2485);
	check_pairs(72, 2500);
	check_pairs(401, 2500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_points),
		cmocka_unit_test(pairs_are_spread_over_all),
		cmocka_unit_test(every_size_equals_the_loops),
		cmocka_unit_test(one_and_many_threads_give_the_same_bits),
		cmocka_unit_test(an_isometry_is_seen_as_one),
		cmocka_unit_test(what_cannot_be_measured_is_said),
		cmocka_unit_test(results_name_the_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
