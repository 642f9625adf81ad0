/* test_trainer.c - runs: interrupted anywhere they end in the same bytes; wrong uses. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adapter/losses/loss.h"
#include "adapter/run.h"
#include "base/json.h"
#include "base/memory.h"

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
	invar_synthetic_opts o;

	(void)state;
	invar_synthetic_defaults(&o);
	o.rows = ROWS;
	o.test_rows = 10;
	o.dim = 8;
	o.copies = 4;
	return invar_context_new(2, &hooks, &ctx) != INVAR_OK ||
	       invar_bank_synthesize(ctx, &o, test_path("bank")) != INVAR_OK ||
	       invar_bank_open(ctx, test_path("bank"), &bank) != INVAR_OK;
}

static int close_bank(void **state)
{
	(void)state;
	invar_bank_close(bank);
	invar_context_free(ctx);
	return 0;
}

static invar_train_opts options(void)
{
	invar_train_opts o;

	invar_train_defaults(&o);
	o.batch = N;
	o.hidden = 24;
	o.epochs = EPOCHS;
	o.validation = 0.3;
	o.keep = "best";
	return o;
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

static void runs_stopped_at_any_step_end_in_the_same_bytes(void **state)
{
	const char *const given[] = {"epochs", NULL};
	invar_train_opts o = options(), again;

	(void)state;
	stop_at = 0;
	assert_int_equal(invar_train(&bank, 1, &o, NULL, test_path("whole")), INVAR_OK);
	for (uint64_t step = 1; step < STEPS * EPOCHS; step++) {
		stop_at = step;
		assert_int_equal(invar_train(&bank, 1, &o, NULL, test_path("run%d", (int)step)),
		                 INVAR_E_CANCELLED);
		assert_false(test_exists(test_path("run%d/adapter.safetensors", (int)step)));
		stop_at = 0;
		invar_train_defaults(&again); /* what is not given comes from the run */
		again.resume = 1;
		again.epochs = EPOCHS;
		assert_int_equal(
			invar_train(&bank, 1, &again, given, test_path("run%d", (int)step)), INVAR_OK);
		assert_same_file(test_path("whole/adapter.safetensors"),
		                 test_path("run%d/adapter.safetensors", (int)step));
		assert_same_file(test_path("whole/checkpoint.safetensors"),
		                 test_path("run%d/checkpoint.safetensors", (int)step));
	}
}

/* ---- Every loss ------------------------------------------------------------------ */

static void make_bank(const char *name, uint64_t rows, double shift, uint64_t seed)
{
	invar_synthetic_opts o;

	invar_synthetic_defaults(&o);
	o.rows = rows;
	o.test_rows = 0;
	o.dim = 8;
	o.copies = 3;
	o.shift = shift;
	o.seed = seed;
	assert_int_equal(invar_bank_synthesize(ctx, &o, test_path("%s", name)), INVAR_OK);
}

/* Stopped within an epoch and at the end of one, with what is not given from the run. */
static void check_resumed(const invar_train_opts *o, const char *name)
{
	static const char *const files[] = {"adapter", "checkpoint", "decoder"};

	stop_at = 0;
	if (invar_train(&bank, 1, o, NULL, test_path("%s", name)) != INVAR_OK)
		fail_msg("%s: %s", name, invar_last_error());
	for (uint64_t step = 3; step < 5; step++) {
		char again[96];
		invar_train_opts rest;

		snprintf(again, sizeof again, "%s-%d", name, (int)step);
		stop_at = step;
		assert_int_equal(invar_train(&bank, 1, o, NULL, test_path("%s", again)),
		                 INVAR_E_CANCELLED);
		stop_at = 0;
		invar_train_defaults(&rest);
		rest.resume = 1;
		assert_int_equal(invar_train(&bank, 1, &rest, NULL, test_path("%s", again)),
		                 INVAR_OK);
		for (int i = 0; i < 2 + o->decoder; i++)
			assert_same_file(test_path("%s/%s.safetensors", name, files[i]),
			                 test_path("%s/%s.safetensors", again, files[i]));
	}
}

static void every_loss_resumes_in_the_same_bytes(void **state)
{
	char second[4096];
	const char *const also[] = {second, NULL};
	const inv_loss *loss;

	(void)state;
	make_bank("second", ROWS, 3, 0);
	snprintf(second, sizeof second, "%s", test_path("second"));
	for (size_t i = 0; (loss = inv_loss_at(i)); i++)
		for (int form = 0; form < 8; form++) {
			bool decoder = form & 1, without = form & 2, several = form & 4;
			invar_train_opts o = options();
			char name[64];

			if ((several && !loss->several) ||
			    (without && (!loss->options || !strstr(loss->options, "no-identity"))))
				continue;
			o.loss = loss->name;
			o.projections = 20;
			o.decoder = decoder;
			o.alpha = 0.5;
			o.no_identity = without;
			o.also = several ? also : NULL;
			snprintf(name, sizeof name, "%s%s%s%s", loss->name, decoder ? "-dec" : "",
			         without ? "-noid" : "", several ? "-also" : "");
			check_resumed(&o, name);
		}
}

/* A decoder is an adapter from codes to features, and the best of both is kept. */
static void a_decoder_lowers_its_error_and_can_be_applied(void **state)
{
	invar_train_opts o = options();
	float x[ROWS * 8], z[ROWS * 8], y[ROWS * 8];
	double error = 0, size = 0;
	invar_adapter *e, *d;

	(void)state;
	o.decoder = 1;
	o.epochs = 200;
	o.lr = o.lr_min = 3e-3;
	o.validation = 0;
	o.keep = "last";
	assert_int_equal(invar_train(&bank, 1, &o, NULL, test_path("auto")), INVAR_OK);
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
	const char *const given[] = {"hidden", NULL};
	invar_train_opts o = options();

	(void)state;
	o.resume = 1;
	o.hidden = 25;
	assert_int_equal(invar_train(&bank, 1, &o, given, test_path("whole")),
	                 INVAR_E_MISMATCH);
	test_assert_error("begun with --hidden 24, so it cannot go on with 25");
	assert_int_equal(invar_train(&bank, 1, &o, NULL, test_path("nowhere")), INVAR_E_IO);
	test_assert_error("nothing to resume");
	assert_false(test_exists(test_path("nowhere")));
}

/* The same shapes, another value in one row. */
static void resuming_refuses_other_rows(void **state)
{
	invar_train_opts o = options();
	invar_synthetic_opts made;
	invar_bank *other;

	(void)state;
	invar_synthetic_defaults(&made);
	made.rows = ROWS;
	made.test_rows = 0;
	made.dim = 8;
	made.copies = 4;
	made.seed = 1;
	assert_int_equal(invar_bank_synthesize(ctx, &made, test_path("other")), INVAR_OK);
	assert_int_equal(invar_bank_open(ctx, test_path("other"), &other), INVAR_OK);
	o.resume = 1;
	assert_int_equal(invar_train(&other, 1, &o, NULL, test_path("whole")),
	                 INVAR_E_MISMATCH);
	test_assert_error("begun on other rows");
	invar_bank_close(other);
}

/* Whatever goes wrong before the first step, the old run is still there. */
static void force_keeps_the_old_run_until_the_new_one_can_start(void **state)
{
	invar_train_opts o = options();
	inv_run *run;

	(void)state;
	o.force = 1;
	o.copies = 99;
	assert_int_not_equal(invar_train(&bank, 1, &o, NULL, test_path("run3")), INVAR_OK);
	o = options();
	o.force = 1;
	o.hidden = 1 << 20;
	o.batch = 1 << 20;
	o.lr = 1e300; /* out of bounds */
	assert_int_not_equal(invar_train(&bank, 1, &o, NULL, test_path("run3")), INVAR_OK);
	/* A failure after the folder was opened, such as too little memory. */
	assert_int_equal(inv_run_open(test_path("run3"), INV_RUN_REPLACE, &run), INVAR_OK);
	inv_run_close(run);
	assert_same_file(test_path("whole/adapter.safetensors"),
	                 test_path("run3/adapter.safetensors"));
}

static void a_damaged_checkpoint_is_refused_and_noted(void **state)
{
	invar_train_opts o = options();
	size_t bytes;
	char *good = test_read(test_path("run4/checkpoint.safetensors"), &bytes), *json;

	(void)state;
	o.resume = 1;
	test_write(test_path("run4/checkpoint.safetensors"), good, bytes / 2);
	assert_int_equal(invar_train(&bank, 1, &o, NULL, test_path("run4")), INVAR_E_FORMAT);
	json = test_read(test_path("run4/run.json"), NULL);
	assert_non_null(strstr(json, "\"failed\""));
	free(json);
	test_write(test_path("run4/checkpoint.safetensors"), good, bytes);
	free(good);
	assert_int_equal(invar_train(&bank, 1, &o, NULL, test_path("run4")), INVAR_OK);
	assert_same_file(test_path("whole/adapter.safetensors"),
	                 test_path("run4/adapter.safetensors"));
}

/* Features near the end of float's range: the loss is finite once, the step is not. */
static void weights_that_are_not_finite_are_never_saved(void **state)
{
	uint64_t shape[2] = {N, 4};
	float x[N * 4];
	invar_train_opts o = options();
	invar_bank *huge;

	(void)state;
	for (size_t i = 0; i < N * 4; i++)
		x[i] = (i % 7 < 3 ? 1e24f : -1e24f);
	assert_int_equal(mkdir(test_path("huge"), 0777), 0);
	assert_int_equal(mkdir(test_path("huge/train"), 0777), 0);
	assert_int_equal(invar_array_write(ctx, test_path("huge/train/clean.npy"), x, 2, shape,
	                                   INVAR_FLOAT32),
	                 INVAR_OK);
	assert_int_equal(invar_bank_open(ctx, test_path("huge"), &huge), INVAR_OK);
	o.samples = 0;
	o.validation = 0;
	o.keep = "last";
	o.epochs = 1;
	assert_int_equal(invar_train(&huge, 1, &o, NULL, test_path("huge-run")),
	                 INVAR_E_NUMERIC);
	assert_false(test_exists(test_path("huge-run/adapter.safetensors")));
	assert_false(test_exists(test_path("huge-run/checkpoint.safetensors")));
	invar_bank_close(huge);
}

static void an_existing_run_is_replaced_only_by_force(void **state)
{
	invar_train_opts o = options();

	(void)state;
	assert_int_equal(invar_train(&bank, 1, &o, NULL, test_path("whole")), INVAR_E_IO);
	test_assert_error("--force");
	o.force = 1;
	o.seed = 1;
	assert_int_equal(invar_train(&bank, 1, &o, NULL, test_path("run1")), INVAR_OK);
}

static void without_a_checkpoint_it_starts_over(void **state)
{
	invar_train_opts o = options();

	(void)state;
	unlink(test_path("run2/checkpoint.safetensors"));
	unlink(test_path("run2/adapter.safetensors"));
	o.resume = 1;
	assert_int_equal(invar_train(&bank, 1, &o, NULL, test_path("run2")), INVAR_OK);
	assert_same_file(test_path("whole/adapter.safetensors"),
	                 test_path("run2/adapter.safetensors"));
}

static void refuse(const invar_train_opts *o, const char *word)
{
	assert_int_not_equal(invar_train(&bank, 1, o, NULL, test_path("wrong")), INVAR_OK);
	test_assert_error(word);
	assert_false(test_exists(test_path("wrong"))); /* nothing half-made */
}

static void wrong_options_make_no_run(void **state)
{
	invar_train_opts o = options();

	(void)state;
	o.hidden = 0;
	refuse(&o, "--hidden is 0 but must be at least 1");
	o = options();
	o.lr = 0;
	refuse(&o, "--lr is 0 but must be above 0");
	o = options();
	o.loss = "moose";
	refuse(&o, "must be one of mawa");
	o = options();
	o.copies = 5;
	refuse(&o, "--copies is 5 but train has 4 copies");
	o = options();
	o.width = 4;
	refuse(&o, "--width is 4, the bank has 8");
	o = options();
	o.validation = 0;
	refuse(&o, "--keep best needs");
	o = options();
	o.split = "tarin";
	refuse(&o, "no split tarin");
	o = options();
	o.samples = 0;
	o.no_identity = 1;
	refuse(&o, "needs augmented copies");
	o = options();
	o.resume = o.force = 1;
	refuse(&o, "exclude each other");
	o = options();
	o.sigma_z = "-1";
	refuse(&o, "--sigma-z is '-1' but must be median or a number above 0");
	o = options();
	o.decoder = 1;
	o.loss = "none";
	o.init = "identity";
	refuse(&o, "cannot train a --decoder");
}

static void options_of_another_loss_are_refused_where_given(void **state)
{
	const char *const given[] = {"epochs", "alpha", NULL};
	invar_train_opts o = options();

	(void)state;
	assert_int_equal(invar_train(&bank, 1, &o, given, test_path("wrong")), INVAR_E_USE);
	test_assert_error("--alpha belongs to --decoder, which is not given");
	for (size_t i = 0; inv_loss_at(i); i++)
		if (inv_loss_at(i)->options && strstr(inv_loss_at(i)->options, "temperature")) {
			const char *const hot[] = {"temperature", NULL};

			assert_int_equal(invar_train(&bank, 1, &o, hot, test_path("wrong")),
			                 INVAR_E_USE);
			test_assert_error("--temperature is an option of simclr, not of mawa");
		}
}

static void banks_that_do_not_belong_together_are_refused(void **state)
{
	char other[4096], few[4096], second[4096];
	const char *also[] = {NULL, NULL};
	const inv_loss *loss = NULL;
	invar_train_opts o = options();

	(void)state;
	make_bank("strange", ROWS, 2, 5);
	make_bank("few-rows", ROWS - 1, 2, 0);
	snprintf(other, sizeof other, "%s", test_path("strange"));
	snprintf(few, sizeof few, "%s", test_path("few-rows"));
	snprintf(second, sizeof second, "%s", test_path("second"));
	o.also = also;
	also[0] = second;
	refuse(&o, "--loss mawa takes one augmentation, so --also");
	also[0] = "/nowhere";
	refuse(&o, "/nowhere: there is no such bank");
	for (size_t i = 0; inv_loss_at(i); i++)
		loss = inv_loss_at(i)->several ? inv_loss_at(i) : loss;
	if (!loss)
		return;
	o.loss = loss->name;
	also[0] = other;
	refuse(&o, "strange/train/clean.npy: its row 0 is another than that of");
	also[0] = few;
	refuse(&o, "few-rows/train/clean.npy: is [49, 8] but");
	also[0] = second;
	o.copies = 4;
	refuse(&o, "second: --copies is 4 but train has 3 copies");
	o.copies = 0;
	o.samples = 0;
	refuse(&o, "--samples 0 leaves the banks of --also without use");
	o = options();
	o.loss = loss->name;
	o.also = also;
	o.init = "rigid";
	refuse(&o, "--init rigid is fitted to the copies of one bank");
}

/* The files of a bank may move; it is their content that is compared. */
static void a_run_on_two_banks_resumes_on_the_same_two(void **state)
{
	const inv_loss *loss = NULL;
	const char *const given[] = {"also", NULL};
	char other[4096];
	const char *const also[] = {other, NULL};
	invar_train_opts o = options();

	(void)state;
	for (size_t i = 0; inv_loss_at(i); i++)
		loss = inv_loss_at(i)->several ? inv_loss_at(i) : loss;
	if (!loss)
		return;
	o.resume = 1;
	assert_int_equal(invar_train(&bank, 1, &o, given, test_path("%s-also", loss->name)),
	                 INVAR_E_MISMATCH);
	test_assert_error("was begun on 2 banks, so it cannot go on with 1");
	make_bank("third", ROWS, 4, 0);
	snprintf(other, sizeof other, "%s", test_path("third"));
	o.also = also;
	assert_int_equal(invar_train(&bank, 1, &o, given, test_path("%s-also", loss->name)),
	                 INVAR_E_MISMATCH);
	test_assert_error("was begun on other rows than");
}

static void few_images_and_copies_are_enough(void **state)
{
	invar_train_opts o = options();

	(void)state;
	o.batch = 4096;
	o.samples = 9;
	o.epochs = 1;
	assert_int_equal(invar_train(&bank, 1, &o, NULL, test_path("few")), INVAR_OK);
	o.samples = 0; /* an autoencoder: the clean rows alone */
	assert_int_equal(invar_train(&bank, 1, &o, NULL, test_path("clean")), INVAR_OK);
	o.samples = 2;
	o.no_identity = 1;
	o.residual = 1;
	assert_int_equal(invar_train(&bank, 1, &o, NULL, test_path("noid")), INVAR_OK);
}

/* The residual form begins at E(z) = z: the first loss is that of F itself. */
static void a_residual_run_begins_at_the_identity(void **state)
{
	invar_train_opts o = options();
	float clean[ROWS * 8], copy[ROWS * 8];
	double sum = 0;

	(void)state;
	o.residual = 1;
	o.samples = 4; /* all copies, so that the first loss is no draw */
	o.validation = 0;
	o.keep = "last";
	o.batch = ROWS;
	o.epochs = 1;
	assert_int_equal(invar_train(&bank, 1, &o, NULL, test_path("residual")), INVAR_OK);
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
		cmocka_unit_test(options_of_another_loss_are_refused_where_given),
		cmocka_unit_test(banks_that_do_not_belong_together_are_refused),
		cmocka_unit_test(a_run_on_two_banks_resumes_on_the_same_two),
		cmocka_unit_test(few_images_and_copies_are_enough),
		cmocka_unit_test(a_residual_run_begins_at_the_identity),
	};

	return cmocka_run_group_tests(tests, open_bank, close_bank);
}
