/* SPDX-License-Identifier: Apache-2.0 */
/* test_eval.c - invar_eval: columns, points, wrong uses. */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "adapter/adapter.h"
#include "bank/bank.h"
#include "base/options.h"
#include "run/results.h"

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
	       inv_bank_open(ctx, test_path("bank"), &bank) != INVAR_OK;
}

static int close_bank(void **state)
{
	(void)state;
	invar_bank_close(bank);
	invar_context_free(ctx);
	return 0;
}

static double value_of(const invar_results *r, const char *metric, const char *column)
{
	const invar_value *v = invar_results_value(r, metric, column);

	assert_non_null(v);
	return v->value;
}

static void f_alone_is_an_isometry(void **state)
{
	invar_options *o = test_options("eval", "points", "40", "probe-hidden", "16", NULL);
	invar_results *r;

	(void)state;
	assert_int_equal(invar_eval(bank, NULL, NULL, 0, o, &r), INVAR_OK);
	assert_true(inv_results_about_number(r, "points") == 40);
	assert_int_equal(invar_results_value(r, "structure.L1", "F")->count, 40 * 39 / 2);
	assert_true(value_of(r, "structure.L1", "F") == 1);
	assert_true(value_of(r, "structure.RMSD", "F") == 0);
	assert_true(inv_results_is_complete(r));
	invar_results_free(r);
	invar_options_free(o);
}

static void wrong_uses_are_said(void **state)
{
	invar_options *o = test_options("eval", "metrics", "structure,colision", NULL);
	invar_options *other = test_options("train", NULL);
	invar_results *r;

	(void)state;
	assert_int_equal(invar_eval(bank, NULL, NULL, 0, o, &r), INVAR_E_USE);
	test_assert_error("'colision'; choose from lc, nc");
	assert_null(r);
	inv_options_unset(o, "metrics");
	assert_int_equal(invar_options_set(o, "split", "val"), INVAR_OK);
	assert_int_equal(invar_eval(bank, NULL, NULL, 0, o, &r), INVAR_E_MISMATCH);
	test_assert_error("test, train");
	assert_int_equal(invar_eval(bank, NULL, NULL, 0, other, &r), INVAR_E_USE);
	test_assert_error("made for train, not for eval");
	invar_options_free(o);
	invar_options_free(other);
}

/* Two adapters of equal title and one called F each keep a column. */
static void titles_need_not_differ(void **state)
{
	const char *const titles[] = {"run", "run", "F"};
	const float scale[] = {1, 2, 3};
	static float params[3][400];
	invar_adapter adapter[3];
	const invar_adapter *adapters[3];
	invar_options *o = test_options("eval", "metrics", "structure", NULL);
	invar_results *r;

	(void)state;
	for (size_t a = 0; a < 3; a++) { /* z -> scale z through relu(z) - relu(-z) */
		inv_mlp_block b[INV_MLP_BLOCKS];

		adapter[a] = (invar_adapter){.ctx = ctx, .s = {6, 12, 6}, .params = params[a]};
		assert_true(inv_mlp_floats(adapter[a].s) <= 400);
		inv_mlp_layout(adapter[a].s, b);
		for (size_t i = 0; i < 6; i++) {
			params[a][b[0].offset + i * 6 + i] = 1;
			params[a][b[0].offset + (6 + i) * 6 + i] = -1;
			params[a][b[2].offset + i * 12 + i] = scale[a];
			params[a][b[2].offset + i * 12 + 6 + i] = -scale[a];
		}
		adapters[a] = &adapter[a];
	}
	assert_int_equal(invar_eval(bank, adapters, titles, 3, o, &r), INVAR_OK);
	assert_int_equal(invar_results_columns(r), 4);
	assert_string_equal(invar_results_column(r, 3)->title, "F");
	assert_true(value_of(r, "structure.m", "F") == 1);
	for (size_t a = 0; a < 3; a++) {
		char id[2] = {(char)('1' + a), 0};

		assert_string_equal(invar_results_column(r, 1 + a)->id, id);
		assert_true(fabs(value_of(r, "structure.m", id) - scale[a]) < 1e-4);
	}
	invar_results_free(r);
	invar_options_free(o);
}

/* ---- What ends the whole --------------------------------------------------------- */

typedef struct stopper {
	unsigned seen, at; /* stops at this call of "structure" */
} stopper;

static int stop_at(void *user, const char *stage, uint64_t done, uint64_t total)
{
	stopper *s = user;

	(void)done;
	(void)total;
	return strcmp(stage, "structure") == 0 && ++s->seen == s->at;
}

/* If it is stopped, it still gives what was measured, marked as incomplete. */
static void a_stop_keeps_what_was_measured(void **state)
{
	stopper s = {.at = 1};
	const invar_hooks hooks = {.size = sizeof hooks, .progress = stop_at, .user = &s};
	invar_context *own;
	invar_options *o = test_options("eval", "metrics", "knn,structure", NULL);
	invar_bank *b;
	invar_results *r;

	(void)state;
	assert_int_equal(invar_context_new(1, &hooks, &own), INVAR_OK);
	assert_int_equal(inv_bank_open(own, test_path("bank"), &b), INVAR_OK);
	assert_int_equal(invar_eval(b, NULL, NULL, 0, o, &r), INVAR_E_CANCELLED);
	assert_non_null(r);
	assert_non_null(invar_results_value(r, "knn.clean", "F"));
	assert_null(invar_results_value(r, "structure.m", "F"));
	assert_false(inv_results_is_complete(r));
	invar_results_free(r);

	s.seen = 0;
	invar_options_set(o, "metrics", "structure"); /* nothing before it */
	assert_int_equal(invar_eval(b, NULL, NULL, 0, o, &r), INVAR_E_CANCELLED);
	assert_null(r);
	invar_options_free(o);
	invar_bank_close(b);
	invar_context_free(own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(f_alone_is_an_isometry),
		cmocka_unit_test(wrong_uses_are_said),
		cmocka_unit_test(titles_need_not_differ),
		cmocka_unit_test(a_stop_keeps_what_was_measured),
	};

	return cmocka_run_group_tests(tests, open_bank, close_bank);
}
