/* SPDX-License-Identifier: Apache-2.0 */
/* test_spread.c - adapted features get the spread of clean ones. */
#include "bank/bank.h"
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/adapter.h"
#include "base/json.h"

enum { ROWS = 300, D = 9, COPIES = 3 };

static bool stop;

static int maybe_stop(void *user, const char *stage, uint64_t done, uint64_t total)
{
	(void)user;
	(void)total;
	return stop && strcmp(stage, "fit") == 0 && done > 0;
}

static invar_context *ctx;
static invar_bank *bank;

static int open_bank(void **state)
{
	invar_hooks hooks = {.size = sizeof hooks, .progress = maybe_stop};
	const invar_options *o =
		test_kept("synthetic", "rows", test_text("%d", ROWS), "test-rows", "10", "dim",
	              test_text("%d", D), "copies", test_text("%d", COPIES), NULL);

	(void)state;
	return invar_context_new(2, &hooks, &ctx) != INVAR_OK ||
	       invar_bank_synthesize(ctx, o, test_path("bank")) != INVAR_OK ||
	       inv_bank_open(ctx, test_path("bank"), &bank) != INVAR_OK;
}

static int close_bank(void **state)
{
	(void)state;
	invar_bank_close(bank);
	invar_context_free(ctx);
	return 0;
}

static invar_options *options(const char *spread)
{
	return test_options("train", "loss", "none", "init", "features", "hidden", "20",
	                    "ridge", "1", "spread", spread, NULL);
}

static void train(const char *spread, const char *run)
{
	invar_options *o = options(spread);

	assert_int_equal(invar_train(&bank, 1, o, test_path("%s", run)), INVAR_OK);
	invar_options_free(o);
}

/* Codes of all copies, with `clean` preceded by those of clean rows. */
static size_t codes_of(const char *run, bool clean, float *out)
{
	invar_adapter *e;
	float *z = malloc(ROWS * D * sizeof *z);
	size_t rows = 0;

	assert_int_equal(invar_adapter_open(ctx, test_path("%s", run), &e), INVAR_OK);
	for (int32_t k = clean ? INVAR_CLEAN : 0; k < COPIES; k++, rows += ROWS) {
		assert_int_equal(invar_bank_read(bank, "train", k, 0, ROWS, z), INVAR_OK);
		assert_int_equal(invar_adapter_apply(e, z, ROWS, out + rows * D), INVAR_OK);
	}
	invar_adapter_close(e);
	free(z);
	return rows;
}

static void average(const float *x, size_t rows, double mean[D])
{
	memset(mean, 0, D * sizeof *mean);
	for (size_t i = 0; i < rows * D; i++)
		mean[i % D] += x[i] / (double)rows;
}

static double covariance(const float *x, size_t rows, const double mean[D], size_t i,
                         size_t j)
{
	double sum = 0;

	for (size_t l = 0; l < rows; l++)
		sum += (x[l * D + i] - mean[i]) * (x[l * D + j] - mean[j]) / (double)rows;
	return sum;
}

static double variance(const float *x, size_t rows)
{
	double mean[D], sum = 0;

	average(x, rows, mean);
	for (size_t i = 0; i < D; i++)
		sum += covariance(x, rows, mean, i, i) / D;
	return sum;
}

static float clean[ROWS * D], before[(COPIES + 1) * ROWS * D],
	after[(COPIES + 1) * ROWS * D];

static void scale_makes_both_spreads_equal(void **state)
{
	double mean[D], factor;
	size_t rows;
	json_t *run;

	(void)state;
	train("none", "plain");
	train("scale", "scaled");
	assert_int_equal(invar_bank_read(bank, "train", INVAR_CLEAN, 0, ROWS, clean), INVAR_OK);
	rows = codes_of("plain", false, before);
	codes_of("scaled", false, after);
	factor = sqrt(variance(clean, ROWS) / variance(before, rows));
	assert_true(fabs(factor - 1) > 1e-3);
	assert_true(fabs(variance(after, rows) / variance(clean, ROWS) - 1) < 1e-5);
	average(clean, ROWS, mean);
	for (size_t i = 0; i < rows * D; i++)
		assert_true(fabs(after[i] - mean[i % D] - factor * (before[i] - mean[i % D])) <
		            1e-4);
	assert_int_equal(inv_json_load(test_path("scaled/run.json"), &run), INVAR_OK);
	assert_true(
		fabs(json_number_value(json_object_get(json_object_get(run, "spread"), "factor")) -
	         factor) < 1e-6);
	json_decref(run);
}

/* Of many images 4096 and one copy of each, spread evenly over all. */
static void scale_takes_some_of_many_rows(void **state)
{
	enum { MANY = 4700, TAKEN = 4096 };
	const invar_options *how =
		test_kept("synthetic", "rows", test_text("%d", MANY), "test-rows", "10", "dim",
	              test_text("%d", D), "copies", "2", NULL);
	float *z = malloc(MANY * D * sizeof *z), *codes = malloc(MANY * D * sizeof *codes);
	float *x = malloc(TAKEN * D * sizeof *x);
	invar_options *plain = options("none"), *scaled = options("scale");
	invar_adapter *e;
	invar_bank *many;
	double clean_variance, factor, want;
	json_t *run;

	(void)state;
	assert_int_equal(invar_bank_synthesize(ctx, how, test_path("many")), INVAR_OK);
	assert_int_equal(inv_bank_open(ctx, test_path("many"), &many), INVAR_OK);
	assert_int_equal(invar_train(&many, 1, plain, test_path("many-plain")), INVAR_OK);
	assert_int_equal(invar_train(&many, 1, scaled, test_path("many-scaled")), INVAR_OK);
	assert_int_equal(invar_adapter_open(ctx, test_path("many-plain"), &e), INVAR_OK);
	assert_int_equal(invar_bank_read(many, "train", INVAR_CLEAN, 0, MANY, z), INVAR_OK);
	for (size_t i = 0; i < TAKEN; i++)
		memcpy(x + i * D, z + i * MANY / TAKEN * D, D * sizeof *x);
	clean_variance = variance(x, TAKEN);
	assert_int_equal(invar_bank_read(many, "train", 0, 0, MANY, z), INVAR_OK);
	assert_int_equal(invar_adapter_apply(e, z, MANY, codes), INVAR_OK);
	for (size_t i = 0; i < TAKEN; i++)
		memcpy(x + i * D, codes + i * MANY / TAKEN * D, D * sizeof *x);
	assert_int_equal(inv_json_load(test_path("many-scaled/run.json"), &run), INVAR_OK);
	factor = json_number_value(json_object_get(json_object_get(run, "spread"), "factor"));
	want = sqrt(clean_variance / variance(x, TAKEN));
	if (!(fabs(factor - want) < 1e-6))
		fail_msg("%.9g, not %.9g", factor, want);
	json_decref(run);
	invar_adapter_close(e);
	invar_bank_close(many);
	invar_options_free(plain);
	invar_options_free(scaled);
	free(z);
	free(codes);
	free(x);
}

static void assert_same_file(const char *a, const char *b)
{
	size_t na, nb;
	char *x = test_read(a, &na), *y = test_read(b, &nb);

	assert_int_equal(na, nb);
	assert_memory_equal(x, y, na);
	free(x);
	free(y);
}

static void threads_and_interruptions_change_nothing(void **state)
{
	invar_options *o = options("scale"),
				  *resume = test_options("train", "resume", "1", NULL);

	(void)state;
	for (unsigned t = 1; t <= 2; t++) {
		invar_context *c;
		invar_bank *b;

		assert_int_equal(invar_context_new(t, NULL, &c), INVAR_OK);
		assert_int_equal(inv_bank_open(c, test_path("bank"), &b), INVAR_OK);
		assert_int_equal(invar_train(&b, 1, o, test_path("threads%u", t)), INVAR_OK);
		assert_same_file(test_path("scaled/adapter.safetensors"),
		                 test_path("threads%u/adapter.safetensors", t));
		invar_bank_close(b);
		invar_context_free(c);
	}
	stop = true;
	assert_int_equal(invar_train(&bank, 1, o, test_path("stopped")), INVAR_E_CANCELLED);
	stop = false;
	assert_int_equal(invar_train(&bank, 1, resume, test_path("stopped")), INVAR_OK);
	assert_same_file(test_path("scaled/adapter.safetensors"),
	                 test_path("stopped/adapter.safetensors"));
	invar_options_free(o);
	invar_options_free(resume);
}

/* It is applied after the last epoch, and again when a finished run is resumed. */
static void a_trained_adapter_is_stretched_once(void **state)
{
	invar_options *o = test_options("train", "epochs", "2", "hidden", "12", "spread",
	                                "scale", NULL),
				  *resume = test_options("train", "resume", "1", NULL);

	(void)state;
	assert_int_equal(invar_train(&bank, 1, o, test_path("trained")), INVAR_OK);
	assert_true(
		fabs(variance(after, codes_of("trained", false, after)) / variance(clean, ROWS) -
	         1) < 1e-4);
	assert_int_equal(rename(test_path("trained/adapter.safetensors"), test_path("keep")),
	                 0);
	assert_int_equal(invar_train(&bank, 1, resume, test_path("trained")), INVAR_OK);
	assert_same_file(test_path("keep"), test_path("trained/adapter.safetensors"));
	invar_options_free(o);
	invar_options_free(resume);
}

static void refuse(invar_options *o, const char *word)
{
	assert_int_not_equal(invar_train(&bank, 1, o, test_path("wrong")), INVAR_OK);
	test_assert_error(word);
	assert_false(test_exists(test_path("wrong")));
	invar_options_free(o);
}

static void wrong_uses_make_no_run(void **state)
{
	(void)state;
	refuse(
		test_options("train", "loss", "waco", "width", "4", "spread", "scale", NULL),
		"spread scale needs codes as wide as the features: width is 4, but the bank has 9");
	refuse(test_options("train", "decoder", "1", "spread", "scale", NULL),
	       "spread scale changes the codes that a decoder was trained on");
	refuse(test_set(options("none"), "hidden", "20000", NULL),
	       "init features solves for all features and hidden units at once, at most 16384");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scale_makes_both_spreads_equal),
		cmocka_unit_test(scale_takes_some_of_many_rows),
		cmocka_unit_test(threads_and_interruptions_change_nothing),
		cmocka_unit_test(a_trained_adapter_is_stretched_once),
		cmocka_unit_test(wrong_uses_make_no_run),
	};

	return cmocka_run_group_tests(tests, open_bank, close_bank);
}
