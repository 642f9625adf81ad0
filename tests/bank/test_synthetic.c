/* SPDX-License-Identifier: Apache-2.0 */
/* test_synthetic.c - synthetic banks: repeatable, can be opened, never overwrite. */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "bank/bank.h"

static void the_same_seed_gives_the_same_bank(void **state)
{
	static const char *const files[] = {"bank.json", "train/clean.npy", "train/aug/001.npy",
	                                    "test/labels.npy"};
	const invar_options *o;
	invar_options *wrong;
	invar_context *ctx;
	invar_bank *b;

	(void)state;
	assert_int_equal(invar_context_new(2, NULL, &ctx), INVAR_OK);
	o = test_kept("synthetic", "rows", "40", "test-rows", "20", "dim", "9", "copies", "2",
	              "half", "1", NULL);
	assert_int_equal(invar_bank_synthesize(ctx, o, test_path("a")), INVAR_OK);
	assert_int_equal(invar_bank_synthesize(ctx, o, test_path("b")), INVAR_OK);
	for (size_t i = 0; i < 4; i++) {
		size_t na, nb;
		char *a = test_read(test_path("a/%s", files[i]), &na);
		char *c = test_read(test_path("b/%s", files[i]), &nb);

		assert_int_equal(na, nb);
		assert_memory_equal(a, c, na);
		free(a);
		free(c);
	}
	assert_int_equal(inv_bank_open(ctx, test_path("a"), &b), INVAR_OK);
	assert_int_equal(invar_bank_copies(b, "test"), 2);
	assert_true(invar_bank_has_labels(b, "train"));
	invar_bank_close(b);
	assert_int_equal(invar_bank_synthesize(ctx, o, test_path("a")), INVAR_E_IO);
	test_assert_error("already exists");
	wrong = test_options("synthetic", NULL);
	assert_int_equal(invar_options_set(wrong, "dim", "0"), INVAR_E_USE);
	invar_options_free(wrong);
	invar_context_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_seed_gives_the_same_bank),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
