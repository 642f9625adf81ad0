/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_unit.c - adapters of unit rows, unit(E(unit(z))), and the norms that others record.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter/adapter.h"
#include "bank/bank.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/rng.h"
#include "math/unit_rows.h"
#include "measure/check.h"
#include "measure/measurement.h"
#include "run/results.h"
#include "support.h"

enum { D = 24, H = 40, MANY = 9000 /* more than two blocks */, ROWS = 200, COPIES = 3 };

static char lines[4096]; /* that were logged */

static void keep_line(void *user, int level, const char *line)
{
	size_t used = strlen(lines);

	(void)user;
	if (level != INVAR_LOG_DETAIL)
		snprintf(lines + used, sizeof lines - used, "%d %s\n", level, line);
}

static invar_context *ctx;
static invar_bank *raw, *unit; /* the same rows, as they are and of norm 1 */

/* ---- Banks and adapters ------------------------------------------------------------ */

static void fill_split(const char *bank, const char *split, bool of_norm_1)
{
	const uint64_t shape[2] = {ROWS, D};
	float *x = inv_calloc(ROWS * D, sizeof *x), *moved = inv_calloc(ROWS * D, sizeof *x);
	inv_stream s = inv_stream_of(3, split, 0);

	assert_int_equal(inv_make_folder(test_path("%s/%s", bank, split)), INVAR_OK);
	assert_int_equal(inv_make_folder(test_path("%s/%s/aug", bank, split)), INVAR_OK);
	inv_fill_normal(&s, 0, x, ROWS * D);
	for (size_t i = 0; i < ROWS * D; i++)
		x[i] = 5 * x[i] + (float)(i % D);
	for (int c = -1; c < COPIES; c++) {
		inv_fill_normal(&s, (uint32_t)c + 2, moved, ROWS * D);
		for (size_t i = 0; i < ROWS * D; i++)
			moved[i] = x[i] + (c < 0 ? 0 : moved[i]);
		if (of_norm_1)
			inv_unit_rows(moved, ROWS, D, moved);
		assert_int_equal(
			invar_array_write(ctx,
		                      c < 0 ? test_path("%s/%s/clean.npy", bank, split)
		                            : test_path("%s/%s/aug/%03d.npy", bank, split, c),
		                      moved, 2, shape, INVAR_FLOAT32),
			INVAR_OK);
	}
	inv_free(x);
	inv_free(moved);
}

static invar_bank *make_bank(const char *name, bool of_norm_1)
{
	invar_bank *b;

	assert_int_equal(inv_make_folder(test_path("%s", name)), INVAR_OK);
	fill_split(name, "train", of_norm_1);
	fill_split(name, "test", of_norm_1);
	assert_int_equal(inv_bank_open(ctx, test_path("%s", name), &b), INVAR_OK);
	return b;
}

static int set_up(void **state)
{
	const invar_hooks hooks = {.size = sizeof hooks, .log = keep_line};

	(void)state;
	if (invar_context_new(2, &hooks, &ctx) != INVAR_OK)
		return 1;
	raw = make_bank("raw", false);
	unit = make_bank("unit", true);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	invar_bank_close(raw);
	invar_bank_close(unit);
	invar_context_free(ctx);
	return 0;
}

static invar_adapter *draw_adapter(invar_context *in, uint32_t w, int form, uint32_t seed)
{
	inv_stream s = inv_stream_of(seed, "adapter", 0);
	float *W0 = inv_calloc(H * D, sizeof *W0), *W2 = inv_calloc(w * H, sizeof *W2);
	float b0[H], b2[D];
	invar_adapter *e;

	inv_fill_normal(&s, 0, W0, H * D);
	inv_fill_normal(&s, 1, b0, H);
	inv_fill_normal(&s, 2, W2, w * H);
	inv_fill_normal(&s, 3, b2, w);
	assert_int_equal(invar_adapter_new(in, D, H, w, form, W0, b0, W2, b2, &e), INVAR_OK);
	inv_free(W0);
	inv_free(W2);
	return e;
}

/* Trains with options after hidden, terminated by NULL; e may be NULL. */
static invar_status train(invar_bank *b, const char *run, invar_options *o,
                          invar_adapter **e)
{
	invar_status st;

	*lines = '\0';
	st = invar_train(&b, 1, o, test_path("%s", run));
	invar_options_free(o);
	if (st == INVAR_OK && e)
		assert_int_equal(invar_adapter_open(ctx, test_path("%s", run), e), INVAR_OK);
	return st;
}

static void draw_rows(float *x, size_t rows)
{
	inv_stream s = inv_stream_of(8, "rows", 0);

	inv_fill_normal(&s, 0, x, rows * D);
	for (size_t i = 0; i < rows * D; i++)
		x[i] = 30 * x[i] + 10;
}

static double gap(const float *a, const float *b, size_t count)
{
	double largest = 0;

	for (size_t i = 0; i < count; i++)
		largest = fmax(largest, fabs((double)a[i] - b[i]));
	return largest;
}

static json_t *run_json(const char *run)
{
	char *text = test_read(test_path("%s/run.json", run), NULL);
	json_t *json = json_loads(text, 0, NULL);

	free(text);
	return json;
}

static bool recorded_unit(const char *run)
{
	json_t *json = run_json(run);
	const json_t *value = json_object_get(json_object_get(json, "options"), "unit");
	bool is = json_is_true(value);

	assert_true(json_is_boolean(value));
	json_decref(json);
	return is;
}

/* ---- Applying ---------------------------------------------------------------------- */

/* The definition, with E itself as the adapter of the same weights that is not unit. */
static void codes_follow_the_definition(void **state)
{
	static const int forms[] = {0, INVAR_RESIDUAL};
	static const uint32_t widths[] = {D, 7};
	float *z = inv_calloc(MANY * D, sizeof *z), *u = inv_calloc(MANY * D, sizeof *u);
	float *want = inv_calloc(MANY * D, sizeof *want),
		  *got = inv_calloc(MANY * D, sizeof *z);

	(void)state;
	draw_rows(z, MANY);
	memset(z + 5 * D, 0, D * sizeof *z);
	inv_unit_rows(z, MANY, D, u);
	for (int k = 0; k < 2; k++)
		for (int f = 0; f <= (widths[k] == D); f++) {
			uint32_t w = widths[k];
			invar_adapter *plain = draw_adapter(ctx, w, forms[f], 1);
			invar_adapter *e = draw_adapter(ctx, w, forms[f] | INVAR_UNIT, 1);

			assert_true(invar_adapter_unit(e) && !invar_adapter_unit(plain));
			assert_int_equal(invar_adapter_residual(e), f);
			assert_int_equal(invar_adapter_apply(plain, u, MANY, want), INVAR_OK);
			inv_unit_rows(want, MANY, w, want);
			assert_int_equal(invar_adapter_apply(e, z, MANY, got), INVAR_OK);
			assert_true(gap(got, want, MANY * w) < 1e-6);
			/* Raw or normalised: the same codes. */
			assert_int_equal(invar_adapter_apply(e, u, MANY, want), INVAR_OK);
			assert_true(gap(got, want, MANY * w) < 1e-6);
			invar_adapter_close(plain);
			invar_adapter_close(e);
		}
	inv_free(z);
	inv_free(u);
	inv_free(want);
	inv_free(got);
}

/* unit(0) = 0, of a feature and of a code. */
static void zeros_stay_zeros(void **state)
{
	const float W0[2] = {1, 1}, W2[2] = {1, 2}, nothing[2] = {0, 0};
	const float z[3][2] = {{0, 0}, {-1, -2}, {3, 4}};
	float out[3][2];
	invar_adapter *e;

	(void)state;
	assert_int_equal(
		invar_adapter_new(ctx, 2, 1, 2, INVAR_UNIT, W0, nothing, W2, nothing, &e),
		INVAR_OK);
	assert_int_equal(invar_adapter_apply(e, z[0], 3, out[0]), INVAR_OK);
	for (int i = 0; i < 2; i++) {
		assert_true(out[0][i] == 0); /* the feature is 0 */
		assert_true(out[1][i] == 0); /* relu makes its code 0 */
		assert_true(fabs(out[2][i] - (i + 1) / sqrt(5)) < 1e-7);
	}
	invar_adapter_close(e);
	assert_int_equal(invar_adapter_new(ctx, 2, 1, 2, 4, W0, nothing, W2, nothing, &e),
	                 INVAR_E_USE);
	test_assert_error("not 4");
}

static void codes_do_not_depend_on_the_threads(void **state)
{
	static const size_t counts[] = {1, 40, MANY};
	float *z = inv_calloc(MANY * D, sizeof *z), *first = inv_calloc(MANY * D, sizeof *z);
	float *other = inv_calloc(MANY * D, sizeof *z);

	(void)state;
	draw_rows(z, MANY);
	for (int k = 0; k < 3; k++)
		for (unsigned threads = 1; threads <= 4; threads++) {
			invar_context *in;
			invar_adapter *e;

			assert_int_equal(invar_context_new(threads, NULL, &in), INVAR_OK);
			e = draw_adapter(in, D, INVAR_UNIT | INVAR_RESIDUAL, 2);
			assert_int_equal(
				invar_adapter_apply(e, z, counts[k], threads == 1 ? first : other),
				INVAR_OK);
			if (threads > 1)
				assert_memory_equal(first, other, counts[k] * D * sizeof *first);
			invar_adapter_close(e);
			invar_context_free(in);
		}
	inv_free(z);
	inv_free(first);
	inv_free(other);
}

static void a_file_says_that_it_is_unit(void **state)
{
	invar_adapter *e = draw_adapter(ctx, D, INVAR_UNIT, 3), *again;
	float z[4 * D], want[4 * D], got[4 * D];

	(void)state;
	draw_rows(z, 4);
	assert_int_equal(invar_adapter_save(e, test_path("e.safetensors")), INVAR_OK);
	assert_int_equal(invar_adapter_open(ctx, test_path("e.safetensors"), &again), INVAR_OK);
	assert_string_equal(invar_adapter_metadata(again, "invar.unit"), "1");
	assert_true(invar_adapter_unit(again));
	assert_int_equal(invar_adapter_apply(e, z, 4, want), INVAR_OK);
	assert_int_equal(invar_adapter_apply(again, z, 4, got), INVAR_OK);
	assert_memory_equal(want, got, sizeof got);
	invar_adapter_close(e);
	invar_adapter_close(again);
}

/* ---- Merging ----------------------------------------------------------------------- */

static void merged_is_the_mean_inside_the_normalisation(void **state)
{
	invar_adapter *inner[2], *outer[2], *mean, *merged;
	float z[50 * D], u[50 * D], a[50 * D], b[50 * D];
	const double weights[] = {1, 3};

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		inner[i] = draw_adapter(ctx, D, INVAR_RESIDUAL, 4 + i);
		outer[i] = draw_adapter(ctx, D, INVAR_RESIDUAL | INVAR_UNIT, 4 + i);
	}
	draw_rows(z, 50);
	inv_unit_rows(z, 50, D, u);
	for (double strength = 0; strength <= 1; strength += 0.5) {
		assert_int_equal(invar_adapter_merge((const invar_adapter *const *)inner, weights,
		                                     2, strength, &mean),
		                 INVAR_OK);
		assert_int_equal(invar_adapter_merge((const invar_adapter *const *)outer, weights,
		                                     2, strength, &merged),
		                 INVAR_OK);
		assert_true(invar_adapter_unit(merged));
		assert_string_equal(invar_adapter_metadata(merged, "invar.unit"), "1");
		assert_int_equal(invar_adapter_apply(mean, u, 50, a), INVAR_OK);
		inv_unit_rows(a, 50, D, a);
		assert_int_equal(invar_adapter_apply(merged, z, 50, b), INVAR_OK);
		assert_true(gap(a, b, 50 * D) < 1e-6);
		if (strength == 0)
			assert_true(gap(b, u, 50 * D) < 1e-6);
		invar_adapter_close(mean);
		invar_adapter_close(merged);
	}
	for (int k = 0; k < 2;
	     k++) { /* in either order, the message names the unit one first */
		const invar_adapter *const mixed[] = {k ? inner[0] : outer[0],
		                                      k ? outer[1] : inner[1]};

		assert_int_equal(invar_adapter_merge(mixed, NULL, 2, 1, &merged), INVAR_E_MISMATCH);
		test_assert_error("normalises features and codes but");
	}
	for (int i = 0; i < 2; i++) {
		invar_adapter_close(inner[i]);
		invar_adapter_close(outer[i]);
	}
}

/* ---- Training ---------------------------------------------------------------------- */

static invar_options *closed(const char *init)
{
	return test_options("train", "loss", "none", "init", init, "hidden", "64", NULL);
}

static invar_options *trained(void)
{
	return test_options("train", "preset", "paper", "hidden", "16", "epochs", "2",
	                    "batch-size", "50", "lr", "1e-3", NULL);
}

/* Rows of norm 1 are noticed; raw rows with the option give the same adapter, to rounding.
 */
static void unit_rows_are_noticed_and_equal_the_option(void **state)
{
	static const char *const inits[] = {"identity", "rigid", "ridge", "features", NULL};
	float z[ROWS * D], a[ROWS * D], b[ROWS * D];

	(void)state;
	assert_int_equal(invar_bank_read(raw, "test", 0, 0, ROWS, z), INVAR_OK);
	for (int i = 0; i < 5; i++) {
		const char *name = inits[i] ? inits[i] : "mawa";
		const char *one = test_text("found-%s", name), *two = test_text("set-%s", name);
		invar_adapter *found, *set;
		invar_options *o = inits[i] ? closed(inits[i]) : trained();

		assert_int_equal(train(unit, one, o, &found), INVAR_OK);
		assert_non_null(strstr(lines, "all rows of train have norm 1"));
		o = test_set(inits[i] ? closed(inits[i]) : trained(), "unit", "true", NULL);
		assert_int_equal(train(raw, two, o, &set), INVAR_OK);
		assert_null(strstr(lines, "norm 1"));
		assert_true(recorded_unit(one) && recorded_unit(two));
		assert_true(invar_adapter_unit(found) && invar_adapter_unit(set));
		assert_null(invar_adapter_metadata(set, "invar.norm_mean"));
		assert_non_null(
			strstr(invar_adapter_metadata(set, "invar.options"), "\"unit\": true"));
		assert_int_equal(invar_adapter_apply(found, z, ROWS, a), INVAR_OK);
		assert_int_equal(invar_adapter_apply(set, z, ROWS, b), INVAR_OK);
		if (gap(a, b, ROWS * D) > 1e-4)
			fail_msg("%s: codes differ by %g", name, gap(a, b, ROWS * D));
		invar_adapter_close(found);
		invar_adapter_close(set);
	}
}

static void the_option_switches_it_off(void **state)
{
	invar_adapter *e;

	(void)state;
	assert_int_equal(
		train(unit, "off", test_set(closed("ridge"), "unit", "false", NULL), &e), INVAR_OK);
	assert_false(invar_adapter_unit(e) || recorded_unit("off"));
	assert_null(strstr(lines, "norm 1"));
	assert_true(fabs(strtod(invar_adapter_metadata(e, "invar.norm_mean"), NULL) - 1) <
	            1e-6);
	invar_adapter_close(e);
	assert_int_equal(train(raw, "raw-run", closed("ridge"), &e), INVAR_OK);
	assert_false(invar_adapter_unit(e) || recorded_unit("raw-run"));
	invar_adapter_close(e);
}

static void a_decoder_needs_codes_as_they_are(void **state)
{
	invar_adapter *e, *decoder;

	(void)state;
	assert_int_equal(train(raw, "no",
	                       test_set(trained(), "decoder", "true", "unit", "true", NULL),
	                       NULL),
	                 INVAR_E_USE);
	test_assert_error("use only one of them");
	assert_false(test_exists(test_path("no")));
	assert_int_equal(train(unit, "with", test_set(trained(), "decoder", "true", NULL), &e),
	                 INVAR_OK);
	assert_false(invar_adapter_unit(e));
	assert_int_equal(
		invar_adapter_open(ctx, test_path("with/decoder.safetensors"), &decoder), INVAR_OK);
	assert_non_null(invar_adapter_metadata(e, "invar.norm_mean"));
	assert_null(invar_adapter_metadata(decoder, "invar.norm_mean")); /* of codes: unknown */
	invar_adapter_close(e);
	invar_adapter_close(decoder);
}

/* ---- Norms that do not fit ----------------------------------------------------------- */

/* The warnings of a measurement of `split`. */
static bool eval_warns(const invar_adapter *e, const invar_bank *b)
{
	const char *title = "E";
	invar_options *o = test_options("eval", "metrics", "structure", NULL);
	invar_results *r;

	*lines = '\0';
	assert_int_equal(invar_eval(b, &e, &title, 1, o, &r), INVAR_OK);
	invar_results_free(r);
	invar_options_free(o);
	return strstr(lines, "0 ") && strstr(lines, "was trained on features of norm");
}

static bool apply_warns(const invar_adapter *e, const char *file)
{
	char out[2048];

	snprintf(out, sizeof out, "%s", test_path("out.npy"));
	*lines = '\0';
	assert_int_equal(inv_adapter_apply_file(e, test_path("%s", file), out, INVAR_FLOAT32),
	                 INVAR_OK);
	return strstr(lines, "was trained on features of norm");
}

static void rows_of_other_norms_are_reported(void **state)
{
	float z[ROWS * D], u[ROWS * D];
	invar_adapter *e, *weaker, *any;
	const invar_adapter *whole;

	(void)state;
	assert_int_equal(train(raw, "of-raw", closed("ridge"), &e), INVAR_OK);
	assert_int_equal(
		train(raw, "of-any", test_set(closed("ridge"), "unit", "true", NULL), &any),
		INVAR_OK);
	assert_int_equal(invar_bank_read(raw, "test", 1, 0, ROWS, z), INVAR_OK);
	inv_unit_rows(z, ROWS, D, u);
	/* Other rows of the same kind fit, all together and one by one. */
	assert_int_equal(invar_adapter_check_norms(e, z, ROWS), INVAR_OK);
	for (size_t i = 0; i < ROWS; i++)
		assert_int_equal(invar_adapter_check_norms(e, z + i * D, 1), INVAR_OK);
	assert_int_equal(invar_adapter_check_norms(e, u, ROWS), INVAR_E_MISMATCH);
	test_assert_error("but these rows have norm 1;");
	assert_int_equal(invar_adapter_check_norms(e, u, 1), INVAR_E_MISMATCH);
	assert_int_equal(invar_adapter_check_norms(e, u, 0), INVAR_OK);
	assert_int_equal(invar_adapter_check_norms(any, u, ROWS), INVAR_OK);
	assert_true(eval_warns(e, unit) && apply_warns(e, "unit/test/clean.npy"));
	assert_false(eval_warns(e, raw) || apply_warns(e, "raw/test/clean.npy"));
	assert_false(apply_warns(e, "raw/test/aug/001.npy"));
	assert_false(eval_warns(any, unit) || eval_warns(any, raw));
	/* A weaker one knows the norms as well. */
	whole = e;
	assert_int_equal(invar_adapter_merge(&whole, NULL, 1, 0.5, &weaker), INVAR_OK);
	assert_int_equal(invar_adapter_check_norms(weaker, z, ROWS), INVAR_OK);
	assert_int_equal(invar_adapter_check_norms(weaker, u, 1), INVAR_E_MISMATCH);
	invar_adapter_close(weaker);
	invar_adapter_close(e);
	invar_adapter_close(any);
}

/* One adapter with recorded norms: mean 10, deviation 1. */
static invar_adapter *with_norms(const char *mean, const char *deviation)
{
	const inv_mlp_shape s = {2, 3, 2};
	float *params = inv_calloc(inv_mlp_floats(s), sizeof *params);
	const inv_metadata metadata[] = {{"invar.norm_mean", mean},
	                                 {"invar.norm_deviation", deviation}};
	char names[INV_MLP_BLOCKS][32];
	inv_tensor_out tensors[INV_MLP_BLOCKS];
	invar_adapter *e;

	inv_mlp_tensors(s, params, "", names, tensors);
	assert_int_equal(inv_safetensors_save(test_path("norms.safetensors"), tensors,
	                                      INV_MLP_BLOCKS, metadata, 2),
	                 INVAR_OK);
	assert_int_equal(invar_adapter_open(ctx, test_path("norms.safetensors"), &e), INVAR_OK);
	inv_free(params);
	return e;
}

/* n rows of one norm. */
static bool fits(const invar_adapter *e, double norm, size_t n)
{
	float *x = inv_calloc(2 * n, sizeof *x);
	invar_status st;

	for (size_t i = 0; i < n; i++)
		x[2 * i + i % 2] = (float)norm;
	st = invar_adapter_check_norms(e, x, n);
	inv_free(x);
	assert_true(st == INVAR_OK || st == INVAR_E_MISMATCH);
	return st == INVAR_OK;
}

static void the_rule_is_20_percent_and_some_deviations(void **state)
{
	invar_adapter *e = with_norms("10", "1");

	(void)state;
	assert_true(fits(e, 10, 1) && fits(e, 17.9, 1) && fits(e, 2.1, 1));
	assert_false(fits(e, 18.1, 1) || fits(e, 1.9, 1)); /* 8 deviations */
	assert_true(fits(e, 13.9, 4));
	assert_false(fits(e, 14.1, 4)); /* 8 / sqrt(4) */
	assert_true(fits(e, 12.9, 500) && fits(e, 7.1, 500));
	assert_false(fits(e, 13.1, 500) || fits(e, 6.9, 500)); /* 3, whatever n is */
	invar_adapter_close(e);
	e = with_norms("10", "0.01");
	assert_true(fits(e, 11.9, 500) && fits(e, 8.1, 1)); /* within 20 % */
	assert_false(fits(e, 12.1, 500) || fits(e, 7.9, 1));
	invar_adapter_close(e);
	e = with_norms("10", "4.4");
	assert_false(fits(e, 1, 1)); /* rows of norm 1: 2 deviations */
	assert_true(fits(e, 1.1, 500));
	invar_adapter_close(e);
	e = with_norms("ten", "1");
	assert_true(fits(e, 100, 1)); /* what cannot be read is not known */
	invar_adapter_close(e);
}

/* ---- Measuring ----------------------------------------------------------------------- */

static double value_of(const invar_results *r, const char *metric, const char *column)
{
	const invar_value *v = invar_results_value(r, metric, column);

	assert_non_null(v);
	return v->value;
}

static invar_results *measure(const invar_bank *b, const invar_adapter *const *e,
                              size_t count)
{
	const char *const titles[] = {"one", "two"};
	invar_options *o = test_options("eval", "metrics", "structure,retrieval", NULL);
	invar_results *r;

	assert_int_equal(invar_eval(b, e, titles, count, o, &r), INVAR_OK);
	invar_options_free(o);
	return r;
}

/* A unit adapter has the same figures on raw rows and on the same rows of norm 1. */
static void measurements_see_unit_features(void **state)
{
	static const char *const metrics[] = {"structure.R2", "structure.CVRMSD"};
	invar_adapter *e, *plain;
	invar_results *on_raw, *on_unit, *mixed, *alone;

	(void)state;
	assert_int_equal(train(unit, "seen", closed("ridge"), &e), INVAR_OK);
	assert_int_equal(train(raw, "plain", closed("ridge"), &plain), INVAR_OK);
	on_raw = measure(raw, (const invar_adapter *[]){e}, 1);
	on_unit = measure(unit, (const invar_adapter *[]){e}, 1);
	mixed = measure(raw, (const invar_adapter *[]){plain, e}, 2);
	alone = measure(raw, (const invar_adapter *[]){plain}, 1);
	for (size_t i = 0; i < 2; i++) {
		double want = value_of(on_unit, metrics[i], "1");

		assert_true(fabs(value_of(on_raw, metrics[i], "1") - want) < 1e-5);
		assert_true(fabs(value_of(mixed, metrics[i], "2") - want) < 1e-5);
		/* Beside others, columns of other adapters are what they are alone. */
		assert_true(value_of(mixed, metrics[i], "1") == value_of(alone, metrics[i], "1"));
	}
	for (size_t i = 0; i < invar_results_metrics(on_unit); i++) {
		const char *id = invar_results_metric(on_unit, i)->id;
		const invar_value *want = invar_results_value(on_unit, id, "F");

		if (strncmp(id, "retrieval", 9) != 0 || !want || want->reason)
			continue;
		assert_true(fabs(value_of(on_raw, id, "F") - want->value) < 0.011);
		assert_true(value_of(mixed, id, "F") == value_of(alone, id, "F"));
	}
	assert_non_null(strstr(inv_results_note_at(on_raw, 0), "divided by their norms"));
	invar_results_free(on_raw);
	invar_results_free(on_unit);
	invar_results_free(mixed);
	invar_results_free(alone);
	invar_adapter_close(e);
	invar_adapter_close(plain);
}

/* What a run keeps of raw rows is found again: the same view is looked for. */
static void kept_results_are_found_again(void **state)
{
	const char *title = "E";
	invar_options *o = test_options("eval", "metrics", "structure", NULL);
	invar_adapter *e;
	invar_results *r;
	char *missing;

	(void)state;
	assert_int_equal(train(unit, "kept", closed("ridge"), &e), INVAR_OK);
	assert_int_equal(invar_eval(raw, (const invar_adapter *[]){e}, &title, 1, o, &r),
	                 INVAR_OK);
	assert_int_equal(inv_eval_missing(raw, o, test_path("kept"), &missing), INVAR_OK);
	assert_string_equal(missing, "structure");
	invar_free(missing);
	assert_int_equal(invar_run_keep_results(ctx, test_path("kept"), r, "1"), INVAR_OK);
	assert_int_equal(inv_eval_missing(raw, o, test_path("kept"), &missing), INVAR_OK);
	assert_string_equal(missing, "");
	invar_free(missing);
	assert_int_equal(inv_eval_missing(unit, o, test_path("kept"), &missing), INVAR_OK);
	assert_string_equal(missing, "structure"); /* these are other files */
	invar_free(missing);
	invar_results_free(r);
	invar_options_free(o);
	invar_adapter_close(e);
}

/* invar_check of clean rows in memory. */
static invar_status check_rows(const invar_adapter *e, const float *rows, uint64_t count,
                               const invar_options *o, invar_results **out)
{
	invar_bank *bank;
	invar_status st;

	assert_int_equal(invar_bank_from_arrays(ctx, rows, NULL, NULL, count, 0,
	                                        invar_adapter_input(e), &bank),
	                 INVAR_OK);
	st = invar_check(e, bank, o, out);
	invar_bank_close(bank);
	return st;
}

/* Certified on rows of norm 1: new raw rows are fine, and others are not. */
static void a_certificate_is_about_unit_rows(void **state)
{
	invar_adapter *e, *certified;
	invar_results *r;
	invar_options *o = test_options("eval", "metrics", "structure", NULL);
	invar_options *how = test_options("check", NULL);
	const char *title = "E";
	float z[ROWS * D];

	(void)state;
	assert_int_equal(train(unit, "certified", closed("ridge"), &e), INVAR_OK);
	assert_int_equal(invar_eval(unit, (const invar_adapter *[]){e}, &title, 1, o, &r),
	                 INVAR_OK);
	assert_int_equal(
		invar_adapter_certify(e, unit, r, "1", o, test_path("certified.safetensors")),
		INVAR_OK);
	invar_results_free(r);
	assert_int_equal(
		invar_adapter_open(ctx, test_path("certified.safetensors"), &certified), INVAR_OK);
	assert_int_equal(invar_check(certified, raw, how, &r), INVAR_OK);
	assert_string_equal(invar_results_about(r, "verdict"), "fine");
	invar_results_free(r);
	assert_int_equal(invar_bank_read(raw, "test", INVAR_CLEAN, 0, ROWS, z), INVAR_OK);
	assert_int_equal(check_rows(certified, z, ROWS, how, &r), INVAR_OK);
	assert_string_equal(invar_results_about(r, "verdict"), "fine");
	invar_results_free(r);
	for (size_t i = 0; i < ROWS * D; i++)
		z[i] = -z[i]; /* of the same norms */
	assert_int_equal(check_rows(certified, z, ROWS, how, &r), INVAR_OK);
	assert_string_equal(invar_results_about(r, "verdict"), "drift");
	invar_results_free(r);
	invar_options_free(o);
	invar_options_free(how);
	invar_adapter_close(e);
	invar_adapter_close(certified);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(codes_follow_the_definition),
		cmocka_unit_test(zeros_stay_zeros),
		cmocka_unit_test(codes_do_not_depend_on_the_threads),
		cmocka_unit_test(a_file_says_that_it_is_unit),
		cmocka_unit_test(merged_is_the_mean_inside_the_normalisation),
		cmocka_unit_test(unit_rows_are_noticed_and_equal_the_option),
		cmocka_unit_test(the_option_switches_it_off),
		cmocka_unit_test(a_decoder_needs_codes_as_they_are),
		cmocka_unit_test(rows_of_other_norms_are_reported),
		cmocka_unit_test(the_rule_is_20_percent_and_some_deviations),
		cmocka_unit_test(measurements_see_unit_features),
		cmocka_unit_test(kept_results_are_found_again),
		cmocka_unit_test(a_certificate_is_about_unit_rows),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
