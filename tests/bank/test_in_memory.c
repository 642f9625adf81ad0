/* SPDX-License-Identifier: Apache-2.0 */
/* test_in_memory.c - a bank of arrays: its rows, its hashes, and what it refuses. */
#include "bank/bank.h"
#include "support.h"

#include <math.h>
#include <sys/stat.h>

#include "bank/copy_params.h"
#include "bank/row_names.h"
#include "base/json.h"
#include "base/memory.h"

enum { ROWS = 7, COPIES = 3, D = 4 };

static float clean[ROWS * D], copies[ROWS * COPIES * D];
static const int64_t labels[ROWS] = {0, 1, -1, 2, 0, 1, 2};

static int fill(void **state)
{
	for (size_t i = 0; i < ROWS * D; i++)
		clean[i] = (float)i / 3;
	for (size_t i = 0; i < ROWS * COPIES * D; i++)
		copies[i] = -(float)i;
	return test_context_open(state);
}

static invar_bank *open_arrays(void)
{
	invar_bank *b;

	assert_int_equal(
		invar_bank_from_arrays(test_ctx, clean, copies, labels, ROWS, COPIES, D, &b),
		INVAR_OK);
	return b;
}

static void a_bank_of_arrays_has_their_rows(void **state)
{
	invar_bank *b = open_arrays();
	float rows[ROWS * D];
	int64_t read[ROWS];
	char **names, text[INV_ROW_TEXT];

	(void)state;
	assert_int_equal(invar_bank_dim(b), D);
	assert_int_equal(invar_bank_splits(b), 1);
	assert_string_equal(invar_bank_split(b, 0), "train");
	assert_int_equal(invar_bank_copies(b, "train"), COPIES);
	assert_int_equal(invar_bank_read(b, "train", INVAR_CLEAN, 0, ROWS, rows), INVAR_OK);
	assert_memory_equal(rows, clean, sizeof rows);
	for (int32_t k = 0; k < COPIES; k++) {
		assert_int_equal(invar_bank_read(b, "train", k, 0, ROWS, rows), INVAR_OK);
		for (size_t i = 0; i < ROWS; i++)
			assert_memory_equal(rows + i * D, copies + (i * COPIES + (size_t)k) * D,
			                    D * sizeof *rows);
	}
	assert_int_equal(invar_bank_labels(b, "train", read), INVAR_OK);
	assert_memory_equal(read, labels, sizeof labels);

	/* What is beside the rows of a folder is not there, and nothing looks for it. */
	assert_int_equal(invar_bank_names(b, "train", &names), INVAR_OK);
	assert_null(names);
	assert_false(inv_bank_has_names(b, "train"));
	assert_string_equal(inv_row_text(b, inv_bank_split(b, "train"), 3, text), "3");
	assert_false(invar_bank_has_views(b, "train", INVAR_CLEAN));
	assert_null(invar_bank_field(b, "encoder"));
	invar_bank_close(b);
}

/* The files that np.save writes are those of invar_array_write; see test_npy_write.c. */
static void its_fingerprint_is_that_of_a_folder(void **state)
{
	const uint64_t shape[] = {ROWS, D}, stacked[] = {ROWS, COPIES, D};
	invar_bank *b = open_arrays(), *folder;
	json_t *mine, *theirs;
	char hex[2][INV_SHA256_HEX];

	(void)state;
	mkdir(test_path("bank"), 0777);
	mkdir(test_path("bank/train"), 0777);
	assert_int_equal(invar_array_write(test_ctx, test_path("bank/train/clean.npy"), clean,
	                                   2, shape, INVAR_FLOAT32),
	                 INVAR_OK);
	assert_int_equal(invar_array_write(test_ctx, test_path("bank/train/aug.npy"), copies, 3,
	                                   stacked, INVAR_FLOAT32),
	                 INVAR_OK);
	assert_int_equal(inv_bank_open(test_ctx, test_path("bank"), &folder), INVAR_OK);
	assert_int_equal(inv_bank_fingerprint(b, &b->splits[0], &mine), INVAR_OK);
	assert_int_equal(inv_bank_fingerprint(folder, &folder->splits[0], &theirs), INVAR_OK);
	assert_int_equal(json_array_size(mine), 2);
	assert_true(json_equal(mine, theirs));
	json_decref(mine);
	json_decref(theirs);

	/* Any piece of the file: of the header, of the data, and across. */
	for (uint64_t from = 0; from < inv_npy_bytes(folder->splits[0].clean); from += 19)
		for (uint64_t bytes = 1; bytes < 200; bytes += 33) {
			const inv_npy *x = b->splits[0].clean, *y = folder->splits[0].clean;

			if (from + bytes > inv_npy_bytes(y))
				continue;
			assert_int_equal(inv_npy_sha256(x, from, bytes, hex[0]), INVAR_OK);
			assert_int_equal(inv_npy_sha256(y, from, bytes, hex[1]), INVAR_OK);
			assert_string_equal(hex[0], hex[1]);
		}
	invar_bank_close(folder);
	invar_bank_close(b);
}

static void splits_are_added_and_sorted(void **state)
{
	invar_bank *b = open_arrays();
	float row[D];

	(void)state;
	assert_int_equal(invar_bank_add_split(b, "val", clean, NULL, NULL, 2, 0), INVAR_OK);
	assert_int_equal(invar_bank_add_split(b, "test", clean + D, copies, NULL, 3, 2),
	                 INVAR_OK);
	assert_string_equal(invar_bank_split(b, 0), "test");
	assert_string_equal(invar_bank_split(b, 1), "train");
	assert_string_equal(invar_bank_split(b, 2), "val");
	assert_int_equal(invar_bank_rows(b, "test"), 3);
	assert_int_equal(invar_bank_copies(b, "test"), 2);
	assert_int_equal(invar_bank_copies(b, "val"), 0);
	assert_false(invar_bank_has_labels(b, "test"));
	assert_int_equal(invar_bank_read(b, "test", 1, 2, 1, row), INVAR_OK);
	assert_memory_equal(row, copies + (2 * 2 + 1) * D, sizeof row);
	assert_int_equal(invar_bank_add_split(b, "test", clean, NULL, NULL, 2, 0), INVAR_E_USE);
	test_assert_error("already has a split test");
	assert_int_equal(invar_bank_splits(b), 3);
	invar_bank_close(b);
}

static void fields_stand_for_bank_json(void **state)
{
	invar_bank *b = open_arrays(), *folder;
	inv_copy_params *p;

	(void)state;
	assert_int_equal(invar_bank_set_field(b, "encoder", "mine"), INVAR_OK);
	assert_int_equal(invar_bank_set_field(b, "augment", "rotation"), INVAR_OK);
	assert_string_equal(invar_bank_field(b, "encoder"), "mine");
	assert_int_equal(invar_bank_set_field(b, "encoder", "\xff"), INVAR_E_USE);
	assert_string_equal(invar_bank_field(b, "encoder"), "mine");
	assert_int_equal(inv_copy_params_open(b, &b->splits[0], &p), INVAR_E_MISMATCH);
	test_assert_error("in memory");
	assert_int_equal(inv_bank_open(test_ctx, test_path("bank"), &folder), INVAR_OK);
	assert_int_equal(invar_bank_set_field(folder, "encoder", "mine"), INVAR_E_USE);
	assert_int_equal(invar_bank_add_split(folder, "x", clean, NULL, NULL, 2, 0),
	                 INVAR_E_USE);
	test_assert_error("is a folder");
	invar_bank_close(folder);
	invar_bank_close(b);
}

static void refuse(const float *x, const float *y, uint64_t n, uint32_t c, uint32_t d,
                   const char *word)
{
	invar_bank *b = (invar_bank *)(uintptr_t)1;

	assert_int_equal(invar_bank_from_arrays(test_ctx, x, y, NULL, n, c, d, &b),
	                 INVAR_E_USE);
	assert_null(b);
	test_assert_error(word);
}

static void wrong_sizes_are_refused(void **state)
{
	invar_bank *b = open_arrays();
	float row[D];

	(void)state;
	refuse(NULL, NULL, ROWS, 0, D, "clean rows of train");
	refuse(clean, NULL, 0, 0, D, "clean rows of train");
	refuse(clean, NULL, ROWS, 0, 0, "clean rows of train");
	refuse(clean, NULL, UINT32_MAX, 0, D, "2^32");
	refuse(clean, NULL, ROWS, 0, (1 << 24) + 1, "2^24");
	refuse(clean, NULL, ROWS, 2, D, "NULL");
	refuse(clean, copies, ROWS, 100001, D, "100000");
	assert_int_equal(invar_bank_add_split(b, "", clean, NULL, NULL, 2, 0), INVAR_E_USE);
	assert_int_equal(invar_bank_read(b, "test", 0, 0, 1, row), INVAR_E_MISMATCH);
	test_assert_error("the bank in memory: has no split test");
	copies[D * COPIES + D + 2] = NAN;
	assert_int_equal(invar_bank_read(b, "train", 1, 1, 1, row), INVAR_E_NUMERIC);
	test_assert_error("train/aug.npy: row 1, copy 1, column 2 is NaN");
	copies[D * COPIES + D + 2] = 0;
	invar_bank_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bank_of_arrays_has_their_rows),
		cmocka_unit_test(its_fingerprint_is_that_of_a_folder),
		cmocka_unit_test(splits_are_added_and_sorted),
		cmocka_unit_test(fields_stand_for_bank_json),
		cmocka_unit_test(wrong_sizes_are_refused),
	};

	return cmocka_run_group_tests(tests, fill, test_context_close);
}
