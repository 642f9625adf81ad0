/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_study.c - claims about what a recipe means: the matrix, names, paths, options, and
 * mistakes with line, column and the nearest right name.
 */
#include "study/study.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/status.h"
#include "study/comparison.h"
#include "study/yaml_tree.h"
#include "support.h"

static char message[INV_MESSAGE];

static inv_study *study_of(const char *text)
{
	inv_study *s;
	inv_node *tree;

	assert_int_equal(inv_yaml_read(text, strlen(text), "dir/r.yaml", true, &tree),
	                 INVAR_OK);
	if (inv_study_new(tree, "dir/r.yaml", NULL, &s) != INVAR_OK) {
		assert_null(s);
		inv_last_error_spelled("", message, sizeof message);
	}
	return s;
}

static void refuses(const char *text, const char *sentence)
{
	inv_study *s = study_of(text);

	if (s)
		fail_msg("accepted: %s", text);
	if (sentence)
		assert_string_equal(message, sentence);
}

#define IMAGES "data: folder:images/set\nencoders: net.safetensors\n"

/* ---- The matrix
 * ---------------------------------------------------------------------------- */

static void a_short_recipe_has_defaults(void **state)
{
	inv_study *s = study_of(IMAGES);

	(void)state;
	if (!s)
		fail_msg("%s");
	assert_string_equal(s->name, "r");
	assert_string_equal(s->folder, "r");
	assert_int_equal(s->banks, 1);
	assert_string_equal(s->bank[0].title, "set, net, rotation");
	assert_string_equal(s->bank[0].folder, "r/set/net/rotation");
	assert_string_equal(s->bank[0].dataset, "folder:dir/images/set");
	assert_string_equal(inv_settings_find(&s->bank[0].encode, "weights"),
	                    "dir/net.safetensors");
	assert_int_equal(s->adapters, 1);
	assert_string_equal(s->adapter[0].title, "keep");
	assert_int_equal(s->seeds, 1);
	assert_int_equal(s->seed[0], 0);
	assert_true(s->diagnoses && s->reports);
	inv_study_free(s);
}

static void the_matrix_is_the_product(void **state)
{
	inv_study *s = study_of("data: [folder:a, {name: B, data: mnist:b, limit: 5}]\n"
	                        "encode: {size: 64, limit: 9}\n"
	                        "encoders: [pixels, {name: Net, weights: /w.pth, size: 32}]\n"
	                        "augmentations: [rotation, 'noise:std=0.5']\n");

	(void)state;
	if (!s)
		fail_msg("%s");
	assert_int_equal(s->banks, 8);
	assert_string_equal(s->bank[0].folder, "r/a/pixels/rotation");
	assert_string_equal(s->bank[1].folder, "r/a/pixels/noise-std-0.5");
	assert_string_equal(s->bank[7].folder, "r/b/net/noise-std-0.5");
	assert_string_equal(s->bank[7].dataset, "mnist:dir/b");
	/* The last of encode, data, encoder and augmentation that sets an option counts. */
	assert_string_equal(inv_settings_find(&s->bank[0].encode, "size"), "64");
	assert_string_equal(inv_settings_find(&s->bank[0].encode, "limit"), "9");
	assert_string_equal(inv_settings_find(&s->bank[7].encode, "size"), "32");
	assert_string_equal(inv_settings_find(&s->bank[7].encode, "limit"), "5");
	assert_string_equal(inv_settings_find(&s->bank[7].encode, "weights"), "/w.pth");
	assert_string_equal(inv_settings_find(&s->bank[0].encode, "encoder"), "pixels");
	inv_study_free(s);
}

static void lists_in_adapters_are_multiplied(void **state)
{
	static const char *const titles[] = {"keep",
	                                     "paper mawa",
	                                     "W width 8 epochs 1",
	                                     "W width 8 epochs 2",
	                                     "W width d/4 epochs 1",
	                                     "W width d/4 epochs 2"};
	inv_study *s = study_of(
		"bank: b\nadapters: [keep, {preset: paper, loss: mawa},\n"
		" {name: W, loss: waco, width: [8, d/4], epochs: [1, 2]}]\nseeds: [3, 1]\n");
	invar_options *o;

	(void)state;
	if (!s)
		fail_msg("%s");
	assert_int_equal(s->adapters, 6);
	for (size_t i = 0; i < 6; i++)
		assert_string_equal(s->adapter[i].title, titles[i]);
	assert_string_equal(s->adapter[5].folder, "w-width-d-4-epochs-2");
	assert_int_equal(s->seeds, 2);
	assert_int_equal(inv_study_train_options(&s->adapter[5], 64, 3, &o), INVAR_OK);
	assert_float_equal(inv_options_number(o, "width"), 16, 0);
	assert_float_equal(inv_options_number(o, "epochs"), 2, 0);
	assert_float_equal(inv_options_number(o, "seed"), 3, 0);
	invar_options_free(o);
	assert_int_equal(inv_study_train_options(&s->adapter[5], 3, 3, &o), INVAR_E_USE);
	assert_string_equal(invar_last_error(),
	                    "dir/r.yaml:3:35: width is 0, as the features have 3 "
	                    "numbers");
	inv_study_free(s);
}

static void paths_are_beside_the_recipe(void **state)
{
	inv_study *s = study_of("data: {data: 'npy:x.npy,/y.npy', classes: c.txt}\n"
	                        "encoders: pixels\n");

	(void)state;
	if (!s)
		fail_msg("%s");
	assert_string_equal(s->bank[0].dataset, "npy:dir/x.npy,/y.npy");
	assert_string_equal(inv_settings_find(&s->bank[0].encode, "classes"), "dir/c.txt");
	inv_study_free(s);
	s = study_of("data: 'fashion-mnist:'\nencoders: pixels\n");
	assert_string_equal(s->bank[0].dataset, "fashion-mnist:");
	assert_string_equal(s->bank[0].title, "fashion-mnist, pixels, rotation");
	inv_study_free(s);
}

/* ---- Mistakes
 * ------------------------------------------------------------------------------- */

static void unknown_keys_name_the_nearest(void **state)
{
	(void)state;
	refuses(IMAGES "adapter: keep\n",
	        "dir/r.yaml:3:1: unknown key 'adapter', did you mean adapters?; 'invar run "
	        "--print-defaults' shows all keys");
	refuses(IMAGES "adapters:\n  - {preset: paper, epoch: 3}\n",
	        "dir/r.yaml:4:21: unknown key 'epoch', did you mean epochs?; the options of "
	        "'invar train' and name can stand here");
	refuses(IMAGES "encode: {sizes: 3}\n",
	        "dir/r.yaml:3:10: unknown key 'sizes', did you mean size?; the options of "
	        "'invar encode' can stand here");
	refuses("bank: {bank: a, nam: b}\n",
	        "dir/r.yaml:1:17: unknown key 'nam'; an item of bank has name and bank");
}

static void wrong_values_are_reported_at_their_place(void **state)
{
	(void)state;
	refuses(IMAGES "adapters:\n  - {epochs: 0}\n",
	        "dir/r.yaml:4:14: epochs must be at least 1 and at most 1000000, not 0");
	refuses(IMAGES "adapters: [keap]\n",
	        "dir/r.yaml:3:12: preset must be keep, paper or instant, not 'keap'; "
	        "did you mean keep?");
	refuses(IMAGES "adapters: {loss: mawa, temperature: 2}\n",
	        "dir/r.yaml:3:11: temperature needs loss simclr, but loss is mawa");
	refuses(
		IMAGES "augmentations: [rotaton]\n",
		"dir/r.yaml:3:17: there is no augmentation 'rotaton'; choose from rotation, "
		"affine, noise, crop, flip, blur, brightness, contrast, jpeg or id; did you mean "
		"rotation?");
	refuses(IMAGES "eval: {metrics: [lc, strcture]}\n", NULL);
	assert_non_null(strstr(message, "dir/r.yaml:3:7: metrics: there is no measurement "
	                                "'strcture'"));
	assert_non_null(strstr(message, "did you mean structure?"));
	refuses(IMAGES "seeds: [0, x]\n",
	        "dir/r.yaml:3:12: a seed is a whole number from 0 to 2^53");
	refuses(IMAGES "seeds: [1, 1]\n", "dir/r.yaml:3:12: the seed 1 appears twice");
	refuses(IMAGES "report: maybe\n", "dir/r.yaml:3:9: report is true or false");
	refuses(IMAGES "diagnose: 3\n",
	        "dir/r.yaml:3:11: diagnose is true, false, or options of 'invar diagnose'");
}

static void what_cannot_be_meant_is_refused(void **state)
{
	(void)state;
	refuses("encoders: pixels\n", "dir/r.yaml:1:1: data and encoders are needed, or bank; "
	                              "'invar run --print-defaults' shows all keys");
	refuses("bank: a\nencoders: pixels\n",
	        "dir/r.yaml:2:1: bank is an existing bank, so encoders cannot be given; remove "
	        "one of them");
	refuses(IMAGES "adapters: [keep, keep]\n",
	        "dir/r.yaml:3:18: two items are named 'keep'; give one of them another name");
	refuses(IMAGES "adapters: [{name: '!!!'}]\n",
	        "dir/r.yaml:3:19: the name '!!!' has no letter or digit; a folder is named "
	        "after it");
	refuses(IMAGES "encode: {weights: x}\n",
	        "dir/r.yaml:3:10: weights cannot be set here; see docs/RECIPES.md for its "
	        "place");
	refuses(IMAGES "adapters: {seed: 3}\n",
	        "dir/r.yaml:3:12: seed cannot be set here; see docs/RECIPES.md for its place");
	refuses(IMAGES "adapters: []\n", "dir/r.yaml:3:11: the list adapters is empty");
	refuses("data: {name: x}\nencoders: pixels\n",
	        "dir/r.yaml:1:7: an item of data needs the key data, such as {data: "
	        "folder:images}");
}

/* ---- Comparisons
 * ------------------------------------------------------------------------------ */

static void write_results(const char *path, double f, double e)
{
	char text[1000];
	int length = snprintf(
		text, sizeof text,
		"{\"format\": \"invar-results\", \"version\": 1, \"split\": \"test\", \"points\": "
		"4,"
		"\"columns\": [{\"id\": \"F\", \"title\": \"F\"}, {\"id\": \"1\", \"title\": "
		"\"x\"}],"
		"\"measurements\": [{\"id\": \"lc\", \"title\": \"LC\"}],"
		"\"metrics\": [{\"id\": \"lc.clean\", \"measurement\": \"lc\", \"row\": \"LC\","
		"\"part\": \"clean\", \"unit\": \"share\", \"better\": \"higher\", \"digits\": 1}],"
		"\"values\": {\"lc.clean\": {\"F\": {\"value\": %g, \"count\": 4},"
		"\"1\": {\"value\": %g, \"low\": 0.1, \"high\": 0.9}}}, \"skipped\": {},"
		"\"options\": {}, \"details\": {}, \"notes\": []}",
		f, e);

	test_write(path, text, (size_t)length);
}

static void means_over_seeds_have_deviations(void **state)
{
	char a[300], b[300], c[300];
	const char *first[] = {a, b}, *second[] = {c};
	const inv_compared adapters[] = {{"one", first, 2}, {"two", second, 1}};
	const inv_comparison of = {
		.adapter = adapters, .adapters = 2, .study = "s", .title = "t"};
	const invar_value *v;
	invar_results *r;
	json_t *document;

	(void)state;
	snprintf(a, sizeof a, "%s", test_path("a.json"));
	snprintf(b, sizeof b, "%s", test_path("b.json"));
	snprintf(c, sizeof c, "%s", test_path("c.json"));
	write_results(a, 0.2, 0.5);
	write_results(b, 0.4, 0.7);
	write_results(c, 0.2, 0.6);
	assert_int_equal(inv_compare(&of, &document), INVAR_OK);
	assert_int_equal(json_dump_file(document, test_path("table.json"), 0), 0);
	json_decref(document);
	assert_int_equal(invar_results_open(test_ctx, test_path("table.json"), &r), INVAR_OK);
	assert_int_equal(invar_results_columns(r), 3);
	v = invar_results_value(r, "lc.clean", "F");
	assert_float_equal(v->value, 0.3, 1e-12);
	assert_float_equal(v->deviation, 0.1414213562, 1e-9);
	assert_int_equal(v->runs, 2);
	v = invar_results_value(r, "lc.clean", "1");
	assert_float_equal(v->value, 0.6, 1e-12);
	assert_true(v->low != v->low); /* an interval of one run says nothing about the mean */
	v = invar_results_value(r, "lc.clean", "2");
	assert_float_equal(v->value, 0.6, 1e-12);
	assert_float_equal(v->low, 0.1, 1e-12);
	assert_int_equal(v->runs, 0);
	invar_results_free(r);
}

static void a_file_that_is_no_result_is_named(void **state)
{
	const char *file[] = {"nowhere.json"};
	const inv_compared adapter = {"one", file, 1};
	const inv_comparison of = {
		.adapter = &adapter, .adapters = 1, .study = "s", .title = "t"};
	json_t *document;

	(void)state;
	assert_int_equal(inv_compare(&of, &document), INVAR_E_FORMAT);
	assert_null(document);
	assert_non_null(strstr(invar_last_error(), "nowhere.json: is not a file of results"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_short_recipe_has_defaults),
		cmocka_unit_test(the_matrix_is_the_product),
		cmocka_unit_test(lists_in_adapters_are_multiplied),
		cmocka_unit_test(paths_are_beside_the_recipe),
		cmocka_unit_test(unknown_keys_name_the_nearest),
		cmocka_unit_test(wrong_values_are_reported_at_their_place),
		cmocka_unit_test(what_cannot_be_meant_is_refused),
		cmocka_unit_test(means_over_seeds_have_deviations),
		cmocka_unit_test(a_file_that_is_no_result_is_named),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
