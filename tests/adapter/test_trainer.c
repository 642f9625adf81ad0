/* SPDX-License-Identifier: Apache-2.0 */
/* test_trainer.c - runs end in the same bytes wherever they are interrupted; wrong uses. */
#include "bank/bank.h"
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adapter/losses/loss.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/options.h"
#include "run/run.h"

enum { ROWS = 50, N = 16, STEPS = 2, EPOCHS = 4 };

static uint64_t stop_at; /* stop once so many steps are done; 0 = never */

static int maybe_stop(void *user, const char *stage, uint64_t done, uint64_t total)
{
	(void)user;
	(void)total;
	return stop_at && strcmp(stage, "train") == 0 && done >= stop_at;
}

static invar_context *ctx;
static invar_bank *bank;

static int open_bank(void **state)
{
	invar_hooks hooks = {.size = sizeof hooks, .progress = maybe_stop};
	const invar_options *o;

	(void)state;
	o = test_kept("synthetic", "rows", test_text("%d", ROWS), "test-rows", "10", "dim", "8",
	              "copies", "4", NULL);
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

static invar_options *options(void)
{
	return test_options("train", "loss", "mawa", "batch-size", test_text("%d", N), "hidden",
	                    "24", "epochs", test_text("%d", EPOCHS), "validation", "0.3",
	                    "keep", "best", NULL);
}

/* Trains on one bank and frees the options. */
static invar_status train(invar_bank *b, invar_options *o, const char *run)
{
	invar_status st = invar_train(&b, 1, o, run);

	invar_options_free(o);
	return st;
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

/* The epoch, counted from 1, whose line in the log has the lowest validation loss. */
static json_int_t best_in_log(const char *path)
{
	FILE *file = fopen(path, "r");
	double best = INFINITY;
	json_int_t epoch = 0;
	json_t *line;

	assert_non_null(file);
	for (json_int_t i = 1; (line = json_loadf(file, JSON_DISABLE_EOF_CHECK, NULL)); i++) {
		double loss = json_number_value(json_object_get(line, "validation"));

		if (loss < best) {
			best = loss;
			epoch = i;
		}
		json_decref(line);
	}
	fclose(file);
	return epoch;
}

static json_int_t kept_in(const char *run_json)
{
	json_t *json = json_load_file(run_json, 0, NULL);
	json_int_t kept = json_integer_value(json_object_get(json, "kept_epoch"));

	json_decref(json);
	return kept;
}

/* From the identity, at such a rate, the loss goes up, so the best epoch is not the last;
 * after it the run is stopped, so that the checkpoint must record which one it was. */
static void the_epoch_that_is_kept_is_named(void **state)
{
	json_int_t best;

	(void)state;
	stop_at = 0;
	assert_int_equal(
		train(bank,
	          test_set(options(), "residual", "1", "lr", "0.3", "lr-min", "0.3", NULL),
	          test_path("best")),
		INVAR_OK);
	best = best_in_log(test_path("best/log.jsonl"));
	assert_in_range(best, 1, EPOCHS - 1);
	assert_int_equal(kept_in(test_path("best/run.json")), best);
	stop_at = STEPS * EPOCHS - 1;
	assert_int_equal(
		train(bank,
	          test_set(options(), "residual", "1", "lr", "0.3", "lr-min", "0.3", NULL),
	          test_path("best2")),
		INVAR_E_CANCELLED);
	stop_at = 0;
	assert_int_equal(
		train(bank, test_options("train", "resume", "1", NULL), test_path("best2")),
		INVAR_OK);
	assert_int_equal(kept_in(test_path("best2/run.json")), best);
}

static void runs_stopped_at_any_step_end_in_the_same_bytes(void **state)
{
	/* What is not set comes from the run. */
	invar_options *again =
		test_options("train", "resume", "1", "epochs", test_text("%d", EPOCHS), NULL);

	(void)state;
	stop_at = 0;
	assert_int_equal(train(bank, options(), test_path("whole")), INVAR_OK);
	for (uint64_t step = 1; step < STEPS * EPOCHS; step++) {
		stop_at = step;
		assert_int_equal(train(bank, options(), test_path("run%d", (int)step)),
		                 INVAR_E_CANCELLED);
		assert_false(test_exists(test_path("run%d/adapter.safetensors", (int)step)));
		stop_at = 0;
		assert_int_equal(invar_train(&bank, 1, again, test_path("run%d", (int)step)),
		                 INVAR_OK);
		assert_same_file(test_path("whole/adapter.safetensors"),
		                 test_path("run%d/adapter.safetensors", (int)step));
		assert_same_file(test_path("whole/checkpoint.safetensors"),
		                 test_path("run%d/checkpoint.safetensors", (int)step));
	}
	invar_options_free(again);
}

/* ---- Every loss ------------------------------------------------------------------ */

static invar_bank *make_bank(const char *name, uint64_t rows, double shift, uint64_t seed)
{
	invar_bank *made;
	const invar_options *o;

	o = test_kept("synthetic", "rows", test_text("%.15g", (double)rows), "test-rows", "0",
	              "dim", "8", "copies", "3", "shift", test_text("%.15g", (double)shift),
	              "seed", test_text("%.15g", (double)seed), NULL);
	assert_int_equal(invar_bank_synthesize(ctx, o, test_path("%s", name)), INVAR_OK);
	assert_int_equal(inv_bank_open(ctx, test_path("%s", name), &made), INVAR_OK);
	return made;
}

/* Stopped within an epoch and at the end of one; options that are not set are the run's. */
static void check_resumed(invar_bank *const *banks, size_t count, const invar_options *o,
                          const char *name)
{
	static const char *const files[] = {"adapter", "checkpoint", "decoder"};
	invar_options *rest = test_options("train", "resume", "1", NULL);

	stop_at = 0;
	if (invar_train(banks, count, o, test_path("%s", name)) != INVAR_OK)
		fail_msg("%s: %s", name, invar_last_error());
	for (uint64_t step = 3; step < 5; step++) {
		char again[96];

		snprintf(again, sizeof again, "%s-%d", name, (int)step);
		stop_at = step;
		assert_int_equal(invar_train(banks, count, o, test_path("%s", again)),
		                 INVAR_E_CANCELLED);
		stop_at = 0;
		assert_int_equal(invar_train(banks, count, rest, test_path("%s", again)), INVAR_OK);
		for (int i = 0; i < 2 + (inv_options_number(o, "decoder") > 0); i++)
			assert_same_file(test_path("%s/%s.safetensors", name, files[i]),
			                 test_path("%s/%s.safetensors", again, files[i]));
	}
	invar_options_free(rest);
}

static bool has_option(const inv_loss *loss, const char *name)
{
	invar_options *o = test_options("train", NULL);
	bool has = inv_options_uses(o, "loss", loss->name, name);

	invar_options_free(o);
	return has;
}

static void every_loss_resumes_in_the_same_bytes(void **state)
{
	invar_bank *const banks[] = {bank, make_bank("second", ROWS, 3, 0)};
	const inv_loss *loss;

	(void)state;
	for (size_t i = 0; (loss = inv_loss_at(i)); i++)
		for (int form = 0; form < 16; form++) {
			bool decoder = form & 1, without = form & 2, several = form & 4;
			bool scaled = form & 8;
			invar_options *o;
			char name[64];

			if ((several && !loss->several) || (decoder && loss->no_decoder) ||
			    (scaled && (without || several || !decoder)) ||
			    (without && !has_option(loss, "no-identity")))
				continue;
			o = test_set(options(), "loss", loss->name, NULL);
			if (has_option(loss, "projections"))
				test_set(o, "projections", "20", NULL);
			if (decoder)
				test_set(o, "decoder", "1", "alpha", "0.5", NULL);
			if (without)
				test_set(o, "no-identity", "1", NULL);
			if (scaled)
				test_set(o, "scaled", "1", NULL);
			snprintf(name, sizeof name, "%s%s%s%s%s", loss->name, decoder ? "-dec" : "",
			         without ? "-noid" : "", several ? "-two" : "",
			         scaled ? "-scaled" : "");
			check_resumed(banks, several ? 2 : 1, o, name);
			invar_options_free(o);
		}
	invar_bank_close(banks[1]);
}

/* A decoder is an adapter from codes to features, and the best of both is kept. */
static void a_decoder_lowers_its_error_and_can_be_applied(void **state)
{
	invar_options *o = test_set(options(), "decoder", "1", "epochs", "200", "lr", "3e-3",
	                            "lr-min", "3e-3", "validation", "0", "keep", "last", NULL);
	float x[ROWS * 8], z[ROWS * 8], y[ROWS * 8];
	double error = 0, size = 0;
	invar_adapter *e, *d;

	(void)state;
	assert_int_equal(train(bank, o, test_path("auto")), INVAR_OK);
	assert_int_equal(invar_adapter_open(ctx, test_path("auto"), &e), INVAR_OK);
	assert_int_equal(invar_adapter_open(ctx, test_path("auto/decoder.safetensors"), &d),
	                 INVAR_OK);
	assert_string_equal(invar_adapter_metadata(d, "invar.loss"), "mawa");
	assert_int_equal(invar_bank_read(bank, "train", INVAR_CLEAN, 0, ROWS, x), INVAR_OK);
	assert_int_equal(invar_adapter_apply(e, x, ROWS, z), INVAR_OK);
	assert_int_equal(invar_adapter_apply(d, z, ROWS, y), INVAR_OK);
	for (size_t i = 0; i < ROWS * 8; i++) {
		error += ((double)x[i] - y[i]) * ((double)x[i] - y[i]);
		size += (double)x[i] * x[i];
	}
	assert_true(error < 0.1 * size);
	invar_adapter_close(e);
	invar_adapter_close(d);
}

static double logged(const char *run, size_t line, const char *key)
{
	char *text = test_read(test_path("%s/log.jsonl", run), NULL), *at = text;
	json_t *json;
	double value;

	for (size_t i = 0; i < line && at; i++)
		at = strchr(at, '\n') + 1;
	json = json_loads(at, JSON_DISABLE_EOF_CHECK, NULL);
	assert_non_null(json);
	assert_int_equal(json_integer_value(json_object_get(json, "epoch")), line);
	value = json_number_value(json_object_get(json, key));
	json_decref(json);
	free(text);
	return value;
}

static void the_log_has_a_line_an_epoch_and_the_loss_falls(void **state)
{
	(void)state;
	for (size_t e = 0; e < EPOCHS; e++) {
		assert_true(logged("whole", e, "loss") == logged("run5", e, "loss"));
		assert_true(logged("whole", e, "validation") == logged("run5", e, "validation"));
	}
	assert_true(logged("whole", EPOCHS - 1, "loss") < logged("whole", 0, "loss"));
	assert_true(fabs(logged("whole", 0, "lr") - 1e-3) < 1e-12);
}

static void resuming_refuses_other_values(void **state)
{
	invar_options *o = test_options("train", "resume", "1", "hidden", "25", NULL);

	(void)state;
	assert_int_equal(invar_train(&bank, 1, o, test_path("whole")), INVAR_E_MISMATCH);
	test_assert_error("was started with hidden 24, so it cannot be resumed with 25");
	assert_int_equal(train(bank, o, test_path("nowhere")), INVAR_E_IO);
	test_assert_error("nothing to resume");
	assert_false(test_exists(test_path("nowhere")));
}

/* The same shapes, another value in one row. */
static void resuming_refuses_other_rows(void **state)
{
	const invar_options *made;
	invar_bank *other;

	(void)state;
	made = test_kept("synthetic", "rows", test_text("%d", ROWS), "test-rows", "0", "dim",
	                 "8", "copies", "4", "seed", "1", NULL);
	assert_int_equal(invar_bank_synthesize(ctx, made, test_path("other")), INVAR_OK);
	assert_int_equal(inv_bank_open(ctx, test_path("other"), &other), INVAR_OK);
	assert_int_equal(
		train(other, test_set(options(), "resume", "1", NULL), test_path("whole")),
		INVAR_E_MISMATCH);
	test_assert_error("started with different rows");
	invar_bank_close(other);
}

/* Whatever goes wrong before the first step, the old run is still there. */
static void force_keeps_the_old_run_until_the_new_one_can_start(void **state)
{
	inv_run *run;

	(void)state;
	assert_int_not_equal(train(bank,
	                           test_set(options(), "force", "1", "copies", "99", NULL),
	                           test_path("run3")),
	                     INVAR_OK);
	assert_int_not_equal(train(bank,
	                           test_set(options(), "force", "1", "hidden", "1048576",
	                                    "batch-size", "1048576", "lr-min", "1", NULL),
	                           test_path("run3")),
	                     INVAR_OK);
	/* A failure after the folder was opened, such as too little memory. */
	assert_int_equal(inv_run_open(test_path("run3"), INV_RUN_REPLACE, &run), INVAR_OK);
	inv_run_close(run);
	assert_same_file(test_path("whole/adapter.safetensors"),
	                 test_path("run3/adapter.safetensors"));
}

static void a_damaged_checkpoint_is_refused_and_noted(void **state)
{
	invar_options *o = test_set(options(), "resume", "1", NULL);
	size_t bytes;
	char *good = test_read(test_path("run4/checkpoint.safetensors"), &bytes), *json;

	(void)state;
	test_write(test_path("run4/checkpoint.safetensors"), good, bytes / 2);
	assert_int_equal(invar_train(&bank, 1, o, test_path("run4")), INVAR_E_FORMAT);
	json = test_read(test_path("run4/run.json"), NULL);
	assert_non_null(strstr(json, "\"failed\""));
	free(json);
	test_write(test_path("run4/checkpoint.safetensors"), good, bytes);
	free(good);
	assert_int_equal(train(bank, o, test_path("run4")), INVAR_OK);
	assert_same_file(test_path("whole/adapter.safetensors"),
	                 test_path("run4/adapter.safetensors"));
}

/* Features near the end of float's range: the loss is finite once, the step is not. */
static void weights_that_are_not_finite_are_never_saved(void **state)
{
	uint64_t shape[2] = {N, 4};
	float x[N * 4];
	invar_options *o = test_set(options(), "preset", "paper", "samples", "0", "validation",
	                            "0", "keep", "last", "epochs", "1", NULL);
	invar_bank *huge;

	(void)state;
	for (size_t i = 0; i < N * 4; i++)
		x[i] = (i % 7 < 3 ? 1e24f : -1e24f);
	assert_int_equal(mkdir(test_path("huge"), 0777), 0);
	assert_int_equal(mkdir(test_path("huge/train"), 0777), 0);
	assert_int_equal(invar_array_write(ctx, test_path("huge/train/clean.npy"), x, 2, shape,
	                                   INVAR_FLOAT32),
	                 INVAR_OK);
	assert_int_equal(inv_bank_open(ctx, test_path("huge"), &huge), INVAR_OK);
	assert_int_equal(train(huge, o, test_path("huge-run")), INVAR_E_NUMERIC);
	assert_false(test_exists(test_path("huge-run/adapter.safetensors")));
	assert_false(test_exists(test_path("huge-run/checkpoint.safetensors")));
	invar_bank_close(huge);
}

static void an_existing_run_is_replaced_only_by_force(void **state)
{
	(void)state;
	assert_int_equal(train(bank, options(), test_path("whole")), INVAR_E_IO);
	test_assert_error("force");
	assert_int_equal(train(bank, test_set(options(), "force", "1", "seed", "1", NULL),
	                       test_path("run1")),
	                 INVAR_OK);
}

static void without_a_checkpoint_it_starts_over(void **state)
{
	(void)state;
	unlink(test_path("run2/checkpoint.safetensors"));
	unlink(test_path("run2/adapter.safetensors"));
	assert_int_equal(
		train(bank, test_set(options(), "resume", "1", NULL), test_path("run2")), INVAR_OK);
	assert_same_file(test_path("whole/adapter.safetensors"),
	                 test_path("run2/adapter.safetensors"));
}

/* No partial files are left; frees the options. */
static void refuse_banks(invar_bank *const *banks, size_t count, invar_options *o,
                         const char *word)
{
	assert_int_not_equal(invar_train(banks, count, o, test_path("wrong")), INVAR_OK);
	test_assert_error(word);
	assert_false(test_exists(test_path("wrong")));
	invar_options_free(o);
}

static void refuse(invar_options *o, const char *word)
{
	refuse_banks(&bank, 1, o, word);
}

/* A value out of its bounds is rejected when it is set. */
static void refuse_value(const char *name, const char *text, const char *word)
{
	invar_options *o = options();

	assert_int_equal(invar_options_set(o, name, text), INVAR_E_USE);
	test_assert_error(word);
	invar_options_free(o);
}

static void wrong_options_make_no_run(void **state)
{
	(void)state;
	refuse_value("hidden", "0", "hidden must be at least 1 and at most 1048576, not 0");
	refuse_value("lr", "0", "lr must be above 0 and at most 1000, not 0");
	refuse_value("loss", "moose", "loss must be mawa");
	refuse(test_set(options(), "copies", "5", NULL), "copies is 5 but train has 4 copies");
	refuse(test_set(options(), "width", "4", NULL), "width is 4, but the bank has 8");
	refuse(test_set(options(), "validation", "0", NULL), "keep best needs");
	refuse(test_set(options(), "split", "tarin", NULL), "no split tarin");
	refuse(test_set(options(), "samples", "0", "no-identity", "1", NULL),
	       "needs augmented copies");
	refuse(test_set(options(), "resume", "1", "force", "1", NULL),
	       "cannot be used together");
	refuse(test_set(options(), "loss", "hsic", "sigma-z", "-1", NULL),
	       "sigma-z must be median or a number above 0, not '-1'");
	refuse(test_set(options(), "decoder", "1", "loss", "none", "init", "identity", NULL),
	       "cannot train a decoder");
	refuse(test_options("loss", NULL), "these options were made for loss, not for train");
}

static void
a_floor_above_the_learning_rate_is_refused_and_the_default_gives_way(void **state)
{
	(void)state;
	refuse(test_set(options(), "lr", "1e-4", "lr-min", "2e-4", NULL),
	       "lr-min 0.0002 is above lr 0.0001");
	refuse(test_set(options(), "lr-min", "2e-3", NULL), "lr-min 0.002 is above lr 0.001");
	assert_int_equal(
		train(bank, test_set(options(), "lr", "1e-4", NULL), test_path("slow")), INVAR_OK);
	for (size_t e = 0; e < EPOCHS; e++)
		assert_true(logged("slow", e, "lr") == 1e-4);
	assert_int_equal(
		train(bank, test_options("train", "resume", "1", NULL), test_path("slow")),
		INVAR_OK);
}

static void options_of_another_loss_are_refused_where_set(void **state)
{
	(void)state;
	refuse(test_set(options(), "alpha", "1", NULL),
	       "alpha needs decoder, which is not set");
	for (size_t i = 0; inv_loss_at(i); i++)
		if (has_option(inv_loss_at(i), "temperature"))
			refuse(test_set(options(), "temperature", "0.5", NULL),
			       "temperature needs loss simclr, but loss is mawa");
}

/* ---- Several banks --------------------------------------------------------------- */

static const inv_loss *loss_of_several(void)
{
	for (size_t i = 0; inv_loss_at(i); i++)
		if (inv_loss_at(i)->several)
			return inv_loss_at(i);
	return NULL;
}

static void banks_that_do_not_belong_together_are_refused(void **state)
{
	const inv_loss *loss = loss_of_several();
	invar_bank *strange[] = {bank, make_bank("strange", ROWS, 2, 5)};
	invar_bank *few[] = {bank, make_bank("few-rows", ROWS - 1, 2, 0)};
	invar_bank *two[] = {bank, NULL};

	(void)state;
	assert_int_equal(inv_bank_open(ctx, test_path("second"), &two[1]), INVAR_OK);
	refuse_banks(two, 2, options(),
	             "loss mawa takes one bank, but 2 are given: the second one is");
	if (loss) {
		const char *name = loss->name;

		refuse_banks(strange, 2, test_set(options(), "loss", name, NULL),
		             "strange/train/clean.npy: row 0 differs from that of");
		refuse_banks(few, 2, test_set(options(), "loss", name, NULL),
		             "few-rows/train/clean.npy: is [49, 8] but");
		refuse_banks(two, 2, test_set(options(), "loss", name, "copies", "4", NULL),
		             "second: copies is 4 but train has 3 copies");
		refuse_banks(two, 2, test_set(options(), "loss", name, "samples", "0", NULL),
		             "samples 0 would not use the banks after the first");
		refuse_banks(two, 2, test_set(options(), "loss", name, "init", "rigid", NULL),
		             "init rigid is fitted to the copies of one bank, but 2 are given");
	}
	invar_bank_close(strange[1]);
	invar_bank_close(few[1]);
	invar_bank_close(two[1]);
}

static void no_bank_and_too_many_are_refused(void **state)
{
	invar_bank *const many[] = {bank, bank, bank, bank, bank, bank, bank, bank, bank};

	(void)state;
	refuse_banks(many, 9, options(), "a training takes 1 to 8 banks, not 9");
	refuse_banks(many, 0, options(), "a training takes 1 to 8 banks, not 0");
}

/* The files of a bank may move; it is their content that is compared. */
static void a_run_on_two_banks_resumes_on_the_same_two(void **state)
{
	const inv_loss *loss = loss_of_several();
	invar_bank *const banks[] = {bank, make_bank("third", ROWS, 4, 0)};
	invar_options *o = test_options("train", "resume", "1", NULL);
	char run[64];

	(void)state;
	if (loss) {
		snprintf(run, sizeof run, "%s-two", loss->name);
		assert_int_equal(invar_train(banks, 1, o, test_path("%s", run)), INVAR_E_MISMATCH);
		test_assert_error("was started with 2 banks, so it cannot be resumed with 1");
		assert_int_equal(invar_train(banks, 2, o, test_path("%s", run)), INVAR_E_MISMATCH);
		test_assert_error("was started with different rows than");
	}
	invar_bank_close(banks[1]);
	invar_options_free(o);
}

static void few_images_and_copies_are_enough(void **state)
{
	invar_options *o =
		test_set(options(), "batch-size", "4096", "samples", "9", "epochs", "1", NULL);

	(void)state;
	assert_int_equal(invar_train(&bank, 1, o, test_path("few")), INVAR_OK);
	test_set(o, "samples", "0", NULL); /* an autoencoder: only the clean rows */
	assert_int_equal(invar_train(&bank, 1, o, test_path("clean")), INVAR_OK);
	test_set(o, "samples", "2", "no-identity", "1", "residual", "1", NULL);
	assert_int_equal(train(bank, o, test_path("noid")), INVAR_OK);
}

/* The residual form begins at E(z) = z: the first loss is that of F itself. */
static void a_residual_run_begins_at_the_identity(void **state)
{
	/* All 4 copies, so that the first loss does not depend on draws. */
	invar_options *o = test_set(options(), "preset", "paper", "residual", "1", "samples",
	                            "4", "validation", "0", "keep", "last", "batch-size",
	                            test_text("%d", ROWS), "epochs", "1", NULL);
	float clean[ROWS * 8], copy[ROWS * 8];
	double sum = 0;

	(void)state;
	assert_int_equal(train(bank, o, test_path("residual")), INVAR_OK);
	assert_int_equal(invar_bank_read(bank, "train", INVAR_CLEAN, 0, ROWS, clean), INVAR_OK);
	for (int32_t c = 0; c < 4; c++) {
		assert_int_equal(invar_bank_read(bank, "train", c, 0, ROWS, copy), INVAR_OK);
		for (size_t i = 0; i < ROWS * 8; i++)
			sum += ((double)copy[i] - clean[i]) * ((double)copy[i] - clean[i]);
	}
	sum /= 5 * ROWS;
	assert_true(fabs(logged("residual", 0, "loss") - sum) < 1e-5 * sum);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_epoch_that_is_kept_is_named),
		cmocka_unit_test(runs_stopped_at_any_step_end_in_the_same_bytes),
		cmocka_unit_test(the_log_has_a_line_an_epoch_and_the_loss_falls),
		cmocka_unit_test(resuming_refuses_other_values),
		cmocka_unit_test(resuming_refuses_other_rows),
		cmocka_unit_test(force_keeps_the_old_run_until_the_new_one_can_start),
		cmocka_unit_test(a_damaged_checkpoint_is_refused_and_noted),
		cmocka_unit_test(weights_that_are_not_finite_are_never_saved),
		cmocka_unit_test(an_existing_run_is_replaced_only_by_force),
		cmocka_unit_test(without_a_checkpoint_it_starts_over),
		cmocka_unit_test(wrong_options_make_no_run),
		cmocka_unit_test(every_loss_resumes_in_the_same_bytes),
		cmocka_unit_test(a_decoder_lowers_its_error_and_can_be_applied),
		cmocka_unit_test(
			a_floor_above_the_learning_rate_is_refused_and_the_default_gives_way),
		cmocka_unit_test(options_of_another_loss_are_refused_where_set),
		cmocka_unit_test(banks_that_do_not_belong_together_are_refused),
		cmocka_unit_test(no_bank_and_too_many_are_refused),
		cmocka_unit_test(a_run_on_two_banks_resumes_on_the_same_two),
		cmocka_unit_test(few_images_and_copies_are_enough),
		cmocka_unit_test(a_residual_run_begins_at_the_identity),
	};

	return cmocka_run_group_tests(tests, open_bank, close_bank);
}
