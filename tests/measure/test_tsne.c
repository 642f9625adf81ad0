/* SPDX-License-Identifier: Apache-2.0 */
/* test_tsne.c - embeddings: how good they are, that they repeat, what is refused. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "golden.h"
#include "invar.h"
#include "run/results.h"

enum { NEAR = 12 }; /* neighbours of trustworthiness */

static double squared(const float *a, const float *b, size_t d)
{
	double sum = 0;

	for (size_t i = 0; i < d; i++)
		sum += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
	return sum;
}

/* places [n]: how many rows are nearer to row i than each is, i itself not counted. */
static void find_places(const float *x, size_t n, size_t d, size_t i, double *far,
                        size_t *places)
{
	for (size_t j = 0; j < n; j++)
		far[j] = j == i ? INFINITY : squared(x + i * d, x + j * d, d);
	for (size_t j = 0; j < n; j++) {
		places[j] = 0;
		for (size_t m = 0; m < n; m++)
			places[j] += far[m] < far[j];
	}
}

/* As defined by Venna and Kaski; 1 if the points' neighbours are those of the rows. */
static double trustworthiness(const float *x, size_t n, size_t d, const float *y)
{
	double lost = 0, count = (double)n, *far = malloc(n * sizeof *far);
	size_t *of_row = malloc(n * sizeof *of_row), *of_point = malloc(n * sizeof *of_point);

	for (size_t i = 0; i < n; i++) {
		find_places(x, n, d, i, far, of_row);
		find_places(y, n, 2, i, far, of_point);
		for (size_t j = 0; j < n; j++)
			if (j != i && of_point[j] < NEAR && of_row[j] >= NEAR)
				lost += (double)(of_row[j] + 1 - NEAR);
	}
	free(far);
	free(of_row);
	free(of_point);
	return 1 - lost * 2 / (count * NEAR * (2 * count - 3 * NEAR - 1));
}

static invar_status embed(const float *x, size_t n, size_t d, const invar_options *o,
                          float *y, invar_results **r)
{
	const invar_tsne_rows in = {
		.size = sizeof in, .rows = x, .count = n, .dim = (uint32_t)d};

	return invar_tsne(test_ctx, &in, o, y, r);
}

/* KL is no worse than scikit-learn's, from the same start with all pairs exact. */
static void golden_cases(void **state)
{
	(void)state;
	for (const char *const *root = golden_roots(); *root; root++) {
		golden *g = golden_open(*root, "tsne");
		size_t shape[GOLDEN_NDIM];
		const float *x = golden_f32(g, "x", shape);
		float *y = malloc(shape[0] * 2 * sizeof *y);
		invar_options *o = test_options("tsne", NULL);
		invar_results *r;

		invar_options_set_number(o, "perplexity", golden_value(g, "perplexity"));
		assert_int_equal(embed(x, shape[0], shape[1], o, y, &r), INVAR_OK);
		assert_true(invar_results_value(r, "tsne.kl", "tsne")->value <
		            1.05 * golden_value(g, "final_kl"));
		assert_true(trustworthiness(x, shape[0], shape[1], y) >
		            golden_value(g, "final_trustworthiness") - 0.01);
		golden_check_value(
			g, "final_trustworthiness",
			trustworthiness(x, shape[0], shape[1], golden_f32(g, "final_embedding", NULL)));
		invar_results_free(r);
		invar_options_free(o);
		free(y);
		golden_close(g);
	}
}

static float *clusters(size_t n, size_t d)
{
	inv_stream s = inv_stream_of(n, "clusters", 0);
	float *x = malloc(n * d * sizeof *x);

	inv_fill_normal(&s, 0, x, n * d);
	for (size_t i = 0; i < n; i++)
		x[i * d] += 8 * (float)(i % 3);
	return x;
}

static void any_number_of_threads_gives_the_same_bits(void **state)
{
	enum { ROWS = 901, WIDE = 6 };
	float *x = clusters(ROWS, WIDE), y[2][ROWS * 2];
	static const char *const inits[] = {"pca", "random"};

	(void)state;
	for (size_t k = 0; k < 2; k++)
		for (unsigned threads = 1; threads <= 4; threads++) {
			const invar_tsne_rows in = {
				.size = sizeof in, .rows = x, .count = ROWS, .dim = WIDE};
			invar_options *o = test_options("tsne", "iterations", "70", "early-iterations",
			                                "40", "init", inits[k], NULL);
			invar_context *ctx;
			invar_results *r;

			assert_int_equal(invar_context_new(threads, NULL, &ctx), INVAR_OK);
			assert_int_equal(invar_tsne(ctx, &in, o, y[threads > 1], &r), INVAR_OK);
			if (threads > 1)
				assert_memory_equal(y[0], y[1], sizeof y[0]);
			invar_results_free(r);
			invar_options_free(o);
			invar_context_free(ctx);
		}
	free(x);
}

/* Points of a picture: thinned evenly, with the names of classes and the parts. */
static void results_have_points_to_draw(void **state)
{
	enum { ROWS = 10400 };
	static const char *const names[] = {"cat", "dog", NULL}, *const titles[] = {"F", "E"};
	static const uint64_t parts[] = {5200, 5200};
	static float y[ROWS * 2];
	static int64_t labels[ROWS];
	float *x = clusters(ROWS, 2);
	invar_tsne_rows in = {.size = sizeof in,
	                      .rows = x,
	                      .count = ROWS,
	                      .dim = 2,
	                      .labels = labels,
	                      .classes = names,
	                      .parts = 2,
	                      .part_rows = parts,
	                      .part_titles = titles};
	invar_options *o = test_options("tsne", "iterations", "2", "perplexity", "5", NULL);
	const inv_scatter *scatter;
	const inv_points *p;
	invar_results *r;

	(void)state;
	for (size_t i = 0; i < ROWS; i++)
		labels[i] = (int64_t)(i % 4) - 1; /* none, 0, 1, 2 */
	assert_int_equal(invar_tsne(test_ctx, &in, o, y, &r), INVAR_OK);
	scatter = inv_results_scatter(r, 0);
	p = inv_results_points(r, "tsne", "tsne");
	assert_int_equal(scatter->class_count, 3);
	assert_string_equal(scatter->classes[1], "dog");
	assert_string_equal(scatter->classes[2], "2");
	assert_string_equal(scatter->marks[1], "E");
	assert_int_equal(p->count, 10000);
	assert_int_equal(p->total, ROWS);
	for (size_t i = 0; i < p->count; i++) {
		size_t row = i * ROWS / 10000;

		assert_int_equal(p->label[i], labels[row]);
		assert_int_equal(p->mark[i], row >= 5200);
		assert_true(fabs(p->x[i] - y[2 * row]) <= 1e-6 * fabs(p->x[i]));
	}
	invar_results_free(r);
	invar_options_free(o);
	free(x);
}

static void check_refused(const float *x, size_t n, size_t d, const char *perplexity,
                          invar_status status, const char *sentence)
{
	invar_options *o = test_options("tsne", "perplexity", perplexity, NULL);
	invar_results *r;
	float y[200];

	assert_int_equal(embed(x, n, d, o, y, &r), status);
	assert_null(r);
	assert_string_equal(invar_last_error(), sentence);
	invar_options_free(o);
}

static void what_cannot_be_embedded_is_refused(void **state)
{
	float *x = clusters(50, 3);
	invar_options *o;
	invar_results *r;
	float y[100];

	(void)state;
	check_refused(x, 3, 3, "1.5", INVAR_E_USE,
	              "an embedding needs at least 4 rows that are not empty, not 3");
	check_refused(x, 50, 3, "49", INVAR_E_USE,
	              "perplexity 49 is too large for 50 rows; it must be below 49");
	o = test_options("tsne", "perplexity", "5", "iterations", "5", NULL);
	for (size_t i = 0; i < 20 * 3; i++)
		x[i] = 30 + (float)(i % 3);
	assert_int_equal(embed(x, 50, 3, o, y, &r), INVAR_OK);
	assert_string_equal(inv_results_note_at(r, 0),
	                    "20 rows have more than 5 equally near neighbours, such as "
	                    "duplicates, and treat them alike");
	invar_results_free(r);
	invar_options_free(o);
	x[100] = NAN;
	check_refused(x, 50, 3, "5", INVAR_E_NUMERIC,
	              "row 33 is not finite; remove or repair it");
	for (size_t i = 0; i < 150; i++)
		x[i] = (float)(i % 3);
	check_refused(x, 50, 3, "5", INVAR_E_NUMERIC,
	              "all 50 rows are equal, so there is nothing to embed");
	free(x);
}

static int stop_late(void *user, const char *stage, uint64_t done, uint64_t total)
{
	(void)user;
	(void)total;
	return strcmp(stage, "t-SNE") == 0 && done == 7;
}

static void a_hook_can_stop_it(void **state)
{
	const invar_hooks hooks = {.size = sizeof hooks, .progress = stop_late};
	float *x = clusters(100, 3), y[200];
	const invar_tsne_rows in = {.size = sizeof in, .rows = x, .count = 100, .dim = 3};
	invar_options *o = test_options("tsne", NULL);
	invar_context *ctx;
	invar_results *r;

	(void)state;
	assert_int_equal(invar_context_new(1, &hooks, &ctx), INVAR_OK);
	assert_int_equal(invar_tsne(ctx, &in, o, y, &r), INVAR_E_CANCELLED);
	assert_null(r);
	invar_options_free(o);
	invar_context_free(ctx);
	free(x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_cases),
		cmocka_unit_test(any_number_of_threads_gives_the_same_bits),
		cmocka_unit_test(results_have_points_to_draw),
		cmocka_unit_test(what_cannot_be_embedded_is_refused),
		cmocka_unit_test(a_hook_can_stop_it),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
