/* SPDX-License-Identifier: Apache-2.0 */
/* test_distances.c - errors of distances beside plain loops, and on a bank. */
#include "write_bank.h"

#include <math.h>

#include "base/rng.h"
#include "measure/distances.h"

enum { N = 37, M = 23, D = 19, W = 7 };

static float query[N * D], gallery[M * D], after[N * W], indexed[M * W];
static uint64_t own[N];

static double plain_distance(inv_distance distance, const float *a, const float *b,
                             size_t width)
{
	double aa = 0, bb = 0, ab = 0, square = 0;

	for (size_t l = 0; l < width; l++) {
		aa += (double)a[l] * a[l];
		bb += (double)b[l] * b[l];
		ab += (double)a[l] * b[l];
		square += ((double)a[l] - b[l]) * ((double)a[l] - b[l]);
	}
	if (distance == INV_L2)
		return sqrt(square);
	return aa > 0 && bb > 0 ? 1 - ab / sqrt(aa * bb) : 1;
}

static void distance_errors_ref(inv_distance distance, const inv_distance_pairs *p,
                                double *error, double *whole)
{
	for (uint64_t i = 0; i < p->n; i++)
		for (uint64_t j = 0; j < p->m; j++) {
			double d, d_after;

			if (j == p->own[i])
				continue;
			d = plain_distance(distance, p->query + i * p->d, p->gallery + j * p->d, p->d);
			d_after =
				plain_distance(distance, p->after + i * p->w, p->indexed + j * p->w, p->w);
			error[i] += (d_after - d) * (d_after - d);
			whole[i] += d * d;
		}
}

static void draw(const char *purpose, float *out, size_t count)
{
	inv_stream s = inv_stream_of(5, purpose, 0);

	inv_fill_normal(&s, 0, out, count);
}

static int draw_all(void **state)
{
	draw("query", query, N * D);
	draw("gallery", gallery, M * D);
	draw("after", after, N * W);
	draw("indexed", indexed, M * W);
	for (size_t i = 0; i < N; i++)
		own[i] = i < 11 ? i : M;
	for (size_t l = 0; l < W; l++)
		after[3 * W + l] = indexed[5 * W + l] = 0; /* rows of zeros */
	return test_context_open(state);
}

static void equals_plain_loops(void **state)
{
	const inv_distance_pairs p = {query, gallery, after, indexed, own, N, M, D, W};

	(void)state;
	for (int d = 0; d < INV_DISTANCES; d++) {
		double error[N] = {0}, whole[N] = {0}, plain[N] = {0}, plain_whole[N] = {0};

		assert_int_equal(inv_distance_errors(test_ctx, (inv_distance)d, &p, error, whole),
		                 INVAR_OK);
		distance_errors_ref((inv_distance)d, &p, plain, plain_whole);
		for (size_t i = 0; i < N; i++) {
			assert_true(fabs(error[i] - plain[i]) < 1e-6 * plain[i]);
			assert_true(fabs(whole[i] - plain_whole[i]) < 1e-6 * plain_whole[i]);
		}
	}
}

static void nothing_changes_for_copies_that_equal_their_images(void **state)
{
	const inv_distance_pairs p = {query, gallery, query, gallery, own, N, M, D, D};

	(void)state;
	for (int d = 0; d < INV_DISTANCES; d++) {
		double error[N] = {0}, whole[N] = {0};

		assert_int_equal(inv_distance_errors(test_ctx, (inv_distance)d, &p, error, whole),
		                 INVAR_OK);
		for (size_t i = 0; i < N; i++)
			assert_true(error[i] == 0 && whole[i] > 0);
	}
}

/* F on a bank: gallery and queries are the rows of test, own rows left out. */
static void a_bank_gives_the_same_figure(void **state)
{
	float copies[N * D];
	double error[N] = {0}, whole[N] = {0}, sum = 0, all = 0;
	uint64_t each[N];
	const inv_distance_pairs p = {query, query, copies, query, each, N, N, D, D};
	invar_results *r;

	(void)state;
	draw("copies", copies, N * D);
	for (size_t i = 0; i < N; i++)
		each[i] = i;
	write_split(test_ctx, test_path("bank"), "test", query, copies, 1, NULL, N, D);
	r = measure_f(test_ctx, test_path("bank"),
	              test_options("eval", "metrics", "distances", NULL));
	distance_errors_ref(INV_COSINE, &p, error, whole);
	for (size_t i = 0; i < N; i++) {
		sum += error[i];
		all += whole[i];
	}
	assert_true(fabs(number(r, "distances.old.cosine.error") - sqrt(sum / all)) < 1e-6);
	assert_null(invar_results_value(r, "distances.new.cosine.error", "F"));
	invar_results_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equals_plain_loops),
		cmocka_unit_test(nothing_changes_for_copies_that_equal_their_images),
		cmocka_unit_test(a_bank_gives_the_same_figure),
	};

	return cmocka_run_group_tests(tests, draw_all, test_context_close);
}
