/* test_probes.c - lc, nc, ec and kept on made-up banks, and the cache. */
#include "support.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapter/adapter.h"
#include "base/json.h"
#include "formats/npy.h"

typedef struct seen {
	unsigned trained; /* calls of progress from a probe */
	unsigned warnings;
} seen;

static seen heard;
static invar_context *ctx;

static void hear(void *user, int level, const char *line)
{
	(void)user;
	(void)line;
	heard.warnings += level == INVAR_LOG_WARNING;
}

static int watch(void *user, const char *stage, uint64_t done, uint64_t total)
{
	(void)user;
	(void)done;
	(void)total;
	heard.trained += strncmp(stage, "probe ", 6) == 0;
	return 0;
}

static int open_context(void **state)
{
	const invar_hooks hooks = {.size = sizeof hooks, .log = hear, .progress = watch};

	(void)state;
	return invar_context_new(2, &hooks, &ctx) != INVAR_OK;
}

static int close_context(void **state)
{
	(void)state;
	invar_context_free(ctx);
	return 0;
}

static void make_bank(const char *name, uint64_t classes, uint64_t copies)
{
	const invar_options *o;

	o = test_kept("synthetic", "rows", "300", "test-rows", "120", "dim", "10", "classes",
	              test_text("%.15g", (double)classes), "copies",
	              test_text("%.15g", (double)copies), NULL);
	assert_int_equal(invar_bank_synthesize(ctx, o, test_path("%s", name)), INVAR_OK);
}

static invar_bank *open_bank(const char *name)
{
	invar_bank *bank;

	assert_int_equal(invar_bank_open(ctx, test_path("%s", name), &bank), INVAR_OK);
	return bank;
}

static invar_eval_opts small(const char *only)
{
	invar_eval_opts o;

	invar_eval_defaults(&o);
	o.only = only;
	o.probe_hidden = 32;
	o.probe_epochs = 20;
	return o;
}

/* The JSON text of all columns; free with invar_free. */
static char *evaluate(const char *name, const invar_adapter *adapter,
                      const invar_eval_opts *o)
{
	const char *const names[] = {"E"};
	invar_bank *bank = open_bank(name);
	char *text;

	heard = (seen){0};
	assert_int_equal(invar_eval(bank, &adapter, names, adapter != NULL, o, &text),
	                 INVAR_OK);
	invar_bank_close(bank);
	return text;
}

static void refuse(const char *name, const invar_adapter *adapter, const char *only,
                   invar_status want, const char *word)
{
	const char *const names[] = {"E"};
	invar_eval_opts o = small(only);
	invar_bank *bank = open_bank(name);
	char *text;

	assert_int_equal(invar_eval(bank, &adapter, names, adapter != NULL, &o, &text), want);
	test_assert_error(word);
	assert_null(text); /* nothing was measured */
	invar_bank_close(bank);
}

static json_t *cell(const json_t *doc, const char *measurement, const char *column)
{
	return json_object_get(
		json_object_get(json_object_get(doc, "measurements"), measurement), column);
}

static double figure(const json_t *cell, const char *which, const char *key)
{
	json_t *value = json_object_get(json_object_get(cell, which), key);

	assert_true(json_is_real(value));
	return json_real_value(value);
}

/* z -> z through relu(z) - relu(-z); w is 10 or less. The caller frees params. */
static invar_adapter identity(size_t w, float *params)
{
	inv_mlp_block b[INV_MLP_BLOCKS];
	invar_adapter e = {.ctx = ctx, .s = {10, 20, w}, .params = params};

	inv_mlp_layout(e.s, b);
	memset(params, 0, inv_mlp_floats(e.s) * sizeof *params);
	for (size_t i = 0; i < 10; i++) {
		params[b[0].offset + i * 10 + i] = 1;
		params[b[0].offset + (10 + i) * 10 + i] = -1;
		if (i < w) {
			params[b[2].offset + i * 20 + i] = 1;
			params[b[2].offset + i * 20 + 10 + i] = -1;
		}
	}
	return e;
}

/* ---- Figures ------------------------------------------------------------------------ */

static void figures_have_their_shape(void **state)
{
	static const char *const probes[] = {"lc", "nc", "ec", "kept"};
	invar_eval_opts o = small("probe");
	char *text;
	json_t *doc;

	(void)state;
	make_bank("shape", 4, 2);
	o.probe_epochs = 400; /* of one step; Adam moves a weight by 1e-3 a step at most */
	o.seeds = 2;
	text = evaluate("shape", NULL, &o);
	doc = json_loads(text, 0, NULL);
	for (int i = 0; i < 4; i++) {
		const json_t *f = cell(doc, probes[i], "F");
		const json_t *seeds = json_object_get(f, "seeds");
		double mean = 0;

		assert_true(figure(f, "clean", "value") > 0.8); /* clusters lie apart */
		assert_true(figure(f, "augmented", "value") < figure(f, "clean", "value"));
		for (int which = 0; which < 2; which++) {
			const char *word = which ? "clean" : "augmented";

			assert_true(figure(f, word, "low") <= figure(f, word, "value"));
			assert_true(figure(f, word, "value") <= figure(f, word, "high"));
			assert_true(figure(f, word, "deviation") >= 0);
		}
		assert_int_equal(json_array_size(seeds), 2);
		for (size_t s = 0; s < 2; s++)
			mean +=
				json_real_value(json_object_get(json_array_get(seeds, s), "augmented")) / 2;
		assert_true(fabs(mean - figure(f, "augmented", "value")) < 1e-12);
	}
	/* The same classifier on the same codes. */
	assert_true(json_equal(cell(doc, "lc", "F"), cell(doc, "kept", "F")));
	json_decref(doc);
	invar_free(text);
}

static void without_copies_only_clean_is_measured(void **state)
{
	invar_eval_opts o = small("lc");
	char *text;
	json_t *doc;

	(void)state;
	make_bank("plain", 3, 0);
	text = evaluate("plain", NULL, &o);
	doc = json_loads(text, 0, NULL);
	assert_non_null(json_object_get(cell(doc, "lc", "F"), "clean"));
	assert_null(json_object_get(cell(doc, "lc", "F"), "augmented"));
	assert_null(json_object_get(json_object_get(cell(doc, "lc", "F"), "clean"),
	                            "deviation")); /* of one seed there is none */
	json_decref(doc);
	invar_free(text);
}

static void an_adapter_that_does_nothing_changes_nothing(void **state)
{
	invar_eval_opts o = small("lc,kept,ec");
	float params[500];
	invar_adapter e = identity(10, params);
	char *text;
	json_t *doc;

	(void)state;
	make_bank("same", 4, 2);
	text = evaluate("same", &e, &o);
	doc = json_loads(text, 0, NULL);
	assert_true(json_equal(cell(doc, "lc", "F"), cell(doc, "lc", "E")));
	assert_true(json_equal(cell(doc, "kept", "F"), cell(doc, "kept", "E")));
	assert_null(cell(doc, "ec", "E")); /* depends on the bank alone */
	json_decref(doc);
	invar_free(text);
}

static void narrower_codes_skip_the_kept_classifier(void **state)
{
	invar_eval_opts o = small("probe");
	float params[500];
	invar_adapter e = identity(6, params);
	char *text;
	json_t *doc;

	(void)state;
	make_bank("narrow", 4, 1);
	o.probe_epochs = 400;
	text = evaluate("narrow", &e, &o);
	doc = json_loads(text, 0, NULL);
	assert_string_equal(
		json_string_value(json_object_get(cell(doc, "kept", "E"), "skipped")),
		"codes are 6 wide, features 10");
	assert_true(figure(cell(doc, "lc", "E"), "clean", "value") > 0.5);
	json_decref(doc);
	invar_free(text);
}

/* Named, what cannot be measured is an error at the end; the rest is there all the same. */
static void a_probe_that_is_named_fails_alone(void **state)
{
	const char *const names[] = {"E"};
	invar_eval_opts o = small("lc,kept");
	float params[500];
	invar_adapter narrow = identity(6, params);
	const invar_adapter *e = &narrow;
	invar_bank *bank;
	char *text;
	json_t *doc;

	(void)state;
	make_bank("named", 4, 1);
	bank = open_bank("named");
	assert_int_equal(invar_eval(bank, &e, names, 1, &o, &text), INVAR_E_MISMATCH);
	test_assert_error("kept of E cannot be measured: codes are 6 wide, features 10");
	assert_non_null(text);
	doc = json_loads(text, 0, NULL);
	assert_non_null(json_object_get(cell(doc, "lc", "E"), "clean"));
	assert_non_null(json_object_get(cell(doc, "kept", "F"), "clean"));
	assert_null(json_object_get(doc, "incomplete"));
	json_decref(doc);
	invar_free(text);
	invar_bank_close(bank);
}

/* ---- Wrong uses ---------------------------------------------------------- */

static void one_class_is_refused(void **state)
{
	(void)state;
	make_bank("single", 1, 1);
	refuse("single", NULL, "lc", INVAR_E_MISMATCH, "at least two classes");
}

static void labels_that_are_missing_are_named(void **state)
{
	(void)state;
	make_bank("unlabeled", 3, 1);
	assert_int_equal(unlink(test_path("unlabeled/train/labels.npy")), 0);
	refuse("unlabeled", NULL, "nc", INVAR_E_MISMATCH, "train has no labels.npy");
}

static void write_labels(const char *path, const int64_t *labels, uint64_t n)
{
	inv_npy_writer *w;

	assert_int_equal(inv_npy_create(path, INV_I64, 1, &n, &w), INVAR_OK);
	assert_int_equal(inv_npy_put_int(w, labels, n), INVAR_OK);
	assert_int_equal(inv_npy_commit(w), INVAR_OK);
}

static void a_class_that_train_lacks_is_always_wrong(void **state)
{
	invar_eval_opts o = small("lc");
	int64_t labels[120];
	char *text;
	json_t *doc;

	(void)state;
	make_bank("unknown", 3, 0);
	for (int i = 0; i < 120; i++)
		labels[i] = i % 2 ? 1000 : i % 3;
	write_labels(test_path("unknown/test/labels.npy"), labels, 120);
	text = evaluate("unknown", NULL, &o);
	doc = json_loads(text, 0, NULL);
	assert_int_equal(heard.warnings, 1);
	assert_true(figure(cell(doc, "lc", "F"), "clean", "value") <= 0.5);
	json_decref(doc);
	invar_free(text);
}

/* ---- The cache ----------------------------------------------------------- */

/* The path of the one file in BANK/cache. */
static const char *cached(const char *bank)
{
	DIR *dir = opendir(test_path("%s/cache", bank));
	static char path[512];
	struct dirent *entry;
	unsigned files = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.') {
			snprintf(path, sizeof path, "%s",
			         test_path("%s/cache/%s", bank, entry->d_name));
			files++;
		}
	closedir(dir);
	assert_int_equal(files, 1);
	return path;
}

static void check_cache(const char *bank, const char *probe)
{
	invar_eval_opts o = small(probe);
	char *fresh, *again, *bytes, *after;
	size_t size, new_size;

	make_bank(bank, 4, 2);
	fresh = evaluate(bank, NULL, &o);
	assert_int_equal(heard.trained, 20);
	bytes = test_read(cached(bank), &size);
	again = evaluate(bank, NULL, &o);
	assert_int_equal(heard.trained, 0);
	assert_string_equal(fresh, again);
	invar_free(again);

	/* A flipped bit, then half a file: made again, with the same bytes. */
	for (int damage = 0; damage < 2; damage++) {
		bytes[size - 3] ^= 0x40;
		test_write(cached(bank), bytes, damage ? size / 2 : size);
		bytes[size - 3] ^= 0x40;
		again = evaluate(bank, NULL, &o);
		assert_int_equal(heard.trained, 20);
		assert_string_equal(fresh, again);
		invar_free(again);
		after = test_read(cached(bank), &new_size);
		assert_int_equal(size, new_size);
		assert_memory_equal(bytes, after, size);
		free(after);
	}
	free(bytes);
	invar_free(fresh);
}

static void the_answers_of_ec_are_kept(void **state)
{
	(void)state;
	check_cache("cache-ec", "ec");
}

static void the_linear_classifier_is_kept(void **state)
{
	(void)state;
	check_cache("cache-linear", "kept");
}

static void other_options_and_rows_are_another_entry(void **state)
{
	invar_eval_opts o = small("ec");
	int64_t labels[120];

	(void)state;
	make_bank("other", 4, 1);
	invar_free(evaluate("other", NULL, &o));
	o.seed = 1;
	invar_free(evaluate("other", NULL, &o));
	assert_int_equal(heard.trained, 20);
	o.probe_hidden = 33;
	invar_free(evaluate("other", NULL, &o));
	assert_int_equal(heard.trained, 20);
	o.probe_epochs = 21;
	invar_free(evaluate("other", NULL, &o));
	assert_int_equal(heard.trained, 21);
	for (int i = 0; i < 120; i++)
		labels[i] = (i + 1) % 4;
	write_labels(test_path("other/test/labels.npy"), labels, 120);
	invar_free(evaluate("other", NULL, &o));
	assert_int_equal(heard.trained, 21);
	/* Two seeds: one is there already. */
	o.seeds = 2;
	invar_free(evaluate("other", NULL, &o));
	assert_int_equal(heard.trained, 21);
}

static void where_nothing_can_be_kept_it_still_works(void **state)
{
	invar_eval_opts o = small("ec");
	char *fresh, *again;

	(void)state;
	make_bank("blocked", 4, 1);
	test_write(test_path("blocked/cache"), "", 0); /* a file stands in the way */
	fresh = evaluate("blocked", NULL, &o);
	again = evaluate("blocked", NULL, &o);
	assert_int_equal(heard.trained, 20);
	assert_int_equal(heard.warnings, 0);
	assert_string_equal(fresh, again);
	invar_free(fresh);
	invar_free(again);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_have_their_shape),
		cmocka_unit_test(without_copies_only_clean_is_measured),
		cmocka_unit_test(an_adapter_that_does_nothing_changes_nothing),
		cmocka_unit_test(narrower_codes_skip_the_kept_classifier),
		cmocka_unit_test(a_probe_that_is_named_fails_alone),
		cmocka_unit_test(one_class_is_refused),
		cmocka_unit_test(labels_that_are_missing_are_named),
		cmocka_unit_test(a_class_that_train_lacks_is_always_wrong),
		cmocka_unit_test(the_answers_of_ec_are_kept),
		cmocka_unit_test(the_linear_classifier_is_kept),
		cmocka_unit_test(other_options_and_rows_are_another_entry),
		cmocka_unit_test(where_nothing_can_be_kept_it_still_works),
	};

	return cmocka_run_group_tests(tests, open_context, close_context);
}
