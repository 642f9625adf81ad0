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
	const invar_options *o;

	(void)state;
	o = test_kept("synthetic", "rows", "30", "test-rows", "50", "dim", "6", "copies", "1",
	              NULL);
	return invar_context_new(2, NULL, &ctx) != INVAR_OK ||
	       invar_bank_synthesize(ctx, o, test_path("bank")) != INVAR_OK ||
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

/* ---- What ends the whole --------------------------------------------------------------
 */

typedef struct stopper {
	unsigned seen, at; /* stops at this look of "structure" */
} stopper;

static int stop_at(void *user, const char *stage, uint64_t done, uint64_t total)
{
	stopper *s = user;

	(void)done;
	(void)total;
	return strcmp(stage, "structure") == 0 && ++s->seen == s->at;
}

/* Stopped on the way, it still gives what was measured, marked as not being all. */
static void a_stop_keeps_what_was_measured(void **state)
{
	stopper s = {.at = 1};
	const invar_hooks hooks = {.size = sizeof hooks, .progress = stop_at, .user = &s};
	invar_context *own;
	invar_eval_opts o;
	invar_bank *b;
	char *text;
	json_t *doc, *all;

	(void)state;
	assert_int_equal(invar_context_new(1, &hooks, &own), INVAR_OK);
	assert_int_equal(invar_bank_open(own, test_path("bank"), &b), INVAR_OK);
	invar_eval_defaults(&o);
	o.only = "knn,structure";
	assert_int_equal(invar_eval(b, NULL, NULL, 0, &o, &text), INVAR_E_CANCELLED);
	assert_non_null(text);
	doc = json_loads(text, 0, NULL);
	all = json_object_get(doc, "measurements");
	assert_non_null(json_object_get(json_object_get(all, "knn"), "F"));
	assert_null(json_object_get(json_object_get(all, "structure"), "F"));
	assert_true(json_is_true(json_object_get(doc, "incomplete")));
	json_decref(doc);
	invar_free(text);

	s.seen = 0;
	o.only = "structure"; /* nothing before it */
	assert_int_equal(invar_eval(b, NULL, NULL, 0, &o, &text), INVAR_E_CANCELLED);
	assert_null(text);
	invar_bank_close(b);
	invar_context_free(own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(f_alone_is_an_isometry),
		cmocka_unit_test(wrong_uses_are_said),
		cmocka_unit_test(a_stop_keeps_what_was_measured),
	};

	return cmocka_run_group_tests(tests, open_bank, close_bank);
}
