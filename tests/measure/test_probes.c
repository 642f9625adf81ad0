/* SPDX-License-Identifier: Apache-2.0 */
/* test_probes.c - lc, nc, ec and kept on synthetic banks, and the cache. */
#include "bank/bank.h"
#include "support.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapter/adapter.h"
#include "formats/npy.h"
#include "run/results.h"

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

	assert_int_equal(inv_bank_open(ctx, test_path("%s", name), &bank), INVAR_OK);
	return bank;
}

static invar_options *small(const char *metrics)
{
	return test_options("eval", "metrics", metrics, "probe-hidden", "32", "probe-epochs",
	                    "20", NULL);
}

/* Of all columns. */
static invar_results *evaluate(const char *name, const invar_adapter *adapter,
                               const invar_options *o)
{
	const char *const titles[] = {"E"};
	invar_bank *bank = open_bank(name);
	invar_results *r;

	heard = (seen){0};
	assert_int_equal(invar_eval(bank, &adapter, titles, adapter != NULL, o, &r), INVAR_OK);
	invar_bank_close(bank);
	return r;
}

/* The same as text; free with invar_free. */
static char *evaluate_text(const char *name, const invar_options *o)
{
	invar_results *r = evaluate(name, NULL, o);
	char *text;

	assert_int_equal(invar_results_json(r, &text), INVAR_OK);
	invar_results_free(r);
	return text;
}

static void refuse(const char *name, const invar_adapter *adapter, const char *metrics,
                   invar_status want, const char *word)
{
	const char *const titles[] = {"E"};
	invar_options *o = small(metrics);
	invar_bank *bank = open_bank(name);
	invar_results *r;

	assert_int_equal(invar_eval(bank, &adapter, titles, adapter != NULL, o, &r), want);
	test_assert_error(word);
	assert_null(r); /* nothing was measured */
	invar_bank_close(bank);
	invar_options_free(o);
}

/* "lc" and "clean" in a column; NULL if it was not measured. */
static const invar_value *figure(const invar_results *r, const char *measurement,
                                 const char *which, const char *column)
{
	char id[40];

	snprintf(id, sizeof id, "%s.%s", measurement, which);
	return invar_results_value(r, id, column);
}

static void assert_same(const invar_results *r, const char *a, const char *column_a,
                        const char *b, const char *column_b)
{
	static const char *const which[] = {"clean", "augmented"};

	for (int i = 0; i < 2; i++) {
		const invar_value *x = figure(r, a, which[i], column_a);
		const invar_value *y = figure(r, b, which[i], column_b);

		assert_true(x->value == y->value && x->low == y->low && x->high == y->high);
	}
}

/* details.MEASUREMENT.F.KEY; decref it. */
static json_t *detail(const invar_results *r, const char *measurement, const char *key)
{
	json_t *document = inv_results_document(r);
	const json_t *of = json_object_get(json_object_get(document, "details"), measurement);
	json_t *found = json_incref(json_object_get(json_object_get(of, "F"), key));

	json_decref(document);
	return found;
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

static void check_shape(const invar_results *r, const char *probe)
{
	static const char *const words[] = {"clean", "augmented"};
	json_t *seeds = detail(r, probe, "seeds"), *spread = detail(r, probe, "deviation");
	double clean = figure(r, probe, "clean", "F")->value, mean = 0;
	double augmented = figure(r, probe, "augmented", "F")->value;

	assert_true(clean > 0.8); /* clusters are separated */
	assert_true(augmented < clean);
	for (int i = 0; i < 2; i++) {
		const invar_value *v = figure(r, probe, words[i], "F");

		assert_true(v->low <= v->value && v->value <= v->high);
		assert_true(json_real_value(json_object_get(spread, words[i])) >= 0);
		assert_true(json_is_real(json_object_get(spread, words[i])));
	}
	assert_int_equal(json_array_size(seeds), 2);
	for (size_t i = 0; i < 2; i++)
		mean += json_real_value(json_object_get(json_array_get(seeds, i), "augmented")) / 2;
	assert_true(fabs(mean - augmented) < 1e-12);
	json_decref(seeds);
	json_decref(spread);
}

static void figures_have_their_shape(void **state)
{
	static const char *const probes[] = {"lc", "nc", "ec", "kept"};
	invar_options *o = small("probe");
	invar_results *r;

	(void)state;
	make_bank("shape", 4, 2);
	/* 400 epochs of one step; Adam moves a weight by 1e-3 per step at most. */
	test_set(o, "probe-epochs", "400", "seeds", "2", NULL);
	r = evaluate("shape", NULL, o);
	for (int i = 0; i < 4; i++)
		check_shape(r, probes[i]);
	assert_same(r, "lc", "F", "kept", "F"); /* the same classifier on the same codes */
	invar_results_free(r);
	invar_options_free(o);
}

static void few_steps_are_told(void **state)
{
	invar_options *o = small("lc");
	char *few, *enough;

	(void)state;
	make_bank("few", 3, 1);
	few = evaluate_text("few", o);
	enough = evaluate_text("few", test_set(o, "probe-epochs", "250", NULL));
	assert_non_null(strstr(few, "lc was trained for"));
	assert_null(strstr(enough, "lc was trained for"));
	invar_free(few);
	invar_free(enough);
	invar_options_free(o);
}

static size_t count_text(const char *text, const char *what)
{
	size_t count = 0;

	while ((text = strstr(text, what))) {
		text += strlen(what);
		count++;
	}
	return count;
}

/* Everything that asks the linear classifier of F reports it, and only once. */
static void few_steps_of_a_shared_classifier_are_told_once(void **state)
{
	static const char *const metrics[] = {"kept", "classes", "worst", "kept,classes,worst"};

	(void)state;
	make_bank("shared", 3, 1);
	for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++) {
		invar_options *o = small(metrics[i]);
		char *text = evaluate_text("shared", o);

		assert_int_equal(
			count_text(text, "the linear classifier of F (LC-kept) was trained for"), 1);
		invar_free(text);
		invar_options_free(o);
	}
}

static void without_copies_only_clean_is_measured(void **state)
{
	invar_options *o = small("lc");
	invar_results *r;

	(void)state;
	make_bank("plain", 3, 0);
	r = evaluate("plain", NULL, o);
	assert_non_null(figure(r, "lc", "clean", "F"));
	assert_null(figure(r, "lc", "augmented", "F"));
	assert_null(detail(r, "lc", "deviation")); /* there is none for one seed */
	invar_results_free(r);
	invar_options_free(o);
}

static void an_adapter_that_does_nothing_changes_nothing(void **state)
{
	invar_options *o = small("lc,kept,ec");
	float params[500];
	invar_adapter e = identity(10, params);
	invar_results *r;

	(void)state;
	make_bank("same", 4, 2);
	r = evaluate("same", &e, o);
	assert_same(r, "lc", "F", "lc", "1");
	assert_same(r, "kept", "F", "kept", "1");
	assert_non_null(figure(r, "ec", "clean", "F"));
	assert_null(figure(r, "ec", "clean", "1")); /* depends only on the bank */
	invar_results_free(r);
	invar_options_free(o);
}

static void narrower_codes_skip_the_kept_classifier(void **state)
{
	invar_options *o = small("probe");
	float params[500];
	invar_adapter e = identity(6, params);
	invar_results *r;

	(void)state;
	make_bank("narrow", 4, 1);
	test_set(o, "probe-epochs", "400", NULL);
	r = evaluate("narrow", &e, o);
	assert_string_equal(inv_results_skipped(r, "kept", "1"),
	                    "LC-kept reads codes as features, but codes are 6 wide and features 10");
	assert_null(inv_results_skipped(r, "kept", "F"));
	assert_true(figure(r, "lc", "clean", "1")->value > 0.5);
	invar_results_free(r);
	invar_options_free(o);
}

/* A named measurement that fails is an error at the end; the others are in the results. */
static void a_probe_that_is_named_fails_alone(void **state)
{
	const char *const titles[] = {"E"};
	invar_options *o = small("lc,kept");
	float params[500];
	invar_adapter narrow = identity(6, params);
	const invar_adapter *e = &narrow;
	invar_bank *bank;
	invar_results *r;

	(void)state;
	make_bank("named", 4, 1);
	bank = open_bank("named");
	assert_int_equal(invar_eval(bank, &e, titles, 1, o, &r), INVAR_E_MISMATCH);
	test_assert_error("kept of E cannot be measured: LC-kept reads codes as features, but codes are 6 wide and features 10");
	assert_non_null(r);
	assert_non_null(figure(r, "lc", "clean", "1"));
	assert_non_null(figure(r, "kept", "clean", "F"));
	assert_true(inv_results_is_complete(r));
	invar_results_free(r);
	invar_options_free(o);
	invar_bank_close(bank);
}

/* ---- Scale -------------------------------------------------------------------------- */

/* Shares of two columns or documents; both measured. */
static double gap(const invar_results *a, const char *column_a, const invar_results *b,
                  const char *column_b, const char *metric)
{
	const invar_value *x = invar_results_value(a, metric, column_a);
	const invar_value *y = invar_results_value(b, metric, column_b);

	assert_non_null(x);
	assert_non_null(y);
	return fabs(x->value - y->value);
}

static void an_adapter_that_shrinks_all_codes_costs_no_accuracy(void **state)
{
	invar_options *o = small("lc,nc,ceiling");
	float params[500];
	invar_adapter e = identity(10, params);
	inv_mlp_block b[INV_MLP_BLOCKS];
	invar_results *r;

	(void)state;
	inv_mlp_layout(e.s, b);
	for (size_t i = 0; i < 10 * 20; i++)
		params[b[2].offset + i] *= 0.02f;
	for (size_t i = 0; i < 10; i++)
		params[b[3].offset + i] = 0.5f - 0.1f * (float)i; /* and moves them */
	make_bank("shrunk", 4, 2);
	test_set(o, "probe-epochs", "400", NULL);
	r = evaluate("shrunk", &e, o);
	/* A row at the border between classes may change sides by rounding. */
	assert_true(gap(r, "F", r, "1", "lc.clean") < 0.01);
	assert_true(gap(r, "F", r, "1", "lc.augmented") < 0.01);
	assert_true(gap(r, "F", r, "1", "nc.clean") < 0.01);
	assert_true(gap(r, "F", r, "1", "nc.augmented") < 0.01);
	assert_true(gap(r, "F", r, "1", "ceiling.augmented") < 0.01);
	invar_results_free(r);
	r = evaluate("shrunk", &e, test_set(o, "probe-input", "raw", NULL));
	assert_true(gap(r, "F", r, "1", "lc.clean") > 0.05); /* as published */
	invar_results_free(r);
	invar_options_free(o);
}

/* The rows of a split, times `scale`, in the place of those of the bank. */
static void scale_rows(const invar_bank *bank, const char *split, int32_t copy, float scale,
                       const char *path)
{
	const uint64_t shape[] = {invar_bank_rows(bank, split), 10};
	float x[300 * 10];

	assert_true(shape[0] <= 300);
	assert_int_equal(invar_bank_read(bank, split, copy, 0, shape[0], x), INVAR_OK);
	for (size_t i = 0; i < shape[0] * 10; i++)
		x[i] *= scale;
	assert_int_equal(invar_array_write(ctx, path, x, 2, shape, INVAR_FLOAT32), INVAR_OK);
}

static void small_features_have_the_accuracies_of_large_ones(void **state)
{
	static const char *const metrics[] = {
		"lc.clean",      "lc.augmented",        "nc.clean",   "nc.augmented",
		"ec.clean",      "ec.augmented",        "kept.clean", "kept.augmented",
		"ceiling.clean", "classes.kept.weakest"};
	invar_options *o = small("probe,ceiling,classes");
	invar_results *large, *tiny;
	invar_bank *bank;

	(void)state;
	make_bank("large", 4, 1);
	make_bank("tiny", 4, 1);
	bank = open_bank("large");
	for (int i = 0; i < 2; i++) {
		const char *split = i ? "test" : "train";

		scale_rows(bank, split, INVAR_CLEAN, 1e-3f, test_path("tiny/%s/clean.npy", split));
		scale_rows(bank, split, 0, 1e-3f, test_path("tiny/%s/aug/000.npy", split));
	}
	invar_bank_close(bank);
	test_set(o, "probe-epochs", "100", NULL);
	large = evaluate("large", NULL, o);
	tiny = evaluate("tiny", NULL, o);
	for (size_t i = 0; i < sizeof metrics / sizeof *metrics; i++)
		assert_true(gap(large, "F", tiny, "F", metrics[i]) < 0.02);
	invar_results_free(large);
	invar_results_free(tiny);
	invar_options_free(o);
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
	invar_options *o = small("lc");
	int64_t labels[120];
	invar_results *r;

	(void)state;
	make_bank("unknown", 3, 0);
	for (int i = 0; i < 120; i++)
		labels[i] = i % 2 ? 1000 : i % 3;
	write_labels(test_path("unknown/test/labels.npy"), labels, 120);
	r = evaluate("unknown", NULL, o);
	assert_int_equal(heard.warnings, 1);
	assert_true(figure(r, "lc", "clean", "F")->value <= 0.5);
	invar_results_free(r);
	invar_options_free(o);
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
	invar_options *o = small(probe);
	char *fresh, *again, *bytes, *after;
	size_t size, new_size;

	make_bank(bank, 4, 2);
	fresh = evaluate_text(bank, o);
	assert_int_equal(heard.trained, 20);
	bytes = test_read(cached(bank), &size);
	again = evaluate_text(bank, o);
	assert_int_equal(heard.trained, 0);
	assert_string_equal(fresh, again);
	invar_free(again);

	/* A flipped bit, then half a file: written again with the same bytes. */
	for (int damage = 0; damage < 2; damage++) {
		bytes[size - 3] ^= 0x40;
		test_write(cached(bank), bytes, damage ? size / 2 : size);
		bytes[size - 3] ^= 0x40;
		again = evaluate_text(bank, o);
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
	invar_options_free(o);
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
	invar_options *o = small("ec");
	int64_t labels[120];

	(void)state;
	make_bank("other", 4, 1);
	invar_results_free(evaluate("other", NULL, o));
	test_set(o, "seed", "1", NULL);
	invar_results_free(evaluate("other", NULL, o));
	assert_int_equal(heard.trained, 20);
	test_set(o, "probe-hidden", "33", NULL);
	invar_results_free(evaluate("other", NULL, o));
	assert_int_equal(heard.trained, 20);
	test_set(o, "probe-epochs", "21", NULL);
	invar_results_free(evaluate("other", NULL, o));
	assert_int_equal(heard.trained, 21);
	for (int i = 0; i < 120; i++)
		labels[i] = (i + 1) % 4;
	write_labels(test_path("other/test/labels.npy"), labels, 120);
	invar_results_free(evaluate("other", NULL, o));
	assert_int_equal(heard.trained, 21);
	/* Two seeds: one is already stored. */
	test_set(o, "seeds", "2", NULL);
	invar_results_free(evaluate("other", NULL, o));
	assert_int_equal(heard.trained, 21);
	/* Answers for raw inputs are not those for standardised ones. */
	test_set(o, "probe-input", "raw", NULL);
	invar_results_free(evaluate("other", NULL, o));
	assert_int_equal(heard.trained, 42);
	invar_options_free(o);
}

static void where_nothing_can_be_kept_it_still_works(void **state)
{
	invar_options *o = small("ec");
	char *fresh, *again;

	(void)state;
	make_bank("blocked", 4, 1);
	test_write(test_path("blocked/cache"), "", 0); /* a file stands in the way */
	fresh = evaluate_text("blocked", o);
	again = evaluate_text("blocked", o);
	assert_int_equal(heard.trained, 20);
	assert_int_equal(heard.warnings, 0);
	assert_string_equal(fresh, again);
	invar_free(fresh);
	invar_free(again);
	invar_options_free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_have_their_shape),
		cmocka_unit_test(few_steps_are_told),
		cmocka_unit_test(few_steps_of_a_shared_classifier_are_told_once),
		cmocka_unit_test(without_copies_only_clean_is_measured),
		cmocka_unit_test(an_adapter_that_does_nothing_changes_nothing),
		cmocka_unit_test(narrower_codes_skip_the_kept_classifier),
		cmocka_unit_test(a_probe_that_is_named_fails_alone),
		cmocka_unit_test(an_adapter_that_shrinks_all_codes_costs_no_accuracy),
		cmocka_unit_test(small_features_have_the_accuracies_of_large_ones),
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
