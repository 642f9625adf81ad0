/* SPDX-License-Identifier: Apache-2.0 */
/* test_compatibility.c - an adapter records its features, and others give a warning. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "adapter/adapter.h"
#include "adapter/compatibility.h"
#include "bank/bank.h"
#include "support.h"

#define SHA_A "aaaaaaaaaaaabbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define SHA_B "cccccccccccc0000000000000000000000000000000000000000000000000000"
#define HEAD "{\"format\": \"invar-bank\", \"version\": 1, \"augment\": \"rotation\", "
#define IMAGES(size, mean)                               \
	"\"preprocess\": {\"channels\": 1, \"size\": [" size \
	"], \"resize\": null, \"mean\": [" mean              \
	"], \"std\": [0.25]}, \"augment_space\": \"pixel\"}"

static char warnings[4096];

static void keep_warning(void *user, int level, const char *line)
{
	size_t used = strlen(warnings);

	(void)user;
	if (level == INVAR_LOG_WARNING)
		snprintf(warnings + used, sizeof warnings - used, "%s\n", line);
}

static invar_context *ctx;

static int set_up(void **state)
{
	const invar_hooks hooks = {.size = sizeof hooks, .log = keep_warning};

	(void)state;
	return invar_context_new(1, &hooks, &ctx);
}

static int tear_down(void **state)
{
	(void)state;
	invar_context_free(ctx);
	return 0;
}

static void make_bank(const char *name, const char *json)
{
	const invar_options *o;

	o = test_kept("synthetic", "rows", "40", "test-rows", "20", "dim", "6", "copies", "2",
	              NULL);
	assert_int_equal(invar_bank_synthesize(ctx, o, test_path("%s", name)), INVAR_OK);
	test_write(test_path("%s/bank.json", name), json, strlen(json));
}

static invar_adapter *train(const char *bank, const char *run)
{
	invar_options *o = test_options("train", "hidden", "4", "epochs", "1", NULL);
	invar_adapter *e;
	invar_bank *b;

	assert_int_equal(inv_bank_open(ctx, test_path("%s", bank), &b), INVAR_OK);
	assert_int_equal(invar_train(&b, 1, o, test_path("%s", run)), INVAR_OK);
	invar_options_free(o);
	invar_bank_close(b);
	assert_int_equal(invar_adapter_open(ctx, test_path("%s", run), &e), INVAR_OK);
	return e;
}

/* The warnings of evaluating on a bank; "" for none. */
static const char *evaluate(const invar_adapter *e, const char *bank)
{
	const char *name = "E";
	invar_options *o = test_options("eval", "metrics", "structure", NULL);
	invar_bank *b;
	invar_results *r;

	*warnings = '\0';
	assert_int_equal(inv_bank_open(ctx, test_path("%s", bank), &b), INVAR_OK);
	assert_int_equal(invar_eval(b, &e, &name, 1, o, &r), INVAR_OK);
	invar_results_free(r);
	invar_options_free(o);
	invar_bank_close(b);
	return warnings;
}

static const char *apply(const invar_adapter *e, const char *file)
{
	char out[2048];

	snprintf(out, sizeof out, "%s", test_path("out.npy"));
	*warnings = '\0';
	assert_int_equal(inv_adapter_apply_file(e, test_path("%s", file), out, INVAR_FLOAT32),
	                 INVAR_OK);
	return warnings;
}

static void assert_holds(const char *text, const char *words)
{
	if (!strstr(text, words))
		fail_msg("not said: %s\nbut: %s", words, text);
}

/* ---- Claims ----------------------------------------------------------------------- */

static void the_preparation_is_kept_as_the_bank_says_it(void **state)
{
	invar_adapter *e;

	(void)state;
	make_bank("small", HEAD "\"encoder\": \"vit\", \"weights_sha256\": \"" SHA_A
	                        "\", " IMAGES("8, 9", "0.5"));
	e = train("small", "small-run");
	assert_string_equal(invar_adapter_metadata(e, "invar.input"),
	                    "{\"channels\": 1, \"size\": [8, 9], \"resize\": null, \"mean\": "
	                    "[0.5], \"std\": [0.25], \"augment_space\": \"pixel\"}");
	assert_string_equal(evaluate(e, "small"), "");
	assert_string_equal(apply(e, "small/test/clean.npy"), "");
	invar_adapter_close(e);
}

static void features_of_other_images_are_told(void **state)
{
	invar_adapter *e;

	(void)state;
	assert_int_equal(invar_adapter_open(ctx, test_path("small-run"), &e), INVAR_OK);
	make_bank("large", HEAD "\"encoder\": \"other name\", \"weights_sha256\": \"" SHA_A
	                        "\", " IMAGES("16, 9", "0.5"));
	evaluate(e, "large");
	assert_holds(warnings, "was trained on images with size [8, 9] but ");
	assert_holds(warnings, "/large was made from images with size [16, 9]\n");
	assert_null(strstr(warnings, "mean"));
	assert_null(strstr(warnings, "other name")); /* the weights are the same */
	assert_holds(apply(e, "large/test/clean.npy"),
	             "/large/test/clean.npy was made from images");
	assert_holds(apply(e, "large/train/aug/001.npy"),
	             "/aug/001.npy was made from images with");
	make_bank("bright", HEAD "\"encoder\": \"vit\", " IMAGES("8, 9", "0.75"));
	assert_holds(evaluate(e, "bright"), "was trained on images with mean [0.5] but ");
	assert_null(strstr(warnings, "size"));
	invar_adapter_close(e);
}

static void features_of_another_encoder_are_told(void **state)
{
	invar_adapter *e;

	(void)state;
	assert_int_equal(invar_adapter_open(ctx, test_path("small-run"), &e), INVAR_OK);
	make_bank("weights", HEAD "\"encoder\": \"vit\", \"weights_sha256\": \"" SHA_B
	                          "\", " IMAGES("8, 9", "0.5"));
	assert_holds(evaluate(e, "weights"),
	             "was trained on features of vit with weights aaaaaaaaaaaa… but ");
	assert_holds(warnings, "/weights has features of vit with weights cccccccccccc…\n");
	make_bank("name", HEAD
	          "\"encoder\": \"pixels\", \"weights_sha256\": null, " IMAGES("8, 9", "0.5"));
	assert_holds(evaluate(e, "name"), "was trained on features of vit but ");
	assert_holds(apply(e, "name/test/clean.npy"), "/clean.npy has features of pixels\n");
	invar_adapter_close(e);
}

/* If either records nothing, or the array is in no bank, there is no warning. */
static void what_is_not_known_is_not_told(void **state)
{
	invar_adapter *e, *silent;
	char *bytes;
	size_t size;

	(void)state;
	assert_int_equal(invar_adapter_open(ctx, test_path("small-run"), &e), INVAR_OK);
	make_bank("plain", "{\"format\": \"invar-bank\", \"version\": 1}");
	make_bank("odd", "{\"format\": \"invar-bank\", \"version\": 1, \"preprocess\": 7, "
	                 "\"encoder\": []}");
	assert_string_equal(evaluate(e, "plain"), "");
	assert_string_equal(evaluate(e, "odd"), "");
	assert_string_equal(apply(e, "plain/test/clean.npy"), "");
	silent = train("odd", "odd-run");
	assert_string_equal(invar_adapter_metadata(silent, "invar.input"), "");
	assert_string_equal(evaluate(silent, "small"), "");
	invar_adapter_close(silent);
	bytes = test_read(test_path("large/test/clean.npy"), &size);
	test_write(test_path("elsewhere.npy"), bytes, size);
	test_write(test_path("large/test/mine.npy"), bytes, size);
	free(bytes);
	assert_string_equal(apply(e, "elsewhere.npy"), "");
	assert_string_equal(apply(e, "large/test/mine.npy"), "");
	test_write(test_path("large/bank.json"), "{", 1);
	assert_string_equal(apply(e, "large/test/clean.npy"), "");
	invar_adapter_close(e);
}

/* Metadata may come from anywhere. */
static void input_that_makes_no_sense_is_passed_over(void **state)
{
	static const char *const inputs[] = {
		"{", "[]", "7", "{\"size\": {}}", "{\"mean\": 1}", "{\"size\": \"\\u001b[2J\"}"};
	const inv_mlp_shape s = {.d = 6, .h = 1, .w = 6};
	char names[INV_MLP_BLOCKS][32];
	inv_tensor_out tensors[INV_MLP_BLOCKS];
	float params[64] = {0};

	(void)state;
	for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
		const inv_metadata said[] = {{"invar.input", inputs[i]}};
		invar_adapter *e;

		inv_mlp_tensors(s, params, "", names, tensors);
		assert_int_equal(inv_safetensors_save(test_path("foreign.safetensors"), tensors,
		                                      INV_MLP_BLOCKS, said, 1),
		                 INVAR_OK);
		assert_int_equal(invar_adapter_open(ctx, test_path("foreign.safetensors"), &e),
		                 INVAR_OK);
		apply(e, "small/test/clean.npy");
		assert_true((*warnings != '\0') == (i >= 3));
		assert_null(strchr(warnings, '\033'));
		invar_adapter_close(e);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_preparation_is_kept_as_the_bank_says_it),
		cmocka_unit_test(features_of_other_images_are_told),
		cmocka_unit_test(features_of_another_encoder_are_told),
		cmocka_unit_test(what_is_not_known_is_not_told),
		cmocka_unit_test(input_that_makes_no_sense_is_passed_over),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
