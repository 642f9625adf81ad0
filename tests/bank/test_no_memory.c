/* test_no_memory.c - opening a bank, starved of memory at every allocation in turn. */
#include <stdio.h>
#include <unistd.h>

#include "failing.h"
#include "support.h"

static invar_context *ctx;

static invar_status open_bank(void *user)
{
	invar_bank *b;
	invar_status st = invar_bank_open(ctx, user, &b);

	invar_bank_close(b);
	return st;
}

static void opening_survives(void **state)
{
	invar_synthetic_opts o;
	char path[4096];

	(void)state;
	assert_int_equal(invar_context_new(1, NULL, &ctx), INVAR_OK);
	invar_synthetic_defaults(&o);
	o.rows = 4;
	o.test_rows = 4;
	o.dim = 3;
	o.copies = 2;
	snprintf(path, sizeof path, "%s", test_path("bank"));
	assert_int_equal(invar_bank_synthesize(ctx, &o, path), INVAR_OK);
	unlink(test_path("bank/bank.json")); /* jansson copes with some of these by itself */
	assert_true(test_each_allocation_fails(open_bank, path) > 10);
	invar_context_free(ctx);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(opening_survives)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
