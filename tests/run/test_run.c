/* SPDX-License-Identifier: Apache-2.0 */
/* test_run.c - replacing a run, after the program ended at any moment. */
#include "adapter/checkpoint.h"
#include "run/results.h"
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support.h"

/* Makes a run that says which one it is. */
static void make_run(const char *name, const char *title, inv_run_mode mode)
{
	inv_run *r;

	assert_int_equal(inv_run_open(test_path("%s", name), mode, &r), INVAR_OK);
	assert_int_equal(inv_run_clear(r, NULL), INVAR_OK);
	json_object_set_new(r->json, "state", json_string("running"));
	json_object_set_new(r->json, "options", json_object());
	json_object_set_new(r->json, "title", json_string(title));
	assert_int_equal(inv_run_save(r), INVAR_OK);
	test_write(r->checkpoint_path, title, strlen(title));
	inv_run_close(r);
}

static void finish(const char *name)
{
	inv_run *r;

	assert_int_equal(inv_run_open(test_path("%s", name), INV_RUN_RESUME, &r), INVAR_OK);
	assert_int_equal(inv_run_publish(r), INVAR_OK);
	inv_run_close(r);
}

static void assert_title(const char *folder, const char *want)
{
	json_t *json;

	assert_int_equal(inv_json_load(test_path("%s/run.json", folder), &json), INVAR_OK);
	assert_string_equal(json_string_value(json_object_get(json, "title")), want);
	json_decref(json);
}

static void assert_replaced(const char *name)
{
	inv_run *r;

	assert_title(name, "new");
	assert_false(test_exists(test_path("%s.part", name)));
	assert_false(test_exists(test_path("%s.old.part", name)));
	assert_int_equal(inv_run_open(test_path("%s", name), INV_RUN_RESUME, &r), INVAR_OK);
	assert_null(json_object_get(r->json, "replaces"));
	assert_false(r->staged);
	inv_run_close(r);
}

static void begin_replacement(const char *name)
{
	make_run(name, "old", INV_RUN_FRESH);
	make_run(name, "new", INV_RUN_REPLACE);
	assert_title(name, "old");
	assert_title(test_path("%s.part", name) + strlen(test_folder()) + 1, "new");
}

static void a_replacement_takes_the_place_when_it_is_finished(void **state)
{
	(void)state;
	begin_replacement("plain");
	finish("plain");
	assert_replaced("plain");
}

static void a_replacement_can_be_begun_again(void **state)
{
	(void)state;
	begin_replacement("again");
	make_run("again", "newer", INV_RUN_REPLACE);
	assert_title("again", "old");
	assert_title("again.part", "newer");
	make_run("again", "new", INV_RUN_REPLACE);
	finish("again");
	assert_replaced("again");
}

/* The old run is removed once the new one has its name, not before. */
static void killed_after_the_exchange(void **state)
{
	(void)state;
	begin_replacement("exchanged");
	assert_int_equal(rename(test_path("exchanged"), test_path("x")), 0);
	assert_int_equal(rename(test_path("exchanged.part"), test_path("exchanged")), 0);
	assert_int_equal(rename(test_path("x"), test_path("exchanged.part")), 0);
	test_write(test_path("exchanged.part/notes"), "mine", 4);
	unlink(test_path("exchanged.part/checkpoint.safetensors")); /* half removed */
	finish("exchanged");
	assert_replaced("exchanged");
	assert_true(test_exists(test_path("exchanged/notes")));
}

/* Where folders cannot be exchanged: after the first and the second rename. */
static void killed_between_two_names(void **state)
{
	(void)state;
	begin_replacement("first");
	assert_int_equal(rename(test_path("first"), test_path("first.old.part")), 0);
	finish("first");
	assert_replaced("first");

	begin_replacement("second");
	assert_int_equal(rename(test_path("second"), test_path("second.old.part")), 0);
	assert_int_equal(rename(test_path("second.part"), test_path("second")), 0);
	finish("second");
	assert_replaced("second");
}

static void the_old_run_is_put_back_for_a_fresh_one_too(void **state)
{
	inv_run *r;

	(void)state;
	begin_replacement("fresh");
	assert_int_equal(rename(test_path("fresh"), test_path("fresh.old.part")), 0);
	assert_int_equal(inv_run_open(test_path("fresh"), INV_RUN_FRESH, &r), INVAR_E_IO);
	test_assert_error("already exists");
	assert_title("fresh", "old");
}

static void a_failed_replacement_leaves_nothing(void **state)
{
	inv_run *r;

	(void)state;
	make_run("failing", "old", INV_RUN_FRESH);
	assert_int_equal(inv_run_open(test_path("failing"), INV_RUN_REPLACE, &r), INVAR_OK);
	json_object_set_new(r->json, "state", json_string("failed"));
	assert_int_equal(inv_run_save(r), INVAR_OK);
	inv_run_close(r);
	assert_title("failing", "old");
	assert_false(test_exists(test_path("failing.part")));
}

static void both_runs_are_held_meanwhile(void **state)
{
	inv_run *r, *other;

	(void)state;
	make_run("held", "old", INV_RUN_FRESH);
	assert_int_equal(inv_run_open(test_path("held"), INV_RUN_REPLACE, &r), INVAR_OK);
	assert_int_equal(inv_run_open(test_path("held"), INV_RUN_RESUME, &other), INVAR_E_IO);
	test_assert_error("another process is training in it");
	assert_int_equal(inv_run_open(test_path("held"), INV_RUN_REPLACE, &other), INVAR_E_IO);
	test_assert_error("another process is training in it");
	inv_run_close(r);
	assert_false(test_exists(test_path("held.part")));
}

/* A checkpoint of an older version, without the record of its inputs, is accepted. */
static void an_older_checkpoint_is_accepted(void **state)
{
	json_t *now = json_pack("{s:{s:i}}", "options", "epochs", 3);

	(void)state;
	assert_int_equal(
		inv_checkpoint_check(test_source("fuzz/corpus/checkpoint/plain.safetensors"), now,
	                         "run.json"),
		INVAR_OK);
	json_decref(now);
}

/* ---- Results ---------------------------------------------------------------------- */

static int stop(void *user, const char *stage, uint64_t done, uint64_t total)
{
	(void)stage, (void)done, (void)total;
	return ++*(int *)user >= 3;
}

/* One measurement of one bank: a figure, or the reason why there is none. */
static invar_results *results_of(const char *bank, double value, const char *reason)
{
	const invar_metric metric = {.id = "a.value", .measurement = "a", .row = "A"};
	const invar_value v = {.value = value, .low = NAN, .high = NAN};
	invar_results *r;

	assert_int_equal(inv_results_new(&r), INVAR_OK);
	inv_results_describe(r, "fingerprint", json_string(bank));
	inv_results_add_column(r, "F", "F", NULL);
	inv_results_add_column(r, "1", "run", "run");
	inv_results_add_measurement(r, "a", "A");
	if (reason)
		inv_results_skip(r, "a", NULL, reason);
	else
		inv_results_add_metric(r, &metric);
	if (!reason)
		assert_int_equal(inv_results_put(r, "a.value", "1", &v), INVAR_OK);
	return r;
}

/* Takes r. */
static void keep(invar_results *r)
{
	assert_int_equal(invar_run_keep_results(test_ctx, test_path("measured"), r, "1"),
	                 INVAR_OK);
	invar_results_free(r);
}

/* Entry i of metrics.json: its figure, NaN if it has none. */
static double kept_figure(size_t count, size_t i)
{
	json_t *json, *list, *value;
	double figure;

	assert_int_equal(inv_json_load(test_path("measured/metrics.json"), &json), INVAR_OK);
	list = json_object_get(json, "measured");
	assert_int_equal(json_array_size(list), count);
	value = json_object_get(json_object_get(json_array_get(list, i), "E"), "a.value");
	figure = value ? json_number_value(json_object_get(value, "value")) : NAN;
	json_decref(json);
	return figure;
}

static void a_second_bank_adds_to_the_metrics(void **state)
{
	invar_results *cut = results_of("x", 9, NULL);

	(void)state;
	assert_int_equal(mkdir(test_path("measured"), 0777), 0);
	assert_int_equal(invar_run_keep_results(test_ctx, test_path("measured"), NULL, NULL),
	                 INVAR_OK);
	keep(results_of("x", 1, NULL));
	keep(results_of("y", 2, NULL));
	assert_true(kept_figure(2, 0) == 1 && kept_figure(2, 1) == 2);
	keep(results_of("x", 3, NULL)); /* measured again */
	assert_true(kept_figure(2, 0) == 3 && kept_figure(2, 1) == 2);
	keep(results_of("x", 0, "no labels")); /* a reason replaces no figures */
	assert_true(kept_figure(2, 0) == 3);
	keep(results_of("z", 0, "no labels"));
	assert_true(isnan(kept_figure(3, 2)));
	keep(results_of("z", 4, NULL));
	assert_true(kept_figure(3, 2) == 4);
	inv_results_describe(cut, "incomplete", json_true());
	assert_int_equal(invar_run_keep_results(test_ctx, test_path("measured"), cut, "F"),
	                 INVAR_OK); /* F has no figure of its own */
	assert_true(kept_figure(3, 0) == 3);
	invar_results_free(cut);
}

static void foreign_metrics_are_refused(void **state)
{
	static const char *const foreign[] = {"{\"a\"", "{\"measurements\": {}}"};
	invar_results *r = results_of("x", 1, NULL);

	(void)state;
	assert_int_equal(mkdir(test_path("foreign"), 0777), 0);
	for (int i = 0; i < 2; i++) {
		test_write(test_path("foreign/metrics.json"), foreign[i], strlen(foreign[i]));
		assert_int_equal(invar_run_keep_results(test_ctx, test_path("foreign"), r, "1"),
		                 INVAR_E_FORMAT);
		assert_int_equal(invar_run_keep_results(test_ctx, test_path("foreign"), NULL, NULL),
		                 INVAR_E_FORMAT);
	}
	assert_false(test_exists(test_path("foreign/metrics.json.invar.part")));
	invar_results_free(r);
}

static void who_waits_for_results_can_be_stopped(void **state)
{
	int calls = 0, fd;
	invar_hooks hooks = {.size = sizeof hooks, .user = &calls, .progress = stop};
	invar_results *r = results_of("x", 1, NULL);
	invar_context *ctx;

	(void)state;
	assert_int_equal(mkdir(test_path("waiting"), 0777), 0);
	fd = open(test_path("waiting/metrics.json.invar.part"), O_WRONLY | O_CREAT | O_CLOEXEC,
	          0666);
	assert_true(fd >= 0 && flock(fd, LOCK_EX) == 0);
	assert_int_equal(invar_context_new(1, &hooks, &ctx), INVAR_OK);
	assert_int_equal(invar_run_keep_results(ctx, test_path("waiting"), r, "1"),
	                 INVAR_E_CANCELLED);
	assert_int_equal(calls, 3);
	assert_true(test_exists(test_path("waiting/metrics.json.invar.part")));
	invar_context_free(ctx);
	invar_results_free(r);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_replacement_takes_the_place_when_it_is_finished),
		cmocka_unit_test(a_replacement_can_be_begun_again),
		cmocka_unit_test(killed_after_the_exchange),
		cmocka_unit_test(killed_between_two_names),
		cmocka_unit_test(the_old_run_is_put_back_for_a_fresh_one_too),
		cmocka_unit_test(a_failed_replacement_leaves_nothing),
		cmocka_unit_test(both_runs_are_held_meanwhile),
		cmocka_unit_test(an_older_checkpoint_is_accepted),
		cmocka_unit_test(a_second_bank_adds_to_the_metrics),
		cmocka_unit_test(foreign_metrics_are_refused),
		cmocka_unit_test(who_waits_for_results_can_be_stopped),
	};

	return cmocka_run_group_tests_name("adapter/run", tests, test_context_open,
	                                   test_context_close);
}
