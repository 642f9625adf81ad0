/* SPDX-License-Identifier: Apache-2.0 */
/* test_codes.c - E is applied once per row and column, in memory or in a file. */
#include "bank/bank.h"
#include "measure/codes.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "write_bank.h"

enum { N = 60, D = 5, COPIES = 2, HIDDEN = 10, FLOATS = 400 };

/* ---- Counting ----------------------------------------------------------------------- */

static uint64_t applied; /* rows, by any adapter */

invar_status __real_inv_adapter_apply_finite(const invar_adapter *e, const float *z,
                                             uint64_t rows, float *out);
invar_status __wrap_inv_adapter_apply_finite(const invar_adapter *e, const float *z,
                                             uint64_t rows, float *out);

invar_status __wrap_inv_adapter_apply_finite(const invar_adapter *e, const float *z,
                                             uint64_t rows, float *out)
{
	applied += rows;
	return __real_inv_adapter_apply_finite(e, z, rows, out);
}

/* ---- A bank and adapters --------------------------------------------------------- */

static invar_bank *bank;

static int make_bank(void **state)
{
	static const char *const splits[] = {"train", "test"};
	static float clean[N * D], aug[COPIES * N * D];
	int64_t labels[N];

	if (test_context_open(state) != 0)
		return 1;
	for (uint32_t i = 0; i < 2; i++) {
		inv_stream s = inv_stream_of(7, splits[i], 0);

		inv_fill_normal(&s, 0, clean, N * D);
		inv_fill_normal(&s, 1, aug, COPIES * N * D);
		for (size_t k = 0; k < N; k++)
			labels[k] = (int64_t)(k % 3);
		write_split(test_ctx, test_path("bank"), splits[i], clean, aug, COPIES, labels, N,
		            D);
	}
	return inv_bank_open(test_ctx, test_path("bank"), &bank) != INVAR_OK;
}

static int close_bank(void **state)
{
	invar_bank_close(bank);
	return test_context_close(state);
}

static invar_adapter random_adapter(uint64_t seed, float params[FLOATS])
{
	invar_adapter e = {.ctx = test_ctx, .s = {D, HIDDEN, D}, .params = params};
	inv_stream s = inv_stream_of(seed, "adapter", 0);

	assert_true(inv_mlp_floats(e.s) <= FLOATS);
	inv_fill_normal(&s, 0, params, FLOATS);
	return e;
}

/* ---- Claims ---------------------------------------------------------------------- */

/* All measurements together need every row of both splits, clean and copies. */
static void each_row_is_coded_once_per_column(void **state)
{
	static float params[2][FLOATS];
	invar_adapter first = random_adapter(1, params[0]),
				  second = random_adapter(2, params[1]);
	const invar_adapter *const adapters[] = {&first, &second};
	const char *const titles[] = {"first", "second"};
	invar_options *o =
		test_options("eval", "probe-epochs", "2", "probe-hidden", "8", "seeds", "2", NULL);
	invar_results *r;

	(void)state;
	applied = 0;
	assert_int_equal(invar_eval(bank, adapters, titles, 2, o, &r), INVAR_OK);
	assert_int_equal(applied, 2 * 2 * (1 + COPIES) * N);
	invar_results_free(r);

	/* E is not applied to rows that no measurement needs. */
	test_set(o, "metrics", "structure", "points", "13", NULL);
	applied = 0;
	assert_int_equal(invar_eval(bank, adapters, titles, 2, o, &r), INVAR_OK);
	assert_int_equal(applied, 2 * 13);
	invar_results_free(r);
	invar_options_free(o);
}

/* Unnamed files that are mapped now. */
static unsigned count_mapped_files(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[1000];
	unsigned count = 0;

	assert_non_null(f);
	while (fgets(line, sizeof line, f))
		count += strstr(line, "(deleted)") != NULL;
	fclose(f);
	return count;
}

static void take_all(inv_codes *c, const inv_split *s, int32_t copy, float *out)
{
	uint64_t row[N];

	for (uint64_t i = 0; i < N; i++)
		row[i] = N - 1 - i;
	assert_int_equal(inv_codes_take(c, s, copy, 0, row, N, D, out), INVAR_OK);
}

/* Half in memory, half in a file, or none of it: the same codes. */
static void beyond_the_bound_codes_are_in_files(void **state)
{
	static float params[FLOATS], want[N * D], z[N * D], got[N * D];
	const uint64_t sheet = N * D * sizeof(float);
	const uint64_t bounds[] = {10 * sheet, sheet, 0};
	const inv_split *s = inv_bank_split(bank, "test");
	invar_adapter e = random_adapter(3, params);
	unsigned before = count_mapped_files();

	(void)state;
	for (uint64_t i = 0; i < N; i++)
		assert_int_equal(inv_bank_row(bank, s, 1, N - 1 - i, z + i * D), INVAR_OK);
	assert_int_equal(invar_adapter_apply(&e, z, N, want), INVAR_OK);
	for (unsigned i = 0; i < 3; i++) {
		inv_codes *c;

		assert_int_equal(inv_codes_new(&e, bank, bounds[i], &c), INVAR_OK);
		applied = 0;
		for (int round = 0; round < 2; round++) {
			take_all(c, s, INVAR_CLEAN, got);
			take_all(c, s, 1, got);
			assert_memory_equal(got, want, sizeof want);
		}
		assert_int_equal(applied, 2 * N);
		assert_int_equal(count_mapped_files() - before, i);
		inv_codes_free(c);
		assert_int_equal(count_mapped_files(), before);
	}
}

static void without_a_file_e_is_applied_again(void **state)
{
	static float params[FLOATS], first[N * D], again[N * D];
	const inv_split *s = inv_bank_split(bank, "test");
	invar_adapter e = random_adapter(3, params);
	inv_codes *c;

	(void)state;
	setenv("TMPDIR", test_path("nowhere"), 1);
	assert_int_equal(inv_codes_new(&e, bank, 0, &c), INVAR_OK);
	applied = 0;
	take_all(c, s, 0, first);
	take_all(c, s, 0, again);
	assert_memory_equal(first, again, sizeof first);
	assert_int_equal(applied, 2 * N);
	inv_codes_free(c);
	unsetenv("TMPDIR");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row_is_coded_once_per_column),
		cmocka_unit_test(beyond_the_bound_codes_are_in_files),
		cmocka_unit_test(without_a_file_e_is_applied_again),
	};

	return cmocka_run_group_tests(tests, make_bank, close_bank);
}
