/* SPDX-License-Identifier: Apache-2.0 */
/* test_row_norms.c - norms of a bank's rows, and the bank with rows of norm 1. */
#include "bank/bank.h"
#include "bank/row_norms.h"

#include <math.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/rng.h"
#include "math/unit_rows.h"
#include "support.h"

enum { ROWS = 3000, D = 5, COPIES = 2 };

/* Raw rows; or of norm 1, with copy 1 of row `odd` twice as long and row `zero` zeros. */
static invar_bank *make_bank(const char *name, bool unit, invar_dtype type, size_t odd,
                             size_t zero)
{
	static const char *const files[] = {"clean.npy", "aug/000.npy", "aug/001.npy"};
	const uint64_t shape[2] = {ROWS, D};
	float *x = inv_calloc(ROWS * D, sizeof *x);
	invar_bank *b;

	assert_int_equal(inv_make_folder(test_path("%s", name)), INVAR_OK);
	assert_int_equal(inv_make_folder(test_path("%s/train", name)), INVAR_OK);
	assert_int_equal(inv_make_folder(test_path("%s/train/aug", name)), INVAR_OK);
	for (uint32_t f = 0; f < 3; f++) {
		inv_stream s = inv_stream_of(2, "rows", f);

		inv_fill_normal(&s, 0, x, ROWS * D);
		if (unit)
			inv_unit_rows(x, ROWS, D, x);
		for (size_t i = 0; i < D; i++) {
			if (odd < ROWS && f == 2)
				x[odd * D + i] *= 2;
			if (zero < ROWS)
				x[zero * D + i] = 0;
		}
		assert_int_equal(invar_array_write(test_ctx,
		                                   test_path("%s/train/%s", name, files[f]), x, 2,
		                                   shape, type),
		                 INVAR_OK);
	}
	inv_free(x);
	assert_int_equal(inv_bank_open(test_ctx, test_path("%s", name), &b), INVAR_OK);
	return b;
}

static bool has_unit_rows(invar_bank *b)
{
	bool are = false;

	assert_int_equal(inv_bank_has_unit_rows(b, inv_bank_split(b, "train"), &are), INVAR_OK);
	invar_bank_close(b);
	return are;
}

static void unit_rows_are_recognised(void **state)
{
	(void)state;
	assert_false(has_unit_rows(make_bank("raw", false, INVAR_FLOAT32, ROWS, ROWS)));
	assert_true(has_unit_rows(make_bank("unit", true, INVAR_FLOAT32, ROWS, ROWS)));
	assert_true(has_unit_rows(make_bank("half", true, INVAR_FLOAT16, ROWS, ROWS)));
	assert_true(has_unit_rows(make_bank("zero", true, INVAR_FLOAT32, ROWS, 0)));
	/* A copy of the first row, which is among those that are looked at. */
	assert_false(has_unit_rows(make_bank("odd", true, INVAR_FLOAT32, 0, ROWS)));
}

/* Zeros alone are not of norm 1. */
static void nothing_but_zeros_is_no_unit_row(void **state)
{
	const float x[2 * D] = {0};
	inv_row_norms n = {0};

	(void)state;
	assert_false(inv_row_norms_are_one(&n));
	inv_row_norms_add_rows(x, 2, D, &n);
	assert_false(inv_row_norms_are_one(&n));
	assert_true(n.rows == 2 && n.mean == 0 && inv_row_norms_deviation(&n) == 0);
}

static void mean_and_deviation_are_those_of_two_passes(void **state)
{
	invar_bank *b = make_bank("stats", false, INVAR_FLOAT32, ROWS, ROWS);
	const inv_split *s = inv_bank_split(b, "train");
	inv_row_norms n = {0};
	double mean = 0, squares = 0, norm[INV_NORM_IMAGES][COPIES + 1];
	double count = (double)INV_NORM_IMAGES * (COPIES + 1);

	(void)state;
	assert_int_equal(inv_row_norms_add(b, s, COPIES, &n), INVAR_OK);
	assert_int_equal(n.rows, INV_NORM_IMAGES * (COPIES + 1));
	for (uint64_t i = 0; i < INV_NORM_IMAGES; i++)
		for (int32_t k = -1; k < COPIES; k++) {
			float row[D];

			assert_int_equal(inv_bank_row(b, s, k, i * ROWS / INV_NORM_IMAGES, row),
			                 INVAR_OK);
			norm[i][k + 1] = inv_row_norm(row, D);
			mean += norm[i][k + 1] / count;
		}
	for (uint64_t i = 0; i < INV_NORM_IMAGES; i++)
		for (int k = 0; k <= COPIES; k++)
			squares += (norm[i][k] - mean) * (norm[i][k] - mean);
	assert_true(fabs(n.mean - mean) < 1e-12);
	assert_true(fabs(inv_row_norms_deviation(&n) - sqrt(squares / count)) < 1e-12);
	invar_bank_close(b);
}

static void a_unit_view_has_rows_of_norm_1(void **state)
{
	invar_bank *b = make_bank("view", false, INVAR_FLOAT32, ROWS, 7);
	const invar_bank view = inv_unit_view(b);
	const inv_split *s = inv_bank_split(&view, "train");
	json_t *plain, *seen;

	(void)state;
	for (uint64_t i = 0; i < 20; i++)
		for (int32_t k = -1; k < COPIES; k++) {
			float raw[D], row[D];

			assert_int_equal(inv_bank_row(b, s, k, i, raw), INVAR_OK);
			assert_int_equal(inv_bank_row(&view, s, k, i, row), INVAR_OK);
			inv_unit_rows(raw, 1, D, raw);
			assert_memory_equal(raw, row, sizeof row);
			assert_true(i == 7 ? inv_row_norm(row, D) == 0
			                   : fabs(inv_row_norm(row, D) - 1) < 1e-6);
		}
	/* Other rows have another fingerprint. */
	assert_int_equal(inv_bank_fingerprint(b, s, &plain), INVAR_OK);
	assert_int_equal(inv_bank_fingerprint(&view, s, &seen), INVAR_OK);
	assert_false(json_equal(plain, seen));
	json_decref(plain);
	json_decref(seen);
	invar_bank_close(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unit_rows_are_recognised),
		cmocka_unit_test(nothing_but_zeros_is_no_unit_row),
		cmocka_unit_test(mean_and_deviation_are_those_of_two_passes),
		cmocka_unit_test(a_unit_view_has_rows_of_norm_1),
	};

	return cmocka_run_group_tests(tests, test_context_open, test_context_close);
}
