/* SPDX-License-Identifier: Apache-2.0 */
/* test_write.c - a growing bank: errors, and what a failure leaves behind. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bank/bank.h"
#include "bank/write.h"
#include "support.h"

static inv_bank_writer *open_writer(const char *name, const char *augment)
{
	json_t *about = json_pack("{s:s, s:{s:i}, s:s?}", "encoder", "e", "preprocess", "size",
	                          4, "augment", augment);
	inv_bank_writer *w;

	assert_int_equal(inv_bank_writer_open(test_path("%s", name), about, &w), INVAR_OK);
	json_decref(about);
	return w;
}

static void begin(inv_bank_writer *w, const char *split)
{
	json_t *entry = json_pack("{s:i}", "rows", 2);

	assert_int_equal(inv_bank_writer_begin(w, split, entry, true), INVAR_OK);
	json_decref(entry);
}

static void put(inv_bank_writer *w, const char *split, int32_t copy)
{
	float data[] = {1, 2, 3, 4, 5, 6};
	char name[INV_ARRAY_NAME];
	bool kept = false;
	inv_rows *r;

	inv_array_name(copy, INV_ROWS, name);
	assert_int_equal(
		inv_rows_open(w, split, name, (inv_rows_shape){INV_F16, 2, 3, 0}, &kept, &r),
		INVAR_OK);
	assert_int_equal(inv_rows_put(r, 1, data + 3, 1), INVAR_OK);
	assert_int_equal(inv_rows_put(r, 0, data, 1), INVAR_OK);
	assert_int_equal(inv_rows_finish(r), INVAR_OK);
}

static void what_is_written_can_be_opened(void **state)
{
	int64_t labels[] = {1, 0}, back[2];
	float row[3];
	inv_bank_writer *w = open_writer("bank", NULL);
	inv_finished there;
	invar_context *ctx;
	invar_bank *b;

	(void)state;
	begin(w, "train");
	assert_int_equal(inv_bank_writer_find(w, "train", &there), INVAR_OK);
	assert_false(there.clean);
	assert_int_equal(inv_bank_writer_labels(w, "train", labels, 2), INVAR_OK);
	put(w, "train", INVAR_CLEAN);
	put(w, "train", 0);
	assert_int_equal(inv_bank_writer_find(w, "train", &there), INVAR_OK);
	assert_true(there.clean && there.rows == 2 && there.width == 3 && there.copies == 1);
	inv_bank_writer_close(w);
	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	assert_int_equal(inv_bank_open(ctx, test_path("bank"), &b), INVAR_OK);
	assert_int_equal(invar_bank_read(b, "train", 0, 1, 1, row), INVAR_OK);
	assert_true(row[0] == 4 && row[1] == 5 && row[2] == 6);
	assert_int_equal(invar_bank_labels(b, "train", back), INVAR_OK);
	assert_memory_equal(labels, back, sizeof back);
	invar_bank_close(b);
	invar_context_free(ctx);
}

static void what_it_says_is_kept_and_held_against(void **state)
{
	inv_bank_writer *w = open_writer("bank", "rotation:degrees=180");
	json_t *about = json_pack("{s:s, s:{s:i}}", "encoder", "f", "preprocess", "size", 4);

	(void)state;
	begin(w, "test");
	inv_bank_writer_close(w);
	w = open_writer("bank", NULL); /* without a SPEC nothing can differ */
	inv_bank_writer_close(w);
	w = open_writer("bank", "rotation"); /* the same in its canonical form */
	assert_non_null(inv_bank_writer_entry(w, "test"));
	inv_bank_writer_close(w);
	assert_int_equal(inv_bank_writer_open(test_path("bank"), about, &w), INVAR_E_MISMATCH);
	test_assert_error("bank.json: was made with encoder e, not f");
	json_object_set_new(about, "encoder", json_string("e"));
	json_object_set_new(json_object_get(about, "preprocess"), "size", json_integer(5));
	assert_int_equal(inv_bank_writer_open(test_path("bank"), about, &w), INVAR_E_MISMATCH);
	test_assert_error("was made with size 4, not 5");
	json_object_set_new(about, "dtype", json_string("float16"));
	json_object_del(about, "preprocess");
	assert_int_equal(inv_bank_writer_open(test_path("bank"), about, &w), INVAR_E_MISMATCH);
	test_assert_error("was made with dtype not known, not float16");
	json_decref(about);
}

static void order_of_splits_is_their_own(void **state)
{
	static const char *const all[] = {"fold1",     "test",  "train",
	                                  "unlabeled", "fold0", "val"};
	static const char *const sorted[] = {"train",     "val",   "test",
	                                     "unlabeled", "fold0", "fold1"};
	inv_bank_writer *w = open_writer("order", NULL);
	json_t *json, *value;
	const char *key;
	size_t i = 0;

	(void)state;
	for (size_t k = 0; k < sizeof all / sizeof *all; k++)
		begin(w, all[k]);
	inv_bank_writer_close(w);
	assert_non_null(json = json_load_file(test_path("order/bank.json"), 0, NULL));
	json_object_foreach (json_object_get(json, "splits"), key, value)
		assert_string_equal(key, sorted[i++]);
	assert_int_equal(i, sizeof all / sizeof *all);
	json_decref(json);
}

static inv_rows *open_rows(const inv_bank_writer *w, uint64_t rows, bool *kept)
{
	inv_rows *r;

	assert_int_equal(inv_rows_open(w, "train", "clean.npy",
	                               (inv_rows_shape){INV_F32, rows, 3, 0}, kept, &r),
	                 INVAR_OK);
	return r;
}

static void rows_that_are_no_numbers_are_refused(void **state)
{
	float data[] = {1, 2, 3, 4, NAN, 6};
	inv_bank_writer *w = open_writer("nan", NULL);
	bool kept = false;
	inv_rows *r;

	(void)state;
	begin(w, "train");
	r = open_rows(w, 8, &kept);
	assert_int_equal(inv_rows_put(r, 5, data, 2), INVAR_E_NUMERIC);
	test_assert_error("clean.npy: element [6, 1] would be NaN");
	inv_rows_leave(r, false);
	inv_rows_leave(NULL, false);
	assert_false(test_has_part(test_path("nan/train")));
	inv_bank_writer_close(w);
}

static void an_array_is_taken_up_again(void **state)
{
	float a[] = {1, 2, 3}, b[] = {4, 5, 6}, back[6];
	inv_bank_writer *w = open_writer("again", NULL);
	bool kept = true;
	inv_npy *npy;
	inv_rows *r;

	(void)state;
	begin(w, "train");
	r = open_rows(w, 2, &kept);
	assert_false(kept); /* there is nothing to keep */
	assert_int_equal(inv_rows_put(r, 1, b, 1), INVAR_OK);
	inv_rows_leave(r, true);
	kept = true;
	r = open_rows(w, 2, &kept);
	assert_true(kept);
	assert_int_equal(inv_rows_put(r, 0, a, 1), INVAR_OK);
	assert_int_equal(inv_rows_finish(r), INVAR_OK);
	assert_int_equal(inv_npy_open(test_path("again/train/clean.npy"), &npy), INVAR_OK);
	assert_int_equal(inv_npy_read(npy, 0, 6, back), INVAR_OK);
	assert_true(back[0] == 1 && back[2] == 3 && back[3] == 4 && back[5] == 6);
	inv_npy_close(npy);
	r = open_rows(w, 2, &kept);
	inv_rows_leave(r, true);
	kept = true;
	r = open_rows(w, 3, &kept); /* of another shape */
	assert_false(kept);
	inv_rows_leave(r, true);
	assert_int_equal(inv_bank_writer_sweep(w, "train"), INVAR_OK);
	assert_int_equal(inv_bank_writer_sweep(w, "train"), INVAR_OK);
	assert_false(test_has_part(test_path("again/train")));
	inv_bank_writer_close(w);
}

static void a_bad_bank_json_is_named(void **state)
{
	json_t *about = json_pack("{s:s}", "encoder", "e");
	inv_bank_writer *w;

	(void)state;
	w = open_writer("bad", NULL);
	begin(w, "train");
	put(w, "train", INVAR_CLEAN);
	inv_bank_writer_close(w);
	test_write(test_path("bad/bank.json"), "{\"format\": \"other\"}", 19);
	assert_int_equal(inv_bank_writer_open(test_path("bad"), about, &w), INVAR_E_FORMAT);
	test_assert_error("the format is other but must be invar-bank");
	unlink(test_path("bad/bank.json"));
	assert_int_equal(inv_bank_writer_open(test_path("bad"), about, &w), INVAR_E_MISMATCH);
	test_assert_error("already exists without a bank.json");
	json_decref(about);
}

static void only_one_writes_a_bank(void **state)
{
	json_t *about = json_pack("{s:s}", "encoder", "other");
	inv_bank_writer *w = open_writer("one", NULL), *second;

	(void)state;
	assert_int_equal(inv_bank_writer_open(test_path("one"), about, &second), INVAR_E_IO);
	test_assert_error("another process is writing this bank");
	inv_bank_writer_close(w);
	assert_int_equal(inv_bank_writer_open(test_path("one"), about, &second), INVAR_OK);
	inv_bank_writer_close(second);
	json_decref(about);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_can_be_opened),
		cmocka_unit_test(what_it_says_is_kept_and_held_against),
		cmocka_unit_test(order_of_splits_is_their_own),
		cmocka_unit_test(rows_that_are_no_numbers_are_refused),
		cmocka_unit_test(an_array_is_taken_up_again),
		cmocka_unit_test(a_bad_bank_json_is_named),
		cmocka_unit_test(only_one_writes_a_bank),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
