/* SPDX-License-Identifier: Apache-2.0 */
/* test_class_view.c - a bank of which only some classes are seen. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "bank/bank.h"
#include "bank/class_view.h"
#include "bank/copy_params.h"
#include "bank/row_names.h"
#include "support.h"

enum { ROWS = 7, DIM = 3, KEPT = 4 };

/* Dogs (7) and an emu (2) are chosen: rows 1, 3, 4 and 6. */
static const int64_t labels[ROWS] = {0, 7, -1, 2, 7, 0, 7};
static const uint64_t kept[KEPT] = {1, 3, 4, 6};
static char list[512];

static float cell(int copy, uint64_t row, size_t column)
{
	return (float)(copy + 1) * 100 + (float)row * 10 + (float)column;
}

static void write_rows(const char *path, int copy, size_t dim)
{
	const uint64_t shape[2] = {ROWS, dim};
	float x[ROWS * DIM];

	for (size_t i = 0; i < ROWS * dim; i++)
		x[i] = cell(copy, i / dim, i % dim);
	assert_int_equal(invar_array_write(test_ctx, path, x, 2, shape, INVAR_FLOAT32),
	                 INVAR_OK);
}

static void write_labels(const char *path, const int64_t *of)
{
	inv_npy_writer *w;
	const uint64_t shape[1] = {ROWS};

	assert_int_equal(inv_npy_create(path, INV_I64, 1, shape, &w), INVAR_OK);
	assert_int_equal(inv_npy_put_int(w, of, ROWS), INVAR_OK);
	assert_int_equal(inv_npy_commit(w), INVAR_OK);
}

static void write_text(const char *path, const char *text)
{
	test_write(path, text, strlen(text));
}

/* Splits train, with labels and two copies, and unlabeled, without. */
static void make_bank(const char *name, const char *json)
{
	mkdir(test_path("%s", name), 0777);
	mkdir(test_path("%s/train", name), 0777);
	mkdir(test_path("%s/train/aug", name), 0777);
	mkdir(test_path("%s/unlabeled", name), 0777);
	if (json)
		write_text(test_path("%s/bank.json", name), json);
	write_rows(test_path("%s/train/clean.npy", name), -1, DIM);
	write_rows(test_path("%s/train/aug/000.npy", name), 0, DIM);
	write_rows(test_path("%s/train/aug/001.npy", name), 1, DIM);
	write_rows(test_path("%s/train/aug/000.params.npy", name), 5, 1);
	write_rows(test_path("%s/train/aug/001.params.npy", name), 6, 1);
	write_labels(test_path("%s/train/labels.npy", name), labels);
	write_text(test_path("%s/train/names.txt", name), "0\n1\n2\n3\n4\n5\nsix\n");
	write_rows(test_path("%s/unlabeled/clean.npy", name), -1, DIM);
}

#define HEADER "{\"format\": \"invar-bank\", \"version\": 1"

static invar_status open_view(const char *name, const char *text, invar_bank **out)
{
	invar_options *o;
	invar_status st;

	snprintf(list, sizeof list, "%s", test_path("list.txt"));
	write_text(list, text);
	o = test_options("bank", "classes", list, NULL);
	st = invar_bank_open(test_ctx, test_path("%s", name), o, out);
	invar_options_free(o);
	return st;
}

static void rows_of_other_classes_are_left_out(void **state)
{
	invar_bank *b;
	int64_t label[KEPT];
	float x[KEPT * DIM];

	(void)state;
	make_bank("plain", NULL);
	assert_int_equal(open_view("plain", "7\r\n\n  2 \n", &b), INVAR_OK);
	assert_int_equal(invar_bank_rows(b, "train"), KEPT);
	assert_int_equal(invar_bank_rows(b, "unlabeled"), ROWS);
	for (int copy = INVAR_CLEAN; copy < 2; copy++) {
		assert_int_equal(invar_bank_read(b, "train", copy, 0, KEPT, x), INVAR_OK);
		for (size_t i = 0; i < KEPT * DIM; i++)
			assert_true(x[i] == cell(copy, kept[i / DIM], i % DIM));
	}
	assert_int_equal(invar_bank_read(b, "train", 0, KEPT, 1, x), INVAR_E_USE);
	assert_int_equal(invar_bank_labels(b, "train", label), INVAR_OK);
	for (size_t i = 0; i < KEPT; i++) {
		assert_int_equal(label[i], i == 1);
		assert_int_equal(inv_bank_file_row(b, "train", i), kept[i]);
	}
	assert_string_equal(inv_bank_class(b, 0), "7"); /* as its files call it */
	assert_string_equal(inv_bank_class(b, 1), "2");
	assert_null(inv_bank_class(b, 2));
	invar_bank_close(b);
}

/* One array [n, c, d] instead of a file per copy, and features as float16. */
static void stacked_copies_are_found(void **state)
{
	const uint64_t shape[3] = {ROWS, 2, DIM};
	float x[ROWS * 2 * DIM];
	invar_bank *b;

	(void)state;
	mkdir(test_path("stacked"), 0777);
	mkdir(test_path("stacked/train"), 0777);
	write_rows(test_path("stacked/train/clean.npy"), -1, DIM);
	write_labels(test_path("stacked/train/labels.npy"), labels);
	for (size_t i = 0; i < ROWS * 2 * DIM; i++)
		x[i] = cell((int)(i / DIM % 2), i / (2 * DIM), i % DIM);
	assert_int_equal(invar_array_write(test_ctx, test_path("stacked/train/aug.npy"), x, 3,
	                                   shape, INVAR_FLOAT16),
	                 INVAR_OK);
	assert_int_equal(open_view("stacked", "2\n7\n", &b), INVAR_OK);
	assert_int_equal(invar_bank_read(b, "train", 1, 2, 2, x), INVAR_OK);
	for (size_t i = 0; i < 2 * DIM; i++)
		assert_true(x[i] == cell(1, kept[2 + i / DIM], i % DIM));
	invar_bank_close(b);
}

static void names_and_parameters_follow(void **state)
{
	char **names, text[INV_ROW_TEXT];
	inv_copy_params *p;
	const inv_split *s;
	invar_bank *b;
	float angle;

	(void)state;
	make_bank("named", HEADER ", \"augment_params\": [\"angle\"], \"classes\": [\"cat\", "
	                          "\"cow\", \"emu\", \"7\", \"a\", \"b\", \"c\", \"dog\"]}");
	assert_int_equal(open_view("named", "dog\nemu\n", &b), INVAR_OK);
	assert_string_equal(inv_bank_class(b, 0), "dog");
	assert_string_equal(inv_bank_class(b, 1), "emu");
	assert_int_equal(invar_bank_names(b, "train", &names), INVAR_OK);
	assert_string_equal(names[0], "1");
	assert_string_equal(names[3], "six");
	invar_free(names);
	assert_non_null(s = inv_bank_split(b, "train"));
	assert_string_equal(inv_row_text(b, s, 3, text), "6 (six)");
	assert_int_equal(inv_copy_params_open(b, s, &p), INVAR_OK);
	assert_int_equal(inv_copy_params_row(p, 1, 3, &angle), INVAR_OK);
	assert_true(angle == cell(6, 6, 0));
	inv_copy_params_close(p);
	invar_bank_close(b);
	/* A name goes before an index, and a class of bank.json need not have rows. */
	assert_int_equal(open_view("named", "dog\n1\n", &b), INVAR_OK);
	assert_string_equal(inv_bank_class(b, 1), "cow");
	assert_int_equal(invar_bank_rows(b, "train"), 3);
	invar_bank_close(b);
	assert_int_equal(open_view("named", "7\n", &b), INVAR_E_USE);
	test_assert_error("no image of");
}

static json_t *fingerprint_of(const invar_bank *b)
{
	json_t *all;

	assert_int_equal(inv_bank_fingerprint(b, inv_bank_split(b, "train"), &all), INVAR_OK);
	return all;
}

static void views_have_fingerprints_of_their_own(void **state)
{
	static const char *const lists[] = {"7\n2\n", "2\n7\n", "7\n", "0\n7\n2\n"};
	enum { VIEWS = sizeof lists / sizeof *lists };
	json_t *of[VIEWS + 1];
	invar_bank *b;

	(void)state;
	make_bank("prints", NULL);
	assert_int_equal(inv_bank_open(test_ctx, test_path("prints"), &b), INVAR_OK);
	assert_null(inv_bank_view_classes(b));
	of[VIEWS] = fingerprint_of(b);
	invar_bank_close(b);
	for (size_t i = 0; i < VIEWS; i++) {
		assert_int_equal(open_view("prints", lists[i], &b), INVAR_OK);
		assert_int_equal(json_array_size(inv_bank_view_classes(b)), strlen(lists[i]) / 2);
		of[i] = fingerprint_of(b);
		invar_bank_close(b);
	}
	for (size_t i = 0; i <= VIEWS; i++)
		for (size_t j = 0; j < i; j++)
			assert_false(json_equal(of[i], of[j]));
	for (size_t i = 0; i <= VIEWS; i++)
		json_decref(of[i]);
}

static void refuse(const char *bank, const char *text, const char *word)
{
	invar_bank *b;

	assert_int_equal(open_view(bank, text, &b), INVAR_E_USE);
	assert_null(b);
	test_assert_error(word);
	test_assert_error("classes");
}

static void lists_that_make_no_sense_are_refused(void **state)
{
	invar_options *o = test_options("bank", "classes", test_path("no list"), NULL);
	invar_bank *b;

	(void)state;
	make_bank("lists", HEADER ", \"classes\": [\"cat\", 4]}");
	refuse("lists", "cat\nwolf\n", "no class 'wolf'");
	refuse("lists", "cat\n0\n", "the class 'cat' twice");
	refuse("lists", "7\n07\n", "the class '7' twice");
	refuse("lists", "cat\n8\n", "no class '8'");
	refuse("lists", "-1\n", "no class '-1'");
	refuse("lists", "99999999999999999999\n", "no class '99999999999999999999'");
	refuse("lists", "\n \r\n", "lists no class");
	refuse("lists", "", "lists no class");
	refuse("lists", "1\n", "no image of"); /* bank.json has it, but no row */
	assert_int_equal(invar_bank_open(test_ctx, test_path("lists"), o, &b), INVAR_E_IO);
	test_assert_error("no list");
	snprintf(list, sizeof list, "%s", test_path("nul.txt"));
	test_write(list, "cat\0dog\n", 8);
	test_set(o, "classes", list, NULL);
	assert_int_equal(invar_bank_open(test_ctx, test_path("lists"), o, &b), INVAR_E_USE);
	test_assert_error("NUL");
	remove(test_path("lists/train/labels.npy"));
	refuse("lists", "cat\n", "has no classes");
	invar_options_free(o);
}

static void a_split_without_these_classes_is_left_out(void **state)
{
	static const int64_t other[ROWS] = {0, 0, 0, 0, 0, 0, 0};
	invar_bank *b;

	(void)state;
	make_bank("empty", NULL);
	write_labels(test_path("empty/unlabeled/labels.npy"), other);
	assert_int_equal(open_view("empty", "7\n", &b), INVAR_OK);
	assert_int_equal(invar_bank_splits(b), 1);
	assert_string_equal(invar_bank_split(b, 0), "train");
	assert_false(inv_bank_has_split(b, "unlabeled"));
	invar_bank_close(b);
	assert_int_equal(open_view("empty", "0\n", &b), INVAR_OK);
	assert_int_equal(invar_bank_rows(b, "unlabeled"), ROWS);
	invar_bank_close(b);
}

static void an_option_that_was_not_applied_is_an_error(void **state)
{
	invar_options *o = test_options("eval", "classes", "list.txt", NULL);
	invar_results *r;
	invar_bank *b;

	(void)state;
	make_bank("ignored", NULL);
	assert_int_equal(inv_bank_open(test_ctx, test_path("ignored"), &b), INVAR_OK);
	assert_int_equal(invar_eval(b, NULL, NULL, 0, o, &r), INVAR_E_USE);
	test_assert_error("opened with all its classes");
	invar_bank_close(b);
	invar_options_free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_of_other_classes_are_left_out),
		cmocka_unit_test(stacked_copies_are_found),
		cmocka_unit_test(names_and_parameters_follow),
		cmocka_unit_test(views_have_fingerprints_of_their_own),
		cmocka_unit_test(lists_that_make_no_sense_are_refused),
		cmocka_unit_test(a_split_without_these_classes_is_left_out),
		cmocka_unit_test(an_option_that_was_not_applied_is_an_error),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
