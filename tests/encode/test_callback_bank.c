/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_callback_bank.c - banks by a function of the caller: the same rows as our own
 * encoder gives, however often it is interrupted.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "encoders/encoder.h"
#include "support.h"

enum { N = 700, H = 6, W = 5, CELLS = H * W };

static char text[2000];

static int set_up(void **state)
{
	uint64_t shape[3] = {N, H, W};
	float *x = malloc(N * CELLS * sizeof *x);

	test_context_open(state);
	for (size_t i = 0; i < N * CELLS; i++)
		x[i] = (float)(i * 37 % 255) / 255;
	snprintf(text, sizeof text, "npy:%s", test_path("x.npy"));
	assert_int_equal(invar_array_write(test_ctx, text + 4, x, 3, shape, INVAR_FLOAT32),
	                 INVAR_OK);
	free(x);
	return 0;
}

/* The first channel of the tensor: what pixels gives for grey images. */
typedef struct function {
	size_t calls, stops_at; /* 0: never */
	size_t nan_at;          /* a call; 0: never */
} function;

static invar_status first_channel(void *user, const float *nchw, const uint64_t shape[4],
                                  float *out, char *message, size_t size)
{
	function *f = user;

	(void)message;
	(void)size;
	if (++f->calls == f->stops_at)
		return INVAR_E_CANCELLED;
	for (size_t i = 0; i < shape[0]; i++)
		memcpy(out + i * CELLS, nchw + i * shape[1] * CELLS, CELLS * sizeof *out);
	if (f->calls == f->nan_at)
		out[3 * CELLS + 7] = NAN;
	return INVAR_OK;
}

static invar_encoder_callback describe(function *f, const char *version)
{
	return (invar_encoder_callback){.size = sizeof(invar_encoder_callback),
	                                .user = f,
	                                .run = first_channel,
	                                .name = "first channel",
	                                .version = version,
	                                .width = CELLS,
	                                .batch = 32,
	                                .normalize = "half"};
}

static invar_status encode_by(const invar_encoder_callback *c, const char *bank,
                              const char *spec)
{
	const invar_options *o =
		test_kept("encode", "augment", spec, "copies", "2", "seed", "5", NULL);
	char path[2000];
	invar_dataset *d;
	invar_encoder *e;
	invar_status st;

	snprintf(path, sizeof path, "%s", test_path("%s", bank));
	assert_int_equal(invar_dataset_open(test_ctx, text, NULL, &d), INVAR_OK);
	st = c ? invar_encoder_from_callback(test_ctx, c, &e)
	       : invar_encoder_open(test_ctx, NULL, test_pixels(), &e);
	assert_int_equal(st, INVAR_OK);
	st = invar_encode(e, d, o, path);
	invar_encoder_close(e);
	invar_dataset_close(d);
	return st;
}

static void assert_same_rows(const char *a, const char *b)
{
	test_assert_same_file(a, b, "train/clean.npy");
	test_assert_same_file(a, b, "train/fingerprints.npy");
	test_assert_same_file(a, b, "train/aug/000.npy");
	test_assert_same_file(a, b, "train/aug/001.npy");
	test_assert_same_file(a, b, "train/aug/001.params.npy");
}

static void rows_are_those_of_our_own_encoder(void **state)
{
	static const char *const specs[] = {"rotation", "rotation+noise:std=0.1|id"};

	(void)state;
	for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
		function f = {0};
		invar_encoder_callback c = describe(&f, NULL);
		char mine[40], ours[40];

		snprintf(mine, sizeof mine, "mine%zu", i);
		snprintf(ours, sizeof ours, "ours%zu", i);
		assert_int_equal(encode_by(&c, mine, specs[i]), INVAR_OK);
		assert_int_equal(encode_by(NULL, ours, specs[i]), INVAR_OK);
		assert_same_rows(mine, ours);
		/* 22 batches of each of the three arrays. */
		assert_int_equal(f.calls, 3 * 22);
	}
}

static void an_interrupted_bank_resumes_to_the_same_bytes(void **state)
{
	function f = {.stops_at = 40}, whole = {0};
	invar_encoder_callback c = describe(&f, "1"), w = describe(&whole, "1");

	(void)state;
	assert_int_equal(encode_by(&c, "stopped", "rotation"), INVAR_E_CANCELLED);
	test_assert_error("interrupted");
	assert_true(test_exists(test_path("stopped/train/clean.npy.part")));
	f = (function){0};
	assert_int_equal(encode_by(&c, "stopped", "rotation"), INVAR_OK);
	assert_true(f.calls < 3 * 22); /* finished blocks are kept; 1 call checks them */
	assert_int_equal(encode_by(&w, "whole", "rotation"), INVAR_OK);
	assert_same_rows("stopped", "whole");
	test_assert_same_file("stopped", "whole", "bank.json");
}

static void the_bank_says_what_the_caller_says(void **state)
{
	function f = {0};
	invar_encoder_callback c = describe(&f, "weights of May");
	char *said;

	(void)state;
	assert_int_equal(encode_by(&c, "said", "rotation"), INVAR_OK);
	said = test_read(test_path("said/bank.json"), NULL);
	assert_non_null(strstr(said, "\"encoder\": \"first channel\""));
	assert_non_null(strstr(said, "\"version\": \"weights of May\""));
	free(said);
	c.version = "weights of June";
	assert_int_equal(encode_by(&c, "said", "rotation"), INVAR_E_MISMATCH);
	test_assert_error("weights of June");
	c.version = "weights of May";
	c.name = "second channel";
	assert_int_equal(encode_by(&c, "said", "rotation"), INVAR_E_MISMATCH);
	test_assert_error("second channel");
}

static void a_nan_is_an_error_that_names_the_row(void **state)
{
	function f = {.nan_at = 4}; /* the clean rows, and two copies of the first batch */
	invar_encoder_callback c = describe(&f, NULL);

	(void)state;
	assert_int_equal(encode_by(&c, "nan", "rotation"), INVAR_E_NUMERIC);
	test_assert_error("NaN");
	assert_non_null(strstr(invar_last_error(), "35, 7")); /* the fourth of batch two */
}

/* What nobody says about an ONNX model is asked for; src/encoders/onnx_runtime.c. */
static void an_unknown_preparation_is_asked_for(void **state)
{
	static const struct {
		bool size, normalisation;
		const char *options[4], *message; /* NULL: it is known */
	} cases[] = {
		{true, false, {NULL}, "takes images of any size; say which one with size N"},
		{true, false, {"size", "native"}, NULL},
		{false, true, {NULL}, "does not say how images are normalised; use normalize"},
		{false, true, {"mean", "0.5"}, "does not say how images are normalised"},
		{false, true, {"mean", "0.5", "std", "0.5"}, NULL},
		{false, true, {"normalize", "half"}, NULL},
	};
	invar_dataset *d;

	(void)state;
	assert_int_equal(invar_dataset_open(test_ctx, text, NULL, &d), INVAR_OK);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *const *o = cases[i].options;
		function f = {0};
		invar_encoder_callback c = describe(&f, NULL);
		invar_encoder *e;

		assert_int_equal(invar_encoder_from_callback(test_ctx, &c, &e), INVAR_OK);
		e->input.asks_size = cases[i].size;
		e->input.asks_normalisation = cases[i].normalisation;
		assert_int_equal(invar_encode(e, d,
		                              test_kept("encode", "dtype", "float32", o[0], o[1],
		                                        o[2], o[3], NULL),
		                              test_path("asked-%zu", i)),
		                 cases[i].message ? INVAR_E_USE : INVAR_OK);
		if (cases[i].message)
			test_assert_error(cases[i].message);
		invar_encoder_close(e);
	}
	invar_dataset_close(d);
}

static void the_file_of_a_function_is_recorded(void **state)
{
	function f = {0};
	invar_encoder_callback c = describe(&f, "1");
	char digits[INV_SHA256_HEX], file[2000];
	json_t *about;

	(void)state;
	snprintf(file, sizeof file, "%s", test_path("x.npy")); /* any file */
	c.weights = file;
	assert_int_equal(encode_by(&c, "of-file", "rotation"), INVAR_OK);
	assert_int_equal(inv_sha256_file(file, digits), INVAR_OK);
	assert_int_equal(inv_json_load(test_path("of-file/bank.json"), &about), INVAR_OK);
	assert_string_equal(json_string_value(json_object_get(about, "weights_sha256")),
	                    digits);
	json_decref(about);
	c.weights = NULL;
	assert_int_equal(encode_by(&c, "of-file", "rotation"), INVAR_E_MISMATCH);
}

static void a_forecast_calls_the_function_and_writes_nothing(void **state)
{
	function f = {0};
	invar_encoder_callback c = describe(&f, NULL);
	invar_figures *figures;
	invar_dataset *d;
	invar_encoder *e;

	(void)state;
	assert_int_equal(invar_dataset_open(test_ctx, text, NULL, &d), INVAR_OK);
	assert_int_equal(invar_encoder_from_callback(test_ctx, &c, &e), INVAR_OK);
	assert_int_equal(invar_encode_forecast(e, d,
	                                       test_kept("encode", "augment", "rotation", NULL),
	                                       test_path("none"), &figures),
	                 INVAR_OK);
	assert_int_equal((int)invar_figure(figures, "features"), 5 * N);
	assert_true(invar_figure(figures, "rate") > 0);
	assert_true(f.calls > 0);
	assert_false(test_exists(test_path("none")));
	invar_figures_free(figures);
	assert_int_equal(invar_train_images(e, d, test_kept("train", "augment", "noise", NULL),
	                                    test_path("run")),
	                 INVAR_E_USE);
	test_assert_error("cannot be called while an adapter trains");
	invar_encoder_close(e);
	invar_dataset_close(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_those_of_our_own_encoder),
		cmocka_unit_test(an_interrupted_bank_resumes_to_the_same_bytes),
		cmocka_unit_test(the_bank_says_what_the_caller_says),
		cmocka_unit_test(a_nan_is_an_error_that_names_the_row),
		cmocka_unit_test(an_unknown_preparation_is_asked_for),
		cmocka_unit_test(the_file_of_a_function_is_recorded),
		cmocka_unit_test(a_forecast_calls_the_function_and_writes_nothing),
	};

	return cmocka_run_group_tests(tests, set_up, test_context_close);
}
