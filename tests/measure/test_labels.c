/* SPDX-License-Identifier: Apache-2.0 */
/* test_labels.c - classes are those that exist; a negative label is none. */
#include "bank/bank.h"
#include "write_bank.h"

#include <stdint.h>

#include "measure/labels.h"

static invar_bank *bank_of(const char *name, const int64_t *labels, size_t n)
{
	const float zeros[16] = {0};
	invar_bank *bank;

	write_split(test_ctx, test_path("%s", name), "train", zeros, NULL, 0, labels, n, 1);
	write_split(test_ctx, test_path("%s", name), "test", zeros, NULL, 0, labels, n, 1);
	assert_int_equal(inv_bank_open(test_ctx, test_path("%s", name), &bank), INVAR_OK);
	return bank;
}

static inv_labels labels_of(const char *name, const int64_t *labels, size_t n)
{
	invar_bank *bank = bank_of(name, labels, n);
	inv_labels l;

	if (inv_labels_read(bank, inv_bank_split(bank, "train"), &l) != INVAR_OK)
		fail_msg("%s", invar_last_error());
	invar_bank_close(bank);
	return l;
}

static void labels_from_0_on_are_their_own_numbers(void **state)
{
	const int64_t labels[] = {2, 0, 1, 2, 0};
	inv_labels l = labels_of("dense", labels, 5);

	(void)state;
	assert_int_equal(l.rows, 5);
	assert_null(l.row);
	assert_int_equal(l.classes, 3);
	for (int64_t i = 0; i < 3; i++)
		assert_int_equal(inv_labels_class(&l, i), i);
	inv_labels_clear(&l);
}

static void sparse_labels_keep_their_order(void **state)
{
	const int64_t labels[] = {INT64_MAX, 500000, 3, 500000, 1000000};
	inv_labels l = labels_of("sparse", labels, 5);

	(void)state;
	assert_int_equal(l.classes, 4);
	assert_int_equal(inv_labels_class(&l, 3), 0);
	assert_int_equal(inv_labels_class(&l, 500000), 1);
	assert_int_equal(inv_labels_class(&l, INT64_MAX), 3);
	assert_true(inv_labels_class(&l, 4) == INV_NO_CLASS);
	assert_true(inv_labels_class(&l, -1) == INV_NO_CLASS);
	inv_labels_clear(&l);
}

static void rows_without_a_label_are_left_out(void **state)
{
	const int64_t labels[] = {-1, 7, INT64_MIN, 7, 5}, none[] = {-1, -1};
	inv_labels l = labels_of("some", labels, 5), empty = labels_of("none", none, 2);

	(void)state;
	assert_int_equal(l.rows, 3);
	assert_int_equal(l.row[0], 1);
	assert_int_equal(l.row[1], 3);
	assert_int_equal(l.row[2], 4);
	assert_int_equal(l.label[2], 5);
	assert_int_equal(l.classes, 2);
	assert_int_equal(empty.rows, 0);
	assert_int_equal(empty.classes, 0);
	assert_int_equal(inv_labels_unknown(&l, &empty), 3);
	assert_int_equal(inv_labels_unknown(&l, &l), 0);
	inv_labels_clear(&l);
	inv_labels_clear(&empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_from_0_on_are_their_own_numbers),
		cmocka_unit_test(sparse_labels_keep_their_order),
		cmocka_unit_test(rows_without_a_label_are_left_out),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
