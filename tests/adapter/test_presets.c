/* SPDX-License-Identifier: Apache-2.0 */
/* test_presets.c - presets are defaults: explicit options override them, runs record them.
 */
#include "bank/bank.h"
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "adapter/presets.h"
#include "base/json.h"
#include "base/options.h"

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

	(void)state;
	return invar_context_new(2, &hooks, &ctx) != INVAR_OK ||
	       invar_bank_synthesize(ctx,
	                             test_kept("synthetic", "rows", "40", "test-rows", "10",
	                                       "dim", "8", "copies", "3", NULL),
	                             test_path("bank")) != INVAR_OK ||
	       inv_bank_open(ctx, test_path("bank"), &bank) != INVAR_OK;
}

static int close_bank(void **state)
{
	(void)state;
	invar_bank_close(bank);
	invar_context_free(ctx);
	return 0;
}

/* What help shows is what a training without options uses. */
static void the_default_preset_is_what_the_options_say(void **state)
{
	invar_options *o = test_options("train", NULL);
	const invar_option *row;

	(void)state;
	for (size_t i = 0; (row = invar_options_at(o, i)); i++) {
		if (!row->initial)
			continue;
		if (inv_options_text(o, row->name, 0))
			assert_string_equal(inv_options_text(o, row->name, 0), row->initial);
		else if (row->type == INVAR_OPTION_FLAG)
			assert_true(inv_option_has_value(o, row->name, row->initial));
		else
			assert_true(inv_options_number(o, row->name) == strtod(row->initial, NULL));
	}
	assert_string_equal(inv_options_find(o, "preset")->initial, INV_DEFAULT_PRESET);
	assert_string_equal(inv_options_find(o, "hidden")->initial, "1024");
	assert_true(inv_option_flag(o, "scaled"));
	invar_options_free(o);
}

static void paper_is_as_published(void **state)
{
	invar_options *o = test_options("train", "preset", "paper", NULL);

	(void)state;
	assert_true(inv_option_is(o, "loss", "mawa") && inv_option_is(o, "init", "random"));
	assert_false(inv_option_flag(o, "scaled") || inv_option_flag(o, "residual"));
	assert_int_equal(inv_option_count(o, "hidden"), 4096);
	assert_int_equal(inv_option_count(o, "epochs"), 100);
	assert_int_equal(inv_option_count(o, "samples"), 3);
	assert_true(inv_option_number(o, "lr") == 1e-3 &&
	            inv_option_number(o, "lr-min") == 4e-4 &&
	            inv_option_number(o, "weight-decay") == 1e-4);
	invar_options_free(o);
}

/* Without a preset, the method options that were set decide, in whatever order. */
static void the_default_gives_way_to_a_preset_that_fits(void **state)
{
	static const struct {
		const char *option[2], *value[2], *preset;
	} given[] = {
		{{"loss"}, {"keep"}, "keep"},
		{{"loss", "init"}, {"keep", "random"}, "keep"},
		{{"epochs", "lr"}, {"3", "1e-4"}, "keep"},
		{{"hidden", "scaled"}, {"64", "true"}, "keep"},
		{{"loss", "contrast"}, {"keep", "3"}, "keep"},
		{{"loss", "scaled"}, {"keep", "false"}, "paper"},
		{{"loss"}, {"mawa"}, "paper"},
		{{"loss", "scaled"}, {"mawa", "true"}, "paper"},
		{{"loss"}, {"none"}, "instant"},
		{{"loss", "init"}, {"none", "features"}, "instant"},
		{{"loss", "init"}, {"none", "ridge"}, "paper"},
		{{"init"}, {"features"}, "paper"},
		{{"loss"}, {"waco"}, "paper"},
		{{"loss"}, {"simclr"}, "paper"},
		{{"loss"}, {"hsic"}, "paper"},
		{{"width"}, {"4"}, "paper"},
		{{"width"}, {"0"}, "keep"},
		{{"loss", "width"}, {"keep", "0"}, "keep"},
		{{"loss", "scaled"}, {"none", "false"}, "instant"},
		{{"residual"}, {"true"}, "keep"},
		{{"residual", "loss"}, {"true", "keep"}, "keep"},
		{{"residual", "loss"}, {"true", "none"}, "instant"},
		{{"residual", "scaled"}, {"true", "false"}, "paper"},
		{{"residual", "loss"}, {"false", "mawa"}, "paper"},
		{{"scaled"}, {"false"}, "paper"},
		{{"loss", "preset"}, {"waco", "keep"}, "keep"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
		invar_options *o = test_options("train", NULL);
		size_t count = given[i].option[1] ? 2 : 1;

		for (size_t reversed = 0; reversed < 2; reversed++) {
			for (size_t k = 0; k < count; k++) {
				size_t at = reversed ? count - 1 - k : k;

				test_set(o, given[i].option[at], given[i].value[at], NULL);
			}
			assert_string_equal(inv_option_text(o, "preset"), given[i].preset);
			for (size_t k = 0; k < count; k++)
				assert_int_equal(inv_options_unset(o, given[i].option[k]), INVAR_OK);
			assert_string_equal(inv_option_text(o, "preset"), INV_DEFAULT_PRESET);
			assert_true(inv_option_is(o, "loss", "keep") && inv_option_flag(o, "scaled"));
		}
		invar_options_free(o);
	}
}

/* Of every command: an option that is set to what help shows is as good as not set. */
static void the_default_that_help_shows_changes_nothing(void **state)
{
	const char *command;

	(void)state;
	for (size_t i = 0; (command = invar_options_commands(i)); i++) {
		invar_options *plain = test_options(command, NULL);
		json_t *want = inv_options_json(plain, 0);
		const invar_option *row;

		for (size_t k = 0; (row = invar_options_at(plain, k)); k++) {
			const char *value = row->initial ? row->initial : "false";
			invar_options *o = test_options(command, NULL);
			json_t *got;

			if (row->initial || row->type == INVAR_OPTION_FLAG)
				test_set(o, row->name, value, NULL);
			got = inv_options_json(o, 0);
			if (!json_equal(got, want))
				fail_msg("%s with %s %s is another than without", command, row->name,
				         value);
			json_decref(got);
			invar_options_free(o);
		}
		json_decref(want);
		invar_options_free(plain);
	}
}

/* It is recorded, so it is what E is, whatever made it so. */
static void residual_has_the_value_in_force(void **state)
{
	static const struct {
		const char *preset, *option, *value;
		bool residual;
	} given[] = {
		{"keep", "epochs", "1", true},     {"paper", "loss", "keep", true},
		{"instant", "hidden", "8", true},  {"paper", "epochs", "1", false},
		{"paper", "scaled", "true", true}, {"paper", "init", "features", true},
		{"paper", "init", "ridge", false}, {"keep", "scaled", "false", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
		invar_options *o = test_options("train", "preset", given[i].preset, given[i].option,
		                                given[i].value, NULL);

		assert_int_equal(inv_option_flag(o, "residual"), given[i].residual);
		invar_options_free(o);
	}
}

/* A loss of the paper is trained as in the paper, with and without its preset's name. */
static void a_loss_without_a_preset_is_trained_as_before(void **state)
{
	invar_options *a = test_options("train", "loss", "waco", NULL);
	invar_options *b = test_options("train", "preset", "paper", "loss", "waco", NULL);
	json_t *x = inv_options_json(a, 0), *y = inv_options_json(b, 0);

	(void)state;
	assert_true(json_equal(x, y));
	assert_string_equal(inv_preset_conflict(a), "loss");
	assert_true(inv_option_number(a, "lr") == 1e-3 && !inv_option_is_set(a, "preset"));
	json_decref(x);
	json_decref(y);
	invar_options_free(a);
	invar_options_free(b);
}

static void every_preset_can_be_chosen_and_says_what_it_is(void **state)
{
	const char *name, *help;
	invar_options *o = test_options("train", NULL);

	(void)state;
	help = inv_options_find(o, "preset")->help;
	assert_true(inv_option_is(o, "preset", INV_DEFAULT_PRESET));
	for (size_t i = 0; (name = inv_preset_name_at(i)); i++) {
		assert_non_null(strstr(help, test_text("%s, %s", name, inv_preset_summary_at(i))));
		assert_int_equal(invar_options_set(o, "preset", name), INVAR_OK);
		assert_int_equal(inv_options_check_parts(o), INVAR_OK);
		assert_false(inv_option_is_set(o, "lr"));
	}
	assert_null(inv_preset_summary_at(100));
	invar_options_free(o);
}

static void explicit_options_override_in_any_order(void **state)
{
	invar_options *a = test_options("train", "preset", "keep", "lr", "7e-4", NULL);
	invar_options *b = test_options("train", "lr", "7e-4", "preset", "keep", NULL);
	json_t *x = inv_options_json(a, 0), *y = inv_options_json(b, 0);

	(void)state;
	assert_true(json_equal(x, y));
	assert_true(inv_option_number(a, "lr") == 7e-4 && inv_option_is_set(a, "lr"));
	assert_true(inv_option_count(a, "epochs") == 20 && !inv_option_is_set(a, "epochs"));
	assert_true(inv_option_flag(a, "scaled"));
	test_set(a, "scaled", "false", "preset", "keep", NULL);
	assert_false(inv_option_flag(a, "scaled"));
	assert_true(inv_option_is(a, "loss", "keep"));
	test_set(a, "preset", "paper", NULL);
	assert_true(inv_option_is(a, "loss", "mawa") && inv_option_count(a, "hidden") == 4096);
	json_decref(x);
	json_decref(y);
	invar_options_free(a);
	invar_options_free(b);
}

static invar_status train(invar_options *o, const char *run)
{
	invar_status st = invar_train(&bank, 1, o, test_path("%s", run));

	invar_options_free(o);
	return st;
}

static invar_options *short_keep(void)
{
	return test_options("train", "preset", "keep", "epochs", "4", "hidden", "24",
	                    "batch-size", "16", NULL);
}

static void assert_same_adapter(const char *a, const char *b)
{
	size_t na, nb;
	char *x = test_read(test_path("%s/adapter.safetensors", a), &na);
	char *y = test_read(test_path("%s/adapter.safetensors", b), &nb);

	assert_int_equal(na, nb);
	assert_memory_equal(x, y, na);
	free(x);
	free(y);
}

/* The preset is that of the run when it is resumed, with all that it has set. */
static void a_run_records_its_preset_and_resumes_with_it(void **state)
{
	json_t *run;
	const json_t *options;
	invar_adapter *e;

	(void)state;
	stop_at = 0;
	assert_int_equal(train(short_keep(), "whole"), INVAR_OK);
	stop_at = 3;
	assert_int_equal(train(short_keep(), "again"), INVAR_E_CANCELLED);
	stop_at = 0;
	assert_int_equal(
		train(test_options("train", "resume", "1", "preset", "paper", NULL), "again"),
		INVAR_E_MISMATCH);
	test_assert_error("was started with preset keep, so it cannot be resumed with paper");
	assert_int_equal(train(test_options("train", "resume", "1", NULL), "again"), INVAR_OK);
	assert_same_adapter("whole", "again");
	run = json_load_file(test_path("again/run.json"), 0, NULL);
	options = json_object_get(run, "options");
	assert_string_equal(json_string_value(json_object_get(options, "preset")), "keep");
	assert_string_equal(json_string_value(json_object_get(options, "loss")), "keep");
	json_decref(run);
	assert_int_equal(invar_adapter_open(ctx, test_path("whole"), &e), INVAR_OK);
	assert_string_equal(invar_adapter_metadata(e, "invar.preset"), "keep");
	assert_string_equal(invar_adapter_metadata(e, "invar.residual"), "1");
	invar_adapter_close(e);
}

/* A run.json without a preset, and without the options that came with them. */
static void a_run_from_before_presets_is_one_of_the_paper(void **state)
{
	invar_options *o = test_options("train", "epochs", "4", "hidden", "24", "batch-size",
	                                "16", "preset", "paper", NULL);
	json_t *run, *options;

	(void)state;
	stop_at = 3;
	assert_int_equal(train(o, "old"), INVAR_E_CANCELLED);
	stop_at = 0;
	run = json_load_file(test_path("old/run.json"), 0, NULL);
	options = json_object_get(run, "options");
	json_object_del(options, "preset");
	json_object_del(options, "scaled");
	assert_int_equal(json_dump_file(run, test_path("old/run.json"), 0), 0);
	json_decref(run);
	assert_int_equal(train(test_options("train", "resume", "1", NULL), "old"), INVAR_OK);
	run = json_load_file(test_path("old/run.json"), 0, NULL);
	options = json_object_get(run, "options");
	assert_string_equal(json_string_value(json_object_get(options, "preset")), "paper");
	assert_true(json_is_false(json_object_get(options, "scaled")));
	json_decref(run);
}

static void what_a_preset_cannot_do_names_it(void **state)
{
	const json_t *options;
	json_t *run;

	(void)state;
	assert_int_equal(
		train(test_options("train", "preset", "keep", "loss", "waco", "width", "4", NULL),
	          "none"),
		INVAR_E_USE);
	test_assert_error("preset keep needs codes as wide as the features: width is 4");
	assert_int_equal(train(test_options("train", "preset", "keep", "lr", "1e-4", "epochs",
	                                    "1", "hidden", "24", NULL),
	                       "slow"),
	                 INVAR_OK); /* its minimum is lowered, like any default */
	run = json_load_file(test_path("slow/run.json"), 0, NULL);
	options = json_object_get(run, "options");
	assert_true(json_is_true(json_object_get(options, "residual")));
	json_decref(run);
}

static void what_is_residual_cannot_be_set_to_false(void **state)
{
	(void)state;
	assert_int_equal(train(test_options("train", "loss", "mawa", "scaled", "true",
	                                    "residual", "false", NULL),
	                       "none"),
	                 INVAR_E_USE);
	test_assert_error("residual cannot be false; set scaled to false too");
	assert_int_equal(
		train(test_options("train", "loss", "keep", "residual", "false", NULL), "none"),
		INVAR_E_USE);
	test_assert_error("loss keep trains a residual, so residual cannot be false");
	assert_int_equal(
		train(test_options("train", "loss", "keep", "scaled", "false", NULL), "none"),
		INVAR_E_USE);
	test_assert_error("loss keep is computed in units of the scaled residual, so scaled "
	                  "cannot be false");
	assert_int_equal(
		train(test_options("train", "init", "features", "residual", "false", NULL), "none"),
		INVAR_E_USE);
	test_assert_error("init features is residual, so residual cannot be false");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_default_preset_is_what_the_options_say),
		cmocka_unit_test(paper_is_as_published),
		cmocka_unit_test(the_default_gives_way_to_a_preset_that_fits),
		cmocka_unit_test(the_default_that_help_shows_changes_nothing),
		cmocka_unit_test(residual_has_the_value_in_force),
		cmocka_unit_test(what_is_residual_cannot_be_set_to_false),
		cmocka_unit_test(a_loss_without_a_preset_is_trained_as_before),
		cmocka_unit_test(every_preset_can_be_chosen_and_says_what_it_is),
		cmocka_unit_test(explicit_options_override_in_any_order),
		cmocka_unit_test(a_run_records_its_preset_and_resumes_with_it),
		cmocka_unit_test(a_run_from_before_presets_is_one_of_the_paper),
		cmocka_unit_test(what_a_preset_cannot_do_names_it),
	};

	return cmocka_run_group_tests(tests, open_bank, close_bank);
}
