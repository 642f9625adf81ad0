/* SPDX-License-Identifier: Apache-2.0 */
/* test_no_memory.c - opening and writing a bank with every allocation failing in turn. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bank/bank.h"
#include "bank/row_names.h"
#include "bank/write.h"
#include "base/memory.h"
#include "failing.h"
#include "support.h"

static invar_context *ctx;
static json_t *about;

static invar_status open_bank(void *user)
{
	invar_bank *b;
	invar_status st = inv_bank_open(ctx, user, &b);

	invar_bank_close(b);
	return st;
}

static invar_status open_view(void *user)
{
	static const invar_options *o;
	invar_bank *b;
	invar_status st;

	if (!o)
		o = test_kept("bank", "classes", test_path("list"), NULL);
	st = invar_bank_open(ctx, user, o, &b);
	invar_bank_close(b);
	return st;
}

static invar_status open_arrays(void *user)
{
	static const float rows[8];
	static const int64_t labels[2];
	invar_bank *b;
	invar_status st = invar_bank_from_arrays(ctx, rows, rows, labels, 2, 2, 2, &b);

	(void)user;
	if (st == INVAR_OK)
		st = invar_bank_add_split(b, "test", rows, rows, labels, 2, 1);
	if (st == INVAR_OK)
		st = invar_bank_set_field(b, "encoder", "x");
	invar_bank_close(b);
	return st;
}

static void opening_survives(void **state)
{
	const invar_options *o;
	char path[4096];

	(void)state;
	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	o = test_kept("synthetic", "rows", "4", "test-rows", "4", "dim", "3", "copies", "2",
	              NULL);
	snprintf(path, sizeof path, "%s", test_path("bank"));
	assert_int_equal(invar_bank_synthesize(ctx, o, path), INVAR_OK);
	unlink(test_path("bank/bank.json")); /* jansson copes with some of these by itself */
	assert_true(test_each_allocation_fails(open_bank, path) > 10);
	test_write(test_path("list"), "1\n0\n", 4);
	assert_int_equal(open_view(path), INVAR_OK);
	assert_true(test_each_allocation_fails(open_view, path) > 20);
	assert_true(test_each_allocation_fails(open_arrays, NULL) > 20);
	invar_context_free(ctx);
}

/* A bank of two rows, in a new folder or in that of the previous call. */
static invar_status write_bank(void *user)
{
	static const float rows[] = {1, 2, 3, 4};
	static const int64_t labels[] = {0, 1};
	inv_bank_writer *w = NULL;
	inv_finished there;
	inv_rows *r = NULL;
	bool kept = false;
	invar_status st = inv_bank_writer_open(user, about, &w);

	if (st == INVAR_OK)
		st = inv_bank_writer_begin(w, "train", about, true);
	if (st == INVAR_OK)
		st = inv_bank_writer_labels(w, "train", labels, 2);
	if (st == INVAR_OK)
		st = inv_rows_open(w, "train", "clean.npy", (inv_rows_shape){INV_F32, 2, 2, 0},
		                   &kept, &r);
	if (st == INVAR_OK && (st = inv_rows_put(r, 0, rows, 2)) == INVAR_OK)
		st = inv_rows_finish(r);
	else
		inv_rows_leave(r, false);
	if (st == INVAR_OK)
		st = inv_bank_writer_find(w, "train", &there);
	inv_bank_writer_close(w);
	return st;
}

static void writing_survives(void **state)
{
	char path[4096];

	(void)state;
	assert_non_null(about = json_pack("{s:s, s:s}", "encoder", "e", "augment", "id"));
	snprintf(path, sizeof path, "%s", test_path("written"));
	assert_true(test_each_allocation_fails(write_bank, path) > 10);
	assert_true(test_exists(test_path("written/train/clean.npy")));
	assert_false(test_has_part(test_path("written/train")));
	assert_true(test_each_allocation_fails(write_bank, path) > 10); /* it exists now */
	json_decref(about);
}

/* names.txt of a folder of two images, written, compared and read. */
static invar_status name_rows(void *user)
{
	const invar_dataset *d = user;
	const inv_images *s = inv_dataset_split(d, "train");
	char path[2048], **names = NULL;
	invar_status st;

	snprintf(path, sizeof path, "%s", test_path("names.txt"));
	st = inv_row_names_save(path, d, s);
	if (st == INVAR_OK)
		st = inv_row_names_check(path, d, s);
	if (st == INVAR_OK)
		st = inv_row_names_parse("a\nb\\\\\n", 6, path, 2, &names);
	assert_true((st == INVAR_OK) == (names != NULL));
	inv_free(names);
	return st;
}

static void naming_survives(void **state)
{
	char text[2100];
	invar_dataset *d;

	(void)state;
	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	mkdir(test_path("files"), 0777);
	test_write(test_path("files/1.png"), "", 0); /* they are not decoded */
	test_write(test_path("files/2.png"), "", 0);
	snprintf(text, sizeof text, "folder:%s", test_path("files"));
	assert_int_equal(invar_dataset_open(ctx, text, NULL, &d), INVAR_OK);
	assert_true(test_each_allocation_fails(name_rows, d) >= 5);
	invar_dataset_close(d);
	invar_context_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(opening_survives),
	                                   cmocka_unit_test(writing_survives),
	                                   cmocka_unit_test(naming_survives)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
