/* test_eval.c - invar_eval: columns, points, wrong uses. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bank/bank.h"
#include "base/json.h"

static invar_context *ctx;
static invar_bank *bank;

static int open_bank(void **state)
{
	invar_synthetic_opts o;

	(void)state;
	invar_synthetic_defaults(&o);
	o.rows = 30;
	o.test_rows = 50;
	o.dim = 6;
	o.copies = 1;
	return invar_context_new(2, NULL, &ctx) != INVAR_OK ||
	       invar_bank_synthesize(ctx, &o, test_path("bank")) != INVAR_OK ||
	       invar_bank_open(ctx, test_path("bank"), &bank) != INVAR_OK;
}

static int close_bank(void **state)
{
	(void)state;
	invar_bank_close(bank);
	invar_context_free(ctx);
	return 0;
}

static void f_alone_is_an_isometry(void **state)
{
	invar_eval_opts o;
	json_t *doc, *structure;
	char *text;

	(void)state;
	invar_eval_defaults(&o);
	o.points = 40;
	o.probe_hidden = 16;
	assert_int_equal(invar_eval(bank, NULL, NULL, 0, &o, &text), INVAR_OK);
	doc = json_loads(text, 0, NULL);
	invar_free(text);
	structure = json_object_get(
		json_object_get(json_object_get(doc, "measurements"), "structure"), "F");
	assert_int_equal(json_integer_value(json_object_get(doc, "points")), 40);
	assert_int_equal(json_integer_value(json_object_get(structure, "pairs")), 40 * 39 / 2);
	assert_true(json_real_value(json_object_get(structure, "L1")) == 1);
	assert_true(json_real_value(json_object_get(structure, "RMSD")) == 0);
	json_decref(doc);
}

static void wrong_uses_are_said(void **state)
{
	invar_eval_opts o;
	char *text;

	(void)state;
	invar_eval_defaults(&o);
	o.only = "structure,colision";
	assert_int_equal(invar_eval(bank, NULL, NULL, 0, &o, &text), INVAR_E_USE);
	test_assert_error("'colision'");
	assert_null(text);
	invar_eval_defaults(&o);
	o.split = "val";
	assert_int_equal(invar_eval(bank, NULL, NULL, 0, &o, &text), INVAR_E_MISMATCH);
	test_assert_error("test, train");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(f_alone_is_an_isometry),
		cmocka_unit_test(wrong_uses_are_said),
	};

	return cmocka_run_group_tests(tests, open_bank, close_bank);
}
