/* SPDX-License-Identifier: Apache-2.0 */
/* test_clean_statistics.c - mean, sigma and distance of clean rows by their definitions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bank/bank.h"
#include "bank/clean_statistics.h"
#include "support.h"

enum { ROWS = 37, D = 5, TAKEN = 20 };

static float rows[ROWS][D];
static uint32_t images[TAKEN];

static invar_bank *make_bank(const char *name, float spread)
{
	const uint64_t shape[2] = {ROWS, D};
	invar_bank *b;

	for (size_t i = 0; i < ROWS; i++)
		for (size_t l = 0; l < D; l++)
			rows[i][l] = 1000.0f * (float)(l + 1) +
			             spread * (float)((i * 7 + l * 11) % 13 * (l + 1));
	for (uint32_t i = 0; i < TAKEN; i++)
		images[i] = (i * 3 + 1) % ROWS;
	mkdir(test_path("%s", name), 0777);
	mkdir(test_path("%s/train", name), 0777);
	assert_int_equal(invar_array_write(test_ctx, test_path("%s/train/clean.npy", name),
	                                   &rows[0][0], 2, shape, INVAR_FLOAT32),
	                 INVAR_OK);
	assert_int_equal(inv_bank_open(test_ctx, test_path("%s", name), &b), INVAR_OK);
	return b;
}

static double mean_squared_distance(void)
{
	double sum = 0;

	for (size_t i = 0; i < TAKEN; i++)
		for (size_t j = 0; j < TAKEN; j++)
			for (size_t l = 0; l < D; l++)
				sum += pow(rows[images[i]][l] - rows[images[j]][l], 2);
	return sum / (TAKEN * (TAKEN - 1));
}

static void the_numbers_follow_their_definitions(void **state)
{
	invar_bank *b = make_bank("spread", 1);
	const inv_split *s = inv_bank_split(b, "train");
	double mean[D] = {0}, squares = 0;
	inv_clean_statistics c;

	(void)state;
	for (size_t i = 0; i < TAKEN; i++)
		for (size_t l = 0; l < D; l++)
			mean[l] += (double)rows[images[i]][l] / TAKEN;
	for (size_t i = 0; i < TAKEN; i++)
		for (size_t l = 0; l < D; l++)
			squares += pow(rows[images[i]][l] - mean[l], 2);
	assert_int_equal(inv_clean_statistics_of(b, s, images, TAKEN, &c), INVAR_OK);
	for (size_t l = 0; l < D; l++)
		assert_true(fabs(c.mean[l] - mean[l]) < 1e-9);
	assert_true(fabs(c.sigma - sqrt(squares / (TAKEN * D))) < 1e-9);
	assert_true(fabs(c.distance / mean_squared_distance() - 1) < 1e-12);
	inv_clean_statistics_clear(&c);
	invar_bank_close(b);
}

static void equal_features_have_no_scale(void **state)
{
	invar_bank *b = make_bank("equal", 0);
	inv_clean_statistics c;

	(void)state;
	assert_int_equal(
		inv_clean_statistics_of(b, inv_bank_split(b, "train"), images, TAKEN, &c),
		INVAR_E_NUMERIC);
	test_assert_error("equal");
	invar_bank_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_numbers_follow_their_definitions),
		cmocka_unit_test(equal_features_have_no_scale),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
