/* SPDX-License-Identifier: Apache-2.0 */
/* test_fit.c - arrays to an adapter: the bytes of a training through folders, no files. */
#include "bank/bank.h"
#include "support.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/options.h"

enum { ROWS = 60, TEST = 30, COPIES = 3, D = 8 };

static float clean[(ROWS + TEST) * D], copies[(ROWS + TEST) * COPIES * D];
static int64_t labels[ROWS + TEST];
static invar_context *ctx;
static invar_bank *folder; /* the same rows as files */
static int stop;           /* at the next step */
static char said[4000];    /* log lines */

static int maybe_stop(void *user, const char *stage, uint64_t done, uint64_t total)
{
	(void)user;
	(void)stage;
	(void)done;
	(void)total;
	return stop;
}

static void keep_line(void *user, int level, const char *line)
{
	(void)user;
	(void)level;
	if (strlen(said) + strlen(line) + 2 < sizeof said)
		strcat(strcat(said, line), "\n");
}

static void write_split(const char *name, size_t first, uint64_t n)
{
	const uint64_t shape[] = {n, D}, stacked[] = {n, COPIES, D};

	mkdir(test_path("bank/%s", name), 0777);
	assert_int_equal(invar_array_write(ctx, test_path("bank/%s/clean.npy", name),
	                                   clean + first * D, 2, shape, INVAR_FLOAT32),
	                 INVAR_OK);
	assert_int_equal(invar_array_write(ctx, test_path("bank/%s/aug.npy", name),
	                                   copies + first * COPIES * D, 3, stacked,
	                                   INVAR_FLOAT32),
	                 INVAR_OK);
}

/* Copies are displaced along one direction; classes are four clusters. */
static int set_up(void **state)
{
	invar_hooks hooks = {.size = sizeof hooks, .log = keep_line, .progress = maybe_stop};

	(void)state;
	if (invar_context_new(2, &hooks, &ctx) != INVAR_OK)
		return 1;
	for (size_t i = 0; i < ROWS + TEST; i++) {
		labels[i] = (int64_t)i % 4;
		for (size_t j = 0; j < D; j++)
			clean[i * D + j] =
				(float)(sin((double)(i * D + j) * 12.9898) + 3 * ((size_t)labels[i] == j));
	}
	for (size_t i = 0; i < (ROWS + TEST) * COPIES * D; i++)
		copies[i] = clean[i / (COPIES * D) * D + i % D] +
		            (i % D == 5 ? (float)(1 + i / D % COPIES) : 0);
	mkdir(test_path("bank"), 0777);
	write_split("train", 0, ROWS);
	write_split("test", ROWS, TEST);
	return inv_bank_open(ctx, test_path("bank"), &folder) != INVAR_OK;
}

static int tear_down(void **state)
{
	(void)state;
	invar_bank_close(folder);
	invar_context_free(ctx);
	return 0;
}

static invar_status fit(const invar_options *o, invar_adapter **out)
{
	*said = '\0';
	return invar_fit(ctx, clean, copies, ROWS, COPIES, D, o, out);
}

/* How many entries there are in the folder of this test. */
static size_t count_files(void)
{
	DIR *dir = opendir(test_folder());
	size_t count = 0;

	assert_non_null(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

static const char *const methods[][9] = {
	{"preset", "instant", NULL},
	{"loss", "none", "init", "rigid", "unit", "true", NULL},
	{"preset", "keep", "epochs", "2", "hidden", "16", NULL},
	{"loss", "mawa", "epochs", "3", "hidden", "16", "batch-size", "16", NULL},
	{"loss", "waco", "epochs", "2", "hidden", "16", "strength", "0.8", NULL},
	{"loss", "simclr", "epochs", "2", "hidden", "16", "seed", "7", NULL},
};

static void an_adapter_has_the_bytes_of_a_run(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
		for (int best = 0; best < 2; best++) {
			invar_options *o = test_options("train", NULL);
			size_t files, sizes[2];
			invar_adapter *e;
			char *bytes[2];

			for (const char *const *text = methods[i]; *text; text += 2)
				test_set(o, text[0], text[1], NULL);
			if (best && strcmp(methods[i][1], "instant") && strcmp(methods[i][1], "none"))
				test_set(o, "validation", "0.3", "keep", "best", NULL);
			assert_int_equal(invar_train(&folder, 1, o, test_path("run-%zu-%d", i, best)),
			                 INVAR_OK);
			files = count_files();
			assert_int_equal(fit(o, &e), INVAR_OK);
			assert_int_equal(count_files(), files);
			assert_int_equal(invar_adapter_save(e, test_path("fit-%zu-%d", i, best)),
			                 INVAR_OK);
			bytes[0] =
				test_read(test_path("run-%zu-%d/adapter.safetensors", i, best), &sizes[0]);
			bytes[1] = test_read(test_path("fit-%zu-%d", i, best), &sizes[1]);
			assert_int_equal(sizes[0], sizes[1]);
			assert_memory_equal(bytes[0], bytes[1], sizes[0]);
			free(bytes[0]);
			free(bytes[1]);
			invar_adapter_close(e);
			invar_options_free(o);
		}
}

static void an_adapter_in_memory_works_at_once(void **state)
{
	float one[ROWS * D], other[ROWS * D];
	invar_adapter *e, *opened;

	(void)state;
	assert_int_equal(fit(NULL, &e), INVAR_OK);
	assert_int_equal(invar_adapter_input(e), D);
	assert_string_equal(invar_adapter_metadata(e, "invar.preset"), "keep");
	assert_int_equal(invar_adapter_save(e, test_path("e.safetensors")), INVAR_OK);
	assert_int_equal(invar_adapter_open(ctx, test_path("e.safetensors"), &opened),
	                 INVAR_OK);
	assert_int_equal(invar_adapter_apply(e, clean, ROWS, one), INVAR_OK);
	assert_int_equal(invar_adapter_apply(opened, clean, ROWS, other), INVAR_OK);
	assert_memory_equal(one, other, sizeof one);
	invar_adapter_close(e);
	invar_adapter_close(opened);
}

static void refuse(invar_options *o, invar_status want, const char *word)
{
	invar_adapter *e = (invar_adapter *)(uintptr_t)1;

	assert_int_equal(fit(o, &e), want);
	assert_null(e);
	test_assert_error(word);
	invar_options_free(o);
}

static void options_of_a_folder_are_refused_or_named(void **state)
{
	invar_options *o = test_options("train", "force", "true", "loss", "mawa", "epochs", "1",
	                                "hidden", "8", "checkpoint-seconds", "1", NULL);
	invar_adapter *e;

	(void)state;
	refuse(test_options("train", "resume", "true", NULL), INVAR_E_USE, "resume");
	refuse(test_options("train", "loss", "mawa", "decoder", "true", NULL), INVAR_E_USE,
	       "decoder");
	refuse(test_options("train", "keep-structure", "0.5", NULL), INVAR_E_USE, "trial");
	refuse(test_options("train", "split", "test", NULL), INVAR_E_MISMATCH,
	       "the bank in memory: has no split test");
	refuse(test_options("train", "classes", "list", NULL), INVAR_E_USE, "in a folder");
	refuse(test_options("eval", NULL), INVAR_E_USE, "train");
	assert_int_equal(fit(o, &e), INVAR_OK);
	assert_non_null(strstr(said, "force is not used"));
	assert_non_null(strstr(said, "checkpoint-seconds is not used"));
	invar_adapter_close(e);
	invar_options_free(o);
	assert_int_equal(invar_fit(ctx, clean, NULL, ROWS, 0, D, NULL, &e), INVAR_E_MISMATCH);
	assert_null(e);
	test_assert_error("train has 0");
}

static void a_fit_that_is_stopped_leaves_nothing(void **state)
{
	size_t files = count_files();

	(void)state;
	stop = 1;
	refuse(test_options("train", "loss", "mawa", "epochs", "2", "hidden", "8", NULL),
	       INVAR_E_CANCELLED, "interrupted");
	stop = 0;
	assert_int_equal(count_files(), files);
}

/* ---- A bank in memory in place of a folder ----------------------------------------- */

static invar_bank *open_arrays(bool labelled)
{
	invar_bank *b;

	assert_int_equal(invar_bank_from_arrays(ctx, clean, copies, labelled ? labels : NULL,
	                                        ROWS, COPIES, D, &b),
	                 INVAR_OK);
	assert_int_equal(invar_bank_add_split(b, "test", clean + ROWS * D,
	                                      copies + ROWS * COPIES * D,
	                                      labelled ? labels + ROWS : NULL, TEST, COPIES),
	                 INVAR_OK);
	return b;
}

/* A run of one goes on with the rows of the other: they have the same hashes. */
static void a_run_may_be_resumed_from_memory(void **state)
{
	invar_options *o = test_options("train", "loss", "mawa", "epochs", "2", "hidden", "8",
	                                "resume", "true", NULL);
	invar_bank *b = open_arrays(false);

	(void)state;
	test_set(o, "resume", NULL, NULL);
	assert_int_equal(invar_train(&b, 1, o, test_path("whole")), INVAR_OK);
	stop = 1;
	assert_int_equal(invar_train(&folder, 1, o, test_path("halves")), INVAR_E_CANCELLED);
	stop = 0;
	test_set(o, "resume", "true", NULL);
	assert_int_equal(invar_train(&b, 1, o, test_path("halves")), INVAR_OK);
	test_assert_same_file("whole", "halves", "adapter.safetensors");
	invar_options_free(o);
	invar_bank_close(b);
}

/* The documents of both banks, without their names. */
static void compare_results(invar_results *a, invar_results *b)
{
	char *text[2];
	json_t *json[2];

	assert_int_equal(invar_results_json(a, &text[0]), INVAR_OK);
	assert_int_equal(invar_results_json(b, &text[1]), INVAR_OK);
	for (int i = 0; i < 2; i++) {
		json[i] = json_loads(text[i], 0, NULL);
		assert_non_null(json[i]);
		json_object_del(json_object_get(json[i], "about"), "bank");
		json_object_del(json[i], "bank");
		invar_free(text[i]);
		text[i] = json_dumps(json[i], JSON_INDENT(1));
	}
	assert_string_equal(text[0], text[1]);
	for (int i = 0; i < 2; i++) {
		json_decref(json[i]);
		inv_free(text[i]);
	}
	invar_results_free(a);
	invar_results_free(b);
}

static void it_is_measured_like_a_folder(void **state)
{
	const char *title = "E";
	invar_options *o = test_options("eval", "split", "test", NULL);
	invar_options *how = test_options("train", "preset", "instant", NULL);
	invar_options *diagnose = test_options("diagnose", NULL);
	invar_bank *b = open_arrays(false);
	invar_results *r[2];
	invar_adapter *e;

	(void)state;
	assert_int_equal(fit(how, &e), INVAR_OK);
	assert_int_equal(invar_eval(b, (const invar_adapter *[]){e}, &title, 1, o, &r[0]),
	                 INVAR_OK);
	assert_int_equal(invar_eval(folder, (const invar_adapter *[]){e}, &title, 1, o, &r[1]),
	                 INVAR_OK);
	compare_results(r[0], r[1]);
	assert_int_equal(invar_trial(b, how, &r[0]), INVAR_OK);
	assert_int_equal(invar_trial(folder, how, &r[1]), INVAR_OK);
	assert_int_equal(invar_trial_settle(r[0], how), INVAR_OK);
	compare_results(r[0], r[1]);
	assert_int_equal(invar_diagnose(b, diagnose, &r[0]), INVAR_OK);
	assert_int_equal(invar_diagnose(folder, diagnose, &r[1]), INVAR_OK);
	compare_results(r[0], r[1]);
	invar_adapter_close(e);
	invar_options_free(o);
	invar_options_free(how);
	invar_options_free(diagnose);
	invar_bank_close(b);
}

/* All measurements, which need labels, a certificate and a check; no cache is written. */
static void it_is_certified_and_checked(void **state)
{
	const char *title = "E";
	invar_options *o = test_options("eval", "split", "test", NULL);
	invar_options *how = test_options("check", NULL);
	invar_bank *b = open_arrays(true);
	size_t files = count_files();
	invar_adapter *e, *certified;
	invar_results *r;

	(void)state;
	assert_int_equal(fit(NULL, &e), INVAR_OK);
	assert_int_equal(invar_bank_set_field(b, "augment", "shift"), INVAR_OK);
	assert_int_equal(invar_eval(b, (const invar_adapter *[]){e}, &title, 1, o, &r),
	                 INVAR_OK);
	assert_non_null(invar_results_value(r, "lc.clean", "1"));
	assert_int_equal(count_files(), files);
	assert_int_equal(
		invar_adapter_certify(e, b, r, "1", o, test_path("certified.safetensors")),
		INVAR_OK);
	invar_results_free(r);
	assert_int_equal(
		invar_adapter_open(ctx, test_path("certified.safetensors"), &certified), INVAR_OK);
	assert_int_equal(invar_check(certified, b, how, &r), INVAR_OK);
	assert_string_equal(invar_results_about(r, "verdict"), "fine");
	assert_non_null(invar_results_value(r, "check.gone", "new"));
	assert_null(invar_results_about(r, "bank"));
	invar_results_free(r);
	invar_adapter_close(certified);
	invar_adapter_close(e);
	invar_options_free(o);
	invar_options_free(how);
	invar_bank_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_adapter_has_the_bytes_of_a_run),
		cmocka_unit_test(an_adapter_in_memory_works_at_once),
		cmocka_unit_test(options_of_a_folder_are_refused_or_named),
		cmocka_unit_test(a_fit_that_is_stopped_leaves_nothing),
		cmocka_unit_test(a_run_may_be_resumed_from_memory),
		cmocka_unit_test(it_is_measured_like_a_folder),
		cmocka_unit_test(it_is_certified_and_checked),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
