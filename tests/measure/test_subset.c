/* SPDX-License-Identifier: Apache-2.0 */
/* test_subset.c - classes that are far apart: golden orders, banks, wrong uses. */
#include "bank/bank.h"
#include "write_bank.h"

#include <math.h>

#include "golden.h"
#include "measure/subset.h"

enum { MAX = 64 };

static void check_case(const char *root, const char *name)
{
	golden *g = golden_open(root, name);
	size_t shape[GOLDEN_NDIM], chosen[GOLDEN_NDIM];
	const float *means = golden_f32(g, "means", shape);
	const int64_t *expected = golden_int(g, "order", chosen);
	double wide[MAX * MAX], nearest[MAX], distance[MAX];
	uint32_t order[MAX];

	assert_true(shape[0] <= MAX && shape[0] * shape[1] <= MAX * MAX);
	for (size_t i = 0; i < shape[0] * shape[1]; i++)
		wide[i] = means[i];
	inv_choose_apart(wide, (uint32_t)shape[0], shape[1], (uint32_t)chosen[0], nearest,
	                 order, distance);
	for (size_t i = 0; i < chosen[0]; i++)
		assert_int_equal(order[i], expected[i]);
	golden_close(g);
}

static void orders_are_golden(void **state)
{
	(void)state;
	test_need_shared("golden/metrics/greedy_classes/order.npy");
	check_case(test_shared("golden"), "greedy_classes");
	check_case(test_shared("golden"), "greedy_classes_ties");
}

/* On a line: the ends first, then the middle; of equal ones the smaller number. */
static void ties_go_to_the_smaller_number(void **state)
{
	const double means[] = {2, 0, 4, 1, 3};
	double nearest[5], distance[5];
	uint32_t order[5];

	(void)state;
	inv_choose_apart(means, 5, 1, 5, nearest, order, distance);
	assert_int_equal(order[0], 1);
	assert_int_equal(order[1], 2);
	assert_int_equal(order[2], 0);
	assert_int_equal(order[3], 3);
	assert_int_equal(order[4], 4);
	assert_true(distance[0] == 4 && distance[1] == 4 && distance[2] == 2 &&
	            distance[4] == 1);
}

/* Labels may be any numbers; rows without one do not count. */
static void a_bank_gives_labels(void **state)
{
	const float clean[] = {0, 2, 100, 10, 12, 50, 54};
	const int64_t labels[] = {7, 7, -1, 3, 3, 9, 9}, one[] = {4, 4, -1, 4, 4, 4, 4};
	int64_t chosen[3];
	double distance[3];
	invar_bank *bank;

	(void)state;
	write_split(test_ctx, test_path("bank"), "train", clean, NULL, 0, labels, 7, 1);
	write_split(test_ctx, test_path("bank"), "one", clean, NULL, 0, one, 7, 1);
	write_split(test_ctx, test_path("bank"), "bare", clean, NULL, 0, NULL, 7, 1);
	assert_int_equal(inv_bank_open(test_ctx, test_path("bank"), &bank), INVAR_OK);
	assert_int_equal(inv_subset(bank, "train", 3, chosen, distance), INVAR_OK);
	assert_int_equal(chosen[0], 7);
	assert_int_equal(chosen[1], 9);
	assert_int_equal(chosen[2], 3);
	assert_true(distance[0] == 51 && distance[2] == 10);
	assert_int_equal(inv_subset(bank, "train", 4, chosen, distance), INVAR_E_MISMATCH);
	test_assert_error("train has 3 classes, but count asks for 4");
	assert_int_equal(inv_subset(bank, "one", 2, chosen, distance), INVAR_E_MISMATCH);
	test_assert_error("one has 1 class, but");
	assert_int_equal(inv_subset(bank, "bare", 2, chosen, distance), INVAR_E_MISMATCH);
	test_assert_error("bare has no labels.npy");
	assert_int_equal(inv_subset(bank, "val", 2, chosen, distance), INVAR_E_MISMATCH);
	test_assert_error("no split val");
	assert_int_equal(inv_subset(bank, "train", 1, chosen, distance), INVAR_E_USE);
	assert_null(inv_bank_class(bank, 7)); /* there is no bank.json */
	invar_bank_close(bank);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(orders_are_golden),
		cmocka_unit_test(ties_go_to_the_smaller_number),
		cmocka_unit_test(a_bank_gives_labels),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
