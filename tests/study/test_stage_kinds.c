/* SPDX-License-Identifier: Apache-2.0 */
/* test_stage_kinds.c - claims about encode, train and eval as stages. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "formats/pixels.h"
#include "run/run.h"
#include "study/stage.h"
#include "support.h"

enum { IMAGES = 24, SIDE = 4 };

static char job[200];

static void write_picture(unsigned i, unsigned shade)
{
	uint8_t rgb[3 * SIDE * SIDE];
	void *bytes;
	size_t size;

	for (unsigned k = 0; k < sizeof rgb; k++)
		rgb[k] = (uint8_t)(i * 29 + k * 13 + i * k + shade);
	assert_int_equal(inv_png_encode(rgb, SIDE, SIDE, &bytes, &size), INVAR_OK);
	test_write(test_path("pictures/%c/%02u.png", i % 2 ? 'a' : 'b', i), bytes, size);
	invar_free(bytes);
}

static int make_pictures(void **state)
{
	if (test_context_open(state) != 0)
		return -1;
	mkdir(test_path("pictures"), 0777);
	mkdir(test_path("pictures/a"), 0777);
	mkdir(test_path("pictures/b"), 0777);
	for (unsigned i = 0; i < IMAGES; i++)
		write_picture(i, 0);
	return 0;
}

static const char *below(const char *name)
{
	return test_text("%s/%s", job, name);
}

typedef struct settings {
	const char *seed, *epochs, *metrics;
} settings;

static void add_stages(inv_stages *s, const settings *v, invar_encoder *e,
                       const invar_dataset *d)
{
	invar_options *encode = test_options("encode", "augment", "rotation", "copies", "2",
	                                     "size", "native", "seed", v->seed, NULL);
	invar_options *train = test_options("train", "epochs", v->epochs, "hidden", "8", NULL);
	invar_options *eval = test_options("eval", "metrics", v->metrics, NULL);

	assert_int_equal(
		inv_stages_add_encode(s, "encode", "Encoding.", e, d, encode, below("bank")),
		INVAR_OK);
	assert_int_equal(
		inv_stages_add_train(s, "train", NULL, below("bank"), train, below("run")),
		INVAR_OK);
	assert_int_equal(inv_stages_add_eval(s, "eval", NULL, below("bank"), below("run"),
	                                     "run", eval, below("results.json")),
	                 INVAR_OK);
	invar_options_free(encode);
	invar_options_free(train);
	invar_options_free(eval);
}

/* Which stages ran, "encode train eval", and the status in *st. */
static const char *try_job(const settings *v, invar_status *st)
{
	static const char *const names[] = {"encode", "train", "eval"};
	static char ran[40];
	invar_encoder *e;
	invar_dataset *d;
	inv_stages *s;

	assert_int_equal(invar_encoder_open(test_ctx, NULL, test_pixels(), &e), INVAR_OK);
	assert_int_equal(invar_dataset_open(test_ctx,
	                                    test_text("folder:%s", test_path("pictures")),
	                                    test_kept("data", "holdout", "0.25", NULL), &d),
	                 INVAR_OK);
	assert_int_equal(inv_stages_open(test_ctx, job, &s), INVAR_OK);
	add_stages(s, v, e, d);
	*st = inv_stages_run(s);
	*ran = '\0';
	for (size_t i = 0; i < 3; i++)
		if (inv_stages_ran(s, names[i]))
			snprintf(ran + strlen(ran), sizeof ran - strlen(ran), "%s%s", *ran ? " " : "",
			         names[i]);
	inv_stages_close(s);
	invar_dataset_close(d);
	invar_encoder_close(e);
	return ran;
}

static const char *run_job(const settings *v)
{
	invar_status st;
	const char *ran = try_job(v, &st);

	if (st != INVAR_OK)
		fail_msg("%s", invar_last_error());
	return ran;
}

static void begin_job(const char *name)
{
	snprintf(job, sizeof job, "%s", test_path("%s", name));
	assert_int_equal(mkdir(job, 0777), 0);
}

static void each_stage_runs_once(void **state)
{
	const settings v = {"0", "2", "structure"};

	(void)state;
	begin_job("once");
	assert_string_equal(run_job(&v), "encode train eval");
	assert_string_equal(run_job(&v), "");
	assert_int_equal(unlink(below("results.json")), 0);
	assert_string_equal(run_job(&v), "eval");
	assert_int_equal(unlink(below("run/" INV_RUN_ADAPTER)), 0);
	assert_string_equal(run_job(&v), "train eval"); /* whose results were in the old run */
	assert_int_equal(unlink(below("bank/test/aug/001.npy")), 0);
	assert_string_equal(run_job(&v), "encode");
	assert_string_equal(run_job(&v), "");
}

static void options_redo_what_depends_on_them(void **state)
{
	settings v = {"0", "2", "structure"};
	char *before, *after;
	size_t size;

	(void)state;
	begin_job("options");
	run_job(&v);
	before = test_read(below("run/" INV_RUN_ADAPTER), &size);
	v.metrics = "structure,collision";
	assert_string_equal(run_job(&v), "eval");
	v.epochs = "3";
	assert_string_equal(run_job(&v), "train eval");
	v.seed = "1"; /* only of the copies */
	assert_string_equal(run_job(&v), "encode train eval");
	v = (settings){"0", "2", "structure"};
	assert_string_equal(run_job(&v), "encode train eval");
	after = test_read(below("run/" INV_RUN_ADAPTER), NULL);
	assert_memory_equal(before, after, size);
	free(before);
	free(after);
}

static void a_changed_image_redoes_everything(void **state)
{
	const settings v = {"0", "2", "structure"};

	(void)state;
	begin_job("image");
	run_job(&v);
	write_picture(3, 1);
	assert_string_equal(run_job(&v), "encode train eval");
	write_picture(3, 0);
}

/* A bank without a record is used if it matches, and never removed. */
static void what_others_made_is_not_removed(void **state)
{
	const settings v = {"0", "2", "structure"}, other = {"5", "2", "structure"};
	invar_status st;

	(void)state;
	begin_job("others");
	run_job(&v);
	assert_int_equal(unlink(below("stages.json")), 0);
	assert_string_equal(run_job(&v), "encode train eval"); /* and found all of it done */
	test_write(below("bank/mine.txt"), "kept", 4);
	try_job(&other, &st);
	assert_int_equal(st, INVAR_E_IO);
	test_assert_error("bank: must be made again but contains mine.txt");
	assert_int_equal(unlink(below("bank/mine.txt")), 0);
	assert_int_equal(unlink(below("stages.json")), 0);
	try_job(&other, &st);
	assert_int_equal(st, INVAR_E_MISMATCH);
	assert_true(test_exists(below("bank/train/clean.npy")));
	assert_true(test_exists(below("run/" INV_RUN_ADAPTER)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_stage_runs_once),
		cmocka_unit_test(options_redo_what_depends_on_them),
		cmocka_unit_test(a_changed_image_redoes_everything),
		cmocka_unit_test(what_others_made_is_not_removed),
	};

	return cmocka_run_group_tests(tests, make_pictures, test_context_close);
}
