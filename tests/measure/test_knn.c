/* SPDX-License-Identifier: Apache-2.0 */
/* test_knn.c - votes among neighbours: golden predictions, galleries, limits. */
#include "bank/bank.h"
#include "write_bank.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "base/status.h"
#include "golden.h"

static invar_options *options(const char *k)
{
	return test_options("eval", "metrics", "knn", "k", k, NULL);
}

/*
 * Predictions are checked by accuracies: with the predicted labels as the labels of
 * the queries, every query is right.
 */
static void check_case(const char *root, int number_of_bank)
{
	static const char *const ks[] = {"1", "5", "20"};
	golden *g = golden_open(root, "knn_retrieval");
	size_t shape[GOLDEN_NDIM];
	const float *gallery = golden_f32(g, "gallery", shape);
	const float *queries = golden_f32(g, "queries", NULL);
	const int64_t *labels = golden_int(g, "labels", NULL);

	for (int i = 0; i < 3; i++) {
		const int64_t *predicted;
		char name[40], bank[500];
		invar_results *found;

		snprintf(name, sizeof name, "knn_predictions_%s", ks[i]);
		predicted = golden_int(g, name, NULL);
		snprintf(bank, sizeof bank, "%s", test_path("golden%d-%d", number_of_bank, i));
		write_split(test_ctx, bank, "train", gallery, NULL, 0, labels, shape[0], shape[1]);
		write_split(test_ctx, bank, "test", queries, queries, 1, labels, shape[0],
		            shape[1]);
		write_split(test_ctx, bank, "said", queries, queries, 1, predicted, shape[0],
		            shape[1]);
		found = measure_f(test_ctx, bank, options(ks[i]));
		snprintf(name, sizeof name, "knn_accuracy_%s", ks[i]);
		golden_check_value(g, name, number(found, "knn.clean"));
		golden_check_value(g, name, number(found, "knn.augmented"));
		invar_results_free(found);
		found = measure_f(test_ctx, bank, test_set(options(ks[i]), "split", "said", NULL));
		assert_true(number(found, "knn.clean") == 1);
		invar_results_free(found);
	}
	golden_close(g);
}

static void golden_predictions(void **state)
{
	int bank = 0;

	(void)state;
	for (const char *const *root = golden_roots(); *root; root++)
		check_case(*root, bank++);
}

/* One neighbour of class 2, two of 1, two of 0: a tie, the smaller label wins. */
static void equal_votes_go_to_the_smallest_label(void **state)
{
	const float train[] = {1, -1, 2, -2, 3}, query[] = {0, 0};
	const int64_t labels[] = {2, 1, 0, 1, 0}, wanted[] = {0, 1};
	invar_results *found;

	(void)state;
	write_split(test_ctx, test_path("votes"), "train", train, NULL, 0, labels, 5, 1);
	write_split(test_ctx, test_path("votes"), "test", query, NULL, 0, wanted, 2, 1);
	found = measure_f(test_ctx, test_path("votes"), options("9"));
	assert_true(number(found, "knn.clean") == 0.5);
	assert_string_equal(invar_results_metric(found, 0)->row, "5-NN"); /* all there are */
	assert_null(invar_results_value(found, "knn.augmented", "F"));
	invar_results_free(found);
	/* Rows 0 and 1 are equally near: the earlier one, of class 2. */
	found = measure_f(test_ctx, test_path("votes"), options("1"));
	assert_true(number(found, "knn.clean") == 0);
	invar_results_free(found);
}

/* ---- Galleries ----------------------------------------------------------- */

enum { N = 80, D = 6 };

/* E(z) = -z as an MLP: relu(-z) - relu(z). */
static invar_adapter *mirror(size_t w)
{
	static float weights[2 * D * D + 2 * D + D * 2 * D + D];
	float *second = weights + 2 * D * D + 2 * D;
	char header[400], *path = NULL;
	char file[500];
	invar_adapter *e;
	uint64_t length;
	FILE *f;

	memset(weights, 0, sizeof weights);
	for (size_t i = 0; i < D; i++) {
		weights[i * D + i] = 1;
		weights[(D + i) * D + i] = -1;
		if (i < w) {
			second[i * 2 * D + i] = -1;
			second[i * 2 * D + D + i] = 1;
		}
	}
	snprintf(file, sizeof file, "%s", test_path("mirror%zu.safetensors", w));
	path = file;
	snprintf(
		header, sizeof header,
		"{\"0.weight\":{\"dtype\":\"F32\",\"shape\":[%d,%d],\"data_offsets\":[0,%zu]},"
		"\"0.bias\":{\"dtype\":\"F32\",\"shape\":[%d],\"data_offsets\":[%zu,%zu]},"
		"\"2.weight\":{\"dtype\":\"F32\",\"shape\":[%zu,%d],\"data_offsets\":[%zu,%zu]},"
		"\"2.bias\":{\"dtype\":\"F32\",\"shape\":[%zu],\"data_offsets\":[%zu,%zu]}}",
		2 * D, D, (size_t)8 * D * D, 2 * D, (size_t)8 * D * D, (size_t)8 * D * D + 8 * D, w,
		2 * D, (size_t)8 * D * D + 8 * D, (size_t)8 * D * D + 8 * D + 8 * D * w, w,
		(size_t)8 * D * D + 8 * D + 8 * D * w,
		(size_t)8 * D * D + 8 * D + 8 * D * w + 4 * w);
	length = strlen(header);
	f = fopen(path, "wb");
	assert_non_null(f);
	fwrite(&length, sizeof length, 1, f);
	fwrite(header, 1, length, f);
	fwrite(weights, sizeof *weights, 2 * D * D + 2 * D + 2 * D * w, f);
	fwrite((float[D]){0}, sizeof(float), w, f);
	fclose(f);
	if (invar_adapter_open(test_ctx, path, &e) != INVAR_OK)
		fail_msg("%s", invar_last_error());
	return e;
}

static double accuracy(const invar_bank *bank, const invar_adapter *e, const char *index)
{
	const char *name = "E";
	invar_options *o = test_set(options("1"), "index", index, NULL);
	invar_results *r;
	double value;

	if (invar_eval(bank, &e, &name, 1, o, &r) != INVAR_OK)
		fail_msg("%s", invar_last_error());
	assert_string_equal(invar_results_metric(r, 0)->row,
	                    strcmp(index, "old") == 0 ? "1-NN, old index" : "1-NN");
	value = number_of(r, "knn.clean", "1");
	invar_results_free(r);
	invar_options_free(o);
	return value;
}

/* Mirrored queries find themselves among mirrored rows, not among the old ones. */
static void the_old_index_stays_as_it_was(void **state)
{
	static float x[N * D];
	int64_t labels[N];
	inv_stream s = inv_stream_of(3, "rows", 0);
	invar_adapter *e = mirror(D), *narrow = mirror(D - 1);
	const invar_adapter *const narrow_only[] = {narrow};
	const char *name = "narrow";
	invar_options *o = test_set(options("1"), "index", "old", NULL);
	invar_results *r;
	invar_bank *bank;
	char spelled[1024];

	(void)state;
	inv_fill_normal(&s, 0, x, N * D);
	for (size_t i = 0; i < N; i++)
		labels[i] = (int64_t)i;
	write_split(test_ctx, test_path("index"), "train", x, NULL, 0, labels, N, D);
	write_split(test_ctx, test_path("index"), "test", x, NULL, 0, labels, N, D);
	assert_int_equal(inv_bank_open(test_ctx, test_path("index"), &bank), INVAR_OK);
	assert_true(accuracy(bank, e, "new") == 1);
	assert_true(accuracy(bank, e, "old") < 0.1);
	assert_true(accuracy(bank, narrow, "new") == 1);
	assert_int_equal(invar_eval(bank, narrow_only, &name, 1, o, &r), INVAR_E_MISMATCH);
	test_assert_error("index old");
	assert_non_null(strstr(inv_last_error_spelled("--", spelled, sizeof spelled),
	                       ": --index old compares"));
	invar_results_free(r); /* F was measured */
	assert_int_equal(invar_options_set(o, "index", "clean"), INVAR_E_USE);
	test_assert_error("new");
	invar_options_free(o);
	invar_bank_close(bank);
	invar_adapter_close(e);
	invar_adapter_close(narrow);
}

/* The query points along row 1, but row 0 is nearer by L2. */
static void cosine_compares_directions(void **state)
{
	const float train[] = {1, 1, 0, 9, -1, -1, 0, 0}, query[] = {0, 1, 0, 0};
	const int64_t labels[] = {10, 11, 12, 13}, wanted[] = {11, 10};
	const int64_t nearest[] = {10, 13};
	invar_results *found;

	(void)state;
	write_split(test_ctx, test_path("rays"), "train", train, NULL, 0, labels, 4, 2);
	write_split(test_ctx, test_path("rays"), "test", query, NULL, 0, wanted, 2, 2);
	write_split(test_ctx, test_path("rays"), "near", query, NULL, 0, nearest, 2, 2);
	found = measure_f(test_ctx, test_path("rays"),
	                  test_set(options("1"), "metric", "cosine", NULL));
	/* All rows are at right angles to a query of zeros: the first one votes. */
	assert_true(number(found, "knn.clean") == 1);
	assert_string_equal(invar_results_metric(found, 0)->row, "1-NN, cosine");
	invar_results_free(found);
	found = measure_f(test_ctx, test_path("rays"),
	                  test_set(options("1"), "split", "near", NULL));
	assert_true(number(found, "knn.clean") == 1);
	invar_results_free(found);
}

/* Of rows at 120, 90 (zeros) and 60 degrees, the last one is the nearest by cosine. */
static void zeros_are_at_right_angles(void **state)
{
	const float train[] = {-1, 1.7320508f, 0, 0, 0.5f, 0.8660254f};
	const float query[] = {1, 0};
	const int64_t labels[] = {0, 1, 2}, all[] = {2}, without[] = {1};
	invar_results *found;

	(void)state;
	write_split(test_ctx, test_path("angles"), "train", train, NULL, 0, labels, 3, 2);
	write_split(test_ctx, test_path("angles"), "some", train, NULL, 0, labels, 2, 2);
	write_split(test_ctx, test_path("angles"), "test", query, NULL, 0, all, 1, 2);
	write_split(test_ctx, test_path("angles"), "other", query, NULL, 0, without, 1, 2);
	found = measure_f(test_ctx, test_path("angles"),
	                  test_set(options("1"), "metric", "cosine", NULL));
	assert_true(number(found, "knn.clean") == 1);
	invar_results_free(found);
	found = measure_f(test_ctx, test_path("angles"),
	                  test_set(options("1"), "metric", "cosine", "train-split", "some",
	                           "split", "other", NULL));
	assert_true(number(found, "knn.clean") == 1);
	invar_results_free(found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_predictions),
		cmocka_unit_test(equal_votes_go_to_the_smallest_label),
		cmocka_unit_test(the_old_index_stays_as_it_was),
		cmocka_unit_test(cosine_compares_directions),
		cmocka_unit_test(zeros_are_at_right_angles),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
