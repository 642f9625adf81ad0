/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sliced.c - Philox and normals, keys and their sorting, radix, directions,
 * distances along directions: each against plain C over odd sizes.
 */
#include "support.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "math/directions.h"
#include "math/sliced.h"
#include "math/sort.h"

static const size_t sizes[] = {1,  2,  3,  5,   7,   8,   9,   15,  16,   17,   31,  33,
                               63, 64, 65, 100, 127, 129, 255, 768, 1000, 1024, 1025};
enum { SIZES = sizeof sizes / sizeof *sizes };

static invar_context *ctx;
static struct inv_kernels fast, plain;

static int make_context(void **state)
{
	(void)state;
	if (invar_context_new(2, NULL, &ctx) != INVAR_OK)
		return 1;
	inv_kernels_init(&fast, ctx->cpu);
	inv_kernels_init(&plain, 0);
	return 0;
}

static int free_context(void **state)
{
	(void)state;
	invar_context_free(ctx);
	return 0;
}

/* ---- Random numbers ---------------------------------------------------------------- */

static void normals_agree_to_rounding(void **state)
{
	enum { MOST = 100003 };
	inv_stream s = inv_stream_of(5, "normals", 1);
	float *got = malloc(MOST * sizeof *got), *want = malloc(MOST * sizeof *want);

	(void)state;
	for (size_t count = 0; count < 70; count++) {
		got[count] = 77;
		fast.normal(&s, 3, got, count);
		plain.normal(&s, 3, want, count);
		assert_true(got[count] == 77); /* not a float further */
		for (size_t i = 0; i < count; i++)
			assert_true(fabsf(got[i] - want[i]) <= 8e-7f * fabsf(want[i]) + 1e-9f);
	}
	fast.normal(&s, 4, got, MOST);
	plain.normal(&s, 4, want, MOST);
	for (size_t i = 0; i < MOST; i++)
		assert_true(fabsf(got[i] - want[i]) <= 8e-7f * fabsf(want[i]) + 1e-9f);
	free(got);
	free(want);
}

/* Banks and trainings of earlier versions are made again bit for bit. */
static void normals_keep_their_bits(void **state)
{
	inv_stream s = {.key = {0x89abcdefu, 0x1234567u}, .purpose = 77, .epoch = 4000000000u};
	static float x[10007];
	uint32_t hash = 2166136261u;

	(void)state;
	if (fast.normal == plain.normal)
		skip();
	fast.normal(&s, 0xfffffff0u, x, 10007);
	for (size_t i = 0; i < sizeof x; i++)
		hash = (hash ^ ((unsigned char *)x)[i]) * 16777619u;
	assert_int_equal(hash, 0x148ff082u);
}

static void a_field_is_added_as_if_it_had_been_stored(void **state)
{
	enum { MOST = 200 };
	inv_stream s = inv_stream_of(6, "field", 1);
	float x[MOST], want[MOST], got[MOST + 1];

	(void)state;
	if (!fast.add_normal)
		skip();
	inv_fill_uniform(&s, 0, -1, 1, x, MOST);
	for (size_t count = 0; count <= MOST; count++) {
		got[count] = 77;
		fast.add_normal(&s, 3, x, 0.25f, 1.5f, got, count);
		fast.normal(&s, 3, want, count);
		assert_true(got[count] == 77);
		for (size_t i = 0; i < count; i++)
			assert_true(got[i] == x[i] + fmaf(1.5f, want[i], 0.25f));
	}
}

/* ---- Sorting ------------------------------------------------------------------------ */

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void draw_values(const char *how, size_t n, float *x)
{
	inv_stream s = inv_stream_of(2, how, (uint32_t)n);

	inv_fill_normal(&s, 0, x, n);
	for (size_t i = 0; i < n; i++)
		if (strcmp(how, "ties") == 0)
			x[i] = roundf(x[i]);
		else if (strcmp(how, "wide") == 0)
			x[i] = ldexpf(x[i], (int)(i % 200) - 100);
		else if (strcmp(how, "equal") == 0)
			x[i] = -1.5f;
}

static const char *const kinds[] = {"normal", "ties", "wide", "equal"};

static void check_sort_keys(size_t n, const char *how)
{
	size_t size = inv_sort_room(n);
	float *x = malloc(n * INV_SLICES * sizeof *x);
	double *keys = malloc(size * INV_SLICES * sizeof *keys),
		   *want = malloc(n * sizeof *want);

	for (int flavour = 0; flavour < 2; flavour++) {
		draw_values(how, n * INV_SLICES, x);
		for (size_t i = 0; i < n * INV_SLICES; i++)
			keys[i] = inv_key(x[i], (uint32_t)(i / INV_SLICES));
		(flavour ? &plain : &fast)->sort_keys(keys, n);
		for (size_t l = 0; l < INV_SLICES; l++) {
			for (size_t r = 0; r < n; r++)
				want[r] = inv_key(x[r * INV_SLICES + l], (uint32_t)r);
			qsort(want, n, sizeof *want, by_value);
			for (size_t r = 0; r < n; r++) {
				double key = keys[r * INV_SLICES + l];

				assert_memory_equal(&key, &want[r], sizeof key);
				assert_true(inv_key_value(key) == x[inv_key_row(key) * INV_SLICES + l]);
			}
		}
	}
	free(x);
	free(keys);
	free(want);
}

static void keys_are_sorted_as_qsort_does(void **state)
{
	(void)state;
	for (size_t i = 0; i < SIZES; i++)
		for (size_t k = 0; k < 4; k++)
			check_sort_keys(sizes[i], kinds[k]);
	for (size_t n = 1; n <= 40; n++)
		check_sort_keys(n, "normal");
	check_sort_keys(5000, "normal");
}

static int by_float(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static void radix_is_sorted_as_qsort_does(void **state)
{
	(void)state;
	for (size_t i = 0; i <= SIZES; i++)
		for (size_t k = 0; k < 4; k++) {
			size_t n = i < SIZES ? sizes[i] : 20011;
			float *x = malloc(n * sizeof *x), *want = malloc(n * sizeof *x);
			float *scratch = malloc(n * sizeof *x);

			draw_values(kinds[k], n, x);
			memcpy(want, x, n * sizeof *x);
			inv_sort_floats(x, n, scratch);
			qsort(want, n, sizeof *want, by_float);
			for (size_t r = 0; r < n; r++)
				assert_true(x[r] == want[r]);
			free(x);
			free(want);
			free(scratch);
		}
}

/* ---- The other kernels ----------------------------------------------------------- */

enum { STRIDE = 19, ROWS = 37 };

static void joining_comparing_and_spreading_agree(void **state)
{
	float a[ROWS * STRIDE], b[ROWS * STRIDE];
	uint32_t rows_a[ROWS], rows_b[ROWS];
	inv_stream s = inv_stream_of(1, "joining", 0);
	inv_side side = {.a = a,
	                 .stride_a = STRIDE,
	                 .stride_b = STRIDE,
	                 .rows_a = rows_a,
	                 .rows_b = rows_b,
	                 .M = ROWS};

	(void)state;
	inv_fill_normal(&s, 0, a, ROWS * STRIDE);
	inv_fill_normal(&s, 1, b, ROWS * STRIDE);
	inv_permutation(&s, 2, rows_a, ROWS);
	inv_permutation(&s, 3, rows_b, ROWS);
	for (int with_b = 0; with_b < 2; with_b++) {
		double p[2][64 * INV_SLICES], q[2][64 * INV_SLICES], sums[2][INV_SLICES] = {0};
		float u[2][ROWS * INV_SLICES], v[2][ROWS * INV_SLICES], out[2][ROWS * STRIDE] = {0};

		side.b = with_b ? b : NULL;
		for (int f = 0; f < 2; f++) {
			const struct inv_kernels *k = f ? &plain : &fast;

			k->join_keys(&side, 5, p[f]);
			k->join_keys(&side, 11, q[f]);
		}
		assert_memory_equal(p[0], p[1], ROWS * INV_SLICES * sizeof(double));
		for (int f = 0; f < 2; f++) {
			const struct inv_kernels *k = f ? &plain : &fast;

			k->sort_keys(p[f], ROWS);
			k->sort_keys(q[f], ROWS);
			k->compare_keys(p[f], q[f], ROWS, 1, sums[f], u[f], v[f]);
			k->spread(u[f], v[f], rows_a, ROWS, out[f] + 2, STRIDE);
		}
		for (int l = 0; l < INV_SLICES; l++)
			assert_true(fabs(sums[0][l] - sums[1][l]) < 1e-12 * sums[1][l]);
		assert_memory_equal(u[0], u[1], sizeof u[0]);
		assert_memory_equal(v[0], v[1], sizeof v[0]);
		assert_memory_equal(out[0], out[1], sizeof out[0]);
	}
}

/* ---- Directions ------------------------------------------------------------------ */

static double dot(const inv_directions *s, size_t i, size_t j)
{
	double sum = 0;

	for (size_t k = 0; k < s->first; k++)
		sum += (double)s->a[i * s->first + k] * s->a[j * s->first + k];
	for (size_t k = 0; k < s->second; k++)
		sum += (double)s->b[i * s->second + k] * s->b[j * s->second + k];
	return sum;
}

static void check_directions(size_t L, size_t first, size_t second, bool orthogonal)
{
	inv_directions s = {.L = L,
	                    .first = first,
	                    .second = second,
	                    .orthogonal = orthogonal,
	                    .stream = inv_stream_of(1, "directions", 0)};
	size_t D = first + second;
	void *scratch = malloc(inv_directions_scratch(ctx, &s, 1));

	s.a = malloc((L * first + 1) * sizeof(float));
	s.b = malloc((L * second + 1) * sizeof(float));
	assert_int_equal(inv_directions_fill(ctx, &fast, &s, 1, scratch), INVAR_OK);
	for (size_t i = 0; i < L; i++) {
		assert_true(fabs(dot(&s, i, i) - 1) < 2e-6);
		for (size_t j = 0; j < i && orthogonal; j++)
			if (i / D == j / D)
				assert_true(fabs(dot(&s, i, j)) < 5e-6);
	}
	free(s.a);
	free(s.b);
	free(scratch);
}

static void directions_have_length_one_and_stand_square(void **state)
{
	(void)state;
	check_directions(33, 7, 5, false);
	check_directions(33, 7, 5, true); /* two whole blocks and a part */
	check_directions(5, 40, 40, true);
	check_directions(70, 64, 0, true);
	check_directions(3, 1, 0, true);
}

/* A coordinate of a uniform direction has mean 0 and variance 1 / D. */
static void orthogonal_directions_are_uniform(void **state)
{
	enum { D = 4, L = 40000 };
	inv_directions s = {
		.L = L, .first = D, .orthogonal = true, .stream = inv_stream_of(9, "uniform", 0)};
	void *scratch = malloc(inv_directions_scratch(ctx, &s, 1));
	double sum[D] = {0}, square[D] = {0};

	(void)state;
	s.a = malloc(L * D * sizeof(float));
	assert_int_equal(inv_directions_fill(ctx, &fast, &s, 1, scratch), INVAR_OK);
	for (size_t i = 0; i < L * D; i++) {
		sum[i % D] += s.a[i];
		square[i % D] += (double)s.a[i] * s.a[i];
	}
	for (int k = 0; k < D; k++) {
		assert_true(fabs(sum[k] / L) < 4 * sqrt(1.0 / D / L));
		assert_true(fabs(square[k] / L - 1.0 / D) < 0.005);
	}
	free(s.a);
	free(scratch);
}

/* ---- Distances ------------------------------------------------------------------- */

/* Two sets of n values along one direction, by qsort. */
static double plain_power(const float *a, const float *b, size_t n, size_t stride, double p)
{
	float *x = malloc(n * sizeof *x), *y = malloc(n * sizeof *y);
	double sum = 0;

	for (size_t r = 0; r < n; r++) {
		x[r] = a[r * stride];
		y[r] = b[r * stride];
	}
	qsort(x, n, sizeof *x, by_float);
	qsort(y, n, sizeof *y, by_float);
	for (size_t r = 0; r < n; r++)
		sum += pow(fabs((double)x[r] - y[r]), p);
	free(x);
	free(y);
	return sum / (double)n;
}

static void check_distances(size_t n, size_t L, double p)
{
	size_t stride = (L + 15) / 16 * 16;
	float *a = calloc(n * stride, sizeof *a), *b = calloc(n * stride, sizeof *b);
	uint32_t *rows = malloc(n * sizeof *rows);
	double *powers = malloc(L * sizeof *powers);
	void *scratch = malloc(inv_sliced_scratch(ctx, n, false));
	inv_stream s = inv_stream_of(3, "distances", (uint32_t)n);
	inv_sliced job = {.first = {.a = a, .stride_a = stride, .rows_a = rows, .M = n},
	                  .second = {.a = b, .stride_a = stride, .rows_a = rows, .M = n},
	                  .repeat = 1,
	                  .L = L,
	                  .p = p,
	                  .powers = powers};

	inv_fill_normal(&s, 0, a, n * stride);
	inv_fill_normal(&s, 1, b, n * stride);
	for (size_t r = 0; r < n; r++)
		rows[r] = (uint32_t)r;
	inv_sliced_run(ctx, &fast, &job, scratch);
	for (size_t l = 0; l < L; l++) {
		double want = plain_power(a + l, b + l, n, stride, p);

		assert_true(fabs(powers[l] - want) <= 1e-6 * want);
	}
	free(a);
	free(b);
	free(rows);
	free(powers);
	free(scratch);
}

static void distances_equal_the_plain_ones(void **state)
{
	(void)state;
	for (size_t i = 0; i < SIZES; i++)
		check_distances(sizes[i], 1 + i % 21, i % 3 ? 2 : 1 + (double)(i % 5) / 2);
	check_distances(INV_SORT_LONG + 1, 3, 2);
	check_distances(INV_SORT_LONG + 1, 3, 1.5);
}

/* Networks of minima and maxima would lose a NaN and give a plausible number. */
static void check_fault_is_seen(const struct inv_kernels *k, size_t n, size_t at,
                                float fault)
{
	uint32_t *rows = malloc(n * sizeof *rows);
	float *a = calloc(n * INV_SLICES, sizeof *a), *b = calloc(n * INV_SLICES, sizeof *b);
	void *scratch = inv_alloc(inv_sliced_scratch(ctx, n, true));
	double powers[INV_SLICES];
	inv_sliced job = {.first = {.a = a, .stride_a = INV_SLICES, .rows_a = rows, .M = n},
	                  .second = {.a = b, .stride_a = INV_SLICES, .rows_a = rows, .M = n},
	                  .repeat = 1,
	                  .L = INV_SLICES,
	                  .p = 2,
	                  .slopes = {{.out = b, .stride = INV_SLICES}},
	                  .powers = powers};

	for (size_t i = 0; i < n * INV_SLICES; i++)
		a[i] = (float)(i * 7919 % 101) - 50;
	for (size_t r = 0; r < n; r++)
		rows[r] = (uint32_t)r;
	a[at * INV_SLICES + 2] = fault;
	inv_sliced_run(ctx, k, &job, scratch);
	for (size_t l = 0; l < INV_SLICES; l++)
		assert_int_equal(isfinite(powers[l]) != 0, l != 2);
	free(rows);
	free(a);
	free(b);
	inv_free(scratch);
}

static void what_is_no_number_is_seen(void **state)
{
	static const float faults[] = {NAN, -NAN, INFINITY, -INFINITY};

	(void)state;
	for (size_t i = 0; i < SIZES; i++)
		for (size_t f = 0; f < 4; f++)
			for (size_t at = 0; at < sizes[i]; at += 1 + sizes[i] / 9) {
				check_fault_is_seen(&fast, sizes[i], at, faults[f]);
				check_fault_is_seen(&plain, sizes[i], at, faults[f]);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(normals_agree_to_rounding),
		cmocka_unit_test(normals_keep_their_bits),
		cmocka_unit_test(a_field_is_added_as_if_it_had_been_stored),
		cmocka_unit_test(keys_are_sorted_as_qsort_does),
		cmocka_unit_test(radix_is_sorted_as_qsort_does),
		cmocka_unit_test(joining_comparing_and_spreading_agree),
		cmocka_unit_test(directions_have_length_one_and_stand_square),
		cmocka_unit_test(orthogonal_directions_are_uniform),
		cmocka_unit_test(distances_equal_the_plain_ones),
		cmocka_unit_test(what_is_no_number_is_seen),
	};

	return cmocka_run_group_tests(tests, make_context, free_context);
}
