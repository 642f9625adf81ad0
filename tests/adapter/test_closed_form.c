/* SPDX-License-Identifier: Apache-2.0 */
/* test_closed_form.c - closed forms: fitted, written as MLPs, as runs and as starting
 * points. */
#include "bank/bank.h"
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adapter/adapter.h"
#include "adapter/closed_forms/closed_form.h"
#include "base/json.h"
#include "base/rng.h"

enum { ROWS = 130, D = 9, COPIES = 3 };

static bool stop; /* in the middle of a fit */

static int maybe_stop(void *user, const char *stage, uint64_t done, uint64_t total)
{
	(void)user;
	(void)total;
	return stop && strcmp(stage, "fit") == 0 && done > 0;
}

static invar_context *ctx;
static invar_bank *bank, *bare; /* bare has no copies */

static int open_banks(void **state)
{
	invar_hooks hooks = {.size = sizeof hooks, .progress = maybe_stop};
	const invar_options *o;

	(void)state;
	o = test_kept("synthetic", "rows", test_text("%d", ROWS), "test-rows", "10", "dim",
	              test_text("%d", D), "copies", test_text("%d", COPIES), NULL);
	if (invar_context_new(2, &hooks, &ctx) != INVAR_OK ||
	    invar_bank_synthesize(ctx, o, test_path("bank")) != INVAR_OK ||
	    inv_bank_open(ctx, test_path("bank"), &bank) != INVAR_OK)
		return 1;
	o = test_kept("synthetic", "rows", test_text("%d", ROWS), "test-rows", "10", "dim",
	              test_text("%d", D), "copies", "0", NULL);
	return invar_bank_synthesize(ctx, o, test_path("bare")) != INVAR_OK ||
	       inv_bank_open(ctx, test_path("bare"), &bare) != INVAR_OK;
}

static int close_banks(void **state)
{
	(void)state;
	invar_bank_close(bank);
	invar_bank_close(bare);
	invar_context_free(ctx);
	return 0;
}

static inv_closed_form fit(const char *kind, const char *ridge, uint64_t seed)
{
	static uint32_t images[ROWS];
	invar_options *o =
		test_options("train", "init", kind, "hidden", "30", "ridge", ridge, NULL);
	inv_closed_form_spec s = {.options = o,
	                          .bank = bank,
	                          .split = inv_bank_split(bank, "train"),
	                          .copies = COPIES,
	                          .images = images,
	                          .image_count = ROWS,
	                          .seed = seed};
	inv_closed_form c;

	for (uint32_t i = 0; i < ROWS; i++)
		images[i] = i;
	assert_int_equal(inv_closed_form_fit(inv_closed_form_find(kind), &s, &c), INVAR_OK);
	invar_options_free(o);
	return c;
}

static double lambda_of(const inv_closed_form *c)
{
	return json_number_value(json_object_get(c->about, "lambda"));
}

/* Of choice i on held-out rows; its lambda goes to *lambda. */
static double error_of(const inv_closed_form *c, size_t i, double *lambda)
{
	const json_t *all = json_object_get(c->about, "held_out_error");
	const json_t *choice = json_array_get(all, i);

	if (lambda)
		*lambda = json_number_value(json_object_get(choice, "lambda"));
	return json_number_value(json_object_get(choice, "error"));
}

static void read_rows(int32_t copy, float *out)
{
	assert_int_equal(invar_bank_read(bank, "train", copy, 0, ROWS, out), INVAR_OK);
}

/* ---- Fits -------------------------------------------------------------------------- */

/* The same pairs in one call, in the order that the header promises. */
static void fits_are_those_of_all_pairs(void **state)
{
	static float clean[ROWS * D], copy[ROWS * D];
	inv_closed_form rigid = fit("rigid", "0", 0), ridge = fit("ridge", "0.1", 0);
	inv_map_affine want;

	(void)state;
	read_rows(INVAR_CLEAN, clean);
	for (int r = 0; r < 2; r++) {
		const inv_map_affine *got = r ? &ridge.map : &rigid.map;
		inv_pairs *p;

		assert_int_equal(inv_pairs_new(ctx, D, r, &p), INVAR_OK);
		if (r)
			inv_pairs_add(p, clean, clean, ROWS);
		for (int32_t k = 0; k < COPIES; k++) {
			read_rows(k, copy);
			inv_pairs_add(p, copy, clean, ROWS);
		}
		assert_int_equal(r ? inv_fit_ridge(p, 0.1, &want) : inv_fit_rigid(p, &want),
		                 INVAR_OK);
		assert_memory_equal(got->M, want.M, D * D * sizeof(double));
		assert_memory_equal(got->t, want.t, D * sizeof(double));
		inv_map_clear(&want);
		inv_pairs_free(p);
	}
	assert_null(json_object_get(ridge.about, "held_out_error"));
	inv_closed_form_clear(&rigid);
	inv_closed_form_clear(&ridge);
}

static void ridge_takes_the_strength_with_the_least_error(void **state)
{
	enum { CHOICES = 6 };
	inv_closed_form c = fit("ridge", "0", 0), given, other = fit("ridge", "0", 1);
	double lambda;
	size_t best = 0;

	(void)state;
	assert_int_equal(json_array_size(json_object_get(c.about, "held_out_error")), CHOICES);
	for (size_t i = 1; i < CHOICES; i++)
		if (error_of(&c, i, NULL) < error_of(&c, best, NULL))
			best = i;
	error_of(&c, best, &lambda);
	assert_true(lambda_of(&c) == lambda);
	assert_true(error_of(&c, CHOICES - 1, NULL) > error_of(&c, best, NULL));
	/* Other images were held out. */
	assert_true(error_of(&other, 0, NULL) != error_of(&c, 0, NULL));
	/* Then fitted to all images: the same map except for the order of the sums. */
	given = fit("ridge", test_text("%g", lambda), 0);
	for (size_t i = 0; i < D * D; i++)
		assert_true(fabs(given.map.M[i] - c.map.M[i]) < 1e-12);
	inv_closed_form_clear(&c);
	inv_closed_form_clear(&given);
	inv_closed_form_clear(&other);
}

static void one_image_cannot_choose(void **state)
{
	const uint32_t image = 0;
	invar_options *o = test_options("train", "init", "ridge", NULL);
	inv_closed_form_spec s = {.options = o,
	                          .bank = bank,
	                          .split = inv_bank_split(bank, "train"),
	                          .copies = COPIES,
	                          .images = &image,
	                          .image_count = 1};
	const inv_closed_form_kind *ridge = inv_closed_form_find("ridge");
	inv_closed_form c;

	(void)state;
	assert_int_equal(inv_closed_form_fit(ridge, &s, &c), INVAR_E_USE);
	test_assert_error("set ridge");
	assert_int_equal(invar_options_set(o, "ridge", "1"), INVAR_OK);
	assert_int_equal(inv_closed_form_fit(ridge, &s, &c), INVAR_OK);
	inv_closed_form_clear(&c);
	invar_options_free(o);
}

/* ---- As an MLP ----------------------------------------------------------- */

/* Compared with the map in double, to 1e-6 of the largest value of any row. */
static void check_export(const inv_closed_form *c, size_t hidden, bool residual,
                         double limit)
{
	const inv_map_affine *m = &c->map;
	const inv_mlp_shape s = {m->d, hidden, m->d};
	static float z[ROWS * D], y[ROWS * D];
	float *params = inv_calloc(inv_mlp_floats(s), sizeof *params);
	double largest = 0, worst = 0;

	inv_mlp_init(s, 3, true, params);
	inv_closed_form_export(c, s, residual, params);
	read_rows(1, z);
	assert_int_equal(inv_mlp_apply(ctx, s, params, residual, z, ROWS, y), INVAR_OK);
	for (size_t i = 0; i < ROWS * D; i++) {
		double want = m->t[i % D];

		for (size_t l = 0; l < D; l++)
			want += z[i / D * D + l] * m->M[l * D + i % D];
		largest = fmax(largest, fabs(want));
		worst = fmax(worst, fabs(y[i] - want));
	}
	if (worst > limit * largest)
		fail_msg("hidden %zu, residual %d: off by %g of %g", hidden, residual, worst,
		         largest);
	inv_free(params);
}

static void the_mlp_equals_the_map(void **state)
{
	const size_t hidden[] = {2 * D, 2 * D + 3, 10 * D};
	const char *const kinds[] = {"identity", "rigid", "ridge"};

	(void)state;
	for (size_t k = 0; k < 3; k++) {
		inv_closed_form c = fit(kinds[k], "0", 0);

		for (size_t i = 0; i < 3; i++)
			for (int residual = 0; residual < 2; residual++)
				check_export(&c, hidden[i], residual, k ? 1e-6 : 0);
		inv_closed_form_clear(&c);
	}
}

static void spare_units_keep_their_draws_and_are_silent(void **state)
{
	const inv_mlp_shape s = {D, 2 * D + 3, D};
	inv_mlp_block b[INV_MLP_BLOCKS];
	inv_closed_form c = fit("rigid", "0", 0);
	float *drawn = inv_calloc(inv_mlp_floats(s), sizeof *drawn);
	float *params = inv_calloc(inv_mlp_floats(s), sizeof *params);

	(void)state;
	inv_mlp_layout(s, b);
	inv_mlp_init(s, 3, false, drawn);
	inv_mlp_init(s, 3, true, params);
	inv_closed_form_export(&c, s, false, params);
	assert_memory_equal(params + b[0].offset + 2 * D * D, drawn + b[0].offset + 2 * D * D,
	                    3 * D * sizeof(float));
	assert_memory_equal(params + b[1].offset + 2 * D, drawn + b[1].offset + 2 * D,
	                    3 * sizeof(float));
	for (size_t j = 0; j < D; j++)
		for (size_t i = 2 * D; i < s.h; i++)
			assert_true(params[b[2].offset + j * s.h + i] == 0);
	inv_closed_form_clear(&c);
	inv_free(drawn);
	inv_free(params);
}

/* ---- Runs ---------------------------------------------------------------- */

static invar_options *options(const char *init)
{
	return test_options("train", "loss", "none", "init", init, "hidden",
	                    test_text("%d", 2 * D + 6), NULL);
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

/* An adapter names the options that it was made with, not those of other methods. */
static void assert_took_part(const char *text)
{
	static const char *const others[] = {"epochs", "lr",     "temperature", "anchor",
	                                     "goal",   "spread", "strength",    "index"};
	json_t *options = json_loads(text, 0, NULL);

	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		assert_null(json_object_get(options, others[i]));
	assert_non_null(json_object_get(options, "ridge"));
	assert_non_null(json_object_get(options, "hidden"));
	json_decref(options);
}

static void a_run_without_training_holds_what_a_run_holds(void **state)
{
	invar_options *o = test_set(options("ridge"), "epochs", "7", NULL); /* not used here */
	char *log;
	json_t *run, *closed;
	invar_adapter *e;

	(void)state;
	assert_int_equal(invar_train(&bank, 1, o, test_path("ridge")), INVAR_OK);
	invar_options_free(o);
	log = test_read(test_path("ridge/log.jsonl"), NULL);
	assert_string_equal(log, "");
	free(log);
	assert_false(test_exists(test_path("ridge/checkpoint.safetensors")));
	assert_int_equal(inv_json_load(test_path("ridge/run.json"), &run), INVAR_OK);
	closed = json_object_get(run, "closed");
	assert_string_equal(json_string_value(json_object_get(closed, "kind")), "ridge");
	assert_true(json_number_value(json_object_get(closed, "lambda")) >= 1e-4);
	assert_int_equal(json_array_size(json_object_get(closed, "held_out_error")), 6);
	assert_string_equal(json_string_value(json_object_get(run, "state")), "finished");
	json_decref(run);
	assert_int_equal(invar_adapter_open(ctx, test_path("ridge"), &e), INVAR_OK);
	assert_string_equal(invar_adapter_metadata(e, "invar.loss"), "none");
	assert_took_part(invar_adapter_metadata(e, "invar.options"));
	assert_int_equal(invar_adapter_hidden(e), 2 * D + 6);
	invar_adapter_close(e);
}

static void check_runs(const char *init)
{
	invar_options *o = options(init), *resume = test_options("train", "resume", "1", NULL);

	for (unsigned t = 1; t <= 4; t++) {
		invar_context *c;
		invar_bank *b;

		assert_int_equal(invar_context_new(t, NULL, &c), INVAR_OK);
		assert_int_equal(inv_bank_open(c, test_path("bank"), &b), INVAR_OK);
		assert_int_equal(invar_train(&b, 1, o, test_path("%s_threads%u", init, t)),
		                 INVAR_OK);
		assert_same_file(test_path("%s_threads1/adapter.safetensors", init),
		                 test_path("%s_threads%u/adapter.safetensors", init, t));
		invar_bank_close(b);
		invar_context_free(c);
	}
	stop = true;
	assert_int_equal(invar_train(&bank, 1, o, test_path("%s_stopped", init)),
	                 INVAR_E_CANCELLED);
	test_assert_error("can be resumed with resume");
	stop = false;
	assert_false(test_exists(test_path("%s_stopped/adapter.safetensors", init)));
	assert_int_equal(invar_train(&bank, 1, resume, test_path("%s_stopped", init)),
	                 INVAR_OK);
	assert_same_file(test_path("%s_threads1/adapter.safetensors", init),
	                 test_path("%s_stopped/adapter.safetensors", init));
	invar_options_free(o);
	invar_options_free(resume);
}

static void runs_are_equal_on_any_threads_and_after_a_resume(void **state)
{
	(void)state;
	check_runs("ridge");
	check_runs("features");
}

static double first_loss(const char *run)
{
	char *text = test_read(test_path("%s/log.jsonl", run), NULL);
	json_t *json = json_loads(text, JSON_DISABLE_EOF_CHECK, NULL);
	double loss = json_number_value(json_object_get(json, "loss"));

	json_decref(json);
	free(text);
	return loss;
}

/* One batch with all copies: the first loss is that of the closed form itself. */
static void a_training_begins_at_the_closed_form(void **state)
{
	static float clean[ROWS * D], copy[ROWS * D], codes[ROWS * D];

	(void)state;
	for (int residual = 0; residual < 2; residual++) {
		const char *name = residual ? "begin_residual" : "begin";
		invar_options *o =
			test_set(options("ridge"), "residual", residual ? "1" : "0", NULL);
		invar_adapter *e;
		double sum = 0;

		assert_int_equal(invar_train(&bank, 1, o, test_path("%s_none", name)), INVAR_OK);
		test_set(o, "loss", "mawa", "samples", test_text("%d", COPIES), "batch-size",
		         test_text("%d", ROWS), "epochs", "3", NULL);
		assert_int_equal(invar_train(&bank, 1, o, test_path("%s", name)), INVAR_OK);
		assert_int_equal(invar_adapter_open(ctx, test_path("%s_none", name), &e), INVAR_OK);
		read_rows(INVAR_CLEAN, clean);
		for (int32_t k = INVAR_CLEAN; k < COPIES; k++) {
			read_rows(k, copy);
			assert_int_equal(invar_adapter_apply(e, copy, ROWS, codes), INVAR_OK);
			for (size_t i = 0; i < ROWS * D; i++)
				sum += ((double)codes[i] - clean[i]) * ((double)codes[i] - clean[i]);
		}
		sum /= (COPIES + 1) * ROWS;
		assert_true(fabs(first_loss(name) - sum) < 1e-5 * sum);
		invar_adapter_close(e);
		invar_options_free(o);
	}
}

/* The same for random features, which are residual whatever was requested. */
static void a_training_begins_at_random_features(void **state)
{
	static float clean[ROWS * D], copy[ROWS * D], codes[ROWS * D];
	invar_options *o = options("features");
	invar_adapter *e;
	double sum = 0;

	(void)state;
	test_set(o, "spread", "none", NULL); /* the map as it was fitted */
	assert_int_equal(invar_train(&bank, 1, o, test_path("features_none")), INVAR_OK);
	test_set(o, "loss", "mawa", "samples", test_text("%d", COPIES), "batch-size",
	         test_text("%d", ROWS), "epochs", "3", NULL);
	assert_int_equal(invar_train(&bank, 1, o, test_path("features")), INVAR_OK);
	assert_int_equal(invar_adapter_open(ctx, test_path("features_none"), &e), INVAR_OK);
	assert_int_equal(invar_adapter_hidden(e), 2 * D + 2 * D + 6);
	assert_int_equal(invar_adapter_residual(e), 1);
	read_rows(INVAR_CLEAN, clean);
	for (int32_t k = INVAR_CLEAN; k < COPIES; k++) {
		read_rows(k, copy);
		assert_int_equal(invar_adapter_apply(e, copy, ROWS, codes), INVAR_OK);
		for (size_t i = 0; i < ROWS * D; i++)
			sum += ((double)codes[i] - clean[i]) * ((double)codes[i] - clean[i]);
	}
	sum /= (COPIES + 1) * ROWS;
	assert_true(fabs(first_loss("features") - sum) < 1e-5 * sum);
	invar_adapter_close(e);
	invar_options_free(o);
}

/* The strength with the least error among those tried, on all images in the end. */
static void features_walk_down_to_the_least_error(void **state)
{
	inv_closed_form c = fit("features", "0", 0);
	const json_t *all = json_object_get(c.about, "held_out_error");
	double lambda = lambda_of(&c), least = 0;

	(void)state;
	assert_true(json_array_size(all) >= 2);
	for (size_t i = 0; i < json_array_size(all); i++) {
		double tried, error = error_of(&c, i, &tried);

		if (tried == lambda)
			least = error;
	}
	for (size_t i = 0; i < json_array_size(all); i++)
		assert_true(error_of(&c, i, NULL) >= least);
	assert_true(json_number_value(json_object_get(c.about, "anchor")) == 1);
	inv_closed_form_clear(&c);
}

/* From the last checkpoint or from none, a resumed run ends in the same bytes. */
static void a_training_on_a_closed_form_resumes(void **state)
{
	invar_options *o =
		test_set(options("rigid"), "loss", "mawa", "batch-size", "32", "epochs", "2",
	             "validation", "0.2", "checkpoint-seconds", "0", NULL);
	invar_options *again = test_options("train", "resume", "1", NULL);

	(void)state;
	assert_int_equal(invar_train(&bank, 1, o, test_path("long")), INVAR_OK);
	for (int i = 0; i < 2; i++) { /* from the last checkpoint, then from none */
		assert_int_equal(rename(test_path("long/adapter.safetensors"), test_path("keep")),
		                 0);
		if (i)
			unlink(test_path("long/checkpoint.safetensors"));
		assert_int_equal(invar_train(&bank, 1, again, test_path("long")), INVAR_OK);
		assert_same_file(test_path("keep"), test_path("long/adapter.safetensors"));
	}
	invar_options_free(o);
	invar_options_free(again);
}

/* ---- Wrong uses ---------------------------------------------------------- */

/* Frees the options. */
static void refuse(invar_bank *b, invar_options *o, const char *word)
{
	assert_int_not_equal(invar_train(&b, 1, o, test_path("wrong")), INVAR_OK);
	test_assert_error(word);
	assert_false(test_exists(test_path("wrong")));
	invar_options_free(o);
}

static void refuse_value(const char *name, const char *text, const char *word)
{
	invar_options *o = test_options("train", NULL);

	assert_int_equal(invar_options_set(o, name, text), INVAR_E_USE);
	test_assert_error(word);
	invar_options_free(o);
}

static void wrong_uses_make_no_run(void **state)
{
	invar_options *identity = options("identity"); /* needs no copies */

	(void)state;
	refuse(bank, options("random"),
	       "loss none trains nothing, so it needs a closed form: init");
	refuse_value("init", "regal",
	             "init must be random, identity, rigid, ridge or features, not 'regal'");
	refuse(bank, test_set(options("rigid"), "hidden", test_text("%d", 2 * D - 1), NULL),
	       "hidden is 17, the bank has 9 features, so at least 18");
	refuse(bank, test_set(options("identity"), "width", "4", NULL),
	       "width is 4, but the bank has 9");
	refuse(bank, test_set(options("rigid"), "ridge", "0.5", NULL),
	       "ridge needs init ridge or features, but init is rigid");
	refuse_value("ridge", "-1", "ridge must be at least 0 and at most 1000000000, not -1");
	refuse(bank, test_set(options("ridge"), "copies", "4", NULL),
	       "copies is 4 but train has 3 copies");
	refuse(bare, options("ridge"), "train has no augmented copies");
	assert_int_equal(invar_train(&bare, 1, identity, test_path("bare_run")), INVAR_OK);
	invar_options_free(identity);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fits_are_those_of_all_pairs),
		cmocka_unit_test(ridge_takes_the_strength_with_the_least_error),
		cmocka_unit_test(one_image_cannot_choose),
		cmocka_unit_test(the_mlp_equals_the_map),
		cmocka_unit_test(spare_units_keep_their_draws_and_are_silent),
		cmocka_unit_test(a_run_without_training_holds_what_a_run_holds),
		cmocka_unit_test(runs_are_equal_on_any_threads_and_after_a_resume),
		cmocka_unit_test(a_training_begins_at_the_closed_form),
		cmocka_unit_test(a_training_begins_at_random_features),
		cmocka_unit_test(features_walk_down_to_the_least_error),
		cmocka_unit_test(a_training_on_a_closed_form_resumes),
		cmocka_unit_test(wrong_uses_make_no_run),
	};

	return cmocka_run_group_tests(tests, open_banks, close_banks);
}
