/* SPDX-License-Identifier: Apache-2.0 */
/* test_knn.c - votes among neighbours: golden predictions, galleries, limits. */
#include "write_bank.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "golden.h"

static invar_eval_opts options(uint64_t k)
{
	invar_eval_opts o;

	invar_eval_defaults(&o);
	o.only = "knn";
	o.k = k;
	return o;
}

/*
 * Predictions are seen through accuracies: with the predicted labels as those of
 * the queries, every query is right.
 */
static void check_case(const char *root, int number_of_bank)
{
	static const int ks[] = {1, 5, 20};
	golden *g = golden_open(root, "knn_retrieval");
	size_t shape[GOLDEN_RANK];
	const float *gallery = golden_f32(g, "gallery", shape);
	const float *queries = golden_f32(g, "queries", NULL);
	const int64_t *labels = golden_int(g, "labels", NULL);

	for (int i = 0; i < 3; i++) {
		invar_eval_opts o = options((uint64_t)ks[i]);
		const int64_t *predicted;
		char name[40], bank[500];
		json_t *found;

		snprintf(name, sizeof name, "knn_predictions_%d", ks[i]);
		predicted = golden_int(g, name, NULL);
		snprintf(bank, sizeof bank, "%s", test_path("golden%d-%d", number_of_bank, i));
		write_split(test_ctx, bank, "train", gallery, NULL, 0, labels, shape[0], shape[1]);
		write_split(test_ctx, bank, "test", queries, queries, 1, labels, shape[0],
		            shape[1]);
		write_split(test_ctx, bank, "said", queries, queries, 1, predicted, shape[0],
		            shape[1]);
		found = measure_f(test_ctx, bank, &o);
		snprintf(name, sizeof name, "knn_accuracy_%d", ks[i]);
		golden_check_value(g, name, number(found, "clean", "value"));
		golden_check_value(g, name, number(found, "augmented", "value"));
		json_decref(found);
		o.split = "said";
		found = measure_f(test_ctx, bank, &o);
		assert_true(number(found, "clean", "value") == 1);
		json_decref(found);
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

/* One neighbour of class 2, two of 1, two of 0: as many votes, the smaller label. */
static void equal_votes_go_to_the_smallest_label(void **state)
{
	const float train[] = {1, -1, 2, -2, 3}, query[] = {0, 0};
	const int64_t labels[] = {2, 1, 0, 1, 0}, wanted[] = {0, 1};
	invar_eval_opts o = options(9);
	json_t *found;

	(void)state;
	write_split(test_ctx, test_path("votes"), "train", train, NULL, 0, labels, 5, 1);
	write_split(test_ctx, test_path("votes"), "test", query, NULL, 0, wanted, 2, 1);
	found = measure_f(test_ctx, test_path("votes"), &o);
	assert_true(number(found, "clean", "value") == 0.5);
	assert_int_equal(json_integer_value(json_object_get(found, "k")),
	                 5); /* all there are */
	assert_null(json_object_get(found, "augmented"));
	assert_string_equal(json_string_value(json_object_get(found, "index")), "adapted");
	json_decref(found);
	o.k = 1; /* rows 0 and 1 are as near: the earlier one, of class 2 */
	found = measure_f(test_ctx, test_path("votes"), &o);
	assert_true(number(found, "clean", "value") == 0);
	json_decref(found);
}

/* ---- Galleries ----------------------------------------------------------- */

enum { N = 80, D = 6 };

/* E(z) = -z as an MLP: relu(z) and relu(-z), put together the other way round. */
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
	invar_eval_opts o = options(1);
	json_t *doc, *column;
	char *text;
	double value;

	o.index = index;
	if (invar_eval(bank, &e, &name, 1, &o, &text) != INVAR_OK)
		fail_msg("%s", invar_last_error());
	doc = json_loads(text, 0, NULL);
	column =
		json_object_get(json_object_get(json_object_get(doc, "measurements"), "knn"), "E");
	assert_string_equal(json_string_value(json_object_get(column, "index")), index);
	value = number(column, "clean", "value");
	invar_free(text);
	json_decref(doc);
	return value;
}

/* Mirrored queries find themselves among mirrored rows, not among the old ones. */
static void the_clean_index_stays_as_it_was(void **state)
{
	static float x[N * D];
	int64_t labels[N];
	inv_stream s = inv_stream_of(3, "rows", 0);
	invar_adapter *e = mirror(D), *narrow = mirror(D - 1);
	const invar_adapter *const narrow_only[] = {narrow};
	const char *name = "narrow";
	invar_eval_opts o = options(1);
	invar_bank *bank;
	char *text;

	(void)state;
	inv_fill_normal(&s, 0, x, N * D);
	for (size_t i = 0; i < N; i++)
		labels[i] = (int64_t)i;
	write_split(test_ctx, test_path("index"), "train", x, NULL, 0, labels, N, D);
	write_split(test_ctx, test_path("index"), "test", x, NULL, 0, labels, N, D);
	assert_int_equal(invar_bank_open(test_ctx, test_path("index"), &bank), INVAR_OK);
	assert_true(accuracy(bank, e, "adapted") == 1);
	assert_true(accuracy(bank, e, "clean") < 0.1);
	assert_true(accuracy(bank, narrow, "adapted") == 1);
	o.index = "clean";
	assert_int_equal(invar_eval(bank, narrow_only, &name, 1, &o, &text), INVAR_E_MISMATCH);
	test_assert_error("--index clean");
	invar_free(text); /* F was measured */
	o.index = "old";
	assert_int_equal(invar_eval(bank, narrow_only, &name, 1, &o, &text), INVAR_E_USE);
	test_assert_error("adapted");
	invar_bank_close(bank);
	invar_adapter_close(e);
	invar_adapter_close(narrow);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(golden_predictions),
		cmocka_unit_test(equal_votes_go_to_the_smallest_label),
		cmocka_unit_test(the_clean_index_stays_as_it_was),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
