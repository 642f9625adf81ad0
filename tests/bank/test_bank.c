/* SPDX-License-Identifier: Apache-2.0 */
/* test_bank.c - banks as users write them, right and wrong. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "bank/bank.h"
#include "base/memory.h"

enum { ROWS = 5, DIM = 3, COPIES = 2 };

static invar_context *ctx;

static int make_context(void **state)
{
	(void)state;
	return invar_context_new(1, NULL, &ctx) != INVAR_OK;
}

static int free_context(void **state)
{
	(void)state;
	invar_context_free(ctx);
	return 0;
}

static float cell(int copy, size_t row, size_t column)
{
	return (float)(copy + 1) * 100 + (float)row * 10 + (float)column;
}

static void write_array(const char *path, int copy, size_t rows, size_t dim,
                        invar_dtype type)
{
	uint64_t shape[2] = {rows, dim};
	float x[64];

	for (size_t i = 0; i < rows * dim; i++)
		x[i] = cell(copy, i / dim, i % dim);
	assert_int_equal(invar_array_write(ctx, path, x, 2, shape, type), INVAR_OK);
}

/* A bank with clean rows and two numbered copies, in a folder of its own. */
static const char *write_bank(const char *name, invar_dtype type)
{
	mkdir(test_path("%s", name), 0777);
	mkdir(test_path("%s/train", name), 0777);
	mkdir(test_path("%s/train/aug", name), 0777);
	write_array(test_path("%s/train/clean.npy", name), -1, ROWS, DIM, type);
	for (int c = 0; c < COPIES; c++)
		write_array(test_path("%s/train/aug/%03d.npy", name, c), c, ROWS, DIM, type);
	return test_path("%s", name);
}

static void check_rows(const char *path)
{
	invar_bank *b;
	float x[ROWS * DIM];

	assert_int_equal(inv_bank_open(ctx, path, &b), INVAR_OK);
	assert_int_equal(invar_bank_dim(b), DIM);
	assert_int_equal(invar_bank_rows(b, "train"), ROWS);
	assert_int_equal(invar_bank_copies(b, "train"), COPIES);
	assert_false(invar_bank_has_labels(b, "train"));
	for (int copy = INVAR_CLEAN; copy < COPIES; copy++) {
		assert_int_equal(invar_bank_read(b, "train", copy, 1, ROWS - 1, x), INVAR_OK);
		for (size_t i = 0; i < (ROWS - 1) * DIM; i++)
			assert_true(x[i] == cell(copy, 1 + i / DIM, i % DIM));
	}
	assert_int_equal(invar_bank_read(b, "train", COPIES, 0, 1, x), INVAR_E_USE);
	assert_int_equal(invar_bank_read(b, "train", 0, 0, ROWS + 1, x), INVAR_E_USE);
	assert_int_equal(invar_bank_read(b, "test", 0, 0, 1, x), INVAR_E_MISMATCH);
	invar_bank_close(b);
}

static void numbered_copies_are_read(void **state)
{
	(void)state;
	check_rows(write_bank("float32", INVAR_FLOAT32));
	check_rows(write_bank("float16", INVAR_FLOAT16));
}

static void a_stacked_array_is_read_as_copies(void **state)
{
	uint64_t shape[3] = {ROWS, COPIES, DIM};
	float x[ROWS * COPIES * DIM];

	(void)state;
	for (size_t i = 0; i < ROWS * COPIES * DIM; i++)
		x[i] = cell((int)(i / DIM % COPIES), i / (COPIES * DIM), i % DIM);
	mkdir(test_path("stacked"), 0777);
	mkdir(test_path("stacked/train"), 0777);
	write_array(test_path("stacked/train/clean.npy"), -1, ROWS, DIM, INVAR_FLOAT32);
	assert_int_equal(invar_array_write(ctx, test_path("stacked/train/aug.npy"), x, 3, shape,
	                                   INVAR_FLOAT32),
	                 INVAR_OK);
	check_rows(test_path("stacked"));
}

static void refuse(const char *path, invar_status want, const char *word)
{
	invar_bank *b;

	assert_int_equal(inv_bank_open(ctx, path, &b), want);
	test_assert_error(word);
	assert_null(b);
}

static void wrong_banks_are_refused_in_a_sentence(void **state)
{
	uint64_t shape[1] = {ROWS};
	float labels[ROWS] = {0};

	(void)state;
	refuse(test_path("nowhere"), INVAR_E_IO, "no such bank");
	test_write(test_path("file"), "x", 1);
	refuse(test_path("file"), INVAR_E_IO, "a bank is a folder");
	mkdir(test_path("hollow"), 0777);
	refuse(test_path("hollow"), INVAR_E_FORMAT, "clean.npy");

	write_bank("rows", INVAR_FLOAT32);
	write_array(test_path("rows/train/aug/001.npy"), 1, ROWS - 1, DIM, INVAR_FLOAT32);
	refuse(test_path("rows"), INVAR_E_MISMATCH, "(4, 3) but (5, 3)");

	write_bank("width", INVAR_FLOAT32);
	mkdir(test_path("width/test"), 0777);
	write_array(test_path("width/test/clean.npy"), 1, ROWS, DIM + 1, INVAR_FLOAT32);
	refuse(test_path("width"), INVAR_E_MISMATCH, "has 3 features per row");

	write_bank("gap", INVAR_FLOAT32);
	rename(test_path("gap/train/aug/001.npy"), test_path("gap/train/aug/002.npy"));
	refuse(test_path("gap"), INVAR_E_FORMAT, "no 001.npy");

	write_bank("both", INVAR_FLOAT32);
	write_array(test_path("both/train/aug.npy"), 1, ROWS, DIM, INVAR_FLOAT32);
	refuse(test_path("both"), INVAR_E_FORMAT, "both aug/ and aug.npy");

	write_bank("labels", INVAR_FLOAT32);
	assert_int_equal(invar_array_write(ctx, test_path("labels/train/labels.npy"), labels, 1,
	                                   shape, INVAR_FLOAT32),
	                 INVAR_OK);
	refuse(test_path("labels"), INVAR_E_FORMAT, "must be integers");

	write_bank("json", INVAR_FLOAT32);
	test_write(test_path("json/bank.json"), "{\"format\": \"other\"}", 19);
	refuse(test_path("json"), INVAR_E_FORMAT, "invar-bank");
	test_write(test_path("json/bank.json"), "{\"format\":", 10);
	refuse(test_path("json"), INVAR_E_FORMAT, "line 1");
}

/* [rows, views, DIM], or without views [rows, DIM]. */
static void write_views(const char *path, size_t rows, size_t views, size_t dim,
                        invar_dtype type, float last)
{
	const uint64_t shape[3] = {rows, views ? views : dim, dim};
	size_t cells = rows * (views ? views : 1) * dim;
	float x[100];

	for (size_t i = 0; i < cells; i++)
		x[i] = (float)i;
	x[cells - 1] = last;
	assert_int_equal(invar_array_write(ctx, path, x, views ? 3 : 2, shape, type), INVAR_OK);
}

static void views_are_optional_for_each_array(void **state)
{
	float all[INV_ROTATED * DIM];
	const inv_split *s;
	invar_bank *b;

	(void)state;
	write_bank("viewed", INVAR_FLOAT32);
	write_views(test_path("viewed/train/clean.views.npy"), ROWS, INV_ROTATED, DIM,
	            INVAR_FLOAT32, 0);
	write_views(test_path("viewed/train/aug/001.views.npy"), ROWS, INV_ROTATED, DIM,
	            INVAR_FLOAT16, 0);
	assert_int_equal(inv_bank_open(ctx, test_path("viewed"), &b), INVAR_OK);
	s = inv_bank_split(b, "train");
	assert_true(invar_bank_has_views(b, "train", INVAR_CLEAN));
	assert_false(invar_bank_has_views(b, "train", 0));
	assert_true(invar_bank_has_views(b, "train", 1));
	assert_false(invar_bank_has_views(b, "test", INVAR_CLEAN));
	assert_false(inv_split_copies_have_views(s));
	assert_int_equal(invar_bank_read_views(b, "train", 1, 2, 1, all), INVAR_OK);
	for (size_t i = 0; i < INV_ROTATED * DIM; i++)
		assert_true(all[i] == (float)(2 * INV_ROTATED * DIM + i));
	assert_int_equal(invar_bank_read_views(b, "train", 0, 0, 1, all), INVAR_E_MISMATCH);
	test_assert_error("no train/aug/000.views.npy");
	invar_bank_close(b);
}

static void wrong_views_are_refused_in_a_sentence(void **state)
{
	static const struct {
		const char *name;
		size_t rows, views, dim;
		const char *word;
	} cases[] = {
		{"rows", ROWS + 1, INV_ROTATED, DIM, "its shape is (6, 3, 3) but (5, 3, 3) was"},
		{"four", ROWS, 4, DIM, "its shape is (5, 4, 3)"},
		{"wide", ROWS, INV_ROTATED, DIM + 1, "its shape is (5, 3, 4)"},
		{"flat", ROWS, 0, DIM, "three rotated views of each row"},
	};
	float all[ROWS * INV_ROTATED * DIM];
	invar_bank *b;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		write_bank(cases[i].name, INVAR_FLOAT32);
		write_views(test_path("%s/train/aug/001.views.npy", cases[i].name), cases[i].rows,
		            cases[i].views, cases[i].dim, INVAR_FLOAT32, 0);
		refuse(test_path("%s", cases[i].name), INVAR_E_MISMATCH, cases[i].word);
	}
	write_bank("orphan", INVAR_FLOAT32);
	write_views(test_path("orphan/train/aug/002.views.npy"), ROWS, INV_ROTATED, DIM,
	            INVAR_FLOAT32, 0);
	refuse(test_path("orphan"), INVAR_E_FORMAT, "has 002.views.npy but no 002.npy");
	write_bank("bytes", INVAR_FLOAT32);
	test_write(test_path("bytes/train/clean.views.npy"), "not an array", 12);
	refuse(test_path("bytes"), INVAR_E_FORMAT, "clean.views.npy");
	write_bank("nan-views", INVAR_FLOAT32);
	write_views(test_path("nan-views/train/clean.views.npy"), ROWS, INV_ROTATED, DIM,
	            INVAR_FLOAT32, NAN);
	assert_int_equal(inv_bank_open(ctx, test_path("nan-views"), &b), INVAR_OK);
	assert_int_equal(invar_bank_read_views(b, "train", INVAR_CLEAN, 0, ROWS, all),
	                 INVAR_E_NUMERIC);
	test_assert_error("row 4, rotated by 270 degrees, column 2 is NaN");
	invar_bank_close(b);
}

static void nan_is_named_with_file_row_and_column(void **state)
{
	uint64_t shape[2] = {ROWS, DIM};
	float x[ROWS * DIM] = {0};
	invar_bank *b;

	(void)state;
	write_bank("nan", INVAR_FLOAT32);
	x[3 * DIM + 2] = NAN;
	assert_int_equal(invar_array_write(ctx, test_path("nan/train/aug/001.npy"), x, 2, shape,
	                                   INVAR_FLOAT32),
	                 INVAR_OK);
	assert_int_equal(inv_bank_open(ctx, test_path("nan"), &b), INVAR_OK);
	assert_int_equal(invar_bank_read(b, "train", 1, 0, ROWS, x), INVAR_E_NUMERIC);
	test_assert_error("001.npy: row 3, column 2 is NaN");
	invar_bank_close(b);
}

/* The list that run.json keeps, with what was said of views of the rows, which are no
 * files. */
static void a_bank_knows_the_files_of_a_list(void **state)
{
	json_t *list, *other;
	invar_bank *b, *changed;
	bool same;

	(void)state;
	assert_int_equal(inv_bank_open(ctx, write_bank("known", INVAR_FLOAT32), &b), INVAR_OK);
	write_bank("changed", INVAR_FLOAT32);
	write_array(test_path("changed/train/aug/001.npy"), 7, ROWS, DIM, INVAR_FLOAT32);
	assert_int_equal(inv_bank_open(ctx, test_path("changed"), &changed), INVAR_OK);
	assert_int_equal(inv_bank_fingerprint(b, inv_bank_split(b, "train"), &list), INVAR_OK);
	json_array_append_new(list, json_pack("{s:s}", "view", "unit"));

	assert_int_equal(inv_bank_has_files(b, "train", list, &same), INVAR_OK);
	assert_true(same);
	assert_int_equal(inv_bank_has_files(changed, "train", list, &same), INVAR_OK);
	assert_false(same);
	assert_int_equal(inv_bank_has_files(b, "test", list, &same), INVAR_E_MISMATCH);
	other = json_array();
	assert_int_equal(inv_bank_has_files(b, "train", other, &same), INVAR_OK);
	assert_false(same);
	json_decref(other);
	json_decref(list);
	invar_bank_close(changed);
	invar_bank_close(b);
}

static void the_shared_banks_open(void **state)
{
	const char *path = test_need_shared("data/bank-stl10-squeezenet-rotation");
	invar_bank *b;

	(void)state;
	assert_int_equal(inv_bank_open(ctx, path, &b), INVAR_OK);
	assert_int_equal(invar_bank_dim(b), 512);
	assert_int_equal(invar_bank_copies(b, "train"), 6);
	assert_int_equal(invar_bank_rows(b, "test"), 1300);
	assert_string_equal(invar_bank_field(b, "encoder"), "squeezenet1_1");
	invar_bank_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbered_copies_are_read),
		cmocka_unit_test(a_stacked_array_is_read_as_copies),
		cmocka_unit_test(wrong_banks_are_refused_in_a_sentence),
		cmocka_unit_test(views_are_optional_for_each_array),
		cmocka_unit_test(wrong_views_are_refused_in_a_sentence),
		cmocka_unit_test(nan_is_named_with_file_row_and_column),
		cmocka_unit_test(a_bank_knows_the_files_of_a_list),
		cmocka_unit_test(the_shared_banks_open),
	};

	return cmocka_run_group_tests(tests, make_context, free_context);
}
